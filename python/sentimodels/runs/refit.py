"""`refit`: once dev has chosen steps and temperature, training again on train and dev together.

No row is left to choose on, so the steps are those that were best (as many passes over more rows), and the
temperature is that of the first run. The new run is judged on rows that neither run has seen. With
`train.refit` the folder `first` of a run directory holds the run that chose; the run directory itself holds
the model trained on training and validation rows.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..config import RunConfig
from ..data.opening import read_small
from ..data.table import Table
from ..errors import ConfigError
from ..evaluation.answers import read_temperature
from .directory import FIRST, finished, refuse_begun
from .execute import Callbacks, Recipe, execute, recipe_of
from .families import CLASSIFIER
from .judging import with_baseline
from .lineage import check_same_rows
from .tables import Tables, read_tables

__all__ = ["joined", "refit", "resume_twice", "settled", "train_twice"]


def train_twice(
    config: RunConfig, out: Path, callbacks: Callbacks | None, tables: Tables | None
) -> dict[str, Any]:
    """Trains in `out / "first"` to choose steps and temperature, then in `out` on all rows.

    Raises:
        ConfigError: if there are no validation rows to choose on.
    """
    recipe_of(config).check()  # before the rows are read
    refuse_begun(out)
    tables = tables or read_tables(config)
    if tables.valid is None:
        raise ConfigError(
            "train.refit: the number of steps is chosen on validation rows; set data.valid_share, or "
            "name a file: --valid FILE"
        )
    about = execute(_choosing(config, tables), out / FIRST, callbacks)
    return _again(config, about, tables, out, callbacks)


def resume_twice(config: RunConfig, out: Path, callbacks: Callbacks | None) -> dict[str, Any]:
    """Resumes such a run, in the first or the second of its trainings.

    Args:
        config: of the first run.
        out: the run directory.
        callbacks: called during the run.

    Raises:
        CheckpointError: if there is nothing to resume, or the data has changed.
    """
    first, tables = out / FIRST, read_tables(config)
    check_same_rows(first, tables.record())
    if not finished(first):
        about = execute(_choosing(config, tables), first, callbacks, resumed=True)
        return _again(config, about, tables, out, callbacks)
    about = json.loads(read_small(first / "run.json"))
    if not (out / "config.toml").is_file():
        return _again(config, about, tables, out, callbacks)
    own = with_baseline(CLASSIFIER.load(out), config.train.baseline)
    recipe = recipe_of(own, tables=_rows(tables, judge=True), **_chosen(about))
    return execute(recipe, out, callbacks, resumed=True)


def _choosing(config: RunConfig, tables: Tables) -> Recipe[RunConfig]:
    """Returns the run that chooses: where test rows judge, they judge the refitted model alone."""
    baseline = config.train.baseline and not tables.judged_on_test
    return recipe_of(with_baseline(config, baseline), tables=tables)


def _again(
    config: RunConfig, first: dict[str, Any], tables: Tables, out: Path, callbacks: Callbacks | None
) -> dict[str, Any]:
    """Refits, unless the first run was stopped."""
    if first["fit"]["stop"] == "stopped":
        return first
    return refit(config, first, tables, out, callbacks, judge=True, baseline=config.train.baseline)


def joined(train: Table, dev: Table) -> Table:
    """Returns the rows of both; a part of another file becomes rows of no file."""
    same = train.sha256 == dev.sha256 and train.numbers is not None and dev.numbers is not None
    texts, labels = [*train.texts, *dev.texts], [*train.labelled(), *dev.labelled()]
    groups = None
    if train.groups is not None and dev.groups is not None:
        groups = [*train.groups, *dev.groups]
    if not same:
        made = Table.of(texts, labels, groups, f"{train.source} and {dev.source}")
        return replace(made, label_form=train.label_form, label_columns=train.label_columns)
    assert train.numbers is not None
    assert dev.numbers is not None
    return replace(
        train, texts=texts, labels=labels, groups=groups, ids=None, numbers=[*train.numbers, *dev.numbers]
    )


def settled(config: RunConfig, about: dict[str, Any], n_train: int, n_all: int) -> RunConfig:
    """Returns the configuration with the steps that dev chose.

    Args:
        config: the first run.
        about: its `run.json`.
        n_train: rows of a pass of the first run.
        n_all: rows of a pass now.

    Raises:
        ConfigError: if the first run had nothing to choose on.
    """
    if "valid" not in about:
        raise ConfigError(
            "the first run had no validation rows, so nothing was chosen; train with data.valid_share"
        )
    steps, best = int(about["fit"]["steps"]), int(about["fit"]["best_step"])
    if not steps:  # it is fitted at once
        return config
    first = config.train.plan(n_train)
    # The first run may have been stopped: its passes say how long a pass is, its best step how many.
    now = config.train.model_copy(update={"batch_size": first.batch_size}).plan(n_all)
    chosen = round(best * now.n_batches / first.n_batches)
    update = {"batch_size": first.batch_size, "max_steps": max(1, chosen), "patience": 0, "baseline": False}
    passes = -(-chosen * config.train.accumulate // now.n_batches)
    train_config = config.train.model_copy(update={**update, "epochs": max(1, passes)})
    return config.model_copy(update={"train": train_config})


def refit(
    config: RunConfig,
    about: dict[str, Any],
    tables: Tables,
    out: Path,
    callbacks: Callbacks | None = None,
    *,
    judge: bool = False,
    baseline: bool = False,
) -> dict[str, Any]:
    """Trains a model again on train and dev.

    Args:
        config: the first run's.
        about: its `run.json`.
        tables: its tables.
        out: the new run directory.
        callbacks: called during the run.
        judge: whether its test rows judge the new run.
        baseline: whether TF-IDF is trained on the same rows, where test rows judge.

    Returns:
        What the new `run.json` holds.

    Raises:
        ConfigError: if the first run had no dev part.
    """
    if tables.valid is None:
        raise ConfigError("no dev part to train on as well")
    rows = _rows(tables, judge)
    chosen = settled(config, about, len(tables.train), len(rows.train))
    return execute(recipe_of(with_baseline(chosen, baseline), tables=rows, **_chosen(about)), out, callbacks)


def _rows(tables: Tables, judge: bool) -> Tables:
    """Returns train and dev as one table to train on, and the test rows if they are to judge."""
    assert tables.valid is not None
    return Tables.of(joined(tables.train, tables.valid), test=tables.test if judge else None)


def _chosen(about: dict[str, Any]) -> dict[str, Any]:
    """Returns the choices of the first run, as arguments of the recipe."""
    kept = ("rows", "fit", "temperature", "valid", "crossed", "judged", "baselines", "thresholds")
    return {
        "temperature": read_temperature(about["temperature"]),
        "chosen": {key: about[key] for key in kept if key in about},
    }
