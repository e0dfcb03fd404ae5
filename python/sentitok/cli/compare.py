"""`sentitok compare`: do two tokenizers give the same ids, and where do they first differ?"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .command import AnswerIsNoError, AsJson, Command, Quiet, Traceback, UsageError, examples, grouped
from .loading import FileOptions, refuse_unneeded
from .output import Output, counted, lines, number, of_total
from .texts import TextOptions, note_replaced

if TYPE_CHECKING:
    from sentitok import Tokenizer
    from sentitok.differences import Differences

__all__ = ["compared", "found_lines", "register"]


def compare(
    one: Annotated[Path, typer.Argument(metavar="A", help="Tokenizer.")],
    other: Annotated[Path, typer.Argument(metavar="B", help="Tokenizer to compare it with.")],
    files: Annotated[
        list[str], typer.Argument(metavar="FILE...", help="Texts to encode with both; - for stdin.")
    ],
    *,
    file: FileOptions,
    reading: TextOptions,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Compare the ids that two tokenizers give for texts; exit code 1 if they differ.

    Ids are those of encode, the template's special tokens included.
    """
    from sentitok.differences import differences
    from sentitok.documents import n_bytes

    output = Output("sentitok.compare/1", as_json=as_json, quiet=quiet)
    file.specials()  # wrong ones are found before the files are read
    reading.check(files)
    total = n_bytes(files, reading.format)  # and a file that is missing is found before all else
    refuse_unneeded(one, other)
    a, b = (file.load(path) for path in (one, other))
    with output.progress() as progress:
        comparison = differences(
            a, b, files, **reading.reading(), threads=reading.threads, progress=of_total(progress, total)
        )
    note_replaced(output, files, comparison.replaced)
    if not comparison.documents:
        names = ", ".join(map(str, files))
        raise UsageError(f"{names}: no document, so nothing was compared; give a text that is not empty")
    shared = _shared(a, b)
    value: dict[str, Any] = {
        "a": {"tokenizer": str(one), "fingerprint": a.fingerprint, "n_tokens": a.n_tokens},
        "b": {"tokenizer": str(other), "fingerprint": b.fingerprint, "n_tokens": b.n_tokens},
        "shared_tokens": shared,
        **comparison.as_dict(),
    }
    sizes = f"{number(a.n_tokens)} and {number(b.n_tokens)} tokens"
    pairs = [
        ("vocabulary", f"{sizes}, {number(shared)} with equal ids"),
        ("tokens", f"{number(comparison.tokens_a)} and {number(comparison.tokens_b)}"),
        ("documents", compared(comparison)),
        *found_lines(comparison),
    ]
    output.result(value, lines(pairs), str(comparison.differing))
    if comparison.differing:
        raise AnswerIsNoError(
            f"{number(comparison.differing)} of {counted(comparison.documents, 'document')} "
            f"{'gets' if comparison.differing == 1 else 'get'} different ids from {other} than from {one}"
        )


def compared(comparison: "Differences") -> str:
    """Returns how many documents were compared, and how many differ."""
    differ = "differs" if comparison.differing == 1 else "differ"
    return f"{counted(comparison.documents, 'document')}, {number(comparison.differing)} {differ}"


def found_lines(comparison: "Differences") -> list[tuple[str, str]]:
    """Returns the lines that show the first difference, if there is one."""
    if comparison.first is None:
        return []
    first = comparison.first
    return [
        ("first", f"{first.file}, document {first.document}, from token {first.token + 1} on: {first.text}"),
        ("ids of A", " ".join(map(str, first.ids_a))),
        ("ids of B", " ".join(map(str, first.ids_b))),
        ("tokens of A", json.dumps(first.tokens_a, ensure_ascii=False)),
        ("tokens of B", json.dumps(first.tokens_b, ensure_ascii=False)),
    ]


def _shared(one: "Tokenizer", other: "Tokenizer") -> int:
    """Returns how many tokens have the same id in both vocabularies."""
    ids = other.vocab()
    return sum(ids.get(token) == id for token, id in one.vocab().items())


def register(app: typer.Typer) -> None:
    """Adds the command of this file."""
    app.command(
        "compare",
        rich_help_panel="Inspect and compare",
        short_help="Compare the ids that two tokenizers give for texts.",
        cls=Command,
        no_args_is_help=True,
        epilog=examples(
            "sentitok compare tokenizer.json theirs.json corpus.txt",
            "sentitok compare tokenizer.json theirs.json - < corpus.txt",
            "sentitok compare tokenizer.json theirs.json corpus.txt --json",
        ),
    )(grouped(compare))
