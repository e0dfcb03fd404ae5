"""`Field`: an attribute that is a field of a JSON, and what checks one; `changes`: whether any was set since.

Source of the fields: tokenizers 0.23, as its files have them.
"""

import operator
from collections.abc import Callable
from itertools import count
from numbers import Real
from typing import Any, Generic, Self, TypeVar, overload

from ...messages import shown

__all__ = ["Field", "Holder", "Json", "changes", "note_change", "number", "text", "whole"]

Json = dict[str, Any]
_Value = TypeVar("_Value")

_ticks = count(1)
_changed = 0


def changes() -> int:
    """Returns a number that grows whenever a field of any stage is set."""
    return _changed


def note_change() -> None:
    """Makes `changes` grow."""
    global _changed
    _changed = next(_ticks)


class Holder:
    """What has fields."""

    fields: Json


class Field(Generic[_Value]):
    """A field of the JSON as an attribute.

    Args:
        key: its name in the JSON, if that is another.
        check: what raises for a wrong value, and returns a right one as the JSON has it.
        shown: from the JSON to the attribute.
    """

    def __init__(
        self,
        key: str | None = None,
        check: Callable[[Any], Any] | None = None,
        shown: Callable[[Any], Any] | None = None,
    ) -> None:
        self._key = key
        self._check = check
        self._shown = shown

    def __set_name__(self, owner: type, name: str) -> None:
        self._key = self._key or name

    @overload
    def __get__(self, stage: None, owner: type) -> Self: ...
    @overload
    def __get__(self, stage: Holder, owner: type) -> _Value: ...
    def __get__(self, stage: Holder | None, owner: type) -> Any:
        if stage is None:
            return self
        value = stage.fields[self._key or ""]
        return self._shown(value) if self._shown else value

    def __set__(self, stage: Holder, value: _Value) -> None:
        stage.fields[self._key or ""] = self._check(value) if self._check else value
        note_change()


def whole(name: str, *, or_none: bool = False) -> Callable[[Any], int | None]:
    """Returns what checks a field for a whole number that is not below 0, or `None`."""

    def check(value: Any) -> int | None:
        if value is None and or_none:
            return None
        try:
            found = operator.index(value)
        except TypeError as error:
            raise TypeError(f"{name} is {shown(value)}; it is an int{' or None' * or_none}") from error
        if found < 0:
            raise ValueError(f"{name} is {found}; pass 0 or more")
        return found

    return check


def number(name: str) -> Callable[[Any], float]:
    """Returns what checks a field for a number."""

    def check(value: Any) -> float:
        if not isinstance(value, Real):
            raise TypeError(f"{name} is {shown(value)}; it is a float")
        return float(value)

    return check


def text(name: str) -> Callable[[Any], str | None]:
    """Returns what checks a field for a text, or `None`."""

    def check(value: Any) -> str | None:
        if value is not None and not isinstance(value, str):
            raise TypeError(f"{name} is {shown(value)}; it is a str or None")
        return value

    return check
