"""`plan_seeds`, `plan_folds`, `plan_sweep`: what several runs would take together, without training.

Not for the plan of one run (`plan.py`). Runs that differ by their seed or their fold take about the
same, so one is planned for all. Combinations of a sweep are planned one by one; of many, some that are
spread over the grid.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..config import RunConfig
from .group import runs_of_folds
from .plan import plan
from .sweep import configs_of
from .tables import Tables

__all__ = ["plan_folds", "plan_seeds", "plan_sweep"]

# Combinations that are planned: each takes up to some seconds.
_PLANNED = 20


def plan_seeds(config: RunConfig, n: int, tables: Tables | None = None) -> dict[str, Any]:
    """Returns the plan of a run, with how many there are of it and the seconds of all."""
    return _several(plan(config, tables), n)


def plan_folds(config: RunConfig) -> dict[str, Any]:
    """Returns the plan of the first fold's run, with how many folds there are and the seconds of all."""
    runs = runs_of_folds(config)
    return _several(plan(runs["fold-0"]), len(runs))


def _several(planned: dict[str, Any], n: int) -> dict[str, Any]:
    return {"runs": n, **planned, "seconds": round(planned["seconds"] * n, 1)}


def plan_sweep(
    trees: Sequence[Mapping[str, Any]],
    assignments: Sequence[str],
    *,
    tables: Tables,
    budget: float | None = None,
) -> dict[str, Any]:
    """Returns what a sweep would take.

    Args:
        trees: what all runs have, as `sweep` takes it.
        assignments: keys with their values, as `sweep` takes them.
        tables: the rows.
        budget: seconds of CPU after which no further run begins.

    Returns:
        `runs`, how many combinations there are; `combinations`, of those that were planned the values
        and the plan; `seconds` of all runs, by the mean of the planned; `within_budget`, about how many
        runs that is, `None` without one; `memory_bytes` of the largest, which come to what the program
        itself takes.

    Raises:
        SentiError: if a file or a setting does not allow a run.
    """
    choices = configs_of(trees, assignments)
    chosen = np.linspace(0, len(choices) - 1, min(len(choices), _PLANNED)).round().astype(int).tolist()
    planned = [{"values": choices[one][0], **plan(choices[one][1], tables)} for one in chosen]
    mean = sum(one["seconds"] for one in planned) / len(planned)
    return {
        "runs": len(choices),
        "combinations": planned,
        "seconds": round(mean * len(choices), 1),
        "budget": budget,
        "within_budget": None if budget is None else min(len(choices), int(budget / max(mean, 1e-9))),
        "memory_bytes": max(one["memory_bytes"] for one in planned),
    }
