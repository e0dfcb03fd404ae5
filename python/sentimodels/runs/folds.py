"""Cross-validation: a run for each fold, tested on that fold; mean and interval over them.

Not for the folds themselves (`data/folds.py`), nor for the folder of the runs, `fold-N` each
(`group.py`). A fold is its run's test part: it is not looked at while training, which stops on a share
of the other rows. Runs share most of their training rows, so the interval over folds is a little too
narrow (Bengio and Grandvalet 2004).
"""

from pathlib import Path
from typing import Any

from ..config import RunConfig
from . import group
from .execute import Callbacks
from .seeds import spread
from .tables import Tables, check_files

__all__ = ["about_folds", "runs_of_folds", "train_folds"]


def train_folds(config: RunConfig, folder: Path, callbacks: Callbacks | None = None) -> group.Done:
    """Trains a run for each of `data.folds` folds.

    Args:
        config: the run.
        folder: gets a run directory `fold-N` for each.
        callbacks: what is called while the runs go.

    Returns:
        The runs; `about_folds` says what they reach.

    Raises:
        SentiError: if a file, a setting or the course of training does not allow it.
    """
    check_files(config)
    group.refuse(folder)
    runs = runs_of_folds(config)
    first = Tables(runs["fold-0"].data)
    return group.run_all(group.begin("folds", runs, folder, first), folder, callbacks=callbacks)


def runs_of_folds(config: RunConfig) -> dict[str, RunConfig]:
    """Returns the run of each fold, by its name."""
    # A baseline has folds of its own: --arch tfidf --folds.
    train = config.train.model_copy(update={"baseline": False})
    return {
        f"fold-{fold}": config.model_copy(
            update={"data": config.data.model_copy(update={"fold": fold}), "train": train}
        )
        for fold in range(config.data.folds or 0)
    }


def about_folds(done: group.Done) -> dict[str, Any]:
    """Returns what the folds reach.

    Returns:
        `folds`, what each run's `run.json` holds; `spread`, mean and interval over the folds of
        each score on the rows left out; `stopped`, whether some are still to come.
    """
    runs = list(done.runs.values())
    return {"folds": runs, "spread": spread([one["test"] for one in runs]), "stopped": done.stopped}
