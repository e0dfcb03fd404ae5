"""Readers of files whose rows are lines: texts alone, Kaggle, SST-2, fastText, rt-polarity; and folders.

Lines end at LF only: a
phrase may hold U+0085 or a no-break space. Nothing is a missing value: "None" and
"null" are texts.
"""

import re
from itertools import islice
from pathlib import Path

from ..errors import DataError
from .opening import TextFile, hash_hashes, open_text, plain_suffix
from .row_buffer import Rows

KAGGLE_HEADER = ("PhraseId", "SentenceId", "Phrase")
# Lines added at a time.
_AT_ONCE = 4096
# A label of fastText's files.
_LABEL = re.compile(r"(?<!\S)__label__(\S+)\s*")
# `123_7.txt` of the IMDB folder: the review's number and its rating.
_REVIEW = re.compile(r"(\d+)_(\d+)\.txt$")


def read_phrases(file: TextFile, rows: Rows) -> None:
    """Reads the Kaggle phrases: four columns with labels, three without, no quoting.

    Raises:
        DataError: if the header or a line has other columns.
    """
    lines = file.lines()
    header = tuple(next(lines, "").split("\t"))
    if header not in (KAGGLE_HEADER, (*KAGGLE_HEADER, "Sentiment")):
        raise DataError(f"{rows.path}: line 1: expected {' '.join(KAGGLE_HEADER)} [Sentiment]")
    for number, line in enumerate(lines, 2):
        fields = line.split("\t")
        if len(fields) != len(header):
            raise DataError(f"{rows.path}: line {number}: {len(fields)} columns instead of {len(header)}")
        label = fields[3] if len(fields) == 4 else None
        if not rows.add(fields[2], label, fields[1], fields[0], line=number):
            return


def label_side(first_lines: list[str]) -> int | None:
    """Returns the column of a headerless two-column file that holds labels; `None` if neither."""
    if not first_lines:
        return None
    fields = [line.split("\t") for line in first_lines]
    if any(len(row) != 2 for row in fields):
        return None
    numbers = [all(re.fullmatch(r"-?\d{1,2}", row[side]) for row in fields) for side in (0, 1)]
    return numbers.index(True) if sum(numbers) == 1 else None


def read_pairs(file: TextFile, rows: Rows, label_at: int) -> None:
    """Reads `sentence TAB label` (or the other way round) without header.

    Raises:
        DataError: if a line has not two columns.
    """
    for number, line in enumerate(file.lines(), 1):
        fields = line.split("\t")
        if len(fields) != 2:
            raise DataError(f"{rows.path}: line {number}: {len(fields)} columns instead of 2")
        if not rows.add(fields[1 - label_at], fields[label_at], line=number):
            return


def read_plain(file: TextFile, rows: Rows) -> None:
    """Reads a text a line. An empty line is a row too, so that answers line up with the lines."""
    lines = file.lines()
    while some := list(islice(lines, _AT_ONCE)):
        if not rows.extend(some):
            return


def is_fasttext(first_lines: list[str]) -> bool:
    """Whether every line has a label as fastText writes it."""
    return bool(first_lines) and all(_LABEL.search(line) for line in first_lines if line.strip())


def read_fasttext(file: TextFile, rows: Rows) -> None:
    """Reads `__label__NAME text`, the label at any place of the line; empty lines are passed over.

    Raises:
        DataError: if a line has several labels, or none where that is an error.
    """
    for number, line in enumerate(file.lines(), 1):
        if not line.strip():
            rows.pass_over()
            continue
        matches = list(_LABEL.finditer(line))
        if len(matches) > 1:
            names = ", ".join(one[1] for one in matches[:5])
            raise DataError(
                f"{rows.path}: line {number}: {len(matches)} labels ({names}); a text has one class here: "
                "keep one label a line"
            )
        label, text = (matches[0][1], _LABEL.sub("", line)) if matches else ("", line)
        if not rows.add(text.strip(), label, line=number):
            return


def read_polarity(path: Path, rows: Rows, encoding: str, max_line_bytes: int | None = None) -> str:
    """Reads `NAME.pos` and `NAME.neg` of a folder, or the one file given; returns the hash.

    Raises:
        DataError: if a folder lacks one of the two.
    """
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    sides = [(plain_suffix(file)[1:], file) for file in files if plain_suffix(file) in (".pos", ".neg")]
    if path.is_dir() and sorted(side for side, _ in sides) != ["neg", "pos"]:
        raise DataError(f"{path}: expected one file ending in .pos and one in .neg")
    hashes = []
    more = True
    for side, file in sides:
        with open_text(file, encoding, max_line_bytes) as opened:
            for number, line in enumerate(opened.lines(), 1):
                # Every line of the release ends in a space.
                more = more and rows.add(line.removesuffix(" "), side, id=f"{side}/{number}")
                if not more:
                    break
            hashes.append((side, opened.sha256()))
    return hash_hashes(hashes)


def read_review_folder(
    path: Path, rows: Rows, encoding: str, max_line_bytes: int | None = None, *, clean: bool
) -> str:
    """Reads `pos/ID_RATING.txt` and `neg/…`; returns the hash of all files.

    Raises:
        DataError: if a folder is missing.
    """
    hashes = []
    more = True
    for side in ("neg", "pos"):
        folder = path / side
        if not folder.is_dir():
            raise DataError(f"{path}: no folder {side!r}; give the one that holds pos and neg")
        files = [(_REVIEW.search(file.name), file) for file in folder.iterdir() if file.suffix == ".txt"]
        order = sorted(files, key=lambda item: (int(item[0][1]) if item[0] else -1, item[1].name))
        for match, file in order:
            with open_text(file, encoding, max_line_bytes) as opened:
                text = opened.text()
                hashes.append((f"{side}/{file.name}", opened.sha256()))
            name = match[1] if match else file.stem
            more = more and rows.add(without_breaks(text) if clean else text, side, id=f"{side}/{name}")
    return hash_hashes(hashes)


def without_breaks(text: str) -> str:
    """Returns the text with `<br />` as spaces."""
    return re.sub(r"(?:\s*<br\s*/?>\s*)+", " ", text)
