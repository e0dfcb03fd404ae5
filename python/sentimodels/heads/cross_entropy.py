"""Cross entropy over a vocabulary, some tokens at a time, so that logits are never held whole.

For N tokens and V words all logits would be N x V numbers, more than all else together. Here
the logits of one chunk of tokens exist at a time; the backward pass makes them again. Not for
classes, of which there are few (`training/loss.py`).
"""

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.checkpoint import checkpoint

__all__ = ["IGNORED", "chunked_cross_entropy"]

# The target of a token that has no loss, as torch spells it.
IGNORED = -100


def chunked_cross_entropy(
    states: Tensor,
    weight: Tensor,
    targets: Tensor,
    bias: Tensor | None = None,
    *,
    chunk: int = 1024,
    label_smoothing: float = 0.0,
) -> Tensor:
    """Returns the cross entropy of each token, in nats.

    Args:
        states: (..., D).
        weight: (V, D); logits are `states @ weight.T + bias`.
        targets: (...), ids below V, or `IGNORED`, which costs nothing.
        bias: (V,) or `None`.
        chunk: tokens whose logits exist at once; peak memory grows with it and V. Where all tokens
            are one chunk, nothing is made again.
        label_smoothing: share of the probability of each target that is spread evenly over all words.

    Returns:
        (...) float32, or float64 of float64 states.

    Raises:
        ValueError: if the shapes do not fit.
    """
    if states.shape[:-1] != targets.shape:
        raise ValueError(f"states {tuple(states.shape)}, but targets {tuple(targets.shape)}")
    flat, aims = states.flatten(0, -2), targets.flatten()
    record = torch.is_grad_enabled() and len(flat) > chunk
    parts = []
    for start in range(0, len(flat), chunk):
        given = (flat[start : start + chunk], weight, aims[start : start + chunk], bias, label_smoothing)
        parts.append(checkpoint(_losses, *given, use_reentrant=False) if record else _losses(*given))
    if not parts:
        return flat.new_zeros(targets.shape)
    return torch.cat(parts).view(targets.shape)


def _losses(
    states: Tensor, weight: Tensor, targets: Tensor, bias: Tensor | None, label_smoothing: float
) -> Tensor:
    logits = F.linear(states, weight, bias)
    if logits.dtype in (torch.bfloat16, torch.float16):
        logits = logits.float()
    return F.cross_entropy(
        logits, targets, ignore_index=IGNORED, reduction="none", label_smoothing=label_smoothing
    )
