"""Recognises the encoding of a text file: UTF-8 where its bytes are UTF-8, else what its letters say.

The letters decide where they are clear, and charset-normalizer where they are not. Its answer alone takes
Polish for French and Japanese for Korean in texts of a few lines.
"""

import codecs
import re
from collections.abc import Callable
from pathlib import Path
from typing import IO

from ..errors import DataError

__all__ = ["MARKS", "guessed", "marked"]

# Byte order marks; the longer one first.
MARKS = {
    b"\xff\xfe\x00\x00": "utf-32",
    b"\x00\x00\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}
# As much of the lines that are not ASCII as decides.
_SAMPLE = 1 << 17
_RUN = re.compile(rb"[\x80-\xff]+")
_FRENCH_GERMAN = "éèàçùâêîôûëïüöäßñóíáúåøæœãõìòÉÀÇÈÖÜÄÅØÑÛÒÌÙÊÂÎÔÁÍÓÚÏ’‘“”–—…£€°«»¿¡§´•™®©¼½¾‰÷×\xa0"
_POLISH_CZECH = "ąćęłńóśźżšžčřěýáíéúůďťňőűöüäßôâĄĆĘŁŃÓŚŹŻŠŽČŘÁÍÉÚŮŐŰÖÜ’“”„–—…€§"
_TURKISH = "ğışİŞçöüâîûÇÖÜĞ’‘“”–—…€"
_LATIN = {"cp1252": _FRENCH_GERMAN, "cp1250": _POLISH_CZECH, "iso8859_2": _POLISH_CZECH, "cp1254": _TURKISH}


def _share(pattern: str) -> Callable[[str, str], float]:
    letters = re.compile(pattern)
    return lambda text, _: len(letters.findall(text)) / max(1, len(_high(text)))


def _high(text: str) -> str:
    return "".join(re.findall(r"[^\x00-\x7f]+", text))


def _common_han(low: int, high: int) -> Callable[[str, str], float]:
    """The share of the frequent characters, which both GB and Big5 keep in rows of their own."""

    def share(text: str, encoding: str) -> float:
        chars = [one.encode(encoding) for one in _high(text)]
        marks = sum(one[:1] in (b"\xa1", b"\xa3") for one in chars)
        frequent = sum(low <= one[0] <= high and one[1] >= 0x40 for one in chars if len(one) == 2)
        return frequent / max(1, len(chars) - marks)

    return share


# Each encoding with the share of its characters that texts have in it, and how much of it is enough. The
# first three have letters that no other text shows; of the others the one with the largest share is right.
_LETTERS_ALONE: tuple[tuple[str, Callable[[str, str], float], float], ...] = (
    ("euc_jp", _share("[\u3041-\u30ff]"), 0.25),
    ("cp932", _share("[\u3041-\u30ff]"), 0.25),
    ("cp949", _share("[\uac00-\ud7a3]"), 0.85),
)
_BY_SHARE: tuple[tuple[str, Callable[[str, str], float]], ...] = (
    ("gb18030", _common_han(0xB0, 0xD7)),
    ("big5", _common_han(0xA4, 0xC6)),
    # Before Russian, whose ы, ь and я it does not have.
    ("cp1255", _share("[\u05d0-\u05ea]")),
    ("cp1251", _share("[а-яёіїєґў]")),
    ("koi8_r", _share("[а-яё]")),
    ("cp1253", _share("[ά-ώ]")),
    ("cp1256", _share("[\u0621-\u064a]")),
)
_ENOUGH = 0.7


def marked(head: bytes) -> str | None:
    """Returns the encoding that the first bytes of a file show: by a mark, or by UTF-16's many zeros."""
    for mark, name in MARKS.items():
        if head.startswith(mark):
            return name
    even, odd = head[0:2000:2], head[1:2000:2]
    if len(odd) > 4 and len(head) % 2 == 0:
        for zeros, others, name in ((odd, even, "utf-16-le"), (even, odd, "utf-16-be")):
            if zeros.count(0) > 0.6 * len(zeros) and not others.count(0):
                return name
    return None


def guessed(path: Path, source: IO[bytes]) -> str:
    """Returns the encoding of a file that is not UTF-8.

    Args:
        path: for messages.
        source: its bytes.

    Raises:
        DataError: if it ends within a character, holds UTF-8 and something else, or is unclear.
    """
    offset, other, where, cut = 0, 0, "", False
    sample, size = [], 0
    for number, line in enumerate(source, 1):
        if not line.isascii():
            try:
                line.decode("utf-8")
                other = other or number
            except UnicodeDecodeError as error:
                # A file that was cut off has one such line, its last.
                cut = not where and error.reason == "unexpected end of data"
                where = where or f"byte {offset + error.start} (line {number})"
            if size < _SAMPLE:
                sample.append(line)
                size += len(line)
        offset += len(line)
    data = b"".join(sample)
    if cut:
        raise DataError(
            f"{path}: ends within a character of utf-8, at {where}, as a file does that was cut off; "
            "write it again, or delete its last line"
        )
    text = data.decode("utf-8", "replace")
    bad = text.count("\ufffd")
    if other and len(_high(text)) - bad >= bad:
        # Read as one encoding, the lines of the other would turn into nonsense.
        raise DataError(
            f"{path}: two encodings: line {other} has characters of UTF-8, and {where} is not UTF-8, "
            "perhaps Windows-1252; write the whole file as UTF-8, or name one encoding: --encoding cp1252"
        )
    found = _latin(data, 1.9) or _by_script(data) or _latin(data, 4) or _by_normalizer(data)
    if found is None:
        raise DataError(
            f"{path}: {where} is not utf-8, and what else it is is unclear; give its encoding, as in "
            "--encoding cp1252, --encoding latin-1 or --encoding gb18030"
        )
    return found


def _latin(data: bytes, run: float) -> str | None:
    """The encoding of a Latin alphabet: runs of letters beyond ASCII have a mean length of `run` at most."""
    runs = _RUN.findall(data)
    n_high = sum(map(len, runs))
    n_ascii = len(re.findall(rb"[A-Za-z]", data))
    sparse = n_high < 0.05 * n_ascii
    if not sparse and (n_high > n_ascii or n_high > run * len(runs)):
        return None
    best: tuple[float, str] | None = None
    for encoding, letters in _LATIN.items():
        text = _decoded(data, encoding)
        if text is not None:
            high = _high(text)
            score = sum(char in letters for char in high) / max(1, len(high))
            # Of equals the first: it is the most frequent one.
            best = (score, encoding) if best is None or score > best[0] + 0.05 else best
    return "latin-1" if best is None else best[1]


def _by_script(data: bytes) -> str | None:
    for encoding, share, enough in _LETTERS_ALONE:
        text = _decoded(data, encoding)
        if text is not None and share(text, encoding) >= enough:
            return encoding
    shares = {
        encoding: share(text, encoding)
        for encoding, share in _BY_SHARE
        if (text := _decoded(data, encoding)) is not None
    }
    best = max(shares, key=lambda encoding: shares[encoding], default=None)
    return best if best is not None and shares[best] >= _ENOUGH else None


def _by_normalizer(data: bytes) -> str | None:
    try:
        from charset_normalizer import from_bytes
    except ImportError:
        return None
    best = from_bytes(data).best()
    return None if best is None else codecs.lookup(best.encoding).name


def _decoded(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return None
