"""Shared parts of the three `train-*` commands: options, checks, the run and its summary."""

import errno
import json
import math
import os
import shlex
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .command import Command, UsageError, refuse, size
from .existing import announce, put
from .languages import language_lines
from .output import Output, bytes_text, counted, lines, number, peak_memory, sized
from .process import complain
from .signals import TerminatedError
from .texts import Format, InvalidUtf8, MaxLineBytes, Threads, check_stdin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sentitok import PreTokenizer, Tokenizer

# Flags shared with `count`, so that both commands mean the same by them.
Sources = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="SRC",
        help="Text files, folders, globs or URLs (s3://, https://, ...), plain or compressed (gz, zst, xz, "
        "bz2); - for stdin.",
    ),
]
PreTokenizerName = Annotated[
    str | None,
    typer.Option(
        "--pre-tokenizer", metavar="NAME", help="Pre-tokenizer: gpt2, cl100k, o200k, ... [default: gpt2]"
    ),
]
Pattern = Annotated[
    str | None,
    typer.Option(
        "--pattern",
        metavar="REGEX",
        help="Regular expression that splits text into pieces, instead of a pre-tokenizer; \\w, \\b "
        "and character classes mean what they do in Hugging Face tokenizers.",
        rich_help_panel="Splitting",
    ),
]
LookAround = Annotated[
    bool,
    typer.Option(
        "--look-around", help="Allow look-around and \\b in --pattern.", rich_help_panel="Splitting"
    ),
]
MaxMemory = Annotated[
    str | None,
    typer.Option(
        "--max-memory",
        metavar="SIZE",
        help="Maximum memory for counts, such as 512M or 2G; beyond it counts go to disk. "
        "[default: no limit]",
        rich_help_panel="Memory and resuming",
    ),
]
MaxPieceBytes = Annotated[
    int | None,
    typer.Option(
        "--max-piece-bytes",
        min=1,
        metavar="N",
        help="Maximum size of a piece, in bytes; longer ones are cut and reported. [default: no limit]",
        rich_help_panel="Splitting",
    ),
]
SpacesBehind = Annotated[
    bool,
    typer.Option(
        "--spaces-behind",
        help="With --method sentencepiece: put spaces at the end of words and pieces, not at the beginning.",
        rich_help_panel="SentencePiece",
    ),
]
PiecesOfSpaces = Annotated[
    bool,
    typer.Option(
        "--pieces-of-spaces",
        help="With --method sentencepiece: let runs of spaces be pieces.",
        rich_help_panel="SentencePiece",
    ),
]

Counts = Annotated[
    list[Path] | None,
    typer.Option(
        "--counts",
        metavar="FILE",
        help="Counts file to train from, as sentitok count writes it; repeatable. A weight may follow: "
        "--counts sw.counts x=4 counts its text four times; x=1/3 and x=0.25 are exact.",
    ),
]
MinCount = Annotated[
    int,
    typer.Option(
        "--min-count",
        min=0,
        metavar="N",
        help="Drop pieces that occur fewer than N times in all text or counts together.",
        rich_help_panel="Input",
    ),
]
Sample = Annotated[
    str | None,
    typer.Option(
        "--sample",
        metavar="SIZE",
        help="Count a random sample of the documents: about SIZE bytes, such as 2G, or a share, such as 10%. "
        "[default: all documents]",
        rich_help_panel="Input",
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed", min=0, metavar="N", help="Seed of --sample. [default: 0]", rich_help_panel="Input"
    ),
]
Out = Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="File to write the tokenizer to.")]
Vocab = Annotated[
    int,
    typer.Option(
        "--vocab",
        min=1,
        metavar="N",
        help="Maximum size of the vocabulary, in tokens: 32000 or 32k.",
    ),
]
MinFrequency = Annotated[
    int,
    typer.Option(
        "--min-frequency",
        min=0,
        metavar="N",
        help="Merge only pairs that occur at least N times.",
        rich_help_panel="Vocabulary",
    ),
]
NormalizerName = Annotated[
    str | None,
    typer.Option(
        "--normalizer",
        metavar="NAME",
        help="Normalizer: nfkc, lowercase, hf-bert, ..., several joined with +, or none. "
        "[default: the usual one of the model]",
    ),
]
LimitAlphabet = Annotated[
    int | None,
    typer.Option(
        "--limit-alphabet",
        min=1,
        metavar="N",
        help="Maximum size of the alphabet: keep the N most frequent characters. [default: no limit]",
        rich_help_panel="Vocabulary",
    ),
]
MaxTokenLength = Annotated[
    int | None,
    typer.Option(
        "--max-token-length",
        min=1,
        metavar="N",
        help="No token reaches N characters: merges whose token would have N or more are not made, but any "
        "two characters may join. Byte-level BPE counts bytes. [default: no limit]",
        rich_help_panel="Vocabulary",
    ),
]
ByteFallback = Annotated[
    bool,
    typer.Option(
        "--byte-fallback",
        help="Encode unknown characters as byte tokens, <0x00> to <0xFF>.",
        rich_help_panel="Vocabulary",
    ),
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Estimate files, bytes, distinct pieces and memory without training.",
        rich_help_panel="Output",
    ),
]


@dataclass(frozen=True, slots=True)
class CountOptions:
    """How text is read and counted; each field is an option (`grouped`)."""

    format: Format = None
    invalid_utf8: InvalidUtf8 = "error"
    max_line_bytes: MaxLineBytes = None
    max_memory: MaxMemory = None
    max_piece_bytes: MaxPieceBytes = None
    sample: Sample = None
    seed: Seed = None
    threads: Threads = None

    def reading(self) -> dict[str, Any]:
        """Returns how text is read, as the library takes it.

        Raises:
            UsageError: if a size cannot be read.
        """
        return {
            "format": self.format,
            "invalid_utf8": self.invalid_utf8,
            "max_line_bytes": size(self.max_line_bytes, "--max-line-bytes"),
        }

    def counting(self) -> dict[str, Any]:
        """Returns all of them, as the library takes them.

        Raises:
            UsageError: if a size cannot be read.
        """
        if self.sample is None:
            refuse("it is the seed of --sample, which is not given", "seed")
        return {
            **self.reading(),
            "max_memory": size(self.max_memory, "--max-memory"),
            "max_piece_bytes": self.max_piece_bytes,
            "sample": sample_size(self.sample),
            "seed": self.seed or 0,
            "threads": self.threads,
        }


@dataclass(frozen=True, slots=True)
class Saving:
    """Where the progress of a training is saved; each field is an option (`grouped`)."""

    checkpoint: Annotated[
        Path | None,
        typer.Option(
            "--checkpoint",
            metavar="DIR",
            help="Folder to save progress to, about every minute and on Ctrl-C or SIGTERM; deleted when the "
            "tokenizer is written.",
            rich_help_panel="Memory and resuming",
        ),
    ] = None
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Continue from --checkpoint, or begin if nothing is saved there; the result is the same as "
            "without a break. Options and text must be the same.",
            rich_help_panel="Memory and resuming",
        ),
    ] = False

    def options(self) -> dict[str, Any]:
        """Returns them as the library takes them.

        Raises:
            UsageError: for `--resume` alone.
        """
        if self.checkpoint is None:
            refuse("name the folder where progress is saved: --checkpoint DIR", "resume")
        return {"checkpoint": self.checkpoint, "resume": self.resume}


# The first word of a counts file.
COUNTS_MAGIC = b"#sentitok-counts"

# Suffixes of a tokenizer's file; without a suffix it is a directory.
_SUFFIXES = (".json", ".tiktoken", ".model", ".txt", ".sentitok")

# Those of formats that hold only some tokenizers, whatever their tokens are.
PARTIAL_FORMATS = (".tiktoken", ".model", ".txt")

# Bytes of the sources' beginning on which the summary measures bytes per token.
SAMPLE_BYTES = 1 << 20


def pre_tokenizer(name: str | None, pattern: str | None, look_around: bool) -> "PreTokenizer":
    """Builds the pre-tokenizer of `--pre-tokenizer`, or of `--pattern`.

    Raises:
        UsageError: if both are given, or a name as a pattern.
    """
    from sentitok import PreTokenizer

    if pattern is None:
        if look_around:
            raise UsageError("--look-around goes with --pattern")
        return PreTokenizer(name)
    if name is not None:
        raise UsageError(f"--pre-tokenizer {name} and --pattern {pattern} exclude each other; give one")
    if pattern in PreTokenizer.names():
        raise UsageError(f"--pattern {pattern} is a name, not a pattern; give --pre-tokenizer {pattern}")
    return PreTokenizer(pattern=pattern, look_around=look_around)


def sources(paths: list[str] | None) -> Any:
    """Returns the source as the library takes it; one path alone, for `-`.

    Raises:
        OSError: if stdin is named and closed.
        UsageError: if it is named twice.
    """
    paths = paths or []
    check_stdin(paths)
    return paths[0] if len(paths) == 1 else paths


def sample_size(text: str | None) -> int | float | None:
    """Reads `--sample 2G`, or a share such as 10% or 0.1.

    Raises:
        UsageError: if it is neither.
    """
    if text is None:
        return None
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = math.inf  # a size with a suffix
    if 0 < share < 1 or (text.endswith("%") and share == 1):
        return share
    if text.endswith("%"):
        raise UsageError(f"--sample {text}: expected a share of more than 0 and at most 100%")
    return size(text, "--sample")


class TrainCommand(Command):
    """A `train-*` command: a weight may follow a counts file."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Reads the arguments of the command."""
        joined: list[str] = []
        for at, arg in enumerate(args):
            is_next = at > 1 and args[at - 2] == "--counts"
            if arg.startswith("x=") and (is_next or (at > 0 and args[at - 1].startswith("--counts="))):
                joined[-1] += f"\0{arg[2:]}"  # no path has this character
            else:
                joined.append(arg)
        return super().parse_args(ctx, joined)


def weighted(counts: list[Path] | None) -> list[tuple[Path, str]]:
    """Returns counts files with their weights."""
    pairs = (str(path).partition("\0") for path in counts or [])
    return [(Path(path), weight if mark else "1") for path, mark, weight in pairs]


def beginning(paths: list[str] | None, format: str | None) -> list[str]:
    """Returns the documents of the beginning of the sources, `SAMPLE_BYTES` at most; none of pipes.

    The last document may be cut. If a file cannot be read so, the list is empty, and training reports the
    error.
    """
    from sentitok import remote
    from sentitok.documents import Documents

    n_bytes = 0
    sample: list[str] = []
    try:
        expanded = remote.expand(path for path in paths or [] if path != "-")
        # A pipe was read, and is empty now.
        files = [path for path in expanded if remote.is_url(path) or Path(path).is_file()]
        for document in islice(Documents(files, format), 100_000):
            sample.append(document[: SAMPLE_BYTES - n_bytes])
            n_bytes += len(sample[-1].encode("utf-8", "replace"))
            if n_bytes >= SAMPLE_BYTES:
                break
    except (OSError, ValueError):  # a line may be too long, a server busy
        return []
    return sample


def _bytes_per_token(tokenizer: "Tokenizer", sample: list[str]) -> float | None:
    """Measures bytes per token on a sample."""
    n_tokens = int(tokenizer.count_batch(sample).sum()) if sample else 0
    return sum(len(text.encode("utf-8", "replace")) for text in sample) / n_tokens if n_tokens else None


def _changed_share(base: "Tokenizer", extended: "Tokenizer", sample: list[str]) -> float | None:
    """Measures the share of a sample's bytes that get different ids from a tokenizer than from its base."""
    n_bytes = changed = 0
    for text in sample:
        old, new = (
            {
                (start, end, id)
                for (start, end), id in zip(
                    encoding.offsets("bytes").tolist(), encoding.ids.tolist(), strict=True
                )
            }
            for encoding in (one.encode(text, add_special_tokens=False) for one in (base, extended))
        )
        n_bytes += len(text.encode("utf-8", "replace"))
        changed += sum(end - start for start, end, _ in old - new)
    return min(1.0, changed / n_bytes) if n_bytes else None


def check_source(src: list[str] | None, counts: list[Path] | None, command: str) -> None:
    """Finds out whether there is one thing to train on.

    Raises:
        UsageError: if there is neither text nor counts, or both.
    """
    if src and src[0].startswith("x="):
        raise UsageError(f"{src[0]}: a weight follows its counts file, as in --counts sw.counts x=4")
    if bool(src) == bool(counts):
        raise UsageError(f"give text files or --counts, one of the two; see sentitok {command} --help")
    if counts:
        reading = (
            "format",
            "invalid_utf8",
            "max_line_bytes",
            "max_memory",
            "max_piece_bytes",
            "sample",
            "seed",
        )
        refuse("it is for text, and counts are given; sentitok count takes it", *reading)


def refuse_with_counts(counts: list[Path] | None) -> None:
    """Refuses options that change how words are cut where they are cut already.

    Raises:
        UsageError: if one was typed with `--counts`.
    """
    if counts:
        cutting = ("treat_whitespace_as_suffix", "allow_whitespace_only_pieces")
        refuse("it changes how words are cut, which counts are already; give the text", *cutting)


def check_out(out: Path, output: Output, *, force: bool) -> None:
    """Finds a wrong `-o` before the work, not after it; says what becomes of a file that exists.

    Raises:
        UsageError: if no tokenizer can have this name.
        OSError: if no file can be made there.
    """
    if out.suffix not in ("", *_SUFFIXES) and not out.is_dir():
        raise UsageError(f"-o {out}: its suffix means no format; end it in {', '.join(_SUFFIXES)}")
    if not out.suffix and out.is_file():
        raise UsageError(f"{out} is a file; without a suffix it would be a directory: end it in .json")
    folder = next(folder for folder in out.absolute().parents if folder.exists())
    if not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
    if not os.access(folder, os.W_OK):
        number = errno.EROFS if _is_read_only(folder) else errno.EACCES
        raise OSError(number, os.strerror(number), str(folder))
    if not out.is_dir():
        announce(out, output, force=force)


def _is_read_only(folder: Path) -> bool:
    """Whether nobody can write there, whatever the permissions."""
    try:
        return bool(os.statvfs(folder).f_flag & os.ST_RDONLY)
    except (AttributeError, OSError):  # Windows has no such call
        return False


@dataclass(frozen=True, slots=True)
class Training:
    """The training of a command, and its input.

    Attributes:
        train: the function of the library.
        shape: its options on the kind of model, which training on three letters can have too.
        limits: its other options.
        usual: the normalizer and pre-tokenizer of text if no options name different ones.
        src: the files, if it is text.
        counts: the files with their weights, if it is counts.
        vocab: the size that was asked for.
        out: file or folder to write.
        partial: suffixes of files that may not be able to hold such a tokenizer.
        base: the tokenizer that is extended.
        names_pipeline: whether normalizer or pre-tokenizer was given, which counts are then compared with.
        any_cut: whether counts may be cut by any pre-tokenizer, if they are not normalized.
    """

    train: "Callable[..., Tokenizer]"
    shape: dict[str, Any]
    limits: dict[str, Any]
    usual: tuple[str | None, "str | PreTokenizer"]
    src: list[str] | None
    counts: list[tuple[Path, str]]
    vocab: int
    out: Path
    partial: tuple[str, ...] = PARTIAL_FORMATS
    base: "Tokenizer | None" = None
    names_pipeline: bool = False
    any_cut: bool = False


def run(
    training: Training, options: CountOptions, saving: Saving, output: Output, *, dry_run: bool, force: bool
) -> None:
    """Trains, saves the tokenizer, and prints what came of it; or estimates what there is to train on.

    Args:
        training: the training to run.
        options: how text is read and counted.
        saving: where progress is saved.
        output: where to report.
        dry_run: estimate only.
        force: replace what exists.

    Raises:
        SentitokError: as the training.
        UsageError: if a file exists and would change; the tokenizer is then written next to it.
    """
    from sentitok import remove_checkpoint

    if not training.counts and training.out.suffix in training.partial:  # counts know how text was cut
        check_format(training)
    check_counts(training)
    save_options = saving.options()
    if dry_run:
        from .estimate import estimate

        refuse("--dry-run trains nothing, so there is no progress to save", "checkpoint", "resume")
        check_options(training)
        estimate(
            training.train.__name__.replace("_", "-"),
            training.src or [],
            training.counts,
            training.vocab,
            output,
            training.usual,
            options.counting(),
            training.limits | training.shape,
        )
        return
    try:
        with output.progress() as progress:
            tokenizer = training.train(
                sources(training.src) if training.src else None,
                counts=training.counts or None,
                vocab_size=training.vocab,
                progress=progress,
                **save_options,
                **options.counting(),
                **training.limits,
                **training.shape,
            )
    except (KeyboardInterrupt, TerminatedError):
        if saving.checkpoint is not None:
            complain(f"sentitok: type the same with --resume to continue from {saving.checkpoint}")
        raise
    written, there = put((training.out, tokenizer.save), force=force, keep=True)
    if saving.checkpoint is not None:
        remove_checkpoint(saving.checkpoint)
    summary = _summary(tokenizer, written, output)
    if not output.quiet:
        sample = beginning(training.src, options.format)
        summary["bytes_per_token"] = _bytes_per_token(tokenizer, sample)
        if training.base is not None:
            summary["base_tokens"] = training.base.vocab_size
            summary["changed_share"] = _changed_share(training.base, tokenizer, sample)
    out = training.out
    text = _text(summary, training.vocab, _next(tokenizer, out)) if output.human else ""
    overwrote = there if force else []
    output.result({"tokenizer": str(out), "overwrote": overwrote, **summary}, text, str(out))


def check_counts(training: Training) -> None:
    """Refuses counts that would give another tokenizer than the text.

    The library does so too; it does not know the options of commands.

    Raises:
        UsageError: if the text was normalized or cut otherwise, or lines were marked otherwise.
    """
    from sentitok import WordCounts

    if not training.counts:
        return
    normalizer, splitter = training.usual
    usual = json.loads(WordCounts({}, normalizer=normalizer, pre_tokenizer=splitter).pipeline)
    marked = training.shape.get("method") == "sentencepiece"

    def again() -> str:
        return f"sentitok count FILE... {_pipeline_options(usual)}" + " --line-ends" * marked

    for path, _ in training.counts:
        if not path.exists():
            continue  # it may be a URL, which the library checks in the same way
        header = counts_header(path)
        pipeline = header["pipeline"]
        # Of counts that were made elsewhere nothing is known.
        if header["totals"]["documents"] and marked != header.get("line_ends", False):
            state = "do not mark" if marked else "mark"
            raise UsageError(f"{path}: these counts {state} where lines end; count the text again: {again()}")
        if training.names_pipeline or usual == pipeline:
            continue
        if training.any_cut and pipeline["normalizer"] is None:
            continue
        made = _pipeline_options(pipeline)
        raise UsageError(
            f"{path}: these counts were made with {made or 'another pipeline'}, so training on them is not "
            f"training on the text; count it again: {again()}"
            + (f"; or add {made} here if that is meant" if made else "")
        )


def counts_header(path: Path) -> dict[str, Any]:
    """Reads the header line of a counts file, not the counts.

    Raises:
        UsageError: if the file does not begin as a counts file does.
    """
    with path.open("rb") as file:
        magic, _, line = file.readline(1 << 24).partition(b" ")
    try:
        header = json.loads(line.partition(b" ")[2]) if magic == COUNTS_MAGIC else None
    except ValueError:
        header = None
    if not isinstance(header, dict) or not {"pipeline", "totals"} <= header.keys():
        raise UsageError(f"{path} is not a counts file, or it is damaged; name another file")
    return header


def _pipeline_options(pipeline: dict[str, Any]) -> str | None:
    """Spells the options by which text is counted with this pipeline; `None` if no name says it."""
    from sentitok import Normalizer, PreTokenizer, WordCounts

    def name_of(key: str, value: Any, known: "Iterable[str]") -> str | None:
        if value is None:
            return "none"
        if value["type"] == "Sequence" and key == "normalizer":
            names = [name_of(key, one, known) for one in value["normalizers"]]
            return None if None in names else "+".join(map(str, names))
        made = {name: json.loads(WordCounts({}, **{key: name}).pipeline)[key] for name in known}
        return next((name for name, one in made.items() if one == value), None)

    normalizer = name_of("normalizer", pipeline["normalizer"], Normalizer.names())
    splitter = name_of("pre_tokenizer", pipeline["pre_tokenizer"], PreTokenizer.names())
    if normalizer is None or splitter is None:
        return None
    return f"--normalizer {normalizer} --pre-tokenizer {splitter}"


def check_options(training: Training) -> "Tokenizer":
    """Finds wrong options before the work, by training on three letters.

    Raises:
        SentitokError: as the training would.
    """
    return training.train(texts=["ab c"] * 2, **training.shape)


def check_format(training: Training) -> None:
    """Checks before the work whether the file can hold the tokenizer, by writing one of three letters.

    Raises:
        FormatError: if the format has no place for such a tokenizer.
    """
    import warnings
    from tempfile import TemporaryDirectory

    from sentitok import SentitokError

    try:
        small = check_options(training)
    except SentitokError:
        return  # training reports wrong options
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        small.save(Path(folder) / training.out.name)


def _summary(tokenizer: "Tokenizer", written: list[str], output: Output) -> dict[str, Any]:
    report = tokenizer.report
    summary: dict[str, Any] = {"vocab_size": tokenizer.vocab_size, "files": [os.fspath(f) for f in written]}
    if report is not None:
        summary |= {
            "stop": report.stop,
            **({} if tokenizer.info()["model"] == "Unigram" else {"merges": report.merges}),
            "distinct_pieces": report.distinct_pieces,
            "totals": report.totals,
            "samples": report.samples,
            "sources": report.sources,
            **({"languages": report.languages} if report.languages else {}),
            "resumed": report.resumed,
            "stage_seconds": report.seconds,
        }
    # Taken here, before the sample is encoded: the figures are of the training.
    summary |= {
        "seconds": round(output.seconds, 3),
        "peak_memory_bytes": peak_memory(),
        "fingerprint": tokenizer.fingerprint,
    }
    return summary


def _next(tokenizer: "Tokenizer", out: Path) -> str:
    if out.suffix != ".tiktoken":
        return f'sentitok show "some text" --tokenizer {out}'
    # The file does not say how text is cut.
    pattern = shlex.quote(how_cut(tokenizer))
    return f"sentitok convert {out} {out.with_suffix('.json')} --pattern {pattern}"


def how_cut(tokenizer: "Tokenizer") -> str:
    """What `--pattern` means this tokenizer's pre-tokenizer: a name, or a custom pattern."""
    splitter = tokenizer.pre_tokenizer
    return splitter.pattern or splitter.name if splitter.name == "regex" else splitter.name


def sample_lines(samples: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Says which samples were counted."""
    return [("sample", f"{one['share']:.4%} of the documents, seed {one['seed']}") for one in samples]


def _text(summary: dict[str, Any], asked: int, following: str) -> str:
    """Writes the summary for people."""
    stop = summary.get("stop", "")
    pairs = [("vocabulary", f"{number(summary['vocab_size'])} of {number(asked)}; {stop}")]
    if summary.get("merges"):
        pairs.append(("merges", number(summary["merges"])))
    totals = dict(summary.get("totals", {}))
    read = [counted(totals.pop(key), key[:-1]) for key in ("documents", "bytes") if key in totals]
    if read:
        pairs.append(("read", ", ".join(read)))
    if "pieces" in totals:
        pieces = number(totals.pop("pieces"))
        pairs.append(("pieces", f"{pieces}, {number(summary['distinct_pieces'])} distinct"))
    pairs += sample_lines(summary.get("samples", []))
    for source in summary.get("sources", []):
        pairs.append(
            ("source", f"{source['path']} x={source['weight']}: {source['share']:.1%} of the pieces")
        )
    pairs += language_lines(summary.get("languages", []))
    if summary.get("resumed"):
        pairs.append(("resumed", summary["resumed"]))
    # Changes made in reading are reported even if they are few: nothing goes in silence.
    pairs += [(key.replace("_", " "), number(value)) for key, value in totals.items() if value]
    if summary["bytes_per_token"] is not None:
        pairs.append(("bytes/token", f"{summary['bytes_per_token']:.3f} on a sample of the text"))
    stages = ", ".join(f"{name} {value:.2f}" for name, value in summary.get("stage_seconds", {}).items())
    if (share := summary.get("changed_share")) is not None:
        old = number(summary["base_tokens"])
        pairs.append(
            (
                "changed",
                f"{share:.1%} of a sample of the text get different ids than from the base's {old} tokens",
            )
        )
    pairs.append(("seconds", f"{summary['seconds']:.2f}" + (f" ({stages})" if stages else "")))
    if summary["peak_memory_bytes"] is not None:
        pairs.append(("peak memory", bytes_text(summary["peak_memory_bytes"])))
    pairs.append(("fingerprint", summary["fingerprint"]))
    pairs.append(("written", ", ".join(map(sized, summary["files"]))))
    pairs.append(("next", following))
    return lines(pairs)
