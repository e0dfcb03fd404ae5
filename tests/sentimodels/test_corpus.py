"""Corpora as rows: documents, the split, packed rows, the order of rows, refusals, reads."""

import gzip
import json
import tracemalloc
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sentimodels.config import CorpusConfig
from sentimodels.errors import ConfigError, DataError, SentiError
from sentimodels.runs.families import LANGUAGE_MODEL
from sentimodels.tasks.next_token import rows_of
from sentimodels.text.documents import Documents
from sentimodels.text.packed import (
    ArrayFile,
    PackedSplit,
    RowOrder,
    SplitWriter,
    held_out,
    mapped,
    training_plan,
)
from sentitok import encode_files, train_bpe
from sentitok.datasets import TokenDataset
from token_corpora import corpus_of, documents_of, texts_of, write


@pytest.mark.parametrize("lengths", [[], [0], [3], [1, 0, 40_000]], ids=str)
def test_an_array_that_grows_is_a_file_of_numpy(lengths: list[int], tmp_path: Path) -> None:
    parts = [np.arange(n) * (1 << 40) for n in lengths]
    whole = np.concatenate([np.empty(0, np.int64), *parts])
    with ArrayFile(tmp_path / "ours.npy") as file:
        for part in parts:
            file.add(part)
        file.close()
    np.save(tmp_path / "theirs.npy", whole)
    assert (tmp_path / "ours.npy").read_bytes() == (tmp_path / "theirs.npy").read_bytes()
    found = mapped(tmp_path / "ours.npy")
    assert found.dtype == np.int64
    assert np.array_equal(found, whole)


def test_a_damaged_array_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "whole.npy", np.arange(5))
    data = (tmp_path / "whole.npy").read_bytes()
    for name, damaged in (("short", data[:-8]), ("head", data[:60]), ("none", b""), ("other", b"x" * 200)):
        (tmp_path / f"{name}.npy").write_bytes(damaged)
        with pytest.raises(DataError, match=rf"{name}\.npy: unreadable: "):
            mapped(tmp_path / f"{name}.npy")
    with pytest.raises(DataError, match="missing"):
        mapped(tmp_path / "missing.npy")


def test_documents_are_divided_and_none_is_lost(tmp_path: Path) -> None:
    texts = texts_of(200)
    corpus, tokenizer = corpus_of(tmp_path / "index", write(tmp_path / "a.txt", texts))
    valid = held_out(0, 200, 0.2, 42)
    assert 20 < valid.sum() < 60
    assert documents_of(corpus.train, tokenizer) == [t for t, v in zip(texts, valid, strict=True) if not v]
    scored = [t for t, v in zip(texts, valid, strict=True) if v]
    assert documents_of(corpus.valid, tokenizer) == scored
    assert corpus.facts.valid_bytes == sum(len(text.encode()) for text in scored)
    packed = gzip.compress("".join(f"{text}\n" for text in scored).encode(), 9)
    assert corpus.facts.gzip_bytes == len(packed)
    corpus.dataset.verify()  # what was written is a data set of token shards
    # The split is that of any block of documents.
    assert (np.concatenate([held_out(0, 77, 0.2, 42), held_out(77, 200, 0.2, 42)]) == valid).all()
    assert (held_out(0, 200, 0.2, 43) != valid).any()


@pytest.mark.parametrize("context", [16, 64])
def test_each_token_is_scored_once_and_rows_follow_each_other(context: int, tmp_path: Path) -> None:
    file = write(tmp_path / "a.txt", texts_of(150))
    corpus, _ = corpus_of(tmp_path / "index", file, data={"context": context})
    for part in (corpus.train, corpus.valid):
        stream = part.read(0, part.total + 1)
        starts = [part.start(row) for row in range(part.n_rows)]
        assert starts[0] == 0
        assert starts[-1] == part.total - context
        counted = np.zeros(part.total + 1, int)
        for row, start in enumerate(starts):
            found = rows_of(part, [row], once=True)
            assert found.ids[0].tolist() == stream[start : start + context].tolist()
            here = np.flatnonzero(found.targets[0] != -100)
            assert (found.targets[0][here].numpy() == stream[start + 1 + here]).all()
            counted[start + 1 + here] += 1
            whole = rows_of(part, [row])
            assert whole.targets[0].tolist() == stream[start + 1 : start + 1 + context].tolist()
            assert whole.n_targets == context
        assert counted[0] == 0
        assert (counted[1:] == 1).all()
        # A row begins where the last one ended, or with a document that begins just before.
        moved = 0
        for before, start in pairwise(starts[:-1]):
            back = before + context - start
            assert 0 <= back < context / 8
            assert back == 0 or stream[start] == part.end
            moved += back > 0
        if context == 64 and part is corpus.train:
            assert moved


def test_a_data_set_that_was_encoded_gives_the_same_rows(tmp_path: Path) -> None:
    texts = texts_of(120)
    file = write(tmp_path / "a.txt", texts)
    tokenizer = train_bpe(texts=texts, vocab_size=290, special_tokens=["<|endoftext|>"])
    tokenizer.save(tmp_path / "t.json")
    jsonl = tmp_path / "a.jsonl"
    jsonl.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    encode_files(jsonl, tmp_path / "shards", tokenizer, separator="<|endoftext|>", shard_tokens=200)
    named = {"data": {"tokenizer": str(tmp_path / "t.json")}}
    one, _ = corpus_of(tmp_path / "one", file, **named)
    two, again = corpus_of(tmp_path / "two", tmp_path / "shards", **named)
    assert len(list((tmp_path / "shards").glob("*.bin"))) > 3
    assert again == tokenizer
    for a, b in ((one.train, two.train), (one.valid, two.valid)):
        assert a.read(0, a.total + 1).tolist() == b.read(0, b.total + 1).tolist()
        assert [a.start(row) for row in range(a.n_rows)] == [b.start(row) for row in range(b.n_rows)]
    assert (one.facts.valid_bytes, one.facts.unigram_loss) == (two.facts.valid_bytes, two.facts.unigram_loss)
    for token in (0, 5, two.dataset.tokens - 1):
        number = two.dataset.document_at(token)
        ends = two.dataset.ends(0, len(two.dataset))
        assert (ends[number - 1] if number else 0) <= token < ends[number]
    with pytest.raises(ConfigError, match="name the tokenizer that encoded it: --tokenizer FILE"):
        corpus_of(tmp_path / "three", tmp_path / "shards")
    train_bpe(texts=texts, vocab_size=280).save(tmp_path / "other.json")
    with pytest.raises(DataError, match=r"encoded by another tokenizer than .*other.json: by SHA-256"):
        corpus_of(tmp_path / "four", tmp_path / "shards", data={"tokenizer": str(tmp_path / "other.json")})
    encode_files(jsonl, tmp_path / "bare", tokenizer)
    with pytest.raises(DataError, match="no separator; encode it again with"):
        corpus_of(tmp_path / "five", tmp_path / "bare", **named)


def test_ids_beyond_the_vocabulary_are_found(tmp_path: Path) -> None:
    tokenizer = train_bpe(texts=texts_of(50), vocab_size=290, special_tokens=["<|endoftext|>"])
    tokenizer.save(tmp_path / "t.json")
    file = write(tmp_path / "a.txt", texts_of(50))
    encode_files(file, tmp_path / "shards", tokenizer, separator="<|endoftext|>")
    shard = next((tmp_path / "shards").glob("*.bin"))
    ids = np.fromfile(shard, "<u2")
    ids[3] = 999
    ids.tofile(shard)
    with pytest.raises(DataError, match=r"id 999 in documents 0 to 50; the tokenizer has 290 tokens"):
        corpus_of(tmp_path / "index", tmp_path / "shards", data={"tokenizer": str(tmp_path / "t.json")})


FORMS: dict[str, tuple[str, str | None, list[str]]] = {
    "a.txt": ("one\r\n\n two \nthree", None, ["one", " two ", "three"]),
    "b.txt": ("one\nmore\n\n\ntwo\n", "paragraphs", ["one\nmore", "two"]),
    "c.txt": ("one\nmore\n\ntwo\n", "text", ["one\nmore\n\ntwo\n"]),
    "d.jsonl": ('{"text": "one\\nmore"}\n\n{"text": "two"}\n', None, ["one\nmore", "two"]),
    "e.jsonl": ('{"body": "one"}\n', "jsonl:body", ["one"]),
    "f.csv": ('id,text\n1,"one\nmore"\n2,two\n', "csv:text", ["one\nmore", "two"]),
    "g.tsv": ("text\tid\none\t1\n", "tsv:text", ["one"]),
    "q.tsv": ('text\tid\n"one\t1\ntwo\t2\nthree"\t3\n', "tsv:text", ['"one', "two", 'three"']),
}


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("packed", [False, True])
def test_documents_of_each_format(name: str, packed: bool, tmp_path: Path) -> None:
    content, format, expected = FORMS[name]
    path = tmp_path / (f"{name}.gz" if packed else name)
    path.write_bytes(gzip.compress(content.encode()) if packed else content.encode())
    documents = Documents(CorpusConfig(corpus=(str(path),), format=format))
    assert list(documents) == expected
    assert list(documents) == expected  # again
    assert documents.sources[0]["documents"] == len(expected)
    assert list(Documents(CorpusConfig(corpus=(str(tmp_path),), format=format, limit=1))) == expected[:1]


@pytest.mark.parametrize(
    ("name", "content", "format", "message"),
    [
        ("a.txt", "x\n", "words", "'words': expected one of .*lines, paragraphs, text"),
        ("a.txt", "x\n", "lines:text", "'lines' has fixed columns, not 'text'"),
        ("a.csv", "id,x,y\n1,so so,so so\n", None, "which column is the text. It has 'id', 'x', 'y'"),
        ("a.csv", "id,x\n1,so\n", "csv:text", "no column 'text'; it has 'id', 'x'"),
        ("a.csv", "id,text\n1\n", "csv:text", "line 2: 1 column instead of 2"),
        ("a.jsonl", '{"text": "so"}\n{\n', None, "line 2: not valid JSON"),
        ("a.jsonl", '{"text": "so"}\n{"body": "so"}\n', None, "line 2: no 'text'; it has 'body'"),
        ("a.jsonl", '{"text": ["so"]}\n', None, "line 1, column 'text': a list"),
        ("a.txt", "caf\udce9\n", None, "a.txt: byte 3 .line 1. is not utf-8"),
        ("a.txt", "x" * 200, "text", "longer than 100 bytes"),
        ("a.txt", "\u4e00" * 40 + " " * 160, "text", "longer than 100 bytes"),
        ("a.txt", "\u4e00" * 40 + "\n" * 160, "paragraphs", "line 1: .*100 bytes"),
        (
            "a.txt",
            "words\n\n" + "so\n" * 64 + "y",
            "paragraphs",
            "line 36: a paragraph of more than 100 bytes",
        ),
    ],
)
def test_files_that_cannot_be_read(
    name: str, content: str, format: str | None, message: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    limit = 100 if len(content) == 200 else None
    config = CorpusConfig(corpus=(str(path),), format=format, max_line_bytes=limit)
    with pytest.raises(SentiError, match=message):
        list(Documents(config))


def test_corpora_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no corpus: name files of texts"):
        Documents(CorpusConfig())
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="a folder without files"):
        Documents(CorpusConfig(corpus=(str(tmp_path / "empty"),)))
    with pytest.raises(FileNotFoundError):
        Documents(CorpusConfig(corpus=(str(tmp_path / "gone"),)))


def test_a_file_is_named_once(tmp_path: Path) -> None:
    """Documents are held out by their number: those of a copy would be trained on."""
    (tmp_path / "texts").mkdir()
    one = write(tmp_path / "texts" / "one.txt", texts_of(9))
    for names in (
        (one, one),
        (tmp_path / "texts", one),
        (one, tmp_path / "texts" / ".." / "texts" / "one.txt"),
    ):
        with pytest.raises(DataError, match=r"one\.txt: given twice, as .*one\.txt too; name each file once"):
            Documents(CorpusConfig(corpus=tuple(map(str, names))))


def test_corpora_that_are_too_small(tmp_path: Path) -> None:
    few = write(tmp_path / "few.txt", ["one two three"] * 4)
    with pytest.raises(DataError, match=r"tokens, fewer than one row of 256: give a longer corpus, or lower"):
        corpus_of(tmp_path / "a", few, data={"context": 256})
    empty = write(tmp_path / "empty.txt", ["", " "])
    with pytest.raises(DataError, match="the training part is empty; give a corpus with text"):
        corpus_of(tmp_path / "b", empty)
    one = write(tmp_path / "one.txt", [" ".join(texts_of(50))])
    for format, remedy in (
        (None, "give more documents"), ("paragraphs", "take --format lines"),
        ("text", "take --format paragraphs"),
    ):  # fmt: skip
        said = f"no documents for validation: the corpus has 1, .*raise --valid-share, or {remedy}$"
        with pytest.raises(DataError, match=said):
            corpus_of(tmp_path / f"c-{format}", one, data={"format": format})


def test_validation_stops_at_so_many_tokens(tmp_path: Path) -> None:
    file = write(tmp_path / "a.txt", texts_of(200))
    whole, _ = corpus_of(tmp_path / "a", file)
    some, tokenizer = corpus_of(tmp_path / "b", file, data={"valid_tokens": 100})
    assert 100 <= some.valid.total < 160 < whole.valid.total
    assert some.train.total == whole.train.total  # what is not scored is not trained on either
    assert documents_of(whole.valid, tokenizer)[:2] == documents_of(some.valid, tokenizer)[:2]


class Endless:
    """A data set of computed ids, which counts its reads."""

    def __init__(self) -> None:
        self.n_read = 0

    def stream(self, start: int, stop: int) -> NDArray[np.uint32]:
        self.n_read += stop - start
        return (np.arange(start, stop, dtype=np.uint64) * 7 % 1000).astype(np.uint32)


def test_only_the_tokens_of_a_batch_are_read(tmp_path: Path) -> None:
    """Of a corpus of 80 million tokens; the index is written in pieces, and mapped."""
    n_documents, length, context = 200_000, 400, 1024
    block = 1 << 15
    tracemalloc.start()
    writer = SplitWriter(tmp_path, "train", context)
    for first in range(0, n_documents, block):
        numbers = np.arange(first, min(first + block, n_documents))
        numbers = numbers[~held_out(first, first + len(numbers), 0.05, 1)]
        writer.add(numbers * length, (numbers + 1) * length)
    writer.close()
    dataset = Endless()
    part = PackedSplit(dataset, tmp_path, "train", stride=context, total=writer.total, end=1001)
    order = RowOrder(LANGUAGE_MODEL.resolve({"preset": "nano"}), part.n_rows)
    assert part.n_rows > 70_000
    assert dataset.n_read == 0
    batches = order.batches(0, 100, 0, 1)
    for _ in range(20):
        rows_of(part, next(batches))
    assert 20 * 64 * context <= dataset.n_read <= 20 * 64 * (context + 1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6  # the ids alone would be 320e6 bytes
    assert isinstance(part._rows, np.memmap)


@pytest.mark.parametrize("world", [1, 2, 3])
def test_processes_share_an_epoch(world: int) -> None:
    config = LANGUAGE_MODEL.resolve({"preset": "nano", "train": {"batch_size": 4}})
    order = RowOrder(config, 50)
    found = order.plan(world)
    assert found.n_batches == 50 // (4 * world)
    rows = [row for rank in range(world) for batch in order.batches(3, 0, rank, world) for row in batch]
    assert len(rows) == len(set(rows)) == found.n_batches * 4 * world
    # What one process with larger batches reads, in the same order.
    together = RowOrder(LANGUAGE_MODEL.resolve(config.tree(), {"train": {"batch_size": 4 * world}}), 50)
    for place, whole in enumerate(together.batches(3, 0, 0, 1)):
        parts = [next(order.batches(3, place, rank, world)) for rank in range(world)]
        assert list(chain(*parts)) == whole
    assert list(order.batches(3, 2, 0, world)) == list(order.batches(3, 0, 0, world))[2:]


def test_each_process_has_a_row() -> None:
    config = LANGUAGE_MODEL.resolve({"preset": "nano", "train": {"batch_size": 4}})
    assert [training_plan(config, 3, world).n_batches for world in (1, 2, 3)] == [1, 1, 1]
    with pytest.raises(DataError, match=r"has 3 rows of 256 tokens, fewer than the 4 processes: start fewer"):
        training_plan(config, 3, 4)


def test_the_smallest_budget_ends_the_run() -> None:
    def steps(**train: Any) -> int:
        return training_plan(
            LANGUAGE_MODEL.resolve(
                {"preset": "nano", "data": {"context": 16}, "train": {"batch_size": 4, **train}}
            ),
            50,
        ).steps

    assert steps(max_steps=7) == 7
    assert steps(epochs=3) == 3 * 12
    assert steps(tokens=4 * 16 * 5) == 5
    assert steps(tokens=4 * 16 * 5 + 1) == 6
    assert steps(tokens=4 * 16 * 5, max_steps=3) == 3
    assert steps(epochs=2, accumulate=5) == 2 * 2  # of 12 batches, 10 make whole steps
    assert steps(tokens=4 * 16 * 15, accumulate=3) == 5
    assert steps(epochs=2, batch_size=100) == 2  # fewer rows than a batch


def test_a_data_set_tells_where_documents_end(tmp_path: Path) -> None:
    tokenizer = train_bpe(texts=texts_of(20), vocab_size=270)
    encode_files(write(tmp_path / "a.txt", texts_of(30)), tmp_path / "s", tokenizer, shard_tokens=100)
    dataset = TokenDataset(tmp_path / "s")
    lengths = [len(document) for document in dataset]
    assert dataset.ends(0, 30).tolist() == np.cumsum(lengths).tolist()
    assert dataset.ends(5, 9).tolist() == np.cumsum(lengths)[5:9].tolist()
    assert dataset.ends(4, 4).tolist() == []
    assert [dataset.document_at(token) for token in range(dataset.tokens)] == np.repeat(
        np.arange(30), lengths
    ).tolist()
    for start, stop in ((-1, 3), (3, 2), (0, 31)):
        with pytest.raises(IndexError, match="of a data set of 30"):
            dataset.ends(start, stop)
    with pytest.raises(IndexError, match="of a data set of"):
        dataset.document_at(dataset.tokens)
