"""`senti errors`: the mistakes of a run on one file, and on which rows.

The errors themselves, the labels that are confused, and the accuracy on parts of the rows
(`sentimodels.evaluation.slices`).
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sentitok.cli.output import counted, number

from .command import (
    AsJson,
    Force,
    Output,
    Quiet,
    Traceback,
    UsageError,
    add,
    announce,
    put_file,
    refuse_input,
)
from .tables import (
    NO_READING,
    READ_WHOLE,
    Reading,
    Windows,
    carried,
    grid,
    names,
    page,
    read,
    reads,
    refuse_idle_windows,
    shortened,
    shown,
)

if TYPE_CHECKING:
    from ..data import Table
    from ..evaluation.predictions import Predictions

# Confused labels listed at most; of hundreds of labels nobody reads all.
_PAIRS = 10
# The formats of `--out`, by suffix.
_SUFFIXES = (".csv", ".tsv", ".jsonl")
# The fields of an error.
_COLUMNS = ["row", "line", "id", "text", "label", "predicted", "p_label", "p_predicted", "cut"]

Keep = Annotated[
    str | None,
    typer.Option(
        "--keep",
        metavar="COLUMNS",
        help="Other columns of the labelled file to write to --out, after the answers, as in user,date; all "
        "or none. [default: all]",
    ),
]


def error_grid(title: str, errors: list[dict[str, Any]]) -> Any:
    """Lays out errors, one a line; with where they are in the file if that is known."""
    placed = any("line" in one for one in errors)
    rows = [
        [
            *([str(one["line"] or one["row"])] if placed else []),
            shortened(one["text"], 64),
            f"{label_text(one['label'])} ({one['p_label']:.3f})",
            f"{label_text(one['predicted'])} ({one['p_predicted']:.3f})",
        ]
        for one in errors
    ]
    by_line = any(one.get("line") is not None for one in errors)
    place = ["line" if by_line else "row"] if placed else []
    return grid(title, [*place, "text", "true", "answered"], rows)


def label_text(label: str | list[str]) -> str:
    """Writes a label, or several."""
    return label if isinstance(label, str) else ", ".join(label) or "no label"


def _holds(label: str | list[str], asked: str | None) -> bool:
    """Whether a label is the one that was asked for, or is among several."""
    return asked is None or asked == label or (isinstance(label, list) and asked in label)


def note_cut(output: Output, predictions: "Predictions", texts: str = "texts", more: str = "") -> None:
    """Prints how many texts are longer than the model reads, and how much of them, if any is."""
    from ..data.encoded import Cut

    cut = Cut() if predictions.unread is None else Cut.of(predictions.unread)
    if said := cut.said(predictions.about.get("max_tokens"), texts):
        output.note(said + more)


@reads(without=("group_column", "skip", "clean"), scores=True)
def errors(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run directory or ensemble.")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Labelled file or folder.")],
    top: Annotated[int, typer.Option("--top", min=1, help="Number of errors to show.", metavar="N")] = 20,
    true: Annotated[
        str | None,
        typer.Option(
            "--true", help="Show only rows whose true label is this one. [default: all]", metavar="LABEL"
        ),
    ] = None,
    answered: Annotated[
        str | None,
        typer.Option(
            "--answered", help="Show only rows that the run gave this label. [default: all]", metavar="LABEL"
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="File to write all errors to, with their whole texts: .csv, .tsv or .jsonl. [default: none]",
        ),
    ] = None,
    keep: Keep = None,
    even_if_trained: Annotated[
        bool,
        typer.Option(
            "--even-if-trained",
            help="Score rows even if the run was trained on them; otherwise they are refused.",
        ),
    ] = False,
    windows: Windows = False,
    reading: Reading = NO_READING,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Show the worst errors of a run on a labelled file, and where it makes them.

    Errors with the lowest probability of the true label come first. Then come the labels that are
    confused most, and the accuracy on parts of the rows: by length, label, script, unknown words,
    English negation and contrast.
    """
    import numpy as np

    from ..data.encoded import Cut
    from ..errors import DataError
    from ..evaluation.metrics import worst
    from ..evaluation.predictions import WithProgress
    from ..evaluation.slices import confused_pairs, slices, vocabulary_facts
    from ..predictor import load_predictor
    from ..runs.report import evaluate

    output = Output("senti.errors/1", as_json=as_json, quiet=quiet)
    kept = check_rows_file(out, keep)
    refuse_input(out, [file])
    announce(out, output, force=force)
    if windows:
        refuse_idle_windows([run])
    table = read(output, file, run=run, with_lines=True, keep=kept, **reading)
    table.labelled()
    predictor = load_predictor(run, windows=windows)
    with output.progress() as progress:
        asked = predictor if progress is None else WithProgress(predictor, progress)
        every = evaluate(asked, table, run=run, allow_trained=even_if_trained)[0]
    known = every.labelled().by_thresholds()
    answers = known.take(known.answered)
    scored = table.take(np.flatnonzero(every.answers.known(every.truth))[known.answered])
    if (thresholds := known.thresholds) is not None:
        output.note(f"answers by the thresholds of the run, {thresholds.rule}")
    if not len(answers):
        raise DataError(
            f"{file}: the thresholds of the run, {thresholds and thresholds.rule}, answer none of the "
            f"{number(len(known))} rows; remove them: senti thresholds {run} --threshold none"
        )
    note_cut(output, answers, more=READ_WHOLE)
    n_wrong = int((~answers.right).sum())
    # Errors are chosen among all rows, then filtered; each is named by its row and line in the file.
    wrong = [
        one
        for one in worst(answers, len(answers))
        if _holds(one["label"], true) and _holds(one["predicted"], answered)
    ]
    chosen = [one | place_in_file(scored, one["row"]) for one in wrong]
    for name in (true, answered):
        if name is not None:
            answers.labels.index(name)
    pairs, parts = confused_pairs(answers), slices(answers, vocabulary_facts(predictor, answers.texts))
    text = page(
        error_grid(
            f"{number(n_wrong)} of {number(len(answers))} rows wrong"
            + (
                ""
                if len(answers) == len(known)
                else f", {number(len(known) - len(answers))} without an answer"
            )
            + ("" if len(chosen) == n_wrong else f", {number(len(chosen))} of them as asked")
            + (f"; the first {number(top)}" if len(chosen) > top else ""),
            chosen[:top],
        ),
        *([_pair_grid(pairs[:_PAIRS])] if pairs else []),
        _slice_grid(parts, 1 - n_wrong / len(answers)),
    )
    value = {
        "n": len(answers),
        **(Cut() if answers.unread is None else Cut.of(answers.unread)).tree(),
        "n_unanswered": len(known) - len(answers),
        "n_wrong": n_wrong,
        "errors": chosen[:top],
        "pairs": pairs,
        "slices": parts,
    }
    if out is not None:
        text += f"\n\nwritten  {out}: {counted(len(chosen), 'error')}"
        rows = scored.take(one["row"] for one in wrong)
        put_file(out, lambda path: write_rows(path, chosen, _COLUMNS, rows), force=force, keep=True)
    output.result(value, text, str(len(chosen)))


def place_in_file(table: "Table", row: int) -> dict[str, int | None]:
    """Returns where a row is in its file: its number and its line, counted from 1."""
    number = row if table.numbers is None else table.numbers[row]
    return {"row": number + 1, "line": None if table.lines is None else table.lines[row]}


def check_rows_file(out: Path | None, keep: str | None) -> tuple[str, ...]:
    """Checks `--out` and `--keep` of a command that writes rows; returns the columns to read for it.

    Raises:
        UsageError: if the file is of another format, or there is none to keep columns in.
    """
    if out is None:
        if keep is not None:
            raise UsageError(f"--keep {keep}: columns are kept in a file; name it by --out FILE")
        return ()
    if out.suffix not in _SUFFIXES:
        raise UsageError(f"--out {out}: writes .csv, .tsv or .jsonl")
    # Of columns that share a name none can be asked for, but the default must not refuse such a file.
    return ("*",) if keep is None else () if keep == "none" else tuple(names([keep]))


def write_rows(path: Path, found: list[dict[str, Any]], names: list[str], table: "Table") -> None:
    """Writes rows in the format of the suffix, with their whole texts.

    Args:
        path: the file.
        found: the columns of each row.
        names: the fields of it that are written, as the first columns.
        table: the rows; the columns that it keeps follow.
    """
    from sentitok.atomic import write as write_atomically

    from ..data.row_buffer import as_texts
    from ..data.writers import separated_rows

    written = {table.columns.get("label"), table.columns.get("id") if table.ids is not None else None}
    columns = carried(table, names.__contains__, written)
    records = [
        {name: one[name] for name in names} | {name: column[place] for name, column in columns.items()}
        for place, one in enumerate(found)
    ]
    if path.suffix == ".jsonl":
        text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    else:
        rows = [as_texts(record.values(), lists=True) for record in records]
        text = separated_rows([[*names, *columns], *rows], path.suffix)
    write_atomically(path, text.encode())


def _pair_grid(pairs: list[dict[str, Any]]) -> Any:
    rows = [
        [one["label"], one["predicted"], number(one["n"]), f"{100 * one['share']:.1f} %"] for one in pairs
    ]
    return grid("Confused most", ["true", "answered", "rows", "of the label"], rows)


def _slice_grid(parts: list[dict[str, Any]], accuracy: float) -> Any:
    rows = [
        [
            f"{one['slice']} {one['value']}", number(one["n"]), shown(one["accuracy"]),
            f"{one['interval'][0]:.4f} to {one['interval'][1]:.4f}", one["differs"] or "",
        ]
        for one in parts
    ]  # fmt: skip
    title = f"Accuracy on parts of the rows, of all {shown(accuracy)}; 95 % intervals"
    return grid(title, ["rows with", "rows", "accuracy", "interval", ""], rows)


def register(app: typer.Typer) -> None:
    """Adds the command of this file."""
    add(
        app,
        "errors",
        errors,
        "senti errors runs/gpt valid.csv --top 5",
        "senti errors runs/gpt valid.csv --true 1 --json",
    )
