"""`senti archs`, `init`, `verify`: what there is, a configuration to begin from, is a run whole.

Not for scores. Each is one call into the library and a page of output.
"""

from pathlib import Path
from typing import Annotated

import typer

from sentitok.cli.output import lines, number, table

from .command import AnswerIsNoError, AsJson, Command, Output, Quiet, Traceback, UsageError, examples
from .completions import of_architectures, of_presets


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
    text = table(["name", "what it is".ljust(48), "presets"], rows)
    output.result({"architectures": value}, f"{text}\n\nnext  senti init --arch lstm", "\n".join(value))


def init(
    arch: Annotated[
        str,
        typer.Option(
            "--arch",
            metavar="NAME",
            help="Architecture; senti archs lists them. senti train chooses one where no file names it.",
            autocompletion=of_architectures,
        ),
    ] = "lstm",
    preset: Annotated[
        str | None,
        typer.Option(
            "--preset",
            metavar="SIZE",
            help="Size of the model, such as nano; senti archs lists them. [default: none]",
            autocompletion=of_presets,
        ),
    ] = None,
    task: Annotated[
        str,
        typer.Option(
            "--task",
            metavar="KIND",
            help="Task: classification; next-token or masked for senti pretrain. [default: classification]",
            show_default=False,
        ),
    ] = "classification",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="File to write to. [default: stdout]")
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Write a configuration file with every key and its default.

    The file is TOML; comments say what each key means.
    """
    from ..config import LANGUAGE_TASKS
    from ..data.writers import write_atomically
    from ..runs.config import resolve
    from ..runs.language import resolve_language

    output = Output("senti.init/1", as_json=as_json, quiet=quiet)
    tree = {"arch": arch, "task": {"kind": task}} | ({"preset": preset} if preset else {})
    of_language = task in LANGUAGE_TASKS
    config = resolve_language(tree) if of_language else resolve(tree)
    command = "senti pretrain books.txt" if of_language else "senti train reviews.csv"
    text = config.to_toml(comments=True)
    if out is not None:
        if out.exists():
            raise UsageError(f"{out}: exists already; remove it, or give another --out")
        write_atomically(out, text.encode())
        text = lines([("written", str(out)), ("next", f"{command} --config {out}")])
    output.result(
        {"config": config.tree()}, text.rstrip("\n"), text.rstrip("\n") if out is None else str(out)
    )


def verify(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run directory or ensemble.")],
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Check that no file of a run has changed since it was written.

    Files are compared with the manifest, and the tokenizer with the weights. Of an ensemble, every
    run in it is checked, and that it is the run whose weight was fitted.
    """
    from ..runs.directory import verify
    from ..runs.ensemble import members_of, verify_ensemble

    output = Output("senti.verify/1", as_json=as_json, quiet=quiet)
    members = members_of(run)
    wrong = verify(run) if members is None else verify_ensemble(run)
    there = [path for folder in members or [run] for path in folder.iterdir() if path.is_file()]
    text = "\n".join(wrong) if wrong else f"{run}: {number(len(there))} files, none has changed"
    output.result({"run": str(run), "wrong": wrong}, text, str(len(wrong)))
    if wrong:
        raise AnswerIsNoError(f"{run}: {len(wrong)} problems")


def register(app: typer.Typer) -> None:
    """Adds the commands of this file."""
    app.command("archs", cls=Command, epilog=examples("senti archs", "senti archs --json"))(archs)
    app.command(
        "init",
        cls=Command,
        epilog=examples(
            "senti init --arch gpt --preset nano",
            "senti init --arch lstm -o run.toml",
            "senti init --arch gpt --task next-token -o lm.toml",
        ),
    )(init)
    app.command(
        "verify",
        cls=Command,
        no_args_is_help=True,
        epilog=examples("senti verify runs/first", "senti verify runs/first --json"),
    )(verify)
