"""The commands of `senti`, put together.

A command is imported when it is called, and torch and its kin by the command that runs, so that
`senti --help` starts at once. The commands belong to the extra `models`; without what the extra installs,
`senti` says what to type.
"""

import sys
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal, cast

import typer
from typer.core import TyperCommand

from .command import Group, examples, on_terminal
from .waiting import sleep_if_busy

__all__ = ["COMMANDS", "build", "start"]

_HELP = "Train, evaluate and run text classifiers, language models and translation models."
# Packages that every command of `senti` needs, and the extra installs.
_NEEDED = ("torch", "pydantic", "safetensors")
# Each command, in the order of `senti --help`: its file, and its line and panel in that list.
COMMANDS = {
    "train": ("train", "Train a classifier on labelled texts.", "Train"),
    "pretrain": ("pretrain", "Pre-train a language model on texts.", "Train"),
    "align": ("align", "Align a language model with a reward, or with preferences.", "Train"),
    "translate": ("translate", "Train translation models, translate, and score translations.", "Train"),
    "distill": ("distill", "Distill a run or an ensemble into one small model.", "Train"),
    "ensemble": ("ensemble", "Combine several runs into one predictor.", "Train"),
    "sweep": ("sweep", "Train a run for each combination of settings, and rank them.", "Train"),
    "predict": ("predict", "Predict the label of each text.", "Answer"),
    "thresholds": ("thresholds", "Choose how sure a run must be to give a label.", "Answer"),
    "explain": ("explain", "Show what each token of a text adds to the answer of a run.", "Answer"),
    "generate": ("generate", "Continue texts with a language model.", "Answer"),
    "serve": ("serve", "Try runs on a page, as you type.", "Answer"),
    "submit": ("evaluate", "Write predictions as a Kaggle submission.", "Answer"),
    "evaluate": ("evaluate", "Score a run on a labelled file.", "Evaluate and compare"),
    "errors": ("errors", "Show the worst errors of a run on a labelled file.", "Evaluate and compare"),
    "compare": ("compare", "Compare runs on the same rows, or fold by fold.", "Evaluate and compare"),
    "plot": ("plot", "Draw figures of runs, predictions or data.", "Evaluate and compare"),
    "runs": ("runs", "List the runs of a folder, best validation macro-F1 first.", "Evaluate and compare"),
    "bench": ("bench", "Measure how fast each architecture trains and answers.", "Evaluate and compare"),
    "data": ("data", "Check, describe and split labelled files.", "Prepare"),
    "archs": ("inspect", "List the architectures, with their presets and sizes.", "Prepare"),
    "init": ("inspect", "Write a configuration file with every key and its default.", "Prepare"),
    "card": ("card", "Write a model card: data, scores, limits and hashes.", "Share"),
    "export": ("export", "Write a model as another library reads it.", "Share"),
    "page": ("export", "Write a classifier as one HTML file, which answers in the browser.", "Share"),
    "import": ("export", "Read a model of transformers into a run directory.", "Share"),
    "reproduce": ("reproduce", "Train a run again, and say whether it is equal.", "Share"),
    "verify": ("inspect", "Check that no file of a run has changed since it was written.", "Share"),
}


class _Commands(Mapping[str, Any]):
    """The commands by name; a command's file is imported when the command is looked up."""

    def __init__(self) -> None:
        self._imported: dict[str, Any] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)

    def __getitem__(self, name: str) -> Any:
        if name not in self._imported:
            app = typer.Typer(rich_markup_mode=_markup())
            import_module(f".{COMMANDS[name][0]}", __package__).register(app)
            self._imported |= typer.main.get_group(app).commands
        return self._imported[name]


class _Senti(Group):
    """`senti`: lists its commands without importing them."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.commands = cast("MutableMapping[str, Any]", _Commands())

    def list_commands(self, _: Any) -> list[str]:
        """Returns the names of the commands."""
        return list(COMMANDS)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Writes the help."""
        with self._listed():
            super().format_help(ctx, formatter)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Returns the completions of the shell."""
        with self._listed():
            return super().shell_complete(ctx, incomplete)

    @contextmanager
    def _listed(self) -> Iterator[None]:
        """Replaces the commands by their lines in the list."""
        commands = self.commands
        self.commands = {
            name: TyperCommand(name, short_help=line, rich_help_panel=panel)
            for name, (_, line, panel) in COMMANDS.items()
        }
        try:
            yield
        finally:
            self.commands = commands


def _installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ValueError:  # a module blocked by an entry in sys.modules
        return False


def _markup() -> Literal["rich"] | None:
    """Returns how help is drawn: boxes and colours are for people, a pipe or a log gets plain text."""
    return "rich" if on_terminal() else None


def build() -> typer.Typer:
    """Builds the command line."""
    app = typer.Typer(
        cls=_Senti,
        no_args_is_help=True,
        rich_markup_mode=_markup(),
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

    return app


def start() -> None:
    """Runs the command line, if its packages are installed."""
    missing = [name for name in _NEEDED if not _installed(name)]
    if missing:
        print(f"senti: it needs {', '.join(missing)}; install the extra:", file=sys.stderr)
        print('  pip install "sentitok[models]"', file=sys.stderr)
        sys.exit(1)
    sleep_if_busy()
    build()(prog_name="senti")
