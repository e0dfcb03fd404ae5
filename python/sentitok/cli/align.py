"""`sentitok align`: the spans of a text that two tokenizers agree on."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..spelling import readable, spelled_tokens
from .command import AsJson, Command, Quiet, Traceback, examples, grouped
from .loading import FileOptions, refuse_unneeded
from .output import Output, counted, table
from .texts import one_text_from_stdin

if TYPE_CHECKING:
    from sentitok import Encoding, Tokenizer

__all__ = ["register"]


def align(
    one: Annotated[Path, typer.Argument(metavar="A", help="Tokenizer.")],
    other: Annotated[Path, typer.Argument(metavar="B", help="Tokenizer to align it with.")],
    text: Annotated[
        str | None, typer.Argument(metavar="TEXT", help="Text to align; - is stdin. [default: stdin]")
    ] = None,
    *,
    file: FileOptions,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Show the smallest spans of a text that no token of two tokenizers crosses.

    Tokens are those of encode, without the template's special tokens.
    """
    from sentitok import align as aligned_spans

    output = Output("sentitok.align/1", as_json=as_json, quiet=quiet)
    file.specials()  # wrong ones are found before the files are read
    refuse_unneeded(one, other)
    a, b = (file.load(path) for path in (one, other))
    if text is None or text == "-":
        text = one_text_from_stdin(output).decode("utf-8", "replace")
    encodings = [tokenizer.encode(text, add_special_tokens=False) for tokenizer in (a, b)]
    aligned = aligned_spans(encodings[0], encodings[1], text)
    tokens = [_spelled(tokenizer, made) for tokenizer, made in zip((a, b), encodings, strict=True)]
    spans: list[dict[str, Any]] = [
        {
            "span": span,
            "text": text[slice(*span)],
            "a": {"range": in_a, "tokens": tokens[0][slice(*in_a)]},
            "b": {"range": in_b, "tokens": tokens[1][slice(*in_b)]},
        }
        for span, in_a, in_b in zip(*(pairs.tolist() for pairs in aligned), strict=True)
    ]
    n_tokens = [len(made) for made in encodings]
    rows = [
        [
            readable(span["text"].encode("utf-8", "replace")),
            *("│".join(span[side]["tokens"]) for side in "ab"),
        ]
        for span in spans
    ]
    sizes = f"{counted(len(spans), 'span')}; {n_tokens[0]} and {n_tokens[1]} tokens"
    shown = f"{table(['text', 'A', 'B'], rows)}\n{sizes}" if output.human else ""
    output.result({"spans": spans, "n_tokens": n_tokens}, shown, str(len(spans)))


def _spelled(tokenizer: "Tokenizer", encoding: "Encoding") -> list[str]:
    return [str(token["text"]) for token in spelled_tokens(tokenizer, encoding)]


def register(app: typer.Typer) -> None:
    """Adds the command of this file."""
    app.command(
        "align",
        rich_help_panel="Inspect and compare",
        short_help="Show the spans of a text that two tokenizers agree on.",
        cls=Command,
        no_args_is_help=True,
        epilog=examples(
            'sentitok align tokenizer.json merged.json "A gripping film."',
            'sentitok align tokenizer.json merged.json "A gripping film." --json',
        ),
    )(grouped(align))
