"""Trains one architecture with one seed on the Kaggle phrases, and scores it in five places.

A process of its own, so that peak memory is this model's alone; `run_all.py` starts it. The
test labels are rebuilt from the SST trees for scoring only: the loaders refuse to train on them.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from sentimodels.classifier import Classifier
from sentimodels.data import TrainingRecord, read_table
from sentimodels.data.sst.kaggle import with_rebuilt_labels
from sentimodels.data.table import Table
from sentimodels.evaluation.metrics import scores
from sentimodels.evaluation.predictions import binary_view, predict
from sentimodels.runs.config import resolve
from sentimodels.runs.directory import load_run, versions
from sentimodels.runs.tables import Tables
from sentimodels.runs.train import train
from sentitok.cli.output import peak_memory

SCORES = ("accuracy", "macro_f1", "quadratic_kappa", "log_loss", "ece")


def tables(data: Path, limit: int | None) -> Tables:
    """The split of 80 to 20 by sentence, stratified, seed 42."""
    config = resolve(
        {"data": {"train": str(data / "kaggle-movie-reviews" / "train.tsv.xz"), "valid_share": 0.2}}
    )
    found = Tables(config.data)
    assert found.valid is not None
    found.train, found.valid = spread(found.train, limit), spread(found.valid, limit)
    return found


def spread(table: Table, limit: int | None) -> Table:
    """At most `limit` rows, in equal steps from the first: labels differ from part to part of a file."""
    return table if limit is None else table.take(range(0, len(table), -(-len(table) // limit)))


def places(data: Path, limit: int | None) -> dict[str, Table]:
    """What a model is scored on beside the validation part."""
    trees = {part: data / "sst-trees" / f"{part}.txt.xz" for part in ("dev", "test")}
    phrases = [read_table(path, format="sst-phrases") for path in trees.values()]
    test = with_rebuilt_labels(read_table(data / "kaggle-movie-reviews" / "test.tsv.xz"), phrases)
    found = {"kaggle": test, "sst5": read_table(trees["test"], format="sst")}
    return {name: spread(table, limit) for name, table in found.items()}


def score(folder: Path, data: Path, valid: Table, limit: int | None) -> dict[str, Any]:
    """Scores of a run in the places of the standard report.

    The answers themselves are kept beside the run, for intervals and mixtures.
    """
    classifier = Classifier.load(folder)
    record = TrainingRecord.load(folder)
    found: dict[str, Any] = {}
    predict(classifier, valid).save(folder.with_suffix(".valid.npz"))
    for name, table in places(data, limit).items():
        answers = predict(classifier, table).labelled()
        answers.save(folder.with_suffix(f".{name}.npz"))
        found[name] = {key: scores(answers)[key] for key in SCORES}
        if name == "kaggle":
            unseen = answers.take(
                ~record.seen(table.take(np.flatnonzero([label != "" for label in table.labelled()])))
            )
            found["kaggle_unseen"] = {"n": len(unseen), **{key: scores(unseen)[key] for key in SCORES}}
        else:
            found["sst2"] = {key: scores(binary_view(answers))[key] for key in SCORES}
    return found


def main() -> None:
    """Reads a job as JSON from the first argument; writes its result to the file of the second."""
    job, out = json.loads(sys.argv[1]), Path(sys.argv[2])
    data = Path(job["data"])
    limit: int | None = job["limit"]
    found = tables(data, limit)
    config = resolve(job["tree"], {"train": {"seed": job["seed"]}})
    if config.data.vectors is not None:
        config = resolve(config.tree(), {"data": {"vectors": str(data / config.data.vectors)}})
    valid = found.valid
    assert valid is not None
    began, worked = time.perf_counter(), time.process_time()
    about = train(config, Path(job["run"]), tables=found, baseline=False)
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - worked
    peak = peak_memory()
    result = {
        "name": job["name"],
        "seed": job["seed"],
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        # Of one minute, where a system tells it: above the threads of the run, others worked too.
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "peak_memory_bytes": peak,
        "vocabulary": load_run(Path(job["run"])).encoder.vocab_size,
        **{key: value for key, value in about.items() if key != "seconds"},
        "stages": about["seconds"],
        "versions": versions(),
        **score(Path(job["run"]), data, valid, limit),
    }
    out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
