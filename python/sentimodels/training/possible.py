"""`check_possible`: refuses settings that a module cannot be trained with, before a run begins.

`never_released` says which one of them does nothing.

Not for what a setting alone can tell: the configuration refuses that when it is read. Nor for
what a task asks of a module: the task checks that.
"""

from torch import nn

from ..config import OptimConfig
from ..errors import ConfigError

__all__ = ["check_possible", "never_released"]


def check_possible(module: nn.Module, optim: OptimConfig) -> None:
    """Refuses what cannot be.

    Raises:
        ConfigError: naming the key.
    """
    names = [name for name, _ in module.named_parameters()]
    for prefix in optim.freeze:
        if not any(name.startswith(prefix) for name in names):
            raise ConfigError(f"optim.freeze {prefix!r}: no parameter begins so; there is {names[0]}")
    if names and all(name.startswith(optim.freeze) for name in names):
        raise ConfigError(
            f"optim.freeze {list(optim.freeze)}: covers every parameter, so nothing would learn; "
            f"leave out one, such as {names[-1]}"
        )


def never_released(optim: OptimConfig, steps: int) -> list[str]:
    """Returns what to say where training ends before what is frozen is released: one sentence, or none."""
    if optim.unfreeze_at is None or optim.unfreeze_at < steps:
        return []
    return [
        f"optim.unfreeze_at {optim.unfreeze_at:,}: training has {steps:,} steps, so what is frozen stays so"
    ]
