"""`senti plot`: pictures of runs side by side.

Not for the histograms of data files (`senti data stats --plots`). Curves and rates come from
each run's `metrics.jsonl`; confusion and calibration from predictions.
"""

from pathlib import Path
from typing import Annotated, Any

import typer

from .command import AsJson, Command, Output, Quiet, Traceback, UsageError, examples
from .compare import Data, predictions_of
from .evaluate import EvenIfTrained
from .tables import Encoding, Format, LabelColumn, MaxLineBytes, TextColumn, Where, read

KINDS = {
    "curves": "loss and a validation score against the step, one axis for all runs",
    "rates": "learning rates against the step",
    "confusion": "confusion matrices side by side (needs --data or .npz files)",
    "calibration": "how often answers of each confidence were right (needs --data or .npz files)",
    "labels": "shares of the labels of data files",
    "lengths": "lengths of the texts of data files, in words",
}


def _complete(incomplete: str) -> list[str]:
    return [kind for kind in KINDS if kind.startswith(incomplete)]


def plot(
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN",
            help="Run directories, files of predictions (.npz), or data files for labels and lengths.",
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="File to draw into: .png, .svg or .pdf.")
    ],
    kind: Annotated[
        str,
        typer.Option(
            "--kind",
            "-k",
            metavar="KIND",
            help=f"Kind of figure: {', '.join(KINDS)}.",
            autocompletion=_complete,
        ),
    ] = "curves",
    data: Data = None,
    score: Annotated[
        str,
        typer.Option(
            "--score", help="Score that the curves show, a val_ field of metrics.jsonl.", metavar="NAME"
        ),
    ] = "val_macro_f1",
    axis: Annotated[
        str,
        typer.Option(
            "--axis", help="Horizontal axis of the curves: step, epoch, seconds or tokens.", metavar="NAME"
        ),
    ] = "step",
    even_if_trained: EvenIfTrained = False,
    text_column: TextColumn = None,
    label_column: LabelColumn = None,
    format: Format = None,
    where: Where = None,
    encoding: Encoding = None,
    max_line_bytes: MaxLineBytes = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Draw figures of runs, predictions or data."""
    from ..data.scripts import n_words
    from ..evaluation import plots
    from .data_stats import label_counts

    if kind not in KINDS:
        raise UsageError(f"--kind {kind}: expected one of {', '.join(KINDS)}")
    output = Output("senti.plot/1", as_json=as_json, quiet=quiet)
    flags: dict[str, Any] = {
        "text_column": text_column,
        "label_column": label_column,
        "format": format,
        "where": where,
        "encoding": encoding,
        "max_line_bytes": max_line_bytes,
    }
    names = {_name(source, sources): source for source in sources}
    match kind:
        case "curves" | "rates":
            histories = {name: plots.read_history(source) for name, source in names.items()}
            figure = (
                plots.curves(histories, axis, score) if kind == "curves" else plots.rates(histories, axis)
            )
        case "confusion" | "calibration":
            found = predictions_of(output, sources, data, even_if_trained=even_if_trained, **flags)
            figure = plots.confusion_matrices(found) if kind == "confusion" else plots.calibration(found)
        case _:
            tables = {name: read(output, source, **flags) for name, source in names.items()}
            if kind == "labels":
                for table in tables.values():
                    table.labelled()
                figure = plots.label_histogram({name: label_counts(one) for name, one in tables.items()})
            else:
                lengths = {name: [n_words(text) for text in one.texts] for name, one in tables.items()}
                figure = plots.length_histogram(lengths)
    plots.save(figure, out)
    output.result({"file": str(out), "kind": kind, "drawn": list(names)}, f"wrote {out}", str(out))


def _name(source: Path, sources: list[Path]) -> str:
    return source.name if sum(other.name == source.name for other in sources) == 1 else str(source)


def register(app: typer.Typer) -> None:
    """Adds the command of this file."""
    app.command(
        "plot",
        cls=Command,
        no_args_is_help=True,
        epilog=examples(
            "senti plot runs/lstm runs/gpt -o curves.png",
            "senti plot runs/lstm runs/gpt --kind confusion --data valid.csv -o confusion.png",
            "senti plot train.csv valid.csv --kind lengths -o lengths.svg",
        ),
    )(plot)
