"""Trains one row with one seed on one set, and scores it on the sealed part.

`run.py` starts it in its own process, so that peak memory is this model's alone. The sealed part
is read when the model is finished: nothing of it can be chosen on. Kaggle's test labels are rebuilt
from the SST trees for scoring only: the loaders refuse to train on them.
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from parts import SETS, Parts, reported
from result import pack
from rows import AGAIN, Tree

from sentimodels.classifier import Classifier
from sentimodels.config import RunConfig
from sentimodels.data import Table, TrainingRecord
from sentimodels.data.split import Units
from sentimodels.evaluation.calibration import fit_temperature, log_probs, with_temperature
from sentimodels.evaluation.metrics import scores
from sentimodels.evaluation.predictions import Predictions, binary_view, predict
from sentimodels.runs.directory import load_run
from sentimodels.runs.execute import train
from sentimodels.runs.families import resolve
from sentimodels.runs.refit import refit
from sentimodels.runs.tables import Tables
from sentitok.cli.output import peak_memory

SCORES = ("accuracy", "macro_f1", "quadratic_kappa", "log_loss", "ece")


def scored(answers: Predictions) -> dict[str, Any]:
    reached = scores(answers)
    return {"rows": len(answers), **{key: reached[key] for key in SCORES}}


def configured(tree: Tree, seed: int, data: Path) -> RunConfig:
    """The configuration of a row, on one thread, so that several rows can run in parallel."""
    config = resolve(tree, {"train": {"seed": seed, "threads": 1}})
    if config.data.vectors is None:
        return config
    return resolve(config.tree(), {"data": {"vectors": str(data / config.data.vectors)}})


def trained(config: RunConfig, parts: Parts, folder: Path, *, again: bool = False) -> dict[str, Any]:
    """Trains on train, chooses on dev; with `again` then trains on both. Never calls `parts.sealed`."""
    tables = Tables.of(parts.train, parts.dev)
    about = train(config, folder / "run", tables=tables, baseline=False)
    if again:
        chosen = about
        about = refit(config, about, tables, folder / "again")
        about = {**about, "valid": chosen["valid"], "first": chosen["seconds"]}
    return about


def by_group(answers: Predictions) -> dict[str, str]:
    """Rows of each group and how many of them are right: all that intervals need."""
    names = answers.groups or [str(row) for row in range(len(answers))]
    order = {group: place for place, group in enumerate(dict.fromkeys(names))}
    place = np.array([order[name] for name in names])
    right = (answers.predicted == answers.truth).astype(np.int64)
    counted: NDArray[np.int64] = np.bincount(place, weights=right, minlength=len(order)).astype(np.int64)
    return {"rows": pack(np.bincount(place, minlength=len(order))), "right": pack(counted)}


def elsewhere(classifier: Classifier, record: TrainingRecord, tables: dict[str, Table]) -> dict[str, Any]:
    """Scores that are also reported: Kaggle's test, its unseen phrases, SST-5 and SST-2."""
    reached = {}
    for name, table in tables.items():
        answers = predict(classifier, table).labelled()
        reached[name] = scored(answers)
        if name == "kaggle":
            kept = table.take(np.flatnonzero([label != "" for label in table.labelled()]))
            reached["kaggle_unseen"] = scored(answers.take(~record.seen(kept)))
        else:
            reached["sst2"] = scored(binary_view(answers))
    return reached


def one(
    config: RunConfig,
    made: list[Parts],
    out: Path | None,
    again: bool,
    others: Callable[[], dict[str, Table]],
) -> dict[str, Any]:
    """Trains and judges; several parts are folds, whose answers are taken together.

    Args:
        config: the row.
        made: one set, or its folds.
        out: where answers are kept for mixtures, without suffix, or `None`.
        again: whether to train once more on train and dev.
        others: further tables that are scored.
    """
    dev, sealed = [], []
    beside: dict[str, Any] = {}
    cost: dict[str, Any] = {"seconds": 0.0, "cpu_seconds": 0.0, "fit_seconds": 0.0}
    for parts in made:
        with tempfile.TemporaryDirectory() as scratch:
            began, worked = time.perf_counter(), time.process_time()
            about = trained(config, parts, Path(scratch), again=again)
            cost["seconds"] += time.perf_counter() - began
            cost["cpu_seconds"] += time.process_time() - worked
            cost["fit_seconds"] += about["seconds"]["fit"] + about["seconds"]["steps"]
            cost["peak_memory_bytes"] = peak_memory()
            run = Path(scratch) / ("again" if again else "run")
            # All is chosen: from here on, rows are only answered.
            classifier = Classifier.load(run)
            dev.append(predict(Classifier.load(Path(scratch) / "run"), parts.dev))
            sealed.append(predict(classifier, parts.sealed()))
            if tables := others():
                beside = elsewhere(classifier, TrainingRecord.load(run), tables)
                if out is not None:
                    for name, table in tables.items():
                        predict(classifier, table).save(out.with_name(f"{out.name}.{name}.npz"))
            fit = about["fit"]
            cost |= {
                "parameters": about["parameters"],
                "vocabulary": load_run(run).encoder.vocab_size,
                "steps": fit["steps"],
                "best_step": fit["best_step"],
                "tokens_per_second": fit["tokens"] / fit["seconds"] if fit["tokens"] else None,
                "padding": fit["padding"] if fit["tokens"] else None,
                "temperature": about["temperature"],
            }
    answers = {"dev": joined(dev), "sealed": joined(sealed)}
    if out is not None:
        for name, predictions in answers.items():
            predictions.save(out.with_name(f"{out.name}.{name}.npz"))
    by_part = {name: scored(predictions) for name, predictions in answers.items()}
    if not again:
        by_part["sealed"]["ece_before"] = scored(uncalibrated(sealed, cost["temperature"]))["ece"]
        by_part["dev_crossed"] = scored(crossed_temperature(answers["dev"], cost["temperature"]))
    return {"cost": cost, "scores": {**by_part, **beside}, "sealed": by_group(answers["sealed"])}


def uncalibrated(folds: list[Predictions], temperature: float) -> Predictions:
    whole = joined(folds)
    return replace(whole, probs=with_temperature(whole.probs, 1 / temperature).astype(np.float32))


def halves_of(dev: Predictions) -> NDArray[np.bool_]:
    """Returns which rows of dev are in its first half; groups and copies of a text stay together."""
    return Units.of(Table.of(dev.texts, groups=dev.groups), 0.5, 2).halves(dev.truth)


def crossed_temperature(dev: Predictions, temperature: float) -> Predictions:
    """Each half of dev with the temperature of the other: what dev alone says of calibration."""
    first = halves_of(dev)
    raw = with_temperature(dev.probs, 1 / temperature)
    probs = np.empty_like(dev.probs)
    for half in (first, ~first):
        probs[half] = with_temperature(raw[half], fit_temperature(log_probs(raw[~half]), dev.truth[~half]))
    return replace(dev, probs=probs)


def joined(folds: list[Predictions]) -> Predictions:
    """The answers of folds as one; rows of two folds share no group."""
    first = folds[0]
    if len(folds) == 1:
        return first
    return Predictions(
        first.labels,
        np.concatenate([each.probs for each in folds]),
        np.concatenate([each.truth for each in folds]),
        [text for each in folds for text in each.texts],
    )


def main() -> None:
    """Reads a job as JSON from the first argument; prints its result as one line of JSON."""
    job = json.loads(sys.argv[1])
    data, of_set, row = Path(job["data"]), job["set"], job["row"]
    config = configured(job["tree"], job["seed"], data)
    answers = Path(job["answers"]) if job.get("answers") else None
    if answers is not None:
        answers.parent.mkdir(parents=True, exist_ok=True)
    beside: Callable[[], dict[str, Table]] = (lambda: reported(data)) if of_set == "kaggle" else dict
    print(json.dumps(one(config, SETS[of_set](data), answers, row.endswith(AGAIN), beside)))


if __name__ == "__main__":
    main()
