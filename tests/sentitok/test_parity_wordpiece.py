"""BERT's two tokenizers against tokenizers 0.23.3, and Google's mode against its oracle.

Ids and character offsets, on a sample of the code points alone and in contexts,
on random strings of what normalizers quarrel over, and on the shared data.
"""

import unicodedata
from collections.abc import Iterable
from pathlib import Path

import pytest
import tokenizers
from tokenizers import models, normalizers, pre_tokenizers

import shared_data
from oracles import bert
from oracles.normalizer_texts import code_points, odd_texts
from sentitok import Tokenizer

NAMES = {"uncased": True, "cased": False}


def vocab(name: str) -> Path:
    return shared_data.folder() / "vocabs" / f"bert-base-{name}" / "vocab.txt"


def hugging_face(name: str) -> tokenizers.Tokenizer:
    tokenizer = tokenizers.Tokenizer(models.WordPiece.from_file(str(vocab(name)), unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=NAMES[name])
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


def agree(ours: Tokenizer, theirs: tokenizers.Tokenizer, texts: Iterable[str]) -> int:
    """Compares ids and offsets; the number of ids."""
    n_ids = 0
    texts = list(texts)
    for at in range(0, len(texts), 1000):
        chunk = texts[at : at + 1000]
        for text, expected in zip(chunk, theirs.encode_batch(chunk, add_special_tokens=False), strict=True):
            encoding = ours.encode(text, add_special_tokens=False)
            assert encoding.ids.tolist() == expected.ids, text
            assert list(map(tuple, encoding.offsets("chars").tolist())) == expected.offsets, text
            n_ids += len(expected.ids)
    return n_ids


@pytest.mark.parametrize("name", NAMES)
def test_code_points(name: str) -> None:
    ours = Tokenizer.from_bert_vocab(vocab(name), lowercase=NAMES[name])
    agree(ours, hugging_face(name), code_points(149))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_code_point(name: str) -> None:
    ours = Tokenizer.from_bert_vocab(vocab(name), lowercase=NAMES[name])
    agree(ours, hugging_face(name), code_points(1))


@pytest.mark.parametrize("count", [1000, pytest.param(5000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", NAMES)
def test_odd_texts(name: str, count: int) -> None:
    ours = Tokenizer.from_bert_vocab(vocab(name), lowercase=NAMES[name])
    agree(ours, hugging_face(name), odd_texts(count))


# Offsets of the reference are an object each: by default it reads a sample, and of the reviews a tenth in
# any case.
@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", NAMES)
def test_all_data(name: str, whole: bool) -> None:
    ours = Tokenizer.from_bert_vocab(vocab(name), lowercase=NAMES[name])
    theirs = hugging_face(name)
    n_ids = 0
    for collection, documents in shared_data.collections(whole=whole):
        n_ids += agree(ours, theirs, documents[:: 10 if collection == "imdb" else 1])
    assert n_ids > (8_000_000 if whole else 50_000)


def test_conformance_file() -> None:
    ours = Tokenizer.from_bert_vocab(vocab("cased"), lowercase=False)
    texts = shared_data.text("tokenizer-conformance", "mixed_input.txt").split("\n")
    rows = shared_data.text("tokenizer-conformance", "mixed_tokens_bert_base_cased.txt").split("\n")
    for text, row in zip(texts, rows, strict=True):
        if row:
            ids = ours.encode(text, add_special_tokens=False).ids.tolist()
            assert ids == [int(id) for id in row.split(",")], text


@pytest.mark.parametrize("name", NAMES)
def test_google_mode(name: str) -> None:
    """On the characters that the interpreter's Unicode knows."""
    if tuple(map(int, unicodedata.unidata_version.split("."))) > (16, 0, 0):
        pytest.skip(f"the mode is frozen at Unicode 16.0, the oracle is {unicodedata.unidata_version}")
    ours = Tokenizer.from_bert_vocab(vocab(name), lowercase=NAMES[name], normalizer="google-bert")
    tokens = vocab(name).read_text("utf-8").split("\n")
    ids = {token: id for id, token in enumerate(tokens)}
    for text in (*odd_texts(500), *code_points(401)):
        known = "".join(c for c in text if unicodedata.category(c) != "Cn")
        expected = bert.encode(known, ids, NAMES[name])
        assert ours.encode(known, add_special_tokens=False).ids.tolist() == expected, known
