"""`Labels`: the names of the classes and their indices, one order everywhere.

The order is that of the names; when all are numbers it is that of the numbers,
so "2" comes before "10" and an ordinal scale keeps its order. The order never
depends on which row came first.
"""

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError


class Labels:
    """Label names in their order; the place of a name is its class index.

    >>> Labels.from_values(["10", "2", "2"]).names
    ('2', '10')
    """

    __slots__ = ("_index", "names")

    def __init__(self, names: Sequence[str]) -> None:
        self.names: tuple[str, ...] = tuple(names)
        self._index = {name: index for index, name in enumerate(self.names)}
        if len(self._index) != len(self.names):
            raise DataError(f"label names repeat: {', '.join(self.names)}")
        if not self.names:
            raise DataError("no labels: a classifier needs at least one class")

    @classmethod
    def from_values(cls, values: Iterable[str]) -> "Labels":
        """Returns the distinct values in their order."""
        return cls(sorted(set(values), key=_order))

    def index(self, name: str) -> int:
        """Returns the class index of a name.

        Raises:
            DataError: if no class has this name.
        """
        index = self._index.get(name)
        if index is None:
            raise DataError(f"unknown label {name!r}; the model knows {', '.join(map(repr, self.names))}")
        return index

    def encode(self, values: Iterable[str]) -> NDArray[np.int64]:
        """Returns the class index of each value.

        Raises:
            DataError: if a value is no label, naming the first and how many there are.
        """
        given = list(values)
        unknown = [(row, value) for row, value in enumerate(given) if value not in self._index]
        if unknown:
            row, value = unknown[0]
            raise DataError(
                f"unknown label {value!r} at row {row + 1} ({len(unknown)} such rows); "
                f"the labels are {', '.join(map(repr, self.names))}"
            )
        return np.fromiter((self._index[value] for value in given), dtype=np.int64, count=len(given))

    def decode(self, indices: Iterable[int]) -> list[str]:
        """Returns the name of each class index."""
        return [self.names[index] for index in indices]

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __getitem__(self, index: int) -> str:
        return self.names[index]

    def __contains__(self, name: object) -> bool:
        return name in self._index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Labels) and self.names == other.names

    def __hash__(self) -> int:
        return hash(self.names)

    def __repr__(self) -> str:
        return f"Labels({list(self.names)!r})"


def _order(name: str) -> tuple[int, float, str]:
    """Numbers by value, before all other names by spelling."""
    try:
        value = float(name)
    except ValueError:
        return (1, 0.0, name)
    return (0, value, name) if math.isfinite(value) else (1, 0.0, name)
