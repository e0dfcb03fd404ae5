"""`senti sweep`: try combinations of settings, and rank them by validation rows.

Options are those of `senti train`, where a `--set` may list several values; all runs have the same rows.
"""

from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any

import typer

from sentitok.cli.engine import Address, EngineName, OnError, Workers

from .command import AsJson, Output, Quiet, Traceback, UsageError, add
from .launch import Stopper, dry_run_of_sweep, scheduled, training_callbacks, trees
from .options import ConfigFile, ForceRun, seconds, tree_of, with_options
from .train import options, say_group, settled


def sweep(
    data: Annotated[
        str | None, typer.Argument(metavar="DATA", help="File or folder of labelled texts.")
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="Folder to write the runs to.")
    ] = Path("runs/sweep"),
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUES",
            help="Key of the configuration and values to try, such as optim.lr=1e-3,3e-3; repeatable.",
        ),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            "--budget",
            metavar="TIME",
            help="Maximum CPU time of all runs together, such as 90s, 10m or 2h. [default: no limit]",
        ),
    ] = None,
    config: ConfigFile = None,
    engine: EngineName = None,
    address: Address = None,
    workers: Workers = None,
    on_error: OnError = "skip",
    force: ForceRun = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Train a few steps of each combination and show its parameters, steps and estimated time, "
            "and the time of all; write nothing.",
            rich_help_panel="Output",
        ),
    ] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
    **given: Any,
) -> None:
    """Train a run for each combination of settings, and rank them.

    The ranking is by validation macro-F1. With a budget, the sweep ends before a run that would exceed
    it, judging by the mean time so far. Resume a stopped sweep with senti train --resume DIR. Test rows
    rank nothing: score the best run on a test file afterwards with senti evaluate.
    """
    from ..runs.families import merge, set_value
    from ..runs.group import refuse
    from ..runs.sweep import combinations
    from ..runs.sweep import sweep as run_sweep
    from ..runs.tables import check_files, read_tables

    output = Output("senti.sweep/1", as_json=as_json, quiet=quiet)
    tried = combinations(set_ or [])
    if len(tried) < 2:
        raise UsageError("give several values of a key, as in --set optim.lr=1e-3,3e-3")
    limit = None if budget is None else seconds(budget, "--budget")
    base = trees(config, [], tree_of({**given, "data__train": data}))
    # The first combination determines the rows; all have the same.
    first: dict[str, Any] = {}
    for key, value in tried[0].items():
        set_value(first, f"{key}={value}")
    chosen, tables = settled(output, [*base, first], None if dry_run or force else out)
    if tables is None:
        check_files(chosen)
        if not (dry_run or force):
            refuse(out)
        tables = read_tables(chosen)
    if "arch" not in tried[0] and "arch" not in merge(base):
        base = [*base, {"arch": chosen.arch, "budget": chosen.budget, "estimates": dict(chosen.estimates),
                       "accuracies": dict(chosen.accuracies)}]  # fmt: skip
    if dry_run:
        from ..runs.sweep import configs_of

        dry_run_of_sweep(output, configs_of(base, set_ or []), tables, limit)
        return
    stopper = Stopper()
    who: dict[str, Any] = {"engine": engine, "address": address, "workers": workers, "on_error": on_error}
    with (
        scheduled(output, len(tried), chosen.train.device, **who) as scheduling,
        training_callbacks(output, stopper, out if force else None) as callbacks,
    ):
        done = run_sweep(base, set_ or [], out, callbacks, tables=tables, budget=limit, **scheduling)
    say_group(output, out, done, stopper)


# Settings that a run of a sweep does not have: rows to test on, its own budget, a baseline.
_LEFT_OUT = {"budget", "data.test", "data.test_where", "data.folds", "train.baseline", "train.refit"}


def _options() -> list[tuple[str, Parameter]]:
    return [(key, option) for key, option in options() if key not in _LEFT_OUT]


def register(app: typer.Typer) -> None:
    """Adds the command of this file."""
    add(
        app,
        "sweep",
        with_options(sweep, _options()),
        "senti sweep reviews.csv --arch bow --set model.fit_lr=0.5,1 --set model.word_ngrams=1,2",
        "senti sweep reviews.csv --set arch=tfidf,nb --budget 5m --engine processes -o runs/which --json",
        "senti sweep reviews.csv --arch bow --set model.fit_lr=0.5,1 --dry-run",
    )
