"""What goes wrong, as Python sees it: the type, its bases, the words.

The mapping of every variant of the Rust error is tested next to it, in
`rust/py/error.rs`; here each is brought about from outside, where it can be.
"""

import copy
import os
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import sentitok
from conftest import CORPUS
from sentitok import (
    DecodeError,
    EncodeError,
    FormatError,
    InternalError,
    PreTokenizer,
    SentitokError,
    Tokenizer,
    TrainError,
    WordCounts,
    train_bpe,
)


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (TrainError, ValueError),
        (FormatError, ValueError),
        (EncodeError, ValueError),
        (DecodeError, ValueError),
        (InternalError, RuntimeError),
    ],
)
def test_tree(error: type[SentitokError], builtin: type[Exception]) -> None:
    assert error.__bases__ == (SentitokError, builtin)
    assert SentitokError.__bases__ == (Exception,)
    assert error.__module__ == "sentitok"
    assert error.__doc__
    raised = pickle.loads(pickle.dumps(error("words")))
    assert type(raised) is error
    assert str(copy.copy(raised)) == "words"


def bad_utf16(directory: Path) -> object:
    return train_bpe(CORPUS / "fixtures" / "utf16le.txt")


def bad_jsonl(directory: Path) -> object:
    path = directory / "bad.jsonl"
    path.write_text('{"text": "good"}\n{"text": 1}\n')
    return sentitok.count(path)


def empty_folder(directory: Path) -> object:
    (directory / "empty").mkdir(exist_ok=True)
    return train_bpe(directory / "empty")


def tiktoken_ranks(directory: Path) -> object:
    path = directory / "x.tiktoken"
    path.write_text("IQ== 0\nIg== 1\n")
    return Tokenizer.from_file(path)


def misspelt_pattern(directory: Path) -> object:
    path = directory / "x.tiktoken"
    path.write_text("IQ== 0\nIg== 1\n")
    return Tokenizer.from_tiktoken(path, "cl100k_base")


def counts_as_tokenizer(directory: Path) -> object:
    path = directory / "x.counts"
    WordCounts({"a": 1}).save(path)
    return Tokenizer.from_file(path)


def future_counts(directory: Path) -> object:
    return WordCounts.from_bytes(WordCounts({"a": 1}).to_bytes().replace(b"counts 1", b"counts 9", 1))


def merges_of_nothing(directory: Path) -> object:
    return sentitok.merge_counts([directory / "none.counts"], directory / "out.counts")


CASES: list[tuple[str, Callable[[Path], object], type[BaseException], str]] = [
    ("missing file", lambda d: train_bpe(d / "none.txt"), FileNotFoundError, "No such file or directory"),
    ("missing tokenizer", lambda d: Tokenizer.from_file(d / "none.json"), FileNotFoundError, "none.json"),
    ("missing counts", merges_of_nothing, FileNotFoundError, "none.counts"),
    ("empty folder", empty_folder, FileNotFoundError, "the folder has no file to read"),
    ("empty corpus", lambda d: train_bpe(texts=[]), TrainError, "the corpus is empty"),
    ("empty counts", lambda d: train_bpe(counts={}), TrainError, "the corpus is empty"),
    ("small vocabulary", lambda d: train_bpe(texts=["a"], vocab_size=9), TrainError, "at least 256"),
    ("bad option", lambda d: train_bpe(texts=["a"], format="pages"), TrainError, "jsonl:FIELD"),
    ("bad tie rule", lambda d: train_bpe(texts=["a"], tie_break="x"), TrainError, "'sentencepiece'"),  # type: ignore[arg-type]  # 2026-11-24: refused
    ("bad unit", lambda d: train_bpe(texts=["a"], unit="x"), TrainError, "'chars'"),  # type: ignore[arg-type]  # 2026-11-24: refused
    ("bad alphabet", lambda d: train_bpe(texts=["a"], initial_alphabet=["ab"]), TrainError, "one character"),
    ("bad name", lambda d: PreTokenizer("gpt9"), TrainError, "cl100k"),
    ("bad shard", lambda d: sentitok.count(texts=["a"], shard=(3, 2)), TrainError, "0/2 to 1/2"),
    (
        "overflow",
        lambda d: WordCounts({"a": 2**64 - 1}) + WordCounts({"a": 1}),
        TrainError,
        "passes 2^64 - 1",
    ),
    (
        "two pipelines",
        lambda d: WordCounts({"a": 1}) + WordCounts({"a": 1}, pre_tokenizer="cl100k"),
        TrainError,
        "different pipelines",
    ),
    (
        "invalid UTF-8",
        lambda d: train_bpe(CORPUS / "fixtures" / "invalid.txt"),
        FormatError,
        "invalid UTF-8 at byte",
    ),
    (
        "invalid text",
        lambda d: train_bpe(texts=["a", "b\ud800"]),
        FormatError,
        "<iterable>, document 2: invalid UTF-8 at byte 1",
    ),
    ("UTF-16", bad_utf16, FormatError, "UTF-16"),
    ("bad record", bad_jsonl, FormatError, "bad.jsonl, line 2"),
    ("bad pattern", lambda d: PreTokenizer(pattern="("), FormatError, 'pattern "("'),
    ("no tokenizer", lambda d: Tokenizer.from_bytes(b"{}"), FormatError, ""),
    ("ranks alone", tiktoken_ranks, FormatError, "from_tiktoken"),
    ("pattern or misspelt name", misspelt_pattern, TrainError, "cl100k"),
    ("counts, not a tokenizer", counts_as_tokenizer, FormatError, "counts"),
    ("future version", future_counts, FormatError, "reads"),
]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_no_file_takes_the_place_of_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    for save in (train_bpe(texts=["a"], vocab_size=256).save, WordCounts({"a": 1}).save):
        with pytest.raises(FileExistsError, match="a device or a pipe"):
            save(pipe)
        assert pipe.is_fifo()


@pytest.mark.parametrize(("make", "error", "words"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_message(
    make: Callable[[Path], object], error: type[BaseException], words: str, tmp_path: Path
) -> None:
    with pytest.raises(error) as raised:
        make(tmp_path)
    assert type(raised.value) is error
    assert words in str(raised.value)
    assert "PosixPath" not in str(raised.value)


def test_os_error_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as raised:
        Tokenizer.from_file(tmp_path / "none.json")
    assert raised.value.filename == str(tmp_path / "none.json")
    assert raised.value.errno == 2


def test_a_list_of_texts_is_told_from_a_list_of_paths() -> None:
    with pytest.raises(FileNotFoundError, match=r"texts=\[\.\.\.\]"):
        train_bpe(["a gripping film", "a dull one"])
    with pytest.raises(TypeError, match=r"texts=\[\.\.\.\]"):
        train_bpe([b"a gripping film"])


def test_format_belongs_to_files() -> None:
    with pytest.raises(TrainError, match="an iterable gives documents"):
        train_bpe(texts=["a"], format="lines")


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda t: t.encode("a<pad>", specials="raise"), EncodeError, '"<pad>" at byte 1'),
        (lambda t: t.encode("a", specials={"<none>"}), EncodeError, "not a special token"),
        (lambda t: t.encode("a", specials="some"), EncodeError, "'none', 'all', 'raise' or a set"),
        (lambda t: t.encode("ab\ud800", errors="strict"), EncodeError, "surrogate at index 2"),
        (lambda t: t.encode(b"ab\xff", errors="strict"), EncodeError, "invalid UTF-8 at byte 2"),
        (lambda t: t.encode_segments([sentitok.Special("<s>")]), EncodeError, "with_specials"),
        (lambda t: t.encode_segments("a text"), TypeError, "a list of segments"),
        (lambda t: t.windows("a", 4, 4), EncodeError, "leave no step"),
        (lambda t: t.encode_batch(["a"]).offsets(), EncodeError, "offsets=True"),
        (lambda t: t.encode_batch(["a film"]).pad(1), EncodeError, "pad to more"),
        (lambda t: t.encode_batch(["a"]).pad(multiple_of=0), EncodeError, "at least 1"),
        (lambda t: t.decode([3000]), DecodeError, "id 3000 is not in the vocabulary (ids are 0 to 2999)"),
        (lambda t: t.decode([-1]), DecodeError, "id -1"),
        (lambda t: t.decode([2**70]), DecodeError, f"id {2**70}"),
        (lambda t: t.decode(np.array([-1])), DecodeError, "id -1"),
        (lambda t: t.stream_decoder().push(2**32), DecodeError, f"id {2**32}"),
        (lambda t: t.with_dropout(1.5), TrainError, "from 0 to 1"),
        (lambda t: t.encode(1), TypeError, "not int"),
        (lambda t: t.encode("a", errors="ignore"), ValueError, "'strict'"),
        (lambda t: t.encode("a").offsets("words"), ValueError, "'bytes'"),
        (lambda t: t.encode_batch("a film"), TypeError, "pass a list"),
        (lambda t: t.encode_batch(["a", None]), TypeError, "row 1 is NoneType"),
        (lambda t: t.encode_batch(["a"])[1], IndexError, "row 1 of a batch of 1"),
        (lambda t: t.encode_batch(["a"])[-2], IndexError, "row -2"),
        (lambda t: t.decode(np.array([[1]])), ValueError, "one dimension"),
        (lambda t: t.decode(np.array([1.5])), TypeError, "integers"),
        (lambda t: t.decode(["a"]), TypeError, "an id is an int"),
        (lambda t: t.id_to_token("a"), TypeError, "an id is an int"),
        (lambda t: t.save("x.unknown"), TrainError, "means no format"),
    ],
)
def test_calls(
    call: Callable[[Tokenizer], object], error: type[Exception], words: str, tokenizer: Tokenizer
) -> None:
    with pytest.raises(error) as raised:
        call(tokenizer)
    assert type(raised.value) is error
    assert words in str(raised.value)
