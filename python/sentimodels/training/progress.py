"""`Progress` and `Fit`: where a run stands, and how it went; `write_record`, `read_records`: its course.

Not for tensors: those are the run's state (`state.py`).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sentitok.atomic import naming

__all__ = ["Fit", "Progress", "read_records", "write_record"]


@dataclass
class Progress:
    """Where a run stands; all of it is saved with its state."""

    step: int = 0
    epoch: int = 0
    position: int = 0
    best: float | None = None
    monitor: str | None = None
    best_step: int = 0
    without_gain: int = 0
    seconds: float = 0.0
    tokens: int = 0
    places: int = 0
    losses: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Fit:
    """How training went.

    Attributes:
        stop: why it ended: `epochs`, `max_steps`, `patience`, `stopped` or `not finite`.
        steps: steps taken.
        best_step: the step whose weights were kept.
        best: their score, that of `monitor`, or `None` if nothing was evaluated.
        monitor: the score that stopping followed, or `None`.
        seconds: spent in all, validation included.
        tokens: real tokens seen.
        padding: share of places in the batches that held no token.
    """

    stop: str
    steps: int
    best_step: int
    best: float | None
    monitor: str | None
    seconds: float
    tokens: int
    padding: float


def write_record(folder: Path, record: Mapping[str, Any]) -> None:
    """Adds a line to the `metrics.jsonl` of a run."""
    path = folder / "metrics.jsonl"
    with naming(path), path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")


def read_records(folder: Path) -> list[dict[str, Any]]:
    """Returns the lines of the `metrics.jsonl` of a run that is being trained."""
    path = folder / "metrics.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.is_file() else []
