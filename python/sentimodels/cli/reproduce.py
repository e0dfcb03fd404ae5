"""`senti reproduce`: trains a run again, and says whether it becomes the same.

Exit codes: 0 the weights or the scores are equal; 1 neither; 2 it cannot be tried; 130 Ctrl-C.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sentitok.cli.output import counted, lines

from .command import AnswerIsNoError, AsJson, Output, Quiet, Traceback, UsageError, add, typed
from .launch import Stopper, training_callbacks

if TYPE_CHECKING:
    from ..runs.reproduce import Reproduction

# Equal parts of two runs, best first.
_VERDICTS = {"weights": "the weights are equal", "scores": "the scores are equal", "neither": "neither"}


def reproduce(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="Run directory, or group of runs (seeds, folds, sweep).")
    ],
    data: Annotated[
        list[Path] | None,
        typer.Argument(metavar="DATA", help="Training data, if it is no longer where the run found it."),
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option(
            "--to",
            metavar="DIR",
            help="Directory to keep the new run in. [default: a folder that is removed]",
        ),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(
            "--threads", min=1, metavar="N", help="Number of CPU threads. [default: as many as then]"
        ),
    ] = None,
    device: Annotated[
        str | None,
        typer.Option("--device", metavar="NAME", help="Device: auto, cpu, cuda, mps. [default: as then]"),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Train a run again, and say whether weights and scores are equal.

    Settings, threads and seed are those of the run. Data, versions, threads and device that are not as
    they were are named, with what to type. Scores are equal if they are to four digits.
    Exit code: 0 if weights or scores are equal, 1 if neither, 2 if the run cannot be trained again.
    """
    from tempfile import TemporaryDirectory

    from ..runs.directory import begun
    from ..runs.ensemble import members_of
    from ..runs.group import is_group, read_group

    output = Output("senti.reproduce/1", as_json=as_json, quiet=quiet)
    if (members := members_of(run)) is not None:
        each = ", ".join(typed("senti", "reproduce", one) for one in members)
        raise UsageError(f"{run}: an ensemble, which is not trained; reproduce its runs: {each}")
    if to is not None and (begun(to) or is_group(to) or to.is_file()):
        raise UsageError(f"--to {to}: holds a run already, or is a file; name another folder")
    names = list(read_group(run).runs) if is_group(run) else [None]
    found: list[Reproduction] = []
    with TemporaryDirectory() as scratch:
        out = to or Path(scratch) / "run"
        for name in names:
            one, place = (run, out) if name is None else (run / name, out / name)
            found.append(_again(output, one, place, data or [], threads, device))
    worst = max((one.verdict for one in found), key=list(_VERDICTS).index)
    value: dict[str, Any] = found[0].tree() if names == [None] else {
        "run": str(run), "verdict": worst, "runs": [one.tree() for one in found]
    }  # fmt: skip
    value["to"] = None if to is None else str(to)
    output.result(value, "\n\n".join(map(_page, found)), worst)
    if worst == "neither":
        raise AnswerIsNoError(f"{run}: neither weights nor scores are equal")


def _again(
    output: Output, run: Path, out: Path, data: list[Path], threads: int | None, device: str | None
) -> "Reproduction":
    """Trains one run again."""
    from ..runs.reproduce import reproduce as train_again

    stopper = Stopper()
    with training_callbacks(output, stopper) as callbacks:
        found = train_again(run, out, data, callbacks, threads=threads, device=device)
    if found is None:
        output.note(f"{run}: stopped, so nothing is compared")
        raise typer.Exit(stopper.code)
    return found


def _page(found: "Reproduction") -> str:
    """Writes the result of one run."""
    differing = found.differing_scores
    if found.weights:
        weights = f"equal, {counted(found.n_tensors, 'tensor')}"
    else:
        some = ", ".join(found.differing[:3]) + (", ..." if len(found.differing) > 3 else "")
        weights = (
            f"{len(found.differing)} of {counted(found.n_tensors, 'tensor')} differ ({some}), by "
            f"{found.largest:.1e} at most"
            if found.differing
            else "equal, but the vocabulary differs"
        )
    scores = "none" if not found.scores else f"equal, {len(found.scores)} compared"
    if differing:
        then, now = next(iter(differing.values()))
        first = f"{next(iter(differing))} {_score(then)} then, {_score(now)} now"
        scores = f"{len(differing)} of {len(found.scores)} differ: {first}"
    rows = [("run", str(found.run)), *(("differs", str(one)) for one in found.mismatches)]
    rows += [("weights", weights), ("scores", scores), ("verdict", _VERDICTS[found.verdict])]
    return lines(rows)


def _score(value: float | None) -> str:
    return "none" if value is None else f"{value:.4f}"


def register(app: typer.Typer) -> None:
    """Adds the command of this file."""
    add(
        app,
        "reproduce",
        reproduce,
        "senti reproduce runs/first",
        "senti reproduce runs/first reviews.csv --to runs/again --json",
    )
