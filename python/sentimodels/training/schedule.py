"""The rate of each step: a rise over the warm-up, then constant, linear or cosine down to `min_lr_ratio`.

Its length is that of the run, so no run ends before its schedule or after it.
"""

import math

from ..config import OptimConfig

__all__ = ["rate"]


def rate(step: int, total: int, config: OptimConfig) -> float:
    """Returns the factor of the highest rate for step 0, 1, ..., total - 1."""
    n_warmup = round(config.warmup * total)
    if step < n_warmup:
        return (step + 1) / n_warmup
    if config.schedule == "constant":
        return 1.0
    done = min(1.0, (step - n_warmup) / max(1, total - 1 - n_warmup))
    left = 1 - done if config.schedule == "linear" else (1 + math.cos(math.pi * done)) / 2
    return config.min_lr_ratio + (1 - config.min_lr_ratio) * left
