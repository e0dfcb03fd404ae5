"""Shards of files hold the documents of the files, once and in order, wherever the files are cut."""

import bz2
import gzip
import io
import json
import os
import pickle
import random
import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import sentitok
from sentitok import FormatError, TrainError, remote
from sentitok.corpus_shards import CorpusShard, plan_shards
from sentitok.datasets import TokenDataset
from sentitok.documents import Documents
from sentitok.file_versions import file_version

PARTS = ["a", "é", "日", " ", '"', '""', "\t", "\n", "\r\n", "\r", ",", "word", "1", "", "\ufeff"]


def texts(rng: random.Random, n: int, without: str = "") -> list[str]:
    parts = [part for part in PARTS if not set(part) & set(without)]
    return ["".join(rng.choices(parts, k=rng.randint(0, 7))) for _ in range(n)]


def lines(rng: random.Random, path: Path) -> tuple[str, list[str]]:
    documents = [f"{text}\n" for text in texts(rng, rng.randint(0, 30), without="\n")]
    if rng.random() < 0.5 and documents and documents[-1] != "\n":
        documents[-1] = documents[-1][:-1]
    mark = "\ufeff" if rng.random() < 0.3 else ""
    # A mark at the start of a file is taken off in any case.
    if not mark and documents:
        documents[0] = documents[0].lstrip("\ufeff") or "\n"
    path.write_bytes((mark + "".join(documents)).encode())
    return "lines", documents


def json_lines(rng: random.Random, path: Path) -> tuple[str, list[str]]:
    documents = texts(rng, rng.randint(0, 20))
    ends = [rng.choice(["\n", "\r\n", "\n\n"]) for _ in documents]
    records = [json.dumps({"text": text}, ensure_ascii=rng.random() < 0.5) for text in documents]
    path.write_bytes("".join(record + end for record, end in zip(records, ends, strict=True)).encode())
    return "jsonl", documents


def table(rng: random.Random, path: Path, kind: str) -> tuple[str, list[str]]:
    width = rng.randint(1, 3)
    cells = [texts(rng, width) for _ in range(rng.randint(0, 25))]
    # A row of one empty field is a blank line.
    rows = [[f"c{number}" for number in range(width)], *(row for row in cells if any(row))]
    quotes_all = kind == "tsv" or rng.random() < 0.3
    written = io.StringIO(newline="")
    written.write(rng.choice(["", "", "\ufeff"]))
    delimiter = "\t" if kind == "tsv" else ","
    if rng.random() < 0.2:
        delimiter = ";"
        written.write("sep=;\r\n")
    end = rng.choice(["\n", "\r\n", "\r", "\n\n"])
    # Python's writer quotes no lone CR if another line end is asked for.
    for row in rows:
        fields = [
            '"' + field.replace('"', '""') + '"'
            if quotes_all or set(field) & set('"\r\n\t,;') or not field
            else field
            for field in row
        ]
        written.write(delimiter.join(fields) + end)
    content = written.getvalue()
    if rng.random() < 0.5:
        content = content.rstrip("\r\n")
    path.write_bytes(content.encode())
    column = rng.randrange(width)
    return f"{kind}:c{column}", [row[column] for row in rows[1:]]


def plain_tsv(rng: random.Random, path: Path) -> tuple[str, list[str]]:
    """Its quotes are text: one never closes."""
    quoted = [f'"a {text}' for text in texts(rng, rng.randint(1, 25), without="\t\r\n")]
    rows = [["x", "text"], ["x", '"open'], *(["x", text] for text in quoted)]
    path.write_bytes("".join("\t".join(row) + rng.choice(["\n", "\r\n", "\r"]) for row in rows).encode())
    return "tsv:text", [row[1] for row in rows[1:]]


def whole_text(rng: random.Random, path: Path) -> tuple[str, list[str]]:
    text = "".join(texts(rng, 5, "\ufeff"))
    path.write_bytes(text.encode())
    return "text", [text] if text else []


def compressed(rng: random.Random, path: Path) -> tuple[str, list[str]]:
    format, documents = MAKERS[rng.choice(["lines", "jsonl", "csv"])](rng, path)
    content = path.read_bytes()
    path.write_bytes(gzip.compress(content) if rng.random() < 0.5 else bz2.compress(content))
    return format, documents


def parquet(rng: random.Random, path: Path) -> tuple[str, list[str]]:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    documents = texts(rng, rng.randint(0, 30))
    column = pa.table({"text": pa.array(documents, pa.string()), "n": [1] * len(documents)})
    pq.write_table(column, path, row_group_size=rng.randint(1, 10))
    return "parquet:text", documents


MAKERS: dict[str, Callable[[random.Random, Path], tuple[str, list[str]]]] = {
    "lines": lines,
    "jsonl": json_lines,
    "csv": lambda rng, path: table(rng, path, "csv"),
    "tsv": lambda rng, path: table(rng, path, "tsv"),
    "plain tsv": plain_tsv,
    "text": whole_text,
    "compressed": compressed,
    "parquet": parquet,
}


def read(source: CorpusShard | Sequence[Path], format: str) -> list[str]:
    return list(Documents(source, format, invalid_utf8="error"))


def corpora(kind: str, folder: Path, n: int) -> Iterator[tuple[random.Random, list[Path], str, list[str]]]:
    """Some random files of one format, and their documents."""
    rng = random.Random(f"shards of {kind}")
    for _ in range(n):
        found: dict[str, tuple[list[Path], list[str]]] = {}
        for number in range(rng.randint(1, 4)):
            path = folder / f"{kind}-{number}"
            format, documents = MAKERS[kind](rng, path)
            paths, joined = found.setdefault(format, ([], []))
            paths.append(path)
            joined += documents
        for format, (paths, joined) in found.items():
            yield rng, paths, format, joined


@pytest.mark.parametrize("kind", MAKERS)
def test_shards_of_a_plan_are_the_documents_in_order(kind: str, tmp_path: Path) -> None:
    for rng, paths, format, documents in corpora(kind, tmp_path, 12):
        assert read(paths, format) == documents
        total = sum(path.stat().st_size for path in paths)
        for shard_bytes in {1, 7, max(1, total // 5), max(1, total // 2), total + 1, rng.randint(1, 99)}:
            shards = plan_shards(paths, shard_bytes, format=format)
            joined = [text for shard in shards for text in read(shard, format)]
            assert joined == documents, (shards, [path.read_bytes() for path in paths])
            assert sum(shard.stop - shard.start for shard in shards) == total
            assert shards == plan_shards([str(path) for path in paths], shard_bytes, format=format)


@pytest.mark.parametrize("kind", MAKERS)
def test_any_ranges_of_bytes_are_the_documents_in_order(kind: str, tmp_path: Path) -> None:
    for rng, paths, format, documents in corpora(kind, tmp_path, 12):
        total = sum(path.stat().st_size for path in paths)
        names = tuple(map(str, paths))
        for _ in range(4):
            cuts = sorted(rng.randint(0, total) for _ in range(rng.randint(0, 6)))
            ranges = [CorpusShard(names, start, stop) for start, stop in pairwise([0, *cuts, total])]
            if cuts[-1:] == [total]:
                ranges.pop()  # both would have what is at the very end
            joined = [text for part in ranges for text in read(part, format)]
            assert joined == documents, (cuts, [path.read_bytes() for path in paths])


def test_each_byte_of_a_quoted_table_may_be_the_cut(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    cells = ["a", "b\nc", 'd"e', "f\r\n\r\n", '"\n"', ",\n,", "\ufeffg", "", "h"]
    rows = "".join('x,"{}"\r\n'.format(cell.replace('"', '""')) for cell in cells)
    path.write_bytes(f"\ufeffid,text\r\n{rows}".encode())
    size = path.stat().st_size
    for cut in range(size):
        parts = [CorpusShard((str(path),), 0, cut), CorpusShard((str(path),), cut, size)]
        assert [text for part in parts for text in read(part, "csv:text")] == cells, cut


@pytest.mark.parametrize("kind", ["lines", "csv", "compressed", "parquet"])
def test_counts_of_shards_add_up(kind: str, tmp_path: Path) -> None:
    _, paths, format, documents = next(corpora(kind, tmp_path, 1))
    whole = sentitok.count(paths, format=format)
    assert whole is not None
    assert whole.totals["documents"] == len(documents)
    for n in (1, 2, 7, 100):
        by_number = [sentitok.count(paths, format=format, shard=(index, n)) for index in range(n)]
        shards = plan_shards(paths, -(-sum(path.stat().st_size for path in paths) // n), format=format)
        planned = [sentitok.count(shard, format=format) for shard in shards]
        for parts in (by_number, planned):
            total = parts[0]
            for part in parts[1:]:
                assert total is not None
                assert part is not None
                total = total + part
            assert total == whole


def test_encoded_shards_are_the_data_set(tmp_path: Path) -> None:
    rng = random.Random(3)
    path = tmp_path / "table.csv"
    while True:
        format, documents = table(rng, path, "csv")
        if len(documents) > 10:
            break
    tokenizer = sentitok.train_bpe(texts=documents, vocab_size=270)
    sentitok.encode_files(path, tmp_path / "whole", tokenizer, format=format)
    joined = []
    for number, shard in enumerate(plan_shards(path, path.stat().st_size // 3, format=format)):
        manifest = sentitok.encode_files(shard, tmp_path / f"{number}", tokenizer, format=format)
        assert f"bytes {shard.start}-{shard.stop}" in {source["name"] for source in manifest["sources"]}
        joined += [ids.tolist() for ids in TokenDataset(tmp_path / f"{number}")]
    assert number > 0
    assert joined == [ids.tolist() for ids in TokenDataset(tmp_path / "whole")]


def test_files_are_packed_whole_and_large_ones_cut(tmp_path: Path) -> None:
    paths = []
    for name, size in [("a", 10), ("b", 0), ("c", 80), ("d", 20), ("e", 250), ("f", 10), ("g.gz", 500)]:
        paths.append(tmp_path / name)
        paths[-1].write_bytes(gzip.compress(os.urandom(size)) if name == "g.gz" else b"1234\n" * (size // 5))
    shards = plan_shards(paths, 100)
    names = [tuple(Path(path).name for path in shard.paths) for shard in shards]
    assert names == [("a", "b", "c"), ("d",), ("e",), ("e",), ("e",), ("f",), ("g.gz",)]
    assert [(shard.start, shard.stop) for shard in shards[2:5]] == [(0, 85), (85, 170), (170, 250)]
    assert plan_shards([], 100) == []
    with pytest.raises(ValueError, match="shard_bytes=0"):
        plan_shards(paths, 0)


def test_a_long_line_is_a_shard(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("a\n" * 50 + "x" * 1000 + "\n" + "b\n" * 50)
    shards = plan_shards(path, 100)
    assert all(read(shard, "lines") for shard in shards)
    assert max(shard.stop - shard.start for shard in shards) < 1200
    assert len(shards) >= 2


def test_a_cell_of_ten_megabytes(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    cell = ('line "of text", \n' * (10 << 16))[: 10 << 20]
    rows = ["first", cell, "last"]
    path.write_text("text\n" + "".join('"{}"\n'.format(row.replace('"', '""')) for row in rows))
    shards = plan_shards(path, 1 << 20, format="csv:text")
    assert [text for shard in shards for text in read(shard, "csv:text")] == rows
    assert len(shards) == 2


def test_the_progress_of_a_plan_reaches_the_end(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("text\n" + 'a "b", c\n' * 3000)
    seen: list[tuple[str, int, int]] = []
    plan_shards(path, 10_000, format="csv:text", progress=lambda *call: seen.append(call))
    size = path.stat().st_size
    assert seen[-1] == ("plan", size, size)


def test_shards_are_plain_data(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("a\nb\nc\n")
    (first, *_) = shards = plan_shards(path, 2)
    assert pickle.loads(pickle.dumps(shards)) == shards
    assert (first.paths, first.start, first.stop) == ((str(path),), 0, 2)
    assert first.versions == (file_version(path),)
    assert file_version(path) == (6, str(path.stat().st_mtime_ns))


@pytest.mark.parametrize("kind", ["lines", "csv", "compressed", "parquet"])
def test_a_changed_file_is_an_error(kind: str, tmp_path: Path) -> None:
    _, paths, format, _ = next(corpora(kind, tmp_path, 1))
    changed = paths[-1]
    shard = next(part for part in plan_shards(paths, 20, format=format) if str(changed) in part.paths)
    content, times = changed.read_bytes(), changed.stat()
    os.utime(changed, ns=(times.st_atime_ns, times.st_mtime_ns + 1000))
    with pytest.raises(FormatError, match=rf"{changed.name}.*changed.*modified"):
        read(shard, format)
    with pytest.raises(FormatError, match=rf"{changed.name}.*changed.*modified"):
        sentitok.count(shard, format=format)
    os.utime(changed, ns=(times.st_atime_ns, times.st_mtime_ns))
    read(shard, format)
    changed.write_bytes(content + b"\n")
    with pytest.raises(FormatError, match=rf"{changed.name}.*changed.*had {len(content)} bytes"):
        read(shard, format)
    changed.unlink()
    with pytest.raises(FileNotFoundError):
        read(shard, format)


def test_a_file_that_changes_while_it_is_read_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes(b"a line of text\n" * (1 << 20))
    (shard,) = plan_shards(path, 1 << 30)
    documents = Documents(shard, "lines")
    next(documents)
    with path.open("ab") as file:
        file.write(b"one more\n")
    with pytest.raises(FormatError, match=r"text\.txt.*changed"):
        list(documents)


def error_of(use: Callable[[], Any]) -> str:
    with pytest.raises((FormatError, TrainError)) as caught:
        use()
    return str(caught.value)


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("csv", b'id,text\r\n1,"a\nb"\r\n2,c\r\n3,"\xff"\r\n4,d\r\n'),
        ("csv", b'id,text\n1,"a\nb"\n2,c\n3,"never closed\n4,d\n'),
        ("csv", b'id,text\n1,"a\nb"\n2,c\n3,"one\ntwo" behind\n4,d\n'),
        ("csv", b'id,text\n1,"a\nb"\n2,c\n3,4,5\n4,d\n'),
        ("csv", b"\xef\xbb\xbfid,text\n1,a\n2,c\n3\n4,d\n"),
        ("tsv", b'id\ttext\n1\ta\n2\t"c\n3\n4\td\n'),
        ("jsonl", b'{"text":"a"}\n{"text":"b"}\n{"text":1}\n{"text":"c"}\n'),
        ("lines", b"a\nb\n\nc\xff\nd\n"),
    ],
)
def test_a_shard_names_the_line_of_the_file(kind: str, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    format = f"{kind}:text" if kind != "lines" else kind
    whole = error_of(lambda: read([path], format))
    assert "line" in whole
    for shard_bytes in range(2, len(content) + 1):
        errors = []
        for shard in plan_shards(path, shard_bytes, format=format):
            try:
                read(shard, format)
            except FormatError as error:
                errors.append(str(error))
        assert errors[:1] == [whole], shard_bytes
    for n in range(1, len(content)):
        errors = []
        for index in range(n):
            try:
                sentitok.count(path, format=format, shard=(index, n))
            except FormatError as error:
                errors.append(str(error))
        assert errors[:1] == [whole], n


def test_a_range_that_was_not_planned_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("text\na\nb\n")
    between = CorpusShard((str(path),), 6, 9, None, True)
    assert "plan the shards again" in error_of(lambda: read(between, "csv:text"))
    assert "plan the shards again" in error_of(lambda: read(between, "lines"))
    assert "(5, 2)" in error_of(lambda: read(CorpusShard((str(path),), 5, 2), "lines"))
    shard = CorpusShard((str(path),), 0, 2)
    assert "one of both" in error_of(lambda: sentitok.count(shard, format="lines", shard=(0, 2)))
    assert "a pipe cannot" in error_of(lambda: plan_shards("-", 10))
    assert "unknown" not in error_of(lambda: plan_shards([path], 10, format="nothing"))
    assert plan_shards(tmp_path, 10, format="lines") == plan_shards([path], 10, format="lines")
    with pytest.raises(FileNotFoundError):
        plan_shards([tmp_path / "missing"], 10)


def test_a_column_that_is_missing_is_found_in_every_shard(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("id,text\n" + "1,a\n" * 20)
    with pytest.raises(FormatError, match=r'columns are "id", "text"'):
        plan_shards(path, 20, format="csv:body")
    for start in (0, 30):
        with pytest.raises(FormatError, match=r'columns are "id", "text"'):
            read(CorpusShard((str(path),), start, start + 20), "csv:body")


def test_trainers_take_a_shard(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("low lower lowest\n" * 10 + "new newer newest\n" * 10)
    half = CorpusShard((str(path),), 0, 170)
    trained = sentitok.train_bpe(half, vocab_size=262)
    texts_of_half = ["low lower lowest\n"] * 10
    assert trained.fingerprint == sentitok.train_bpe(texts=texts_of_half, vocab_size=262).fingerprint


def test_files_of_a_store_are_asked_for_their_versions_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of files, one request after the other, would take minutes before any work."""
    store = pytest.importorskip("fsspec").filesystem("memory")
    names = ["memory://versions/a.txt", "memory://versions/b.txt"]
    for name in names:
        store.pipe_file(name.removeprefix("memory:/"), b"text\n")
    both = threading.Barrier(2, timeout=30)

    def version(_: object) -> tuple[int, str]:
        both.wait()
        return 5, "1"

    monkeypatch.setattr(remote, "version", version)
    shards = plan_shards(names, 10)
    assert [shard.versions for shard in shards] == [((5, "1"), (5, "1"))]
