"""Bags of ids: which distinct ids a text holds, how often, and sums over them.

`LinearBag` is the trained form of every model of bags; programs without torch read it.

TF-IDF and naive Bayes read bags instead of a sequence. Id 0 means "no feature"
(padding, or a text without any), and is left out. O(n log n) in the tokens of a batch.
"""

from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import torch
from torch import Tensor

__all__ = ["Bag", "IsLinear", "LinearBag", "bag"]


@dataclass(frozen=True)
class Bag:
    """The distinct features of a batch.

    Attributes:
        row: which text, rising; (n,).
        feature: the id; (n,).
        count: how often it occurs in that text; (n,).
        n_rows: texts.
    """

    row: Tensor
    feature: Tensor
    count: Tensor
    n_rows: int

    def sum(self, values: Tensor) -> Tensor:
        """Sums `values` (n, ...) by text: (n_rows, ...)."""
        total = values.new_zeros(self.n_rows, *values.shape[1:])
        return total.index_add(0, self.row, values)


def bag(input_ids: Tensor, mask: Tensor | None, vocab_size: int) -> Bag:
    """Finds the distinct features of each text of `input_ids` (B, T), where `mask` is True."""
    n_rows = len(input_ids)
    rows = torch.arange(n_rows, device=input_ids.device)[:, None].expand_as(input_ids)
    real = input_ids != 0
    if mask is not None:
        real = real & mask
    key, count = torch.unique(rows[real] * vocab_size + input_ids[real], return_counts=True)
    return Bag(key // vocab_size, key % vocab_size, count, n_rows)


@dataclass(frozen=True)
class LinearBag:
    """Logits as a sum over the distinct ids of a text: `bias + sum(value * table[id]) / length`.

    The value of an id that occurs `n` times is `f(n) * scale[id]`.

    Attributes:
        table: (V, C), weights of each id.
        scale: (V,), factor of each id.
        bias: (C,).
        counts: f: `count` is n, `log` is 1 + ln n, `once` is 1.
        length: `euclidean` is the root of the sum of squared values, `weighted` that of values times scales,
            `none` is 1.
        cuts: (C - 1,) of ordered classes, which are cut from one score: `table` then has one column.
    """

    table: Tensor
    scale: Tensor
    bias: Tensor
    counts: Literal["count", "log", "once"]
    length: Literal["euclidean", "weighted", "none"]
    cuts: Tensor | None = None


@runtime_checkable
class IsLinear(Protocol):
    """A model of bags that is linear in the values of its ids."""

    def linear(self) -> LinearBag:
        """Returns its trained weights."""
