"""`senti evaluate`: how well a run answers one file; `senti submit`: its answers as a Kaggle submission.

`evaluate` may write its predictions to a file, from which `compare` and `plot` draw without asking the model
again.
"""

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
    Write,
    add,
    announce,
    put,
    put_file,
    refuse_input,
    typed,
)
from .errors import error_grid, note_cut
from .tables import (
    NO_READING,
    READ_WHOLE,
    Device,
    Reading,
    Windows,
    grid,
    page,
    read,
    reads,
    refuse_idle_windows,
    shown,
)

if TYPE_CHECKING:
    from ..data import Table
    from ..evaluation.answers import Answers
    from ..evaluation.predictions import PhraseMemory, Predictions, Predictor

# The scores of answers that thresholds give, by key.
THRESHOLD_SCORES = {
    "answered": "answered", "precision": "precision", "recall": "recall", "macro_f1": "macro-F1",
    "cost": "cost of a text",
}  # fmt: skip
# The table in the folder of --plots.
_CONFUSION = "confusion.csv"

Run = Annotated[Path, typer.Argument(metavar="RUN", help="Run directory or ensemble.")]
File = Annotated[Path, typer.Argument(metavar="FILE", help="Labelled file or folder.")]
Memory = Annotated[
    Path | None,
    typer.Option(
        "--memory",
        metavar="TRAIN",
        help="Also report scores with phrases that occur in this training file given their labels there.",
    ),
]
Replicates = Annotated[
    int,
    typer.Option(
        "--bootstrap",
        min=0,
        help="Number of bootstrap replicates for the intervals; 0 for no intervals.",
        metavar="N",
    ),
]
Seed = Annotated[int, typer.Option("--seed", help="Random seed of the bootstrap.", metavar="N")]
EvenIfTrained = Annotated[
    bool,
    typer.Option(
        "--even-if-trained",
        help="Score rows even if the run was trained on them; otherwise they are refused.",
    ),
]


def memory_of(
    output: Output, path: Path | None, predictor: "Predictor", run: Path, unknown: Any = None
) -> "PhraseMemory | None":
    """Reads the training file whose phrases are to be remembered, as that of the run."""
    if path is None:
        return None
    from ..evaluation.predictions import PhraseMemory

    return PhraseMemory(read(output, path, run=run, unknown=unknown), predictor.labels)


def answers(
    output: Output,
    run: Path,
    table: "Table",
    *,
    memory: Path | None = None,
    even_if_trained: bool = False,
    device: str | None = None,
    windows: bool = False,
    unknown: Any = None,
    more: str = "",
) -> "tuple[Predictions, Predictions | None]":
    """Loads a run and asks it; says how many texts were cut, and `more` to do about it."""
    from ..evaluation.predictions import WithProgress
    from ..predictor import load_predictor
    from ..runs.report import evaluate

    predictor = load_predictor(run, device, windows=windows)
    remembered = memory_of(output, memory, predictor, run, unknown)
    with output.progress() as progress:
        asked = predictor if progress is None else WithProgress(predictor, progress)
        found = evaluate(asked, table, run=run, memory=remembered, allow_trained=even_if_trained)
    note_cut(output, found[0], more=more)
    return found


@reads(scores=True)
def evaluate(
    run: Run,
    file: File,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="File to write the predictions to (.npz), for senti compare and senti plot.",
        ),
    ] = None,
    memory: Memory = None,
    binary: Annotated[
        bool,
        typer.Option(
            "--binary", help="Score five classes as two: labels 0 and 1 as 0, 3 and 4 as 1, leaving out 2."
        ),
    ] = False,
    plots: Annotated[
        Path | None,
        typer.Option(
            "--plots",
            help="Folder to write calibration.png into and, with one label a text, confusion.png and "
            "confusion.csv.",
            metavar="DIR",
        ),
    ] = None,
    bootstrap: Replicates = 1000,
    seed: Seed = 0,
    even_if_trained: EvenIfTrained = False,
    reading: Reading = NO_READING,
    windows: Windows = False,
    device: Device = None,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Score a run on a labelled file.

    The report has intervals, scores by class, the confusion matrix, calibration and errors.
    Rows whose label is blank are left out. A file the run was trained on is refused.
    """
    from ..evaluation.predictions import binary_view
    from ..runs.report import report

    for path in (out, None if plots is None else plots / _CONFUSION):
        refuse_input(path, [file, *([] if memory is None else [memory])])
    output = Output("senti.evaluate/1", as_json=as_json, quiet=quiet)
    if plots is None or out is not None:
        announce(out, output, force=force, option="--out or --plots")
    if windows:
        refuse_idle_windows([run])
    table = read(output, file, run=run, **reading)
    table.labelled()
    predictions, with_memory = answers(
        output,
        run,
        table,
        memory=memory,
        even_if_trained=even_if_trained,
        device=device,
        windows=windows,
        unknown=reading["unknown"],
        more=READ_WHOLE,
    )
    if binary:
        predictions = binary_view(predictions)
        with_memory = None if with_memory is None else binary_view(with_memory)
    value = report(predictions, with_memory, n_replicates=bootstrap, seed=seed)
    note_chosen_here(output, value.get("thresholds"), value["n"])
    parts = _page(value, predictions.answers)
    refused, wanted = None, _files(out, plots, run.name, predictions)
    try:
        written, _ = put(*wanted, force=force, keep=True)
        parts += [f"written  {', '.join(written)}"] if wanted else []
    except UsageError as error:  # the scores took long, and are shown all the same
        refused = error
    parts.append(f"\nnext  {typed('senti', 'errors', run, file)}")
    output.result(value, page(*parts), shown(value["accuracy"]))
    if refused is not None:
        raise refused


def _files(
    out: Path | None, plots: Path | None, name: str, predictions: "Predictions"
) -> list[tuple[Path, Write]]:
    def save(path: Path) -> list[Path]:
        predictions.save(path)
        return [path]

    files: list[tuple[Path, Write]] = [] if out is None else [(out, save)]
    return files if plots is None else [*files, (plots, lambda path: _draw(path, name, predictions))]


def _draw(folder: Path, name: str, predictions: "Predictions") -> list[Path]:
    from sentitok.atomic import write as write_atomically

    from ..data.writers import separated_rows
    from ..evaluation.metrics import confusion
    from ..plots import Asked, drawing, save
    from ..plots.answers import rows_of

    predictions = predictions.labelled()
    drawn = {name: predictions}
    divides = predictions.answers.divides
    made = {**({"confusion.png": "confusion"} if divides else {}), "calibration.png": "calibration"}
    for file, kind in made.items():
        save(drawing(kind)(drawn, Asked(on=rows_of(drawn))), folder / file)
    if not divides:
        return [folder / file for file in made]
    labels = list(predictions.labels)
    rows = [["true \\ answered", *labels]]
    rows += [
        [label, *map(str, counts)]
        for label, counts in zip(labels, confusion(predictions).tolist(), strict=True)
    ]
    write_atomically(folder / _CONFUSION, separated_rows(rows, ".csv").encode())
    return [folder / file for file in [*made, _CONFUSION]]


def _page(value: dict[str, Any], kind: "Answers") -> list[Any]:
    """The report as tables and lines."""
    from ..evaluation.answers import said_temperature

    parts = [_score_grid(value, kind), _class_grid(value)]
    if "confusion" in value:
        parts.append(_confusion_grid(value))
    parts.append(coverage_grid(value["coverage"]))
    if "thresholds" in value:
        parts.append(threshold_grid(f"Thresholds of the run: {value['thresholds']['rule']}", value))
    if len(value["lengths"]) > 1:
        rows = [
            [one["words"], number(one["n"]), shown(one["accuracy"]), shown(one["macro_f1"])]
            for one in value["lengths"]
        ]
        names = [kind.score_names[key] for key in ("accuracy", "macro_f1")]
        parts.append(grid("By length", ["words", "rows", *names], rows))
    if value["errors"]:
        parts.append(error_grid("Worst errors", value["errors"][:5]))
    calibration = value["calibration"]
    parts.append(_calibration_grid(calibration["reliability"]))
    before = calibration["before"]
    lines = [
        f"temperature {said_temperature(calibration['temperature'])}: before it log loss "
        f"{shown(before['log_loss'])}, ECE {shown(before['ece'])}, Brier {shown(before['brier'])}"
    ]
    if n_validation := value["about"].get("n_validation"):
        are = "row is a validation row" if n_validation == 1 else "rows are validation rows"
        lines.append(
            f"{number(n_validation)} {are} of the run: its best step and its temperature were chosen on "
            "such rows, so these scores flatter it"
        )
    if "n_unlabelled" in value:
        lines.append(f"not scored: {counted(value['n_unlabelled'], 'row')} without label")
    if "unseen" in value and value["unseen"]["n_seen"]:
        unseen = value["unseen"]
        share = f"{number(unseen['n_seen'])} rows ({100 * unseen['share_seen']:.1f} %)"
        lines.append(
            f"{share} are training texts, compared {unseen['compared']}; the column `unseen` leaves them out"
        )
    return [*parts, *lines]


def _score_grid(value: dict[str, Any], kind: "Answers") -> Any:
    """A table with all rows, the constant answer, unseen rows and memory as columns."""
    majority = value["majority"]
    columns: dict[str, dict[str, Any]] = {f"always {majority['label']}": majority}
    if value.get("unseen", {}).get("n_seen") and value["unseen"]["n"]:
        columns["unseen"] = value["unseen"]
    if "memory" in value:
        columns["with memory"] = value["memory"]
    rows = []
    for key, name in kind.score_names.items():
        if value.get(key) is None:
            continue
        low_high = value.get("intervals", {}).get(key)
        interval = "" if low_high is None else f"{low_high[0]:.4f} to {low_high[1]:.4f}"
        rows.append([name, shown(value[key]), interval, *(shown(one.get(key)) for one in columns.values())])
    counts = [number(one["n"]) if "n" in one else "" for one in columns.values()]
    rows.append(["rows", number(value["n"]), "", *counts])
    title = (
        f"Scores; 95 % bootstrap intervals over {number(value['n_groups'])} groups"
        if value.get("n_groups", value["n"]) != value["n"]
        else "Scores; 95 % bootstrap intervals over rows"
        if "n_groups" in value
        else "Scores"
    )
    return grid(title, ["", "all", "interval", *columns], rows)


def _class_grid(value: dict[str, Any]) -> Any:
    rows = [
        [
            one["label"], shown(one["precision"]), shown(one["recall"]), shown(one["f1"]),
            number(one["support"]), number(one["predicted"]),
            *([shown(one["average_precision"])] if "average_precision" in one else []),
        ]
        for one in value["per_class"]
    ]  # fmt: skip
    ranked = any("average_precision" in one for one in value["per_class"])
    head = ["label", "precision", "recall", "F1", "rows", "answered"]
    return grid("Classes", [*head, *(["average precision"] if ranked else [])], rows)


def _confusion_grid(value: dict[str, Any]) -> Any:
    labels = value["confusion"]["labels"]
    rows = [
        [label, *map(number, counts)]
        for label, counts in zip(labels, value["confusion"]["rows"], strict=True)
    ]
    return grid("Confusion: rows are true, columns answered", ["", *labels], rows)


def coverage_grid(rows: list[dict[str, float]]) -> Any:
    """Lays out the number of answers, and how right they are, from each probability on."""
    made = [
        [f"{row['threshold']:.2f}", *(shown(row[key]) for key in ("answered", "precision", "recall"))]
        for row in rows
    ]
    return grid("Coverage: answers from a probability on", ["from", "answered", "precision", "recall"], made)


def threshold_grid(title: str, value: dict[str, Any]) -> Any:
    """Lays out the scores of answers that thresholds give: those of `value["thresholds"]`."""
    found = {key: one for key, one in value["thresholds"].items() if key in THRESHOLD_SCORES}
    return grid(title, ["", "all"], [[THRESHOLD_SCORES[key], shown(one)] for key, one in found.items()])


def note_chosen_here(output: Output, found: dict[str, Any] | None, n: int, run: str = "") -> None:
    """Notes if the scored rows are the ones that chose the thresholds of a run."""
    if found is None or not found["chosen_here"]:
        return
    name, crossed = found["rule"].partition("=")[0], found["crossed"]
    scores = f"; cross-fitted {THRESHOLD_SCORES[name]} {shown(crossed[name])}" if crossed else ""
    of = f" of {run}" if run else ""
    output.note(
        f"these {counted(n, 'row')} chose the thresholds{of}, so answers by them look better than on other "
        f"rows{scores}"
    )


def _calibration_grid(bins: list[dict[str, Any]]) -> Any:
    """How sure the answers were, and how often they were right."""
    rows = [
        [
            f"{one['low']:.2f} to {one['high']:.2f}", number(one["n"]), shown(one["confidence"]),
            shown(one["accuracy"]),
        ]
        for one in bins
        if one["n"]
    ]  # fmt: skip
    return grid("Calibration", ["probability", "rows", "mean probability", "accuracy"], rows)


@reads(without=("label_column", "label_separator", "label_columns", "group_column", "limit", "skip", "clean"))
def submit(
    run: Run,
    file: Annotated[Path, typer.Argument(metavar="TEST", help="Test file of the competition.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="Submission file to write.")],
    form: Annotated[
        str,
        typer.Option(
            "--form",
            help="Columns to write: movie-reviews (PhraseId,Sentiment) or imdb (Id,Category).",
            metavar="NAME",
        ),
    ] = "movie-reviews",
    memory: Annotated[
        Path | None,
        typer.Option(
            "--memory",
            metavar="TRAIN",
            help="Give phrases that occur in this training file the labels they have there.",
        ),
    ] = None,
    windows: Windows = False,
    reading: Reading = NO_READING,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Write predictions as a Kaggle submission."""
    from dataclasses import replace

    import numpy as np

    from sentitok.atomic import write as write_atomically

    from ..data.sst import SUBMISSIONS, submission

    if form not in SUBMISSIONS:
        raise UsageError(f"--form {form}: expected one of {', '.join(SUBMISSIONS)}")
    refuse_input(out, [file, *([memory] if memory is not None else [])])
    output = Output("senti.submit/1", as_json=as_json, quiet=quiet)
    announce(out, output, force=force)
    if windows:
        refuse_idle_windows([run])
    # A column that looks like labels, such as one of "?", is nothing to compare with.
    table = replace(read(output, file, run=run, unlabelled="keep", **reading), labels=None, label_form=None)
    predictions, with_memory = answers(
        output, run, table, memory=memory, even_if_trained=True, windows=windows, more=READ_WHOLE
    )
    chosen = (with_memory or predictions).by_thresholds()
    if (thresholds := chosen.thresholds) is not None:
        n_unsure = int((~chosen.answered).sum())
        unsure = (
            f"; {counted(n_unsure, 'unsure row')} with the likeliest label, as a form has no blank"
            if n_unsure
            else ""
        )
        output.note(f"answers by the thresholds of the run, {thresholds.rule}{unsure}")
    likeliest = chosen.answers.decide(chosen.probs)
    given = (
        chosen.predicted if chosen.labels.several else np.where(chosen.answered, chosen.predicted, likeliest)
    )
    named = [chosen.labels.cell(one) for one in given]
    data = submission(form, table.ids, named).encode()
    put_file(out, lambda path: write_atomically(path, data), force=force, keep=True)
    value = {"file": str(out), "rows": len(named), "form": form, "memory": with_memory is not None}
    output.result(
        value, f"written  {out}: {counted(len(named), 'row')}, {','.join(SUBMISSIONS[form])}", str(out)
    )


def register(app: typer.Typer) -> None:
    """Adds the commands of this file."""
    add(
        app,
        "evaluate",
        evaluate,
        "senti evaluate runs/gpt valid.csv",
        "senti evaluate runs/gpt valid.csv --json -o gpt.npz",
        "senti evaluate runs/gpt valid.csv --memory train.csv",
    )
    add(
        app,
        "submit",
        submit,
        "senti submit runs/gpt test.csv -o submission.csv",
        "senti submit runs/gpt test.csv -o submission.csv --form imdb",
    )
