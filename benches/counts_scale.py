"""Counts at scale: training from many distinct pieces, merging, the price of `--min-count`, and `--dry-run`.

    python benches/counts_scale.py curve 1e5 1e6 1e7       time and memory of training, by distinct pieces
    python benches/counts_scale.py merge 1e8 100           merge of 1e8 distinct pieces from 100 files
    python benches/counts_scale.py stream 1e9 32           merge of 1e9 from 32 pipes, made meanwhile
    python benches/counts_scale.py min-count corpus.txt    bytes per token without rare pieces
    python benches/counts_scale.py estimate corpus.txt...  --dry-run against the peak of the run

Pieces are made of morphemes whose frequencies follow Zipf's law, as are the counts. Each training is a
separate process, whose peak memory is measured. Prints tables in Markdown.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import sentitok
from sentitok.documents import Documents

TRAINERS = {
    "train-bpe": ("gpt2", None),
    "train-wordpiece": ("bert", "hf-bert"),
    "train-unigram": ("metaspace-never", "sentencepiece"),
}
SPACES = {"train-bpe": " ", "train-wordpiece": "", "train-unigram": "▁"}
LETTERS = "eeeeeetttttaaaaaooooiiiinnnnsssshhhrrrddllluucmmwffggyppbvk"
# Made in memory at a time: 2 GB.
_PIECES_AT_ONCE = 10_000_000
MIN_COUNTS = (1, 2, 5, 10, 20)


def morphemes(n: int, lengths: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Returns random morphemes, longer ones later."""
    sizes = np.sort(rng.integers(*lengths, n))
    return np.array(["".join(rng.choice(list(LETTERS), size)) for size in sizes], dtype=bytes)


def pieces(n: int, space: str, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Returns n distinct sorted pieces with their counts."""
    rng = np.random.default_rng(0)
    stems = morphemes(50_000, (2, 8), rng)
    suffixes = np.concatenate([np.array([b"", b"", b"s", b"ed", b"ing"]), morphemes(3000, (2, 5), rng)])
    if seed:
        rng = np.random.default_rng(seed)
    found = np.empty(0, dtype="S1")
    while len(found) < n:
        size = int(1.3 * (n - len(found))) + 1000
        # Zipf's law by inversion: the logarithm of the rank is uniform.
        stem = stems[(len(stems) ** rng.random(size)).astype(np.int64) - 1]
        joined = np.char.add(space.encode(), stem)
        for _ in range(2):
            suffix = suffixes[(len(suffixes) ** rng.random(size)).astype(np.int64) - 1]
            joined = np.char.add(joined, suffix)
        found = np.unique(np.concatenate([found, joined]))
    found = np.sort(rng.choice(found, n, replace=False))
    return found, np.maximum(1, n // 10 // (1 + rng.permutation(n)))


def head(n_pieces: int, pre_tokenizer: str, normalizer: str | None) -> bytes:
    """Returns the first line of a counts file."""
    empty = sentitok.WordCounts({}, pre_tokenizer=pre_tokenizer, normalizer=normalizer).to_bytes()
    return empty.replace(b'"pieces":0', b'"pieces":%d' % n_pieces)


def write_counts(path: Path, n: int, command: str) -> None:
    """Writes a counts file of n distinct pieces for a trainer, in bounded memory.

    More pieces than `_PIECES_AT_ONCE` are written in parts and merged, so those of several parts are fewer.
    """
    if n <= _PIECES_AT_ONCE:
        write_pieces(path, n, command, 0)
        return
    n_parts = -(-n // _PIECES_AT_ONCE)
    parts = [path.with_name(f"{path.name}-{part}") for part in range(n_parts)]
    for number, part in enumerate(parts):
        write_pieces(part, n // n_parts, command, number)
    sentitok.merge_counts(parts, path)
    for part in parts:
        part.unlink()


def write_pieces(path: Path, n: int, command: str, seed: int) -> None:
    """Writes a counts file of n distinct pieces, which are in memory."""
    from binascii import b2a_base64

    words, counts = pieces(n, SPACES[command], seed)
    with path.open("wb") as file:
        file.write(head(int(counts.sum()), *TRAINERS[command]))
        for word, count in zip(words.tolist(), counts.tolist(), strict=True):
            file.write(b"%s %d\n" % (b2a_base64(word, newline=False), count))


def run(*args: str) -> dict[str, Any]:
    """Runs a command; returns what it says as JSON."""
    call = [sys.executable, "-m", "sentitok.cli", *args, "--json"]
    return dict(json.loads(subprocess.run(call, check=True, capture_output=True).stdout))


def row(*cells: object) -> None:
    """Prints a row of a table."""
    print("|", " | ".join(map(str, cells)), "|", flush=True)


def head_row(*cells: str) -> None:
    row(*cells)
    row(*("---" for _ in cells))


def in_mb(n_bytes: float) -> str:
    return f"{n_bytes / 1e6:,.0f} MB"


def curve(sizes: list[int], commands: list[str], folder: Path) -> None:
    """Trains from counts of each size."""
    columns = ("distinct pieces", "trainer", "file", "read, s", "train, s", "CPU, s", "peak memory")
    head_row(*columns, "bytes per piece")
    for n in sizes:
        for command in commands:
            path = folder / "made.counts"
            write_counts(path, n, command)
            call = (command, "--counts", str(path), "--vocab", "32000", "-o", str(folder / "made.json"))
            before = os.times()
            out = run(*call, "--force")
            after = os.times()
            cpu = sum(after[2:4]) - sum(before[2:4])
            stages, peak = out["stage_seconds"], out["peak_memory_bytes"]
            times = (f"{stages[stage]:.1f}" for stage in ("count", "merge"))
            found = out["distinct_pieces"]
            size = in_mb(path.stat().st_size)
            row(f"{found:,}", command, size, *times, f"{cpu:.1f}", in_mb(peak), f"{peak / found:.0f}")


# The digits of base64, whose values sort as their characters do not: pieces are sorted as bytes.
BASE64 = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", np.uint8)


def stream_lines(n: int, part: int, n_parts: int, block: int = 1 << 20) -> Iterator[bytes]:
    """Yields sorted lines of n pieces of 12 bytes, a block at a time; no part shares any with another."""
    rng = np.random.default_rng(part)
    for start in range(0, n, block):
        size = min(block, n - start)
        # Ascending: a random number within equal steps, whose remainder is that of the part.
        numbers = (np.arange(start, start + size, dtype=np.uint64) << 20) + rng.integers(
            0, 1 << 16, size, np.uint64
        ) * 16
        numbers = numbers * np.uint64(n_parts) + np.uint64(part)
        words = np.zeros((size, 12), np.uint8)
        words[:, 4:] = numbers.astype(">u8").view(np.uint8).reshape(size, 8)
        words[:, :4] = np.frombuffer(b" the", np.uint8)
        three = words.reshape(size, 4, 3).astype(np.uint32)
        bits = three[:, :, 0] << 16 | three[:, :, 1] << 8 | three[:, :, 2]
        lines = np.empty((size, 19), np.uint8)
        for digit in range(4):
            lines[:, digit:16:4] = BASE64[bits >> (18 - 6 * digit) & 63]
        lines[:, 16:] = np.frombuffer(b" 1\n", np.uint8)
        yield lines.tobytes()


MERGE = """
import re, sys, time
from pathlib import Path
import sentitok
started = time.perf_counter()
totals = sentitok.merge_counts(sys.argv[2:], sys.argv[1])
seconds = time.perf_counter() - started
cpu = time.process_time()
peak = int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) << 10
print(seconds, cpu, peak, totals["pieces"])
"""


def write_part(path: Path, n: int, part: int, n_parts: int, block: int) -> None:
    """Writes a counts file, or its lines into a pipe."""
    with path.open("wb") as file:
        file.write(head(n // n_parts, "gpt2", None))
        file.writelines(stream_lines(n // n_parts, part, n_parts, block))


def merge(n: int, n_parts: int, folder: Path, *, streams: bool) -> None:
    """Merges files, or pipes, of distinct pieces."""
    parts = [folder / f"{part}.counts" for part in range(n_parts)]
    out = folder / "all.counts"
    call = [sys.executable, "-c", MERGE, str(out), *map(str, parts)]
    jobs = [(path, n, part, n_parts, 1 << 14 if streams else 1 << 20) for part, path in enumerate(parts)]
    if streams:
        for path in parts:
            os.mkfifo(path)
        # A thread for each, as the merge takes the next line of any.
        for job in jobs:
            threading.Thread(target=write_part, args=job, daemon=True).start()
    else:
        for job in jobs:
            write_part(*job)
    done = subprocess.run(call, check=True, capture_output=True)
    seconds, cpu, peak, total = map(float, done.stdout.split())
    size = out.stat().st_size
    kind = "streams" if streams else "files"
    head_row("distinct pieces", kind, "size", "seconds", "CPU", "pieces/s", "MB/s", "peak memory")
    row(f"{total:,.0f}", n_parts, in_mb(size), f"{seconds:.1f}", f"{cpu:.1f}", f"{total / seconds:,.0f}",
        f"{size / seconds / 1e6:.0f}", in_mb(peak))  # fmt: skip


def min_count(paths: list[str], vocab: int, form: str | None) -> None:
    """Measures bytes per token of tokenizers that were trained without rare pieces."""
    head_row("corpus", "trainer", "--min-count", "distinct pieces", "bytes per token", "difference")
    trainers: dict[str, Callable[..., sentitok.Tokenizer]] = {
        "BPE": sentitok.train_bpe,
        "WordPiece": sentitok.train_wordpiece,
        "Unigram": sentitok.train_unigram,
    }
    for path in paths:
        documents = [*Documents([path], form)]
        # Every tenth document is held out.
        seen = [one for n, one in enumerate(documents) if n % 10]
        unseen = [one for n, one in enumerate(documents) if n % 10 == 0]
        n_bytes = sum(len(one.encode()) for one in unseen)
        for name, train in trainers.items():
            first = 0.0
            for least in MIN_COUNTS:
                tokenizer = train(texts=seen, vocab_size=vocab, min_count=least)
                assert tokenizer.report is not None
                rate = n_bytes / int(tokenizer.count_batch(unseen).sum())
                first = first or rate
                row(Path(path).name, name, least, f"{tokenizer.report.distinct_pieces:,}", f"{rate:.4f}",
                    f"{rate / first - 1:+.2%}")  # fmt: skip


def estimate(paths: list[str], vocab: int, folder: Path) -> None:
    """Compares the memory that `--dry-run` expects with the peak of the run, from text and from counts."""
    head_row("input", "trainer", "from", "distinct pieces", "expected", "peak", "difference")
    for path in paths:
        for command, (pre_tokenizer, normalizer) in TRAINERS.items():
            made = folder / "made.counts"
            sentitok.count(path, pre_tokenizer=pre_tokenizer, normalizer=normalizer, out=made)
            calls = {"text": [path], "counts": ["--counts", str(made)]}
            for kind, source in calls.items():
                call = [command, *source, "--vocab", str(vocab), "-o", str(folder / "made.json"), "--force"]
                expected = run(*call, "--dry-run")
                peak = run(*call)["peak_memory_bytes"]
                memory = expected["estimated_memory_bytes"]
                n = f"{expected['estimated_distinct_pieces']:,}"
                off = f"{memory / peak - 1:+.1%}"
                row(Path(path).name, command, kind, n, in_mb(memory), in_mb(peak), off)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["curve", "merge", "stream", "min-count", "estimate", "counts"])
    parser.add_argument("values", nargs="+")
    parser.add_argument("--vocab", type=int, default=32_000)
    parser.add_argument("--format", help="Of the files of min-count, such as csv:text.")
    parser.add_argument(
        "--trainer", action="append", choices=[*TRAINERS], help="Those of curve; all by default."
    )
    parser.add_argument(
        "--folder", help="Where to write; needs the space of the counts. [default: temporary]"
    )
    options = parser.parse_args()
    numbers = (
        [int(float(value)) for value in options.values]
        if options.what in ("curve", "merge", "stream")
        else []
    )
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder, started = Path(name), time.perf_counter()
        match options.what:
            case "curve":
                curve(numbers, options.trainer or [*TRAINERS], folder)
            case "merge" | "stream":
                merge(numbers[0], numbers[1], folder, streams=options.what == "stream")
            case "min-count":
                min_count(options.values, options.vocab, options.format)
            case "estimate":
                estimate(options.values, options.vocab, folder)
            case "counts":
                write_counts(Path(options.values[0]), int(float(options.values[1])), options.trainer[0])
        print(
            f"\n{time.perf_counter() - started:.0f} s in all, sentitok {sentitok.__version__}",
            file=sys.stderr,
        )


if __name__ == "__main__":
    main()
