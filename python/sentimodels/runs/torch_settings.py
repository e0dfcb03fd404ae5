"""`set_torch`: how many threads a run has of torch, and whether its kernels must be deterministic.

Not for seeds: each kind of run draws from its own.
"""

import torch

from ..config import LoopConfig

__all__ = ["set_torch"]


def set_torch(train: LoopConfig) -> None:
    """Sets what a run's configuration says of torch itself."""
    if train.threads is not None:
        torch.set_num_threads(train.threads)
    # The call imports torch's compiler, which takes more than a second, whatever it is given.
    if train.deterministic != torch.are_deterministic_algorithms_enabled():
        torch.use_deterministic_algorithms(train.deterministic)
