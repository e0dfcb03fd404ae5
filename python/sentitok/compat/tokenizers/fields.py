"""`Field`: an attribute that is a field of a JSON, and what checks one; `changes`: whether any was set since.

Source of the fields: tokenizers 0.23, as its files have them.
"""

from collections.abc import Callable
from itertools import count
from typing import Any, Generic, Self, TypeVar, overload

from ... import numbers
from ...messages import shown

__all__ = ["Field", "Holder", "Json", "changes", "flag", "note_change", "real", "text", "whole"]

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
    """An object with fields."""

    fields: Json


class Field(Generic[_Value]):
    """A field of the JSON as an attribute.

    Args:
        key: its name in the JSON, if that is another.
        check: raises for a wrong value, and returns a right one as in the JSON.
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
    """Returns a function that checks a field for a whole number that is not below 0, or `None`."""
    what = "0 or more, or None" if or_none else "0 or more"

    def check(value: Any) -> int | None:
        return None if value is None and or_none else numbers.whole(name, value, what, error=OverflowError)

    return check


def real(name: str, what: str, least: float, most: float) -> Callable[[Any], float | None]:
    """Returns a function that checks a field for a number from `least` to `most`, or `None`."""

    def check(value: Any) -> float | None:
        return None if value is None else numbers.real(name, value, what, least, most)

    return check


def flag(name: str, *, or_none: bool = False) -> Callable[[Any], bool | None]:
    """Returns a function that checks a field for a truth value, or `None`."""

    def check(value: Any) -> bool | None:
        if type(value) is not bool and not (or_none and value is None):
            raise TypeError(f"{name} is {shown(value)}; it is True or False{' or None' if or_none else ''}")
        return value

    return check


def text(name: str, *, or_none: bool = True) -> Callable[[Any], str | None]:
    """Returns a function that checks a field for a text, or `None`."""

    def check(value: Any) -> str | None:
        if not isinstance(value, str) and not (or_none and value is None):
            raise TypeError(f"{name} is {shown(value)}; it is a str{' or None' if or_none else ''}")
        return value

    return check
