"""Texts that a command measures or compares, and what it says of bytes that are none.

Not for texts that are trained on, counted or encoded to files (`train.py`): those may be kept as bytes.
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .command import UsageError, size
from .output import Output, counted
from .process import stdin, text_from_stdin

if TYPE_CHECKING:
    from sentitok.documents import Documents

__all__ = ["InvalidText", "check_invalid", "check_stdin", "note_replaced", "one_text_from_stdin", "texts_of"]

# How files begin that are compressed.
_COMPRESSED = re.compile(
    rb"(?P<gzip>\x1f\x8b)|(?P<zstd>\x28\xb5\x2f\xfd)|(?P<xz>\xfd7zXZ\0)|(?P<bzip2>BZh[1-9]1AY&SY)"
)

InvalidText = Annotated[
    str,
    typer.Option(
        "--invalid-utf8",
        metavar="WHAT",
        help="What to do with bytes that are not UTF-8: replace (with U+FFFD, and say how many) or error.",
    ),
]


def check_stdin(paths: Sequence[str | Path]) -> None:
    """Finds out whether stdin, if it is named, can be read.

    Raises:
        OSError: if it is closed.
        UsageError: if it is named twice.
    """
    named = sum(str(path) == "-" for path in paths)
    if named > 1:
        raise UsageError("- is named twice, and stdin can be read once; name it once, or name files")
    if named:
        stdin()


def one_text_from_stdin(output: Output, limit: int | None = None) -> bytes:
    """Reads stdin as one text of at most `limit` bytes, and says so where it holds several.

    Raises:
        FormatError, OSError: as `text_from_stdin`.
        UsageError: if it is compressed.
    """
    data = text_from_stdin(limit)
    remedy = "sentitok encode - -o DIR reads"
    if found := _COMPRESSED.match(data):
        raise UsageError(
            f"stdin is compressed by {found.lastgroup}; pipe the text, or {remedy} it into token shards"
        )
    if _begins_with_object(data):
        output.note(
            f"stdin looks like JSON Lines, and is taken as one text; {remedy} the texts, as in "
            "--format jsonl:text"
        )
    return data


def _begins_with_object(data: bytes) -> bool:
    """Whether the first line is an object of JSON."""
    first = data.lstrip()[: 1 << 20].split(b"\n", 1)[0]
    if not first.startswith(b"{"):
        return False
    try:
        return isinstance(json.loads(first), dict)
    except (ValueError, RecursionError):
        return False


def texts_of(
    paths: Sequence[str | Path], format: str | None, max_line_bytes: str | None, invalid_utf8: str
) -> "Documents":
    """Returns the documents of files that are measured or compared; `-` is stdin.

    Raises:
        FormatError, TrainError, OSError: as `sentitok.documents.Documents`.
        UsageError: if `--invalid-utf8` is neither replace nor error, or stdin is named twice.
    """
    from sentitok.documents import Documents

    check_invalid(invalid_utf8)
    check_stdin(paths)
    return Documents(
        paths,
        format,
        max_line_bytes=size(max_line_bytes, "--max-line-bytes"),
        invalid_utf8=invalid_utf8,  # type: ignore[arg-type]  # 2026-11-23: checked above
    )


def check_invalid(what: str) -> None:
    """Refuses what `--invalid-utf8` cannot be where texts are measured.

    Raises:
        UsageError: if it is neither replace nor error.
    """
    if what not in ("replace", "error"):
        raise UsageError(f"--invalid-utf8 {what}: here it is replace or error")


def note_replaced(output: Output, paths: Sequence[str | Path], replaced: int) -> None:
    """Says how much of texts was no UTF-8."""
    if replaced:
        places = counted(replaced, "place")
        be = "is" if replaced == 1 else "are"
        output.note(
            f"{', '.join(map(str, paths))}: {places} that {be} no UTF-8 taken as U+FFFD; "
            "--invalid-utf8 error stops there"
        )
