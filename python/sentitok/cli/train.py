"""`sentitok train-bpe`: arguments -> `sentitok.train_bpe`, and a summary.

Not for training itself, which is one call into the extension.
"""

import os
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .command import AsJson, Command, Quiet, Traceback, UsageError, examples, size
from .output import Output, bytes_text, lines, number, peak_memory

if TYPE_CHECKING:
    from sentitok import PreTokenizer, Tokenizer, WordCounts

# Flags shared with `count`, so that both commands mean the same by them.
Sources = Annotated[
    list[str] | None,
    typer.Argument(metavar="SRC...", help="Text files, plain or gz, zst, xz, bz2; - is stdin."),
]
PreTokenizerName = Annotated[
    str, typer.Option("--pre-tokenizer", metavar="NAME", help="Where text is cut: gpt2, cl100k, o200k, ...")
]
Pattern = Annotated[
    str | None, typer.Option("--pattern", metavar="REGEX", help="Cut by this pattern instead.")
]
LookAround = Annotated[
    bool, typer.Option("--look-around", help="Allow look-around in the pattern, with a step limit.")
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format", metavar="FORMAT", help="lines, text, jsonl:FIELD, csv:COLUMN, tsv:COLUMN; else by name."
    ),
]
InvalidUtf8 = Annotated[str, typer.Option("--invalid-utf8", metavar="WHAT", help="error, replace or bytes.")]
MaxMemory = Annotated[
    str | None,
    typer.Option("--max-memory", metavar="SIZE", help="Spill counts to disk above this, as in 512M or 2G."),
]
MaxPieceBytes = Annotated[
    int | None, typer.Option("--max-piece-bytes", min=1, metavar="N", help="Cut longer pieces, and say so.")
]
Threads = Annotated[
    int | None, typer.Option("--threads", min=1, metavar="N", help="Threads; the result is the same for any.")
]

# Bytes of the sources' beginning on which the summary measures bytes per token.
_SAMPLE_BYTES = 1 << 20


def pre_tokenizer(name: str, pattern: str | None, look_around: bool) -> "PreTokenizer":
    """Builds the pre-tokenizer of `--pre-tokenizer`, or of `--pattern`."""
    from sentitok import PreTokenizer

    if pattern is None:
        if look_around:
            raise UsageError("--look-around goes with --pattern")
        return PreTokenizer(name)
    return PreTokenizer(name, pattern=pattern, look_around=look_around)


def sources(paths: list[str] | None) -> Any:
    """Returns the source as the library takes it; one path alone, for `-`."""
    paths = paths or []
    return paths[0] if len(paths) == 1 else paths


def _alphabet(value: str | None) -> Any:
    # `bytes` and `none` are names; anything else lists the characters.
    return value if value in (None, "bytes", "none") else list(str(value))


def _counts(paths: list[Path] | None) -> "WordCounts | None":
    from sentitok import WordCounts

    if not paths:
        return None
    total = WordCounts.load(paths[0])
    for path in paths[1:]:
        total = total + WordCounts.load(path)
    return total


def _bytes_per_token(tokenizer: "Tokenizer", paths: list[str] | None, format: str | None) -> float | None:
    """Measures bytes per token on the beginning of the sources."""
    from sentitok.documents import documents

    files = [path for path in paths or [] if path != "-"]
    n_bytes = 0
    sample = []
    try:
        # A document may be longer than the sample; its beginning is enough.
        for document in islice(documents(files, format), 100_000):
            sample.append(document[: _SAMPLE_BYTES - n_bytes])
            n_bytes += len(sample[-1].encode("utf-8", "replace"))
            if n_bytes >= _SAMPLE_BYTES:
                break
    except ValueError:
        # Python 3.11 to 3.13 has no zstd: the figure is left out, training stands.
        return None
    n_tokens = int(tokenizer.count_batch(sample).sum()) if sample else 0
    return n_bytes / n_tokens if n_tokens else None


def train_bpe(
    src: Sources = None,
    vocab: Annotated[int, typer.Option("--vocab", min=1, metavar="N", help="Size, never exceeded.")] = 32_000,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="Where the tokenizer goes.")
    ] = Path("tokenizer.json"),
    counts: Annotated[
        list[Path] | None, typer.Option("--counts", metavar="FILE", help="Train from counts; repeatable.")
    ] = None,
    extend: Annotated[
        Path | None, typer.Option("--extend", metavar="FILE", help="Go on from this tokenizer; its ids stay.")
    ] = None,
    pre_tokenizer_name: PreTokenizerName = "gpt2",
    pattern: Pattern = None,
    look_around: LookAround = False,
    special: Annotated[
        list[str] | None, typer.Option("--special", metavar="TOKEN", help="A special token; repeatable.")
    ] = None,
    min_frequency: Annotated[
        int, typer.Option("--min-frequency", min=0, metavar="N", help="Merge no rarer pair.")
    ] = 0,
    initial_alphabet: Annotated[
        str | None,
        typer.Option("--initial-alphabet", metavar="WHAT", help="bytes, none, or the characters."),
    ] = None,
    limit_alphabet: Annotated[
        int | None, typer.Option("--limit-alphabet", min=1, metavar="N", help="Keep the N most frequent.")
    ] = None,
    max_token_length: Annotated[
        int | None, typer.Option("--max-token-length", min=1, metavar="N", help="Make no longer token.")
    ] = None,
    continuing_subword_prefix: Annotated[
        str | None, typer.Option("--continuing-subword-prefix", metavar="TEXT", help="Such as ##.")
    ] = None,
    end_of_word_suffix: Annotated[
        str | None, typer.Option("--end-of-word-suffix", metavar="TEXT", help="Such as </w>.")
    ] = None,
    byte_fallback: Annotated[
        bool, typer.Option("--byte-fallback", help="Spell unknown characters as bytes <0x00> to <0xFF>.")
    ] = False,
    unit: Annotated[
        str | None, typer.Option("--unit", metavar="UNIT", help="What is merged: bytes or chars.")
    ] = None,
    unk_token: Annotated[
        str | None, typer.Option("--unk-token", metavar="TOKEN", help="Stands for unknown characters.")
    ] = None,
    tie_break: Annotated[
        str, typer.Option("--tie-break", metavar="RULE", help="huggingface, bytes or sentencepiece.")
    ] = "huggingface",
    format: Format = None,
    invalid_utf8: InvalidUtf8 = "error",
    max_memory: MaxMemory = None,
    max_piece_bytes: MaxPieceBytes = None,
    threads: Threads = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only estimate: files, bytes, distinct pieces, memory.")
    ] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Train a byte-level BPE tokenizer on text, or from counts."""
    import sentitok

    output = Output("sentitok.train-bpe/1", as_json=as_json, quiet=quiet)
    if bool(src) == bool(counts):
        raise UsageError("give text files or --counts, one of the two; see sentitok train-bpe --help")
    splitter = pre_tokenizer(pre_tokenizer_name, pattern, look_around)
    if dry_run:
        from .estimate import estimate

        if counts:
            raise UsageError("--dry-run estimates text; counts are already as small as they get")
        estimate(src or [], splitter, format, invalid_utf8, vocab, output)
        return
    with output.progress() as progress:
        tokenizer = sentitok.train_bpe(
            sources(src) if src else None,
            counts=_counts(counts),
            vocab_size=vocab,
            min_frequency=min_frequency,
            special_tokens=special or (),
            pre_tokenizer=splitter,
            initial_alphabet=_alphabet(initial_alphabet),
            limit_alphabet=limit_alphabet,
            max_token_length=max_token_length,
            continuing_subword_prefix=continuing_subword_prefix,
            end_of_word_suffix=end_of_word_suffix,
            byte_fallback=byte_fallback,
            unit=unit,  # type: ignore[arg-type]  # the extension names the choices
            unk_token=unk_token,
            tie_break=tie_break,  # type: ignore[arg-type]
            extend=None if extend is None else sentitok.Tokenizer.from_file(extend),
            format=format,
            invalid_utf8=invalid_utf8,  # type: ignore[arg-type]
            max_memory=size(max_memory, "--max-memory"),
            max_piece_bytes=max_piece_bytes,
            threads=threads,
            progress=progress,
        )
    written = tokenizer.save(out)
    summary = _summary(tokenizer, written, output)
    if not quiet:
        summary["bytes_per_token"] = _bytes_per_token(tokenizer, src, format)
    text = _text(summary, vocab, out) if output.human else ""
    output.result({"tokenizer": str(out), **summary}, text, str(out))


def _summary(tokenizer: "Tokenizer", written: list[str], output: Output) -> dict[str, Any]:
    report = tokenizer.report
    summary: dict[str, Any] = {"vocab_size": tokenizer.vocab_size, "files": [os.fspath(f) for f in written]}
    if report is not None:
        summary |= {
            "stop": report.stop,
            "merges": report.merges,
            "distinct_pieces": report.distinct_pieces,
            "totals": report.totals,
            "stage_seconds": report.seconds,
        }
    # Taken here, before the sample is encoded: the figures are of the training.
    summary |= {
        "seconds": round(output.seconds, 3),
        "peak_memory_bytes": peak_memory(),
        "fingerprint": tokenizer.fingerprint,
    }
    return summary


def _text(summary: dict[str, Any], asked: int, out: Path) -> str:
    """Writes the summary for people."""
    stop = summary.get("stop", "")
    pairs = [("vocabulary", f"{number(summary['vocab_size'])} of {number(asked)}; {stop}")]
    if "merges" in summary:
        pairs.append(("merges", number(summary["merges"])))
    totals = dict(summary.get("totals", {}))
    read = [f"{number(totals.pop(key))} {key}" for key in ("documents", "bytes") if key in totals]
    if read:
        pairs.append(("read", ", ".join(read)))
    if "pieces" in totals:
        pieces = number(totals.pop("pieces"))
        pairs.append(("pieces", f"{pieces}, {number(summary['distinct_pieces'])} distinct"))
    # What reading changed is said even if it is little: nothing goes in silence.
    pairs += [(key.replace("_", " "), number(value)) for key, value in totals.items() if value]
    if summary["bytes_per_token"] is not None:
        pairs.append(("bytes/token", f"{summary['bytes_per_token']:.3f} on a sample of the text"))
    stages = ", ".join(f"{name} {value:.2f}" for name, value in summary.get("stage_seconds", {}).items())
    pairs.append(("seconds", f"{summary['seconds']:.2f}" + (f" ({stages})" if stages else "")))
    if summary["peak_memory_bytes"] is not None:
        pairs.append(("peak memory", bytes_text(summary["peak_memory_bytes"])))
    pairs.append(("fingerprint", summary["fingerprint"]))
    pairs.append(("written", ", ".join(summary["files"])))
    pairs.append(("next", f'sentitok show "some text" --tokenizer {out}'))
    return lines(pairs)


def register(app: typer.Typer) -> None:
    """Adds the command of this file."""
    app.command(
        "train-bpe",
        cls=Command,
        no_args_is_help=True,
        epilog=examples(
            "sentitok train-bpe corpus.txt --vocab 2000 -o tokenizer.json",
            'sentitok train-bpe reviews.jsonl --vocab 1000 --special "<|endoftext|>"',
            "sentitok train-bpe corpus.txt --vocab 2000 --dry-run",
        ),
    )(train_bpe)
