"""The seeds that samples are drawn by: one after the other, from one that may be set."""

import random
import threading

from ...numbers import index

__all__ = ["choice", "seed", "set_random_generator_seed"]

_lock = threading.Lock()
_random = random.Random()


def set_random_generator_seed(seed: int) -> None:
    """Sets what all later samples follow from."""
    number = index("seed", seed, "a whole number")
    with _lock:
        _random.seed(number)


def seed() -> int:
    """Returns a seed for one sample."""
    with _lock:
        return _random.getrandbits(64)


def choice(weights: list[float]) -> int:
    """Returns an index, by weight."""
    with _lock:
        return _random.choices(range(len(weights)), weights)[0]
