"""Activation checkpointing: blocks keep their input alone, and compute the rest again in the backward pass.

A stack of blocks that can has an attribute `recompute`; here it is set, and here a block is called. The
gradients are the same to the bit, dropout included. Not for the loss over a vocabulary, which does so by
itself (`nn/cross_entropy.py`).
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

__all__ = ["set_recompute", "through"]


def set_recompute(module: nn.Module, on: bool) -> int:
    """Sets whether the stacks of blocks in a module recompute; returns how many there are."""
    stacks = [part for part in module.modules() if isinstance(getattr(part, "recompute", None), bool)]
    for part in stacks:
        setattr(part, "recompute", on)  # noqa: B010  # 2026-11-23: torch types attributes as parameters
    return len(stacks)


def through(block: nn.Module, x: Tensor, *given: Any, recompute: bool) -> Tensor:
    """Returns what a block makes of `x` and the rest."""
    if recompute and torch.is_grad_enabled():
        kept: Tensor = checkpoint(block, x, *given, use_reentrant=False)
        return kept
    out: Tensor = block(x, *given)
    return out
