"""How much memory training takes beside the program and its data, told before it begins.

Weights, gradients, moments and averages follow from the parameters and the settings. What a forward pass
keeps for the backward pass is counted by running one. Not counted: what a kernel needs for itself while
it runs, and what the allocator of a GPU holds in reserve.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from ..config import LoopConfig, OptimConfig
from ..training.optimizer import OPTIMIZERS

__all__ = ["kept_bytes", "state_bytes"]


def state_bytes(module: nn.Module, optim: OptimConfig, train: LoopConfig) -> int:
    """Returns the bytes of weights, gradients, moments, the average, and the best weights so far."""
    n_bytes = sum(value.numel() * value.element_size() for value in module.parameters())
    copies = 3 + OPTIMIZERS[optim.name].moments + (1 if train.ema else 0)
    return copies * n_bytes


def kept_bytes(module: nn.Module, loss: Callable[[], Tensor], *, bfloat16: bool) -> int:
    """Returns the bytes that a forward pass keeps for the backward pass, without the weights.

    In bfloat16 it makes copies of weights, which are counted.

    Args:
        module: whose weights these are.
        loss: runs the forward pass.
        bfloat16: whether it computes in bfloat16.
    """
    kept: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        if tensor.layout is torch.strided:
            storage = tensor.untyped_storage()
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    own = {value.untyped_storage().data_ptr() for value in module.parameters()}
    precision = torch.autocast(next(module.parameters()).device.type, torch.bfloat16, enabled=bfloat16)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor), precision:
        whole = loss()  # holds what is kept, so that no place is taken twice
    del whole
    return sum(n_bytes for place, n_bytes in kept.items() if place not in own)
