"""The options of `senti train` that set a key of the configuration, made from its fields.

Not for options of the command alone (`train.py`). A field with a `flag` (`config/`) is an option here:
its name, kind, limits and help come from the field, so nothing is written twice. The keys of models
differ by architecture; the few that are options are in a table of their own.
"""

import re
import types
from collections.abc import Iterator, Mapping
from inspect import Parameter
from typing import Annotated, Any, Union, get_args, get_origin

import typer

from .command import UsageError, size

__all__ = ["parameters", "seconds", "tree_of"]

# Keys of [model]: option, metavar and help. Each architecture says itself which it has.
_MODEL = {
    "pooling": ("--pooling", "KIND", "Pooling of token states: last, mean, max, mean-max, ..."),
    "attention": ("--attention", "KIND", "Attention: softmax, linear, ..."),
    "positions": ("--positions", "KIND", "Position encoding: none, learned, rotary, alibi, ..."),
    "char_ngrams": (
        "--char-ngrams", "LOW,HIGH", "Shortest and longest character n-grams, such as 3,5; 0,0 for none.",
    ),
}  # fmt: skip


def parameters() -> Iterator[tuple[str, Parameter]]:
    """Yields the key of each option, as `optim.lr`, and the parameter that typer makes it from."""
    for key, field, extra in _flagged():
        names = [str(extra["flag"])]
        # A size may be written as 512M, a time as 10m.
        kind, more = (str, {}) if extra["metavar"] in ("SIZE", "TIME") else _kind(field.annotation)
        least = next((limit.ge for limit in field.metadata if hasattr(limit, "ge")), None)
        if kind is int and least is not None:
            more["min"] = int(least)
        if extra.get("metavar"):
            more["metavar"] = str(extra["metavar"])
        yield key, _parameter(key, kind, names, f"{_help(key, field)}", more)
    for name, (option, metavar, text) in _MODEL.items():
        key = f"model.{name}"
        yield key, _parameter(key, str, [option], text, {"metavar": metavar})


def _flagged() -> Iterator[tuple[str, Any, Mapping[str, Any]]]:
    """Yields the key, the field and the flag of each option."""
    from ..config import TASKS, DataConfig, OptimConfig, RunConfig, Section, TrainConfig

    sections: list[tuple[str, type[Section]]] = [("", RunConfig), ("data.", DataConfig)]
    sections += [("task.", section) for section in TASKS.values()]
    sections += [("optim.", OptimConfig), ("train.", TrainConfig)]
    seen = set()  # tasks may have the same key
    for prefix, section in sections:
        for name, extra in section.flags():
            if f"{prefix}{name}" not in seen:
                seen.add(f"{prefix}{name}")
                yield f"{prefix}{name}", section.model_fields[name], extra


def _parameter(key: str, kind: Any, names: list[str], text: str, more: dict[str, Any]) -> Parameter:
    option = typer.Option(*names, help=text, show_default=False, **more)
    return Parameter(
        key.replace(".", "__"),
        Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[kind | None, option],
    )


def _kind(annotation: Any) -> tuple[Any, dict[str, Any]]:
    """Returns what an option reads: a flag, a number, a text, or several texts."""
    choices = [annotation]
    if get_origin(annotation) in (Union, types.UnionType):
        choices = [one for one in get_args(annotation) if one is not type(None)]
    if len(choices) == 1 and choices[0] in (bool, int, float):
        return choices[0], {}
    several = len(choices) == 1 and get_origin(choices[0]) is tuple
    return (list[str] if several else str), {}


def _help(key: str, field: Any) -> str:
    """Returns a field's description, with its default where every architecture has it."""
    from ..config import DEFAULT_TASK
    from ..runs.defaults import DEFAULTS

    default = field.default
    section, _, name = key.rpartition(".")
    varies = any(
        name in tree.get(section, {}) for (_, task), tree in DEFAULTS.items() if task == DEFAULT_TASK
    )
    if "[default:" in field.description or default in (None, "", ()) or isinstance(default, bool):
        return str(field.description)
    return f"{field.description} [default: {'depends on --arch' if varies else default}]"


def tree_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options that were given as a tree of the configuration.

    Raises:
        UsageError: if one cannot be read.
        ConfigError: if class weights cannot be.
    """
    out: dict[str, Any] = {}
    for name, value in given.items():
        if value is None or value == []:
            continue
        *parents, key = name.split("__")
        where = out
        for parent in parents:
            where = where.setdefault(parent, {})
        where[key] = _read(name, value)
    return out


def _read(name: str, value: Any) -> Any:
    """Reads what an option spells shorter than the file does."""
    if name == "model__char_ngrams":
        return _pair("--char-ngrams", value)
    if name == "data__max_line_bytes":
        return size(value, "--max-line-bytes")
    if name == "budget":
        return seconds(value, "--budget")
    if name == "task__class_weights":
        from ..tasks.class_weights import given

        return given(value)
    return value


def seconds(text: str, flag: str) -> float:
    """Reads `90`, `90s`, `10m` or `2h`.

    Raises:
        UsageError: if it is no time above 0.
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text.strip())
    value = float(found[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[found[2]] if found else 0.0
    if not value:
        raise UsageError(f"{flag} {text}: expected a time above 0, as in 90s, 10m or 2h")
    return value


def _pair(flag: str, text: str) -> list[int]:
    """Reads `3,5`."""
    try:
        low, high = (int(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"{flag} {text}: expected two whole numbers, as in 3,5") from None
    return [low, high]
