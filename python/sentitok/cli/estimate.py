"""`--dry-run`: how much there is to train on, and the memory that training will take.

Small corpora are counted; of large ones two samples are, one half as large as the other, and the growth
between them (Heaps' law, pieces = k * bytes**beta) is extended to the whole. Counts files are read once.

Training takes memory in proportion to the distinct pieces; how much for each depends on how alike they are.
So a process trains on a sample of them, another one on half of the sample, and the line through both is
extended to all. `benches/counts_scale.py estimate` compares the result with the peak of runs.

Superwords are trained from stretches, of which pieces say nothing. So a process trains on those of the larger
sample, another one on those of the smaller, and the growth between them is extended to the whole.
"""

import json
import math
import os
import shutil
from binascii import a2b_base64
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

from .command import UsageError
from .output import Output, bytes_text, lines, memory_now, number, peak_memory

if TYPE_CHECKING:
    from sentitok import PreTokenizer, WordCounts

__all__ = ["estimate", "train_sample"]

# Bytes counted for the larger sample of a text.
_SAMPLE_BYTES = 32 << 20

# Of several counts files, one piece of this many is looked at, because they may share pieces.
_ONE_OF = 16

# Distinct pieces that a process trains on, or up to twice as many, and the least size of its vocabulary.
_TRAINED = 50_000
_LEAST_VOCAB = 500

# Memory of superwords that does not depend on the text: sums of neighbours.
_SUMS = 17 << 20

# Memory of training for each byte of a piece where no sample can be trained on.
_FOR_EACH_BYTE = 48

# Memory that stays of counting when training begins.
_AFTER_COUNTING = 4_000_000

# Memory of counting for each distinct piece: in the table of a thread, and in the result.
_IN_TABLE = 70
_IN_RESULT = 32


@dataclass(frozen=True, slots=True)
class _Pieces:
    """The distinct pieces of a corpus.

    Attributes:
        n: how many there are.
        n_bytes: their bytes.
        head: the first line of a counts file of them.
        lines: the lines of all, or of a sample.
        how: how they were found.
    """

    n: int
    n_bytes: int
    head: bytes
    lines: list[bytes]
    how: str


class _Sample:
    """A sample of the lines of a counts file, by a hash of their pieces; at most twice `_TRAINED`."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self._one_of = 1

    def add(self, line: bytes) -> None:
        if self._takes(line):
            self.lines.append(line)
        if len(self.lines) > 2 * _TRAINED:
            self._one_of *= 2
            self.lines = [*filter(self._takes, self.lines)]

    def _takes(self, line: bytes) -> bool:
        return self._one_of == 1 or crc32(line.partition(b" ")[0]) % self._one_of == 0


def _of_lines(file: Iterable[bytes]) -> _Pieces:
    """Looks at each line of a counts file."""
    rest, sample = iter(file), _Sample()
    head = next(rest, b"")
    n = n_bytes = 0
    for line in rest:
        piece = line.rpartition(b" ")[0]
        n += 1
        # Four characters for three bytes.
        n_bytes += len(piece) // 4 * 3 - piece.endswith(b"=") - piece.endswith(b"==")
        sample.add(line)
    return _Pieces(n, n_bytes, head, sample.lines, "read")


def _of_counts(counts: list[tuple[Path, str]], min_count: int) -> _Pieces:
    """Reads counts files."""
    if len(counts) == 1 and min_count < 2:
        with counts[0][0].open("rb") as file:
            return _of_lines(file)
    found: Counter[bytes] = Counter()
    head = b""
    for path, _ in counts:
        with path.open("rb") as file:
            head = next(file, b"")
            for line in file:
                piece, _, count = line.rpartition(b" ")
                if crc32(piece) % _ONE_OF == 0:
                    found[piece] += int(count)
    kept = sorted((piece for piece, count in found.items() if count >= min_count), key=a2b_base64)
    some = _of_lines([head, *(b"%s %d\n" % (piece, found[piece]) for piece in kept)])
    return _Pieces(some.n * _ONE_OF, some.n_bytes * _ONE_OF, head, some.lines, "estimated")


def _distinct(paths: list[str], n_shards: int, **reading: Any) -> "tuple[int, WordCounts]":
    """Counts one shard of the files: its bytes, and its pieces."""
    import sentitok

    counted = sentitok.count(paths, shard=(0, n_shards) if n_shards > 1 else None, **reading)
    assert counted is not None  # it is, without `out`
    totals = counted.totals
    return totals["bytes"] + totals["bytes_left_out"], counted


def _of_training(command: str, pieces: _Pieces, vocab_size: int, options: dict[str, Any]) -> int:
    """Returns the memory that training is expected to take, without that of the program."""
    sample = pieces.lines
    whole = _of_sample(command, pieces, sample, vocab_size, options)
    if whole is None:
        return pieces.n_bytes * _FOR_EACH_BYTE
    if len(sample) >= pieces.n or len(sample) < 2:
        return whole
    half = _of_sample(command, pieces, sample[::2], vocab_size, options) or 0
    slope = max(0, whole - half) / (len(sample) // 2)
    return whole + round(slope * (pieces.n - len(sample)))


def _of_sample(
    command: str, pieces: _Pieces, sample: list[bytes], vocab_size: int, options: dict[str, Any]
) -> int | None:
    """Trains on a sample of the pieces in a process; returns the memory that it took, `None` if it failed."""
    from tempfile import TemporaryDirectory

    vocab_size = min(vocab_size, max(round(vocab_size * len(sample) / max(pieces.n, 1)), _LEAST_VOCAB))
    n = sum(int(line.rpartition(b" ")[2]) for line in sample)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "sample.counts"
        path.write_bytes(_head_of(pieces.head, n) + b"".join(sample))
        return _of_process(command, path, {"vocab_size": vocab_size, **options})


def _head_of(head: bytes, n: int) -> bytes:
    """The first line of a counts file of this many pieces."""
    start = head.index(b"{")
    about = json.loads(head[start:])
    about["totals"]["pieces"] = n
    return head[:start] + json.dumps(about, separators=(",", ":")).encode() + b"\n"


def _of_process(command: str, counts: Path, options: dict[str, Any]) -> int | None:
    """Trains on a counts file in a process; returns the memory that it took, `None` if it failed."""
    from concurrent.futures import BrokenExecutor

    from sentitok import SentitokError
    from sentitok.adapters.processes import ProcessExecutor

    with ProcessExecutor(1) as process:
        trained = process.submit(train_sample, command, counts, options)
        try:
            memory: int = trained.result()
        except (SentitokError, BrokenExecutor, MemoryError):
            return None
    return memory


def _of_superwords(
    files: list[str],
    counted: bool,
    on_disk: int,
    vocab_size: int,
    pipeline: "tuple[str | None, str | PreTokenizer]",
    reading: dict[str, Any],
    options: dict[str, Any],
) -> int:
    """Returns the memory that training superwords is expected to take, without that of the program.

    Raises:
        UsageError: if a sample is too small to train on.
    """
    from tempfile import TemporaryDirectory

    # Stretches across lines are no longer than those of the longest lines, and not trained from.
    options = options | ({"superword_rule": "lines"} if options.get("superword_rule") == "documents" else {})
    base = options.get("extend")
    if base is not None:
        pipeline = (None, base.pre_tokenizer)
    times = max(1, math.ceil(on_disk / _SAMPLE_BYTES))
    with TemporaryDirectory() as folder:
        if counted:
            stretches = _counted_stretches(Path(folder), files, times)
        else:
            stretches = _text_stretches(Path(folder), files, times, pipeline, reading)
        found = [_of_process("train-bpe", path, {"vocab_size": vocab_size, **options}) for path in stretches]
    sizes = [max(memory - _SUMS, 1) for memory in found if memory is not None]
    if len(sizes) < len(found):
        raise UsageError(
            "--dry-run could not train superwords on a sample; leave --superwords-from and --superwords out, "
            "or train"
        )
    growth = math.log2(sizes[0] / sizes[1]) if len(sizes) > 1 else 1.0
    return _SUMS + round(sizes[0] * math.pow(times, min(1.0, max(0.0, growth))))


def _text_stretches(
    folder: Path, paths: list[str], n_shards: int, pipeline: "tuple[str | None, str | PreTokenizer]",
    reading: dict[str, Any],
) -> list[Path]:  # fmt: skip
    """Counts the stretches of a sample of text, and of half of it."""
    import sentitok

    splitter = pipeline[1] if isinstance(pipeline[1], str) else pipeline[1].name
    name = f"{splitter.partition('-superwords')[0]}-superwords"
    reading = {**reading, "normalizer": pipeline[0], "pre_tokenizer": name}
    made = []
    for n in [1] if n_shards == 1 else [n_shards, 2 * n_shards]:
        made.append(folder / f"{n}.counts")
        sentitok.count(paths, shard=(0, n) if n > 1 else None, out=made[-1], **reading)
    return made


def _counted_stretches(folder: Path, files: list[str], one_of: int) -> list[Path]:
    """Takes a sample of the lines of counts files of stretches, and half of it."""
    import sentitok

    path = Path(files[0])
    if len(files) > 1:
        path = folder / "all.counts"
        sentitok.merge_counts(files, path)
    made = []
    for n in [1] if one_of == 1 else [one_of, 2 * one_of]:
        made.append(folder / f"{n}.counts")
        taken = 0
        with path.open("rb") as file, (folder / "lines").open("wb+") as lines:
            head = next(file, b"")
            for line in file:
                piece, _, count = line.rpartition(b" ")
                if crc32(piece) % n == 0:
                    taken += int(count)
                    lines.write(line)
            lines.seek(0)
            with made[-1].open("wb") as out:
                out.write(_head_of(head, taken))
                shutil.copyfileobj(lines, out)
    return made


def train_sample(command: str, counts: Path, options: dict[str, Any]) -> int:
    """Trains from a counts file in a separate process; returns its memory."""
    import sentitok

    train = getattr(sentitok, command.replace("-", "_"))
    # Loads all code, which the program has loaded.
    train(texts=["a few words to train on"], vocab_size=300).save(counts.with_suffix(".json"))
    before = peak_memory() or 0
    train(counts=counts, **options).save(counts.with_suffix(".json"))
    return (peak_memory() or 0) - before


def _of_counting(pieces: _Pieces, threads: int, max_memory: int | None) -> int:
    """Returns the memory that counting is expected to take, without that of the program.

    Args:
        pieces: those of the whole text.
        threads: how many count.
        max_memory: the limit of the tables of all threads.
    """
    # By Heaps' law with an exponent of 0.6, a thread that counts 1/n of a text sees 1/n**0.6 of its pieces.
    tables: float = threads**0.4 * _IN_TABLE * pieces.n
    if max_memory is not None:
        tables = min(tables, max_memory)
    return round(tables) + _IN_RESULT * pieces.n + 2 * pieces.n_bytes


def estimate(
    command: str,
    paths: list[str],
    counts: list[tuple[Path, str]],
    vocab_size: int,
    output: Output,
    pipeline: tuple[str | None, "str | PreTokenizer"],
    reading: dict[str, Any],
    options: dict[str, Any],
) -> None:
    """Prints files, bytes, the estimated distinct pieces and memory.

    Args:
        command: the command that trains.
        paths: the files, if they are text.
        counts: the files with their weights, if they are counts.
        vocab_size: the size that was asked for.
        output: where to report.
        pipeline: normalizer and pre-tokenizer of text.
        reading: how the files are read and counted, as the library takes it.
        options: the other options of training, as the library takes them.

    Raises:
        UsageError: if a source is stdin, which cannot be read twice.
    """
    program = memory_now() or 0
    from sentitok import remote

    files = [str(path) for path, _ in counts] or remote.expand(paths)
    for path in files:
        if path == "-" or (Path(path).exists() and not Path(path).is_file()):
            raise UsageError(f"--dry-run cannot look into {path}, which can be read once; give a file")
    on_disk = sum(
        remote.size(path) or 0 if remote.is_url(path) else Path(path).stat().st_size for path in files
    )
    value: dict[str, Any] = {"files": len(files), "bytes_on_disk": on_disk}
    counting = 0
    if counts:
        pieces = _of_counts(counts, options["min_count"])
    else:
        marked = options.get("method") == "sentencepiece"
        pieces, read = _of_text(files, on_disk, pipeline, {**reading, "line_ends": marked})
        value |= read
        threads = reading["threads"] or os.cpu_count() or 1
        counting = _of_counting(pieces, threads, reading["max_memory"])
    words = {name: value for name, value in options.items() if "superword" not in name}
    training = _of_training(command, pieces, vocab_size, {**words, "threads": reading["threads"]})
    if words != options:
        limits = {"threads": reading["threads"], "max_memory": reading["max_memory"]}
        found = _of_superwords(files, bool(counts), on_disk, vocab_size, pipeline, reading, options | limits)
        training = max(training, found)
    memory = program + max(counting, training) + (0 if counts else _AFTER_COUNTING)
    value |= {"estimated_distinct_pieces": pieces.n, "estimated_memory_bytes": memory}
    size = f"{number(on_disk)} on disk"
    if "text_bytes" in value:
        size += f", {number(value['text_bytes'])} of text"
    text = lines(
        [
            ("files", number(len(files))),
            ("bytes", size),
            ("distinct pieces", f"{number(pieces.n)} ({pieces.how})"),
            ("memory", f"about {bytes_text(memory)}"),
            ("next", "the same command without --dry-run"),
        ]
    )
    output.result(value, text, str(pieces.n))


def _of_text(
    paths: list[str],
    on_disk: int,
    pipeline: tuple[str | None, "str | PreTokenizer"],
    reading: dict[str, Any],
) -> tuple[_Pieces, dict[str, int]]:
    """Counts text, or samples of it: its pieces, and how much was read."""
    n_shards = max(1, math.ceil(on_disk / _SAMPLE_BYTES))
    reading = {**reading, "normalizer": pipeline[0], "pre_tokenizer": pipeline[1]}
    n_bytes, counted = _distinct(paths, n_shards, **reading)
    found, sampled = _of_lines(BytesIO(counted.to_bytes())), n_bytes
    n, piece_bytes = found.n, found.n_bytes
    if n_shards > 1:
        half_bytes, half = _distinct(paths, 2 * n_shards, **reading)
        growth = 1.0
        if half_bytes < n_bytes and 0 < len(half) < n:
            growth = min(1.0, math.log(n / len(half)) / math.log(n_bytes / half_bytes))
        n_bytes *= n_shards
        n, piece_bytes = round(n * n_shards**growth), round(piece_bytes * n_shards**growth)
    how = "counted" if n_shards == 1 else f"estimated from {bytes_text(sampled)}"
    pieces = _Pieces(n, piece_bytes, found.head, found.lines, how)
    return pieces, {"text_bytes": n_bytes, "sampled_bytes": sampled}
