"""The options of `senti train`, `pretrain` and `align` that set a key of the configuration, from its fields.

Not for options of the command alone (`train.py`). A field with a `flag` (`config/`) is an option here:
its name, kind, limits and help come from the field, so nothing is written twice. The keys of models
differ by architecture; the few that are options are in a table of their own.
"""

import re
import types
from collections.abc import Iterator, Mapping
from inspect import Parameter
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin

import typer

from .command import UsageError, size

if TYPE_CHECKING:
    from ..config import Section

__all__ = ["alignment_parameters", "parameters", "seconds", "tree_of"]

# Keys of [model]: option, metavar and help. Each architecture says itself which it has.
_MODEL = {
    "pooling": ("--pooling", "KIND", "Pooling of token states: last, mean, max, mean-max, ..."),
    "attention": ("--attention", "KIND", "Attention: softmax, linear, ..."),
    "positions": ("--positions", "KIND", "Position encoding: none, learned, rotary, alibi, ..."),
    "char_ngrams": (
        "--char-ngrams", "LOW,HIGH", "Shortest and longest character n-grams, such as 3,5; 0,0 for none.",
    ),
}  # fmt: skip


# Of these a language model has no use.
_NO_LANGUAGE = ("pooling", "char_ngrams")
# Keys of [optim] that `senti pretrain` has as options as well: option and metavar.
_OPTIM = {
    "name": ("--optimizer", "NAME"), "muon_lr": ("--muon-lr", "RATE"), "schedule": ("--schedule", "KIND"),
    "warmup": ("--warmup", "SHARE"), "weight_decay": ("--weight-decay", "RATE"), "clip": ("--clip", "NORM"),
}  # fmt: skip


def parameters(*, language: bool = False) -> Iterator[tuple[str, Parameter]]:
    """Yields the key of each option, as `optim.lr`, and the parameter that typer makes it from.

    Args:
        language: whether of a language model's configuration, or a classifier's.
    """
    for key, field, extra in _flagged(language):
        yield key, _option(key, field, extra, _language_help(key, field) if language else _help(key, field))
    for name, (option, metavar, text) in _MODEL.items():
        key = f"model.{name}"
        if language and name in _NO_LANGUAGE:
            continue
        yield key, _parameter(key, str, [option], text, {"metavar": metavar})


def alignment_parameters() -> Iterator[tuple[str, Parameter]]:
    """Yields what `parameters` yields, of the configuration of an alignment."""
    from ..config import ALIGN_OPTIM, ALIGN_TASKS, AlignDataConfig, AlignTrainConfig, OptimConfig, Section

    sections: list[tuple[str, type[Section]]] = [("data.", AlignDataConfig)]
    sections += [("task.", section) for section in ALIGN_TASKS.values()]
    sections += [("optim.", OptimConfig), ("train.", AlignTrainConfig)]
    for key, field, extra in _of(sections):
        section, _, name = key.partition(".")
        default = ALIGN_OPTIM.get(name, field.default) if section == "optim" else field.default
        plain = "[default:" in field.description or default in (None, "", ()) or isinstance(default, bool)
        text = str(field.description) if plain else f"{field.description} [default: {default}]"
        yield key, _option(key, field, extra, text)


def _flagged(language: bool) -> Iterator[tuple[str, Any, Mapping[str, Any]]]:
    """Yields the key, the field and the flag of each option."""
    from ..config import (
        LANGUAGE_TASKS,
        TASKS,
        CorpusConfig,
        DataConfig,
        LanguageConfig,
        OptimConfig,
        PretrainConfig,
        RunConfig,
        Section,
        TrainConfig,
    )  # fmt: skip

    if language:
        of_language: list[tuple[str, type[Section]]] = [("", LanguageConfig), ("data.", CorpusConfig)]
        of_language += [("task.", section) for section in LANGUAGE_TASKS.values()]
        of_language += [("optim.", OptimConfig), ("train.", PretrainConfig)]
        yield from _of(of_language)
        for name, (option, metavar) in _OPTIM.items():
            extra = {"flag": option, "metavar": metavar}
            yield f"optim.{name}", OptimConfig.model_fields[name], extra
        return
    sections: list[tuple[str, type[Section]]] = [("", RunConfig), ("data.", DataConfig)]
    sections += [("task.", section) for section in TASKS.values()]
    sections += [("optim.", OptimConfig), ("train.", TrainConfig)]
    yield from _of(sections)


def _of(sections: "list[tuple[str, type[Section]]]") -> Iterator[tuple[str, Any, Mapping[str, Any]]]:
    seen = set()  # tasks may have the same key
    for prefix, section in sections:
        for name, extra in section.flags():
            if f"{prefix}{name}" not in seen:
                seen.add(f"{prefix}{name}")
                yield f"{prefix}{name}", section.model_fields[name], extra


def _option(key: str, field: Any, extra: Mapping[str, Any], text: str) -> Parameter:
    """Returns the option of a field that has a flag."""
    # A size may be written as 512M, a time as 10m, a count as 41M.
    spelled = extra["metavar"] in ("SIZE", "TIME", "COUNT")
    kind, more = (str, {}) if spelled else _kind(field.annotation)
    least = next((limit.ge for limit in field.metadata if hasattr(limit, "ge")), None)
    if kind is int and least is not None:
        more["min"] = int(least)
    if extra.get("metavar"):
        more["metavar"] = str(extra["metavar"])
    return _parameter(key, kind, [str(extra["flag"])], text, more)


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


def _language_help(key: str, field: Any) -> str:
    """Returns a field's description, with its default where it is the same for every size."""
    default = field.default
    if "[default:" in field.description or default in (None, "", ()) or isinstance(default, bool):
        return str(field.description)
    if key == "task.kind":
        return f"{field.description} [default: masked of bert and encoder, else next-token]"
    settled = "that of the preset" if key == "optim.lr" else "0.02" if key == "optim.warmup" else default
    return f"{field.description} [default: {0.1 if key == 'optim.weight_decay' else settled}]"


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
    if name == "train__tokens":
        return count(value, "--tokens")
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


def count(text: str, flag: str) -> int:
    """Reads `41000000`, `41M`, `1.3G` or `500K`, powers of 1,000.

    Raises:
        UsageError: if it is no number above 0.
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGB]?)", text.strip().upper().replace("_", "").replace(",", ""))
    factor = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "B": 10**9}
    value = round(float(found[1]) * factor[found[2]]) if found else 0
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
