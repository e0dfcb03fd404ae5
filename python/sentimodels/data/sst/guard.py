"""What nothing may train, tune or stop on: the sentences of SST dev and test.

The same sentences are in the Kaggle test file, in SST-2 dev and test, and some in
rt-polarity; a model that has seen them cannot be scored on any of these. Files are
known by the hash of their bytes, and copies in another format by their sentences:
`held_out.txt` holds a 64-bit hash of the letters of each (no text), as the treebank spells
it and as SST-2 does, which lost letters with accents. A table of phrases, perhaps without
the sentences they are from, is known by `held_out_phrases.txt`: hashes of
one in eight of the phrases that are no sentence and not in SST train. A table of which a
part only overlaps, as rt-polarity, may be trained on; the note says what for.
"""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from ..normalization import among, letters, normalize, text_hashes
from ..table import Table
from .trees import unescape

# SHA-256 of the files' bytes after decompression.
HELD_OUT_FILES = {
    "0e9336aed6e4730e19f58d00a77b3f0297efdb755f7b5e598c98a05e3f97ea40": "the trees of SST dev",
    "6e54806dee95cf80cd918e7dfb3f6770f6df24bf826f289a4d1f709e1c8f6761": "the trees of SST test",
    "eddea6b39e601dd4e7a672b53cc40fdf6019fa80522f351206c24340ca5d9359": "SST-2 dev",
    "831169c7e2e429d6026e1bdbb542f33b636e3e596caad9602ebc953c205928b7": "SST-2 test",
    "76a0d0337b4da8d02bbce9c43bc6519515d186c9f6ba768838106fd017952f41": "the Kaggle movie-review test",
}

# Shorter sentences are said by anyone ("A joy to watch."); the longest has 265 letters.
MIN_LETTERS = 20
MAX_CHARACTERS = 600
# A file of the treebank with this share of the held-out sentences holds one of the parts.
_SHARE_OF_HELD_OUT = 0.01
# So has one with this share of the bundled phrases; other texts have none of them.
_SHARE_OF_PHRASES = 0.01
# Any other file is a copy when this share of its longest rows is held out.
_SHARE_OF_ROWS = 0.5
# What the treebank's labels are, in any copy that kept them; "" is a blank one.
_LABELS = {"0", "1", "2", "3", "4", ""}
# So many rows tell whether a table with other labels has anything to do with the treebank.
_LOOKED_AT = 4_000
# Brackets of a copy in lower case: `-lrb-`, or in SST-2 `lrb` alone.
_BRACKET = re.compile(r"\b[lr]rb\b", re.IGNORECASE)
# Most accents; others are taken off character by character, which is slow.
_ACCENTS = re.compile("[\u0300-\u036f]+")
_TREEBANK = ("phrases", "sst", "sst-phrases", "sst-binary", "pairs")


@cache
def held_out_hashes() -> NDArray[np.uint64]:
    """Returns the sorted hashes of the held-out sentences."""
    return _bundled("held_out.txt")


@cache
def phrase_hashes() -> NDArray[np.uint64]:
    """Returns the sorted hashes of one in eight of the phrases that only held-out sentences have."""
    return _bundled("held_out_phrases.txt")


def _bundled(name: str) -> NDArray[np.uint64]:
    lines = files(__package__).joinpath(name).read_text("ascii").split()
    return np.sort(np.array([int(line, 16) for line in lines], dtype=np.uint64))


def sentence_key(text: str) -> str | None:
    """Returns what a sentence is compared by, its letters without accents; `None` if too short or long."""
    if not MIN_LETTERS <= len(text) <= MAX_CHARACTERS:
        return None
    if not text.isascii():
        text = _without_accents(text)
    key = letters(text)
    if "rb" in key or "sb" in key or "cb" in key:  # perhaps of a bracket in the treebank's spelling
        key = letters(_BRACKET.sub(" ", unescape(text)))
    return key if len(key) >= MIN_LETTERS else None


def _without_accents(text: str) -> str:
    plain = _ACCENTS.sub("", unicodedata.normalize("NFKD", normalize(text)))
    return plain if plain.isascii() else "".join(c for c in plain if not unicodedata.combining(c))


def has_key(text: str) -> bool:
    """Whether `sentence_key` has one for a text without brackets in the treebank's spelling."""
    if not text.isascii():
        return sentence_key(text) is not None
    return MIN_LETTERS <= len(text) <= MAX_CHARACTERS and len(letters(text)) >= MIN_LETTERS


def _sentences(table: Table) -> Iterable[str]:
    """The longest text of each group, or all texts."""
    if table.groups is None:
        return table.texts
    longest: dict[str, str] = {}
    for text, group in zip(table.texts, table.groups, strict=True):
        if len(text) > len(longest.get(group, "")):
            longest[group] = text
    return longest.values()


def key_hashes(texts: Iterable[str]) -> NDArray[np.uint64]:
    """Returns the distinct hashes of texts that are long enough to be compared."""
    return np.unique(text_hashes(key for key in map(sentence_key, texts) if key is not None))


def held_out_sentences(table: Table) -> tuple[int, int]:
    """Returns how many distinct held-out sentences a table has, and how many sentences in all."""
    hashes = key_hashes(_sentences(table))
    return int(among(hashes, held_out_hashes()).sum()), len(hashes)


def concerns(table: Table) -> bool:
    """Whether a table could hold rows of the treebank.

    Its own formats and labels from 0 to 4 always do; other tables do where one of some thousand rows,
    taken in equal steps, is known. So a few held-out rows among many of another data set may pass;
    the thresholds of `guarded` would let most of these pass too.
    """
    if table.sha256 in HELD_OUT_FILES or table.format in _TREEBANK:
        return True
    if table.labels is not None and set(table.labels) <= _LABELS:
        return True
    some = table.texts[:: max(1, len(table) // _LOOKED_AT)]
    hashes = key_hashes(some)
    return bool(among(hashes, held_out_hashes()).any() or among(hashes, phrase_hashes()).any())


def guarded(table: Table) -> Table:
    """Returns the table with `held_out` filled in, or with a note where it only overlaps."""
    name = HELD_OUT_FILES.get(table.sha256)
    if name is not None:
        return replace(table, held_out=f"it is {name}")
    hashes = key_hashes(table.texts)
    phrases = int(among(hashes, phrase_hashes()).sum())
    if phrases >= _SHARE_OF_PHRASES * len(phrase_hashes()):
        known = f"{phrases:,} of the {len(phrase_hashes()):,} phrases it is known by"
        return replace(table, held_out=f"it has phrases of the sentences in SST dev and test ({known})")
    if not among(hashes, held_out_hashes()).any():
        return table
    n_held_out, of = held_out_sentences(table)
    if not n_held_out:
        return table
    are = "is" if n_held_out == 1 else "are"
    said = f"{n_held_out:,} of its {of:,} sentences {are} in SST dev and test"
    of_treebank = table.format in _TREEBANK and n_held_out >= _SHARE_OF_HELD_OUT * len(held_out_hashes())
    if of_treebank or n_held_out > _SHARE_OF_ROWS * of:
        return replace(table, held_out=said)
    note = f"{said}: do not score a model of it on SST, SST-2 or the Kaggle movie reviews"
    return replace(table, notes=(*table.notes, note))
