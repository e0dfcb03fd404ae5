"""`ArrayFile`: an array of int64 that grows on the disk, then is memory-mapped.

For what is as long as a corpus has documents or rows: it is written piece by piece and read where it is
needed. The file is numpy's, with the header that token shards have.
"""

from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["ArrayFile", "mapped"]

_HEADER_BYTES = 128


class ArrayFile:
    """Writes an array.

    Args:
        path: the file, which is whole once it is closed; a block that ends otherwise lets go of it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.length = 0
        self._file = path.open("wb")
        self._file.write(bytes(_HEADER_BYTES))

    def add(self, values: NDArray[np.int64]) -> None:
        """Adds numbers at the end."""
        self._file.write(np.ascontiguousarray(values, dtype="<i8").tobytes())
        self.length += len(values)

    def close(self) -> None:
        """Ends the array: the file is whole."""
        shape = f"{{'descr': '<i8', 'fortran_order': False, 'shape': ({self.length},), }}"
        self._file.seek(0)
        self._file.write(b"\x93NUMPY\x01\x00\x76\x00")
        self._file.write(shape.encode().ljust(_HEADER_BYTES - 11) + b"\n")
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def mapped(path: Path) -> NDArray[np.int64]:
    """Maps an array that `ArrayFile` wrote."""
    if path.stat().st_size == _HEADER_BYTES:  # nothing to map
        return np.empty(0, np.int64)
    array: NDArray[np.int64] = np.memmap(path, "<i8", "r", offset=_HEADER_BYTES)
    return array
