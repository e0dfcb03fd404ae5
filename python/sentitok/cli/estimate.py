"""`--dry-run`: how much there is to count, before it is counted.

Small corpora are counted; of large ones two samples are, one half as large as
the other, and the growth between them (Heaps' law, pieces = k * bytes**beta) is
drawn out to the whole. It is an estimate and says so.
"""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .command import UsageError
from .output import Output, bytes_text, lines, number

if TYPE_CHECKING:
    from sentitok import PreTokenizer

# Bytes counted for the larger sample.
_SAMPLE_BYTES = 32 << 20

# Bytes of memory a distinct piece takes while it is counted and merged, beyond
# its text: map entry, symbols, postings. And what a process has before it reads.
_BYTES_PER_PIECE = 120
_BYTES_PER_TOKEN = 400
_BASE_BYTES = 24 << 20


def _distinct(paths: list[str], n_shards: int, **reading: Any) -> tuple[int, int]:
    """Counts one shard of the files: its bytes and its distinct pieces."""
    import sentitok

    counted = sentitok.count(paths, shard=(0, n_shards) if n_shards > 1 else None, **reading)
    assert counted is not None  # it is, without `out`
    return counted.totals["bytes"], len(counted)


def estimate(
    paths: list[str],
    counts: list[Path] | None,
    vocab_size: int,
    output: Output,
    pipeline: tuple[str | None, "str | PreTokenizer"],
    reading: dict[str, Any],
) -> None:
    """Prints files, bytes, the estimated distinct pieces and memory.

    Args:
        paths: the files.
        counts: files of counts, of which there is nothing to estimate.
        vocab_size: the size that was asked for.
        output: where to report.
        pipeline: normalizer and pre-tokenizer.
        reading: how the files are read, as the library takes it.

    Raises:
        UsageError: if a source is stdin, which cannot be read twice, or counts.
    """
    if counts:
        raise UsageError("--dry-run estimates text; counts are already as small as they get")
    from sentitok import remote

    paths = remote.expand(paths)
    for path in paths:
        if path == "-" or (Path(path).exists() and not Path(path).is_file()):
            raise UsageError(f"--dry-run cannot look into {path}, which can be read once; give a file")
    on_disk = sum(
        remote.size(path) or 0 if remote.is_url(path) else Path(path).stat().st_size for path in paths
    )
    n_shards = max(1, math.ceil(on_disk / _SAMPLE_BYTES))
    reading = {**reading, "normalizer": pipeline[0], "pre_tokenizer": pipeline[1]}
    n_bytes, pieces = _distinct(paths, n_shards, **reading)
    sampled = n_bytes
    if n_shards > 1:
        half_bytes, half_pieces = _distinct(paths, 2 * n_shards, **reading)
        growth = 1.0
        if half_bytes < n_bytes and 0 < half_pieces < pieces:
            growth = min(1.0, math.log(pieces / half_pieces) / math.log(n_bytes / half_bytes))
        n_bytes *= n_shards
        pieces = round(pieces * n_shards**growth)
    memory = _BASE_BYTES + pieces * _BYTES_PER_PIECE + vocab_size * _BYTES_PER_TOKEN
    value = {
        "files": len(paths),
        "bytes_on_disk": on_disk,
        "text_bytes": n_bytes,
        "sampled_bytes": sampled,
        "estimated_distinct_pieces": pieces,
        "estimated_memory_bytes": memory,
    }
    how = "counted" if n_shards == 1 else f"estimated from {bytes_text(sampled)}"
    text = lines(
        [
            ("files", number(len(paths))),
            ("bytes", f"{number(on_disk)} on disk, {number(n_bytes)} of text"),
            ("distinct pieces", f"{number(pieces)} ({how})"),
            ("memory", f"about {bytes_text(memory)}"),
            ("next", "the same command without --dry-run"),
        ]
    )
    output.result(value, text, str(pieces))
