"""`advice`: what a user should know of settings before training begins: which do nothing, which are slow.

Not for what cannot be trained at all: `possible.py` refuses that.
"""

from collections.abc import Callable, Iterator

import torch

from ..config import LoopConfig, OptimConfig
from .device import device_of, use_bfloat16

__all__ = ["advice"]


def advice(optim: OptimConfig, train: LoopConfig, steps: Callable[[], int]) -> Iterator[str]:
    """Yields sentences.

    Args:
        optim: how weights are moved.
        train: where, and in which precision.
        steps: tells how many steps training has; called where that matters.
    """
    if optim.unfreeze_at is not None and optim.unfreeze_at >= (n := steps()):
        yield f"optim.unfreeze_at {optim.unfreeze_at:,}: training has {n:,} steps, so what is frozen stays so"
    device = device_of(train.device)
    if device.type == "cpu" and use_bfloat16(train, device) and _emulates_bfloat16():
        yield (
            "train.precision bfloat16: this processor does not multiply bfloat16, and torch is many times "
            "slower with it; type: --precision float32"
        )


def _emulates_bfloat16() -> bool:
    """Whether torch multiplies bfloat16 number by number: on x86 it has kernels for AVX-512 alone."""
    return torch.backends.cpu.get_cpu_capability() in ("NO AVX", "AVX2")
