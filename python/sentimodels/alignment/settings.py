"""`resolve_alignment`: the configuration of an alignment, from files, flags and defaults.

Not for its sections (`config/align.py`). Beside it: where an alignment keeps it, and what only one of the
two methods has, which is refused where the other is meant.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..config import (
    ALIGN_OPTIM,
    ALIGN_TASKS,
    AlignConfig,
    AlignDataConfig,
    AlignTrainConfig,
    OptimConfig,
    Section,
)
from ..errors import CheckpointError, ConfigError
from ..runs.config import checked, merge, read_toml
from ..runs.directory import check_there
from ..runs.language import ALIGNMENT, is_alignment

__all__ = [
    "from_anywhere", "load_alignment_config", "resolve_alignment", "unnamed_alignment", "weights_of",
]  # fmt: skip

_SECTIONS: dict[str, type[Section]] = {
    "data": AlignDataConfig, "optim": OptimConfig, "train": AlignTrainConfig,
    **{f"task.{kind}": section for kind, section in ALIGN_TASKS.items()},
}  # fmt: skip
# Where neither is given: how long each method goes on.
_BUDGETS: dict[str, dict[str, int]] = {"ppo": {"max_steps": 100}, "dpo": {"epochs": 1}}
# Of few answers a step learns more noise than reward; of few pairs it does not.
_BATCHES = {"ppo": 256, "dpo": 32}
# Keys that one method alone has, and the value that means nothing.
_ALONE: dict[str, dict[str, tuple[str, ...]]] = {
    "ppo": {"data": ("text_column", "where", "held_out_where", "clean", "opening_tokens")},
    "dpo": {"train": ("ema", "accumulate", "compile")},
}


def resolve_alignment(*trees: Mapping[str, Any]) -> AlignConfig:
    """Merges trees, the last one winning, over the defaults, and checks the result.

    Raises:
        ConfigError: naming the key, its value, and what would be possible.
    """
    config = _merged(*trees)
    _check_method(config)
    return config


def unnamed_alignment(kind: str) -> AlignConfig:
    """Returns the defaults of a method, which name no run and no file yet."""
    return _merged({"task": {"kind": kind}})


def _merged(*trees: Mapping[str, Any]) -> AlignConfig:
    """Merges trees over the defaults, and checks each value by itself."""
    given = merge(trees)
    task = given.get("task", {})
    kind = task.get("kind", "ppo") if isinstance(task, Mapping) else task
    if not isinstance(kind, str) or kind not in ALIGN_TASKS:
        raise ConfigError(f"task.kind {kind!r}: unknown method; expected {', '.join(ALIGN_TASKS)}")
    train = given.get("train", {})
    budget = _BUDGETS[kind]
    if isinstance(train, Mapping) and any(train.get(key) is not None for key in ("max_steps", "epochs")):
        budget = {}
    ground = {
        "data": {}, "task": {"kind": kind}, "optim": ALIGN_OPTIM,
        "train": {"batch_size": _BATCHES[kind], **budget},
    }  # fmt: skip
    full = merge([ground, given])
    full["task"] = checked(ALIGN_TASKS[kind], full["task"], "task.", _SECTIONS)
    config = checked(AlignConfig, full, "", _SECTIONS)
    assert isinstance(config, AlignConfig)
    return config


def _check_method(config: AlignConfig) -> None:
    """Refuses what the other method has."""
    for kind, sections in _ALONE.items():
        if kind == config.task.kind:
            continue
        for name, keys in sections.items():
            section: Section = getattr(config, name)
            for key in keys:
                if getattr(section, key) != type(section).model_fields[key].default:
                    raise ConfigError(f"{name}.{key}: {kind} alone has it, and this is {config.task.kind}")
    for key in ("patience", "evaluate_every"):
        if getattr(config.train, key):
            raise ConfigError(
                f"train.{key}: an alignment keeps its last weights, so that nothing is chosen on what "
                "judges; leave it out"
            )
    task = config.task
    if task.kind == "ppo" and task.reward_run is None:
        raise ConfigError("task.reward_run: name a classifier whose answers are the reward: --reward-run RUN")
    if task.reward is not None and task.reward_run is None:
        raise ConfigError("task.reward: of which classifier? Name its run: --reward-run RUN")


def weights_of(reward: str | Mapping[str, float]) -> dict[str, float]:
    """Reads `pos` as a label, and `3=1,4=2` as labels with weights.

    Raises:
        ConfigError: if a weight is no finite number.
    """
    if isinstance(reward, str):
        if "=" not in reward:
            return {reward: 1.0}
        weights: dict[str, float] = {}
        for part in reward.split(","):
            label, _, number = part.rpartition("=")
            try:
                weights[label.strip()] = float(number)
            except ValueError:
                raise ConfigError(
                    f"task.reward {reward!r}: {number.strip()!r} is no weight; write LABEL, or "
                    "LABEL=WEIGHT,LABEL=WEIGHT, as in 3=1,4=2"
                ) from None
        reward = weights
    wrong = [label for label, weight in reward.items() if not abs(weight) < float("inf")]
    if wrong or not any(reward.values()):
        said = f"the weight of {wrong[0]!r} is not finite" if wrong else "no label has a weight but 0"
        raise ConfigError(f"task.reward: {said}; write LABEL=WEIGHT, as in 3=1,4=2")
    return dict(reward)


def load_alignment_config(folder: Path) -> AlignConfig:
    """Reads the configuration of an alignment.

    Raises:
        CheckpointError: if the folder holds none.
    """
    check_there(folder)
    if not is_alignment(folder):
        raise CheckpointError(f"{folder}: no {ALIGNMENT}; not a run of senti align")
    return resolve_alignment(read_toml(folder / ALIGNMENT))


def from_anywhere(config: AlignConfig) -> AlignConfig:
    """Returns the configuration with absolute paths, so that a run can be resumed from any folder."""
    files = {
        key: str(Path(path).absolute())
        for key in ("train", "held_out")
        if (path := getattr(config.data, key)) is not None
    }
    task = config.task
    if task.reward_run is not None:
        task = task.model_copy(update={"reward_run": str(Path(task.reward_run).absolute())})
    return config.model_copy(
        update={
            "base": str(Path(config.base).absolute()),
            "data": config.data.model_copy(update=files),
            "task": task,
        }
    )
