"""`senti distill`: flags and TOML -> `RunConfig` -> a student that answers as its teacher does.

Flags go above `--set`, that above `--config`, that above what the teacher read.
"""

from collections.abc import Iterator
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any

import typer

from .command import AsJson, Quiet, Traceback, add
from .launch import output_of_first, refuse_windows_of_bags, run, trees, varying_defaults
from .options import (
    MODEL,
    Assignments,
    ConfigFile,
    DryRun,
    ForceRun,
    Resumed,
    of_architectures,
    parameters,
    refuse_others,
    tree_of,
    with_options,
)
from .summary import summary

# Options of `senti train` that a student does not have: it is trained once, its architecture is named here.
_NOT_HERE = {"arch", "budget", "data.folds", "train.refit"}


def distill(
    teacher: Annotated[
        str | None,
        typer.Argument(metavar="TEACHER", help="Run directory or ensemble to learn from."),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            "--data",
            metavar="FILE",
            help="File or folder of texts to learn from; labels are used where there are any. Give --format "
            "lines for one text per line. [default: the teacher's training rows]",
        ),
    ] = None,
    arch: Annotated[
        str | None,
        typer.Option(
            "--arch",
            metavar="NAME",
            help="Architecture of the student; senti archs lists them. [default: lstm]",
            autocompletion=of_architectures,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="DIR", help="Run directory to write. [default: runs/ARCH-distilled]"
        ),
    ] = None,
    config: ConfigFile = None,
    set_: Assignments = None,
    resume: Resumed = None,
    dry_run: DryRun = False,
    force: ForceRun = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
    **given: Any,
) -> None:
    """Distill a run or an ensemble into one small model.

    The student learns the probabilities of the teacher, also for texts without labels. Validation rows
    choose its best step by macro-F1 or, where they have no labels, by the divergence from the teacher.
    Rows that the teacher was evaluated on are left out of training, and rows that it was trained on are
    not used to evaluate. Ctrl-C saves the run; senti distill --resume DIR continues it.
    """
    from ..recipes.distillation import resolve_distillation

    output = output_of_first("senti.distill/1", as_json=as_json, quiet=quiet)
    if resume is not None:
        baseline = given.pop("train__baseline")
        refuse_others(teacher, data, arch, config, set_, "--force" * force, out, tree_of(given))
        run(output, "distill", resume, None, summary, baseline=baseline)
        return
    flags = tree_of({**given, "arch": arch, "task__teacher": teacher, "data__train": data})
    resolved = resolve_distillation(*trees(config, set_ or [], flags))
    refuse_windows_of_bags(resolved)
    name = resolved.arch.rstrip("/").replace(":", "-").split("/")[-1]
    run(
        output,
        "distill",
        out or Path("runs") / f"{name}-distilled",
        resolved,
        summary,
        force=force,
        dry_run=dry_run,
    )


def options() -> Iterator[tuple[str, Parameter]]:
    """Yields the options that the configuration of a student has, by key."""
    from ..config import DistillationConfig, RunConfig

    varying = varying_defaults("distillation")
    made = parameters(RunConfig, [DistillationConfig], model=MODEL, defaults=varying)
    return ((key, parameter) for key, parameter in made if key not in _NOT_HERE)


def register(app: typer.Typer) -> None:
    """Adds the command of this file."""
    add(
        app,
        "distill",
        with_options(distill, options()),
        "senti distill runs/gpt --arch lstm --out runs/student",
        "senti distill runs/gpt --arch lstm --data texts.txt --format lines --out runs/unlabelled",
        "senti distill --resume runs/student",
    )
