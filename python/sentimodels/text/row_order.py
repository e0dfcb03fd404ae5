"""`RowOrder`: which rows make which batch: a function of seed, epoch, place and process.

Not for what a row holds. The processes of a run have different rows of the same order, so together they
read what one process with a batch as large as all of theirs would.
"""

from collections.abc import Iterator

import numpy as np

from ..config import LanguageConfig, TrainingPlan
from .budget import training_plan
from .shuffle import FeistelPermutation

__all__ = ["RowOrder"]


class RowOrder:
    """Batches of row numbers.

    Args:
        config: of the run: rows of a batch, how long it is, the seed.
        n_rows: of the training part.
    """

    def __init__(self, config: LanguageConfig, n_rows: int) -> None:
        self.config, self.n_rows = config, n_rows

    def plan(self, world: int) -> TrainingPlan:
        """Returns the batches of an epoch of one process, and the steps of the run."""
        return training_plan(self.config, self.n_rows, world)

    def batches(self, epoch: int, position: int, rank: int, world: int) -> Iterator[list[int]]:
        """Yields the rows of each batch of an epoch for one process; see `Task.batches`."""
        order = FeistelPermutation(self.n_rows, self.config.train.seed, epoch)
        planned = self.plan(world)
        for place in range(position, planned.n_batches):
            first = (place * world + rank) * planned.batch_size
            yield order(np.arange(first, first + planned.batch_size)).tolist()

    def in_order(self, n_rows: int) -> Iterator[list[int]]:
        """Yields the numbers of `n_rows` rows, a batch at a time."""
        size = self.config.train.batch_size or 1
        for first in range(0, n_rows, size):
            yield list(range(first, min(first + size, n_rows)))
