"""How fast a run is: tokens per second, and the share of the device's arithmetic it uses (MFU).

MFU = 6 N tokens / (seconds x peak), as PaLM counts it (Chowdhery et al. 2022, appendix B) without
the attention term: N are the parameters that every token goes through, so tables of rows that ids or
places choose are left out, unless a head reads them whole, and a head that reads some of the tokens
counts by their share; 6 operations each, 2 forward and 4 backward. The peak is that of the maker's data
sheet for dense bfloat16 or float32, without sparsity. A device that is not in the table has no MFU.
"""

import re
from collections.abc import Mapping

from torch import device, nn
from torch.cuda import get_device_name

from .optimizer import is_added, is_table

__all__ = ["FORMULA", "mfu", "peak_of", "working_parameters"]

FORMULA = "6 * parameters * tokens_per_second / peak"

# Words of the device's name, the longer first: operations per second in bfloat16, and in float32 without
# tensor cores.
_PEAKS = {
    "B200": (2250e12, 75e12),
    "H200 NVL": (836e12, 60e12),
    "H200": (989e12, 67e12),
    "H100 NVL": (836e12, 60e12),
    "H100 PCIe": (756e12, 51e12),
    "H100": (989e12, 67e12),
    "A100": (312e12, 19.5e12),
    "L40S": (362e12, 91.6e12),
    "L40": (181e12, 90.5e12),
    "L4": (121e12, 30.3e12),
    "A10": (125e12, 31.2e12),
    "RTX 4090": (165e12, 82.6e12),
    "RTX 3090": (71e12, 35.6e12),
}


def working_parameters(module: nn.Module) -> int:
    """Returns how many parameters a token goes through, on average.

    Args:
        module: a model; where a part of it reads some of the tokens alone, `shares_read` has their share by
            the beginning of the names of its parameters, as that of a masked model's `head.`.
    """
    shares: Mapping[str, float] = getattr(module, "shares_read", {})
    tied = {id(p) for part in module.modules() if getattr(part, "tied", False) for p in part.parameters()}
    counted = 0.0
    for name, value in module.named_parameters():
        if (is_table(name) and id(value) not in tied) or is_added(name):
            continue
        reader = "head." if id(value) in tied else name
        share = next((part for begin, part in shares.items() if reader.startswith(begin)), 1.0)
        counted += share * value.numel()
    return round(counted)


def peak_of(on: device, bfloat16: bool) -> float | None:
    """Returns the operations per second a device can do; `None` if that is not known."""
    if on.type != "cuda":
        return None
    name = get_device_name(on)
    if "Laptop" in name:  # the same name, but slower
        return None
    device_peaks = next((peaks for words, peaks in _PEAKS.items() if re.search(rf"\b{words}\b", name)), None)
    return None if device_peaks is None else device_peaks[0 if bfloat16 else 1]


def mfu(parameters: int, tokens_per_second: float, peak: float) -> float:
    """Returns the share of the peak that a run uses."""
    return 6 * parameters * tokens_per_second / peak
