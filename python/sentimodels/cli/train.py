"""`senti train`: flags and TOML -> `RunConfig` -> one run, or one for each seed or fold.

Flags go above `--set`, that above `--config`, that above the defaults of the architecture.
"""

from collections.abc import Callable, Iterator
from functools import partial
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sentitok.cli.engine import Address, EngineName, OnError, Workers

from .command import AsJson, Output, Quiet, Traceback, UsageError, add
from .launch import (
    Stopper,
    output_of_first,
    refuse_windows_of_bags,
    refuse_workers,
    run,
    say_stopped,
    scheduled,
    training_callbacks,
    trees,
    varying_defaults,
)
from .options import (
    MODEL,
    Assignments,
    ConfigFile,
    DryRun,
    ForceRun,
    parameters,
    refuse_others,
    tree_of,
    with_options,
)
from .summary import folds_summary, seeds_summary, summary, sweep_summary

if TYPE_CHECKING:
    from ..config import RunConfig
    from ..runs.group import Done, Scheduling
    from ..runs.tables import Tables

__all__ = ["options", "register", "say_group", "settled"]


def train(
    data: Annotated[
        str | None, typer.Argument(metavar="DATA", help="File or folder of labelled texts.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="Run directory to write. [default: runs/ARCH; with --folds runs/ARCH-folds]",
        ),
    ] = None,
    config: ConfigFile = None,
    set_: Assignments = None,
    seeds: Annotated[
        int,
        typer.Option(
            "--seeds",
            min=1,
            help="Number of seeds to train with; the report has mean and interval of their scores.",
            metavar="N",
            rich_help_panel="Training",
        ),
    ] = 1,
    resume: Annotated[
        Path | None,
        typer.Option(
            "--resume",
            metavar="DIR",
            help="Resume the stopped run, seeds, folds or sweep in this directory, with its own settings.",
        ),
    ] = None,
    engine: EngineName = None,
    address: Address = None,
    workers: Workers = None,
    on_error: OnError = "skip",
    dry_run: DryRun = False,
    force: ForceRun = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
    **given: Any,
) -> None:
    """Train a classifier on labelled texts.

    A validation part is held out and, of 10,000 rows or more, a test part. The best step by
    validation macro-F1 is kept. Ctrl-C saves the run; senti train --resume DIR continues it.
    """
    output = output_of_first("senti.train/1", as_json=as_json, quiet=quiet)
    who: dict[str, Any] = {"engine": engine, "address": address, "workers": workers}
    if resume is not None:
        baseline = given.pop("train__baseline")
        refuse_others(data, config, set_, out, "--force" * force, tree_of(given))
        _resume(output, resume, baseline, on_error=on_error, **who)
        return
    flags = tree_of({**given, "data__train": data})
    resolved, tables = settled(output, trees(config, set_ or [], flags), None if force else out)
    refuse_windows_of_bags(resolved)
    folder = out or Path("runs") / resolved.arch.rstrip("/").replace(":", "-").split("/")[-1]
    in_folds = resolved.data.folds is not None and resolved.data.fold is None
    if in_folds and seeds > 1:
        raise UsageError("--seeds and --folds exclude each other; --set data.fold=0 trains a single fold")
    if not in_folds and seeds == 1:
        refuse_workers(**who)
    if dry_run:
        from ..runs.execute import recipe_of
        from ..runs.group import runs_of_folds
        from .launch import dry_run_of

        runs = list(runs_of_folds(resolved).values()) if in_folds else [resolved] * seeds
        rows = None if in_folds else tables
        dry_run_of(output, recipe_of(runs[0], tables=rows), len(runs))
    elif in_folds:
        folder = out or folder.with_name(f"{folder.name}-folds")
        n, device = resolved.data.folds or 1, resolved.train.device
        with scheduled(output, n, device, on_error=on_error, **who) as scheduling:
            _run_folds(output, folder, resolved, force, scheduling)
    elif seeds == 1:
        more = partial(_dropped, output, resolved)
        run(output, "train", folder, resolved, summary, force=force, tables=tables, more=more)
    else:
        with scheduled(output, seeds, resolved.train.device, on_error=on_error, **who) as scheduling:
            _run_seeds(output, folder, resolved, seeds, tables, force, scheduling)


def settled(
    output: Output, given: list[dict[str, Any]], out: Path | None
) -> "tuple[RunConfig, Tables | None]":
    """Returns the configuration, of the architecture that is best where none is named; tables if read."""
    from ..config import AUTO, RunConfig
    from ..runs.families import CLASSIFIER, merge, resolve
    from ..runs.init_weights import fit_width_to_vectors, inherit_config

    given = [dict(tree) for tree in fit_width_to_vectors(*inherit_config(*given))]
    if merge(given).get("arch", RunConfig.model_fields["arch"].default) != AUTO:
        resolved = resolve(*given)
        if (command := CLASSIFIER.commands[resolved.task.kind]) != "train":
            raise UsageError(
                f"task.kind {resolved.task.kind}: senti {command} TEACHER trains such a run, and resumes it "
                "with --resume DIR"
            )
        return resolved, None
    from ..runs.auto import AT_ONCE, choose, without_architecture
    from ..runs.group import refuse
    from ..runs.tables import check_files, read_tables
    from ..training.distributed import check_alone

    check_alone("arch auto", "name an architecture: --arch gpt")
    data = without_architecture(*given)
    check_files(data)
    if out is not None:
        refuse(out)  # before the rows are read
    tables = read_tables(data)
    return choose(*given, tables=tables, on_warning=output.note, processes=AT_ONCE), tables


def _resume(output: Output, folder: Path, baseline: bool | None, *, on_error: str, **who: Any) -> None:
    """Resumes the run or group of a folder."""
    from ..runs import group
    from ..runs.families import resolve

    if not group.is_group(folder):
        refuse_workers(**who)
        run(output, "train", folder, None, summary, baseline=baseline)
        return
    begun, stopper = group.load(folder), Stopper()
    config = resolve(next(iter(begun.runs.values())))
    with (
        scheduled(
            output, group.n_left(begun, folder), config.train.device, on_error=on_error, **who
        ) as scheduling,
        training_callbacks(output, stopper) as callbacks,
    ):
        done = group.run_all(begun, folder, None, callbacks, baseline=baseline, **scheduling)
    say_group(output, folder, done, stopper)


def say_group(output: Output, folder: Path, done: "Done", stopper: Stopper) -> None:
    """Prints the results of a group.

    Raises:
        Exception: the first failure of a run, unless it is a result of a sweep.
    """
    from ..runs.group import about_folds, about_seeds
    from ..runs.sweep import about_sweep

    about: Callable[[Done], dict[str, Any]]
    about, page = {
        "seeds": (about_seeds, seeds_summary), "folds": (about_folds, folds_summary),
        "sweep": (about_sweep, sweep_summary),
    }[done.group.kind]  # fmt: skip
    facts = about(done)
    schema = "senti.sweep/1" if done.group.kind == "sweep" else output.schema
    quiet = str(folder / facts["best"]) if facts.get("best") else str(folder)
    Output(schema, as_json=output.as_json, quiet=output.quiet).result(
        {"run": str(folder), **facts}, page(facts, folder), quiet
    )
    say_stopped(done.stopped, folder, stopper)
    if done.error is not None:
        raise done.error


def _dropped(output: Output, config: "RunConfig", folder: Path) -> dict[str, Any]:
    """Returns the change of scores without suspects, where there are test rows to see it on."""
    from ..runs.directory import read_json

    if config.data.drop_suspects is None or read_json(folder / "run.json")["fit"]["stop"] == "stopped":
        return {}
    from ..predictor import load_predictor
    from ..runs.drop_suspects import effect

    output.note("training on all rows too, to compare")
    found = effect(config, folder, load_predictor)
    if found is None:
        output.note("no test rows show what leaving out suspects changes; --test-share 0.1 holds some out")
    return {} if found is None else {"dropped": found}


def _run_seeds(
    output: Output, folder: Path, config: "RunConfig", n: int, tables: "Tables | None", force: bool,
    scheduling: "Scheduling",
) -> None:  # fmt: skip
    """Trains one run for each seed, and prints mean and spread."""
    from ..runs.group import train_seeds

    stopper = Stopper()
    with training_callbacks(output, stopper, folder if force else None) as callbacks:
        done = train_seeds(config, n, folder, callbacks, tables=tables, **scheduling)
    say_group(output, folder, done, stopper)


def _run_folds(
    output: Output, folder: Path, config: "RunConfig", force: bool, scheduling: "Scheduling"
) -> None:
    """Trains one run for each fold, and prints mean and interval."""
    from ..runs.group import train_folds

    stopper = Stopper()
    with training_callbacks(output, stopper, folder if force else None) as callbacks:
        done = train_folds(config, folder, callbacks, **scheduling)
    say_group(output, folder, done, stopper)


def options() -> Iterator[tuple[str, Parameter]]:
    """Yields the options that a classifier's configuration has, by key."""
    from ..config import DEFAULT_TASK, TASKS, RunConfig

    sections = [row.config for row in TASKS.values() if row.command == "train"]
    return parameters(RunConfig, sections, model=MODEL, defaults=varying_defaults(DEFAULT_TASK))


def register(app: typer.Typer) -> None:
    """Adds the command of this file."""
    add(
        app,
        "train",
        with_options(train, options()),
        "senti train reviews.csv --out runs/first",
        "senti train reviews.csv --budget 5m --folds 5 --out runs/folds",
        "senti train reviews.csv --arch gpt --preset nano --epochs 1 --out runs/gpt",
    )
