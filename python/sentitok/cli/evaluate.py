"""`sentitok eval`: compares what tokenizers make of a text."""

import math
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .command import AnswerIsNoError, AsJson, Command, Quiet, Traceback, UsageError, examples, grouped, refuse
from .engine import EngineOptions
from .existing import Force, announce, put
from .loading import FileOptions, refuse_unneeded
from .output import Output, number, of_total, table
from .parallel import Parallel
from .texts import TextOptions, note_replaced

if TYPE_CHECKING:
    from sentitok import Tokenizer
    from sentitok.evaluate import Evaluation
    from sentitok.figures.tokenizers import Counts

_SUPERWORDS = "superword_share"

# Measure, heading, and how it is written.
_MEASURES = (
    ("bytes_per_token", "bytes/token", "{:.3f}"),
    ("tokens_per_word", "tokens/word", "{:.3f}"),
    ("continued_words", "continued", "{:.1%}"),
    ("single_token_retention", "retained", "{:.1%}"),
    ("unknown_rate", "unknown", "{:.2%}"),
    ("renyi_efficiency", "Rényi", "{:z.3f}"),
    ("bits_deviation", "bits ±", "{:z.2f}"),
    (_SUPERWORDS, "superwords", "{:.1%}"),
    ("vocabulary_use", "used", "{:.1%}"),
)

# Names of tokenizers, and of files that a folder of a model has.
_TOKENIZER_SUFFIXES = (".json", ".tiktoken", ".model", ".sentitok")
_MODEL_FILES = ("tokenizer.json", "tokenizer.model", "vocab.txt")
# The beginning of a file behind a URL that is looked at.
_START_BYTES = 1 << 20


def evaluate(
    files: Annotated[
        list[str],
        typer.Argument(metavar="TOKENIZER... FILE...", help="Tokenizers, then text files; - for stdin."),
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
    parts: Annotated[
        str | None,
        typer.Option(
            "--parts",
            metavar="DIR",
            help="With --engine, a folder that all machines see, or a URL: finished parts are kept there "
            "until all is done. [default: a temporary folder in TMPDIR, which all machines must see]",
            rich_help_panel="Parallel work",
        ),
    ] = None,
    *,
    force: Force = False,
    languages: Parallel,
    file: FileOptions,
    reading: TextOptions,
    engine: EngineOptions,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Measure tokenizers on text; docs/reference/eval.md defines the measures."""
    from sentitok.documents import n_bytes
    from sentitok.evaluate import evaluate_all

    parallel = languages.is_wanted()
    if tokenizers:
        chosen, texts = tokenizers, files
    else:
        chosen, texts = _apart(files, languages.split(files) if parallel else len(files))
    if not (chosen and texts):
        raise UsageError(_missing(files, chosen))
    output = Output("sentitok.eval/1", as_json=as_json, quiet=quiet)
    if plot is not None:
        _check_plot(plot)
    announce(plot, output, force=force, option="--plot")
    file.specials()  # wrong ones are found before the files are read
    reading.check(texts)
    engine.check()
    if engine.engine is not None:
        refuse("its figure counts in this process; leave --engine out", "plot")
    else:
        refuse("it goes with --engine: add --engine processes, ray or dask", "parts")
    if parallel:
        refuse_unneeded(*chosen)
        loaded = [file.load(path) for path in chosen]
        languages.measure(chosen, loaded, texts, reading, engine, output, parts)
        return
    total = len(chosen) * n_bytes(
        texts, reading.format
    )  # and a file that is missing is found before all else
    refuse_unneeded(*chosen)
    loaded = [file.load(path) for path in chosen]
    groups = [[text] for text in texts] if per_file else [texts]
    evaluations: list[dict[str, Any]] = []
    drawn: dict[str, Counts] = {}
    with output.progress() as progress, engine.running() as running:
        for group in groups:
            before = sum(row["bytes"] for row in evaluations)
            documents = reading.documents(group)
            counts = [] if plot is None else _counts(drawn, chosen, loaded, group if per_file else [])
            measured = evaluate_all(
                loaded,
                documents,
                threads=reading.threads,
                progress=of_total(progress, total, before),
                seen=[one.add for one in counts],
                parts=parts,
                **running,
            )
            note_replaced(output, group, documents.replaced)
            about = {"files": list(map(str, group)), "replaced": documents.replaced}
            evaluations += [
                {"tokenizer": str(path), **about, **_values(one)}
                for path, one in zip(chosen, measured, strict=True)
            ]
    text = _table(evaluations, per_file) if output.human else ""
    value: dict[str, Any] = {"evaluations": evaluations}
    if plot is not None:
        from sentitok.figures.canvas import save
        from sentitok.figures.tokenizers import figure

        drawing = figure(drawn, ", ".join(map(_base_name, texts)))

        def draw(path: Path) -> list[Path]:
            save(drawing, path)
            return [path]

        put((plot, draw), force=force, keep=True)
        value["plot"] = str(plot)
        text += f"\nwritten  {plot}" if text else ""
    output.result(value, text, "\n".join(_cell(row, "bytes_per_token", "{:.3f}") for row in evaluations))


def _check_plot(plot: Path) -> None:
    """Refuses a figure that could not be written, before minutes are spent on it.

    Raises:
        AnswerIsNoError: if matplotlib is missing.
        UsageError: if the suffix names no format.
    """
    try:
        has_matplotlib = find_spec("matplotlib") is not None
    except ValueError:  # blocked by an entry in sys.modules
        has_matplotlib = False
    if not has_matplotlib:
        raise AnswerIsNoError(
            '--plot: figures need matplotlib; install the extra: pip install "sentitok[plot]"'
        )
    from sentitok.figures.canvas import check

    try:
        check(plot)
    except ValueError as error:
        raise UsageError(f"--plot {error}") from None


def _counts(
    drawn: "dict[str, Counts]", paths: list[Path], tokenizers: "list[Tokenizer]", files: list[str]
) -> "list[Counts]":
    """Returns the tokenizers of the figure, each under a unique name."""
    from sentitok.evaluate import unknown_id
    from sentitok.figures.tokenizers import Counts

    counts = []
    for path, tokenizer in zip(paths, tokenizers, strict=True):
        name = f"{path.name}, {_base_name(files[0])}" if files else path.name
        if name in drawn:
            name = f"{path}, {files[0]}" if files else str(path)
        drawn[name] = Counts(tokenizer.vocab_size, tokenizer.info()["model"], unknown_id(tokenizer))
        counts.append(drawn[name])
    return counts


def _base_name(file: str) -> str:
    """The last part of a path or URL, for a figure."""
    from sentitok.remote import shown

    return PurePosixPath(shown(file).partition("?")[0]).name if "://" in file else Path(file).name


def _missing(files: list[str], chosen: list[Path]) -> str:
    """The message if there is no tokenizer, or no text."""
    wanted = "give at least one tokenizer and one text, as in: sentitok eval tok.json text.txt"
    if chosen:
        return f"{', '.join(map(str, chosen))}: no text is named; {wanted}"
    return f"{files[0]} is not a tokenizer; tokenizers come first, or behind --tokenizer; {wanted}"


def _values(measured: "Evaluation") -> dict[str, Any]:
    """The measures for JSON, which knows no NaN: a measure of nothing is null."""
    return {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in measured.as_dict().items()}


def _apart(files: list[str], most: int) -> tuple[list[Path], list[str]]:
    """Tells the tokenizers at the front, `most` at most, from the texts behind them.

    They are known by name or by how they begin. Texts stay URLs, which are read in blocks; tokenizers behind
    URLs are copied.
    """
    from sentitok.remote import is_url, local_name, local_path

    n = 0
    while n < most:
        file = local_name(files[n])
        is_tokenizer = _url_is_tokenizer(file) if is_url(file) else _is_tokenizer(Path(file))
        if not is_tokenizer:
            break
        n += 1
    return [local_path(file) for file in files[:n]], files[n:]


def _is_tokenizer(file: Path) -> bool:
    return (
        file.suffix in _TOKENIZER_SUFFIXES or file.is_dir() or (file.is_file() and _begins_as_tokenizer(file))
    )


def _url_is_tokenizer(url: str) -> bool:
    """Whether a URL names a tokenizer: by its name, as a folder of a model, or by how it begins."""
    from tempfile import TemporaryDirectory

    from sentitok import remote

    name = PurePosixPath(url.partition("?")[0])
    if name.suffix in _TOKENIZER_SUFFIXES:
        return True
    if any(char in url for char in "*["):
        return False
    if not name.suffix and any(remote.exists(remote.join(url, file)) for file in _MODEL_FILES):
        return True
    with TemporaryDirectory() as folder:
        start = Path(folder) / "start"
        try:
            start.write_bytes(remote.first_bytes(url, _START_BYTES))
        except IsADirectoryError:
            return False
        return _begins_as_tokenizer(start)


def _begins_as_tokenizer(file: Path) -> bool:
    """Whether a file under another name is not text for certain; JSON and lists of words may be."""
    from sentitok._sentitok import file_kind

    return file_kind(file) in ("tiktoken", "sentencepiece", "sentitok")


def _cell(row: dict[str, Any], measure: str, form: str) -> str:
    value = row[measure]
    return "-" if value is None or (measure == _SUPERWORDS and not value) else form.format(value)


def _table(evaluations: list[dict[str, Any]], per_file: bool) -> str:
    # Most vocabularies have no superwords.
    measures = [
        one for one in _MEASURES if one[0] != _SUPERWORDS or any(row[_SUPERWORDS] for row in evaluations)
    ]
    head = ["tokenizer", "size", "tokens", *(heading for _, heading, _ in measures)]
    rows = []
    for row in evaluations:
        name = row["tokenizer"] + (f" {row['files'][0]}" if per_file else "")
        sizes = [number(row["vocab_size"]), number(row["tokens"])]
        rows.append([name, *sizes, *(_cell(row, m, form) for m, _, form in measures)])
    return table(head, rows)


def register(app: typer.Typer) -> None:
    """Adds the command of this file."""
    app.command(
        "eval",
        rich_help_panel="Inspect and compare",
        short_help="Measure tokenizers on text.",
        cls=Command,
        no_args_is_help=True,
        epilog=examples(
            "sentitok eval tokenizer.json corpus.txt",
            "sentitok eval tokenizer.json merged.json corpus.txt --plot eval.svg",
            "sentitok eval tokenizer.json --parallel en=corpus.txt other=reviews.jsonl",
        ),
    )(grouped(evaluate))
