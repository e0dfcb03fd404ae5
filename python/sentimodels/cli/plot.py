"""`senti plot`: pictures that compare runs.

The table of `plots/` has the kinds and the input of each; here the sources are read and named.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..plots import KINDS
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
)
from .compare import Data, predictions_of
from .evaluate import EvenIfTrained
from .tables import (
    NO_READING,
    Reading,
    Windows,
    read,
    reads,
)

if TYPE_CHECKING:
    from ..data import Table


def _complete(incomplete: str) -> list[str]:
    return [kind for kind in KINDS if kind.startswith(incomplete)]


@reads(without=("group_column", "limit", "skip", "clean"), scores=True)
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
        str | None,
        typer.Option(
            "--score",
            help="Score to draw with the losses in curves, a field of metrics.jsonl such as val_accuracy. "
            "[default: the usual ones of the runs]",
            metavar="NAME",
        ),
    ] = None,
    axis: Annotated[
        str | None,
        typer.Option(
            "--axis",
            help="Horizontal axis: step, epoch, seconds or tokens for curves and rates; parameters or "
            "seconds for accuracy. [default: step; parameters for accuracy]",
            metavar="NAME",
        ),
    ] = None,
    even_if_trained: EvenIfTrained = False,
    windows: Windows = False,
    reading: Reading = NO_READING,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Draw figures of runs, predictions or data.

    Lines differ in style and marker, bars in hatching, so figures can be read in grey and by
    colour-blind eyes. The same data gives the same file.
    """
    from ..plots import Asked, drawing, save

    if kind not in KINDS:
        raise UsageError(f"--kind {kind}: expected one of {', '.join(KINDS)}")
    axes = KINDS[kind].axes
    if axis is not None and axis not in axes:
        there = (
            f"expected {', '.join(axes)}" if axes else f"the kind {kind} has no choice of axes; leave it out"
        )
        raise UsageError(f"--axis {axis}: {there}")
    if score is not None and kind != "curves":
        raise UsageError(f"--score {score}: only curves show a score; leave it out, or take --kind curves")
    if windows and KINDS[kind].reads != "predictions":
        raise UsageError(f"--windows: the kind {kind} asks no run for answers; leave it out")
    output = Output("senti.plot/1", as_json=as_json, quiet=quiet)
    announce(out, output, force=force)
    drawn: Mapping[str, Any]
    on: str | None = None
    names = {_name(source, sources): source for source in sources}
    match KINDS[kind].reads:
        case "course":
            drawn, on = _courses(names)
        case "reached":
            drawn, on = _reached(names)
        case "predictions":
            from ..plots.answers import rows_of

            drawn = predictions_of(
                output, sources, data, even_if_trained=even_if_trained, windows=windows, **reading
            )
            on = rows_of(drawn)
        case reads:
            tables = {name: read(output, source, **reading) for name, source in names.items()}
            drawn = {name: _OF_TABLES[reads](table) for name, table in tables.items()}
    figure = drawing(kind)(drawn, Asked(axis, score, on))
    put_file(out, lambda path: save(figure, path), force=force, keep=True)
    output.result({"file": str(out), "kind": kind, "drawn": list(drawn)}, f"written  {out}", str(out))


def _courses(names: Mapping[str, Path]) -> tuple[dict[str, Any], str | None]:
    """Returns the course of each run, and their common training data.

    Where that differs, or the task, names say it: losses of masked and of next tokens cannot be compared.
    """
    from ..plots.runs import read_history, task_of, trained_on

    tasks = {name: task_of(run) for name, run in names.items()}
    sets = {name: trained_on(run) for name, run in names.items()}
    one_task, one_set = (len(set(of_runs.values())) == 1 for of_runs in (tasks, sets))
    said = {
        name: _named(name, None if one_task else tasks[name], None if one_set else sets[name])
        for name in names
    }
    courses = {said[name]: read_history(run) for name, run in names.items()}
    return courses, next(iter(sets.values())) if one_set else None


def _named(name: str, task: str | None, data: str | None) -> str:
    """Returns the name of a run with its task and its data; of data that are too long, the start."""
    from sentitok.figures.canvas import LONGEST

    if task is not None:
        name = f"{name}, {task}"
    if data is None:
        return name
    room = max(8, LONGEST - len(f"{name}, on "))
    return f"{name}, on {data if len(data) <= room else f'{data[: room - 1]}…'}"


def _reached(names: Mapping[str, Path]) -> tuple[dict[str, Any], str | None]:
    """Returns the score of each run, and the file whose rows judged, where all have the same."""
    from ..plots.runs import read_reached, trained_on

    sets = {trained_on(run) for run in names.values()}
    on = sets.pop() if len(sets) == 1 else None
    return {name: read_reached(run) for name, run in names.items()}, on


def _labels(table: "Table") -> dict[str, int]:
    from .data import label_counts

    table.labelled()
    return label_counts(table)


def _lengths(table: "Table") -> list[int]:
    from ..data.normalization import n_words

    return [n_words(text) for text in table.texts]


_OF_TABLES: dict[str, "Callable[[Table], Any]"] = {"labels": _labels, "lengths": _lengths}


def _name(source: Path, sources: list[Path]) -> str:
    return source.name if sum(other.name == source.name for other in sources) == 1 else str(source)


def register(app: typer.Typer) -> None:
    """Adds the command of this file."""
    add(
        app,
        "plot",
        plot,
        "senti plot runs/lstm runs/gpt -o curves.png",
        "senti plot runs/lstm runs/gpt --kind confusion --data valid.csv -o confusion.png",
        "senti plot train.csv valid.csv --kind lengths -o lengths.svg",
    )
