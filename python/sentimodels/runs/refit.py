"""`refit`: once dev has chosen steps and temperature, training again on train and dev together.

Not for choosing anything: no row is left to choose on, so the steps are those that were best (as many
passes over more rows), and the temperature is that of the first run. What comes out is judged on rows
that neither run has seen.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

from ..config import RunConfig
from ..data.table import Table
from ..errors import ConfigError
from .tables import Tables
from .train import resume, train

__all__ = ["joined", "refit", "resume_refit", "settled"]


def joined(train: Table, dev: Table) -> Table:
    """Returns the rows of both; a part of another file becomes rows of no file."""
    same = train.sha256 == dev.sha256 and train.numbers is not None and dev.numbers is not None
    texts, labels = [*train.texts, *dev.texts], [*train.labelled(), *dev.labelled()]
    groups = None
    if train.groups is not None and dev.groups is not None:
        groups = [*train.groups, *dev.groups]
    if not same:
        return Table.of(texts, labels, groups, f"{train.source} and {dev.source}")
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
    if not steps:  # it learns by itself
        return config
    first = config.train.course(n_train)
    # The first run may have been stopped: its passes say how long a pass is, its best step how many.
    now = config.train.model_copy(update={"batch_size": first.batch_size}).course(n_all)
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
    *,
    judge: bool = False,
    baseline: bool = False,
    **more: Any,
) -> dict[str, Any]:
    """Trains a recipe again on train and dev.

    Args:
        config: the first run's.
        about: its `run.json`.
        tables: its tables.
        out: the new run directory.
        judge: whether its test rows judge the new run.
        baseline: whether TF-IDF is trained on the same rows, where test rows judge.
        more: `on_record`, `on_note`, `should_stop`, as `train` has them.

    Returns:
        What the new `run.json` holds.

    Raises:
        ConfigError: if the first run had no dev part.
    """
    if tables.valid is None:
        raise ConfigError("no dev part to train on as well")
    rows = _rows(tables, judge)
    asked = settled(config, about, len(tables.train), len(rows.train))
    return train(asked, out, tables=rows, baseline=baseline, **_chosen(about), **more)


def resume_refit(
    about: dict[str, Any], tables: Tables, out: Path, *, baseline: bool, **more: Any
) -> dict[str, Any]:
    """Goes on with a refit that was stopped; the arguments are those of `refit`."""
    return resume(out, tables=_rows(tables, judge=True), baseline=baseline, **_chosen(about), **more)


def _rows(tables: Tables, judge: bool) -> Tables:
    """Returns train and dev as one table to train on, and the test rows if they are to judge."""
    assert tables.valid is not None
    return Tables.of(joined(tables.train, tables.valid), test=tables.test if judge else None)


def _chosen(about: dict[str, Any]) -> dict[str, Any]:
    """Returns what the first run chose, as keywords of `train`."""
    kept = ("rows", "fit", "temperature", "valid", "crossed", "judged", "baselines")
    return {
        "temperature": float(about["temperature"]),
        "chosen": {key: about[key] for key in kept if key in about},
    }
