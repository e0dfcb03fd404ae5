"""The functions that workers run: each reads one part of files and writes one file, or one folder of shards.

`distributed` submits them. A worker imports them by name, so arguments are paths, numbers and settings: a
tokenizer is a path. What a function writes appears whole or not at all, with the same bytes however often it
runs: it may be tried again, or run twice at a time, on any machine.
"""

import errno
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import atomic, remote
from ._sentitok import (
    FertilityCounter,
    FormatError,
    SentitokError,
    Tokenizer,
    WordCounts,
    __version__,
    count,
    encode_files,
    merge_counts,
)
from .corpus_shards import CorpusShard
from .documents import Documents

__all__ = [
    "COMPLETE",
    "Sums",
    "count_part",
    "encode_part",
    "measure_part",
    "merge_parts",
    "single_tokens",
]

# The file that a folder of token shards has when its part is encoded.
COMPLETE = "complete"
# Words encoded at a time.
_WORDS = 1 << 16


class Sums(NamedTuple):
    """Sums over documents, from which `evaluate` computes its measures."""

    documents: int
    bytes: int
    replaced: int
    words: int
    tokens: int
    continued: int
    frequency: NDArray[np.int64]

    def to_array(self) -> NDArray[np.int64]:
        """All numbers in one array."""
        return np.concatenate([np.array(self[:-1], np.int64), self.frequency])

    @classmethod
    def from_array(cls, numbers: NDArray[np.int64]) -> "Sums":
        """Sums of the numbers that `to_array` gave."""
        documents, n_bytes, replaced, words, tokens, continued = map(int, numbers[: cls.n_numbers()])
        return cls(documents, n_bytes, replaced, words, tokens, continued, numbers[cls.n_numbers() :])

    @classmethod
    def n_numbers(cls) -> int:
        """How many numbers come before the frequencies."""
        return len(cls._fields) - 1


def count_part(version: str, part: CorpusShard, out: str, settings: dict[str, Any]) -> None:
    """Counts the pieces of a part into a counts file.

    Args:
        version: the version of sentitok that the driver has.
        part: the part of the files to read.
        out: the file to write.
        settings: further arguments of `sentitok.count`.

    Raises:
        SentitokError: if this worker has another version, or as `sentitok.count`.
        OSError: naming the machine, if a file cannot be read or written.
    """
    with _at_work(version):
        count(part, out=out, **settings)


def merge_parts(version: str, parts: list[str], out: str) -> None:
    """Merges counts files into one.

    Raises:
        SentitokError, OSError: as `count_part`.
    """
    with _at_work(version):
        merge_counts(parts, out)


def encode_part(
    version: str, part: CorpusShard, out_dir: str, tokenizer: tuple[str, str], settings: dict[str, Any]
) -> None:
    """Encodes a part into a folder of token shards, in which the file `COMPLETE` is written last.

    Args:
        version: the version of sentitok that the driver has.
        part: the part of the files to read.
        out_dir: the folder to write.
        tokenizer: path and fingerprint.
        settings: further arguments of `sentitok.encode_files`.

    Raises:
        SentitokError, OSError: as `count_part`.
    """
    with _at_work(version):
        encode_files(part, out_dir, _tokenizer(*tokenizer), **settings)
        if remote.is_url(out_dir):
            remote.write_bytes(remote.join(out_dir, COMPLETE), b"")
        else:
            atomic.write(Path(out_dir) / COMPLETE, b"")


def measure_part(
    version: str,
    part: CorpusShard,
    out: str,
    tokenizers: list[tuple[str, str]],
    settings: dict[str, Any],
    threads: int,
) -> None:
    """Writes the `Sums` of each tokenizer over a part, end to end, as one array of numpy.

    Raises:
        SentitokError, OSError: as `count_part`.
    """
    with _at_work(version):
        counters = [FertilityCounter(_tokenizer(*one)) for one in tokenizers]
        documents = Documents(part, **settings)
        n_documents = n_bytes = 0
        for batch in documents.batches():
            n_documents += len(batch)
            n_bytes += [counter.add(batch, threads) for counter in counters][-1]
        arrays = []
        for counter in counters:
            sums = counter.sums()
            words = (sums.words, sums.tokens, sums.continued)
            arrays.append(Sums(n_documents, n_bytes, documents.replaced, *words, sums.frequency).to_array())
        _save(np.concatenate(arrays), out)


def single_tokens(version: str, counts: str, out: str, tokenizers: list[tuple[str, str]]) -> None:
    """Writes how many of the distinct words of a counts file are one token, for each tokenizer.

    Before those numbers comes the number of words.

    Raises:
        SentitokError, OSError: as `count_part`.
    """
    with _at_work(version):
        words = WordCounts.load(counts)
        counters = [FertilityCounter(_tokenizer(*one)) for one in tokenizers]
        batch: list[bytes] = []
        for number, word in enumerate(words, 1):
            batch.append(b" " + word)
            if len(batch) == _WORDS or number == len(words):
                for counter in counters:
                    counter.add(batch, 1)
                batch = []
        _save(np.array([len(words), *(counter.sums().single for counter in counters)], np.int64), out)


@contextmanager
def _at_work(version: str) -> Iterator[None]:
    """Refuses another version than the driver's; errors of the system name the machine."""
    if version != __version__:
        raise SentitokError(
            f"{platform.node()} has sentitok {__version__}, and the driver {version}; install one version on "
            "all machines"
        )
    try:
        yield
    except OSError as error:
        said = f"{error.strerror or error} (on {platform.node()})"
        raise OSError(error.errno or errno.EIO, said, error.filename) from error


@lru_cache(maxsize=8)
def _tokenizer(path: str, fingerprint: str) -> Tokenizer:
    data = remote.read_bytes(path) if remote.is_url(path) else Path(path).read_bytes()
    tokenizer = Tokenizer.from_bytes(data)
    if tokenizer.fingerprint != fingerprint:
        raise FormatError(
            f"{path}: its fingerprint is {tokenizer.fingerprint}, expected {fingerprint}; it was changed"
        )
    return tokenizer


def _save(numbers: NDArray[np.int64], out: str) -> None:
    if remote.is_url(out):
        data = BytesIO()
        np.save(data, numbers)
        remote.write_bytes(out, data.getvalue())
        return
    with atomic.writing(out) as temporary, open(temporary, "wb") as file:
        np.save(file, numbers)
