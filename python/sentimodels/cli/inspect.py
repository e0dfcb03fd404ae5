"""`senti archs`, `init`, `verify`: lists architectures, writes a configuration, checks a run.

Each is one call into the library and a page of output.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sentitok.cli.output import counted, lines, number, table

from ..config import DEFAULT_TASK, TASKS
from .command import (
    AnswerIsNoError,
    AsJson,
    Force,
    Output,
    Quiet,
    Traceback,
    UsageError,
    add,
    check_file,
    put_file,
    typed,
)
from .options import of_architectures, of_presets

if TYPE_CHECKING:
    from ..config import Written


def archs(as_json: AsJson = False, quiet: Quiet = False, traceback: Traceback = False) -> None:
    """List the architectures, with their presets and sizes."""
    from ..models import ARCHITECTURES

    output = Output("senti.archs/1", as_json=as_json, quiet=quiet)
    value = {
        name: {"summary": row.summary, "presets": {key: dict(size) for key, size in row.presets.items()}}
        for name, row in ARCHITECTURES.items()
    }
    rows = [
        [
            name,
            row.summary.ljust(48),
            f"{next(iter(row.presets))} to {list(row.presets)[-1]}" if row.presets else "-",
        ]
        for name, row in ARCHITECTURES.items()
    ]
    rows.append(["hf:PATH", "a model of transformers, from its folder".ljust(48), "-"])
    text = table(["name", "what it is".ljust(48), "presets"], rows)
    output.result({"architectures": value}, f"{text}\n\nnext  senti init --arch lstm", "\n".join(value))


def init(
    arch: Annotated[
        str | None,
        typer.Option(
            "--arch",
            metavar="NAME",
            help="Architecture; senti archs lists them. [default: lstm; with --task seq2seq, seq2seq]",
            autocompletion=of_architectures,
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            "--preset",
            metavar="SIZE",
            help="Size of the model, such as nano; senti archs lists them. [default: that of the "
            "architecture]",
            autocompletion=of_presets,
        ),
    ] = None,
    task: Annotated[
        str,
        typer.Option(
            "--task",
            metavar="KIND",
            help=f"Task to train for: {', '.join(TASKS)}. [default: {DEFAULT_TASK}]",
            show_default=False,
            autocompletion=lambda incomplete: [kind for kind in TASKS if kind.startswith(incomplete)],
        ),
    ] = DEFAULT_TASK,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="File to write to. [default: stdout]")
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Write a configuration file with every key and its default.

    The file is TOML; comments say what each key means.
    """
    from sentitok.atomic import write as write_atomically

    output = Output("senti.init/1", as_json=as_json, quiet=quiet)
    check_file(out, force=force)
    if task not in TASKS:
        raise UsageError(f"--task {task}: unknown task; expected {', '.join(TASKS)}")
    config, row = _defaults(arch, preset, task), TASKS[task]
    text = config.to_toml(comments=True)
    if out is not None:
        data = text.encode()
        put_file(out, lambda path: write_atomically(path, data), force=force)
        text = lines(
            [("written", str(out)), ("next", f"senti {row.command} {row.given} {typed('--config', out)}")]
        )
    output.result(
        {"config": config.tree()}, text.rstrip("\n"), text.rstrip("\n") if out is None else str(out)
    )


def _defaults(arch: str | None, preset: str | None, task: str) -> "Written":
    """Returns the configuration that a command begins from.

    Raises:
        UsageError: if an architecture is named where the base brings it.
        ConfigError: if it cannot do the task.
    """
    from ..runs.families import ALIGNMENT, FAMILIES, TRANSLATOR

    family = next(one for one in FAMILIES if task in one.tasks)
    if family is ALIGNMENT and (arch is not None or preset is not None):
        raise UsageError(f"--arch, --preset: {task} aligns a run that has both; leave them out")
    tree: dict[str, Any] = {"preset": preset} if preset else {}
    if family not in (ALIGNMENT, TRANSLATOR):
        arch = arch or "lstm"
    tree |= {"arch": arch} if arch else {}
    made: Written = family.resolve(tree | {"task": {"kind": task}}, complete=family is not ALIGNMENT)
    return made


def verify(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run directory or ensemble.")],
    data: Annotated[
        bool, typer.Option("--data", help="Check the files it was trained and judged on too.")
    ] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Check that no file of a run has changed since it was written.

    Files are compared with the manifest, and the tokenizer with the weights. With --refit the first run
    is checked too. Of an ensemble, every run in it is checked, and that it is the run whose weight was
    fitted.
    """
    from ..runs.directory import MANIFEST, UNFINISHED
    from ..runs.ensemble import members_of, verify_ensemble
    from ..runs.verify import changed_data, verify

    output = Output("senti.verify/1", as_json=as_json, quiet=quiet)
    members = members_of(run)
    wrong = verify(run) if members is None else verify_ensemble(run)
    if data:
        for folder in members or [run]:
            wrong += changed_data(folder)
    others = (MANIFEST, *UNFINISHED)  # which no manifest names
    paths = [path for folder in members or [run] for path in folder.iterdir()]
    there = [path for path in paths if path.is_file() and path.name not in others]
    text = "\n".join(wrong) if wrong else f"{run}: {number(len(there))} files, none has changed"
    output.result({"run": str(run), "wrong": wrong}, text, str(len(wrong)))
    if wrong:
        raise AnswerIsNoError(f"{run}: {counted(len(wrong), 'problem')}")


def register(app: typer.Typer) -> None:
    """Adds the commands of this file."""
    add(app, "archs", archs, "senti archs", "senti archs --json", runs_alone=True)
    add(
        app,
        "init",
        init,
        "senti init --arch lstm -o run.toml",
        "senti init --arch gpt --preset nano --task next-token -o lm.toml",
        "senti init --task ppo -o align.toml",
        runs_alone=True,
    )
    add(
        app,
        "verify",
        verify,
        "senti verify runs/first",
        "senti verify runs/first --data",
        "senti verify runs/first --json",
    )
