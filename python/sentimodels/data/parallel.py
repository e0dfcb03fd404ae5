"""`read_parallel`: pairs of texts, of two files line by line, or of two columns of a table.

A pair with an empty side stays: who trains leaves it out, who translates keeps the lines in step.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DataError
from .normalization import text_hashes
from .opening import hash_hashes
from .readers import open_texts, read_table
from .table import Table

__all__ = ["ParallelText", "read_lines", "read_parallel", "split_pairs"]


@dataclass(frozen=True)
class ParallelText:
    """Pairs, row by row.

    Attributes:
        sources: texts.
        targets: the translation of each.
        name: the files, as a message names them.
        sha256: hash of both files' bytes after decompression, or of the table's.
        files: hash of the file of each side.
        notes: guesses made when reading a table.
    """

    sources: list[str]
    targets: list[str]
    name: str
    sha256: str
    files: tuple[str, str]
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.sources)

    def take(self, rows: Iterable[int]) -> "ParallelText":
        """Returns these pairs, in this order."""
        chosen = list(rows)
        sources, targets = ([side[row] for row in chosen] for side in (self.sources, self.targets))
        return replace(self, sources=sources, targets=targets)

    def table(self) -> Table:
        """Returns the pairs as texts of a table, for the record of the training data."""
        texts = [f"{source}\t{target}" for source, target in zip(self.sources, self.targets, strict=True)]
        return Table(texts, None, None, None, Path(self.name), self.sha256, format="parallel")

    def sides(self) -> list[Table]:
        """Returns sources and targets as tables of separate files, for code that reads single texts."""
        return [
            Table(texts, None, None, None, Path(self.name), sha256, format="parallel")
            for texts, sha256 in zip((self.sources, self.targets), self.files, strict=True)
        ]


def read_parallel(
    files: Sequence[str | Path],
    *,
    source_column: str | None = None,
    target_column: str | None = None,
    encoding: str | None = None,
    max_line_bytes: int | None = None,
    limit: int | None = None,
    format: str | None = None,
    separator: str | None = None,
    header: bool | None = None,
) -> ParallelText:
    """Reads pairs.

    Args:
        files: a file of sources and one of targets, a pair in each line; or one table, of any format with
            columns.
        source_column: of a table.
        target_column: of a table.
        encoding: of the text; without it UTF-8, or the detected one of a table.
        max_line_bytes: longest line.
        limit: the first so many pairs.
        format: of a table; recognised when not given.
        separator: of a table in CSV or TSV; recognised when not given.
        header: whether the first row of such a table names its columns; recognised when not given.

    Raises:
        DataError: if the files differ in their number of lines, or it is not clear what to read.
    """
    paths = [Path(file) for file in files]
    if len(paths) == 1:
        return _of_table(
            paths[0], source_column, target_column, encoding=encoding, max_line_bytes=max_line_bytes,
            limit=limit, format=format, separator=separator, header=header,
        )  # fmt: skip
    if len(paths) != 2:
        raise DataError(f"{len(paths)} files: expected one of sources and one of targets, or one table")
    if {source_column, target_column, format, separator, header} != {None}:
        raise DataError(
            f"{paths[0]}, {paths[1]}: columns are of one table; of two files every line is a text: leave out "
            "--source-column, --target-column, --format, --separator and --header"
        )
    sides, hashes = [], []
    for side, path in zip(("source", "target"), paths, strict=True):
        lines, sha256 = read_lines(path, encoding=encoding, max_line_bytes=max_line_bytes)
        sides.append(lines)
        hashes.append((side, sha256))
    counts = [len(side) for side in sides]
    if counts[0] != counts[1]:
        raise DataError(
            f"{paths[0]} has {counts[0]:,} lines, but {paths[1]} has {counts[1]:,}: parallel text has a "
            "target in the line of each source"
        )
    sources, targets = (side[:limit] for side in sides)
    files = (hashes[0][1], hashes[1][1])
    return ParallelText(sources, targets, f"{paths[0]}, {paths[1]}", hash_hashes(hashes), files)


def read_lines(
    path: Path, *, encoding: str | None = None, max_line_bytes: int | None = None
) -> tuple[list[str], str]:
    """Returns the lines of a text file, and the hash of its bytes after decompression."""
    with open_texts(path, format="lines", encoding=encoding, max_line_bytes=max_line_bytes) as file:
        return list(file.texts), file.sha256()


def _of_table(path: Path, source: str | None, target: str | None, **reading: Any) -> ParallelText:
    if source is None or target is None:
        raise DataError(
            f"{path}: one file: give the file of targets as well or, of a table, its columns: "
            "--source-column en --target-column de"
        )
    if source == target:
        raise DataError(f"{path}: {source!r} is source and target; name two columns")
    table = read_table(path, source, target, blank_labels="keep", classes=False, **reading)
    return ParallelText(
        table.texts, table.labelled(), str(path), table.sha256, (table.sha256, table.sha256), table.notes
    )


def split_pairs(pairs: ParallelText, share: float, seed: int) -> tuple[ParallelText, ParallelText]:
    """Divides pairs into those to train on and those to validate on, equal sources on one side.

    Args:
        pairs: at least two with different sources.
        share: of the sources that are validated on.
        seed: another one, another division.

    Raises:
        DataError: if there are not enough.
    """
    distinct, of = np.unique(text_hashes(pairs.sources), return_inverse=True)
    n_valid = max(1, round(share * len(distinct)))
    if n_valid >= len(distinct):
        raise DataError(
            f"{pairs.name}: {len(distinct)} different sources, too few to hold some out; give --valid"
        )
    chosen = np.zeros(len(distinct), np.bool_)
    chosen[np.random.default_rng(seed).permutation(len(distinct))[:n_valid]] = True
    held = chosen[of]
    return pairs.take(np.flatnonzero(~held).tolist()), pairs.take(np.flatnonzero(held).tolist())
