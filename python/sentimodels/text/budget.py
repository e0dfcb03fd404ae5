"""`training_plan`: how many rows make a batch, and how many steps a run has, from the budget that is given.

Not for which rows (`packed.py`). Tokens, steps and epochs may all be given; the smallest ends the run.
"""

from ..config import LanguageConfig, TrainingPlan
from ..errors import DataError

__all__ = ["training_plan"]


def training_plan(config: LanguageConfig, n_rows: int, world: int = 1) -> TrainingPlan:
    """Returns the batches of an epoch of one process, and the steps of the run.

    Rows that fill no batch are left out of an epoch; another order leaves out others in the next. A
    step never spans two epochs, so the batches of an epoch make whole steps where there are enough.

    Args:
        config: of the run.
        n_rows: of the training part.
        world: processes that train together.

    Raises:
        DataError: if there are fewer rows than processes.
    """
    if n_rows < world:
        raise DataError(
            f"the training part has {n_rows:,} rows of {config.data.context} tokens, fewer than the {world} "
            "processes: start fewer, give a longer corpus, or lower --context"
        )
    train = config.train
    size = max(1, min(train.batch_size or 1, n_rows // world))
    n_batches = max(1, n_rows // (size * world))
    if n_batches > train.accumulate:
        n_batches -= n_batches % train.accumulate
    together = min(train.accumulate, n_batches)
    budgets = []
    if train.max_steps is not None:
        budgets.append(train.max_steps)
    if train.epochs is not None:
        budgets.append(train.epochs * -(-n_batches // together))
    if train.tokens is not None:
        budgets.append(-(-train.tokens // (size * world * together * config.data.context)))
    return TrainingPlan(size, n_batches, max(1, min(budgets)))
