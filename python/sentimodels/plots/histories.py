"""The course of a run as its `metrics.jsonl` has it, and what the run was trained on and for.

Not for drawing (`training.py`). A record has some of the fields: a series takes those that have both.
"""

import json
import math
import tomllib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..data.opening import read_small
from ..errors import CheckpointError

__all__ = ["History", "read_history", "series", "smooth", "task_of", "trained_on"]

# Share of the past in the smoothed training loss.
SMOOTHING = 0.98

History = list[dict[str, Any]]


def read_history(run: Path) -> History:
    """Reads the `metrics.jsonl` of a run.

    Raises:
        CheckpointError: if it is missing or damaged.
    """
    path = run / "metrics.jsonl"
    try:
        records = _records(read_small(path))
    except (FileNotFoundError, NotADirectoryError):
        raise CheckpointError(
            f"{run}: no directory with a metrics.jsonl, which curves are drawn from; name that of a run, or "
            "for a file of texts add --kind labels or --kind lengths"
        ) from None
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path}: no curves can be drawn ({error})") from error
    if not records or not all(isinstance(record, dict) for record in records):
        raise CheckpointError(f"{path}: no records of training")
    return records


def _records(text: str) -> list[Any]:
    """Returns the records of lines; a last one that was not written whole, as by a killed run, is not."""
    *lines, last = text.split("\n")
    records = [json.loads(line) for line in lines if line.strip()]
    with suppress(ValueError):
        records += [json.loads(last)] if last.strip() else []
    return records


def trained_on(run: Path) -> str | None:
    """Returns the names of the files that a run was trained on, `None` where it does not say."""
    try:
        sources = json.loads(read_small(run / "training_data.json"))["sources"]
        names = [Path(one["source"]).name for one in sources if one.get("role", "train") == "train"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    if len(names) > 3:
        return f"{len(names)} files"
    return " and ".join(dict.fromkeys(names)) or None


def task_of(run: Path) -> str | None:
    """Returns the task that a run was trained for, as `next-token`; `None` where it does not say."""
    try:
        kind = tomllib.loads(read_small(run / "config.toml"))["task"]["kind"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return kind if isinstance(kind, str) else None


def series(history: History, x: str, y: str) -> tuple[list[float], list[float]]:
    """Returns the points of the records that have both, as finite numbers."""
    points = [(r[x], r[y]) for r in history if _is_number(r.get(x)) and _is_number(r.get(y))]
    return [float(a) for a, _ in points], [float(b) for _, b in points]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def smooth(values: Sequence[float], share: float = SMOOTHING) -> list[float]:
    """Returns the running mean with exponential forgetting, corrected for its start."""
    smoothed = []
    total = weight = 0.0
    for value in values:
        total = share * total + (1 - share) * value
        weight = share * weight + (1 - share)
        smoothed.append(total / weight)
    return smoothed
