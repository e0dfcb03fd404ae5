"""Which documents are held out for validation: by a hash of the document's number and a seed.

So the split needs no memory, and is the same in any order. Rows are `packed.py`.
"""

import numpy as np
from numpy.typing import NDArray

__all__ = ["held_out", "mixed"]

_Words = NDArray[np.uint64]


def mixed(values: _Words) -> _Words:
    """Returns numbers whose bits depend on all bits of each value: splitmix64 (Steele et al. 2014)."""
    with np.errstate(over="ignore"):
        values = values + np.uint64(0x9E3779B97F4A7C15)
        values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    bits: _Words = values ^ (values >> np.uint64(31))
    return bits


def held_out(first: int, stop: int, share: float, seed: int) -> NDArray[np.bool_]:
    """Returns which of the documents `first` to `stop` are held out.

    Args:
        first: number of the first document.
        stop: the number after the last.
        share: of the documents that are, about.
        seed: another one, another split.
    """
    numbers = np.arange(first, stop, dtype=np.uint64)
    drawn = mixed(mixed(numbers) ^ mixed(np.array([seed], dtype=np.uint64)))
    mask: NDArray[np.bool_] = (drawn >> np.uint64(11)) < np.uint64(int(share * (1 << 53)))
    return mask
