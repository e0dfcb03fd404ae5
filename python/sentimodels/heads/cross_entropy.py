"""Cross entropy over a vocabulary, some tokens at a time, so that logits are never held whole.

For N tokens and V words all logits would be N x V numbers, more than all else together. Here
the logits of one chunk of tokens exist at a time. `chunked_cross_entropy` has the loss of each token;
the backward pass makes logits again. `summed_cross_entropy` has their sum alone, of which the gradient is
known as soon as the logits are, so they are made once (Hsu et al. 2024). Not for classes, of which there
are few (`tasks/loss.py`).
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.checkpoint import checkpoint

__all__ = ["IGNORED", "chunked_cross_entropy", "summed_cross_entropy"]

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
    flat, aims = _flat(states, targets)
    record = torch.is_grad_enabled() and len(flat) > chunk
    parts = []
    for start in range(0, len(flat), chunk):
        given = (flat[start : start + chunk], weight, aims[start : start + chunk], bias, label_smoothing)
        parts.append(checkpoint(_losses, *given, use_reentrant=False) if record else _losses(*given))
    if not parts:
        return flat.new_zeros(targets.shape)
    return torch.cat(parts).view(targets.shape)


def _flat(states: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Returns states (N, D) and targets (N,); raises `ValueError` where their shapes do not fit."""
    if states.shape[:-1] != targets.shape:
        raise ValueError(f"states {tuple(states.shape)}, but targets {tuple(targets.shape)}")
    return states.flatten(0, -2), targets.flatten()


def _losses(
    states: Tensor, weight: Tensor, targets: Tensor, bias: Tensor | None, label_smoothing: float
) -> Tensor:
    logits = F.linear(states, weight, bias)
    if logits.dtype in (torch.bfloat16, torch.float16):
        logits = logits.float()
    return F.cross_entropy(
        logits, targets, ignore_index=IGNORED, reduction="none", label_smoothing=label_smoothing
    )


class _Summed(torch.autograd.Function):
    """The sum of the losses; the gradients are made in the forward pass, and scaled in the backward one."""

    @staticmethod
    def forward(
        ctx: Any,
        states: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        targets: Tensor,
        chunk: int,
        smoothing: float,
    ) -> Tensor:
        total = torch.zeros((), device=states.device)
        wanted = ctx.needs_input_grad
        by_states = torch.empty_like(states) if wanted[0] else None
        by_weight = torch.zeros_like(weight) if wanted[1] else None
        by_bias = torch.zeros_like(bias) if bias is not None and wanted[2] else None
        for start in range(0, len(states), chunk):
            some, aims = states[start : start + chunk], targets[start : start + chunk]
            logits = F.linear(some, weight, bias).float()
            counted = (aims != IGNORED).float()
            place = aims.clamp(min=0)[:, None]
            logits = torch.log_softmax(logits, 1)
            right = logits.gather(1, place)[:, 0]
            if smoothing:
                right = (1 - smoothing) * right + smoothing * logits.mean(1)
            total -= (right * counted).sum()
            if by_states is None and by_weight is None and by_bias is None:
                continue
            # From here on they are the gradient of the logits: the probabilities, less those aimed at.
            logits.exp_()
            if smoothing:
                logits -= smoothing / logits.shape[1]
            logits.scatter_add_(1, place, torch.full_like(place, smoothing - 1, dtype=logits.dtype))
            if aims.device.type != "cpu" or not bool(counted.all()):  # a GPU is not waited for
                logits.mul_(counted[:, None])
            slopes = logits.to(some.dtype)
            if by_states is not None:
                torch.mm(slopes, weight.to(some.dtype), out=by_states[start : start + chunk])
            if by_weight is not None:
                by_weight += slopes.T @ some
            if by_bias is not None:
                by_bias += logits.sum(0)
        ctx.save_for_backward(by_states, by_weight, by_bias)
        return total

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor | None, ...]:
        slope = slopes[0]
        # Sums are divided after they are added up: then there is nothing to scale.
        scaled = slope.device.type != "cpu" or slope.item() != 1.0
        by_states, by_weight, by_bias = (
            value if value is None or not scaled else value * slope.to(value.dtype)
            for value in ctx.saved_tensors
        )
        return by_states, by_weight, by_bias, None, None, None


def summed_cross_entropy(
    states: Tensor,
    weight: Tensor,
    targets: Tensor,
    bias: Tensor | None = None,
    *,
    chunk: int = 1024,
    label_smoothing: float = 0.0,
) -> Tensor:
    """Returns the cross entropy, in nats, summed over all tokens; not to be differentiated twice.

    Args:
        states: (..., D).
        weight: (V, D); logits are `states @ weight.T + bias`.
        targets: (...), ids below V, or `IGNORED`, which costs nothing.
        bias: (V,) or `None`.
        chunk: tokens whose logits exist at once; peak memory grows with it and V.
        label_smoothing: share of the probability of each target that is spread evenly over all words.

    Raises:
        ValueError: if the shapes do not fit.
    """
    flat, aims = _flat(states, targets)
    loss: Tensor = _Summed.apply(flat, weight, bias, aims, chunk, label_smoothing)
    return loss
