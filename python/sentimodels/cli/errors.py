"""`senti errors`: what a run gets wrong in one file, and on which rows.

Not for scores (`evaluate.py`). The errors themselves, the labels that are confused, and the accuracy on
parts of the rows (`sentimodels.evaluation.slices`).
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sentitok.cli.output import number

from .command import AsJson, Command, Output, Quiet, Traceback, examples
from .tables import (
    Encoding,
    Format,
    Header,
    LabelColumn,
    Limit,
    MaxLineBytes,
    Separator,
    TextColumn,
    Where,
    grid,
    page,
    read,
    shortened,
    shown,
)

if TYPE_CHECKING:
    from ..evaluation.predictions import Predictions

# Confused labels listed at most; of hundreds of labels nobody reads all.
_PAIRS = 10


def error_grid(title: str, errors: list[dict[str, Any]]) -> Any:
    """Lays out errors, one a line."""
    rows = [
        [
            shortened(one["text"], 64),
            f"{one['label']} ({one['p_label']:.3f})",
            f"{one['predicted']} ({one['p_predicted']:.3f})",
        ]
        for one in errors
    ]
    return grid(title, ["text", "true", "answered"], rows)


def note_cut(output: Output, predictions: "Predictions", texts: str = "texts") -> None:
    """Prints how many texts are longer than the model reads, if any is."""
    from ..data.encoded import said_cut

    if predictions.cut is not None and (n_cut := int(predictions.cut.sum())):
        output.note(said_cut(n_cut, len(predictions), predictions.about.get("max_tokens"), texts))


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
    even_if_trained: Annotated[
        bool,
        typer.Option(
            "--even-if-trained",
            help="Score rows even if the run was trained on them; otherwise they are refused.",
        ),
    ] = False,
    text_column: TextColumn = None,
    label_column: LabelColumn = None,
    format: Format = None,
    where: Where = None,
    encoding: Encoding = None,
    separator: Separator = None,
    header: Header = None,
    max_line_bytes: MaxLineBytes = None,
    limit: Limit = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Show the worst errors of a run on a labelled file, and where it makes them.

    Errors with the lowest probability of the true label come first. Then come the labels that are
    confused most, and the accuracy on parts of the rows: by length, label, script, unknown words,
    English negation and contrast.
    """
    from ..evaluation.metrics import worst
    from ..evaluation.slices import confused_pairs, slices
    from ..evaluation.watched import Watched
    from ..predictor import load_predictor
    from ..runs.facts import vocabulary_facts
    from ..runs.report import evaluate

    output = Output("senti.errors/1", as_json=as_json, quiet=quiet)
    table = read(
        output, file, text_column=text_column, label_column=label_column, format=format, where=where,
        separator=separator, header=header,
        encoding=encoding, max_line_bytes=max_line_bytes, limit=limit, run=run, blank_labels="drop",
    )  # fmt: skip
    table.labelled()
    predictor = load_predictor(run)
    with output.progress() as progress:
        asked = predictor if progress is None else Watched(predictor, progress)
        answers = evaluate(asked, table, run=run, allow_trained=even_if_trained)[0].labelled()
    note_cut(output, answers)
    n_wrong = int((answers.predicted != answers.truth).sum())
    # Rows keep their numbers of the file: errors are chosen among all, then filtered.
    chosen = [
        one
        for one in worst(answers, len(answers))
        if true in (None, one["label"]) and answered in (None, one["predicted"])
    ]
    for name in (true, answered):
        if name is not None:
            answers.labels.index(name)
    pairs, parts = confused_pairs(answers), slices(answers, vocabulary_facts(predictor, answers.texts))
    text = page(
        error_grid(
            f"{number(n_wrong)} of {number(len(answers))} rows wrong"
            + ("" if len(chosen) == n_wrong else f", {number(len(chosen))} of them as asked")
            + (f"; the first {number(top)}" if len(chosen) > top else ""),
            chosen[:top],
        ),
        *([_pair_grid(pairs[:_PAIRS])] if pairs else []),
        _slice_grid(parts, 1 - n_wrong / len(answers)),
    )
    n_cut = 0 if answers.cut is None else int(answers.cut.sum())
    value = {
        "n": len(answers),
        "n_cut": n_cut,
        "n_wrong": n_wrong,
        "errors": chosen[:top],
        "pairs": pairs,
        "slices": parts,
    }
    output.result(value, text, str(len(chosen)))


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
    app.command(
        "errors",
        short_help="Show the worst errors of a run on a labelled file.",
        cls=Command,
        no_args_is_help=True,
        epilog=examples(
            "senti errors runs/gpt valid.csv --top 5", "senti errors runs/gpt valid.csv --true 1 --json"
        ),
    )(errors)
