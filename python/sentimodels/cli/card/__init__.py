"""`senti card`: a run's model card in Markdown, with the front matter that the Hugging Face Hub reads.

Facts (`sentimodels.runs.card`) become sentences and tables here, by one template (`layout.py`); a file for
each family has the sentences of its kinds. Unrecorded facts (licence, language, where texts come from) are
named as missing, not made up.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from ..command import (
    AsJson,
    Force,
    Output,
    Quiet,
    Traceback,
    UsageError,
    add,
    check_file,
    put_file,
)
from .classifier import ensemble_parts
from .classifier import parts as classifier_parts
from .language import aligned_parts
from .language import parts as language_parts
from .layout import Parts, document
from .translator import parts as translator_parts

__all__ = ["KINDS", "markdown", "register"]

# By the kind that `runs.card` names.
KINDS: dict[str, Callable[[dict[str, Any]], Parts]] = {
    "aligned-model": aligned_parts,
    "classifier": classifier_parts,
    "ensemble": ensemble_parts,
    "language-model": language_parts,
    "translator": translator_parts,
}


def markdown(facts: dict[str, Any]) -> str:
    """Returns the card of a model of any kind."""
    return document(facts, KINDS[facts["kind"]](facts))


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
    from sentitok.atomic import write as write_atomically

    from ...runs.card import card as facts_of
    from ...runs.directory import MANIFEST

    output = Output("senti.card/1", as_json=as_json, quiet=quiet)
    check_file(out, force=force)
    facts = facts_of(run)
    text = markdown(facts)
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


def register(app: typer.Typer) -> None:
    """Adds the command of this file."""
    add(
        app,
        "card",
        card,
        "senti card runs/first",
        "senti card runs/first -o README.md",
        "senti card runs/first --json",
    )
