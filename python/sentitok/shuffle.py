"""Random orders that take no memory: `FeistelPermutation`, `BlockPermutation`.

The number at a place of the order depends on the seed and the place alone. So a run resumes at any step, and
processes that read different places of one order read each row once.
"""

import numpy as np
from numpy.typing import NDArray

__all__ = ["BlockPermutation", "FeistelPermutation", "mixed"]

_ROUNDS = 4
# Blocks whose rows are mixed with each other.
_BLOCKS_AT_ONCE = 64


class FeistelPermutation:
    """A permutation of the numbers below n.

    A row's place comes from a Feistel network over the next power of four, walked until it is a row
    (Black and Rogaway 2002), so any batch of any epoch is known by its number alone: nothing is kept,
    and nothing is lost when a run stops.

    Args:
        n: how many there are.
        keys: the keys of the order, such as a seed and an epoch.
    """

    def __init__(self, n: int, *keys: int) -> None:
        self.n = n
        self._half = np.uint64(max(1, -(-(max(n, 2) - 1).bit_length() // 2)))
        key = np.array([0], dtype=np.uint64)
        for number in keys:
            key = mixed(key ^ np.array([number], dtype=np.uint64))
        self._keys = mixed(np.bitwise_xor(key, np.arange(1, _ROUNDS + 1, dtype=np.uint64)))

    def __call__(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Returns the numbers at these places of the order, each below n."""
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


class BlockPermutation:
    """A permutation of the numbers below n that reads few blocks at a time.

    Blocks of neighbouring rows are put in random order, and the rows of 64 blocks that follow each other in
    it are mixed. So 64 blocks in memory are enough, where reading a single row from far away would cost as
    much as a block. Rows behind the last whole block are among the last of the order.

    Args:
        n: how many there are.
        block_rows: rows of a block.
        keys: the keys of the order, such as a seed and an epoch.
    """

    def __init__(self, n: int, block_rows: int, *keys: int) -> None:
        self.n, self.block_rows, self.keys = n, block_rows, keys
        self._n_blocks = n // block_rows
        self._blocks = FeistelPermutation(self._n_blocks, *keys)

    def __call__(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Returns the numbers at these places of the order, each below n."""
        together = _BLOCKS_AT_ONCE * self.block_rows
        groups = places // together
        rows = np.empty_like(places)
        for group in np.unique(groups).tolist():
            here, first = groups == group, group * together
            # One key more than the order of the blocks has.
            order = FeistelPermutation(min(together, self.n - first), *self.keys, group)
            rows[here] = first + order(places[here] - first)
        block, row = np.divmod(rows, self.block_rows)
        whole = block < self._n_blocks
        rows[whole] = self._blocks(block[whole]) * self.block_rows + row[whole]
        return rows


def mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Returns numbers whose bits depend on all bits of each value: splitmix64 (Steele et al. 2014)."""
    with np.errstate(over="ignore"):
        values = values + np.uint64(0x9E3779B97F4A7C15)
        values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    bits: NDArray[np.uint64] = values ^ (values >> np.uint64(31))
    return bits
