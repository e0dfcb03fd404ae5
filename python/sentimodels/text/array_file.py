"""`ArrayFile`: an array of int64 that grows on the disk, then is memory-mapped.

For what is as long as a corpus has documents or rows: it is written piece by piece and read where it is
needed. The file is numpy's .npy, whose header has room for a length that grows.
"""

from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError

__all__ = ["ArrayFile", "mapped"]


class ArrayFile:
    """Writes an array.

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
