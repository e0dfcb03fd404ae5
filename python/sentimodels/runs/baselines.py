"""What a model is compared with: the most frequent class, and TF-IDF trained on the same rows.

Not for comparing runs (`evaluation/intervals.py`). The gain is in accuracy on the rows that judge: the
test texts or, without labelled ones, the validation texts, each half answered by what the other half
chose. With it stands half its 95 % interval: of the rows' differences, those of one group taken
together, since the phrases of a sentence are not independent (the sandwich variance, Liang and Zeger
1986).
"""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from ..config import RunConfig
from ..data.table import Table
from ..evaluation.metrics import majority, scores
from ..evaluation.predictions import Predictions, of_logits, text_logits
from ..models import Fits, build
from ..text.encoder import encoder_for
from .families import resolve
from .tables import Tables

__all__ = ["baselines", "gain", "with_baseline"]

# The share of a normal distribution within so many deviations is 95 %.
_DEVIATIONS = 1.96


def with_baseline(config: RunConfig, baseline: bool | None) -> RunConfig:
    """Returns the configuration with another wish for the TF-IDF baseline, if there is one."""
    if baseline is None:
        return config
    return config.model_copy(update={"train": config.train.model_copy(update={"baseline": baseline})})


def gain(
    right: NDArray[np.bool_], other: NDArray[np.bool_], groups: Sequence[str] | None = None
) -> dict[str, float]:
    """Returns by how much more rows are right than another's, and half the 95 % interval of it."""
    difference = right.astype(np.float64) - other
    mean = float(difference.mean())
    if groups is None:
        sums = difference - mean
    else:
        order = {group: place for place, group in enumerate(dict.fromkeys(groups))}
        sums = np.zeros(len(order))
        np.add.at(sums, [order[group] for group in groups], difference - mean)
    few = len(sums) / max(1, len(sums) - 1)  # as the variance of a sample
    half = _DEVIATIONS * float((few * (sums**2).sum()) ** 0.5) / len(difference)
    return {"gain": mean, "interval": half}


def baselines(tables: Tables, predictions: Predictions, *, tfidf: bool) -> dict[str, Any]:
    """Returns the scores of the baselines on the rows that judge, and the model's gain over them.

    Args:
        tables: the rows.
        predictions: the model's answers to the test texts or, without labelled ones, to the validation texts.
        tfidf: whether to train TF-IDF and logistic regression too.
    """
    truth = predictions.truth
    most = majority(predictions)
    answers = {"majority": np.full(len(truth), predictions.labels.index(most["label"]))}
    about: dict[str, Any] = {"majority": most}
    if tfidf:
        began = time.perf_counter()
        table, logits = _tfidf(tables)
        answers["tfidf"] = logits.argmax(1)
        about["tfidf"] = {
            "accuracy": float((answers["tfidf"] == truth).mean()),
            "macro_f1": float(scores(of_logits(predictions.labels, logits, table))["macro_f1"] or 0.0),
            "seconds": time.perf_counter() - began,
        }
    for name, given in answers.items():
        about[name] |= gain(predictions.predicted == truth, given == truth, predictions.groups)
    return about


def _tfidf(tables: Tables) -> tuple[Table, NDArray[np.float32]]:
    """Returns the texts that judge, and the logits of TF-IDF with logistic regression."""
    judging = tables.test if tables.judged_on_test else tables.valid
    assert judging is not None
    config = resolve({"arch": "tfidf"})
    encoder = encoder_for(config, tables.train.texts)
    module: nn.Module = build("tfidf", config.model, encoder.inputs(len(tables.labels)))
    assert isinstance(module, Fits)
    module.fit(encoder.encode(tables.train.texts), tables.labels.encode(tables.train.labelled()), 0)
    return judging, text_logits(module, encoder.encode(judging.texts))
