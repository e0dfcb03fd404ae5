"""`may_hold`: which texts may hold a sentence of SST dev or test, told faster than by looking.

Of each sentence and phrase that `guard.py` knows, one window of ten letters is known by its hash
(`held_out_anchors.txt`, which has no text): the one that reviews have least often. A text without any of
these, however it is cut into lines, columns or sentences, holds none of them; so most need no closer look.
What may take letters out of the middle of a sentence (tags, escapes, brackets in the treebank's spelling)
always gets one. Not for what a text holds (`guard.py`, `text/held_out.py`).
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

__all__ = ["WINDOW", "codes_of", "hashes_of", "may_hold"]

# Letters of a window; each takes six bits.
WINDOW = 10
_BITS, _APART = 6, 63
_LETTERS = b"0123456789abcdefghijklmnopqrstuvwxyz"
_CODES = bytes(
    _LETTERS.index(chr(byte).lower().encode()) if byte < 128 and chr(byte).isalnum() else _APART
    for byte in range(256)
)
_NO_LETTERS = bytes(byte for byte in range(256) if _CODES[byte] == _APART)
# A window's hash is the upper half of its product with this (Knuth's multiplicative hashing).
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
# A hash is looked up by its first bits before it is searched for.
_FIRST_BITS = 20
# Letters that are hashed at a time: their hashes fit a cache.
_BLOCK = 1 << 15
_BREAK = re.compile("<br ?/>")
_TAG = re.compile("<[^<>]{1,200}>")
# What `guard.sentence_key` takes out of a sentence, in lower case.
_BRACKETS = ("lrb", "rrb", "-lsb-", "-rsb-", "-lcb-", "-rcb-")


def may_hold(texts: Sequence[str]) -> list[bool]:
    """Returns for each text whether it may hold a held-out sentence or phrase; where not, it holds none."""
    found = [False] * len(texts)
    pieces: list[bytes] = []
    owners: list[int] = []
    for number, text in enumerate(texts):
        plain = _plain(text)
        if _must_be_searched(plain):
            found[number] = True
            continue
        pieces.append(_codes(plain))
        owners.append(number)
        if "<" in plain:  # line breaks may stand between two words, or be left out
            pieces.append(_codes(_BREAK.sub(" ", plain)))
            owners.append(number)
    ends = np.cumsum([len(piece) + 1 for piece in pieces])
    for place in _places(bytes([_APART]).join(pieces)):
        found[owners[int(np.searchsorted(ends, place, "right"))]] = True
    return found


def _must_be_searched(text: str) -> bool:
    """Whether a plain text has what may stand between the letters of a sentence and is no part of it."""
    if "\\" in text or text.startswith("(") or "\n(" in text:
        return True
    if "<" in text and _TAG.search(_BREAK.sub(" ", text)):
        return True
    lowered = text.lower()
    return any(one in lowered for one in _BRACKETS)


def codes_of(text: str) -> bytes:
    """Returns the letters a to z and digits of a text, without case and accents, as numbers below 36."""
    return _codes(_plain(text))


def _plain(text: str) -> str:
    """Returns a text whose letters without accents are apart from their accents."""
    return text if text.isascii() else unicodedata.normalize("NFKD", text.casefold())


def _codes(plain: str) -> bytes:
    return plain.encode("ascii", "ignore").translate(_CODES, _NO_LETTERS)


def hashes_of(codes: bytes) -> NDArray[np.uint64]:
    """Returns the hash (N - 9,) of each window of N codes, below 2^32."""
    if len(codes) < WINDOW:
        return np.empty(0, np.uint64)
    one = np.frombuffer(codes, np.uint8).astype(np.uint64)
    two = (one[:-1] << np.uint64(_BITS)) | one[1:]
    four = (two[:-2] << np.uint64(2 * _BITS)) | two[2:]
    eight = (four[:-4] << np.uint64(4 * _BITS)) | four[4:]
    ten = (eight[:-2] << np.uint64(2 * _BITS)) | two[8:]
    return (ten * _FACTOR) >> np.uint64(32)


def _places(codes: bytes) -> Iterator[int]:
    """Yields where windows begin whose hashes are known."""
    known, first = _anchors()
    for start in range(0, len(codes), _BLOCK):
        hashes = hashes_of(codes[start : start + _BLOCK + WINDOW - 1])
        some = np.flatnonzero(first[hashes >> np.uint64(32 - _FIRST_BITS)])
        at = np.minimum(np.searchsorted(known, hashes[some]), len(known) - 1)
        yield from (some[known[at] == hashes[some]] + start).tolist()


@cache
def _anchors() -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    """Returns the known hashes, sorted, and which first bits they have."""
    lines = files(__package__).joinpath("held_out_anchors.txt").read_text("ascii").split()
    known = np.sort(np.array([int(line, 16) for line in lines], np.uint64))
    first = np.zeros(1 << _FIRST_BITS, np.bool_)
    first[known >> np.uint64(32 - _FIRST_BITS)] = True
    return known, first
