"""`sentitok.documents`: what it gives is what training counts, from text, tables and Parquet."""

import bz2
import gzip
import lzma
import re
from collections.abc import Callable
from pathlib import Path

import pyarrow
import pytest

import sentitok
from sentitok.documents import Documents

FIXTURES = Path(__file__).resolve().parent.parent / "data" / "corpus" / "fixtures"

# (file, format, expected documents)
TABLE = [
    (
        "crlf.txt",
        None,
        [
            "The first line.\r\n",
            "The second line.\r\n",
            "\r\n",
            "A lone\rreturn, then a lone\n",
            "feed.\r\n",
            "No end",
        ],
    ),
    (
        "empty-lines.txt",
        None,
        ["\n", "\n", "\n", "One line.\n", "\n", " \n", "\t\n", "Another line.\n", "\n", "\n"],
    ),
    ("empty.txt", None, []),
    ("bom.txt", None, ["A byte order mark stands before this line.\n", "Not before this: \ufeff.\n"]),
    ("code.txt", "text", [(FIXTURES / "code.txt").read_text("utf-8")]),
    ("strings.jsonl", None, ["A gripping film.", "Dull — and long.\nVery long.", "😀 fun"]),
    ("reviews.jsonl", None, ["A gripping film, start to finish.", "Dull — and long.\nVery long.", "😀 fun"]),
    (
        "reviews.csv",
        "csv:text",
        ["A gripping film, start to finish.", "Dull — and long.\nVery long.", "😀 fun"],
    ),
    ("reviews.csv", "csv:label", ["1", "0", "1"]),
]


@pytest.mark.parametrize(("name", "format", "expected"), TABLE, ids=lambda value: str(value)[:20])
def test_documents(name: str, format: str | None, expected: list[str]) -> None:
    assert list(Documents([FIXTURES / name], format)) == expected


@pytest.mark.parametrize(("name", "format"), [(name, format) for name, format, _ in TABLE])
def test_agrees_with_the_extension(name: str, format: str | None) -> None:
    by_file = sentitok.count(FIXTURES / name, format=format)
    by_documents = sentitok.count(Documents([FIXTURES / name], format))
    assert by_file is not None
    assert by_documents is not None
    assert dict(by_file) == dict(by_documents)
    assert by_file.totals["documents"] == by_documents.totals["documents"]


def zst(data: bytes) -> bytes:
    packed: bytes = pyarrow.Codec("zstd").compress(data, asbytes=True)
    return packed


@pytest.mark.parametrize(
    ("suffix", "pack"),
    [(".gz", gzip.compress), (".xz", lzma.compress), (".bz2", bz2.compress), (".zst", zst)],
)
def test_compressed(suffix: str, pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    raw = (FIXTURES / "mixed.txt").read_bytes()
    packed = tmp_path / f"mixed.txt{suffix}"
    half = raw.index(b"\n", len(raw) // 2) + 1
    packed.write_bytes(pack(raw[:half]) + pack(raw[half:]))  # two members
    assert list(Documents([packed])) == list(Documents([FIXTURES / "mixed.txt"]))


@pytest.mark.parametrize(
    ("suffix", "pack"),
    [(".gz", gzip.compress), (".xz", lzma.compress), (".bz2", bz2.compress), (".zst", zst)],
)
def test_truncated(suffix: str, pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    packed = tmp_path / f"mixed.txt{suffix}"
    packed.write_bytes(pack((FIXTURES / "mixed.txt").read_bytes())[:-20])
    with pytest.raises(sentitok.FormatError, match=f"{re.escape(str(packed))}: damaged or truncated"):
        list(Documents([packed]))


@pytest.mark.parametrize(
    ("name", "format", "message"),
    [
        ("reviews.jsonl", "jsonl:body", 'line 1 (byte 0): no field "body"; the fields are "text", "label"'),
        ("reviews.csv", "jsonl:text", "reviews.csv, line 1 (byte 0): expected value, at column 1"),
        ("reviews.csv", None, "name the column of text, as in csv:text"),
        ("code.txt", "pages", "format = pages: it is one of text, lines, jsonl:FIELD, csv:COLUMN"),
        ("code.txt", "parquet", "format = parquet: name the column of text, as in parquet:text"),
        ("code.txt", "parquet:", "format = parquet:: name the column of text, as in parquet:text"),
    ],
)
def test_errors(name: str, format: str | None, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)) as error:
        list(Documents([FIXTURES / name], format))
    with pytest.raises(ValueError, match=re.escape(message)) as counted:
        sentitok.count(FIXTURES / name, format=format)
    assert str(error.value) == str(counted.value)


def test_a_field_may_be_long(tmp_path: Path) -> None:
    text = "a long review " * 20_000
    path = tmp_path / "x.csv"
    path.write_text(f"text,label\n{text},1\n", "utf-8")
    assert list(Documents([path], "csv:text")) == [text]
    counts = sentitok.count(path, format="csv:text")
    assert counts is not None
    assert counts.totals["bytes"] == len(text)
