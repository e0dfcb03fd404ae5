"""`senti ensemble`: several runs as one; members, weights and temperature are chosen on dev.

The result is a folder with one JSON file, which every command takes where it takes a run.
"""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sentitok.cli.output import counted

from .command import AsJson, Force, Output, Quiet, Traceback, UsageError, add, put, typed
from .errors import note_cut
from .evaluate import EvenIfTrained
from .tables import (
    NO_READING,
    Reading,
    grid,
    page,
    read,
    reads,
    shown,
)

if TYPE_CHECKING:
    from ..data import Table
    from ..evaluation.predictions import Predictions


@reads(without=("limit", "skip", "clean"), scores=True)
def ensemble(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN", help="Two or more run directories.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Folder to write the ensemble to.")],
    dev: Annotated[
        Path | None,
        typer.Option(
            "--dev",
            metavar="FILE",
            help="Labelled file to choose weights and members on, which no run was trained on. [default: the "
            "validation rows of the runs]",
        ),
    ] = None,
    test: Annotated[
        Path | None,
        typer.Option(
            "--test",
            metavar="FILE",
            help="Labelled file to score the ensemble on. [default: the test rows of the runs, if all have "
            "the same]",
        ),
    ] = None,
    select: Annotated[
        bool,
        typer.Option(
            "--select",
            help="Choose members among the runs by greedy forward selection on dev, instead of weighting all "
            "of them.",
        ),
    ] = False,
    even_if_trained: EvenIfTrained = False,
    reading: Reading = NO_READING,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Combine several runs into one predictor.

    The ensemble answers with the weighted mean of their probabilities. Weights, temperature and, with
    --select, members are chosen on dev, so scores on dev are too good; those on test rows are not.
    """
    from ..data.encoded import Cut
    from ..data.split import Units
    from ..evaluation.metrics import scores
    from ..predictor import load_predictor
    from ..runs.ensemble import Ensemble, crossed, members_of
    from ..runs.report import evaluate

    if len(runs) < 2:
        raise UsageError("give two runs or more")
    for run in runs:
        if members_of(run) is not None:
            raise UsageError(f"{run}: an ensemble; name its runs instead")
    output = Output("senti.ensemble/1", as_json=as_json, quiet=quiet)
    choosing, judging = _rows(output, runs, dev, test, reading)
    members = [load_predictor(run) for run in runs]
    pairs = list(zip(members, runs, strict=True))
    predictions = [evaluate(one, choosing, run=run, allow_trained=even_if_trained)[0] for one, run in pairs]
    for one, run in zip(predictions, runs, strict=True):
        note_cut(output, one, f"texts of dev that {run} reads")
    probs, truth = [one.probs for one in predictions], predictions[0].truth
    if select:
        mixed, places = Ensemble.select(members, probs, truth)
    else:
        mixed, places = Ensemble.fit(members, probs, truth), list(range(len(runs)))
    kept = [runs[place] for place in places]
    together = replace(predictions[0], probs=mixed.mix([probs[place] for place in places]))
    answered = []
    if judging is not None:
        answered = [
            evaluate(one, judging, run=run, allow_trained=even_if_trained)[0]
            for one, run in zip(mixed.members, kept, strict=True)
        ]
    (target,), _ = put((out, lambda folder: [mixed.save(folder, kept, choosing.sha256)]), force=force)
    weights = dict(zip(places, mixed.weights, strict=True))
    listed = [
        {
            "run": str(run),
            "weight": weights.get(place, 0.0),
            **(Cut() if one.unread is None else Cut.of(one.unread)).tree(),
            **scores(one),
        }
        for place, (run, one) in enumerate(zip(runs, predictions, strict=True))
    ]
    total = {"run": str(out), "weight": 1.0, **scores(together)}
    value: dict[str, Any] = {
        "file": target,
        "temperature": mixed.temperature,
        "members": listed,
        "dev": total,
    }
    shown_scores = predictions[0].answers.table
    head = ["run", "weight", *shown_scores.values()]
    dev_rows = _lines([*listed, total], shown_scores)
    parts: list[Any] = [grid(f"On dev, {counted(len(choosing), 'row')}", head, dev_rows)]
    if select:
        value["chosen"] = [str(run) for run in kept]
        said = f"chosen: {len(kept)} of {len(runs)} runs, by greedy forward selection on dev; "
        kind = predictions[0].answers
        first = Units.of(choosing, 0.5, 2).halves(truth)
        if first.all() or not first.any():
            value["dev_crossed"] = None
            said += "dev is one group or text, so no part of it can judge what the other chose"
        else:
            other = scores(replace(predictions[0], probs=crossed(probs, truth, first, kind)))
            value["dev_crossed"] = other
            said += (
                f"each half of dev with the members that the other half chose: accuracy "
                f"{shown(other['accuracy'])}, macro-F1 {shown(other['macro_f1'])}"
            )
        parts.append(said)
    if judging is not None:
        value["test"], judged = _judged(answered, mixed.mix([one.probs for one in answered]), kept, out)
        parts += [
            grid(f"On test, {counted(len(judging), 'row')}", head, judged),
            "judged on test: nothing was chosen there",
        ]
    else:
        parts.append(
            f"not judged: dev chose the ensemble; score other rows: {typed('senti', 'evaluate', out)} FILE"
        )
    output.result(
        value,
        page(*parts, f"written  {target}", f'\nnext  echo "great fun" | {typed("senti", "predict", out)}'),
        str(out),
    )


def _rows(
    output: Output,
    runs: list[Path],
    dev: Path | None,
    test: Path | None,
    reading: Reading,
) -> "tuple[Table, Table | None]":
    """Returns the rows to choose on, and those to judge on, if there are any."""
    from ..runs.tables import shared_validation_rows

    where = reading["where"]
    flags = {**reading, "where": None}
    if dev is None:
        if where is not None:
            raise UsageError("--where goes with --dev: without it the validation rows of the runs are dev")
        choosing, judging = shared_validation_rows(runs)
    else:
        choosing, judging = read(output, dev, run=runs[0], **{**flags, "where": where}), None
    if test is not None:
        judging = read(output, test, run=runs[0], **flags)
        if _overlap(choosing, judging):
            raise UsageError(f"--test {test}: holds rows of dev, which choose; give other rows")
        judging.labelled()
    choosing.labelled()
    return choosing, judging


def _overlap(one: "Table", other: "Table") -> bool:
    """Whether rows of one file are in both."""
    if one.sha256 != other.sha256:
        return False
    return one.numbers is None or other.numbers is None or not set(one.numbers).isdisjoint(other.numbers)


def _judged(
    answered: "list[Predictions]", probs: Any, kept: list[Path], out: Path
) -> tuple[dict[str, Any], list[list[str]]]:
    """Returns the ensemble's scores on rows that chose nothing, and the lines of the table."""
    from ..evaluation.metrics import scores

    of_all = scores(replace(answered[0], probs=probs))
    listed = [{"run": str(run), **scores(one)} for run, one in zip(kept, answered, strict=True)]
    lines = _lines([*listed, {"run": str(out), **of_all}], answered[0].answers.table)
    return {**of_all, "members": listed}, lines


def _lines(listed: list[dict[str, Any]], keys: Iterable[str]) -> list[list[str]]:
    return [
        [
            one["run"],
            f"{one['weight']:.3f}" if "weight" in one else "",
            *(shown(one[key]) for key in keys),
        ]
        for one in listed
    ]


def register(app: typer.Typer) -> None:
    """Adds the command of this file."""
    add(
        app,
        "ensemble",
        ensemble,
        "senti ensemble runs/lstm runs/gpt --dev valid.csv -o runs/both",
        "senti ensemble runs/lstm runs/gpt --dev valid.csv --select -o runs/best --json",
    )
