"""`senti thresholds`: chooses on a labelled file how a run turns probabilities into answers."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sentitok.cli.output import lines, number
from sentitok.remote import is_url

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
    typed,
)
from .evaluate import THRESHOLD_SCORES, EvenIfTrained, answers, coverage_grid
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
    from ..evaluation.predictions import Predictions

Rule = Annotated[
    str | None,
    typer.Option(
        "--threshold",
        metavar="RULE",
        help="Rule to choose by: macro_f1, precision=P, recall=P, confidence=P, mae, cost=FILE, or none to "
        "remove the thresholds of the run. [default: change nothing, and show what there is to choose from]",
    ),
]


@reads(scores=True)
def thresholds(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run directory or ensemble.")],
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="Labelled file that the run was not trained on, such as its validation rows; not needed "
            "with --threshold none.",
            show_default=False,
        ),
    ] = None,
    threshold: Rule = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot",
            metavar="FILE",
            help="File to draw into (.png, .svg or .pdf): precision, recall and share of answers from each "
            "probability on, with the thresholds of the run. [default: none]",
        ),
    ] = None,
    even_if_trained: EvenIfTrained = False,
    windows: Windows = False,
    reading: Reading = NO_READING,
    device: Device = None,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Choose the thresholds that a run answers by.

    They are chosen on FILE, written to thresholds.json of the run, and used by senti predict, evaluate and
    serve. Scores are shown as each half of FILE has them with the thresholds that the other half chose.
    """
    from dataclasses import replace

    from ..config import ThresholdRule
    from ..data.split import Units
    from ..evaluation.answers import answers_of
    from ..evaluation.thresholds import FILE, Thresholds, coverage, cross_fitted, hash_rows, picker, scored
    from ..plots import check

    value: dict[str, Any]
    output = Output("senti.thresholds/1", as_json=as_json, quiet=quiet)
    if file is None:
        if threshold != "none" or plot is not None:
            raise UsageError("FILE: name the labelled rows; only --threshold none needs none")
        _remove(run)
        value = {"run": str(run), "n": 0, "rule": None, "written": None, "coverage": [], "plot": None}
        output.result(value, f"{run}: has no thresholds now", "")
        return
    if plot is not None:
        check(plot)
        refuse_input(plot, [file])
        announce(plot, output, force=force, option="--plot")
    if threshold is not None:
        _refuse_remote(run, threshold)
    try:
        rule = None if threshold in (None, "none") else ThresholdRule.of(str(threshold))
    except ValueError as error:
        raise UsageError(f"--{error}") from error
    if windows:
        refuse_idle_windows([run])
    table = read(output, file, run=run, **reading)
    table.labelled()
    predictions, _ = answers(
        output, run, table, even_if_trained=even_if_trained, device=device, windows=windows, more=READ_WHOLE
    )
    known = predictions.labelled()
    drawn = known  # with the thresholds of the run, until the user chooses new ones
    labels, truth = known.labels, known.truth
    value = {"run": str(run), "n": len(known), "rule": None, "written": None}
    value["coverage"] = coverage(labels, known.probs, truth)
    parts = [coverage_grid(value["coverage"])]
    if threshold == "none":
        (run / FILE).unlink(missing_ok=True)
        drawn = replace(known, about={**known.about, "thresholds": None})
        parts.append(f"{run}: has no thresholds now")
    if rule is None:
        parts += _draw(value, plot, run, drawn, force=force)
        parts.append(f"\nnext  {typed('senti', 'thresholds', run, file, '--threshold', 'precision=0.9')}")
        output.result(value, page(*parts), "")
        return
    pick = picker(rule, labels)
    half = Units.of(table, 0.5, 2).halves(truth)
    crossed = cross_fitted(pick, (known.probs, known.probs), truth, half)
    chosen = pick(known.probs, truth)
    here = scored(chosen, chosen.decide(known.probs), truth)
    chosen_on = {
        "source": str(file), "sha256": table.sha256, "rows": len(known),
        "texts_sha256": hash_rows(known.texts), "crossed": crossed, "scores": here,
    }  # fmt: skip
    chosen = replace(chosen, chosen_on=chosen_on)
    usual = Thresholds(chosen.rule, labels, (answers_of(labels).least,) * len(labels), chosen.costs)
    before = scored(usual, answers_of(labels).decide(known.probs), truth)
    chosen.save(run)
    value |= {**chosen.tree(), "before": before, "chosen": here, "crossed": crossed}
    value["written"] = str(run / FILE)
    drawn = replace(known, about={**known.about, "thresholds": chosen.tree()})
    columns = {"without": before, "chosen": here} | ({} if crossed is None else {"cross-fitted": crossed})
    rows = [
        [name, *(shown(one[key]) for one in columns.values())]
        for key, name in THRESHOLD_SCORES.items()
        if key in here
    ]
    parts.append(grid(f"Thresholds by {chosen.rule}, on {number(len(known))} rows", ["", *columns], rows))
    parts.append(lines(chosen.said()))
    if crossed is None:
        parts.append("not cross-fitted: one half of the rows does not reach the target")
    parts += _draw(value, plot, run, drawn, force=force)
    # Probabilities of whole texts differ from those of their beginnings.
    more = (" --windows" if windows else "") + (" --unsure review" if chosen.may_be_unsure else "")
    parts.append(lines([("written", str(run / FILE)), ("next", typed("senti", "predict", run, file) + more)]))
    output.result(value, page(*parts), str(run / FILE))


def _refuse_remote(run: Path, threshold: str) -> None:
    if is_url(run):
        raise UsageError(f"--threshold {threshold}: {run} is remote; choose thresholds in a local copy of it")


def _remove(run: Path) -> None:
    """Removes the thresholds of a run or ensemble, damaged ones too.

    Raises:
        UsageError: if the run is remote, or answers with something else than labels.
        CheckpointError: if there is none.
    """
    from ..evaluation.thresholds import FILE
    from ..runs.ensemble import members_of
    from ..runs.families import CLASSIFIER, check_there, family_of

    _refuse_remote(run, "none")
    check_there(run)
    if members_of(run) is None and family_of(run) is not CLASSIFIER:
        raise UsageError(f"{run}: not a classifier, so it has no thresholds")
    (run / FILE).unlink(missing_ok=True)


def _draw(
    value: dict[str, Any], path: Path | None, run: Path, known: "Predictions", *, force: bool
) -> list[str]:
    """Draws the curve of the thresholds where it is asked for; returns what to say of it."""
    from ..plots import Asked, drawing, save
    from ..plots.answers import rows_of

    value["plot"] = None if path is None else str(path)
    if path is None:
        return []
    drawn = {run.name: known}
    figure = drawing("thresholds")(drawn, Asked(on=rows_of(drawn)))
    put_file(path, lambda target: save(figure, target), force=force, keep=True)
    return [f"drawn    {path}"]


def register(app: typer.Typer) -> None:
    """Adds the command of this file."""
    add(
        app,
        "thresholds",
        thresholds,
        "senti thresholds runs/first valid.csv",
        "senti thresholds runs/first valid.csv --threshold precision=0.9 --plot curve.png",
        "senti thresholds runs/first valid.csv --threshold cost=costs.csv",
        "senti thresholds runs/first --threshold none",
    )
