"""Checks of arguments of calls in Python: `whole`, `number`, `flag`, `strings`, `texts_of`.

One rule with `sentitok.numbers`: numbers of numpy are taken, truth values are not, nor floats where a number
is whole, and results are Python's types. Messages are those of `sentimodels`.
"""

import math
import operator
from numbers import Real
from typing import Any

from sentitok.messages import shown

from .errors import ConfigError

__all__ = ["ABOVE_0", "flag", "number", "strings", "texts_of", "whole"]

# The least positive float.
ABOVE_0 = math.ulp(0.0)


def whole(name: str, value: Any, expected: str, least: int = 0) -> int:
    """Returns a whole number from `least` on that has at most 64 bits.

    Raises:
        TypeError: if it is not a whole number.
        ConfigError: for one that is not there.
    """
    try:
        given = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        given = None
    if given is None:
        raise TypeError(f"{name} {shown(value)}: expected {expected}")
    if given < least:
        raise ConfigError(f"{name} {shown(given)}: expected {expected}")
    if given >> 64:
        raise ConfigError(f"{name} {shown(given)}: expected less than 2**64")
    return given


def number(name: str, value: Any, expected: str, least: float = 0.0, most: float = math.inf) -> float:
    """Returns a finite number from `least` to `most`.

    Raises:
        TypeError: if it is not a number.
        ConfigError: for one that is not there.
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} {shown(value)}: expected {expected}")
    try:
        given = float(value)
    except OverflowError:
        given = math.inf
    if not (math.isfinite(given) and least <= given <= most):
        raise ConfigError(f"{name} {shown(value)}: expected {expected}")
    return given


def flag(name: str, value: Any) -> None:
    """Refuses a value that is neither `True` nor `False`.

    Raises:
        TypeError: for anything else.
    """
    if not isinstance(value, bool):
        raise TypeError(f"{name} {shown(value)}: expected True or False")


def strings(name: str, value: Any) -> tuple[str, ...]:
    """Returns one text, or several, as a tuple.

    Raises:
        TypeError: for anything else.
    """
    return (value,) if isinstance(value, str) else tuple(_each(name, value, "a text or a list of texts"))


def texts_of(name: str, value: Any) -> list[str]:
    """Returns the texts of a list of any kind.

    Raises:
        TypeError: if it is not a list of texts.
    """
    if isinstance(value, str):
        raise TypeError(f"{name} takes a list of texts, not one text; write [{shown(value)}]")
    if hasattr(value, "columns"):  # a DataFrame, whose list is that of its columns
        raise TypeError(f"{name} takes texts, not a table; name their column, as in {name}(frame['text'])")
    return _each(name, value, "a list of texts")


def _each(name: str, value: Any, expected: str) -> list[str]:
    if isinstance(value, bytes | bytearray):
        raise TypeError(f"{name} {shown(value)}: expected {expected}, not bytes; decode them")
    try:
        texts = list(value)
    except TypeError:
        raise TypeError(f"{name} {shown(value)}: expected {expected}") from None
    for place, text in enumerate(texts, 1):
        if not isinstance(text, str):
            raise TypeError(f"{name}, text {place}: {shown(text)} is not text")
    return texts
