"""A sweep: a run for each combination of values, the best by validation rows, within a budget.

Combinations are a grid; where a budget may leave some out, they are tried in an order drawn from the seed, so
that the tried ones are spread over the grid (Bergstra and Bengio 2012). No test row is read: the best of many
on one part of the rows looks better there than it is. optuna is not used, because it would bring
a database and its migrations (SQLAlchemy, Alembic); where a grid is not enough, optuna can call `train`.
"""

import itertools
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

from ..config import RunConfig
from ..errors import ConfigError
from ..tasks.classification import MONITOR
from . import group
from .execute import Callbacks
from .families import resolve, set_value
from .init_weights import fit_width_to_vectors, inherit_config
from .tables import Tables, check_files

__all__ = ["about_sweep", "combinations", "configs_of", "sweep"]

# Keys of [data] that say how rows are read by a model; all further keys say which rows there are.
_OF_TEXT = {
    "tokenizer", "vocab_size", "tokenizer_model", "pre_tokenizer", "normalize", "lowercase", "max_tokens",
    "long", "stride", "vectors",
}  # fmt: skip
# A grid of more is a mistake of typing.
_AT_MOST = 10_000


def combinations(assignments: Sequence[str]) -> list[dict[str, str]]:
    """Returns every combination of the values of `optim.lr=1e-3,3e-3` and its like.

    A comma within brackets, braces or quotes divides nothing.

    Raises:
        ConfigError: if one is not an assignment, a key comes twice, or there are too many.
    """
    values: dict[str, list[str]] = {}
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        key = key.strip()
        if not equals or not key:
            raise ConfigError(f"--set {assignment}: expected key=values, as in optim.lr=1e-3,3e-3")
        if key in values:
            raise ConfigError(f"--set {key}: given twice; give its values in one list, as in {key}=1,2")
        section, _, name = key.partition(".")
        parts = _divided(text)
        if len(parts) > 1 and (key == "budget" or (section == "data" and name not in _OF_TEXT)):
            raise ConfigError(f"--set {key}: all runs of a sweep use the same rows; give it one value")
        if len(set(parts)) < len(parts):
            raise ConfigError(f"--set {assignment}: has a value twice; give each once")
        values[key] = parts
    n = 1
    for parts in values.values():
        n *= len(parts)
    if n > _AT_MOST:
        raise ConfigError(f"{n:,} combinations: at most {_AT_MOST:,}; give fewer values")
    return [dict(zip(values, some, strict=True)) for some in itertools.product(*values.values())]


def _divided(text: str) -> list[str]:
    parts, depth, quote = [""], 0, ""
    for char in text:
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char in "[{(":
            depth += 1
        elif char in "]})":
            depth -= 1
        elif char == "," and not depth:
            parts.append("")
            continue
        parts[-1] += char
    return [part.strip() for part in parts]


def sweep(
    trees: Sequence[Mapping[str, Any]],
    assignments: Sequence[str],
    folder: Path,
    callbacks: Callbacks | None = None,
    *,
    tables: Tables,
    budget: float | None = None,
    **scheduling: Unpack[group.Scheduling],
) -> group.Done:
    """Trains a run for each combination.

    Args:
        trees: the settings of all runs, as `resolve` takes them.
        assignments: keys with their values, as `combinations` takes them.
        folder: gets a run directory `NNN` for each.
        callbacks: called during the runs.
        tables: the rows.
        budget: seconds of CPU after which no further run begins.
        scheduling: who runs them; see `group.Scheduling`.

    Returns:
        The runs; `about_sweep` ranks them.

    Raises:
        SentiError: if a file, a setting or the course of training does not allow it.
    """
    choices = configs_of(trees, assignments)
    order = list(range(len(choices)))
    if budget is not None:
        random.Random(choices[0][1].train.seed).shuffle(order)
    width = len(str(len(choices)))
    names = {place: f"{place + 1:0{width}}" for place in order}
    if tables.valid is None:
        raise ConfigError("a sweep chooses on validation rows, but none can be held out; give --valid FILE")
    made = group.begin(
        "sweep",
        {names[place]: choices[place][1] for place in order},
        folder,
        tables,
        values={names[place]: choices[place][0] for place in order},
        budget=budget,
    )
    return group.run_all(made, folder, tables, callbacks, **scheduling)


def configs_of(
    trees: Sequence[Mapping[str, Any]], assignments: Sequence[str]
) -> list[tuple[dict[str, str], RunConfig]]:
    """Returns the values that each run sets, and its configuration.

    Raises:
        SentiError: if a file or a setting does not allow one of them.
    """
    choices = [(values, _config(trees, values)) for values in combinations(assignments)]
    for _, config in choices:
        check_files(config)
    return choices


def _config(trees: Sequence[Mapping[str, Any]], values: Mapping[str, str]) -> RunConfig:
    tree: dict[str, Any] = {}
    for key, value in values.items():
        set_value(tree, f"{key}={value}")
    config = resolve(*fit_width_to_vectors(*inherit_config(*trees, tree)))
    if config.data.test or config.data.test_where or config.data.folds:
        raise ConfigError("a sweep chooses on validation rows; score its best on the test rows afterwards")
    if config.train.refit:
        raise ConfigError(
            "train.refit: a sweep ranks runs by their validation rows, which a refit trains on; train its "
            "best again with --refit afterwards"
        )
    if not (config.data.valid or config.data.valid_where or config.data.valid_share):
        raise ConfigError("data.valid_share 0: a sweep chooses on validation rows")
    return config.model_copy(update={"train": config.train.model_copy(update={"baseline": False})})


def about_sweep(done: group.Done) -> dict[str, Any]:
    """Returns the results, best first; of equals the first begun.

    Returns:
        `monitor`, the score that decides; `runs`, for each its name, the values it sets, scores on
        the validation rows, parameters and seconds of CPU; `best`, a name; `failed`, why runs
        failed, by name; `left`, how many combinations were not tried; `spent`; `stopped`.
    """
    score = MONITOR.removeprefix("val_")
    runs = [
        {
            "run": name,
            "values": dict(done.group.values.get(name, {})),
            **{key: about["valid"][key] for key in ("macro_f1", "accuracy", "log_loss")},
            "parameters": about["parameters"],
            "cpu_seconds": done.group.spent.get(name, 0.0),
        }
        for name, about in done.runs.items()
        if "valid" in about
    ]
    runs.sort(key=lambda one: -float(one[score]))
    return {
        "monitor": score,
        "runs": runs,
        "best": runs[0]["run"] if runs else None,
        "failed": dict(done.failed),
        "left": len(done.group.runs) - len(done.runs.keys() | done.failed.keys()),
        "spent": round(sum(done.group.spent.values()), 1),
        "budget": done.group.budget,
        "stopped": done.stopped,
    }
