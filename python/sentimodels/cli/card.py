"""`senti card`: a run's model card in Markdown, with the front matter that the Hugging Face Hub reads.

Not for what stands in it (`runs.card`, `runs.language_card`, `alignment.card`) nor for how it reads
(`cards/`, a file for each kind of run).
"""

from pathlib import Path
from typing import Annotated, Any

import typer

from .command import (
    AsJson,
    Command,
    Force,
    Output,
    Quiet,
    Traceback,
    UsageError,
    check_file,
    examples,
    put_file,
)

__all__ = ["register"]


def card(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="Run directory of a model of any kind, or an ensemble.")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="File to write. [default: stdout]")
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Write a model card: data, scores with intervals, limits and hashes of a run.

    The run is a classifier, an ensemble, a language model, an aligned one or a translation model. All of
    the card is from the run directory, whose files are checked first. It is Markdown, with the front matter
    of the Hugging Face Hub.
    """
    from ..data.writers import write_atomically
    from ..runs.directory import MANIFEST

    output = Output("senti.card/1", as_json=as_json, quiet=quiet)
    check_file(out, force=force)
    facts, text = _card(run)
    if out is not None:
        if (out.resolve().parent / MANIFEST).is_file():
            raise UsageError(f"{out}: in a run, whose manifest names every file; write the card elsewhere")
        data = text.encode("utf-8", "replace")
        put_file(out, lambda path: write_atomically(path, data), force=force)
    output.result(
        facts,
        text.rstrip("\n") if out is None else f"written  {out}",
        facts["name"] if out is None else str(out),
    )


def _card(run: Path) -> tuple[dict[str, Any], str]:
    """Returns what a run of any kind recorded, and its card."""
    from ..alignment.card import alignment_card
    from ..runs.card import card as classifier_card
    from ..runs.card import ensemble_card, kind_of, language_card, translation_card
    from .cards import aligned, classifier, ensemble, language, translator

    facts_of, laid_out = {
        "aligned-model": (alignment_card, aligned.markdown),
        "classifier": (classifier_card, classifier.markdown),
        "ensemble": (ensemble_card, ensemble.markdown),
        "language-model": (language_card, language.markdown),
        "translator": (translation_card, translator.markdown),
    }[kind_of(run)]
    facts = facts_of(run)
    return facts, laid_out(facts)


def register(app: typer.Typer) -> None:
    """Adds the command of this file."""
    app.command(
        "card",
        cls=Command,
        no_args_is_help=True,
        epilog=examples(
            "senti card runs/first", "senti card runs/first -o README.md", "senti card runs/first --json"
        ),
    )(card)
