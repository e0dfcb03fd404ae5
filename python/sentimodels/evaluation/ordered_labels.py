"""`OrderedLabel`: answers that are one of labels in an order, such as stars.

They are decided and calibrated as those of one label a text. The mean absolute error, in steps of the order,
and quadratic kappa (Cohen 1968) say how far wrong answers are off, which accuracy does not.
"""

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from .one_label import OneLabel, kappa_of_matrix, mean_error

__all__ = ["ORDERED_LABELS", "OrderedLabel"]


class OrderedLabel(OneLabel):
    """See the module; the methods are those of `Answers`."""

    score_names: ClassVar = {
        "accuracy": "accuracy", "mae": "mean absolute error", "quadratic_kappa": "quadratic kappa",
        **OneLabel.score_names,
    }  # fmt: skip
    table: ClassVar = {
        "accuracy": "accuracy",
        "macro_f1": "macro F1",
        "mae": "abs. error",
        "quadratic_kappa": "quadratic kappa",
        "log_loss": "log loss",
    }
    chosen_by = "quadratic_kappa"

    def few_scores(self, truth: NDArray[np.int64], answers: NDArray[np.int64]) -> dict[str, float]:
        """Returns the scores of a part of the rows: `accuracy` and `macro_f1`, and what else is quick."""
        return {**super().few_scores(truth, answers), **_distances(truth, answers)}

    def validation(self, logits: NDArray[np.float32], truth: NDArray[np.int64]) -> dict[str, float]:
        """Returns what a line of `metrics.jsonl` says of the validation texts."""
        distances = _distances(truth, logits.argmax(1))
        return {
            **super().validation(logits, truth),
            **{f"val_{name}": score for name, score in distances.items()},
        }


ORDERED_LABELS = OrderedLabel()


def _distances(truth: NDArray[np.int64], answers: NDArray[np.int64]) -> dict[str, float]:
    n = int(max(truth.max(), answers.max())) + 1
    matrix = np.zeros((1, n, n))
    np.add.at(matrix[0], (truth, answers), 1)
    return {"mae": mean_error(truth, answers), "quadratic_kappa": float(kappa_of_matrix(matrix)[0])}
