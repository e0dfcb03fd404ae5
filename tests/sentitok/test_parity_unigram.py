"""Unigram against sentencepiece and tokenizers: T5, XLNet and a small model."""

import base64
import functools
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import sentencepiece
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import models, normalizers, pre_tokenizers

import shared_data
from oracles import unigram
from oracles.model_file import charsmap
from sentitok import Tokenizer

MODELS = {
    "t5": "t5/spiece.model",
    "xlnet": "xlnet-base-cased/spiece.model",
    "botchan": "sentencepiece-botchan-1000/test_model.model",
}
#: Contexts of a character: alone, in words, next to spaces and marks.
CONTEXTS = [
    *[("", ""), ("a", "b"), (" ", " "), ("a ", "b")],
    *[("▁", "▁"), ("\u0301", "\u0301"), ("é", "\u0301x"), ("中", "文")],
]


def path_of(name: str) -> Path:
    return shared_data.folder() / "vocabs" / MODELS[name]


def reference(name: str) -> sentencepiece.SentencePieceProcessor:
    return sentencepiece.SentencePieceProcessor(model_file=str(path_of(name)))


def chunks(texts: list[str], n_bytes: int = 8_000_000) -> Iterator[list[str]]:
    """Runs of texts; the references keep an object a token."""
    chunk: list[str] = []
    size = 0
    for text in texts:
        chunk.append(text)
        size += len(text)
        if size > n_bytes:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def assert_equal(ours: Tokenizer, texts: list[str], expected: list[list[int]], where: str) -> None:
    batch = ours.encode_batch(texts)
    ends = batch.row_offsets
    for row, (text, ids) in enumerate(zip(texts, expected, strict=True)):
        found = batch.ids[ends[row] : ends[row + 1]]
        assert np.array_equal(found, ids), f"{where}: {text[:200]!r}"


# References take their time: by default they read a sample.
@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", MODELS)
def test_ids_equal_sentencepiece(name: str, whole: bool) -> None:
    theirs, ours = reference(name), Tokenizer.from_sentencepiece(path_of(name))
    for collection, documents in shared_data.collections(whole=whole):
        for chunk in chunks(documents):
            assert_equal(ours, chunk, theirs.encode(chunk), f"{name}, {collection}")


@pytest.mark.parametrize("name", MODELS)
def test_one_long_text(name: str) -> None:
    """Sums begin again at 0 where they have grown large, and words keep their cuts."""
    theirs, ours = reference(name), Tokenizer.from_sentencepiece(path_of(name))
    text = " ".join(shared_data.declarations())
    assert ours.encode(text).ids.tolist() == theirs.encode(text)


# Planes 4 to 13, 15 and 16 hold no assigned character, so that no normalizer knows one of another.
# By default every second assigned character occurs in one of the contexts, and of the rest some do.
@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("context", range(len(CONTEXTS)))
def test_every_character(context: int, every: bool) -> None:
    before, after = CONTEXTS[context]
    assigned = [*range(0xD800), *range(0xE000, 0x40000), *range(0xE0000, 0xF0000)]
    others = [*range(0x40000, 0xE0000), *range(0xF0000, 0x110000)]
    points = assigned + others if every else assigned[context :: 2 * len(CONTEXTS)] + others[context::974]
    texts = [before + chr(point) + after for point in points]
    for name in ("t5", "botchan"):
        theirs, ours = reference(name), Tokenizer.from_sentencepiece(path_of(name))
        for chunk in chunks(texts, 400_000):
            assert_equal(ours, chunk, theirs.encode(chunk), name)


def test_conformance_files() -> None:
    ours = Tokenizer.from_sentencepiece(path_of("xlnet"))
    texts = shared_data.text("tokenizer-conformance", "mixed_input.txt").split("\n")
    rows = shared_data.text("tokenizer-conformance", "mixed_tokens_xlnet_base_cased.txt").split("\n")
    for text, row in zip(texts, rows, strict=True):
        if row:
            assert ours.encode(text).ids.tolist() == [int(id) for id in row.split(",")], text


@pytest.mark.parametrize("name", MODELS)
def test_text_comes_back_as_theirs(name: str) -> None:
    theirs, ours = reference(name), Tokenizer.from_sentencepiece(path_of(name))
    size = theirs.vocab_size()
    rng = np.random.default_rng(1)
    for length in (0, 1, 2, 5, 20):
        for ids in rng.integers(0, size, (200, length)).tolist():
            assert ours.decode(ids) == theirs.decode(ids), ids
    special = [id for id in range(size) if is_special(theirs, id)]
    space = [id for id in range(size) if theirs.id_to_piece(id) in ("▁", "▁the")]
    for ids in rng.choice(special + space, (300, 4)).tolist():
        assert ours.decode(ids) == theirs.decode(ids), ids


@pytest.mark.parametrize("name", MODELS)
def test_offsets_tile_the_text(name: str) -> None:
    ours = Tokenizer.from_sentencepiece(path_of(name))
    for text in shared_data.text("tokenizer-conformance", "mixed_input.txt").split("\n"):
        spans = ours.encode(text).offsets("chars")
        assert (spans[1:, 0] >= spans[:-1, 0]).all(), text
        assert (spans[:, 0] <= spans[:, 1]).all(), text
        assert not len(spans) or spans[-1, 1] <= len(text), text


def test_n_best_and_samples() -> None:
    theirs, ours = reference("t5"), Tokenizer.from_sentencepiece(path_of("t5"))
    for text in ("hello internationalization", "Unigram language models", "The quick brown fox"):
        expected = theirs.nbest_encode_as_ids(text, 8)
        found = ours.n_best(text, 8)
        assert [ids.tolist() for ids, _ in found] == expected, text
        assert found[0][0].tolist() == ours.encode(text).ids.tolist()
        scores = [score for _, score in found]
        assert scores == sorted(scores, reverse=True)
        first = ours.sample(text, alpha=0.1, seed=1).tolist()
        assert first == ours.sample(text, alpha=0.1, seed=1).tolist()
        drawn = {tuple(ours.sample(text, alpha=0.1, seed=seed).tolist()) for seed in range(50)}
        assert len(drawn) > 10
        assert {ours.decode(list(ids)) for ids in drawn} == {text}


def hugging_face(name: str, split: bool) -> tokenizers.Tokenizer:
    """The same pieces and rules, in tokenizers."""
    theirs = reference(name)
    pieces = [(theirs.id_to_piece(id), theirs.get_score(id)) for id in range(theirs.vocab_size())]
    tokenizer = tokenizers.Tokenizer(models.Unigram(pieces, theirs.unk_id(), False))
    tokenizer.normalizer = normalizers.Precompiled(charsmap(path_of(name).read_bytes()))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace("▁", "always", split)
    return tokenizer


# The slowest of them.
@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("split", [True, False])
@pytest.mark.parametrize("name", MODELS)
def test_ids_equal_tokenizers(name: str, split: bool, whole: bool, tmp_path: Path) -> None:
    theirs = hugging_face(name, split)
    theirs.save(str(tmp_path / "tokenizer.json"))
    saved = json.loads((tmp_path / "tokenizer.json").read_text("utf-8"))
    assert base64.b64decode(saved["normalizer"]["precompiled_charsmap"])
    ours = Tokenizer.from_file(tmp_path / "tokenizer.json")
    for collection, documents in shared_data.collections(whole=whole):
        most = (6000 if split else 500) if whole else (200 if split else 20)
        documents = documents[:most]
        expected = [row.ids for row in theirs.encode_batch_fast(documents, add_special_tokens=False)]
        assert_equal(ours, documents, expected, f"{name}, {collection}")


@functools.cache
def both(name: str) -> tuple[unigram.Model, sentencepiece.SentencePieceProcessor, Tokenizer]:
    """The oracle, the reference and ours."""
    theirs = reference(name)
    ids = range(theirs.vocab_size())
    special = {id: "unknown" if theirs.is_unknown(id) else "control" for id in ids if is_special(theirs, id)}
    model = unigram.Model(
        [theirs.id_to_piece(id) for id in ids],
        [theirs.get_score(id) for id in ids],
        [special.get(id, "normal") for id in ids],
    )
    return model, theirs, Tokenizer.from_sentencepiece(path_of(name))


def is_special(theirs: sentencepiece.SentencePieceProcessor, id: int) -> bool:
    return bool(theirs.is_unknown(id) or theirs.is_control(id))


@settings(max_examples=50, deadline=None)
@given(st.text(st.sampled_from("abcdest  .éЖ中😊"), max_size=30))
def test_the_oracle_is_right(text: str) -> None:
    model, theirs, ours = both("botchan")
    expected = unigram.encode(model, theirs.normalize(text))
    assert theirs.encode(text) == expected
    assert ours.encode(text).ids.tolist() == expected
