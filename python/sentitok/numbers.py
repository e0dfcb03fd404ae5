"""Numbers that calls take in Python, checked: `index` and `whole` for whole ones, `real` for real ones.

One rule with the extension (`rust/py/numbers.rs`): numbers of numpy are taken, truth values are not, nor
floats where a number is whole; a message has the argument, its value, the limit and what to write instead.
"""

import operator
from math import inf, isfinite
from numbers import Real
from typing import Any

from .messages import shown

__all__ = ["index", "real", "whole"]

_BITS = 64


def index(name: str, value: Any, what: str, wrong: type[Exception] = TypeError) -> int:
    """Returns a whole number of any size.

    Args:
        name: the argument.
        value: the given value.
        what: a description, with its limits: "0 or more".
        wrong: the error where it is not a whole number.
    """
    if not isinstance(value, bool):
        try:
            return operator.index(value)
        except TypeError:
            pass
    raise wrong(f"{name}={shown(value)} is not a whole number: it is {what}")


def whole(
    name: str,
    value: Any,
    what: str = "0 or more",
    least: int = 0,
    error: type[Exception] = ValueError,
    bits: int = _BITS,
) -> int:
    """Returns a whole number from `least` on that has at most `bits` bits; `error` is for another."""
    number = index(name, value, what)
    if number < least:
        raise error(f"{name}={shown(number)}: it is {what}")
    if number >> bits:
        raise error(f"{name}={shown(number)}: it is {what}, and less than 2**{bits}")
    return number


def real(
    name: str,
    value: Any,
    what: str = "a finite number",
    least: float = -inf,
    most: float = inf,
    wrong: type[Exception] = TypeError,
) -> float:
    """Returns a finite number from `least` to `most`.

    Raises:
        wrong: the error where it is not a number.
        ValueError: for one that is not there, or has no place in a float.
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise wrong(f"{name}={shown(value)} is not a number: it is {what}")
    try:
        number = float(value)
    except OverflowError:
        number = inf
    if isfinite(number) and least <= number <= most:
        return number
    raise ValueError(f"{name}={shown(value)}: it is {what}")
