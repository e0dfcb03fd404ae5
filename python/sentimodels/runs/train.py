"""`train` and `resume`: a classifier as its configuration asks; with `train.refit` it is trained twice."""

from pathlib import Path
from typing import Any

from ..config import RunConfig
from .baselines import with_baseline
from .directory import FIRST
from .execute import Callbacks, execute, recipe_of
from .families import CLASSIFIER, check_command
from .tables import Tables, check_taught

__all__ = ["resume", "train"]


def train(
    config: RunConfig,
    out: Path,
    callbacks: Callbacks | None = None,
    *,
    tables: Tables | None = None,
    baseline: bool | None = None,
) -> dict[str, Any]:
    """Trains a model and writes its run directory; with `train.refit` trains it twice.

    Where `torchrun` has started several processes, each calls this; the first one writes.

    Args:
        config: the run.
        out: the directory, which must hold no run yet.
        callbacks: what is called while the run goes.
        tables: the rows, if they are read already.
        baseline: whether to train TF-IDF as a baseline; without it as the configuration says.

    Returns:
        What `run.json` holds; in other processes than the first, only how training went.

    Raises:
        SentiError: if a file, a setting or training does not allow it.
    """
    check_taught(config, tables.taught if tables else None)
    config = with_baseline(config, baseline)
    if config.train.refit:
        from .refit import train_twice

        return train_twice(config, out, callbacks, tables)
    return execute(recipe_of(config, tables=tables), out, callbacks)


def resume(
    out: Path,
    callbacks: Callbacks | None = None,
    *,
    tables: Tables | None = None,
    baseline: bool | None = None,
) -> dict[str, Any]:
    """Resumes a stopped run; the result is that of a run that was not stopped.

    The arguments are those of `train`.

    Raises:
        CheckpointError: if there is nothing to resume, or the data has changed.
    """
    check_command(out, "train")
    first = out / FIRST
    if (first / "config.toml").is_file():
        from .refit import resume_twice

        return resume_twice(with_baseline(CLASSIFIER.load(first), baseline), out, callbacks)
    config = with_baseline(CLASSIFIER.load(out), baseline)
    return execute(recipe_of(config, tables=tables), out, callbacks, resumed=True)
