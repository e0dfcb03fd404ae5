"""How a classifier is judged: on dev by halves (`CrossFit`), against baselines (`baselines`), by parts.

A baseline is the most frequent class, or TF-IDF trained on the same rows. The gain over it is in accuracy on
the rows that judge: the test texts or, without labelled ones, the validation texts, each half answered by
what the other half chose. With it stands half its 95 % interval: of the rows' differences, those of one group
taken together, since the phrases of a sentence are not independent (the sandwich variance, Liang and Zeger
1986).
"""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray
from torch import nn

from ..config import RunConfig
from ..data.split import Units
from ..data.table import Table
from ..data.writers import write_atomically
from ..errors import CheckpointError
from ..evaluation.calibration import fit_temperature, softmax
from ..evaluation.metrics import majority, scores
from ..evaluation.predictions import Predictions, of_logits, text_logits
from ..models import Fits, build
from ..tasks.classification import validation_scores
from ..text.encoder import encoder_for
from .directory import CROSSFIT
from .families import resolve
from .tables import Tables

__all__ = ["CrossFit", "baselines", "gain", "with_baseline"]

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


_SCORE = "val_macro_f1"


class CrossFit:
    """What each half of dev has chosen so far.

    For runs without a test part: where rows are few, or the user gave validation texts alone. Dev is cut
    into two halves, each with its share of the labels; groups and copies of a text stay in one
    (`data/split.py`). Each half chooses a step and a temperature by itself, as the whole of dev chooses
    those of the run, and the answers of its weights to the other half are kept. What is scored in the end
    are those answers: one training, all rows judged. Only when training stops is decided by both halves
    together.

    Args:
        labels: `(n,)` classes of the dev texts.
        units: rows of one unit are in one half; without them each row is alone.
        folder: where it is kept while the run is unfinished, or `None`.
    """

    def __init__(
        self, labels: NDArray[np.int64], units: Units | None = None, folder: Path | None = None
    ) -> None:
        self.labels = labels
        self.half = (units or Units.of_groups(len(labels), None)).halves(labels)
        self.path = None if folder is None else folder / CROSSFIT
        self.best = np.full(2, -np.inf)
        self.chosen: NDArray[np.float32] | None = None

    @property
    def possible(self) -> bool:
        """Whether both halves have rows."""
        return bool(self.half.any() and not self.half.all())

    def unbalanced(self) -> list[int]:
        """Returns the classes of which one half has no row: that half chooses without them."""
        halves = (self.half, ~self.half)
        in_both = set(self.labels[halves[0]].tolist()) & set(self.labels[halves[1]].tolist())
        return sorted(set(self.labels.tolist()) - in_both)

    def load(self) -> None:
        """Goes on from what was kept. An evaluation that is made again changes nothing.

        Raises:
            CheckpointError: if the file is damaged.
        """
        if self.path is None or not self.path.is_file():
            return
        try:
            with self.path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                self.best, self.chosen = arrays["best"], arrays["chosen"]
        except (OSError, EOFError, BadZipFile, ValueError, KeyError) as error:
            raise CheckpointError(f"{self.path}: unreadable: {error}") from error

    def update(self, logits: NDArray[np.float32]) -> None:
        """Takes in an evaluation: the logits of all dev texts."""
        if self.chosen is None:
            self.chosen = np.stack([logits, logits])
        better = False
        for side, rows in enumerate((self.half, ~self.half)):
            score = validation_scores(logits[rows], self.labels[rows])[_SCORE] if rows.any() else 0.0
            if score > self.best[side]:
                self.best[side], self.chosen[side], better = score, logits, True
        if better and self.path is not None:
            self._save()

    def _save(self) -> None:
        import io

        data = io.BytesIO()
        arrays: dict[str, Any] = {"best": self.best, "chosen": self.chosen}
        np.savez(data, **arrays)
        assert self.path is not None
        write_atomically(self.path, data.getvalue())

    def logits(self) -> NDArray[np.float32]:
        """Returns logits of each half with step and temperature that the other half chose.

        They are divided by that temperature.
        """
        assert self.chosen is not None
        out: NDArray[np.float32] = np.empty_like(self.chosen[0])
        for side, rows in enumerate((self.half, ~self.half)):
            temperature = fit_temperature(self.chosen[side][rows], self.labels[rows])
            out[~rows] = self.chosen[side][~rows] / temperature
        return out

    def probs(self) -> NDArray[np.float64]:
        """Returns the same as probabilities."""
        return softmax(self.logits().astype(np.float64))
