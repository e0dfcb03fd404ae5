"""Several processes of one run, as `torchrun` starts them: what they may train, and which one speaks.

Not for what they tell each other (`training/distributed.py`). All read the same rows and build the same
model; each trains on its rows of every batch. The first alone evaluates, writes and prints.
"""

import os

from ..errors import ConfigError

__all__ = ["check_alone", "is_first", "n_processes"]


def n_processes() -> int:
    """Returns how many processes train together; 1 without torchrun."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def is_first() -> bool:
    """Whether this is the process that evaluates, writes and prints."""
    return n_processes() == 1 or os.environ.get("RANK", "0") == "0"


def check_alone(what: str, remedy: str = "start it without torchrun") -> None:
    """Refuses work that several processes cannot share.

    Raises:
        ConfigError: if there are several.
    """
    if n_processes() > 1:
        raise ConfigError(f"WORLD_SIZE={n_processes()}: {what} needs one process; {remedy}")
