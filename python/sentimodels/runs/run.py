"""`train` and `resume`: a run as its configuration asks for it: trained once, or refitted as well.

Not for one training (`train.py`) nor for what a refit is (`refit.py`). With `train.refit` the folder
`first` of a run directory holds the run that chose the number of steps and the temperature on the
validation rows; the run directory itself holds the model trained on training and validation rows.
"""

import json
from pathlib import Path
from typing import Any

from ..config import RunConfig
from ..data.opening import read_small
from ..errors import ConfigError
from . import train as once
from .directory import FIRST, finished, refuse_begun
from .families import CLASSIFIER, check_command
from .processes import check_together
from .refit import refit, resume_refit
from .tables import Tables, check_files, read_tables

__all__ = ["resume", "train"]


def train(
    config: RunConfig,
    out: Path,
    *,
    baseline: bool | None = None,
    tables: Tables | None = None,
    **more: Any,
) -> dict[str, Any]:
    """Trains a model and writes its run directory; with `train.refit` trains it twice.

    Args:
        config: the run.
        out: the directory, which must hold no run yet.
        baseline: whether to train TF-IDF as a baseline; without it as the configuration says.
        tables: the tables, if they are read already.
        more: `on_record`, `on_note`, `should_stop`, as `runs.train.train` has them.

    Returns:
        What `run.json` holds.

    Raises:
        SentiError: if a file, a setting or the course of training does not allow it.
    """
    config = once.with_baseline(config, baseline)
    if not config.train.refit:
        return once.train(config, out, tables=tables, **more)
    check_files(config)
    check_together(config)
    refuse_begun(out)
    tables = tables or read_tables(config)
    if tables.valid is None:
        raise ConfigError(
            "train.refit: validation rows must choose the number of steps first; set data.valid_share, "
            "or name a file: --valid FILE"
        )
    # Test rows judge the refitted model alone; without them the first run is all that is judged.
    first = once.train(config, out / FIRST, tables=tables, baseline=_first_baseline(config, tables), **more)
    return _again(config, first, tables, out, **more)


def resume(out: Path, *, baseline: bool | None = None, **more: Any) -> dict[str, Any]:
    """Goes on with a stopped run, wherever it was stopped.

    Raises:
        CheckpointError: if there is nothing to resume, or the data has changed.
    """
    check_command(out, "train")
    first = out / FIRST
    if not (first / "config.toml").is_file():
        return once.resume(out, baseline=baseline, **more)
    config = once.with_baseline(CLASSIFIER.load(first), baseline)
    tables = read_tables(config)
    once.check_same(first, tables)
    if not finished(first):
        about = once.resume(first, baseline=_first_baseline(config, tables), tables=tables, **more)
        return _again(config, about, tables, out, **more)
    about = json.loads(read_small(first / "run.json"))
    if not (out / "config.toml").is_file():
        return _again(config, about, tables, out, **more)
    return resume_refit(about, tables, out, baseline=config.train.baseline, **more)


def _first_baseline(config: RunConfig, tables: Tables) -> bool:
    return config.train.baseline and not tables.judged_on_test


def _again(
    config: RunConfig, first: dict[str, Any], tables: Tables, out: Path, **more: Any
) -> dict[str, Any]:
    """Refits, unless somebody stopped the first run."""
    if first["fit"]["stop"] == "stopped":
        return first
    return refit(config, first, tables, out, judge=True, baseline=config.train.baseline, **more)
