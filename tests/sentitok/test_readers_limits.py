"""Files without an end: devices, pipes, endless lines and rows."""

import os
import resource
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import sentitok
from commands import run
from sentitok import FormatError, Tokenizer, TrainError, WordCounts
from sentitok.bounded_lines import lines
from sentitok.documents import Documents

pytestmark = pytest.mark.skipif(os.name == "nt", reason="there is no /dev/zero")

UNCLOSED = "the quote that opens here is never closed"
TOO_LONG = r"is longer than \d+ (bytes|characters), the most that is held"
# What a command may take of memory, in bytes: much less than an endless file has.
MEMORY = 3 << 30


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


@pytest.fixture
def folder(tmp_path: Path, tokenizer: Tokenizer) -> Path:
    tokenizer.save(tmp_path / "tokenizer.json")
    return tmp_path


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("info /dev/zero", "/dev/zero: tokenizer: this is not a known format"),
        ("train-bpe --counts /dev/zero -o out.json", "/dev/zero is not a counts file"),
        ("count /dev/zero --max-line-bytes 1M", "the line is longer than 1048576 bytes"),
        ("count /dev/zero --format text --max-line-bytes 1M", "the document is longer than 1048576 bytes"),
        ("count /dev/zero --format csv:text --max-line-bytes 1M", "the row is longer than 1048576 bytes"),
        ("count /dev/zero", "the line is longer than 268435456 bytes"),
        ("train-bpe /dev/zero -o out.json --max-line-bytes 1M", "the line is longer than 1048576 bytes"),
        (
            "encode /dev/zero -o out --separator <|endoftext|> --max-line-bytes 1M",
            "the line is longer than 1048576 bytes",
        ),
        ("eval tokenizer.json /dev/zero --max-line-bytes 1M", "the line is longer than 1048576 bytes"),
    ],
)
def test_devices_are_not_read_without_end(line: str, words: str, folder: Path) -> None:
    code, _, message = run(line, cwd=folder, preexec_fn=limited)
    assert (code, words in message) == (2, True), message
    assert len(message.splitlines()) == 1


def test_nor_by_the_library(tmp_path: Path) -> None:
    zero = Path("/dev/zero")
    for read in (Tokenizer.from_file, WordCounts.load):
        with pytest.raises(FormatError, match=r"not a known format|no count file"):
            read(zero)
    with pytest.raises(FormatError, match="not a known format"):
        Tokenizer.from_file("/dev/urandom")
    with pytest.raises(FormatError, match="no count file"):
        sentitok.merge_counts([zero], tmp_path / "all.counts")
    for train in (sentitok.train_bpe, sentitok.train_wordpiece, sentitok.train_unigram):
        for format in ("lines", "jsonl", "tsv:text", "text"):
            with pytest.raises(FormatError, match=TOO_LONG):
                train(zero, format=format, max_line_bytes=1 << 16)
    for format in ("lines", "jsonl", "tsv:text", "text"):
        with pytest.raises(FormatError, match=TOO_LONG):
            list(Documents([zero], format, max_line_bytes=1 << 16))


@contextmanager
def pipe(path: Path, data: bytes) -> Iterator[Path]:
    """A named pipe that someone writes to, once."""
    os.mkfifo(path)

    def write() -> None:
        with open(path, "wb") as file:
            file.write(data)

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    yield path
    writer.join(10)
    assert not writer.is_alive()


@pytest.mark.parametrize("name", ["t.json", "t.sentitok", "t.model"])
def test_a_tokenizer_is_read_from_a_pipe(name: str, folder: Path, tokenizer: Tokenizer) -> None:
    if name == "t.model":
        tokenizer = sentitok.train_bpe(texts=["a film of a man"] * 50, vocab_size=20, method="sentencepiece")
    tokenizer.save(folder / name)
    with pipe(folder / "pipe", (folder / name).read_bytes()) as path:
        assert Tokenizer.from_file(path).fingerprint == Tokenizer.from_file(folder / name).fingerprint


def test_counts_are_read_from_a_pipe(tmp_path: Path) -> None:
    counts = sentitok.count(texts=["a film", "a man"])
    assert counts is not None
    with pipe(tmp_path / "pipe", counts.to_bytes()) as path:
        assert WordCounts.load(path) == counts


def test_text_is_read_from_a_pipe(folder: Path) -> None:
    text = b"A film of a man.\n" * 20_000
    (folder / "text.txt").write_bytes(text)
    assert run("train-bpe text.txt -o a.json --vocab 270", cwd=folder)[0] == 0
    with pipe(folder / "pipe", text):
        assert run("train-bpe pipe -o b.json --vocab 270", cwd=folder)[0] == 0
    assert (folder / "a.json").read_bytes() == (folder / "b.json").read_bytes()
    (folder / "pipe").unlink()
    with pipe(folder / "pipe", text):
        assert run("encode pipe -o tokens", cwd=folder)[0] == 0
    (folder / "pipe").unlink()
    with pipe(folder / "pipe", text) as path:
        assert list(Documents([path])) == text.decode().splitlines(keepends=True)


def test_a_huge_file_that_is_no_tokenizer_is_not_read(tmp_path: Path) -> None:
    # Sparse: it has no blocks on the disk.
    with open(tmp_path / "huge.json", "wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(FormatError, match="not a known format"):
        Tokenizer.from_file(tmp_path / "huge.json")


def lines_file(path: Path, longest: int) -> Path:
    path.write_text("short\n" + "x y" * (longest // 3) + "\n" + "short\n")
    return path


@pytest.mark.parametrize("threads", [1, 2])
def test_the_longest_line(threads: int, tmp_path: Path) -> None:
    text = lines_file(tmp_path / "text.txt", 3000)
    whole: dict[str, Any] = {"pre_tokenizer": "bytes", "threads": threads}
    assert sentitok.count(text, max_line_bytes=3001, **whole) == sentitok.count(text, **whole)
    with pytest.raises(
        FormatError, match=r"text\.txt, line 2 \(byte 6\): the line is longer than 3000 bytes"
    ):
        sentitok.count(text, max_line_bytes=3000, **whole)
    # Where a line may be read in parts nothing has to be held.
    assert sentitok.count(text, max_line_bytes=3000, threads=threads) == sentitok.count(text)
    jsonl = tmp_path / "text.jsonl"
    jsonl.write_text('{"text": "a"}\n\n{"text": "' + "x" * 100 + '"}\n')
    with pytest.raises(
        FormatError, match=r"text\.jsonl, line 3 \(byte 15\): the line is longer than 99 bytes"
    ):
        sentitok.count(jsonl, max_line_bytes=99, threads=threads)
    table = tmp_path / "text.csv"
    table.write_text('text\na\n"' + "x\n" * 50 + '"\n')
    with pytest.raises(FormatError, match=r"text\.csv, line 3 \(byte 7\): the row is longer than 99 bytes"):
        sentitok.count(table, format="csv:text", max_line_bytes=99, threads=threads)
    # A whole document is as large as its file, which is known.
    assert sentitok.count(text, format="text", max_line_bytes=10) == sentitok.count(text, format="text")
    with pytest.raises(TrainError, match="max_line_bytes = 0"):
        sentitok.count(text, max_line_bytes=0)


def test_the_longest_line_in_python(tmp_path: Path) -> None:
    text = lines_file(tmp_path / "text.txt", 3000)
    with open(text, encoding="utf-8") as file:
        assert len(list(lines(file, "text.txt", 3001))) == 3
    with (
        open(text, encoding="utf-8") as file,
        pytest.raises(FormatError, match=rf"text\.txt, line 2: the line {TOO_LONG}"),
    ):
        list(lines(file, "text.txt", 3000))


def count(path: Path, format: str) -> list[str]:
    counts = sentitok.count(path, format=format, pre_tokenizer="bytes")
    assert counts is not None
    return sorted(text.decode() for text, n in counts.items() for _ in range(n))


@pytest.mark.parametrize(("kind", "separator"), [("csv", ","), ("tsv", "\t")])
def test_quotes_that_never_close(kind: str, separator: str, tmp_path: Path) -> None:
    path = tmp_path / f"reviews.{kind}"
    head = f'id{separator}text\n1{separator}"good\nfilm"\n'
    path.write_text(head + f"2{separator}bad\n")
    whole = count(path, f"{kind}:text")
    assert whole == ["bad", "good\nfilm"]
    # The rest of the file would be one text.
    path.write_text(head + f'2{separator}"bad\n' + f"3{separator}fine\n" * 1000)
    with pytest.raises(FormatError, match=rf"reviews\.{kind}, line 4\b.*: {UNCLOSED}"):
        count(path, f"{kind}:text")
    # Not the first quote of its row, and not on the first line of it.
    path.write_text(head + f'"a\nb"{separator}"c""\nd\n\n')
    with pytest.raises(FormatError, match=rf"line 5\b.*: {UNCLOSED}"):
        count(path, f"{kind}:text")
    # In the header, and at the very end.
    path.write_text(f'id{separator}"text\n1{separator}x\n')
    # A quote that is text, in a TSV file of which each line has all fields.
    reason = f'(no column "text"|{UNCLOSED})' if kind == "tsv" else UNCLOSED
    with pytest.raises(FormatError, match=rf"line 1\b.*: {reason}"):
        count(path, f"{kind}:text")
    path.write_text(head + f'2{separator}"')
    with pytest.raises(FormatError, match=rf"line 4\b.*: {UNCLOSED}"):
        count(path, f"{kind}:text")
    # A quote inside a field is text, and the last row needs no line end.
    for text in (f'2{separator}5" tape', f'2{separator}"5"" tape"', f'2{separator}"5 tape"'):
        path.write_text(head + text)
        assert len(count(path, f"{kind}:text")) == 2


@pytest.mark.parametrize(
    "line", ["encode --max-line-bytes 1K", "encode -t tokenizer.json --max-line-bytes 1K"]
)
def test_stdin_is_not_read_without_end(line: str, folder: Path) -> None:
    code, _, message = run(line, cwd=folder, stdin=b"a" * 1025)
    assert (code, "stdin: the text is longer than 1024 bytes" in message) == (2, True), message
    assert run(line, cwd=folder, stdin=b"a" * 1024)[0] == 0


STRAY = b'text,n\n"open,1\n' + b"b,2\n" * 30 + b'"closed",3\n'


def test_a_stray_quote_that_another_closes(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(STRAY)
    with pytest.raises(FormatError, match=r"line 2 .*closes some lines below with text behind it"):
        sentitok.count(path, format="csv:text")
    # Quoted fields of several lines are good.
    path.write_bytes(b'text,n\n"open\nshut",1\n')
    assert count(path, "csv:text") == ["open\nshut"]
    counts = sentitok.count(path, format="csv:text")
    assert counts is not None
    assert counts.totals["documents"] == 1
