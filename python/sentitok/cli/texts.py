"""How a command reads texts: the options, texts that are measured or compared, and stdin.

Texts that are trained on, counted or encoded to files may be kept as bytes, and are read by the library.
"""

import contextlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .command import UsageError, refuse, size
from .output import Output, counted
from .process import stdin, text_from_stdin

if TYPE_CHECKING:
    from sentitok.documents import Documents

__all__ = [
    "Format",
    "InvalidText",
    "InvalidUtf8",
    "MaxLineBytes",
    "TextOptions",
    "Threads",
    "check_stdin",
    "note_changed_sources",
    "note_file_name",
    "note_replaced",
    "one_text_from_stdin",
]

# How files begin that are compressed.
_COMPRESSED = re.compile(
    rb"(?P<gzip>\x1f\x8b)|(?P<zstd>\x28\xb5\x2f\xfd)|(?P<xz>\xfd7zXZ\0)|(?P<bzip2>BZh[1-9]1AY&SY)"
)

Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help="Format of the files: lines, text (one document a file), jsonl:FIELD, csv:COLUMN, "
        "tsv:COLUMN or parquet:COLUMN. [default: by file name]",
        rich_help_panel="Input",
    ),
]
InvalidUtf8 = Annotated[
    str,
    typer.Option(
        "--invalid-utf8",
        metavar="WHAT",
        help="What to do with bytes that are not UTF-8: error, replace (with U+FFFD) or bytes (keep them).",
        rich_help_panel="Input",
    ),
]
# Of texts that are not kept as bytes.
InvalidText = Annotated[
    str,
    typer.Option(
        "--invalid-utf8",
        metavar="WHAT",
        help="What to do with bytes that are not UTF-8: replace (with U+FFFD, and say how many) or error.",
        rich_help_panel="Input",
    ),
]
MaxLineBytes = Annotated[
    str | None,
    typer.Option(
        "--max-line-bytes",
        metavar="SIZE",
        help="Maximum size of a line, row or piped text, such as 512M or 2G; a longer one is an "
        "error. [default: 256M]",
        rich_help_panel="Input",
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(
        "--threads",
        min=1,
        metavar="N",
        help="Number of threads; the result does not depend on it. [default: all cores]",
        rich_help_panel="Parallel work",
    ),
]


@dataclass(frozen=True, slots=True)
class TextOptions:
    """How texts are read that are measured or compared; each field is an option (`grouped`)."""

    format: Format = None
    invalid_utf8: InvalidText = "replace"
    max_line_bytes: MaxLineBytes = None
    threads: Threads = None

    def refuse(self, reason: str) -> None:
        """Refuses these options where no text is read.

        Raises:
            UsageError: if one was typed.
        """
        refuse(reason, *(field.name for field in fields(self)))

    def check(self, paths: Sequence[str | Path]) -> None:
        """Finds wrong options, and what cannot be read from stdin, before the work.

        Raises:
            FormatError, OSError: as `sentitok.documents.check_format` and `check_stdin`.
            UsageError: if `--invalid-utf8` is neither replace nor error, or stdin is named twice.
        """
        from sentitok.documents import check_format

        check_format(self.format)
        if self.invalid_utf8 not in ("replace", "error"):
            raise UsageError(f"--invalid-utf8 {self.invalid_utf8}: here it is replace or error")
        check_stdin(paths)
        self.reading()

    def reading(self) -> dict[str, Any]:
        """Returns the options as the library takes them.

        Raises:
            UsageError: if a size cannot be read.
        """
        return {
            "format": self.format,
            "invalid_utf8": self.invalid_utf8,
            "max_line_bytes": size(self.max_line_bytes, "--max-line-bytes"),
        }

    def documents(self, paths: Sequence[str | Path]) -> "Documents":
        """Returns the documents of files; `-` is stdin.

        Raises:
            FormatError, TrainError, OSError: as `sentitok.documents.Documents`.
            UsageError: as `check`.
        """
        from sentitok.documents import Documents

        self.check(paths)
        return Documents(paths, **self.reading())


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


def note_file_name(output: Output, text: str, remedy: str) -> None:
    """Says that a text is also the name of a file, which is not read.

    Args:
        output: of the command.
        text: the text that was typed.
        remedy: what to type to read the file; `{}` is its name.
    """
    with contextlib.suppress(OSError, ValueError):  # a text that cannot be a name
        if Path(text).is_file():
            output.note(f"{text} is taken as text; to read the file of that name: {remedy.format(text)}")


def note_replaced(output: Output, paths: Sequence[str | Path], replaced: int) -> None:
    """Says how many places of the texts were not UTF-8."""
    if replaced:
        places = counted(replaced, "place")
        be = "is" if replaced == 1 else "are"
        output.note(
            f"{', '.join(map(str, paths))}: {places} that {be} no UTF-8 taken as U+FFFD; "
            "--invalid-utf8 error stops there"
        )


def note_changed_sources(output: Output, src: list[str], out: Path) -> None:
    """Says which sources changed after a complete data set was written: it knows them by name and size.

    Raises:
        UsageError: if one is a pipe, which it cannot know.
    """
    if any(path == "-" or Path(path).is_fifo() for path in src):
        raise UsageError(
            f"{out} is complete, and whether it was made of the same pipe is unknown; "
            "give another -o, or --force"
        )
    written = (out / "manifest.json").stat().st_mtime
    if changed := [path for path in src if Path(path).is_file() and Path(path).stat().st_mtime > written]:
        output.note(
            f"{', '.join(changed)}: changed after {out} was written; if the text is another, --force encodes "
            "it again"
        )
