"""`senti export` and `senti import`: language models as other libraries write them.

Not for what their files hold (`sentimodels.lm.layouts`).
"""

from pathlib import Path
from typing import Annotated

import typer

from .command import AsJson, Command, Output, Quiet, Traceback, UsageError, examples

_FORMATS = ("transformers",)


def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run directory of a language model.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Folder to write.")],
    to: Annotated[
        str, typer.Option("--to", metavar="NAME", help="Library that is to read it: transformers.")
    ] = "transformers",
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Write a language model as another library reads it.

    For transformers: a gpt that is GPT-2 (learned positions, LayerNorm first, biases) or a bert, with
    its heads and its tokenizer, as safetensors.
    """
    from ..lm.directory import load_language_model
    from ..lm.layouts.folder import export_model

    output = Output("senti.export/1", as_json=as_json, quiet=quiet)
    if to not in _FORMATS:
        raise UsageError(f"--to {to}: expected {', '.join(_FORMATS)}")
    files = export_model(load_language_model(run), out)
    named = [str(path) for path in files]
    output.result({"out": str(out), "files": named}, "\n".join(["wrote", *named]), str(out))


def import_(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder that transformers' save_pretrained wrote.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="RUN", help="Run directory to write.")],
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Read a GPT-2 or BERT of transformers into a run directory.

    Only safetensors are read, never pickles (.bin).
    """
    from sentitok.cli.output import number

    from ..lm.layouts.folder import import_model

    output = Output("senti.import/1", as_json=as_json, quiet=quiet)
    loaded, notes = import_model(folder, out)
    for note in notes:
        output.note(f"note: {note}")
    n_parameters = sum(parameter.numel() for parameter in loaded.module.parameters())
    said = f"{loaded.config.arch} with {number(n_parameters)} parameters in {out}"
    next_step = "senti generate" if loaded.config.task.kind == "next-token" else "senti train FILE --init"
    found = {"out": str(out), "arch": loaded.config.arch, "parameters": n_parameters, "notes": notes}
    output.result(found, f"{said}\nnext: {next_step} {out}", str(out))


def register(app: typer.Typer) -> None:
    """Adds the commands of this file."""
    app.command(
        "export",
        cls=Command,
        no_args_is_help=True,
        epilog=examples(
            "senti export runs/base --to transformers -o gpt2", "senti export runs/base -o gpt2-again --json"
        ),
    )(export)
    app.command(
        "import",
        cls=Command,
        no_args_is_help=True,
        epilog=examples("senti import gpt2 -o runs/gpt2", "senti import gpt2 -o runs/again --quiet"),
    )(import_)
