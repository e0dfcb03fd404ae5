"""The commands of `senti`, put together.

Not for what runs them (`sentitok.cli.process`). The commands belong to the extra
`models`; without what the extra installs, `senti` says what to type. torch and its kin are
imported by the command that runs, so that `senti --help` starts at once.
"""

import os
import sys
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import typer

__all__ = ["build", "start"]

_HELP = "Train, evaluate and run text classifiers, language models and translation models."
# What every command of `senti` needs, and the extra installs.
_NEEDED = ("torch", "pydantic", "safetensors")
# The files that hold commands, in the order of `senti --help`.
_GROUPS = (
    "train",
    "pretrain",
    "align",
    "distill",
    "sweep",
    "runs",
    "evaluate",
    "errors",
    "submit",
    "predict",
    "explain",
    "generate",
    "serve",
    "card",
    "hf_convert",
    "compare",
    "ensemble",
    "data",
    "plot",
    "inspect",
    "translate",
)
# Those whose options are made from the fields of a configuration.
_CONFIGURED = ("train", "pretrain", "align", "distill", "sweep", "translate")


def _installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ValueError:  # a module blocked by an entry in sys.modules
        return False


def build(called: str | None = None) -> "typer.Typer":
    """Builds the command line.

    Args:
        called: the command that is called, or "" for none: others, which are only listed, then lack the
            options that their configuration has. `None`: all commands are whole.
    """
    import typer

    from .command import Group, examples, on_terminal

    # Boxes and colours are for people: in a pipe or a log, plain text.
    app = typer.Typer(
        cls=Group,
        no_args_is_help=True,
        rich_markup_mode="rich" if on_terminal() else None,
        pretty_exceptions_enable=False,
        epilog=examples("senti train reviews.csv --out runs/first", "senti archs"),
        help=_HELP,
    )

    def version(wanted: bool) -> None:
        if wanted:
            from sentitok import __version__

            print(f"senti {__version__}")
            raise typer.Exit

    @app.callback()
    def senti(
        version: bool = typer.Option(
            False, "--version", help="Print the version.", callback=version, is_eager=True
        ),
    ) -> None:
        """Prints the version where it is asked for; the commands do the rest."""

    for name in _GROUPS:
        if find_spec(f"{__package__}.{name}") is None:
            continue
        command = import_module(f"{__package__}.{name}")
        if name in _CONFIGURED:
            command.register(app, whole=called in (None, name))
        else:
            command.register(app)
    return app


def _called(words: list[str]) -> str | None:
    """Returns the command that a command line names, or ""; `None` where a shell asks for completions."""
    if "_SENTI_COMPLETE" in os.environ:
        return None
    return next((word for word in words if not word.startswith("-")), "")


def start() -> None:
    """Runs the command line, if what it needs is there."""
    missing = [name for name in _NEEDED if not _installed(name)]
    if missing:
        print(f"senti: it needs {', '.join(missing)}; install the extra:", file=sys.stderr)
        print('  pip install "sentitok[models]"', file=sys.stderr)
        sys.exit(1)
    build(_called(sys.argv[1:]))(prog_name="senti")
