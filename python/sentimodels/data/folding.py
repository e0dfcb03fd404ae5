"""When two texts count as the same: letter for letter, or folded; and their hashes.

Texts that are only alike are the matter of `minhash.py`. Folded texts are equal if they look the same to a
person (`normalize`), in Unicode NFKC, without case and with white space collapsed; punctuation stays, since
"good" and "good !" are two phrases.
Hashes have 64 bits: two texts of a million share one by chance once in 10^7 tables.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from .normalization import normalize

_NOT_WORDS = re.compile(r"[\W_]")
_NO_LETTERS = bytes(code for code in range(128) if not chr(code).isalnum())


def fold(text: str) -> str:
    """Returns the same for texts that differ only in case, white space and what a person does not see."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    # `normalize` comes last, because NFKC and case folding make characters that it replaces or composes.
    return " ".join(normalize(text.casefold()).split())


def letters(text: str) -> str:
    """Returns the letters and digits alone: the same for any way to tokenize or punctuate."""
    if text.isascii():  # the same, ten times as fast
        return text.lower().encode("ascii").translate(None, _NO_LETTERS).decode("ascii")
    text = unicodedata.normalize("NFKC", text)
    return "".join(filter(str.isalnum, text.casefold()))


def copy_key(text: str) -> str:
    """Returns the same for texts that differ only in case, spacing and punctuation.

    Combining marks stay, because they make other words in many scripts. Of a text without letters and
    digits all stays.
    """
    folded = fold(text)
    if folded.isascii():
        bare = folded.encode("ascii").translate(None, _NO_LETTERS).decode("ascii")
    else:
        bare = _NOT_WORDS.sub(_mark, folded)
    return bare or folded


def _mark(match: re.Match[str]) -> str:
    char = match[0]
    return char if unicodedata.category(char).startswith("M") else ""


def text_hash(text: str) -> int:
    """Returns the 64-bit hash of a text."""
    data = text.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


def text_hashes(texts: Iterable[str]) -> NDArray[np.uint64]:
    """Returns the 64-bit hash of each text."""
    digests = b"".join(
        hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest() for text in texts
    )
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def among(hashes: NDArray[np.uint64], known: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Returns which hashes are among the known ones, which are sorted."""
    if len(known) == 0:
        return np.zeros(len(hashes), dtype=np.bool_)
    places = np.minimum(np.searchsorted(known, hashes), len(known) - 1)
    inside: NDArray[np.bool_] = known[places] == hashes
    return inside
