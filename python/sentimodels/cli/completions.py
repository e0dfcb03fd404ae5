"""What the shell offers as the value of an option: names of a table, or the choices of a field.

Not for options and commands, which typer offers itself. A table that needs torch is imported when the shell
asks for it.
"""

import types
from collections.abc import Callable
from typing import Any, Literal, Union, get_args, get_origin

__all__ = ["of_architectures", "of_field", "of_presets"]


def of_architectures(incomplete: str) -> list[str]:
    """Returns the architectures that begin so."""
    from ..models import ARCHITECTURES

    return [name for name in ARCHITECTURES if name.startswith(incomplete)]


def of_presets(incomplete: str) -> list[str]:
    """Returns the sizes that begin so, of any architecture."""
    from ..models import ARCHITECTURES

    names = dict.fromkeys(name for row in ARCHITECTURES.values() for name in row.presets)
    return [name for name in names if name.startswith(incomplete)]


def of_field(key: str, annotation: Any) -> Callable[[str], list[str]] | None:
    """Returns what offers the values of a key of the configuration; `None` where any may stand."""
    if key == "arch":
        return of_architectures
    if key == "preset":
        return of_presets
    choices = [value for one in _one_of(annotation) if get_origin(one) is Literal for value in get_args(one)]
    names = [name for name in choices if isinstance(name, str)]
    return (lambda incomplete: [name for name in names if name.startswith(incomplete)]) if names else None


def _one_of(annotation: Any) -> tuple[Any, ...]:
    """Returns the parts of a union, or the annotation alone."""
    return get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)
