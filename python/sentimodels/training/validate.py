"""`check_possible`: refuses settings that a module cannot be trained with, before a run begins.

Not for what a setting alone can tell: the configuration refuses that when it is read. Nor for what a task
asks of a module: the task checks that. `config_warnings` (`runs/execute.py`) names settings without effect.
"""

from torch import nn

from ..config import OptimConfig
from ..errors import ConfigError

__all__ = ["check_possible"]


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
