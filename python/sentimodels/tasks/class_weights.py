"""What class weights are: a word, numbers in the order of the labels, or a number for each name.

Not for the loss that uses them (`classification.py`). `given` reads what people type, `settled`
turns names into the order of the labels, `numbers` is what the loss and the sampler take.
"""

import csv
import io
import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..data.opening import read_small
from ..data.row_buffer import as_label
from ..data.separated import SEPARATORS
from ..errors import ConfigError

__all__ = ["Given", "balanced", "given", "numbers", "settled"]

Given = str | tuple[float, ...] | dict[str, float]

_SHAPES = (
    "none, balanced, numbers as 1,2 in the order of the labels, or a file of them: "
    "JSON, TOML, or CSV with the lines label,weight"
)


def given(text: str) -> Given:
    """Reads what was typed: `none`, `balanced`, `1,2`, or the name of a file.

    Raises:
        ConfigError: if it is none of these.
    """
    if text in ("none", "balanced"):
        return text
    weights = _listed(text)
    if weights is not None:
        return weights
    path = Path(text)
    if not path.is_file():
        raise ConfigError(f"class weights {text!r}: expected {_SHAPES}")
    return _of_file(path)


def _listed(text: str) -> tuple[float, ...] | None:
    try:
        return tuple(float(part) for part in text.strip().strip("[]()").split(","))
    except ValueError:
        return None


def _of_file(path: Path) -> Given:
    """Reads a list or names with weights."""
    try:
        text = read_small(path)
        if path.suffix == ".json":
            value = json.loads(text)
        elif path.suffix == ".toml":
            value = tomllib.loads(text)
            value = value.get("class_weights", value)
        else:
            separator = next((one for one in SEPARATORS if one in text.partition("\n")[0]), ",")
            rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator) if row]
            if any(len(row) != 2 for row in rows):
                wrong = next(row for row in rows if len(row) != 2)
                raise ValueError(f"{separator.join(wrong)!r} is not a label and its weight")
            # A header is a line whose second field is no number.
            value = {name: float(weight) for name, weight in rows[_headers(rows) :]}
        if isinstance(value, Mapping):
            return {as_label(str(name)): float(weight) for name, weight in value.items()}
        return tuple(float(weight) for weight in value)
    except (ValueError, TypeError) as error:  # of JSON, TOML and UTF-8 too
        raise ConfigError(f"{path}: no class weights ({error}); expected {_SHAPES}") from error


def _headers(rows: Sequence[Sequence[str]]) -> int:
    return int(bool(rows) and len(rows[0]) == 2 and _listed(rows[0][1]) is None)


def settled(weights: Given, names: Sequence[str]) -> str | tuple[float, ...]:
    """Returns weights in the order of the labels.

    Raises:
        ConfigError: if a label has none, a name is no label, or their number is another.
    """
    if isinstance(weights, str):
        return weights
    known = ", ".join(map(repr, names))
    if isinstance(weights, dict):
        unknown = [name for name in weights if name not in names]
        without = [name for name in names if name not in weights]
        if unknown:
            raise ConfigError(f"task.class_weights: {unknown[0]!r} is no label; the labels are {known}")
        if without:
            raise ConfigError(f"task.class_weights: no weight for the label {without[0]!r}")
        return tuple(weights[name] for name in names)
    if len(weights) != len(names):
        raise ConfigError(f"task.class_weights: {len(weights)} weights for {len(names)} classes: {known}")
    return weights


def balanced(labels: NDArray[np.int64], n_classes: int) -> NDArray[np.float64]:
    """Returns weights with which every class that occurs counts the same."""
    count = np.bincount(labels, minlength=n_classes)
    weights: NDArray[np.float64] = len(labels) / (np.maximum(count, 1) * max(1, (count > 0).sum()))
    return weights


def numbers(weights: Given, labels: NDArray[np.int64], n_classes: int) -> NDArray[np.float64] | None:
    """Returns the weight of each class, or `None` where all are 1.

    Raises:
        ConfigError: if there are not as many as classes.
    """
    if isinstance(weights, str):
        return None if weights == "none" else balanced(labels, n_classes)
    if isinstance(weights, dict):
        raise ConfigError("task.class_weights: names need the labels of the data; give numbers here")
    if len(weights) != n_classes:
        raise ConfigError(f"task.class_weights: {len(weights)} weights for {n_classes} classes")
    return np.array(weights, dtype=np.float64)
