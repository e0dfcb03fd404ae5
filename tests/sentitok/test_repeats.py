"""Stretches of malformed text that come again: each becomes what it is alone.

Texts of a kilobyte and more keep what became of their short stretches; shorter
ones do not, and are the reference for the rest.
"""

import functools
import random
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import CORPUS
from sentitok import PreTokenizer, Tokenizer, train_bpe, train_unigram, train_wordpiece

#: Characters of each length, blanks, what normalizers change, added tokens, a word.
SIGNS = [*"ab .\n\x01éÊﷺｶ語😀", "  ", "<unk>", "<s>", "the", "e\u0301"]
BROKEN = [b"\xff", b"\x80", b"\xe2\x82", b"\xf0\x9f", b"\xc3"]


@functools.cache
def tokenizer(kind: str) -> Tokenizer:
    """A small tokenizer whose normalizer, if any, leaves bytes that are not text alone."""
    text = (CORPUS / "pride-and-prejudice.txt").read_text(encoding="utf-8")[:60_000]
    common: dict[str, Any] = {"texts": [text], "vocab_size": 700}
    if kind == "byte-level":
        return train_bpe(**common, special_tokens=["<s>"])
    if kind == "nfkc":
        return train_bpe(**common, normalizer="nfkc")
    if kind == "pattern":
        return train_bpe(**common, pre_tokenizer=PreTokenizer(pattern=r"\w+|\s+|[^\w\s]+"))
    if kind == "wordpiece":
        return train_wordpiece(**common)
    made = train_unigram(**common, byte_fallback=True, normalizer="nfkc+sentencepiece-collapse")
    if kind == "fallback":
        return made
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the file cannot hold does not matter here
        path = Path(folder) / "tokenizer.json"
        made.save(path)
        return Tokenizer.from_file(path)


def parts(seed: int) -> list[bytes]:
    """Parts of a text, each of less than a kilobyte, that begin with bytes of no character."""
    rng = random.Random(seed)

    def stretch() -> bytes:
        return rng.choice(BROKEN) + "".join(rng.choices(SIGNS, k=rng.randrange(1, 4))).encode()

    return [b"".join(stretch() for _ in range(90)) for _ in range(4)]


KINDS = ["byte-level", "nfkc", "pattern", "wordpiece", "fallback", "fallback as .json"]


@pytest.mark.parametrize("specials", ["none", "all"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_long_text_is_what_its_parts_are(kind: str, specials: Any) -> None:
    made = tokenizer(kind)
    options: dict[str, Any] = {"add_special_tokens": False, "specials": specials}
    for seed in range(4):
        short = parts(seed)
        text = b"".join(short)
        assert len(text) >= 1024
        assert all(len(part) < 1024 for part in short)
        each = [made.encode(part, **options) for part in short]
        whole = made.encode(text, **options)
        ids = np.concatenate([one.ids for one in each])
        starts = np.cumsum([0, *map(len, short)])
        spans = np.concatenate(
            [one.offsets("bytes") + int(start) for one, start in zip(each, starts, strict=False)]
        )
        assert whole.ids.tolist() == ids.tolist()
        assert whole.offsets("bytes").tolist() == spans.tolist()
        assert whole.surfaces == [surface for one in each for surface in one.surfaces]
        assert made.count(text, **options) == len(ids)
        batch = made.encode_batch([text, text], offsets=True, **options)
        assert batch.ids.tolist() == 2 * ids.tolist()
        assert batch.offsets("bytes").tolist() == 2 * spans.tolist()
        assert made.count_batch([text], **options).tolist() == [len(ids)]
        for limit in (1, len(ids) // 2, len(ids) - 1):
            first = made.encode(text, max_tokens=limit, **options)
            assert first.ids.tolist() == ids[:limit].tolist()
            assert first.offsets("bytes").tolist() == spans[:limit].tolist()
            assert first.surfaces == whole.surfaces[:limit]
            cut_off = made.encode_batch([text], max_tokens=limit, offsets=True, **options)
            assert cut_off.offsets("bytes").tolist() == spans[:limit].tolist()


def test_the_start_of_a_text_is_like_no_other() -> None:
    """A string put before a text is put before its first stretch alone."""
    made = train_bpe(texts=["a b ab " * 50], vocab_size=270, pre_tokenizer="gpt2-prefix-space")
    text = b"ab\xff" * 500
    short = made.encode(b"ab\xffab\xff").ids.tolist()
    n = len(made.encode(b"ab\xff").ids)
    assert made.encode(text).ids.tolist() == short[:n] + short[n:] * 499


def test_what_is_drawn_is_drawn_each_time() -> None:
    made = train_bpe(texts=["abcabcabc " * 50], vocab_size=270).with_dropout(0.5)
    text = b"abcabc\xff" * 400
    ids = made.encode(text, seed=3).ids
    ends = np.flatnonzero(ids == made.encode(b"\xff").ids[0])
    assert len({tuple(part.tolist()) for part in np.split(ids, ends)}) > 3
