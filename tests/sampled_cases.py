"""`sample` and `chosen`: some of many similar cases in an ordinary run, all of them in `make test-slow`."""

import os
import random
from collections.abc import Iterable
from typing import TypeVar

__all__ = ["THOROUGH", "chosen", "sample"]

# `make test-slow` sets it.
THOROUGH = os.environ.get("SENTITOK_THOROUGH", "0") not in ("", "0")

Case = TypeVar("Case")


def sample(n: int, cases: Iterable[Case], seed: int = 0) -> list[Case]:
    """Returns `n` of the cases in their order, the same in each run; all of them where tests are thorough."""
    every = list(cases)
    if THOROUGH or n >= len(every):
        return every
    places = sorted(random.Random(seed).sample(range(len(every)), n))
    return [every[place] for place in places]


def chosen(cases: Iterable[Case], *some: Case) -> list[Case]:
    """Returns these of the cases in their order; all of them where tests are thorough."""
    every = list(cases)
    assert all(case in every for case in some)
    return [case for case in every if THOROUGH or case in some]
