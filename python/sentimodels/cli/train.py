"""`senti train`: flags and TOML -> `RunConfig` -> `run.train` or `seeds.train_seeds`.

Not for training, which is one call, nor for its display and summary, nor for the options that set a
key of the configuration (`options.py`). Flags go above `--set`, that above `--config`, that above the
defaults of the architecture.
"""

import inspect
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sentitok.cli.output import lines, number

from .command import AsJson, Command, Output, Quiet, Traceback, UsageError, examples
from .display import display
from .options import parameters, tree_of
from .stopping import Stopper
from .summary import seeds_summary, summary

if TYPE_CHECKING:
    from ..config import RunConfig


def train(
    data: Annotated[
        str | None, typer.Argument(metavar="[DATA]", help="File or folder of labelled texts.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="The run directory. [default: runs/ARCH]"),
    ] = None,
    config: Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="TOML file, as senti init writes it.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Any key, as optim.lr=3e-4; repeatable."),
    ] = None,
    seeds: Annotated[
        int, typer.Option("--seeds", min=1, help="Train with N seeds; report mean and interval.")
    ] = 1,
    resume: Annotated[
        Path | None,
        typer.Option(
            "--resume", metavar="DIR", help="Go on with a stopped run or seeds, as they were begun."
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would be trained on what.")
    ] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
    **given: Any,
) -> None:
    """Train a classifier on labelled texts."""
    output = Output("senti.train/1", as_json=as_json, quiet=quiet)
    if resume is not None:
        baseline = given.pop("train__baseline")
        if data or config or set_ or out or tree_of(given):
            raise UsageError("--resume DIR needs nothing else: the run's own configuration is used")
        from ..runs.seeds import is_group

        (_run_seeds if is_group(resume) else _run)(output, resume, baseline)
        return
    flags = tree_of({**given, "data__train": data})
    resolved = _resolved(config, set_ or [], flags)
    if dry_run:
        _plan(output, resolved)
        return
    folder = out or Path("runs") / resolved.arch
    if seeds == 1:
        _run(output, folder, None, resolved)
    else:
        _run_seeds(output, folder, None, resolved, seeds)


# Its own parameters, without those that the configuration brings.
_OWN = [
    parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
    for parameter in inspect.signature(train).parameters.values()
    if parameter.kind is not inspect.Parameter.VAR_KEYWORD
]


def _resolved(config: Path | None, assignments: list[str], flags: dict[str, Any]) -> "RunConfig":
    """Merges file, assignments and flags."""
    from ..runs.config import read_toml, resolve, set_value

    trees: list[dict[str, Any]] = [] if config is None else [read_toml(config)]
    assigned: dict[str, Any] = {}
    for assignment in assignments:
        set_value(assigned, assignment)
    return resolve(*trees, assigned, flags)


def _plan(output: Output, config: "RunConfig") -> None:
    from ..runs.train import plan

    found = plan(config)
    rows = [(key.replace("_", " "), number(v) if isinstance(v, int) else str(v)) for key, v in found.items()]
    output.result(found, lines(rows), str(found["parameters"]))


def _run(output: Output, folder: Path, baseline: bool | None, config: "RunConfig | None" = None) -> None:
    """Trains one run, or goes on with one, and prints its summary."""
    from ..runs import train as run

    with Stopper() as stopper, display(output) as on_record:
        more: dict[str, Any] = {
            "on_record": on_record, "on_note": output.note, "should_stop": stopper, "baseline": baseline,
        }  # fmt: skip
        about = run.resume(folder, **more) if config is None else run.train(config, folder, **more)
    output.result({"run": str(folder), **about}, summary(about, folder), str(folder))
    _say_stopped(about["fit"]["stop"] == "stopped", folder, stopper)


def _run_seeds(
    output: Output, folder: Path, baseline: bool | None, config: "RunConfig | None" = None, n: int = 0
) -> None:
    """Trains one run for each seed, or goes on with them, and prints mean and spread."""
    from ..runs import seeds

    with Stopper() as stopper, display(output) as on_record:
        more: dict[str, Any] = {
            "on_record": on_record, "on_note": output.note, "should_stop": stopper, "baseline": baseline,
        }  # fmt: skip
        if config is None:
            found = seeds.resume_seeds(folder, **more)
        else:
            found = seeds.train_seeds(config, n, folder, **more)
    text = seeds_summary(found, found["seeds"][0]["arch"], folder)
    output.result({"run": str(folder), **found}, text, str(folder))
    _say_stopped(found["stopped"], folder, stopper)


def _say_stopped(stopped: bool, folder: Path, stopper: Stopper) -> None:
    if stopped:
        print(f"senti: stopped; go on with senti train --resume {folder}", file=sys.stderr)
        raise typer.Exit(stopper.code)


def register(app: typer.Typer) -> None:
    """Adds the command of this file, with the options that its configuration has."""
    made = [parameter for _, parameter in parameters()]
    train.__signature__ = inspect.Signature([*_OWN[:2], *made, *_OWN[2:]])  # type: ignore[attr-defined]
    app.command(
        "train",
        cls=Command,
        no_args_is_help=True,
        epilog=examples(
            "senti train reviews.csv --out runs/first",
            "senti train reviews.csv --arch gpt --preset nano --epochs 1 --out runs/gpt",
            "senti train reviews.csv --arch bow --set model.word_ngrams=3 --out runs/bow --dry-run",
        ),
    )(train)
