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
from .documents import Documents

__all__ = [
    "COMPLETE",
    "Part",
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


class Part(NamedTuple):
    """What a task reads: whole files, or a shard of one file.

    Attributes:
        files: path, size in bytes and time of modification in nanoseconds of each.
        shard: `(index, count)` of a single file; `None` for whole files.
    """

    files: tuple[tuple[str, int, int], ...]
    shard: tuple[int, int] | None

    @property
    def n_bytes(self) -> int:
        """How many bytes the task reads, about."""
        total = sum(size for _, size, _ in self.files)
        return total if self.shard is None else self._start(1) - self._start()

    def _start(self, further: int = 0) -> int:
        """The byte of the file from which the shard begins, or another one further on."""
        index, n_shards = self.shard or (0, 1)
        return self.files[0][1] * (index + further) // n_shards

    def __str__(self) -> str:
        """Names the files and the byte from which they are read."""
        names = [remote.shown(path) for path, _, _ in self.files]
        more = f" and {len(names) - 1} more files" if len(names) > 1 else ""
        return f"{names[0]}{more}, from byte {self._start()}"


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


def count_part(version: str, part: Part, out: str, settings: dict[str, Any]) -> None:
    """Counts the pieces of a part into a counts file.

    Args:
        version: the version of sentitok that the driver has.
        part: what is read.
        out: the file to write.
        settings: further arguments of `sentitok.count`.

    Raises:
        SentitokError: if this worker has another version, or as `sentitok.count`.
        OSError: naming the machine, if a file cannot be read or written.
    """
    with _reading(version, part) as paths:
        count(paths, shard=part.shard, out=out, **settings)


def merge_parts(version: str, parts: list[str], out: str) -> None:
    """Merges counts files into one.

    Raises:
        SentitokError, OSError: as `count_part`.
    """
    with _at_work(version):
        merge_counts(parts, out)


def encode_part(
    version: str, part: Part, out_dir: str, tokenizer: tuple[str, str], settings: dict[str, Any]
) -> None:
    """Encodes a part into a folder of token shards, in which the file `COMPLETE` is written last.

    Args:
        version: the version of sentitok that the driver has.
        part: what is read.
        out_dir: the folder to write.
        tokenizer: path and fingerprint.
        settings: further arguments of `sentitok.encode_files`.

    Raises:
        SentitokError, OSError: as `count_part`.
    """
    with _reading(version, part) as paths:
        encode_files(paths, out_dir, _tokenizer(*tokenizer), shard=part.shard, **settings)
    atomic.write(Path(out_dir) / COMPLETE, b"")


def measure_part(
    version: str,
    part: Part,
    out: str,
    tokenizers: list[tuple[str, str]],
    settings: dict[str, Any],
    threads: int,
) -> None:
    """Writes the `Sums` of each tokenizer over a part, end to end, as one array of numpy.

    Raises:
        SentitokError, OSError: as `count_part`.
    """
    with _reading(version, part) as paths:
        counters = [FertilityCounter(_tokenizer(*one)) for one in tokenizers]
        documents = Documents(paths, shard=part.shard, **settings)
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


def state(path: str) -> tuple[str, int, int]:
    """Returns path, size and time of modification of a file; behind a URL only its size.

    Raises:
        OSError: if there is none.
    """
    if remote.is_url(path):
        # Reading it finds out whether it changes meanwhile.
        return path, remote.size(path) or 0, 0
    found = Path(path).stat()
    return path, found.st_size, found.st_mtime_ns


@contextmanager
def _reading(version: str, part: Part) -> Iterator[list[str]]:
    """Gives the paths of a part; files must stay as the driver saw them."""
    with _at_work(version):
        _check_files(part)
        yield [path for path, _, _ in part.files]
        _check_files(part)


def _check_files(part: Part) -> None:
    for file in part.files:
        if (found := state(file[0])) != file:
            raise FormatError(
                f"{remote.shown(file[0])}: the file changed while it was read (it has {found[1]} bytes on "
                f"{platform.node()}, and had {file[1]}); run again when it stays as it is"
            )


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
    tokenizer = Tokenizer.from_bytes(Path(path).read_bytes())
    if tokenizer.fingerprint != fingerprint:
        raise FormatError(
            f"{path}: its fingerprint is {tokenizer.fingerprint}, expected {fingerprint}; it was changed"
        )
    return tokenizer


def _save(numbers: NDArray[np.int64], out: str) -> None:
    with atomic.writing(out) as beside, open(beside, "wb") as file:
        np.save(file, numbers)
