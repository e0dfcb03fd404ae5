"""`WordCounts` and counting: a mapping, mergeable, the same by every code path."""

import gzip
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import sentitok
from conftest import CORPUS
from sentitok import PreTokenizer, TrainError, WordCounts, count, train_bpe


def counted(*args: Any, **options: Any) -> WordCounts:
    counts = count(*args, **options)
    assert counts is not None
    return counts


def test_it_is_a_mapping() -> None:
    counts = counted(texts=["a b a", "b"])
    assert isinstance(counts, Mapping)
    assert dict(counts) == {b" a": 1, b" b": 1, b"a": 1, b"b": 1}
    assert list(counts) == sorted(counts)
    assert list(counts.keys()) == list(counts)
    assert list(counts.items()) == [(piece, 1) for piece in counts]
    assert list(counts.values()) == [1] * 4
    assert counts["a"] == counts[b"a"] == 1
    assert counts.get("nothing") is None
    assert counts.get("nothing", 7) == 7
    with pytest.raises(KeyError, match="nothing"):
        counts["nothing"]
    assert b"a" in counts
    assert "a" in counts  # type: ignore[comparison-overlap]  # 2026-11-24: any object may be asked for
    assert "nothing" not in counts  # type: ignore[comparison-overlap]  # 2026-11-24: any object may be asked for
    assert 1 not in counts  # type: ignore[comparison-overlap]  # 2026-11-24: any object may be asked for
    assert "\ud800" not in counts  # type: ignore[comparison-overlap]  # 2026-11-24: any object may be asked for
    assert counts == counted(texts=["a b a", "b"])
    assert hash(counts) == hash(counted(texts=["a b a", "b"]))
    assert repr(counts) == "WordCounts(4 pieces, gpt2)"


def test_counting_equals_its_definition(lines: list[str]) -> None:
    splitter = PreTokenizer("gpt2")
    expected = Counter(piece.encode() for line in lines for piece in splitter.pieces(line))
    assert dict(counted(texts=lines)) == expected


def test_every_road_is_the_same(sherlock: Path, tmp_path: Path) -> None:
    expected = counted(sherlock)
    lines = sherlock.read_bytes().splitlines(keepends=True)
    packed = tmp_path / "sherlock.txt.gz"
    packed.write_bytes(gzip.compress(sherlock.read_bytes()))
    texts = [line.decode() for line in lines]

    def generate() -> Iterator[str]:
        yield from texts

    for name, counts in {
        "path as str": counted(str(sherlock)),
        "list of one": counted([sherlock]),
        "gzip": counted(packed),
        "list": counted(texts=texts),
        "tuple": counted(texts=tuple(texts)),
        "bytes": counted(texts=lines),
        "generator": counted(generate()),
        "series": counted(pd.Series(texts)),
        "arrow": counted(pa.chunked_array([texts[:100], texts[100:]])),
        "table": counted(pa.table({"text": texts})),
        "one thread": counted(texts=texts, threads=1),
        "three threads": counted(sherlock, threads=3),
        "little memory": counted(sherlock, max_memory=1 << 20),
        "shards": counted(sherlock, shard=(0, 3))
        + counted(sherlock, shard=(1, 3))
        + counted(sherlock, shard=(2, 3)),
        "shards of texts": counted(texts=texts, shard=(0, 2)) + counted(iter(texts), shard=(1, 2)),
    }.items():
        assert counts.to_bytes() == expected.to_bytes(), name


def test_files(sherlock: Path, tmp_path: Path) -> None:
    counts = counted(sherlock)
    counts.save(tmp_path / "a.counts")
    assert count(sherlock, out=tmp_path / "b.counts") is None
    assert (tmp_path / "a.counts").read_bytes() == (tmp_path / "b.counts").read_bytes() == counts.to_bytes()
    assert WordCounts.load(tmp_path / "a.counts") == counts == WordCounts.from_bytes(counts.to_bytes())
    totals = sentitok.merge_counts([tmp_path / "a.counts", tmp_path / "b.counts"], tmp_path / "sum.counts")
    assert WordCounts.load(tmp_path / "sum.counts") == counts + counts
    assert totals == (counts + counts).totals


def test_failed_counting_leaves_no_file(tmp_path: Path) -> None:
    def fails() -> Iterator[str]:
        yield "some text"
        raise LookupError("gone")

    with pytest.raises(LookupError, match="gone"):
        count(fails(), out=tmp_path / "x.counts")
    assert list(tmp_path.iterdir()) == []


def test_totals() -> None:
    totals = counted(texts=["ab c", "d"], max_piece_bytes=None).totals
    assert totals["documents"] == 2
    assert totals["bytes"] == 5
    assert totals["pieces"] == 3
    replaced = counted(texts=[b"a\xffb", "c\ud800"], invalid_utf8="replace")
    assert dict(replaced) == {b"a": 1, "�".encode(): 2, b"b": 1, b"c": 1}
    assert replaced.totals["invalid_bytes"] == 1
    kept = counted(texts=[b"a\xffb"], invalid_utf8="bytes")
    assert b"\xff" in kept
    cut = counted(texts=["x" * 100], max_piece_bytes=10)
    assert dict(cut) == {b"x" * 10: 10}
    assert cut.totals["pieces_cut"] == 1


def test_from_a_mapping() -> None:
    mixed: dict[str | bytes, int] = {"low": 5, b"\xff\xfe": 2**64 - 10}
    counts = WordCounts(mixed)
    assert counts[b"\xff\xfe"] == 2**64 - 10
    assert dict(WordCounts(counts)) == dict(counts)
    assert WordCounts({}, pre_tokenizer="cl100k").pipeline != WordCounts({}).pipeline
    assert WordCounts({}).pipeline_hash == counts.pipeline_hash
    for bad in ({"a": -1}, {"a": 2**64}, {"a": "1"}):
        with pytest.raises(ValueError, match="the count of"):
            WordCounts(bad)  # type: ignore[arg-type]  # 2026-11-24: refused


def test_arrow() -> None:
    counts = counted(texts=["a b a"])
    table = counts.to_arrow()
    assert table.schema == pa.schema([("piece", pa.large_binary()), ("count", pa.int64())])
    again = WordCounts.from_arrow(table)
    assert dict(again) == dict(counts)
    twice = WordCounts.from_arrow(pa.table({"count": [1, 2], "piece": ["x", "x"]}), pre_tokenizer="o200k")
    assert dict(twice) == {b"x": 3}


def test_counts_train_like_text(sherlock: Path) -> None:
    options: dict[str, Any] = {"vocab_size": 2000, "special_tokens": ["<s>"]}
    from_text = train_bpe(sherlock, **options)
    counts = counted(sherlock)
    assert train_bpe(counts=counts, **options).to_bytes() == from_text.to_bytes()
    assert train_bpe(counts=dict(counts), **options).to_bytes() == from_text.to_bytes()
    halves = counted(sherlock, shard=(1, 2)) + counted(sherlock, shard=(0, 2))
    assert train_bpe(counts=halves, **options).to_bytes() == from_text.to_bytes()


def test_great_counts_are_exact() -> None:
    # A 32-bit count would wrap, a double would round.
    big = 3_000_000_000
    tokenizer = train_bpe(counts={"ab": big, "cd": big - 1, "ef": 2**60 + 1, "gh": 2**60}, vocab_size=260)
    assert tokenizer.merges() == [(b"e", b"f"), (b"g", b"h"), (b"a", b"b"), (b"c", b"d")]


def test_pipelines_must_fit() -> None:
    counts = counted(texts=["it's 1234"], pre_tokenizer="cl100k")
    assert train_bpe(counts=counts, vocab_size=257).pre_tokenizer.name == "cl100k"
    assert train_bpe(counts=counts, vocab_size=257, pre_tokenizer="cl100k").vocab_size == 257
    with pytest.raises(TrainError, match="different pipelines"):
        train_bpe(counts=counts, vocab_size=257, pre_tokenizer="gpt2")
    with pytest.raises(TypeError, match="both given"):
        train_bpe(texts=["a"], counts=counts)
    with pytest.raises(TypeError, match="nothing to train on"):
        train_bpe()
    with pytest.raises(TypeError, match="both given"):
        count("x.txt", texts=["a"])


def test_formats() -> None:
    fixtures = CORPUS / "fixtures"
    for path, format in [
        ("reviews.jsonl", None),
        ("reviews.jsonl", "jsonl:text"),
        ("reviews.csv", "csv:text"),
    ]:
        assert len(counted(fixtures / path, format=format)) > 0
    with pytest.raises(TrainError, match="csv:text"):
        count(fixtures / "reviews.csv")
