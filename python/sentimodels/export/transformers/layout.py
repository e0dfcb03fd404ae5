"""`Layout`: what is to be known of one kind of model of transformers.

Not for files (`folder.py`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from ...config import LanguageConfig
from .tensors import Pair

__all__ = ["Layout"]

Values = Mapping[str, Any]


@dataclass(frozen=True)
class Layout:
    """One kind of model.

    Attributes:
        name: what people call it.
        model_type: what `config.json` calls it.
        arch: our architecture.
        prefix: what names of tensors begin with where the model has its heads.
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
