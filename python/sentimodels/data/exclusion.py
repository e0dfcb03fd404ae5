"""`Exclusion`: held-out texts that a run must not train or stop on, known by their hashes.

`senti data hashes FILE... -o held-out.txt` writes the file, `--exclude held-out.txt` reads it. A text is
compared by its letters and digits, without case, accents and the Penn Treebank's spelling of brackets, so
that a copy in other spelling or punctuation is found too. Texts of fewer than 20 letters are not compared,
because many people say the same ("A joy to watch."), and longer than 600 characters are compared by their
sentences. The file holds no text: 64 bits of BLAKE2b for each.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from ..errors import DataError
from .normalization import letters, normalize, text_hash
from .sst.trees import unescape
from .table import Table

__all__ = ["Exclusion", "hash_file_of", "text_key"]

_MIN_LETTERS, _MAX_CHARACTERS = 20, 600
_HEAD = "# sentimodels.hashes/1"
_HASH = re.compile(r"[0-9a-f]{16}")
# Brackets of a copy in lower case: `-lrb-`, or `lrb` alone.
_BRACKET = re.compile(r"\b[lr]rb\b", re.IGNORECASE)
# Most accents; others are taken off character by character, which is slow.
_ACCENTS = re.compile("[\u0300-\u036f]+")
# Where a sentence of a line ends. So many words and more are compared, of up to so many sentences together.
_END = re.compile(r"(?<=[.!?:;])[\"')\]]*(?:\s|<br ?/>)+")
_WORDS, _TOGETHER = 8, 3


def text_key(text: str) -> str | None:
    """Returns the letters that a text is compared by; `None` if it is too short or too long."""
    if not _MIN_LETTERS <= len(text) <= _MAX_CHARACTERS:
        return None
    if not text.isascii():
        text = _without_accents(text)
    key = letters(text)
    if "rb" in key or "sb" in key or "cb" in key:  # perhaps of a bracket in the treebank's spelling
        key = letters(_BRACKET.sub(" ", unescape(text)))
    return key if len(key) >= _MIN_LETTERS else None


def _without_accents(text: str) -> str:
    plain = _ACCENTS.sub("", unicodedata.normalize("NFKD", normalize(text)))
    return plain if plain.isascii() else "".join(c for c in plain if not unicodedata.combining(c))


def _hashes(text: str) -> Iterator[int]:
    """Yields the hashes of a text, of its lines, and of what they have in columns and sentences."""
    lines = text.split("\n")
    for part in (text, *lines) if len(lines) > 1 else lines:
        for one in (part, *part.split("\t")) if "\t" in part else (part,):
            if (key := text_key(one)) is not None:
                yield text_hash(key)
    for line in lines:
        sentences = _END.split(line)
        if len(sentences) > 1:
            for start in range(len(sentences)):
                for end in range(start + 1, min(start + _TOGETHER, len(sentences)) + 1):
                    some = " ".join(sentences[start:end])
                    if some.count(" ") >= _WORDS - 1 and (key := text_key(some)) is not None:
                        yield text_hash(key)


@dataclass(frozen=True)
class Exclusion:
    """The held-out texts of a run.

    Attributes:
        hashes: those of the texts; none where no file is given.
        source: the file.
    """

    hashes: frozenset[int] = frozenset()
    source: str = ""

    @classmethod
    def read(cls, path: str | None) -> Self:
        """Reads a file of hashes; `None` excludes nothing.

        Raises:
            DataError: if it holds anything else, or nothing.
            FileNotFoundError: if it is not there.
        """
        if path is None:
            return cls()
        found = set()
        for number, line in enumerate(Path(path).read_text("utf-8", "replace").splitlines(), 1):
            if line and not line.startswith("#"):
                if not _HASH.fullmatch(line):
                    raise DataError(
                        f"{path}, line {number}: {line[:40]!r}: expected a hash of 16 hexadecimal digits, as "
                        "senti data hashes writes them"
                    )
                found.add(int(line, 16))
        if not found:
            raise DataError(f"{path}: no hashes; write some with senti data hashes FILE -o {path}")
        return cls(frozenset(found), path)

    def holds(self, text: str) -> bool:
        """Whether a text, one of its lines, or sentences of a line are excluded."""
        return not self.hashes.isdisjoint(_hashes(text)) if self.hashes else False

    def without(self, text: str) -> str:
        """Returns a text without the lines that are excluded."""
        if not self.holds(text):
            return text
        lines = text.split("\n")
        kept = [line for line in lines if not self.holds(line)]
        # Where only all lines together are known, none is left.
        return "\n".join(kept) if len(kept) < len(lines) else ""

    def kept(self, rows: Iterable[Sequence[str]]) -> list[int]:
        """Returns the places of the rows of which no text is excluded."""
        return [place for place, texts in enumerate(rows) if not any(map(self.holds, texts))]

    def trainable(self, table: Table, rows: Iterable[Sequence[str]] | None = None) -> tuple[Table, list[str]]:
        """Returns the rows of a table that may be trained on, and a note on those left out.

        Args:
            table: the rows.
            rows: of each row all texts that are trained on; the texts of the table if not given.

        Raises:
            DataError: if no row is left.
        """
        if not self.hashes:
            return table, []
        kept = self.kept(((text,) for text in table.texts) if rows is None else rows)
        return (table if len(kept) == len(table) else table.take(kept)), self.notes(
            str(table.source), len(table), len(kept)
        )

    def notes(self, source: str, n_rows: int, n_kept: int) -> list[str]:
        """Returns what to say of the rows of a file that were left out.

        Raises:
            DataError: if none is left.
        """
        if n_kept == n_rows:
            return []
        if not n_kept:
            raise DataError(
                f"{source}: --exclude {self.source} has the text of every row; give rows that it has not"
            )
        are = "row is" if n_rows - n_kept == 1 else "rows are"
        return [
            f"{source}: {n_rows - n_kept:,} {are} left out, because --exclude {self.source} has their texts"
        ]


def hash_file_of(texts: Iterable[str]) -> tuple[bytes, int]:
    """Returns the content of a file of hashes, sorted, and how many it has; short texts have none."""
    keys = (text_key(text) for text in texts)
    found = sorted({text_hash(key) for key in keys if key is not None})
    return "".join(f"{line}\n" for line in (_HEAD, *(f"{one:016x}" for one in found))).encode(), len(found)
