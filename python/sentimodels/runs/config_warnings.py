"""What a user should know of settings before training begins: those without effect, and those that are slow.

Not for what cannot be trained at all: `training/validate.py` refuses that.
"""

import platform
from collections.abc import Callable, Iterator

import torch

from ..config import LoopConfig, OptimConfig
from ..training.device import device_of, use_bfloat16

__all__ = ["advice", "lacks_bfloat16", "slow"]


def advice(optim: OptimConfig, train: LoopConfig, steps: Callable[[], int]) -> Iterator[str]:
    """Yields what to tell the user of a run, one sentence each.

    Args:
        optim: how weights are moved.
        train: where, and in which precision.
        steps: tells how many steps training has; called where that matters.
    """
    if optim.unfreeze_at is not None and optim.unfreeze_at >= (n := steps()):
        yield f"optim.unfreeze_at {optim.unfreeze_at:,}: training has {n:,} steps, so what is frozen stays so"
    yield from slow(train)


def slow(train: LoopConfig) -> Iterator[str]:
    """Yields what makes training slower on this machine than it could be, one sentence each."""
    device = device_of(train.device)
    if device.type == "cpu" and use_bfloat16(train, device) and lacks_bfloat16():
        yield (
            "train.precision bfloat16: torch has no fast bfloat16 for this processor, which lacks AVX-512; "
            "--precision float32 is many times faster"
        )


def lacks_bfloat16() -> bool:
    """Whether torch multiplies bfloat16 number by number: on x86 it has kernels for AVX-512 alone."""
    x86 = platform.machine().lower() in ("x86_64", "amd64")
    return x86 and not torch.backends.cpu.get_cpu_capability().startswith("AVX512")
