"""`Exclusion`: held-out texts that a run must not train or stop on, known by their hashes.

`senti data hashes FILE... -o held-out.txt` writes the file, `--exclude held-out.txt` reads it. A text is
compared by its letters and digits, without case, accents, tags and entities of HTML, and brackets as
treebanks spell them (`-LRB-`), so that a copy in other spelling or punctuation is found too. A line may be
a row of another format: what its columns, quotation marks or tree hold is compared too, without labels at
either end. Texts of fewer than 20 letters are not compared, because many people say the same ("A joy to
watch."); of lines longer than 600 characters, the sentences are. A text in the middle of another sentence
is not found. The file holds no text: 64 bits of BLAKE2b for each.
"""

import html
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Self

from ..errors import DataError
from .normalization import letters, normalize, text_hash
from .table import Table

__all__ = ["Exclusion", "hash_file_of", "text_key"]

_MIN_LETTERS, _MAX_CHARACTERS = 20, 600
_HEAD = "# sentimodels.hashes/1"
_HASH = re.compile(r"[0-9a-f]{16}")
# Brackets as treebanks and their copies spell them: `-LRB-`, `-lrb-`, or `lrb` alone.
_BRACKET = re.compile(r"-[lr][rsc]b-|\b[lr]rb\b", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]{1,200}>")
# Tags that end a line: the text in them is a separate line.
_LINE_TAG = re.compile(r"</?(?:br|p|div|li|tr|td|th|h[1-6])\b[^<>]{0,200}>", re.IGNORECASE)
# Most accents; the remaining ones are taken off character by character, which is slow.
_ACCENTS = re.compile("[\u0300-\u036f]+")
# Where a sentence of a line ends. So many words and more are compared, of up to so many sentences together.
_END = re.compile(r"(?<=[.!?:;])[\"')\]]*(?:\s|<br ?/>)+")
_WORDS, _TOGETHER = 8, 3
# A row that has a text in one of its columns is no longer than this.
_ROW = 1200
# A label at either end of a row, apart from the text by a space or a sign; so many of them, and the last one
# is looked for in so many characters.
_LABEL = r"(?:label[\W_]*)?(?:\d[\d.]*|(?:(?:very|somewhat)[\W_]?)?(?:pos|positive|neg|negative|neutral))"
_FIRST = re.compile(rf"[\W_]*{_LABEL}[\s,;:|\"')\]]+", re.IGNORECASE)
_LAST = re.compile(rf"[\s,;:|\"'(\[]+{_LABEL}\W*$", re.IGNORECASE)
_LABELS, _TAIL = 3, 32
# A column in quotation marks, as in CSV and JSON, and a character that JSON spells by its number.
_QUOTED = re.compile(r'(?:^|[,;:{\[\t])\s*"([^"]+)"\s*(?=$|[,;:}\]\t])')
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")
# A word of a tree, as in (2 (3 good) (2 fun)).
_LEAF = re.compile(r"\([^\s()]+ ([^\s()]+)\)")


def text_key(text: str) -> str | None:
    """Returns the letters that a text is compared by; `None` if it is too short or too long."""
    if not _MIN_LETTERS <= len(text) <= _MAX_CHARACTERS:
        return None
    if not text.isascii():
        text = _without_accents(text)
    key = letters(text)
    if "rb" in key or "sb" in key or "cb" in key:  # perhaps of a bracket as treebanks spell it
        key = letters(_BRACKET.sub(" ", text))
    return key if len(key) >= _MIN_LETTERS else None


def _without_accents(text: str) -> str:
    plain = _ACCENTS.sub("", unicodedata.normalize("NFKD", normalize(text)))
    return plain if plain.isascii() else "".join(c for c in plain if not unicodedata.combining(c))


def _hashes(text: str) -> Iterator[int]:
    """Yields the hashes of a text, of its lines, and of the columns and sentences in them."""
    if "<" in text or "&" in text:
        yield from _keyed(_lines(text))  # tags and entities are letters in older files of hashes
        joined = _plain(text, " ")
        yield from _keyed(chain((joined,), _sentences(joined)))
        text = _plain(text, "\n")
    lines = text.split("\n")
    yield from _keyed(chain(_lines(text), *map(_columns, lines), *map(_sentences, lines)))


def _keyed(texts: Iterable[str]) -> Iterator[int]:
    for text in texts:
        if (key := text_key(text)) is not None:
            yield text_hash(key)


def _lines(text: str) -> Iterable[str]:
    """Returns a text and, where there are several, its lines."""
    return (text, *text.split("\n")) if "\n" in text else (text,)


def _plain(text: str, line_end: str) -> str:
    """Returns a text without tags and entities, which may be written as entities themselves."""
    return _TAG.sub("", _LINE_TAG.sub(line_end, html.unescape(html.unescape(text))))


def _columns(line: str) -> Iterator[str]:
    """Yields the cells of a line if it is a row of a table, in any format, or a tree."""
    if "\t" in line:
        yield from line.split("\t")
    if line.startswith("("):
        yield " ".join(_LEAF.findall(line))
    if len(line) > _ROW:
        return
    if "\\u" in line:
        line = _ESCAPE.sub(lambda found: chr(int(found[1], 16)), line)
        yield line
    starts = [line]
    while len(starts) <= _LABELS and (label := _FIRST.match(starts[-1])):
        starts.append(starts[-1][label.end() :])
    yield from starts[1:]
    for text in starts:
        for _ in range(_LABELS):
            label = _LAST.search(text, max(0, len(text) - _TAIL))
            if label is None:
                break
            text = text[: label.start()]
            yield text
    if "|" in line:
        yield from line.split("|")
    if '"' in line:
        yield from _QUOTED.findall(line.replace('\\"', " ").replace('""', " "))


def _sentences(line: str) -> Iterator[str]:
    """Yields the sentences of a line."""
    parts = _END.split(line)
    if len(parts) == 1:
        return
    for start in range(len(parts)):
        for end in range(start + 1, min(start + _TOGETHER, len(parts)) + 1):
            some = " ".join(parts[start:end])
            if some.count(" ") >= _WORDS - 1:
                yield some


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
                f"{source}: --exclude {self.source} has the text of every row; give rows that it "
                "does not list"
            )
        are = "row is" if n_rows - n_kept == 1 else "rows are"
        return [
            f"{source}: {n_rows - n_kept:,} {are} left out, because --exclude {self.source} has their texts"
        ]


def hash_file_of(texts: Iterable[str]) -> tuple[bytes, int]:
    """Returns the content of a file of hashes, sorted, and their number; short texts are not hashed."""
    keys = (text_key(_plain(text, " ") if "<" in text or "&" in text else text) for text in texts)
    found = sorted({text_hash(key) for key in keys if key is not None})
    return "".join(f"{line}\n" for line in (_HEAD, *(f"{one:016x}" for one in found))).encode(), len(found)
