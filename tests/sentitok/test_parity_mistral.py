"""BPE by scores against sentencepiece: Mistral 7B v0.1, with bytes for unknown characters."""

import functools
import re

import numpy as np
import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

import shared_data
from sentitok import Tokenizer

MODEL = "mistral-7b-v0.1/tokenizer.model"


@functools.cache
def both() -> tuple[sentencepiece.SentencePieceProcessor, Tokenizer]:
    """The reference and ours."""
    path = shared_data.folder() / "vocabs" / MODEL
    reference = sentencepiece.SentencePieceProcessor(model_file=str(path))
    return reference, Tokenizer.from_sentencepiece(path)


def test_ids_and_text_equal_sentencepiece() -> None:
    theirs, ours = both()
    for collection, documents in shared_data.collections():
        texts = [document[:50_000] for document in documents]
        expected = theirs.encode(texts)
        batch = ours.encode_batch(texts)
        ends = batch.row_offsets
        for row, (text, ids) in enumerate(zip(texts, expected, strict=True)):
            found = batch.ids[ends[row] : ends[row + 1]]
            assert np.array_equal(found, ids), f"{collection}: {text[:200]!r}"
            assert ours.decode(found) == theirs.decode(ids), f"{collection}: {text[:200]!r}"


@pytest.mark.parametrize("between", ["", "a"])
def test_every_character(between: str) -> None:
    theirs, ours = both()
    characters = [chr(point) for point in range(0x110000) if not 0xD800 <= point < 0xE000]
    for start in range(0, len(characters), 1 << 14):
        text = between.join(characters[start : start + (1 << 14)])
        assert ours.encode(text).ids.tolist() == theirs.encode(text), hex(start)


@pytest.mark.parametrize("size", ["small", "mixed"])
def test_conformance_files(size: str) -> None:
    _, ours = both()
    texts = shared_data.text("tokenizer-conformance", f"{size}_input.txt").split("\n")
    if size == "small":
        # As its source note says: `\n` is a line feed, `\s` at the end a space.
        texts = [re.sub(r"\\s$", " ", text.replace(r"\n", "\n")) for text in texts]
    rows = shared_data.text("tokenizer-conformance", f"{size}_tokens_mistral01.txt").split("\n")
    checked = 0
    for text, row in zip(texts, rows, strict=False):
        if row:
            assert ours.encode(text).ids.tolist() == [int(id) for id in row.split(",")], text
            checked += 1
    assert checked > 5


def test_random_ids_come_back_as_theirs() -> None:
    theirs, ours = both()
    rng = np.random.default_rng(1)
    for length in (0, 1, 2, 5, 20):
        # Byte tokens alone are separate texts, see `docs/explanation/exactness.md`.
        for ids in rng.integers(259, theirs.vocab_size(), (200, length)).tolist():
            assert ours.decode(ids) == theirs.decode(ids), ids


@given(text=st.one_of(st.text(), st.text(st.sampled_from("ab ▁the. 中é😀\n\t\u3000"), max_size=40)))
def test_any_text(text: str) -> None:
    theirs, ours = both()
    ids = theirs.encode(text)
    found = ours.encode(text)
    assert found.ids.tolist() == ids
    spans = found.offsets("chars")
    assert (spans[1:, 0] >= spans[:-1, 0]).all()
    assert (spans[:, 0] <= spans[:, 1]).all()
    assert not len(spans) or spans[-1, 1] <= len(text)
