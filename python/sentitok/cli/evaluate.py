"""`sentitok eval`: what tokenizers make of a text, side by side.

Not for measuring: `sentitok.evaluate` does that.
"""

import math
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .command import AnswerIsNoError, AsJson, Command, Quiet, Traceback, UsageError, examples, size
from .output import Output, number, of_total, table
from .train import Format, MaxLineBytes, Threads

if TYPE_CHECKING:
    from sentitok import Tokenizer
    from sentitok.figures.tokenizers import Counts

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
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot",
            metavar="FILE",
            help="Draw bytes per token by script, vocabulary size, coverage and frequencies: .png, .svg or "
            ".pdf. Needs the extra plot.",
        ),
    ] = None,
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
    if plot is not None:
        _check_plot(plot)
    check_format(format)
    limit = size(max_line_bytes, "--max-line-bytes")
    total = len(chosen) * n_bytes(texts, format)  # and a file that is missing is found before all else
    loaded = [sentitok.Tokenizer.from_file(path) for path in chosen]
    groups = [[text] for text in texts] if per_file else [texts]
    found: list[dict[str, Any]] = []
    drawn: dict[str, Counts] = {}
    with output.progress() as progress:
        for group in groups:
            for path, tokenizer in zip(chosen, loaded, strict=True):
                before = sum(row["bytes"] for row in found)
                counts = None if plot is None else _counts(drawn, path, tokenizer, group if per_file else [])
                measured = measure(
                    tokenizer,
                    documents(group, format, max_line_bytes=limit),
                    threads=threads,
                    progress=of_total(progress, total, before),
                    seen=None if counts is None else counts.add,
                )
                # JSON knows no NaN: a measure of nothing is null.
                values = {
                    k: None if isinstance(v, float) and math.isnan(v) else v
                    for k, v in measured.as_dict().items()
                }
                found.append({"tokenizer": str(path), "files": list(map(str, group)), **values})
    text = _table(found, per_file) if output.human else ""
    value: dict[str, Any] = {"evaluations": found}
    if plot is not None:
        from sentitok.figures.canvas import save
        from sentitok.figures.tokenizers import figure

        save(figure(drawn, ", ".join(text.name for text in texts)), plot)
        value["plot"] = str(plot)
        text += f"\nwrote {plot}\n" if text else ""
    output.result(value, text, "\n".join(_cell(row, "bytes_per_token", "{:.3f}") for row in found))


def _check_plot(plot: Path) -> None:
    """Refuses a figure that could not be written, before minutes are spent on it.

    Raises:
        AnswerIsNoError: if matplotlib is missing.
        UsageError: if the suffix names no format.
    """
    try:
        found = find_spec("matplotlib") is not None
    except ValueError:  # blocked by an entry in sys.modules
        found = False
    if not found:
        raise AnswerIsNoError(
            '--plot: figures need matplotlib; install the extra: pip install "sentitok[plot]"'
        )
    from sentitok.figures.canvas import check

    try:
        check(plot)
    except ValueError as error:
        raise UsageError(f"--plot {error}") from None


def _counts(drawn: "dict[str, Counts]", path: Path, tokenizer: "Tokenizer", files: list[Path]) -> "Counts":
    """Returns what counts for the figure, under a name of its own."""
    from sentitok.figures.tokenizers import Counts

    name = f"{path.name}, {files[0].name}" if files else path.name
    if name in drawn:
        name = f"{path}, {files[0]}" if files else str(path)
    drawn[name] = Counts(tokenizer.vocab_size)
    return drawn[name]


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
            "sentitok eval tokenizer.json merged.json corpus.txt --plot eval.svg",
        ),
    )(evaluate)
