"""Rules of known data sets: what may be done with their rows, whatever file they come in.

Not for reading files (`readers.py`). A rule belongs to one data set and says whether a table could be
of it at all, by a look at some rows; only then are all rows compared. Other files pay for no rule.
To add one: a module with `concerns` and `guarded` in a folder of its own, and a row here.
"""

from collections.abc import Callable
from dataclasses import dataclass

from ..errors import DataError
from .sst import guard as sst
from .table import Table

__all__ = ["RULES", "Rule", "check_trainable", "guarded"]


@dataclass(frozen=True)
class Rule:
    """What holds for the rows of one data set.

    Attributes:
        name: of the data set.
        concerns: whether a table could hold rows of it.
        guarded: returns the table with `held_out` filled in, or with a note, where it does.
    """

    name: str
    concerns: Callable[[Table], bool]
    guarded: Callable[[Table], Table]


RULES: tuple[Rule, ...] = (Rule("Stanford Sentiment Treebank", sst.concerns, sst.guarded),)


def guarded(table: Table) -> Table:
    """Returns the table with what the rules of its data set say of it."""
    for rule in RULES:
        if rule.concerns(table):
            table = rule.guarded(table)
    return table


def check_trainable(table: Table, purpose: str = "train") -> None:
    """Refuses what nothing may train, tune or stop on.

    Args:
        table: the rows.
        purpose: what they were for, in the message.

    Raises:
        DataError: if they are held out.
    """
    reason = table.held_out or guarded(table).held_out
    if reason is not None:
        raise DataError(
            f"{table.source}: nothing may {purpose} on it: {reason}. "
            "Use it with `senti evaluate`; choose models on a part of the training data (senti data split)"
        )
