"""`FeistelPermutation`: the rows of an epoch in an order drawn from a key, without a list of them.

A row's place comes from a Feistel network over the next power of four, walked until it is a row (Black
and Rogaway 2002), so any batch of any epoch is known by its number alone: nothing is kept, and nothing
is lost when a run stops.
"""

import numpy as np
from numpy.typing import NDArray

from .validation_split import mixed

__all__ = ["FeistelPermutation"]

_ROUNDS = 4


class FeistelPermutation:
    """A permutation of the numbers below n.

    Args:
        n: how many there are.
        keys: what the order is drawn from, as a seed and an epoch.
    """

    def __init__(self, n: int, *keys: int) -> None:
        self.n = n
        self._half = np.uint64(max(1, -(-(max(n, 2) - 1).bit_length() // 2)))
        key = np.array([0], dtype=np.uint64)
        for number in keys:
            key = mixed(key ^ np.array([number], dtype=np.uint64))
        self._keys = mixed(np.bitwise_xor(key, np.arange(1, _ROUNDS + 1, dtype=np.uint64)))

    def __call__(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Returns what stands at these places of the order, each below n."""
        walked = self._walked(places.astype(np.uint64))
        outside = walked >= self.n
        while outside.any():
            walked[outside] = self._walked(walked[outside])
            outside = walked >= self.n
        return walked.astype(np.int64)

    def _walked(self, values: NDArray[np.uint64]) -> NDArray[np.uint64]:
        half = self._half
        low_bits = np.uint64((1 << int(half)) - 1)
        left, right = values >> half, values & low_bits
        for key in self._keys:
            left, right = right, left ^ (mixed(right ^ key) & low_bits)
        return (left << half) | right
