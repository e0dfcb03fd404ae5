"""`--dry-run`: how much there is to train on, and the memory that training will take.

Small corpora are counted; of large ones two samples are, one half as large as the other, and the growth
between them (Heaps' law, pieces = k * bytes**beta) is extended to the whole. Counts files are read once.
Memory follows from the number and the length of distinct pieces; `benches/counts_scale.py estimate` compares
it with the peak of runs.
"""

import math
import os
from binascii import a2b_base64
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

from .command import UsageError
from .output import Output, bytes_text, lines, number

if TYPE_CHECKING:
    from sentitok import PreTokenizer

# Bytes counted for the larger sample.
_SAMPLE_BYTES = 32 << 20

# Of several counts files, one piece of this many is looked at, because they may share pieces.
_ONE_OF = 16

# Memory that stays of counting when training begins.
_AFTER_COUNTING = 4_000_000

# Memory of the process before it reads, and of training for each byte of a distinct piece and each token.
_TRAINING = {
    "train-bpe": (42_000_000, 17, 200),
    "train-wordpiece": (28_000_000, 17, 470),
    "train-unigram": (44_000_000, 17, 200),
}

# Memory of counting for each distinct piece: in the table of a thread, and in the result.
_IN_TABLE = 70
_IN_RESULT = 32


def _distinct(paths: list[str], n_shards: int, **reading: Any) -> tuple[int, int, int]:
    """Counts one shard of the files: its bytes, its distinct pieces, and their bytes."""
    import sentitok

    counted = sentitok.count(paths, shard=(0, n_shards) if n_shards > 1 else None, **reading)
    assert counted is not None  # it is, without `out`
    totals = counted.totals
    return totals["bytes"] + totals["bytes_left_out"], len(counted), sum(map(len, counted))


def _of_counts(counts: list[tuple[Path, str]], min_count: int) -> tuple[int, int, str]:
    """Reads counts files: the distinct pieces of all, their bytes, and how they were found."""
    one_of = 1 if len(counts) == 1 and min_count < 2 else _ONE_OF
    pieces = n_bytes = 0
    found: Counter[bytes] = Counter()
    for path, _ in counts:
        with path.open("rb") as file:
            next(file, None)
            for line in file:
                piece, _, count = line.rpartition(b" ")
                if one_of == 1:
                    pieces += 1
                    # Four characters for three bytes.
                    n_bytes += len(piece) // 4 * 3 - piece.endswith(b"=") - piece.endswith(b"==")
                elif crc32(piece) % one_of == 0:
                    found[piece] += int(count)
    if one_of == 1:
        return pieces, n_bytes, "read"
    kept = [piece for piece, count in found.items() if count >= min_count]
    return len(kept) * one_of, sum(len(a2b_base64(piece)) for piece in kept) * one_of, "estimated"


def memory_of(
    command: str,
    pieces: int,
    piece_bytes: int,
    vocab_size: int,
    threads: int | None,
    max_memory: int | None = None,
) -> int:
    """Returns the peak memory that training is expected to take.

    Args:
        command: the command that trains.
        pieces: the number of distinct pieces.
        piece_bytes: their bytes.
        vocab_size: the size that was asked for.
        threads: the threads that count text; `None` if counts are read.
        max_memory: the limit of the tables of all threads.
    """
    base, per_byte, per_token = _TRAINING[command]
    # A vocabulary is seldom larger than the number of words.
    training = base + piece_bytes * per_byte + min(vocab_size, pieces + 256) * per_token
    if threads is None:
        return training
    # By Heaps' law with an exponent of 0.6, a thread that counts 1/n of a text sees 1/n**0.6 of its pieces.
    tables: float = threads**0.4 * _IN_TABLE * pieces
    if max_memory is not None:
        tables = min(tables, max_memory)
    counting = base + round(tables) + _IN_RESULT * pieces + 2 * piece_bytes
    return max(counting, training) + _AFTER_COUNTING


def estimate(
    command: str,
    paths: list[str],
    counts: list[tuple[Path, str]],
    vocab_size: int,
    output: Output,
    pipeline: tuple[str | None, "str | PreTokenizer"],
    reading: dict[str, Any],
    min_count: int,
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
        min_count: the least count of a piece.

    Raises:
        UsageError: if a source is stdin, which cannot be read twice.
    """
    from sentitok import remote

    files = [str(path) for path, _ in counts] or remote.expand(paths)
    for path in files:
        if path == "-" or (Path(path).exists() and not Path(path).is_file()):
            raise UsageError(f"--dry-run cannot look into {path}, which can be read once; give a file")
    on_disk = sum(
        remote.size(path) or 0 if remote.is_url(path) else Path(path).stat().st_size for path in files
    )
    value: dict[str, Any] = {"files": len(files), "bytes_on_disk": on_disk}
    if counts:
        pieces, piece_bytes, how = _of_counts(counts, min_count)
        threads = None
    else:
        pieces, piece_bytes, how, read = _of_text(files, on_disk, pipeline, reading)
        value |= read
        threads = reading["threads"] or os.cpu_count() or 1
    limit = reading["max_memory"]
    memory = memory_of(command, pieces, piece_bytes, vocab_size, threads, limit)
    value |= {"estimated_distinct_pieces": pieces, "estimated_memory_bytes": memory}
    size = f"{number(on_disk)} on disk"
    if "text_bytes" in value:
        size += f", {number(value['text_bytes'])} of text"
    text = lines(
        [
            ("files", number(len(files))),
            ("bytes", size),
            ("distinct pieces", f"{number(pieces)} ({how})"),
            ("memory", f"about {bytes_text(memory)}"),
            ("next", "the same command without --dry-run"),
        ]
    )
    output.result(value, text, str(pieces))


def _of_text(
    paths: list[str],
    on_disk: int,
    pipeline: tuple[str | None, "str | PreTokenizer"],
    reading: dict[str, Any],
) -> tuple[int, int, str, dict[str, int]]:
    """Counts text, or samples of it: distinct pieces, their bytes, how they were found, and what was read."""
    n_shards = max(1, math.ceil(on_disk / _SAMPLE_BYTES))
    reading = {**reading, "normalizer": pipeline[0], "pre_tokenizer": pipeline[1]}
    n_bytes, pieces, piece_bytes = _distinct(paths, n_shards, **reading)
    sampled = n_bytes
    if n_shards > 1:
        half_bytes, half_pieces, _ = _distinct(paths, 2 * n_shards, **reading)
        growth = 1.0
        if half_bytes < n_bytes and 0 < half_pieces < pieces:
            growth = min(1.0, math.log(pieces / half_pieces) / math.log(n_bytes / half_bytes))
        n_bytes *= n_shards
        piece_bytes = round(piece_bytes * n_shards**growth)
        pieces = round(pieces * n_shards**growth)
    how = "counted" if n_shards == 1 else f"estimated from {bytes_text(sampled)}"
    return pieces, piece_bytes, how, {"text_bytes": n_bytes, "sampled_bytes": sampled}
