"""`SOURCE` arguments and column flags that the commands share, and how reports are laid out.

The flags are those of `read_table`; guesses are reported on stderr.
"""

import csv
import io
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from sentitok.cli.command import with_groups
from sentitok.cli.output import colour

from .command import Output, UsageError, size

if TYPE_CHECKING:
    from rich.console import Group

    from ..data import Table

TextColumn = Annotated[
    str | None,
    typer.Option(
        "--text-column",
        help="Column that holds the texts. [default: guessed if only one column fits]",
        metavar="NAME",
    ),
]
LabelColumn = Annotated[
    str | None,
    typer.Option(
        "--label-column",
        help="Column that holds the labels. [default: guessed if only one column fits]",
        metavar="NAME",
    ),
]
LabelSeparator = Annotated[
    str | None,
    typer.Option(
        "--label-separator",
        help="Separator between the labels of a cell, such as '|', for texts with several labels; json for "
        "lists, none if a cell is one label. [default: as in training; else a cell is one label]",
        metavar="CHAR",
        rich_help_panel="Input",
    ),
]
LabelColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--label-columns",
        help="Columns of 0 and 1, one for each label, as in joy,anger. [default: as in training]",
        metavar="NAMES",
        rich_help_panel="Input",
    ),
]
GroupColumn = Annotated[
    str | None,
    typer.Option(
        "--group-column",
        help="Column that names the group of a row, such as a sentence id; groups are kept whole. [default: "
        "SentenceId, group or group_id, if there is one]",
        metavar="NAME",
        rich_help_panel="Input",
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="Format of the file: csv, jsonl, phrases, ... [default: recognised by name and content]",
        metavar="NAME",
        rich_help_panel="Input",
    ),
]
Limit = Annotated[
    int | None,
    typer.Option(
        "--limit",
        min=1,
        help="Maximum number of rows, drawn from the whole file, each label with its share. [default: all]",
        metavar="N",
        rich_help_panel="Input",
    ),
]
FirstRows = Annotated[
    int | None,
    typer.Option(
        "--limit",
        min=1,
        help="Read only the first N rows. [default: all]",
        metavar="N",
        rich_help_panel="Input",
    ),
]
Where = Annotated[
    str | None,
    typer.Option(
        "--where",
        metavar="COLUMN=VALUE",
        help="Read only rows where a column has this value, such as split=test. [default: all rows]",
        rich_help_panel="Input",
    ),
]
Unlabelled = Annotated[
    Literal["error", "drop"],
    typer.Option(
        "--unlabelled",
        metavar="error|drop",
        help="What to do with rows without label: stop with an error, or drop them.",
        rich_help_panel="Input",
    ),
]
Empty = Annotated[
    Literal["keep", "drop"],
    typer.Option(
        "--empty",
        metavar="keep|drop",
        help="What to do with rows whose text is empty: keep them, or drop them.",
        rich_help_panel="Input",
    ),
]
Unknown = Annotated[
    Literal["error", "drop"],
    typer.Option(
        "--unknown",
        metavar="error|drop",
        help="What to do with rows whose label the run does not know: stop with an error, or drop them.",
        rich_help_panel="Input",
    ),
]
Skip = Annotated[
    int,
    typer.Option(
        "--skip",
        min=0,
        help="Number of rows to skip at the beginning of the file.",
        metavar="N",
        rich_help_panel="Input",
    ),
]
Windows = Annotated[
    bool,
    typer.Option(
        "--windows",
        help="Read texts that are longer than the run reads at once in windows, and average their answers. "
        "[default: as in training]",
    ),
]
# Ends the note on texts that are cut.
READ_WHOLE = "; --windows reads all of it"
Clean = Annotated[
    bool, typer.Option("--clean", help="Replace <br /> tags with a space.", rich_help_panel="Input")
]
Unescape = Annotated[
    bool,
    typer.Option(
        "--unescape", help="Undo treebank escapes: -LRB- becomes (, \\/ becomes /.", rich_help_panel="Input"
    ),
]
Device = Annotated[
    str | None,
    typer.Option(
        "--device", help="Device to compute on: auto, cpu, cuda, ... [default: cpu]", metavar="NAME"
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        "--encoding",
        help="Text encoding of the file, such as cp1252, latin-1 or gb18030. [default: UTF-8 if the file is, "
        "else recognised]",
        metavar="NAME",
        rich_help_panel="Input",
    ),
]
Separator = Annotated[
    str | None,
    typer.Option(
        "--separator",
        help="Character between the cells of CSV or TSV, such as ';', or tab. [default: recognised]",
        metavar="CHAR",
        rich_help_panel="Input",
    ),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first row of CSV or TSV names the columns; without names they are 1, 2, ... "
        "[default: recognised]",
        show_default=False,
        rich_help_panel="Input",
    ),
]
MaxLineBytes = Annotated[
    str | None,
    typer.Option(
        "--max-line-bytes",
        metavar="SIZE",
        help="Maximum size of a line or row, in bytes; a longer one is an error. [default: 256M]",
        rich_help_panel="Input",
    ),
]


# The options of how a file is read, in the order of a command's help.
READING: Mapping[str, Any] = {
    "text_column": TextColumn, "label_column": LabelColumn, "label_separator": LabelSeparator,
    "label_columns": LabelColumns, "group_column": GroupColumn, "format": Format,
    "where": Where, "encoding": Encoding, "separator": Separator, "header": Header,
    "max_line_bytes": MaxLineBytes, "limit": Limit, "skip": Skip, "clean": Clean,
}  # fmt: skip
# Options of commands that need each row; the other commands drop rows without label, and say how many.
_ROWS: Mapping[str, Any] = {"unlabelled": Unlabelled, "empty": Empty}
# The same with the defaults of a run.
_ROWS_OF_RUN: Mapping[str, Any] = {
    "unlabelled": Annotated[
        Literal["error", "drop"] | None,
        typer.Option(
            "--unlabelled",
            metavar="error|drop",
            help="What to do with rows without label: stop with an error, or drop them. [default: as in "
            "training]",
            rich_help_panel="Input",
        ),
    ],
    "empty": Annotated[
        Literal["keep", "drop"] | None,
        typer.Option(
            "--empty",
            metavar="keep|drop",
            help="What to do with rows whose text is empty: keep them, or drop them. [default: as in "
            "training]",
            rich_help_panel="Input",
        ),
    ],
}
# By option: its effect if it is not typed.
_UNGIVEN = {"skip": 0, "clean": False, "unlabelled": "error", "empty": "keep", "unknown": "error"}
# The given ones of these options, as arguments of `read`.
Reading = Mapping[str, Any]
NO_READING: Reading = {}


def reads(
    *,
    without: Collection[str] = (),
    each_row: bool | Literal["as in training"] = False,
    scores: bool = False,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Replaces the parameter `reading` of a command by the options of `READING`, which it then holds.

    Args:
        without: options that the command does not have.
        each_row: the command also has `--unlabelled` and `--empty`; as in training, they are `None` where
            nothing is typed.
        scores: the command compares the labels of the rows with answers of a run, so it also has
            `--unknown`.
    """
    of_run = each_row == "as in training"
    known = {**READING, **(_ROWS_OF_RUN if of_run else _ROWS if each_row else {})}
    known |= {"unknown": Unknown} if scores else {}
    options = {
        name: (known[name], None if of_run and name in _ROWS_OF_RUN else _UNGIVEN.get(name))
        for name in known
        if name not in without
    }
    return lambda command: with_groups(command, {"reading": (options, dict)})


def read(
    output: Output,
    path: Path,
    *,
    text_column: str | None = None,
    label_column: str | None = None,
    label_separator: str | None = None,
    label_columns: Sequence[str] | None = None,
    group_column: str | None = None,
    format: str | None = None,
    limit: int | None = None,
    where: str | None = None,
    encoding: str | None = None,
    separator: str | None = None,
    header: bool | None = None,
    max_line_bytes: str | None = None,
    unlabelled: Literal["error", "drop", "keep"] = "drop",
    empty: Literal["keep", "drop"] = "keep",
    unknown: Literal["error", "drop"] | None = None,
    run: Path | None = None,
    sample: bool = True,
    **more: Any,
) -> "Table":
    """Reads a table, as the training file of `run` where nothing is named; reports guesses.

    A `limit` is drawn from the whole file, unless `sample` is false.

    Raises:
        DataError: if the file cannot be read so, or `unknown` is error and `run` does not know a label.
    """
    from ..data import read_table
    from ..runs.directory import read_json
    from ..runs.ensemble import first_member

    about = None if run is None else first_member(run) / "run.json"
    like = read_json(about).get("read_as") if about is not None and about.is_file() else None

    table = read_table(
        path,
        text_column,
        label_column,
        group_column,
        format,
        limit,
        where=where,
        encoding=encoding,
        separator=separator,
        header=header,
        max_line_bytes=size(max_line_bytes, "--max-line-bytes"),
        like=like,
        sample=sample,
        blank_labels=unlabelled,
        drop_empty=empty == "drop",
        label_separator=label_separator,
        label_columns=names(label_columns or ()),
        **more,
    )
    if unknown is not None and run is not None:
        table = _with_known_labels(table, run, drop=unknown == "drop")
    say_notes(output, table)
    return table


def refuse_idle_windows(runs: Sequence[Path]) -> None:
    """Refuses `--windows` where it changes nothing.

    Raises:
        UsageError: if all runs read whole texts, or none is a classifier.
    """
    from ..predictor import reads_whole

    if not runs:
        raise UsageError("--windows: only classifiers read texts in windows; leave it out")
    if all(map(reads_whole, runs)):
        those = str(runs[0]) if len(runs) == 1 else "all of the runs"
        raise UsageError(
            f"--windows: {those} {'reads' if len(runs) == 1 else 'read'} texts whole, however long; leave it "
            "out"
        )


def _with_known_labels(table: "Table", run: Path, *, drop: bool) -> "Table":
    """Returns the rows whose labels a run knows.

    Raises:
        DataError: if the run does not know a label, unless such rows are dropped.
    """
    from ..data.table import unknown_label, with_known_labels
    from ..errors import DataError
    from ..runs.directory import LABELS, load_labels
    from ..runs.ensemble import first_member

    folder = first_member(run)  # all of an ensemble have the same labels
    if not (folder / LABELS).is_file():  # loading refuses runs of other kinds
        return table
    labels = load_labels(folder)
    if drop:
        return with_known_labels(table, labels)
    if unknown := labels.unknown(table):
        raise DataError(unknown_label(unknown, labels, table, "--unknown drop"))
    return table


def carried(
    table: "Table", taken: Callable[[str], bool], without: Collection[str | None] = ()
) -> dict[str, list[str]]:
    """Returns the kept columns of a table, except its text, by the names that they are written under.

    Args:
        table: the rows.
        taken: says which names other columns of the output have; such a column is written as `input_NAME`.
        without: columns that are left out.
    """
    columns: dict[str, list[str]] = {}
    for name, column in table.kept.items():
        if name in (table.columns.get("text"), *without):
            continue
        written = name
        while taken(written) or written in columns:
            written = f"input_{written}"
        columns[written] = column
    return columns


def names(given: Sequence[str]) -> list[str]:
    """Reads `a,b,c`, once or several times; a name with a comma is quoted as in CSV: `a,"b, c"`."""
    return [
        name for text in given for row in csv.reader(io.StringIO(text, newline="")) for name in row if name
    ]


def say_notes(output: Output, table: "Table") -> None:
    """Prints the reader's notes on stderr."""
    for note in table.notes:
        output.note(f"{table.source}: {note}")


def grid(title: str, head: list[str], rows: list[list[str]]) -> "Group":
    """Returns a table: the first column aligned to the left, all further ones to the right."""
    from rich import box
    from rich.console import Group
    from rich.table import Table as RichTable
    from rich.text import Text

    made = RichTable(box=box.SIMPLE_HEAD, pad_edge=False)
    for place, name in enumerate(head):
        made.add_column(name, justify="left" if place == 0 else "right", overflow="fold")
    for row in rows:
        # Texts of the user may hold square brackets: they are not mark-up.
        made.add_row(*map(Text, row))
    # As a title of the table it would be folded to the table's width.
    return Group(Text(f"\n{title}"), made) if title else Group(made)


def page(*parts: "Group | str") -> str:
    """Returns tables and lines as one text, in colour where stdout takes it."""
    import io
    import sys

    from rich.console import Console
    from rich.text import Text

    written = io.StringIO()
    console = Console(
        file=written,
        # A pipe has no width: nothing is folded or cut there.
        width=None if sys.stdout.isatty() else 10_000,
        force_terminal=colour(sys.stdout),
        no_color=not colour(sys.stdout),
        highlight=False,
    )
    for part in parts:
        console.print(Text(part) if isinstance(part, str) else part)
    return "\n".join(line.rstrip() for line in written.getvalue().splitlines()).strip("\n")


def shown(value: float | None, digits: int = 4) -> str:
    """Writes a score; a dash where there is none."""
    return "-" if value is None else f"{value:.{digits}f}"


def on_screen(char: str) -> str:
    """Returns a character as a terminal shows it: none that moves the cursor, and no half of a pair.

    Joiners are shown: they are within emoji, and within words of Persian and of India.
    """
    return char if char.isprintable() or char in "\u200c\u200d" else " " if char.isspace() else "�"


def shortened(text: str, width: int = 70) -> str:
    """Writes a text on one line, cut in the middle if it is long."""
    line = " ".join(text.split())
    line = "".join(map(on_screen, line))
    return line if len(line) <= width else f"{line[: width // 2]} … {line[-(width // 2 - 3) :]}"
