"""`sentitok eval`: what tokenizers make of a text, side by side.

Not for measuring: `sentitok.evaluate` does that.
"""

import math
from pathlib import Path
from typing import Annotated, Any

import typer

from .command import AsJson, Command, Quiet, Traceback, UsageError, examples, size
from .output import Output, number, of_total, table
from .train import Format, MaxLineBytes, Threads

# Measure, heading, and how it is written.
_MEASURES = (
    ("bytes_per_token", "bytes/token", "{:.3f}"),
    ("tokens_per_word", "tokens/word", "{:.3f}"),
    ("continued_words", "continued", "{:.1%}"),
    ("single_token_retention", "retained", "{:.1%}"),
    ("unknown_rate", "unknown", "{:.2%}"),
    ("renyi_efficiency", "Rényi", "{:z.3f}"),
    ("vocabulary_use", "used", "{:.1%}"),
)


def evaluate(
    files: Annotated[
        list[Path], typer.Argument(metavar="TOKENIZER... FILE...", help="Tokenizers, then text files.")
    ],
    tokenizers: Annotated[
        list[Path] | None,
        typer.Option(
            "--tokenizer",
            "-t",
            metavar="FILE",
            help="Tokenizer to measure; then every FILE is text. Repeatable.",
        ),
    ] = None,
    per_file: Annotated[bool, typer.Option("--per-file", help="Measure each text file separately.")] = False,
    format: Format = None,
    max_line_bytes: MaxLineBytes = None,
    threads: Threads = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Measure tokenizers on text; docs/eval.md defines the measures."""
    import sentitok
    from sentitok.documents import check_format, documents, n_bytes
    from sentitok.evaluate import evaluate as measure

    chosen, texts = (tokenizers, files) if tokenizers else _apart(files)
    if not (chosen and texts):
        raise UsageError("give at least one tokenizer and one text, as in: sentitok eval tok.json text.txt")
    output = Output("sentitok.eval/1", as_json=as_json, quiet=quiet)
    check_format(format)
    limit = size(max_line_bytes, "--max-line-bytes")
    total = len(chosen) * n_bytes(texts, format)  # and a file that is missing is found before all else
    loaded = [sentitok.Tokenizer.from_file(path) for path in chosen]
    groups = [[text] for text in texts] if per_file else [texts]
    found: list[dict[str, Any]] = []
    with output.progress() as progress:
        for group in groups:
            for path, tokenizer in zip(chosen, loaded, strict=True):
                before = sum(row["bytes"] for row in found)
                measured = measure(
                    tokenizer,
                    documents(group, format, max_line_bytes=limit),
                    threads=threads,
                    progress=of_total(progress, total, before),
                )
                # JSON knows no NaN: a measure of nothing is null.
                values = {
                    k: None if isinstance(v, float) and math.isnan(v) else v
                    for k, v in measured.as_dict().items()
                }
                found.append({"tokenizer": str(path), "files": list(map(str, group)), **values})
    text = _table(found, per_file) if output.human else ""
    output.result(
        {"evaluations": found}, text, "\n".join(_cell(row, "bytes_per_token", "{:.3f}") for row in found)
    )


def _apart(files: list[Path]) -> tuple[list[Path], list[Path]]:
    """Tells the tokenizers at the front from the texts behind them, by name."""
    n = 0
    kinds = (".json", ".tiktoken", ".model", ".sentitok")
    while n < len(files) and (files[n].suffix in kinds or files[n].is_dir()):
        n += 1
    return files[:n], files[n:]


def _cell(row: dict[str, Any], measure: str, form: str) -> str:
    value = row[measure]
    return "-" if value is None else form.format(value)


def _table(found: list[dict[str, Any]], per_file: bool) -> str:
    head = ["tokenizer", "size", "tokens", *(heading for _, heading, _ in _MEASURES)]
    rows = []
    for row in found:
        name = row["tokenizer"] + (f" {row['files'][0]}" if per_file else "")
        sizes = [number(row["vocab_size"]), number(row["tokens"])]
        rows.append([name, *sizes, *(_cell(row, m, form) for m, _, form in _MEASURES)])
    return table(head, rows)


def register(app: typer.Typer) -> None:
    """Adds the command of this file."""
    app.command(
        "eval",
        cls=Command,
        no_args_is_help=True,
        epilog=examples(
            "sentitok eval tokenizer.json corpus.txt",
            "sentitok eval tokenizer.json merged.json corpus.txt --json",
        ),
    )(evaluate)
