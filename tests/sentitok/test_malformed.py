"""Bytes that are not UTF-8, given to a SentencePiece model: as SentencePiece has them."""

import functools
import io

import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from conftest import CORPUS
from sentitok import Tokenizer, train_bpe

#: Halves of characters, overlong forms, surrogates, bytes of no character, and text.
PARTS = [
    *[b"\xe2", b"\xe2\x96", b"\xe2\x82\xac", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xff"],
    *[b"\x80", b"\xf0\x9f\x98", b"\xef\xbf\xbd", b"\xe2\x96\x81", b" ", b"  ", b"\n", b"a", b"the", b"<s>"],
    *[b"\xe3\x80\x80", b"<X>", b"<X", "é".encode(), "中".encode()],
]
BYTES = st.one_of(st.binary(max_size=30), st.lists(st.sampled_from(PARTS), max_size=20).map(b"".join))

KINDS = ["unigram", "bpe", "bytes", "collapse", "user"]


@functools.cache
def both(kind: str) -> tuple[sentencepiece.SentencePieceProcessor, Tokenizer]:
    """A small model of theirs, read by both."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        input=str(CORPUS / "udhr-23-languages.txt"),
        model_writer=model,
        model_type="unigram" if kind == "unigram" else "bpe",
        vocab_size=2600,
        normalization_rule_name="identity" if kind in ("bpe", "bytes") else "nmt_nfkc",
        remove_extra_whitespaces=kind in ("unigram", "collapse"),
        byte_fallback=kind == "bytes",
        user_defined_symbols=["<X>", "\u3000"] if kind == "user" else [],
        minloglevel=2,
    )
    reference = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    return reference, Tokenizer.from_bytes(model.getvalue())


@pytest.mark.parametrize("kind", KINDS)
@given(data=BYTES)
def test_ids_equal_sentencepiece(kind: str, data: bytes) -> None:
    theirs, ours = both(kind)
    expected = theirs.encode(data)
    encoding = ours.encode(data)
    assert encoding.ids.tolist() == expected
    assert ours.encode_batch([data, b"a", data]).ids.tolist() == expected + theirs.encode("a") + expected
    assert ours.count(data) == len(expected)
    spans = encoding.offsets("bytes")
    assert (spans[1:, 0] >= spans[:-1, 0]).all()
    assert (spans[:, 0] <= spans[:, 1]).all()
    assert not len(spans) or spans[-1, 1] <= len(data)


@given(data=BYTES, limit=st.integers(0, 12))
def test_limits_and_special_tokens(data: bytes, limit: int) -> None:
    _, ours = both("bytes")
    ids = ours.encode(data).ids.tolist()
    assert ours.encode(data, max_tokens=limit).ids.tolist() == ids[:limit]
    assert ours.fits(data, limit) == (len(ids) <= limit)
    # Special tokens cut a text anywhere, malformed or not.
    expected: list[int] = []
    for at, part in enumerate(data.split(b"<s>")):
        expected += ([1] if at else []) + ours.encode(part).ids.tolist()
    assert ours.encode(data, specials="all").ids.tolist() == expected


@pytest.mark.parametrize("kind", KINDS)
def test_our_own_file_holds_all_of_it(kind: str) -> None:
    _, ours = both(kind)
    back = Tokenizer.from_bytes(ours.to_bytes())
    assert (back, back.fingerprint) == (ours, ours.fingerprint)
    data = b" ".join(PARTS) * 3
    assert back.encode(data).ids.tolist() == ours.encode(data).ids.tolist()
    assert back.encode(data).offsets().tolist() == ours.encode(data).offsets().tolist()
    assert back.decode(back.encode(data).ids) == ours.decode(ours.encode(data).ids)


def test_what_is_trained_here_is_what_it_is_saved_as() -> None:
    ours = train_bpe(CORPUS / "sherlock-holmes.txt", vocab_size=600, method="sentencepiece")
    assert ours.encode(b"a\xff b").tokens == ["▁a", "<unk>", "▁b"]
    assert ours.encode("a\ufffd b").ids.tolist() == ours.encode(b"a\xff b").ids.tolist()
