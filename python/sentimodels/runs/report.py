"""`evaluate` and `report`: reports on one file of predictions.

A report is plain JSON values. It refuses a file that was trained on, and marks rows that were training texts.
"""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..data.encoded import Cut
from ..data.record import JSON_NAME, TrainingRecord
from ..data.table import Table
from ..errors import DataError
from ..evaluation.answers import Temperature
from ..evaluation.calibration import ece_of, reliability_of
from ..evaluation.metrics import (
    N_REPLICATES,
    by_length,
    confusion,
    intervals,
    majority,
    per_class,
    scores,
    worst,
)
from ..evaluation.predictions import PhraseMemory, Predictions, Predictor, predict
from ..evaluation.thresholds import Thresholds, coverage, scored
from .ensemble import members_of

COMPARED = "without case and spacing"


def records_of(run: Path) -> list[TrainingRecord]:
    """Returns the record of data of a run, or of each run of an ensemble; none if there is no record."""
    runs = members_of(run) or [run]
    return [TrainingRecord.load(one) for one in runs if (one / JSON_NAME).is_file()]


def evaluate(
    predictor: Predictor,
    table: Table,
    *,
    run: Path | None = None,
    memory: PhraseMemory | None = None,
    allow_trained: bool = False,
) -> tuple[Predictions, Predictions | None]:
    """Asks a model for its answers; with a memory also for those with it.

    Args:
        predictor: the model.
        table: the rows.
        run: its directory, whose record says which rows were trained on.
        memory: training phrases to answer from.
        allow_trained: do not refuse a file that was trained on.

    Raises:
        DataError: if the file was trained on, or a label is unknown to the model.
    """
    records = records_of(run) if run is not None else []
    for record in records:
        trained = int(record.learned_from(table).sum())
        if trained and not allow_trained:
            raise DataError(
                f"{table.source}: the {record.learner_of(table)} was trained on {trained:,} of these "
                f"{len(table):,} rows; scores on them would be too good. Give other rows (--where), another "
                "file, or --even-if-trained"
            )
    temperature: Temperature = getattr(predictor, "temperature", 1.0)
    own: Thresholds | None = getattr(predictor, "thresholds", None)
    predictions = predict(
        predictor, table, run=None if run is None else str(run), temperature=temperature,
        **({} if own is None else {"thresholds": own.tree()}),
    )  # fmt: skip
    if records:
        stopped = np.logical_or.reduce([record.shared("valid", table) for record in records])
        predictions = replace(
            predictions,
            seen=np.logical_or.reduce([record.seen(table) for record in records]),
            about={**predictions.about, "n_validation": int(stopped.sum())},
        )
    if memory is None:
        return predictions, None
    probs, known = memory.apply(predictions.texts, predictions.probs)
    return predictions, replace(predictions, probs=probs, remembered=known)


def threshold_scores(known: Predictions) -> dict[str, Any] | None:
    """Returns rule and scores of the answers that the thresholds of a run give; `None` without thresholds.

    `chosen_here` says whether these very rows chose them; `crossed` is then what cross-fitting has found.
    """
    thresholds = known.thresholds
    if thresholds is None:
        return None
    found = {"rule": thresholds.rule, **scored(thresholds, thresholds.decide(known.probs), known.truth)}
    here = thresholds.chose(known.texts, known.about.get("sha256"))
    crossed = {"crossed": (thresholds.chosen_on or {}).get("crossed")} if here else {}
    return {**found, "chosen_here": here, **crossed}


def report(
    predictions: Predictions,
    with_memory: Predictions | None = None,
    *,
    n_replicates: int = N_REPLICATES,
    seed: int = 0,
    n_errors: int = 10,
) -> dict[str, Any]:
    """Returns scores, intervals, tables and errors.

    Args:
        predictions: the model's.
        with_memory: the same with a phrase memory; reported apart.
        n_replicates: of the bootstrap; 0 for no intervals.
        seed: of the bootstrap.
        n_errors: how many of the worst errors.

    Raises:
        DataError: if no row has a label.
    """
    known = predictions.labelled()
    result: dict[str, Any] = {"n": len(known), **scores(known)}
    if known.unread is not None:
        result |= Cut.of(known.unread).tree()
    if len(known) < len(predictions):
        result["n_unlabelled"] = len(predictions) - len(known)
    if n_replicates:
        result["intervals"] = {
            name: list(ends) for name, ends in intervals(known, n_replicates=n_replicates, seed=seed).items()
        }
        result["n_groups"] = len(known) if known.groups is None else len(set(known.groups))
    result["majority"] = majority(known)
    result["per_class"] = per_class(known)
    if known.answers.divides:
        result["confusion"] = {"labels": list(known.labels), "rows": confusion(known).tolist()}
    result["calibration"] = _calibration(known)
    result["coverage"] = coverage(known.labels, known.probs, known.truth)
    if (of_thresholds := threshold_scores(known)) is not None:
        result["thresholds"] = of_thresholds
    result["lengths"] = by_length(known)
    if known.seen is not None:
        result["unseen"] = _unseen(known)
    if with_memory is not None:
        result["memory"] = _memory(with_memory.labelled())
    result["errors"] = worst(known, n_errors)
    result["about"] = predictions.about
    return result


def _calibration(known: Predictions) -> dict[str, Any]:
    temperature, kind, truth = known.about.get("temperature", 1.0), known.answers, known.truth
    inverse = (1 / np.asarray(temperature, dtype=np.float64)).tolist()
    raw = kind.with_temperature(known.probs, inverse)
    confidence, so, _ = kind.confidence(raw, truth)
    before = {
        "log_loss": float(kind.loss_rows(raw, truth).mean()),
        "ece": ece_of(confidence, so),
        "brier": kind.brier(raw, truth),
    }
    confidence, so, _ = kind.confidence(known.probs, truth)
    bins = [asdict(one) for one in reliability_of(confidence, so)]
    return {"temperature": temperature, "before": before, "reliability": bins}


def _unseen(known: Predictions) -> dict[str, Any]:
    seen = known.seen if known.seen is not None else np.zeros(len(known), dtype=np.bool_)
    part = known.take(~seen)
    result: dict[str, Any] = {
        "n": len(part),
        "n_seen": int(seen.sum()),
        "share_seen": float(seen.mean()),
        "compared": COMPARED,
    }
    return {**result, **scores(part)} if len(part) else result


def _memory(known: Predictions) -> dict[str, Any]:
    remembered = known.remembered if known.remembered is not None else np.zeros(len(known), dtype=np.bool_)
    result: dict[str, Any] = {"n_remembered": int(remembered.sum()), "compared": COMPARED, **scores(known)}
    if remembered.any():
        part = known.take(remembered)
        result["accuracy_remembered"] = float(part.right.mean())
    return result
