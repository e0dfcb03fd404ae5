"""`TokenWriter`: ids of documents as a data set of token shards, the one that `sentitok encode` writes.

For corpora of texts, from which lines may have to be left out first. `sentitok.datasets.TokenDataset`
reads the folder. Not for which ids (`corpus.py`).
"""

import hashlib
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sentitok import Tokenizer
from sentitok.shards import Shard, type_of_ids, write_manifest

from ..errors import DataError

__all__ = ["ArrayFile", "TokenWriter", "mapped"]

_IDS, _ENDS = "shard-00000.bin", "shard-00000.idx.npy"


class TokenWriter:
    """Writes one shard.

    Args:
        folder: the directory of the data set.
        tokenizer: what the ids are of.
        end: the id that ends each document.
    """

    def __init__(self, folder: Path, tokenizer: Tokenizer, end: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.tokenizer, self.end = folder, tokenizer, end
        self.dtype = type_of_ids(tokenizer)
        self.tokens = 0
        self._hash = hashlib.sha256()
        self._file = (folder / _IDS).open("wb")
        self._ends = ArrayFile(folder / _ENDS)

    def add(self, ids: NDArray[np.int64], ends: NDArray[np.int64]) -> None:
        """Adds documents.

        Args:
            ids: of all, each document with its end.
            ends: where among them each ends.
        """
        data = ids.astype(self.dtype).tobytes()
        self._hash.update(data)
        self._file.write(data)
        self._ends.add(ends + self.tokens)
        self.tokens += len(ids)

    def close(self) -> None:
        """Writes the manifest: the data set is whole."""
        self._file.close()
        self._ends.close()
        with (self.folder / _ENDS).open("rb") as file:
            index = hashlib.file_digest(file, "sha256").hexdigest()
        shard = Shard(_IDS, _ENDS, self._ends.length, self.tokens, self._hash.hexdigest(), index)
        write_manifest(self.folder, self.tokenizer, self.end, [shard] if self.tokens else [])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._ends.__exit__()


class ArrayFile:
    """Writes an array.

    For what is as long as a corpus has documents or rows: it is written piece by piece and read where it
    is needed. The file is numpy's .npy, whose header has room for a length that grows.

    Args:
        path: the file, which is whole once it is closed; a block that ends otherwise lets go of it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.length = 0
        self._file = path.open("wb")
        self._write_header()

    def add(self, values: NDArray[np.int64]) -> None:
        """Adds numbers at the end."""
        self._file.write(np.ascontiguousarray(values, dtype="<i8").tobytes())
        self.length += len(values)

    def close(self) -> None:
        """Ends the array: the file is whole."""
        self._file.seek(0)
        self._write_header()
        self._file.close()

    def _write_header(self) -> None:
        about = {"descr": "<i8", "fortran_order": False, "shape": (self.length,)}
        np.lib.format.write_array_header_1_0(self._file, about)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def mapped(path: Path) -> NDArray[np.int64]:
    """Maps an array that `ArrayFile` wrote.

    Raises:
        DataError: if it is not there, or damaged.
    """
    try:
        array: NDArray[np.int64] = np.load(path, mmap_mode="r")
    except (OSError, ValueError, EOFError) as error:
        raise DataError(f"{path}: unreadable: {error}") from error
    return array
