"""`read_table`: any labelled file, recognised by folder, suffix and first lines.

Not for the formats themselves (`lines.py`, `columns.py`, `sst/trees.py`). What was
recognised and guessed stands in the table's notes; `format` overrides it. Reading
never refuses a file for what it is: `training_table` does, for training.
"""

from pathlib import Path
from typing import Any

from ..errors import DataError
from .columns import Columns, read_json_lines, read_parquet, read_separated
from .lines import (
    KAGGLE_HEADER,
    is_fasttext,
    label_side,
    read_fasttext,
    read_pairs,
    read_phrases,
    read_plain,
    read_polarity,
    read_review_folder,
)
from .opening import TextFile, open_text, plain_suffix
from .row_buffer import Blank, Rows, listed
from .rules import check_trainable, guarded
from .sst.trees import Nodes, read_trees
from .table import Table

# Name: what it is. The names are those of `--format`.
FORMATS = {
    "phrases": "Kaggle movie-review phrases (PhraseId, SentenceId, Phrase, Sentiment; no quoting)",
    "sst": "Stanford trees, one row a sentence",
    "sst-phrases": "Stanford trees, one row a phrase",
    "sst-binary": "Stanford trees, one row a sentence, labels 0 and 1, neutral left out",
    "pairs": "sentence TAB label without header, as SST-2",
    "fasttext": "__label__NAME text, one a line, as fastText",
    "polarity": "a folder with NAME.pos and NAME.neg, or one of the two; Latin-1",
    "reviews": "a folder with pos/ and neg/, one file a review, as IMDB",
    "csv": "comma-separated with a header",
    "tsv": "tab-separated with a header, quotes as in CSV",
    "jsonl": "one JSON object a line",
    "parquet": "Parquet (needs pyarrow)",
    "lines": "texts without labels, one a line; only where --format says so",
}

# How many lines decide what a file without a telling suffix is.
_PEEKED = 50


def recognise(path: Path, encoding: str = "utf-8", max_line_bytes: int | None = None) -> str:
    """Returns the name of a file's or folder's format.

    Raises:
        DataError: if it is not clear.
        FileNotFoundError: if there is none.
    """
    if path.is_dir():
        return _recognise_folder(path)
    suffix = plain_suffix(path)
    if suffix in (".jsonl", ".ndjson", ".json"):
        return "jsonl"
    if suffix in (".parquet", ".pq"):
        return "parquet"
    if suffix in (".pos", ".neg"):
        return "polarity"
    if suffix == ".csv":
        return "csv"
    first = _first_lines(path, encoding, max_line_bytes)
    head = first[0] if first else ""
    fields = tuple(head.split("\t"))
    if fields[:3] == KAGGLE_HEADER:
        return "phrases"
    if head.startswith("(") and head.endswith(")"):
        return "sst"
    if is_fasttext(first):
        return "fasttext"
    if label_side(first) is not None:
        return "pairs"
    if len(fields) > 1:
        return "tsv"
    raise DataError(f"{path}: the format is unclear; name it with --format: {', '.join(FORMATS)}")


def _recognise_folder(path: Path) -> str:
    if (path / "pos").is_dir() and (path / "neg").is_dir():
        return "reviews"
    if sorted(plain_suffix(file) for file in path.iterdir() if plain_suffix(file) in (".pos", ".neg")):
        return "polarity"
    parts = [name for name in ("train", "test") if (path / name / "pos").is_dir()]
    if parts:
        raise DataError(f"{path}: give one part, as in {path / parts[0]}")
    raise DataError(f"{path}: a folder without pos/ and neg/, and without .pos and .neg files")


def _first_lines(path: Path, encoding: str, max_line_bytes: int | None) -> list[str]:
    lines: list[str] = []
    with open_text(path, encoding, max_line_bytes) as file:
        for line in file.lines():
            lines.append(line)
            if len(lines) == _PEEKED:
                break
    return lines


def read_table(
    path: str | Path,
    text_column: str | None = None,
    label_column: str | None = None,
    group_column: str | None = None,
    format: str | None = None,
    limit: int | None = None,
    *,
    id_column: str | None = None,
    where: str | None = None,
    encoding: str | None = None,
    max_line_bytes: int | None = None,
    skip: int = 0,
    clean: bool = False,
    unescape: bool = False,
    blank_labels: Blank = "error",
) -> Table:
    """Reads a file or folder.

    Args:
        path: the file; gz, xz, bz2 and zst are decompressed.
        text_column: of a file with named columns; guessed when only one can be meant.
        label_column: as `text_column`.
        group_column: rows with one value stay on one side of a split.
        format: one of `FORMATS`; recognised when not given.
        limit: the first so many rows.
        id_column: the rows' own ids.
        where: keep the rows whose column has a value, as in `split=train`.
        encoding: of the text; UTF-8, for `polarity` Latin-1.
        max_line_bytes: the longest line or row, here in characters; 2^28 if not given.
        skip: rows left out at the beginning.
        clean: write `<br />` as a space.
        unescape: undo the escapes of trees.
        blank_labels: a row without label is an error, is dropped, or is kept with label "".

    Raises:
        DataError: if the file is not what it should be.
        FileNotFoundError: if there is none.
    """
    path = Path(path)
    if limit is not None and limit < 1:
        raise DataError(f"limit {limit}: at least 1 row")
    if path.is_file() and not path.stat().st_size:
        raise DataError(f"{path}: the file is empty")
    kind = format or recognise(path, encoding or "utf-8", max_line_bytes)
    if kind not in FORMATS:
        raise DataError(f"format {kind!r}: one of {', '.join(FORMATS)}")
    rows = Rows(path, limit=limit, skip=skip, blank=blank_labels)
    asked = Columns(text_column, label_column, group_column, id_column, _condition(where))
    named = [name for name in (text_column, label_column, group_column, id_column, where) if name]
    if named and kind not in ("csv", "tsv", "jsonl", "parquet"):
        raise DataError(f"{path}: format {kind!r} has fixed columns, not {listed(named)}")
    if kind == "polarity":
        sha256 = read_polarity(path, rows, encoding or "latin-1", max_line_bytes)
    elif kind == "reviews":
        sha256 = read_review_folder(path, rows, encoding or "utf-8", max_line_bytes, clean=clean)
    elif kind == "parquet":
        sha256 = read_parquet(path, rows, asked, clean=clean)
    else:
        sha256 = _read_text(
            path, rows, asked, kind, encoding or "utf-8", max_line_bytes, clean=clean, unescape=unescape
        )
    if format is None:
        rows.notes.insert(0, f"read as {kind}: {FORMATS[kind]}")
    return guarded(rows.finish(sha256, kind))


def _read_text(
    path: Path,
    rows: Rows,
    asked: Columns,
    format: str,
    encoding: str,
    max_line_bytes: int | None,
    *,
    clean: bool,
    unescape: bool,
) -> str:
    side = label_side(_first_lines(path, encoding, max_line_bytes)) if format == "pairs" else None
    if format == "pairs" and side is None:
        raise DataError(f"{path}: expected two columns, one of them whole numbers")
    with open_text(path, encoding, max_line_bytes) as file:
        _read_rows(file, rows, asked, format, side, clean=clean, unescape=unescape)
        return file.sha256()


def _read_rows(
    file: TextFile, rows: Rows, asked: Columns, format: str, side: int | None, *, clean: bool, unescape: bool
) -> None:
    match format:
        case "phrases":
            read_phrases(file, rows)
        case "pairs":
            read_pairs(file, rows, side or 0)
        case "lines":
            read_plain(file, rows)
        case "fasttext":
            read_fasttext(file, rows)
        case "jsonl":
            read_json_lines(file, rows, asked, clean=clean)
        case "csv" | "tsv":
            read_separated(file, rows, asked, "," if format == "csv" else "\t", clean=clean)
        case _:
            nodes: Nodes = "phrases" if format == "sst-phrases" else "roots"
            binary = format == "sst-binary"
            read_trees(file, rows, nodes=nodes, binary=binary, undo_escapes=unescape)


def _condition(where: str | None) -> tuple[str, str] | None:
    if where is None:
        return None
    name, equals, value = where.partition("=")
    if not (name and equals):
        raise DataError(f"where {where!r}: expected COLUMN=VALUE, as in split=train")
    return name, value


def training_table(path: Any, *args: Any, **kwargs: Any) -> Table:
    """Reads a table to train, tune or stop on; the arguments are those of `read_table`.

    Raises:
        DataError: if the rows are held out, or the file is not what it should be.
    """
    table = read_table(path, *args, **kwargs)
    check_trainable(table)
    return table
