"""Which device a run uses, and whether it computes in bfloat16.

Not for kernels: torch chooses those. `auto` is CUDA, then the CPU. It is not MPS, which lacks float64 and on
which nothing has been tried.
"""

import torch

from ..config import LoopConfig
from ..errors import ConfigError

__all__ = ["device_of", "use_bfloat16"]


def device_of(name: str) -> torch.device:
    """Returns the device that `train.device` names.

    Raises:
        ConfigError: if there is none.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise ConfigError(
            f"device {name!r}: {str(error).splitlines()[0]}; auto takes a GPU with CUDA, else the CPU"
        ) from error
    return device


def use_bfloat16(config: LoopConfig, device: torch.device) -> bool:
    """Whether to compute in bfloat16."""
    if config.precision != "auto":
        return config.precision == "bfloat16"
    return device.type == "cuda" and torch.cuda.is_bf16_supported()
