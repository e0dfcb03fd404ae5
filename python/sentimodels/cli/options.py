"""The options of a command that set a key of its configuration, made from the fields.

A field with a `flag` (`config/`) is an option here: its name, kind, limits and help come from the field, so
nothing is written twice. The keys of models differ by architecture; the few that are options are in a
separate table.
"""

import inspect
import re
import types
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import wraps
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

import typer

from .command import UsageError, size
from .tables import names

if TYPE_CHECKING:
    from ..config import Section, Written

__all__ = [
    "MODEL",
    "Assignments",
    "ConfigFile",
    "DryRun",
    "ForceRun",
    "Resumed",
    "of_architectures",
    "of_field",
    "of_presets",
    "parameters",
    "refuse_others",
    "seconds",
    "tree_of",
    "unused_options",
    "with_options",
]

# Options of a tokenizer that is trained.
_OF_TRAINED = {"vocab_size": "--vocab", "tokenizer_model": "--tokenizer-model"}
ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="Configuration file in TOML, such as the config.toml of a run or one that senti init wrote.",
        rich_help_panel="Configuration",
    ),
]
Assignments = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Set any key of the configuration, such as optim.lr=3e-4; repeatable.",
        rich_help_panel="Configuration",
    ),
]
Resumed = Annotated[
    Path | None,
    typer.Option(
        "--resume", metavar="DIR", help="Resume the stopped run in this directory, with its own settings."
    ),
]

# Keys of [model]: option, metavar and help. Each architecture says itself which it has.
MODEL = {
    "pooling": (
        "--pooling", "KIND",
        "Pooling of token states: first, last, mean, max, mean-max, attention or cls. [default: depends on "
        "--arch]",
    ),
    "attention": (
        "--attention", "KIND",
        "Kind of attention: softmax, linear-elu, linear-softmax or nystrom. [default: depends on --arch]",
    ),
    "positions": (
        "--positions", "KIND",
        "Position encoding: none, sinusoidal, learned, rotary or alibi. [default: depends on --arch]",
    ),
    "char_ngrams": (
        "--char-ngrams", "LOW,HIGH",
        "Shortest and longest n-grams of characters to use, such as 3,5; 0,0 for none. [default: depends on "
        "--arch]",
    ),
}  # fmt: skip
_NOTHING: Mapping[str, Any] = types.MappingProxyType({})


def parameters(
    config: "type[Written]",
    tasks: "Iterable[type[Section]]",
    *,
    model: Collection[str] = (),
    flags: Mapping[str, tuple[str, str]] = _NOTHING,
    defaults: Mapping[str, object] = _NOTHING,
) -> Iterator[tuple[str, Parameter]]:
    """Yields the key of each option, as `optim.lr`, and the parameter that typer makes it from.

    Args:
        config: the configuration that the command reads.
        tasks: the possible values of its `[task]`.
        model: keys of `MODEL` that are options.
        flags: option and metavar by key, of fields that are not options elsewhere.
        defaults: by key, the default in the help where it is not the field's.
    """
    for key, field, extra in _flagged(config, tasks, flags):
        names = [str(extra["flag"])]
        # A size may be written as 512M, a time as 10m, a count as 41M.
        spelled = extra["metavar"] in ("SIZE", "TIME", "COUNT")
        kind, more = (str, {}) if spelled else _kind(field.annotation)
        least = next((limit.ge for limit in field.metadata if hasattr(limit, "ge")), None)
        if kind is int and least is not None:
            more["min"] = int(least)
        if extra.get("sets"):
            kind = bool
        if extra.get("metavar"):
            more["metavar"] = str(extra["metavar"])
        if kind is not bool and (offered := of_field(key, field)):
            more["autocompletion"] = offered
        more["rich_help_panel"] = str(extra["panel"])
        text = extra.get("text") or _help(field, defaults.get(key, field.default))
        yield key, _parameter(key, kind, names, str(text), more)
    for name in model:
        option, metavar, text = MODEL[name]
        yield (
            f"model.{name}",
            _parameter(
                f"model.{name}", str, [option], text, {"metavar": metavar, "rich_help_panel": "Model"}
            ),
        )


def with_options(
    command: Callable[..., None], options: Iterable[tuple[str, Parameter]]
) -> Callable[..., None]:
    """Returns a command with options instead of its `**given`, right after `out`.

    Args:
        command: the function that runs.
        options: the key and the parameter of each option (`parameters`).
    """
    made = [option for _, option in options]
    own = [
        parameter.replace(kind=Parameter.KEYWORD_ONLY)
        for parameter in inspect.signature(command).parameters.values()
        if parameter.kind is not Parameter.VAR_KEYWORD
    ]

    @wraps(command)
    def called(**values: Any) -> None:
        command(**values)

    first = 1 + [parameter.name for parameter in own].index("out")
    # 2026-11-23: typer reads it; the type of a function lacks it
    called.__signature__ = inspect.Signature([*own[:first], *made, *own[first:]])  # type: ignore[attr-defined]
    return called


def _flagged(
    config: "type[Written]", tasks: "Iterable[type[Section]]", flags: Mapping[str, tuple[str, str]]
) -> Iterator[tuple[str, Any, Mapping[str, Any]]]:
    """Yields the key, the field and the flag of each option."""
    seen = set()  # tasks may have the same key
    for prefix, section in _sections(config, tasks):
        for name, extra in section.flags():
            if f"{prefix}{name}" not in seen:
                seen.add(f"{prefix}{name}")
                yield f"{prefix}{name}", section.model_fields[name], extra
    for key, (option, metavar) in flags.items():
        name, _, field = key.partition(".")
        section = _section(config, name)
        yield key, section.model_fields[field], {"flag": option, "metavar": metavar, "panel": section.panel}


def _sections(
    config: "type[Written]", tasks: "Iterable[type[Section]]"
) -> "Iterator[tuple[str, type[Section]]]":
    """Yields prefixes of keys, and their sections, in the order of the file."""
    yield "", config
    yield "data.", _section(config, "data")
    for section in tasks:
        yield "task.", section
    for name in ("optim", "train"):
        yield f"{name}.", _section(config, name)


def _section(config: "type[Written]", name: str) -> "type[Section]":
    # 2026-11-23: the field is known to be a section
    section: type[Section] = config.model_fields[name].annotation  # type: ignore[assignment]
    return section


def _parameter(key: str, kind: Any, names: list[str], text: str, more: dict[str, Any]) -> Parameter:
    option = typer.Option(*names, help=text, show_default=False, **more)
    return Parameter(
        key.replace(".", "__"),
        Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[kind | None, option],
    )


def _kind(annotation: Any) -> tuple[Any, dict[str, Any]]:
    """Returns the type of an option: a flag, a number, a text, or several texts."""
    choices = [annotation]
    if get_origin(annotation) in (Union, types.UnionType):
        choices = [one for one in get_args(annotation) if one is not type(None)]
    if len(choices) == 1 and choices[0] in (bool, int, float):
        return choices[0], {}
    several = len(choices) == 1 and get_origin(choices[0]) is tuple
    return (list[str] if several else str), {}


def _help(field: Any, default: object) -> str:
    """Returns a field's description, with its default where it says none itself."""
    if "[default:" in field.description or default in (None, "", ()) or isinstance(default, bool):
        return str(field.description)
    return f"{field.description} [default: {default}]"


ForceRun = Annotated[
    bool,
    typer.Option(
        "--force",
        help="Train even if --out holds a run, which is renamed: DIR to DIR.1, or the next number.",
        rich_help_panel="Output",
    ),
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Train a few steps and show what the run is made of, its speed, estimated time and peak memory; "
        "write nothing.",
        rich_help_panel="Output",
    ),
]


def refuse_others(*given: object) -> None:
    """Refuses options given together with `--resume`.

    Raises:
        UsageError: if there are any.
    """
    if words := [word for value in given if value for word in _words(value)]:
        raise UsageError(
            f"--resume DIR takes no other settings: the run keeps its own; leave out {', '.join(words)}"
        )


def _words(given: object, before: str = "") -> Iterator[str]:
    """Yields the names of given options: the keys of a tree of the configuration, or a value."""
    if isinstance(given, Mapping):
        for key, value in given.items():
            yield from _words(value, f"{before}{key}.") if isinstance(value, Mapping) else (f"{before}{key}",)
    elif isinstance(given, (list, tuple)):
        yield from map(str, given)
    else:
        yield str(given)


def unused_options(flags: Mapping[str, Any]) -> Iterator[str]:
    """Yields what to say of options of a tokenizer that would be trained, where one is given."""
    data, start = flags.get("data", {}), flags.get("train", {}).get("init_from")
    there = "--tokenizer" if "tokenizer" in data else "--init" if start and Path(start).is_dir() else None
    if there is not None:
        for key, option in _OF_TRAINED.items():
            if key in data:
                yield f"{option} is not used: no tokenizer is trained, as {there} gives one"


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
    """Reads a value that an option spells shorter than the file does."""
    if name == "model__char_ngrams":
        return _pair("--char-ngrams", value)
    if name in ("data__label_columns", "data__label_order"):
        return names(value)
    if name == "data__long":  # --windows takes no value
        return "windows"
    if name == "data__max_line_bytes":
        return size(value, "--max-line-bytes")
    if name == "train__tokens":
        return count(value, "--tokens")
    if name == "budget":
        return seconds(value, "--budget")
    if name == "task__class_weights":
        from ..tasks.classification import read_weights

        return read_weights(value)
    return value


def seconds(text: str, flag: str) -> float:
    """Reads `90`, `90s`, `10m` or `2h`.

    Raises:
        UsageError: if it is not a time above 0.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text.strip())
    value = float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[match[2]] if match else 0.0
    if not value:
        raise UsageError(f"{flag} {text}: expected a time above 0, as in 90s, 10m or 2h")
    return value


def count(text: str, flag: str) -> int:
    """Reads `41000000`, `41M`, `1.3G` or `500K`, powers of 1,000.

    Raises:
        UsageError: if it is not a number above 0.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGB]?)", text.strip().upper().replace("_", "").replace(",", ""))
    factor = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "B": 10**9}
    value = round(float(match[1]) * factor[match[2]]) if match else 0
    if not value:
        raise UsageError(f"{flag} {text}: expected a number above 0, as in 500K, 41M or 1.3G")
    return value


def _pair(flag: str, text: str) -> list[int]:
    """Reads `3,5`."""
    try:
        low, high = (int(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"{flag} {text}: expected two whole numbers, as in 3,5") from None
    return [low, high]


def of_architectures(incomplete: str) -> list[str]:
    """Returns the architectures that begin so."""
    from ..models import ARCHITECTURES

    return [name for name in ARCHITECTURES if name.startswith(incomplete)]


def of_presets(incomplete: str) -> list[str]:
    """Returns the sizes that begin so, of any architecture."""
    from ..models import ARCHITECTURES

    names = dict.fromkeys(name for row in ARCHITECTURES.values() for name in row.presets)
    return [name for name in names if name.startswith(incomplete)]


def of_field(key: str, field: Any) -> Callable[[str], list[str]] | None:
    """Returns a function that completes the values of a configuration key; `None` where any value is allowed.

    A table that needs torch is imported when the shell asks for it.
    """
    if key == "arch":
        return of_architectures
    if key == "preset":
        return of_presets
    from ..config import TASKS, RowOf, trained_by

    if key == "task.kind":
        kinds = trained_by(TASKS[field.default].command)
        return lambda incomplete: [kind for kind in kinds if kind.startswith(incomplete)]
    for table in field.metadata:
        if isinstance(table, RowOf):
            return lambda incomplete: [name for name in table.names() if name.startswith(incomplete)]
    literals = [one for one in _one_of(field.annotation) if get_origin(one) is Literal]
    choices = [value for one in literals for value in get_args(one)]
    names = [name for name in choices if isinstance(name, str)]
    return (lambda incomplete: [name for name in names if name.startswith(incomplete)]) if names else None


def _one_of(annotation: Any) -> tuple[Any, ...]:
    """Returns the parts of a union, or the annotation alone."""
    return get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)
