"""Numbers of every call of the extension: other types and values out of bounds name the argument.

Which arguments are numbers is read from the stub, so that a new one cannot be forgotten: each needs
a call in `CALLS` or `FLOATS`. The effect of valid numbers is tested elsewhere, numbers that are
checked in Python in `test_numbers_in_python.py`.
"""

import ast
from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sentitok
from sentitok._sentitok import DistinctWords, DocumentReader, Fertility, FertilityCounter, cut_file

STUB = Path(sentitok.__file__).with_name("_sentitok.pyi")
TEXTS = ["low lower lowest", "new newer newest low"]
FILE = Path(__file__).parents[1] / "data" / "corpus" / "pride-and-prejudice.txt"
BPE = sentitok.train_bpe(texts=TEXTS, vocab_size=260, threads=1)
UNIGRAM = sentitok.train_unigram(texts=TEXTS, vocab_size=16, threads=1)
ENCODING, BATCH = BPE.encode(TEXTS[0]), BPE.encode_batch(TEXTS)
RANKS = b"".join(b"%s %d\n" % (b64encode(bytes([byte])), byte) for byte in range(256))


def fertility(words: DistinctWords | None = None, threads: Any = None) -> Fertility:
    counter = FertilityCounter(BPE, words)
    counter.add(TEXTS, threads)
    return counter.sums()


def distinct_words() -> DistinctWords:
    words = DistinctWords()
    fertility(words)
    return words


def trained(**options: Any) -> Any:
    return sentitok.train_bpe(texts=TEXTS, **{"threads": 1, "vocab_size": 260, **options}).to_bytes()


def in_the_manner_of_sentencepiece(**options: Any) -> Any:
    return sentitok.train_bpe(texts=TEXTS, threads=1, method="sentencepiece", vocab_size=14, **options)


def superwords(**options: Any) -> Any:
    whole = {"threads": 1, "vocab_size": 262, "superwords_from": 259, "pre_tokenizer": "gpt2"}
    return sentitok.train_bpe(texts=TEXTS, **{**whole, **options}).to_bytes()


def parity(**options: Any) -> Any:
    texts = {"a": TEXTS, "b": TEXTS[::-1]}
    return sentitok.train_parity_bpe(texts=texts, **{"threads": 1, "vocab_size": 260, **options}).to_bytes()


def unigram(**options: Any) -> Any:
    return sentitok.train_unigram(texts=TEXTS, **{"threads": 1, "vocab_size": 16, **options}).to_bytes()


def wordpiece(**options: Any) -> Any:
    return sentitok.train_wordpiece(texts=TEXTS, **{"threads": 1, "vocab_size": 40, **options}).to_bytes()


def counted(**options: Any) -> Any:
    return sentitok.count(FILE, **options)


def merged(folder: Path, **options: Any) -> Any:
    sentitok.WordCounts({"low": 3, "new": 1}).save(folder / "a.counts")
    return sentitok.merge_counts([folder / "a.counts"], folder / "b.counts", **options)


def encoded(folder: Path, **options: Any) -> Any:
    place = folder / str(len([*folder.iterdir()]))
    return sentitok.encode_files(texts=TEXTS, out_dir=place, tokenizer=BPE, **options)["tokens"]


def named(**options: Any) -> Any:
    return sentitok.Tokenizer.from_tiktoken(RANKS, "gpt2", **options).to_bytes()


# For each call: how it is made, and a right number for each argument. The first argument is a folder.
CALLS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "AddedToken.__new__": (lambda _, **n: sentitok.AddedToken("a", **n).id, {"id": 3}),
    "Encoding.char_to_token": (
        lambda _, **n: ENCODING.char_to_token(**{"char": 1, **n}),
        {"char": 1, "sequence": 0},
    ),
    "Encoding.word_to_tokens": (
        lambda _, **n: ENCODING.word_to_tokens(**{"word": 1, **n}),
        {"word": 1, "sequence": 0},
    ),
    "EncodingBatch.pad": (
        lambda _, **n: BATCH.pad(**n)[0].tolist(),
        {"length": 40, "pad_id": 3, "multiple_of": 8},
    ),
    "EncodingBatch.to_torch": (
        lambda _, **n: BATCH.to_torch(**n)["input_ids"].tolist(),
        {"length": 40, "pad_id": 3, "multiple_of": 8},
    ),
    "FertilityCounter.add": (lambda _, **n: fertility(**n).words, {"threads": 2}),
    "DistinctWords.single": (lambda _, **n: distinct_words().single(BPE, **n), {"threads": 2}),
    "Tokenizer.encode": (lambda _, **n: BPE.encode(TEXTS[0], **n), {"max_tokens": 3, "seed": 7}),
    "Tokenizer.encode_batch": (
        lambda _, **n: BPE.encode_batch(TEXTS, **n),
        {"max_tokens": 3, "seed": 7, "threads": 2},
    ),
    "Tokenizer.count_batch": (lambda _, **n: BPE.count_batch(TEXTS, **n).tolist(), {"threads": 2}),
    "Tokenizer.windows": (
        lambda _, **n: BPE.windows(TEXTS[0], **{"size": 4, **n}),
        {"size": 4, "stride": 1},
    ),
    "Tokenizer.windows_batch": (
        lambda _, **n: BPE.windows_batch(TEXTS, **{"size": 4, **n}),
        {"size": 4, "stride": 1, "threads": 2, "seed": 7},
    ),
    "Tokenizer.stream_encoder": (lambda _, **n: BPE.stream_encoder(**n).push("low ").tolist(), {"seed": 7}),
    "Tokenizer.fits": (lambda _, **n: BPE.fits(TEXTS[0], **n), {"limit": 3}),
    "Tokenizer.n_best": (lambda _, **n: [score for _, score in UNIGRAM.n_best("low", **n)], {"n": 2}),
    "Tokenizer.sample": (lambda _, **n: UNIGRAM.sample("low low", **n).tolist(), {"seed": 7}),
    "Tokenizer.from_tiktoken": (lambda _, **n: named(**n), {"special_tokens": {"<s>": 300}}),
    "DocumentReader.__new__": (
        lambda _, **n: [text for batch in DocumentReader([FILE], **n) for text in batch],
        {"max_line_bytes": 1 << 20},
    ),
    "count": (
        lambda _, **n: counted(**n),
        {
            "shard": (1, 2), "max_line_bytes": 1 << 20, "max_memory": 1 << 24,
            "max_piece_bytes": 64, "seed": 7, "threads": 2, "shard_bytes": 1 << 20,
        },
    ),
    "merge_counts": (merged, {"min_count": 2}),
    "cut_file": (lambda _, **n: cut_file(FILE, **n), {"part_bytes": 1 << 16}),
    "encode_files": (
        encoded,
        {"shard": (1, 2), "max_line_bytes": 99, "shard_tokens": 9, "threads": 2, "shard_bytes": 1 << 20},
    ),
    "train_bpe": (
        lambda _, **n: in_the_manner_of_sentencepiece(**n).to_bytes()
        if n.keys() & {"special_ids", "max_piece_length"}
        else superwords(**n)
        if n.keys() & {"superwords_from", "max_superword_words"}
        else trained(**n),
        {
            "vocab_size": 258, "min_frequency": 2, "limit_alphabet": 9, "max_token_length": 3,
            "max_piece_length": 3, "special_ids": {"<s>": 2}, "max_line_bytes": 1 << 20,
            "max_memory": 1 << 24, "max_piece_bytes": 64, "min_count": 1, "seed": 7, "threads": 2,
            "superwords_from": 260, "max_superword_words": 2,
        },
    ),
    "train_parity_bpe": (
        lambda _, **n: parity(**n),
        {
            "vocab_size": 258, "min_frequency": 2, "limit_alphabet": 256, "max_token_length": 3,
            "window_size": 3, "global_merges": 1, "max_merges": 2, "max_line_bytes": 1 << 20,
            "max_memory": 1 << 24, "max_piece_bytes": 64, "min_count": 1, "seed": 7, "threads": 2,
        },
    ),
    "train_unigram": (
        lambda _, **n: unigram(**n),
        {
            "vocab_size": 15, "seed_size": 9, "sub_iterations": 1, "max_piece_length": 3,
            "special_ids": {"<s>": 2}, "max_line_bytes": 1 << 20, "max_memory": 1 << 24,
            "max_piece_bytes": 64, "min_count": 2, "seed": 7, "threads": 2,
        },
    ),
    "train_wordpiece": (
        lambda _, **n: wordpiece(**n),
        {
            "vocab_size": 30, "min_frequency": 2, "limit_alphabet": 9, "max_token_length": 3,
            "max_input_chars_per_word": 9, "max_line_bytes": 1 << 20, "max_memory": 1 << 24,
            "max_piece_bytes": 64, "min_count": 2, "seed": 7, "threads": 2,
        },
    ),
}  # fmt: skip

# Ids, counts of pieces and places, which have their own errors and tests: any int may be asked for.
OTHERS = {
    "Encoding.token_to_chars", "EncodingBatch.__getitem__", "QuickDecode.decode_by", "StreamDecoder.push",
    "Tokenizer.id_to_bytes", "Tokenizer.id_to_token", "Tokenizer.prune", "WordCounts.__new__",
}  # fmt: skip


# Counts and ratios are mappings, and a sample is a whole number of bytes or a share: `test_counts_mixed.py`
# and `test_parity_bpe_training.py`.
OTHER_ARGUMENTS = {"counts", "ratios", "sample"}

# The same for arguments that are not whole numbers, each with values out of its bounds.
FLOATS: dict[str, tuple[Callable[..., Any], dict[str, tuple[float, tuple[float, ...]]]]] = {
    "Tokenizer.sample": (lambda **n: UNIGRAM.sample("low low", **n).tolist(), {"alpha": (0.5, (-0.1,))}),
    "Tokenizer.entropy": (lambda **n: UNIGRAM.entropy("low low", **n), {"alpha": (0.5, (-0.1,))}),
    "Tokenizer.with_dropout": (lambda **n: BPE.with_dropout(**n).to_bytes(), {"p": (0.5, (-0.1, 1.1, 1e39))}),
    "train_bpe": (
        lambda **n: in_the_manner_of_sentencepiece(**n).to_bytes(),
        {"character_coverage": (1.0, (0, -0.1, 1.0000001)), "checkpoint_seconds": (2.5, (-0.1,))},
    ),
    "train_parity_bpe": (lambda **n: parity(variant="window", **n), {"alpha": (2.5, (0, -0.1))}),
    "train_unigram": (
        lambda **n: unigram(**n),
        {
            "character_coverage": (1.0, (0, -0.1, 1.0000001)),
            "shrinking_factor": (0.5, (0, 1, -0.1, 1.5)),
            "checkpoint_seconds": (2.5, (-0.1,)),
        },
    ),
    "train_wordpiece": (lambda **n: wordpiece(**n), {"checkpoint_seconds": (2.5, (-0.1,))}),
}


def numbers_of_the_stub(*types: str) -> Iterator[tuple[str, str]]:
    """Each call and argument that has a number of these types in it."""
    for node in ast.parse(STUB.read_text("utf-8")).body:
        functions = node.body if isinstance(node, ast.ClassDef) else [node]
        owner = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
        for function in functions:
            if isinstance(function, ast.FunctionDef):
                given = function.args
                for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs):
                    names = ast.walk(argument.annotation) if argument.annotation else ()
                    kinds = {name.id for name in names if isinstance(name, ast.Name)}
                    if kinds & {*types} and argument.arg not in OTHER_ARGUMENTS:
                        yield owner + function.name, argument.arg


WHOLE = sorted({*numbers_of_the_stub("int", "SupportsIndex")})
# Values of other types than numbers.
NO_NUMBERS = (True, np.True_, "3", b"2", np.array([1]), 1j)
NUMBERS = [(call, argument) for call, argument in WHOLE if call not in OTHERS]
REAL = sorted({*numbers_of_the_stub("float")})


def given_as(right: Any, number: Any) -> list[Any]:
    """An argument with another number in each place that it has."""
    if isinstance(right, tuple):
        return [(number, right[1]), (right[0], number)]
    return [dict.fromkeys(right, number)] if isinstance(right, dict) else [number]


def test_each_number_of_the_stub_is_tried() -> None:
    assert {(call, argument) for call, (_, right) in CALLS.items() for argument in right} == {*NUMBERS}
    assert {call for call, _ in WHOLE} >= OTHERS - {"WordCounts.__new__"}
    assert sorted((call, argument) for call, (_, right) in FLOATS.items() for argument in right) == REAL


@pytest.mark.parametrize(("call", "argument"), NUMBERS)
def test_what_is_no_number_of_it_is_told(call: str, argument: str, tmp_path: Path) -> None:
    if call == "EncodingBatch.to_torch":
        pytest.importorskip("torch", reason="torch is not installed")
    ask, right = CALLS[call]
    for number in (-1, -(2**70), 2**64, 10**5000, 1.5, float("nan"), *NO_NUMBERS, np.float64(2)):
        for value in given_as(right[argument], number):
            kinds = ValueError if type(number) is int else TypeError
            with pytest.raises(kinds) as caught:
                ask(tmp_path, **{argument: value})
            message = str(caught.value)
            assert type(caught.value) is not OverflowError
            assert argument in message
            shown = "16610 bits" if type(number) is int and number > 2**64 else repr(number)
            assert shown in message, message
            assert " it is " in message, message


@pytest.mark.parametrize(("call", "argument"), NUMBERS)
def test_numbers_of_numpy_are_numbers(call: str, argument: str, tmp_path: Path) -> None:
    if call == "EncodingBatch.to_torch":
        pytest.importorskip("torch", reason="torch is not installed")
    ask, right = CALLS[call]
    plain = right[argument]
    for kind in (np.int32, np.int64, np.uint64):
        if isinstance(plain, tuple):
            value: Any = tuple(kind(part) for part in plain)
        elif isinstance(plain, dict):
            value = {key: kind(part) for key, part in plain.items()}
        else:
            value = kind(plain)
        assert ask(tmp_path, **{argument: value}) == ask(tmp_path, **{argument: plain})


@pytest.mark.parametrize("place", [2**70, -(2**70), pytest.param(10**5000, id="huge"), 99, -99])
def test_places_that_are_not_there(place: int) -> None:
    with pytest.raises(IndexError, match="of a batch of 2 rows"):
        BATCH[place]
    with pytest.raises(IndexError, match=f"of {len(ENCODING)}$"):
        ENCODING.token_to_chars(place)


@pytest.mark.parametrize("place", [1.5, True, "1", None])
def test_what_is_no_place(place: Any) -> None:
    for ask in (BATCH.__getitem__, ENCODING.token_to_chars):
        with pytest.raises(TypeError, match="is not a whole number, and no place among"):
            ask(place)


def test_no_mapping_and_no_pair() -> None:
    for ask, argument in ((unigram, "special_ids"), (named, "special_tokens")):
        with pytest.raises(
            TypeError, match=rf"^{argument}=\['<s>'\] is not a mapping .*: \{{'<pad>': 0\}} is one"
        ):
            ask(**{argument: ["<s>"]})
    with pytest.raises(TypeError, match=r"not a pair: .* \(0, 2\) is the first"):
        counted(shard=3)


@pytest.mark.parametrize(("call", "argument"), REAL)
def test_what_is_no_number_of_a_share_is_told(call: str, argument: str) -> None:
    ask, arguments = FLOATS[call]
    right, wrong = arguments[argument]
    for number in (float("nan"), float("inf"), -float("inf"), 10**400, 10**5000, *wrong, *NO_NUMBERS):
        kind = ValueError if isinstance(number, (int, float)) and number is not True else TypeError
        with pytest.raises(kind, match=rf"^{argument} ?= ?.*: it is ") as caught:
            ask(**{argument: number})
        is_long = isinstance(number, int) and number.bit_length() > 2000
        shown = "16610 bits" if is_long else str(number)[:100]
        assert shown in str(caught.value)
    for alike in (np.float64(right), np.float32(right), np.float16(right)):
        assert ask(**{argument: alike}) == ask(**{argument: right})
    if right == 1:
        assert ask(**{argument: 1}) == ask(**{argument: np.int64(1)}) == ask(**{argument: right})


@pytest.mark.parametrize("id", [*NO_NUMBERS, 1.0, float("nan"), None, np.float64(1)], ids=repr)
def test_what_is_no_id(id: Any) -> None:
    decodes: list[Callable[[Any], object]] = [
        BPE.decode, BPE.decode_bytes, BPE.prune, lambda ids: BPE.decode_batch([ids]),
        lambda ids: BPE.decode(ids, errors="ignore"),
    ]  # fmt: skip
    asks: list[tuple[Callable[[Any], object], Any]] = [
        (ask, id) for ask in (BPE.id_to_token, BPE.id_to_bytes, BPE.stream_decoder().push)
    ]
    if isinstance(id, np.ndarray):  # several ids, of which there may be one
        asks.pop()
    asks += [(ask, given) for ask in decodes for given in ([id], [1, id], (id,), iter([id]))]
    for ask, given in asks:
        with pytest.raises(TypeError, match=r"^an id is an int, not ") as caught:
            ask(given)
        assert repr(id) in str(caught.value)


@pytest.mark.parametrize("ids", [np.array([True]), np.array([1.0]), np.array(["1"]), np.array([None])])
def test_what_is_no_array_of_ids(ids: Any) -> None:
    with pytest.raises(TypeError, match=f"^ids are integers, not {ids.dtype}"):
        BPE.decode(ids)


@pytest.mark.parametrize("count", [*NO_NUMBERS, 1.5, -1, 2**64, None], ids=repr)
def test_what_is_no_count(count: Any) -> None:
    with pytest.raises(ValueError, match=r"^the count of 'low' is .*; counts are from 0 to 2\^64 - 1"):
        sentitok.WordCounts({"low": count})
