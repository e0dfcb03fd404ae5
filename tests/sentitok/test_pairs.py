"""Pairs, windows, words and places of batches against the fast tokenizers of transformers."""

import pickle
import re
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.pairs import ALL, CONTEXTS, FAMILIES, QUESTIONS, aligned, assert_equal, family, ours_as_theirs
from sentitok import EncodeError, Encoding, EncodingBatch, Tokenizer


@pytest.mark.parametrize("template", [True, False])
@pytest.mark.parametrize("name", FAMILIES)
def test_batches_of_texts_and_pairs(name: str, template: bool) -> None:
    ours, theirs = family(name)
    for pairs in (None, CONTEXTS):
        batch = ours.encode_batch(QUESTIONS, pairs, specials="all", offsets=True, add_special_tokens=template)
        found = theirs(QUESTIONS, pairs, add_special_tokens=template, **ALL)
        assert_equal(batch, found)
    tuples = ours.encode_batch(list(zip(QUESTIONS, CONTEXTS, strict=True)), offsets=True)
    assert tuples == ours.encode_batch(QUESTIONS, CONTEXTS, offsets=True)
    for row, (first, second) in enumerate(zip(QUESTIONS, CONTEXTS, strict=True)):
        one = ours.encode(first, second)
        assert tuples[row] == one
        assert tuples[row].word_ids.tolist() == one.word_ids.tolist()
        assert tuples[row].sequence_ids.tolist() == one.sequence_ids.tolist()
        assert tuples[row].tokens == one.tokens
        assert tuples[row].surfaces == one.surfaces


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("truncation", ["longest_first", "only_first", "only_second"])
@pytest.mark.parametrize("name", FAMILIES)
def test_truncation(name: str, truncation: Any, side: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = family(name)
    monkeypatch.setattr(theirs, "truncation_side", side)
    for first, second, size in product(QUESTIONS, CONTEXTS, (5, 6, 7, 13, 40)):
        kwargs = {"truncation": truncation, "max_length": size, **ALL}
        try:
            found = theirs([first], [second], **kwargs)
        except Exception:  # tokenizers raises its own
            with pytest.raises(EncodeError, match=f'truncation="{truncation}"'):
                ours.encode_batch([first], [second], truncation=truncation, max_tokens=size)
            continue
        how: Any = {"truncation": truncation, "truncation_side": side, "max_tokens": size}
        batch = ours.encode_batch([first], [second], offsets=True, **how)
        assert_equal(batch, found)
        one = ours.encode(first, second, **how)
        assert one == batch[0]
        assert one.offsets().tolist() == batch[0].offsets().tolist()


@pytest.mark.parametrize(("size", "stride"), [(20, 0), (24, 5), (40, 12), (200, 3)])
@pytest.mark.parametrize("name", FAMILIES)
def test_windows_of_pairs(name: str, size: int, stride: int) -> None:
    """The preprocessing of SQuAD: windows of contexts, each with its question."""
    ours, theirs = family(name)
    questions = ["Who owns the café?", "", "Why?", "What, 東京?"]
    batch = ours.windows_batch(questions, size, stride, CONTEXTS, truncation="only_second")
    found = theirs(
        questions, CONTEXTS, truncation="only_second", max_length=size, stride=stride,
        return_overflowing_tokens=True, **ALL,
    )  # fmt: skip
    assert_equal(batch, found, follows_template=name != "t5")


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("name", FAMILIES)
def test_windows_of_texts_and_of_both(name: str, side: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = family(name)
    monkeypatch.setattr(theirs, "truncation_side", side)
    options = {"max_length": 14, "stride": 3, "return_overflowing_tokens": True, "truncation": True, **ALL}
    batch = ours.windows_batch(CONTEXTS, 14, 3, truncation_side=side)
    assert_equal(batch, theirs(CONTEXTS, **options))
    cut = ours.encode_batch(CONTEXTS, max_tokens=14, truncation_side=side)
    assert cut.to_list() == theirs(CONTEXTS, truncation=True, max_length=14)["input_ids"]
    assert [ours.encode(text, max_tokens=14, truncation_side=side).ids.tolist() for text in CONTEXTS] == (
        cut.to_list()
    )
    for number, text in enumerate(CONTEXTS):
        windows = ours.windows(text, 14, 3, truncation_side=side)
        rows = np.flatnonzero(batch.source_rows == number)
        part = batch[int(rows[0]) : int(rows[-1]) + 1]
        assert windows.to_list() == part.to_list()
        assert windows.offsets().tolist() == part.offsets().tolist()
        assert windows.word_ids.tolist() == part.word_ids.tolist()
        assert windows.type_ids.tolist() == part.type_ids.tolist()
    batch = ours.windows_batch(CONTEXTS, 16, 2, CONTEXTS[::-1], truncation_side=side)
    found = theirs(CONTEXTS, CONTEXTS[::-1], **{**options, "max_length": 16, "stride": 2})
    assert_equal(batch, found, follows_template=name != "t5")


WORDS = [["Who", "owns", "it?"], [], ["naïve", "", "東京,", "x y"], ["½", "🤚🏾", "unaffable"]]


@pytest.mark.parametrize("name", [name for name in FAMILIES if "no prefix" not in name])
def test_words(name: str) -> None:
    ours, theirs = family(name)
    for pairs in (None, WORDS[::-1]):
        batch = ours.encode_batch(WORDS, pairs, is_split_into_words=True, offsets=True)
        found = theirs(WORDS, pairs, is_split_into_words=True, **ALL)
        assert_equal(batch, found, follows_template=name != "t5")
        windows = ours.windows_batch(WORDS, 9, 1, pairs, is_split_into_words=True)
        found = theirs(
            WORDS, pairs, is_split_into_words=True, max_length=9, stride=1, truncation=True,
            return_overflowing_tokens=True, **ALL,
        )  # fmt: skip
        assert_equal(windows, found, follows_template=name != "t5")
    one = ours.encode(WORDS[2], WORDS[3], is_split_into_words=True)
    assert one == ours.encode_batch(WORDS[2:3], WORDS[3:4], is_split_into_words=True, offsets=True)[0]


TEXT = st.text(st.sampled_from("abn the fox,'?é東½ \n🤚<s>"), max_size=60)


@given(st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=3), st.integers(4, 20), st.integers(0, 3))
@settings(max_examples=40)
def test_any_pairs(pairs: list[tuple[str, str]], size: int, stride: int) -> None:
    for name in ("bert", "roberta", "t5"):
        ours, theirs = family(name)
        firsts, seconds = [first for first, _ in pairs], [second for _, second in pairs]
        options = {"max_length": size, "truncation": "longest_first", **ALL}
        found = theirs(firsts, seconds, **options)
        batch = ours.encode_batch(pairs, max_tokens=size, specials="all", offsets=True)
        assert_equal(batch, found, follows_template=name != "t5")
        try:
            found = theirs(firsts, seconds, stride=stride, return_overflowing_tokens=True, **options)
        except BaseException:  # a stride too large panics there
            continue
        try:
            batch = ours.windows_batch(pairs, size, stride, specials="all")
        except EncodeError as error:
            assert re.search(r"windows of 0 ids", str(error))  # noqa: PT017  # 2026-11-24: there: nothing, and all the rest
            continue
        assert_equal(batch, found, follows_template=name != "t5")


@pytest.mark.parametrize("name", FAMILIES)
def test_places(name: str) -> None:
    ours, theirs = family(name)
    for encoding, found in (
        (ours.encode(QUESTIONS[2], CONTEXTS[0]), theirs(QUESTIONS[2], CONTEXTS[0])),
        (
            ours.encode_batch([QUESTIONS[2]], [CONTEXTS[0]], offsets=True)[0],
            theirs(QUESTIONS[2], CONTEXTS[0]),
        ),
        (ours.encode(CONTEXTS[1]), theirs(CONTEXTS[1])),
    ):
        theirs_one = found.encodings[0]
        spans = encoding.offsets().tolist()
        for sequence in (0, 1) if 1 in encoding.sequence_ids else (0,):
            for place in range(70):
                token = theirs_one.char_to_token(place, sequence)
                if token is None or spans[token][0] < spans[token][1]:  # else it was put in, see `aligned`
                    assert encoding.char_to_token(place, sequence) == token
                assert encoding.word_to_tokens(place, sequence) == theirs_one.word_to_tokens(place, sequence)
        for token, expected in enumerate(map(theirs_one.token_to_chars, range(len(encoding)))):
            found_chars = encoding.token_to_chars(token)
            if found_chars is None or expected is None:
                assert found_chars is expected is None
            else:
                assert [found_chars] == aligned([found_chars], [expected])


def test_arrays() -> None:
    ours, theirs = family("bert")
    torch = pytest.importorskip("torch")
    batch = ours.encode_batch(QUESTIONS, CONTEXTS)
    found = theirs(QUESTIONS, CONTEXTS, padding=True, return_tensors="pt", return_token_type_ids=True)
    made = batch.to_torch(type_ids=True)
    assert set(made) == {"input_ids", "attention_mask", "token_type_ids"}
    for key, tensor in made.items():
        assert tensor.dtype == torch.int64
        assert torch.equal(tensor, found[key])
        # The memory of an array: PyTorch cannot make it larger.
        assert not tensor.untyped_storage().resizable()
    assert set(batch.to_torch()) == {"input_ids", "attention_mask"}
    ids, mask = batch.pad()
    assert ids.dtype == np.int64
    assert mask.dtype == np.bool_
    for dtype in ("int64", "int32", "uint32"):
        other, _ = batch.pad(dtype=dtype)
        assert other.dtype == dtype
        assert np.array_equal(other, ids)
    with pytest.raises(ValueError, match="dtype=\"float\": it is 'int64', 'int32' or 'uint32'"):
        batch.pad(dtype="float")  # type: ignore[call-overload]  # 2026-11-24: refused
    with pytest.raises(OverflowError, match="no place for the id 4294967295"):
        batch.pad(pad_id=2**32 - 1, dtype="int32")
    assert batch.offsets is not None
    with_offsets = ours.encode_batch(QUESTIONS, CONTEXTS, offsets=True)
    assert with_offsets.offsets().dtype == np.int64


@pytest.mark.parametrize("name", ["bert", "roberta", "gpt2", "t5"])
def test_slices(name: str) -> None:
    ours, _ = family(name)
    whole = ours.encode_batch(CONTEXTS, QUESTIONS, offsets=True)
    plain = ours.encode_batch(CONTEXTS, offsets=True)
    windows = ours.windows_batch(CONTEXTS, 12, 2)
    words = ours.encode_batch(WORDS, is_split_into_words=True, offsets=True)
    for batch in (whole, plain, windows, words):
        rows = ours_as_theirs(batch)
        for taken in (slice(1, 3), slice(None, None, 2), slice(None, None, -1), slice(2, 2)):
            part = batch[taken]
            assert isinstance(part, EncodingBatch)
            assert part.to_list() == batch.to_list()[taken]
            assert ours_as_theirs(part) == {key: values[taken] for key, values in rows.items()}
            assert len(part.word_ids) == len(part.ids)  # kept in the pickle once asked for
            again = pickle.loads(pickle.dumps(part))
            assert again == part
            assert again.source_rows.tolist() == part.source_rows.tolist()
            for key in ("type_ids", "special_tokens_mask", "sequence_ids", "word_ids"):
                assert getattr(again, key).tolist() == getattr(part, key).tolist()
            ways: Any = product(("chars", "bytes"), (None, True, False))
            for unit, trim in ways:
                assert again.offsets(unit, trim=trim).tolist() == part.offsets(unit, trim=trim).tolist()
        assert np.shares_memory(batch[0:2].ids, batch.ids)
        one = batch[0]
        assert isinstance(one, Encoding)
        again_one = pickle.loads(pickle.dumps(one))
        assert again_one == one
        assert again_one.tokens == one.tokens
        assert again_one.offsets().tolist() == one.offsets().tolist()
        assert hash(again_one) == hash(one)
        assert f"{len(batch)} rows" in batch._repr_html_()
        assert "<span" in one._repr_html_()
    assert len(pickle.dumps(ours.encode_batch(["x" * 9] * 999, offsets=True)[5])) < 4000


def test_threads_and_texts_change_nothing() -> None:
    ours, _ = family("roberta")
    firsts, seconds = QUESTIONS * 200, CONTEXTS * 200
    one = ours.windows_batch(firsts, 40, 4, seconds, truncation="only_second", threads=1)
    two = ours.windows_batch(firsts, 40, 4, seconds, truncation="only_second", threads=3)
    assert one == two
    assert one.source_rows.tolist() == two.source_rows.tolist()
    arrays = ours.encode_batch(np.array(firsts, dtype=object), iter(seconds), offsets=True)
    assert arrays == ours.encode_batch(firsts, seconds, offsets=True)
    pa = pytest.importorskip("pyarrow")
    columns = ours.encode_batch(pa.array(firsts), pa.array(seconds), offsets=True)
    assert columns.offsets().tolist() == arrays.offsets().tolist()
    assert pickle.loads(pickle.dumps(columns[1:3])).offsets().tolist() == arrays[1:3].offsets().tolist()


BAD: list[tuple[Callable[[Tokenizer], object], type[Exception], str]] = [
    (lambda t: t.encode_batch(["a"], ["b", "c"]), ValueError, "1 texts and 2 pairs"),
    (lambda t: t.encode_batch([("a", "b", "c")]), TypeError, "row 0 is a tuple of 3; a pair is a tuple"),
    (lambda t: t.encode_batch(["a", ("b", None)]), TypeError, "row 1 is NoneType"),  # type: ignore[list-item]  # 2026-11-24: refused
    (lambda t: t.encode_batch([["a", "b"]]), TypeError, "row 0 is a list, not a text.*is_split_into_words"),
    (lambda t: t.encode_batch(["a b"], is_split_into_words=True), TypeError, "row 0 of texts is one text"),
    (lambda t: t.encode_batch([["a", 3]], is_split_into_words=True), TypeError, "row 0 is int"),  # type: ignore[list-item]  # 2026-11-24: refused
    (lambda t: t.count_batch(["a", 3]), TypeError, r"row 1 is int, not a text; make .* str\(row\)"),  # type: ignore[list-item]  # 2026-11-24: refused
    (lambda t: t.count_batch(["a", None]), TypeError, "row 1 is NoneType, .*; drop or fill missing"),  # type: ignore[list-item]  # 2026-11-24: refused
    (lambda t: t.count_batch([float("nan")]), TypeError, "row 0 is float, .*; drop or fill missing"),  # type: ignore[list-item]  # 2026-11-24: refused
    (lambda t: t.count_batch([("a", "b")]), TypeError, "row 0 is a tuple, not a text; join what it holds"),  # type: ignore[list-item]  # 2026-11-24: refused
    (lambda t: t.encode("a", "b", truncation="first"), ValueError, 'truncation=.*first.*: it is'),  # type: ignore[arg-type]  # 2026-11-24: refused
    (lambda t: t.encode("a", max_tokens=3, truncation_side="start"), ValueError,  # type: ignore[arg-type]  # 2026-11-24: refused
     "truncation_side=.*start.*: it is 'right' or 'left'"),
    (lambda t: t.encode_batch(["a"], max_tokens=-1), ValueError, "max_tokens=-1: it is 0 or more"),
    (lambda t: t.encode("a", max_tokens=-1), ValueError, "max_tokens=-1: it is 0 or more"),
    (lambda t: t.encode("a", max_tokens=2**70), ValueError, "max_tokens=1180591620717411303424"),
    (lambda t: t.encode("a", max_tokens=1.5), TypeError,  # type: ignore[arg-type]  # 2026-11-24: refused
     "max_tokens=1.5 is not a whole number: it is 0 or more, or None for all ids"),
    (lambda t: t.windows("a", -2), ValueError, "size=-2"),
    (lambda t: t.windows_batch(["a"], 5, -2), ValueError, "stride=-2"),
    (lambda t: t.fits("a", -2), ValueError, "limit=-2"),
    (lambda t: t.encode_batch(["a"], threads=0), ValueError, "threads=0: it is 1 or more, or None for all"),
    (lambda t: t.count_batch(["a"], threads=-3), ValueError, "threads=-3"),
    (lambda t: t.encode_batch(["the fox " * 9], max_tokens=5, truncation="only_second"), EncodeError,
     "there is no second text"),
    (lambda t: t.windows_batch(["a", "the fox " * 9], 9, 8), EncodeError, "row 1: windows of 7 ids.*no step"),
    (lambda t: t.encode_batch(["a"], ["b"]).offsets(), EncodeError, "offsets=True"),
    (lambda t: t.encode_batch(["a"]).word_ids, EncodeError, "offsets=True"),
    (lambda t: t.encode_batch(["a"])[0].surfaces, EncodeError, "offsets=True"),
    (lambda t: t.windows_batch(["the fox " * 9], 9)[2].surfaces, EncodeError, "begin with their text"),
    (lambda t: t.encode("a").char_to_token(0, 2), EncodeError, "sequence=2"),
    (lambda t: t.encode("a").token_to_chars(9), IndexError, "token 9 of 3"),
    (lambda t: pickle.loads(pickle.dumps(t.encode("a"))).word_ids, EncodeError, "pickled"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "kind", "message"), BAD)
def test_errors(call: Callable[[Tokenizer], object], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call(family("bert")[0])
