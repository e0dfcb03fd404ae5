"""`normalize`: texts that look the same become the same characters, before a model cuts them into words.

Accents are composed (NFC), invisible characters go (zero-width characters, soft hyphens, byte order marks,
variation selectors such as U+FE0F, marks of direction, controls), and blanks, apostrophes, quotes and
hyphens that a program typed for a person become those of the keyboard. Emoji keep what joins them.
`align` says where each character of the normalized text comes from. Tokenizers that a user gives read
texts as they are.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "ALONE",
    "Aligned",
    "align",
    "is_character",
    "n_words",
    "normalization_rules",
    "normalize",
    "prepared",
    "stands_alone",
]

# Default_Ignorable_Code_Point of Unicode and controls, less white space, U+200D and tags: see `_STRAY`.
_INVISIBLE = (
    (0x00, 0x08), (0x0E, 0x1B), (0x7F, 0x84), (0x86, 0x90), (0x95, 0x9F), (0xAD, 0xAD), (0x034F, 0x034F),
    (0x061C, 0x061C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x200B, 0x200C),
    (0x200E, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A),
    (0xE0000, 0xE001F), (0xE0080, 0xE0FFF),
)  # fmt: skip
# Further replacements. Code points 0x91 to 0x94 are the quotes of Windows-1252 in a file read as Latin-1.
_KEYBOARD = {
    " ": "\x1c\x1d\x1e\x1f\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u202f\u205f\u3000",
    "\n": "\x85\u2028\u2029",
    "'": "\x91\x92\u02bb\u02bc\u2018\u2019\u201b\uff07",
    '"': "\x93\x94\u201c\u201d\u201f",
    "-": "\u2010\u2011",
}
_TABLE: dict[int, str | None] = {
    **{code: None for first, last in _INVISIBLE for code in range(first, last + 1)},
    **{ord(char): typed for typed, chars in _KEYBOARD.items() for char in chars},
}
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f]")
# Ranges, because `re` compares each character with every one above U+FFFF that is listed.
_REPLACED = re.compile(
    "["
    + "".join(f"{chr(first)}-{chr(last)}" for first, last in _INVISIBLE)
    + re.escape("".join(char for chars in _KEYBOARD.values() for char in chars))
    + "\u200d\U000e0020-\U000e007f]"
)
_EMOJI = "\u2190-\u2bff\u3030\U0001f000-\U0001faff"
# U+200D joins emoji (a family), tags follow a flag (Scotland's); anywhere else they are invisible.
_STRAY = re.compile(
    f"(?<![{_EMOJI}])\u200d|\u200d(?![{_EMOJI}])"
    "|(?<![\U0001f3f4\U000e0020-\U000e007f])[\U000e0020-\U000e007f]+"
)


def normalize(text: str) -> str:
    """Returns the text as models with their own vocabulary read it."""
    if text.isascii():
        return text.translate(_TABLE) if _CONTROL.search(text) else text
    if _REPLACED.search(text):
        text = _STRAY.sub("", text.translate(_TABLE))
    return _composed(text)


def prepared(text: str, *, normalized: bool, lowercase: bool) -> str:
    """Returns a text as a run cuts it into tokens: normalized and lower-cased where its settings say so."""
    if normalized:
        text = normalize(text)
    return text.lower() if lowercase else text


def _composed(text: str) -> str:
    """Returns NFC; a dotted capital I (Turkish) is an I, so that its lower case has one dot."""
    text = unicodedata.normalize("NFC", text)
    if "\u0130" in text or "i\u0307" in text:
        text = text.replace("\u0130", "I").replace("i\u0307", "i")
        return unicodedata.normalize("NFC", text)
    return text


def normalization_rules() -> dict[str, Any]:
    """Returns what `normalize` does before it composes, as data for programs that do without this package.

    Returns:
        `replaced`: ranges of code points, each with the text that replaces one, `None` if it is left out;
        `stray`: a regular expression of the characters left out then.
    """
    typed = [(ord(char), ord(char), to) for to, chars in _KEYBOARD.items() for char in chars]
    left_out = [(first, last, None) for first, last in _INVISIBLE]
    return {"replaced": [*left_out, *typed], "stray": _STRAY.pattern}


@dataclass(frozen=True)
class Aligned:
    """A text as a model reads it.

    Attributes:
        text: a text.
        starts: for each of its characters, where that begins in the original text.
        ends: where it ends there; the invisible characters behind it are part of it.
    """

    text: str
    starts: list[int]
    ends: list[int]

    def original(self, start: int, end: int) -> tuple[int, int]:
        """Returns where a part of the text that is read begins and ends in the original."""
        if start < end:
            return self.starts[start], self.ends[end - 1]
        place = self.starts[start] if start < len(self.starts) else self.ends[-1] if self.ends else 0
        return place, place


def align(text: str, *, normalized: bool, lowercase: bool) -> Aligned:
    """Returns the normalized text with the position of each part; in Python, for texts that are shown."""
    pieces = _normalized_pieces(text) if normalized else [(char, place) for place, char in enumerate(text)]
    if lowercase:
        pieces = [(char.lower(), place) for char, place in pieces]
    starts = [place for piece, place in pieces for _ in piece]
    ends, end, after = [0] * len(starts), len(text), len(text)
    for i in range(len(starts) - 1, -1, -1):
        if starts[i] < after:
            end, after = after, starts[i]
        ends[i] = end
    read = prepared(text, normalized=normalized, lowercase=lowercase)
    assert len(read) == len(starts), "a text is normalized and lower-cased character by character"
    return Aligned(read, starts, ends)


def _normalized_pieces(text: str) -> list[tuple[str, int]]:
    """Returns the characters of the normalized text, each with where it begins in the original."""
    seen = [
        (char, place) for place, one in enumerate(text) if (char := _TABLE.get(ord(one), one)) is not None
    ]
    joined = "".join(char for char, _ in seen)
    for stray in reversed(list(_STRAY.finditer(joined))):
        del seen[stray.start() : stray.end()]
    pieces: list[tuple[str, int]] = []
    for begin, end in _clusters([char for char, _ in seen]):
        places = [place for _, place in seen[begin:end]]
        whole = _composed("".join(char for char, _ in seen[begin:end]))
        if len(whole) != len(places):  # composed: each part comes from the whole
            places = [places[0]] * len(whole)
        pieces += zip(whole, places, strict=True)
    return pieces


def _clusters(chars: list[str]) -> list[tuple[int, int]]:
    """Cuts characters where nothing composes: before all but marks, and vowels and finals of Hangul."""
    begins = [
        place
        for place, char in enumerate(chars)
        if not place or not (unicodedata.category(char)[0] == "M" or "\u1160" <= char <= "\u11ff")
    ]
    return list(zip(begins, [*begins[1:], len(chars)], strict=False))


_NOT_WORDS = re.compile(r"[\W_]")
_NO_LETTERS = bytes(code for code in range(128) if not chr(code).isalnum())


def fold(text: str) -> str:
    """Returns the same for texts that differ only in case, white space and invisible characters.

    Punctuation stays, since "good" and "good !" are two phrases. Texts that are only alike are the
    matter of `leaks.py`.
    """
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


# Scripts that write words without spaces: there each character is a word.
#
# Chinese, Japanese, Thai, Lao, Burmese and Khmer. To find the words of such a script takes a dictionary;
# n-grams of characters do as well for classification (Zhang and LeCun 2017, arXiv 1708.02657).
#
# Ranges of code points for a character class.
ALONE = "".join(
    f"{chr(first)}-{chr(last)}"
    for first, last in (
        (0x0E00, 0x0EFF),  # Thai, Lao
        (0x1000, 0x109F),  # Burmese
        (0x1780, 0x17FF),  # Khmer
        (0x3040, 0x30FF),  # kana
        (0x31F0, 0x31FF),  # small kana
        (0x3400, 0x4DBF),  # ideographs
        (0x4E00, 0x9FFF),
        (0xF900, 0xFAFF),
        (0xFF66, 0xFF9F),  # kana of half width
        (0x20000, 0x3FFFF),
    )
)
# Marks that stay with their character, of these scripts.
_MARKS = "".join(
    chr(code)
    for first, last in (
        (0x0300, 0x036F),
        (0x0E00, 0x0EFF),
        (0x1000, 0x109F),
        (0x1780, 0x17FF),
        (0x3099, 0x309A),
    )
    for code in range(first, last + 1)
    if unicodedata.category(chr(code))[0] == "M"
)
_ALONE = re.compile(f"[{ALONE}]")
_CHARACTER = re.compile(f"[{ALONE}][{_MARKS}]*")


def stands_alone(text: str) -> bool:
    """Whether a text has a character of such a script."""
    return _ALONE.search(text) is not None


def is_character(word: str) -> bool:
    """Whether a word is one character of such a script, with its marks."""
    return _ALONE.match(word) is not None and all(unicodedata.category(char)[0] == "M" for char in word[1:])


def n_words(text: str) -> int:
    """Returns how many words a text has: those between spaces, of such a script its characters."""
    if not stands_alone(text):
        return len(text.split())
    # Spaces around each character; the strings between spaces are words.
    return len(_CHARACTER.sub(r" \g<0> ", text).split())
