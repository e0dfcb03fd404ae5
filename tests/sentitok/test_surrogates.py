"""Surrogates in texts and names: pairs are joined, lone ones replaced or an error."""

import pickle
from typing import Any

import numpy as np
import pytest

from sentitok import (
    AddedToken,
    EncodeError,
    FormatError,
    Normalizer,
    Tokenizer,
    WordCounts,
    count,
    train_bpe,
)


def ids(tokenizer: Tokenizer, text: str) -> list[int]:
    found: list[int] = tokenizer.encode(text).ids.tolist()
    return found


def test_surrogates(tokenizer: Tokenizer) -> None:
    text = "a\ud83d\ude00\udfffb"
    assert ids(tokenizer, text) == ids(tokenizer, "a😀�b")
    spans = np.unique(tokenizer.encode(text).offsets(), axis=0).tolist()
    assert "".join(text[start:end] for start, end in spans) == text
    assert [start for start, _ in spans] == [0, 1, 3, 4]
    batch = tokenizer.encode_batch(["x", text], offsets=True)
    assert np.unique(batch.offsets()[1:], axis=0).tolist() == spans
    assert pickle.loads(pickle.dumps(batch)).offsets().tolist() == batch.offsets().tolist()
    assert tokenizer.count(text) == len(ids(tokenizer, text))
    assert tokenizer.fits(text, len(ids(tokenizer, text)))
    assert tokenizer.encode_batch([text])[0].ids.tolist() == ids(tokenizer, text)
    for call in (tokenizer.encode, tokenizer.count):
        with pytest.raises(EncodeError, match="index 1"):
            call(text, errors="strict")
    with pytest.raises(EncodeError, match="index 1") as raised:
        tokenizer.encode_batch(["fine", text], errors="strict")
    assert raised.value.__notes__ == ["in row 1"]


def test_surrogates_are_joined_wherever_text_is_given(tokenizer: Tokenizer) -> None:
    pair, plain = "a\ud83d\ude00", "a\U0001f600"
    assert WordCounts({pair: 2}) == WordCounts({plain: 2})
    assert WordCounts({plain: 2})[pair] == 2
    for invalid in ("error", "replace", "bytes"):
        assert count(texts=[pair], invalid_utf8=invalid) == count(texts=[plain], invalid_utf8=invalid)
    trained = [train_bpe(texts=[text] * 9, vocab_size=260, special_tokens=[text]) for text in (pair, plain)]
    assert trained[0] == trained[1]
    assert Normalizer("lowercase").normalize("A" + pair) == "a" + plain
    with_it = tokenizer.with_specials([pair])
    assert with_it == tokenizer.with_specials([plain])
    assert with_it.token_to_id(pair) == with_it.token_to_id(plain) is not None
    assert len(with_it.encode(plain, specials={pair}).ids) == 1
    assert AddedToken(pair, 1) == AddedToken(plain, 1)


def test_a_lone_surrogate_is_replaced_in_a_text_and_an_error_in_a_name(tokenizer: Tokenizer) -> None:
    lone = "\U0001f600\ud83d\ude00\ude00b"
    assert Normalizer("lowercase").normalize(lone) == "\U0001f600\U0001f600\ufffdb"
    replaced = count(texts=[lone], invalid_utf8="replace", pre_tokenizer="bytes")
    assert [piece.decode() for piece in replaced or ()] == ["\U0001f600\U0001f600\ufffdb"]
    assert list(count(texts=["\ude00"], invalid_utf8="bytes") or ()) == [b"\xed\xb8\x80"]
    with pytest.raises(FormatError, match="invalid UTF-8 at byte 8"):
        count(texts=[lone])
    for call in (
        lambda: WordCounts({lone: 1}),
        lambda: tokenizer.with_specials([lone]),
        lambda: tokenizer.token_to_id(lone),
        lambda: AddedToken(lone, 1),
        lambda: tokenizer.encode("a", specials={lone}),
        lambda: train_bpe(texts=["a"], special_tokens=[lone]),
    ):
        with pytest.raises(EncodeError, match="surrogate at index 3 without its other half"):
            call()
    counts: Any = WordCounts({"a": 1})
    assert lone not in counts
