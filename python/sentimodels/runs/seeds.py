"""Several seeds of one configuration: what they reach together.

Not for one run (`train.py`), nor for the folder of the runs, `seed-N` each (`group.py`).
"""

from pathlib import Path
from typing import Any

import numpy as np

from ..config import RunConfig
from . import group
from .baselines import with_baseline
from .execute import Callbacks
from .tables import Tables, check_files, read_tables

__all__ = ["about_seeds", "spread", "train_seeds"]


def train_seeds(
    config: RunConfig,
    n: int,
    folder: Path,
    callbacks: Callbacks | None = None,
    *,
    tables: Tables | None = None,
    baseline: bool | None = None,
) -> group.Done:
    """Trains a run for each of `n` seeds from that of the configuration on.

    Args:
        config: the run; its seed is the first.
        n: seeds.
        folder: gets a run directory `seed-N` for each.
        callbacks: what is called while the runs go.
        tables: the rows, if they are read already.
        baseline: whether to train TF-IDF with the first; without it as the configuration says.

    Returns:
        The runs; `about_seeds` says what they reach.

    Raises:
        SentiError: if a file, a setting or the course of training does not allow it.
    """
    check_files(config)
    group.refuse(folder)
    config = with_baseline(config, baseline)
    runs = {}
    for place in range(n):
        update = {"seed": config.train.seed + place, "baseline": config.train.baseline and place == 0}
        train = config.train.model_copy(update=update)
        runs[f"seed-{train.seed}"] = config.model_copy(update={"train": train})
    tables = tables or read_tables(config)
    return group.run_all(group.begin("seeds", runs, folder, tables), folder, tables, callbacks)


def about_seeds(done: group.Done) -> dict[str, Any]:
    """Returns what several seeds reach.

    Returns:
        `seeds`, what each run's `run.json` holds; `spread`, mean and interval of each score on the
        rows that judge;
        `stopped`, whether some are still to come.
    """
    runs = list(done.runs.values())
    judged = [one[one["judged"]] for one in runs if "judged" in one]
    return {"seeds": runs, "spread": spread(judged), "stopped": done.stopped}


def spread(scores: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Returns mean, standard deviation and half the 95 % interval (Student's t) over seeds."""
    from scipy.stats import t

    out = {}
    for name in ("accuracy", "macro_f1", "log_loss", "ece"):
        values = np.array([one[name] for one in scores if one.get(name) is not None], dtype=np.float64)
        if len(values):
            deviation = float(values.std(ddof=1)) if len(values) > 1 else 0.0
            factor = float(t.ppf(0.975, len(values) - 1)) if len(values) > 1 else 0.0
            half = factor * deviation / len(values) ** 0.5
            out[name] = {"mean": float(values.mean()), "deviation": deviation, "interval": half}
    return out
