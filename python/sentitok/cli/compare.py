"""`sentitok eval` and `sentitok convert`: tokenizers side by side.

Not for measuring (`sentitok.evaluate`) nor for formats, which are the
extension's. `convert --verify` proves equality by encoding, document by document.
"""

import json
import math
import os
import shlex
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..spelling import readable
from .command import AnswerIsNoError, AsJson, Command, Quiet, Traceback, UsageError, examples, size
from .output import Output, lines, number, table
from .train import Format, MaxLineBytes, Threads, how_cut

if TYPE_CHECKING:
    from sentitok import Tokenizer

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

# Documents compared at a time.
_BATCH = 4096


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
    from sentitok.documents import documents
    from sentitok.evaluate import evaluate as measure

    chosen, texts = (tokenizers, files) if tokenizers else _apart(files)
    if not (chosen and texts):
        raise UsageError("give at least one tokenizer and one text, as in: sentitok eval tok.json text.txt")
    output = Output("sentitok.eval/1", as_json=as_json, quiet=quiet)
    limit = size(max_line_bytes, "--max-line-bytes")
    groups = [[text] for text in texts] if per_file else [texts]
    found = []
    for group in groups:
        for path in chosen:
            tokenizer = sentitok.Tokenizer.from_file(path)
            found_documents = documents(group, format, max_line_bytes=limit)
            measured = measure(tokenizer, found_documents, threads=threads)
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


def convert(
    source: Annotated[Path, typer.Argument(metavar="A", help="Tokenizer to read.")],
    target: Annotated[
        Path, typer.Argument(metavar="B", help="Tokenizer to write; the file name gives the format.")
    ],
    verify: Annotated[
        list[str] | None,
        typer.Option(
            "--verify", metavar="FILE", help="Compare the ids of both tokenizers on this text; repeatable."
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="FORMAT", help="Format to write. [default: by file name]"),
    ] = None,
    pattern: Annotated[
        str | None,
        typer.Option(
            "--pattern", metavar="NAME", help="Pre-tokenizer of a .tiktoken file: cl100k, o200k, ..."
        ),
    ] = None,
    special: Annotated[
        list[str] | None,
        typer.Option("--special", metavar="TOKEN=ID", help="Special token of a .tiktoken file; repeatable."),
    ] = None,
    cased: Annotated[
        bool, typer.Option("--cased", help="Keep the case of letters when reading vocab.txt.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace B if it is there already.")] = False,
    format: Format = None,
    max_line_bytes: MaxLineBytes = None,
    threads: Threads = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Convert a tokenizer to another format; --verify compares the ids of both on text."""
    import sentitok
    from sentitok.documents import check_format, documents

    output = Output("sentitok.convert/1", as_json=as_json, quiet=quiet)
    specials = _specials(special)
    check_format(format)
    limit = size(max_line_bytes, "--max-line-bytes")
    if not force:
        _refuse_replacing(target)
    tokenizer = load(source, pattern, specials, cased=cased)
    try:
        written = [os.fspath(file) for file in tokenizer.save(target, to)]
    except sentitok.FormatError as error:
        raise AnswerIsNoError(f"{source} cannot become {target}: {error}") from error
    # Ranks that become merges have another fingerprint; a file of ranks alone has none.
    ranks_alone = target.suffix == ".tiktoken" or to == "tiktoken"
    fingerprint = (
        tokenizer if ranks_alone else load(target, None, {}, cased=_is_cased(tokenizer))
    ).fingerprint
    value: dict[str, Any] = {"written": written, "fingerprint": fingerprint}
    pairs = [("written", ", ".join(written)), ("fingerprint", fingerprint)]
    if verify:
        added = {token.content: token.id for token in tokenizer.added_tokens}
        back = load(target, pattern or how_cut(tokenizer), specials or added, cased=_is_cased(tokenizer))
        texts = documents(verify, format, max_line_bytes=limit)
        n_documents, differing, first = _differences(tokenizer, back, texts, threads)
        value |= {"documents": n_documents, "differing": differing, "first": first}
        pairs.append(("verified", f"{number(n_documents)} documents, {number(differing)} differ"))
        if first is not None:
            pairs += [(f"first, {name}", str(item)) for name, item in first.items()]
    else:
        given = [f"--pattern {shlex.quote(pattern)}"] if pattern else []
        given += [f"--special {shlex.quote(item)}" for item in special or []]
        given += [f"--to {to}"] if to else []
        given.append("--force")
        again = " ".join(["sentitok convert", str(source), str(target), *given, "--verify corpus.txt"])
        pairs.append(("next", again))
    output.result(value, lines(pairs), str(target))
    if value.get("differing"):
        raise AnswerIsNoError(f"{number(value['differing'])} documents get other ids than from {source}")


def _refuse_replacing(target: Path) -> None:
    """Finds what would be replaced before anything is read."""
    names = ("tokenizer.json", "vocab.json", "merges.txt")
    there = [target / name for name in names] if target.is_dir() else [target]
    for file in there:
        if file.exists():
            raise UsageError(f"{file} is there already; name another file, or replace it with --force")


def _specials(given: list[str] | None) -> dict[str, int]:
    found = {}
    for item in given or []:
        token, _, id = item.rpartition("=")
        if not (token and id.isdecimal()):
            raise UsageError(f"--special {item}: expected TOKEN=ID, as in <|endoftext|>=100257")
        found[token] = int(id)
    return found


def load(path: Path, pattern: str | None, specials: dict[str, int], *, cased: bool = False) -> "Tokenizer":
    """Loads a tokenizer; `.tiktoken` and `vocab.txt` need what they do not hold.

    Raises:
        UsageError: if the file holds no pattern and none was given.
    """
    from sentitok import Tokenizer

    if path.suffix == ".txt":
        return Tokenizer.from_bert_vocab(path, lowercase=not cased)
    if path.suffix != ".tiktoken":
        return Tokenizer.from_file(path)
    if pattern is None:
        raise UsageError(f"{path} does not say how text is cut; add --pattern r50k, cl100k or o200k")
    return Tokenizer.from_tiktoken(path, pattern, specials)


def _is_cased(tokenizer: "Tokenizer") -> bool:
    normalizer = tokenizer.normalizer
    return normalizer is not None and (normalizer.name or "").endswith("-cased")


def _differences(
    one: "Tokenizer", other: "Tokenizer", texts: Iterator[str], threads: int | None
) -> tuple[int, int, dict[str, Any] | None]:
    """Counts documents whose ids differ, and describes the first."""
    n_documents = differing = 0
    first: dict[str, Any] | None = None
    for batch in _batches(texts):
        left = one.encode_batch(batch, threads=threads)
        right = other.encode_batch(batch, threads=threads)
        for row, text in enumerate(batch):
            a, b = left[row].ids.tolist(), right[row].ids.tolist()
            if a == b:
                continue
            differing += 1
            if first is None:
                first = {"document": n_documents + row, **_first_difference(one, other, text, a, b)}
        n_documents += len(batch)
    return n_documents, differing, first


def _batches(texts: Iterator[str]) -> Iterator[list[str]]:
    while batch := list(islice(texts, _BATCH)):
        yield batch


def _first_difference(
    one: "Tokenizer", other: "Tokenizer", text: str, a: list[int], b: list[int]
) -> dict[str, Any]:
    at = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    spans = one.encode(text).offsets("chars", trim=False).tolist()
    begin = int(spans[at][0]) if at < len(spans) else len(text)
    around = text[max(0, begin - 20) : begin + 20]
    return {
        "token": at,
        "text": readable(around.encode("utf-8", "backslashreplace")),
        "ids_a": a[at : at + 8],
        "ids_b": b[at : at + 8],
        "tokens_a": _spelled(one, a[at : at + 8]),
        "tokens_b": _spelled(other, b[at : at + 8]),
    }


def _spelled(tokenizer: "Tokenizer", ids: list[int]) -> str:
    return json.dumps([tokenizer.id_to_token(id) for id in ids], ensure_ascii=False)


def register(app: typer.Typer) -> None:
    """Adds the commands of this file."""
    app.command(
        "eval",
        cls=Command,
        no_args_is_help=True,
        epilog=examples(
            "sentitok eval tokenizer.json corpus.txt",
            "sentitok eval tokenizer.json merged.json corpus.txt --json",
        ),
    )(evaluate)
    app.command(
        "convert",
        cls=Command,
        no_args_is_help=True,
        epilog=examples(
            "sentitok convert tokenizer.json new.tiktoken --verify corpus.txt",
            "sentitok convert ranks.tiktoken copy.json --pattern gpt2",
        ),
    )(convert)
