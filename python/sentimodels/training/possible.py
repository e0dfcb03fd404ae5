"""`check_possible`: refuses settings that a module cannot be trained with, before a run begins.

Not for what a setting alone can tell: the configuration refuses that when it is read.
"""

from torch import nn

from ..config import OptimConfig, TrainConfig
from ..errors import ConfigError
from ..layers.embedding import Mixing

__all__ = ["check_possible"]


def check_possible(module: nn.Module, optim: OptimConfig, train: TrainConfig) -> None:
    """Refuses what cannot be.

    Raises:
        ConfigError: naming the key.
    """
    if train.mixup and not any(isinstance(part, Mixing) for part in module.modules()):
        raise ConfigError("train.mixup mixes token embeddings, and this architecture has none")
    names = [name for name, _ in module.named_parameters()]
    for prefix in optim.freeze:
        if not any(name.startswith(prefix) for name in names):
            raise ConfigError(f"optim.freeze {prefix!r}: no parameter begins so; there is {names[0]}")
    if names and all(name.startswith(optim.freeze) for name in names):
        raise ConfigError(
            f"optim.freeze {list(optim.freeze)}: covers every parameter, so nothing would learn; "
            f"leave out one, such as {names[-1]}"
        )
