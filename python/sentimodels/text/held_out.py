"""`HeldOutLines`: keeps the sentences of SST dev and test out of a corpus, line by line.

Not for which sentences these are (`data/sst/guard.py`). A file that is a copy of those parts, in any
format, is refused by name; a corpus that holds some of the sentences among others loses these lines, whatever
labels, quotation marks and marks of HTML stand around them. Of a line that says more, what stands between
ends of sentences is looked at, up to three parts of it together; a sentence that begins or ends in the middle
of another passes.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from ..data.normalization import text_hash
from ..data.sst.anchors import may_hold
from ..data.sst.guard import HELD_OUT_FILES, has_key, held_out_hashes, phrase_hashes, sentence_key
from ..errors import DataError

__all__ = ["HeldOutLines", "trainable_rows"]

# A file with this share of the phrases that are known, or of trees or rows of the sentences, is a copy.
_SHARE_OF_KNOWN = 0.01
# Any other file is one when this share of its sentences is held out.
_SHARE_OF_LINES = 0.5
# Where a part of a line ends; so many words and more make it worth a look, as fewer are said by anyone.
_END = re.compile(r"(?<=[.!?:;])[\"')\]]*(?:\s|<br ?/>)+")
_WORDS, _TOGETHER = 8, 3
# A row that has a sentence in one of its columns is no longer than this.
_ROW = 1200
# A label at either end of a row, apart from the text by a space or a sign, so many of them; the last one is
# looked for in so many characters.
_LABEL = r"(?:label[\W_]*)?(?:\d[\d.]*|(?:(?:very|somewhat)[\W_]?)?(?:pos|positive|neg|negative|neutral))"
_FIRST = re.compile(rf"[\W_]*{_LABEL}[\s,;:|\"')\]]+", re.IGNORECASE)
_LAST = re.compile(rf"[\s,;:|\"'(\[]+{_LABEL}\W*$", re.IGNORECASE)
_LABELS, _TAIL = 3, 32
# A column in quotation marks, as in CSV and JSON, a character that JSON spells by its number, a mark of HTML.
_QUOTED = re.compile(r'(?:^|[,;:{\[\t])\s*"([^"]+)"\s*(?=$|[,;:}\]\t])')
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")
_TAG = re.compile(r"<[^<>]{1,200}>")
# A word of a tree, as in (2 (3 good) (2 fun)).
_LEAF = re.compile(r"\(\d+ ([^()]+)\)")


class HeldOutLines:
    """What a corpus has of the held-out sentences.

    Attributes:
        n_left_out: lines that were left out.
    """

    def __init__(self) -> None:
        self.n_left_out = 0
        self._sentences = set(held_out_hashes().tolist())
        self._phrases = set(phrase_hashes().tolist())
        self.begin(Path())

    def begin(self, path: Path) -> None:
        """Begins a file."""
        self._path = path
        self._n_lines = self._n_held_out = 0
        self._found: set[int] = set()
        self._found_phrases: set[int] = set()
        self._in_columns: set[int] = set()

    def screened(self, texts: Sequence[str]) -> Iterator[bool]:
        """Yields for each text whether `without` or `holds` must look at it; the lines of others are counted.

        These are few: `may_hold` knows most texts by their letters alone.
        """
        for text, may in zip(texts, may_hold(texts), strict=True):
            if not may:
                self._n_lines += sum(any(map(has_key, _texts(line))) for line in text.split("\n"))
            yield may

    def without(self, text: str) -> str:
        """Returns a text without the lines that are held out."""
        if "\n" not in text:
            return "" if self.holds(text) else text
        return "\n".join(line for line in text.split("\n") if not self.holds(line))

    def holds(self, line: str) -> bool:
        """Whether a line is held out; it is counted."""
        held_out = keyed = False
        for number, text in enumerate(_texts(line)):
            key = sentence_key(text)
            if key is None:
                continue
            keyed = True
            hash_ = text_hash(key)
            if hash_ in self._sentences:
                held_out = True
                self._found.add(hash_)
                if number:
                    self._in_columns.add(hash_)
            elif hash_ in self._phrases:
                held_out = True
                self._found_phrases.add(hash_)
        if not held_out:
            keys = (*filter(None, map(sentence_key, _rows(line))), *_keys_inside(line))
            inside = set(map(text_hash, keys)) & self._sentences
            held_out = bool(inside)
            self._found |= inside
        self._n_lines += keyed
        self._n_held_out += held_out
        self.n_left_out += held_out
        return held_out

    def end(self, sha256: str = "") -> None:
        """Ends a file.

        Raises:
            DataError: if it is a copy of the held-out parts.
        """
        reason = None
        name = HELD_OUT_FILES.get(sha256)
        known = len(self._phrases)
        if name is not None:
            reason = f"it is {name}"
        elif len(self._found_phrases) >= _SHARE_OF_KNOWN * known:
            reason = (
                f"it has phrases of the sentences in SST dev and test ({len(self._found_phrases):,} of the "
                f"{known:,} phrases it is known by)"
            )
        elif (
            len(self._in_columns) >= _SHARE_OF_KNOWN * len(self._sentences)
            or self._n_held_out > _SHARE_OF_LINES * self._n_lines
        ):
            reason = f"{len(self._found):,} sentences of SST dev and test are in it"
        if reason is not None:
            raise DataError(
                f"{self._path}: nothing may pre-train on it: {reason}. Leave it out: a model that has read "
                "these sentences cannot be scored on SST, SST-2 or the Kaggle movie reviews"
            )


def trainable_rows(
    source: Path, sha256: str, rows: Iterable[Sequence[str]], say: Callable[[str], None]
) -> list[int]:
    """Returns the numbers of the rows that hold no held-out sentence.

    Args:
        source: their file, as messages name it.
        sha256: its hash.
        rows: of each row all that is trained on.
        say: told how many are left out.

    Raises:
        DataError: if the file is a copy of the held-out parts.
    """
    watch = HeldOutLines()
    watch.begin(source)
    kept = []
    n_rows = 0
    for number, texts in enumerate(rows):
        n_rows += 1
        # Each line counts, so that all are looked at.
        if not sum(watch.holds(line) for text in texts for line in text.split("\n")):
            kept.append(number)
    watch.end(sha256)
    if n_left_out := n_rows - len(kept):
        are = f"row of {source} is" if n_left_out == 1 else f"rows of {source} are"
        say(
            f"{n_left_out:,} {are} left out for holding sentences of SST dev or test, "
            "which nothing may train on"
        )
    return kept


def _texts(line: str) -> Iterator[str]:
    """Yields a line, then what it holds if it is a row of columns or a tree."""
    yield line
    if "\t" in line:
        yield from line.split("\t")
    if line.startswith("("):
        yield " ".join(_LEAF.findall(line))


def _rows(line: str) -> Iterator[str]:
    """Yields what a row holds beside labels and numbers, in any of the ways that rows are written."""
    if len(line) > _ROW:
        return
    if "\\u" in line:
        line = _ESCAPE.sub(lambda found: chr(int(found[1], 16)), line)
    bare = _TAG.sub(" ", line).strip() if "<" in line else line
    if bare is not line:
        yield bare
    starts = [bare]
    while len(starts) <= _LABELS and (label := _FIRST.match(starts[-1])):
        starts.append(starts[-1][label.end() :])
    for text in starts:
        if text is not bare:
            yield text
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


def _keys_inside(line: str) -> Iterator[str]:
    """Yields the keys of what stands between ends of sentences in a line of several."""
    parts = _END.split(line)
    if len(parts) == 1:
        return
    for start in range(len(parts)):
        for end in range(start + 1, min(start + _TOGETHER, len(parts)) + 1):
            text = " ".join(parts[start:end])
            if text.count(" ") >= _WORDS - 1 and (key := sentence_key(text)) is not None:
                yield key
