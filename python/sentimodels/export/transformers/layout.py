"""`Layout`: the description of one kind of model of transformers."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ...config import LanguageConfig
from ...errors import CheckpointError, ConfigError
from ...runs.families import written

__all__ = [
    "ACTIVATIONS",
    "Layout",
    "Pair",
    "activation_of",
    "check_fixed",
    "check_theirs",
    "of_ours",
    "share_of",
    "size_of",
    "to_ours",
    "weight_and_bias",
]


@dataclass(frozen=True)
class Pair:
    """A tensor of ours and the tensors of theirs that it is made of, read in both directions.

    Attributes:
        ours: its name.
        theirs: names of the tensors that follow one another in it, along the first dimension.
        turned: whether theirs have their two dimensions the other way round.
    """

    ours: str
    theirs: tuple[str, ...]
    turned: bool = False


def weight_and_bias(ours: str, *theirs: str, turned: bool = False) -> list[Pair]:
    """Returns the pairs of a linear map or a norm."""
    return [
        Pair(f"{ours}.weight", tuple(f"{name}.weight" for name in theirs), turned),
        Pair(f"{ours}.bias", tuple(f"{name}.bias" for name in theirs)),
    ]


def of_ours(pairs: Iterable[Pair], ours: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Returns our tensors as theirs."""
    out = {}
    for pair in pairs:
        for name, part in zip(pair.theirs, ours[pair.ours].chunk(len(pair.theirs)), strict=True):
            out[name] = (part.T if pair.turned else part).contiguous()
    return out


def to_ours(pairs: Iterable[Pair], theirs: Mapping[str, Tensor], source: str) -> dict[str, Tensor]:
    """Returns their tensors as ours.

    Args:
        pairs: which are which.
        theirs: by name.
        source: where they are from, for the message.

    Raises:
        CheckpointError: if one is missing.
    """
    out = {}
    for pair in pairs:
        missing = [name for name in pair.theirs if name not in theirs]
        if missing:
            raise CheckpointError(f"{source}: no tensor {missing[0]}; is config.json of the same model?")
        parts = [theirs[name].T if pair.turned else theirs[name] for name in pair.theirs]
        out[pair.ours] = torch.cat(parts).contiguous()
    return out


Values = Mapping[str, Any]


@dataclass(frozen=True)
class Layout:
    """One kind of model.

    Attributes:
        name: its common name.
        model_type: what `config.json` calls it.
        arch: our architecture.
        prefix: the prefix of tensor names where the model has its heads.
        table: the name of the table of tokens, without the prefix.
        layer: regular expression of the beginning of the names of a layer, with its number.
        ignored: regular expression of names of theirs that hold no weights.
        to_theirs: `config.json` of a configuration and the number of tokens; raises `ConfigError`
            where the layout has no place for it.
        from_theirs: our sections of `config.json` and the tensors; raises `ConfigError` where theirs
            has something that we do not.
        pairs: which tensor is which.
        per_token: our tensors that have a row for each token.
    """

    name: str
    model_type: str
    arch: str
    prefix: str
    table: str
    layer: str
    ignored: str
    to_theirs: Callable[[LanguageConfig, int], dict[str, Any]]
    from_theirs: Callable[[Values, Mapping[str, Tensor]], dict[str, Any]]
    pairs: Callable[[LanguageConfig], list[Pair]]
    per_token: tuple[str, ...]


# Ours: transformers' names, the first one for writing.
ACTIVATIONS = {
    "relu": ("relu",),
    "gelu": ("gelu",),
    "gelu-tanh": ("gelu_new", "gelu_pytorch_tanh"),
    "gelu-quick": ("quick_gelu",),
    "silu": ("silu", "swish"),
    "relu2": ("relu2",),
}


# No tensor has more rows or columns.
_MOST = (1 << 31) - 1


def size_of(given: Mapping[str, Any], name: str, default: int) -> int:
    """Returns a size of theirs.

    Raises:
        CheckpointError: if it is none.
    """
    value = given.get(name, default)
    if not isinstance(value, int) or not 1 <= value <= _MOST:
        raise CheckpointError(f"config.json: {name} {value!r}: expected a whole number from 1 to {_MOST:,}")
    return value


def share_of(given: Mapping[str, Any], name: str, default: float) -> float:
    """Returns a number of theirs from 0 to less than 1, such as the share that dropout drops.

    Raises:
        CheckpointError: if it is none.
    """
    value = given.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
        raise CheckpointError(f"config.json: {name} {value!r}: expected a number from 0 to less than 1")
    return float(value)


def activation_of(theirs: str) -> str:
    """Returns our name of an activation.

    Raises:
        ConfigError: if `senti` lacks it.
    """
    for ours, names in ACTIVATIONS.items():
        if theirs in names:
            return ours
    known = ", ".join(name for names in ACTIVATIONS.values() for name in names)
    raise ConfigError(f"config.json: activation {theirs!r} is not known here; known are {known}")


def check_fixed(model: Any, fixed: Mapping[str, tuple[Any, ...]], layout: str) -> None:
    """Refuses a model that a layout has no place for.

    Args:
        model: the section `[model]`.
        fixed: values that each setting may have, the usual one first.
        layout: its name.

    Raises:
        ConfigError: naming each such setting, its value, and what to train with.
    """
    wrong = {
        name: getattr(model, name) for name, values in fixed.items() if getattr(model, name) not in values
    }
    if wrong:
        named = ", ".join(f"model.{name} {written(value)}" for name, value in wrong.items())
        has = "has" if len(wrong) == 1 else "have"
        options = " ".join(f"--set model.{name}={written(fixed[name][0])}" for name in wrong)
        raise ConfigError(f"{named} {has} no place in {layout}'s layout; train a new run with {options}")


def check_theirs(given: Mapping[str, Any], fixed: Mapping[str, Any], layout: str) -> None:
    """Refuses settings of theirs that our model does not have.

    Raises:
        ConfigError: naming the setting and its value.
    """
    for name, value in fixed.items():
        theirs = given.get(name, value)
        if theirs != value:
            raise ConfigError(f"config.json: {name} {theirs!r} of {layout} is not known here, only {value!r}")
