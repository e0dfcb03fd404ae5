"""From logits and targets to the cross entropy and its gradient by the logits, which needs no backward pass.

Written out in place, for a CPU and for any device without a compiler; or as one function that torch.compile
fuses, so that a GPU does not pass over memory once for each step of it. Columns past the vocabulary, which
round its width up, count as impossible. Not for products with the table (`cross_entropy.py`).
"""

from collections.abc import Callable
from functools import cache

import torch
from torch import Tensor

__all__ = ["IGNORED", "compiled_slopes", "slopes_in_place"]

# The target of a token that has no loss, as torch spells it.
IGNORED = -100

_Slopes = Callable[[Tensor, Tensor | None, Tensor, int, float], tuple[Tensor, Tensor]]


def slopes_in_place(
    logits: Tensor, bias: Tensor | None, targets: Tensor, size: int, smoothing: float, *, wanted: bool
) -> Tensor:
    """Returns the sum of the losses, and leaves the gradient where the logits were.

    Args:
        logits: (N, W), float32 at least.
        bias: (V,), added to them first, or `None`.
        targets: (N,), ids below V, or `IGNORED`.
        size: V, the vocabulary; at most W.
        smoothing: as `label_smoothing` of torch's `cross_entropy`.
        wanted: whether the gradient is wanted; else what is left is of no use.
    """
    counted = (targets != IGNORED).to(logits.dtype)
    place = targets.clamp(min=0)[:, None]
    words = logits[:, :size]
    if bias is not None:
        words += bias
    if size < logits.shape[1]:
        logits[:, size:] = float("-inf")
    logits -= logits.amax(1, keepdim=True)
    right = logits.gather(1, place)[:, 0]
    mean = words.mean(1) if smoothing else right
    # From here on they are the gradient of the logits: the probabilities, less those aimed at.
    sums = logits.exp_().sum(1)
    loss = ((sums.log() - (1 - smoothing) * right - smoothing * mean) * counted).sum()
    if wanted:
        logits *= (counted / sums)[:, None]
        if smoothing:
            words -= (smoothing / size) * counted[:, None]
        logits.scatter_add_(1, place, ((smoothing - 1) * counted)[:, None])
    return loss


def _slopes(
    logits: Tensor, bias: Tensor | None, targets: Tensor, size: int, smoothing: float
) -> tuple[Tensor, Tensor]:
    """Returns what `slopes_in_place` does, as new tensors; the logits may be of any type."""
    wide = logits if logits.dtype == torch.float64 else logits.float()
    column = torch.arange(wide.shape[1], device=wide.device)
    word = column < size
    if bias is not None:
        wide = wide + torch.nn.functional.pad(bias, (0, wide.shape[1] - size))
    wide = wide.masked_fill(~word, float("-inf"))
    wide = wide - wide.amax(1, keepdim=True)
    counted = (targets != IGNORED).to(wide.dtype)
    place = targets.clamp(min=0)[:, None]
    powers = wide.exp()
    sums = powers.sum(1)
    right = wide.gather(1, place)[:, 0]
    mean = wide.masked_fill(~word, 0.0).sum(1) / size if smoothing else right
    loss = ((sums.log() - (1 - smoothing) * right - smoothing * mean) * counted).sum()
    slopes = powers / sums[:, None] - (1 - smoothing) * (column == place)
    if smoothing:
        slopes = slopes - (smoothing / size) * word
    return loss, (slopes * counted[:, None]).to(logits.dtype)


@cache
def compiled_slopes() -> _Slopes:
    """Returns `_slopes` as one kernel, which its first call compiles."""
    fused: _Slopes = torch.compile(_slopes, dynamic=False)
    return fused
