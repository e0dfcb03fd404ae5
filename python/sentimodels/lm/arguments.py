"""`whole`, `number`, `as_list`: what a call in Python may give for an argument.

As in `sentitok.numbers`, numbers of numpy are taken, truth values are not, nor floats where a number is
whole; messages are those of `sentimodels`. Not for files of settings and requests, which have checks of
their own (`config/`, `web/`).
"""

import math
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

from sentitok.messages import shown

from ..errors import ConfigError

__all__ = ["ABOVE_0", "as_list", "number", "whole"]

# The least number that is not 0.
ABOVE_0 = math.ulp(0.0)


def whole(name: str, value: Any, expected: str, least: int = 0) -> None:
    """Refuses what is no whole number from `least` on.

    Raises:
        TypeError: for what is no whole number.
        ConfigError: for one below the least.
    """
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} {shown(value)}: expected {expected}")
    if value < least:
        raise ConfigError(f"{name} {shown(value)}: expected {expected}")


def number(name: str, value: Any, expected: str, least: float = 0.0, most: float = math.inf) -> None:
    """Refuses what is no finite number from `least` to `most`.

    Raises:
        TypeError: for what is no number.
        ConfigError: for one that is not there.
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} {shown(value)}: expected {expected}")
    try:
        given = float(value)
    except OverflowError:
        given = math.inf
    if not (math.isfinite(given) and least <= given <= most):
        raise ConfigError(f"{name} {given:g}: expected {expected}")


def as_list(name: str, value: Any) -> list[str]:
    """Returns the texts of a list of any kind; what they are is checked where they are encoded.

    Raises:
        TypeError: for one text alone, and for what holds none.
    """
    if isinstance(value, str | bytes | bytearray):
        raise TypeError(f"{name} takes a list of texts, not one text; write [{shown(value)}]")
    if not isinstance(value, Iterable):
        raise TypeError(f"{name} takes a list of texts, not {shown(value)}")
    return list(value)
