"""`OneLabel`: answers that are one label each, the likeliest; of equals the first; and `OrderedLabel`.

AUROC and kappa are scikit-learn's. F1 and MCC are computed here, equal to its own to the last bit: after
each epoch of a small file its checks of arguments would take longer than the training. Macro-F1 is over the
classes that occur in truth or answers; mean absolute error, in steps of their order, and quadratic kappa are
given where labels are numbers, AUROC (one against the rest, mean over classes) where every class of the
model occurs.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from ..data.table import Labels
from .answers import Answers, Scores, Temperature, cooled
from .calibration import (
    N_BINS,
    bin_of,
    brier,
    brier_rows,
    ece,
    fit_temperature,
    log_probs,
    softmax,
)

__all__ = ["ONE_LABEL", "ORDERED_LABELS", "OneLabel", "OrderedLabel", "is_ordinal", "log_loss_rows"]


def is_ordinal(labels: Labels) -> bool:
    """Whether labels are in an order, or are numbers, so that a distance between them means something."""

    def number(name: str) -> bool:
        try:
            return math.isfinite(float(name))
        except ValueError:
            return False

    return len(labels) > 1 and (labels.ordered or all(map(number, labels)))


def log_loss_rows(probs: NDArray[Any], truth: NDArray[np.int64]) -> NDArray[np.float64]:
    """Returns each row's log loss."""
    result: NDArray[np.float64] = -log_probs(probs)[np.arange(len(truth)), truth]
    return result


class OneLabel(Answers):
    """See the module; the methods are those of `Answers`."""

    several = False
    score_names: ClassVar = {
        "accuracy": "accuracy", "macro_f1": "macro-F1", "weighted_f1": "weighted F1",
        "mae": "mean absolute error", "quadratic_kappa": "quadratic kappa", "mcc": "MCC", "auroc": "AUROC",
        "log_loss": "log loss",
        "ece": "ECE", "brier": "Brier",
    }  # fmt: skip
    table: ClassVar = {"accuracy": "accuracy", "macro_f1": "macro F1", "log_loss": "log loss", "ece": "ECE"}
    chosen_by = "accuracy"
    said_credit = "points"
    least = 0.0
    divides = True

    def fault(self, truth: NDArray[np.int64], n: int, n_labels: int) -> str | None:
        """Returns the fault in the truth of `n` rows, if there is one."""
        if truth.shape != (n,):
            return f"{n} texts, but {len(truth)} truth"
        if n and (truth.min() < -1 or truth.max() >= n_labels):
            return f"a label index is outside 0 to {n_labels - 1}"
        return None

    def known(self, truth: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Returns of which rows the labels are known, (n,)."""
        return truth >= 0

    def probabilities(self, logits: NDArray[Any], temperature: Temperature = 1.0) -> NDArray[np.float64]:
        """Returns the probabilities of logits."""
        return softmax(cooled(logits.astype(np.float64), temperature))

    def with_temperature(self, probs: NDArray[Any], temperature: Temperature) -> NDArray[np.float64]:
        """Returns probabilities as if their logits had been divided by a temperature."""
        return softmax(cooled(log_probs(probs), temperature))

    def log_odds(self, probs: NDArray[Any]) -> NDArray[np.float64]:
        """Returns the logits of probabilities."""
        return log_probs(probs)

    def fit_temperature(self, logits: NDArray[Any], truth: NDArray[np.int64]) -> Temperature:
        """Returns the temperature that fits rows which were not trained on."""
        return fit_temperature(logits, truth)

    def decide(self, probs: NDArray[Any], least: NDArray[Any] | float | None = None) -> NDArray[np.int64]:
        """Returns the likeliest label that has its least probability; -1 where none has."""
        if least is None:
            likeliest: NDArray[np.int64] = probs.argmax(axis=1)
            return likeliest
        allowed = np.where(probs >= least, probs, -1)
        answers = allowed.argmax(axis=1)
        return np.where(allowed.max(axis=1) >= 0, answers, -1)

    def right(self, truth: NDArray[np.int64], answers: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Returns which answers are wholly right, (n,)."""
        right: NDArray[np.bool_] = truth == answers
        return right

    def credit(self, truth: NDArray[np.int64], answers: NDArray[np.int64]) -> NDArray[np.float64]:
        """Returns how right each answer is, (n,), 0 to 1; models are compared with baselines by its mean."""
        credit: NDArray[np.float64] = (truth == answers).astype(np.float64)
        return credit

    def p_of(self, probs: NDArray[Any], answers: NDArray[np.int64]) -> NDArray[np.float64]:
        """Returns the probability of each answer, (n,)."""
        given: NDArray[np.float64] = probs[np.arange(len(answers)), answers].astype(np.float64)
        return given

    def likelihoods(self, probs: NDArray[Any], truth: NDArray[np.int64]) -> NDArray[np.float64]:
        """Returns the probability of each known fact of the rows, flat; a mixture is fitted to these."""
        return np.exp(log_probs(probs)[np.arange(len(truth)), truth])

    def loss_rows(self, probs: NDArray[Any], truth: NDArray[np.int64]) -> NDArray[np.float64]:
        """Returns the log loss of each row, (n,)."""
        return log_loss_rows(probs, truth)

    def brier(self, probs: NDArray[Any], truth: NDArray[np.int64]) -> float:
        """Returns the Brier score."""
        return brier(probs, truth)

    def confidence(
        self, probs: NDArray[Any], truth: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.int64]]:
        """Returns probabilities, whether each came true, and the row of each; for calibration."""
        confidence = np.asarray(probs, dtype=np.float64).max(axis=1)
        return confidence, probs.argmax(axis=1) == truth, np.arange(len(truth))

    def scores(self, labels: Labels, probs: NDArray[Any], truth: NDArray[np.int64]) -> Scores:
        """Returns the scores of rows whose labels are all known."""
        answers = self.decide(probs)
        f1, support = _f1(truth, answers)
        # One class on both sides: agreement by chance is certain, so kappa and MCC say nothing.
        several = len(np.union1d(truth, answers)) > 1
        ordinal = is_ordinal(labels)
        return {
            "accuracy": float((truth == answers).mean()),
            "macro_f1": float(f1.mean()),
            "weighted_f1": float(np.average(f1, weights=support)),
            "mae": _mean_error(truth, answers) if ordinal else None,
            "quadratic_kappa": _kappa(truth, answers, len(labels)) if ordinal and several else None,
            "mcc": _mcc(truth, answers) if several else None,
            "log_loss": float(log_loss_rows(probs, truth).mean()),
            "ece": ece(probs, truth),
            "brier": brier(probs, truth),
            "auroc": _auroc(probs, truth),
        }

    def few_scores(self, truth: NDArray[np.int64], answers: NDArray[np.int64]) -> dict[str, float]:
        """Returns the scores of a part of the rows: `accuracy` and `macro_f1`, and further quick ones."""
        return {
            "accuracy": float((truth == answers).mean()),
            "macro_f1": float(_f1(truth, answers)[0].mean()),
        }

    def validation(self, logits: NDArray[np.float32], truth: NDArray[np.int64]) -> dict[str, float]:
        """Returns the fields of the validation texts in a line of `metrics.jsonl`."""
        answers = logits.argmax(1)
        losses = torch.from_numpy(logits).double().log_softmax(-1).numpy()
        return {
            "val_loss": float(-losses[np.arange(len(truth)), truth].mean()),
            "val_accuracy": float((answers == truth).mean()),
            "val_macro_f1": float(_f1(truth, answers)[0].mean()),
        }

    def sums(
        self, labels: Labels, probs: NDArray[Any], truth: NDArray[np.int64], groups: NDArray[np.int64], n: int
    ) -> "_Sums":
        """Returns sums of rows from which the scores follow."""
        n_classes, answers = len(labels), self.decide(probs)
        n_cells = n_classes**2
        values = np.zeros((n, n_cells + 2 + 2 * N_BINS))
        np.add.at(values, (groups, truth * n_classes + answers), 1)
        np.add.at(values[:, n_cells], groups, log_loss_rows(probs, truth))
        np.add.at(values[:, n_cells + 1], groups, brier_rows(probs, truth))
        confidence = probs.max(axis=1).astype(np.float64)
        place = bin_of(confidence)
        np.add.at(values, (groups, n_cells + 2 + place), confidence)
        np.add.at(values, (groups, n_cells + 2 + N_BINS + place), answers == truth)
        return _Sums(values, n_classes, is_ordinal(labels))

    def constant(self, truth: NDArray[np.int64], n_labels: int) -> NDArray[np.int64]:
        """Returns the constant answer (n,) that suits the rows best."""
        return np.full(len(truth), int(np.bincount(truth, minlength=n_labels).argmax()))

    def per_label(
        self, labels: Labels, probs: NDArray[Any], truth: NDArray[np.int64]
    ) -> list[dict[str, Any]]:
        """Returns precision, recall, F1, support and answers of each label."""
        from sklearn.metrics import precision_recall_fscore_support

        order, answers = np.arange(len(labels)), self.decide(probs)
        columns = precision_recall_fscore_support(truth, answers, labels=order, zero_division=0.0)
        answered = np.bincount(answers, minlength=len(order))
        return [
            {
                "label": labels[i],
                "precision": float(columns[0][i]),
                "recall": float(columns[1][i]),
                "f1": float(columns[2][i]),
                "support": int(columns[3][i]),
                "predicted": int(answered[i]),
            }
            for i in order.tolist()
        ]

    def confusions(
        self, labels: Labels, truth: NDArray[np.int64], answers: NDArray[np.int64]
    ) -> list[dict[str, Any]]:
        """Returns which labels were answered instead of which, the most frequent first."""
        wrong = answers != truth
        pairs, counts = np.unique(np.stack([truth[wrong], answers[wrong]]), axis=1, return_counts=True)
        support = np.bincount(truth, minlength=len(labels))
        confused = [
            {
                "label": labels[true], "predicted": labels[answered], "n": n,
                "share": n / int(support[true]),
            }
            for true, answered, n in zip(*pairs.tolist(), counts.tolist(), strict=True)
        ]  # fmt: skip
        return sorted(confused, key=lambda pair: -pair["n"])


ONE_LABEL = OneLabel()


def _mean_error(truth: NDArray[np.int64], answers: NDArray[np.int64]) -> float:
    """Returns by how many steps answers are off on average."""
    return float(np.abs(truth - answers).mean())


def _counts(
    truth: NDArray[np.int64], answers: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Returns rows, answers and right answers of each class that occurs in either."""
    classes, places = np.unique(np.concatenate([truth, answers]), return_inverse=True)
    true, answered = places[: len(truth)], places[len(truth) :]
    counts = (np.bincount(some, minlength=len(classes)) for some in (true, answered, true[true == answered]))
    rows, given, right = counts
    return rows, given, right


def _f1(
    truth: NDArray[np.int64], answers: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Returns F1 and the number of rows of each class that occurs in truth or answers."""
    rows, given, right = _counts(truth, answers)
    return 2 * right / (rows + given), rows


def _mcc(truth: NDArray[np.int64], answers: NDArray[np.int64]) -> float:
    """Returns the correlation of Matthews, for any number of classes (Gorodkin 2004)."""
    rows, given, right = (some.astype(np.float64) for some in _counts(truth, answers))
    n = rows.sum()
    spread = (n**2 - given @ given) * (n**2 - rows @ rows)
    return float((right.sum() * n - rows @ given) / np.sqrt(spread)) if spread else 0.0


def _kappa(truth: NDArray[np.int64], answers: NDArray[np.int64], n_classes: int) -> float:
    from sklearn.metrics import cohen_kappa_score

    kappa = cohen_kappa_score(truth, answers, labels=np.arange(n_classes), weights="quadratic")
    return float(kappa)


def _auroc(probs: NDArray[Any], truth: NDArray[np.int64]) -> float | None:
    from sklearn.metrics import roc_auc_score

    n_classes = probs.shape[1]
    if n_classes < 2 or len(np.unique(truth)) < n_classes:
        return None
    if n_classes == 2:
        return float(roc_auc_score(truth, probs[:, 1]))
    shares = probs.astype(np.float64)
    shares /= shares.sum(axis=1, keepdims=True)
    return float(roc_auc_score(truth, shares, multi_class="ovr", average="macro"))


@dataclass(frozen=True)
class _Sums:
    """Sums over the rows of each group, `(n_groups, n_sums)`, and how to read them."""

    values: NDArray[np.float64]
    n_classes: int
    ordinal: bool

    def scores(self, totals: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        """Returns the scores of each row of totals `(n_replicates, n_sums)`."""
        n_cells = self.n_classes**2
        matrix = totals[:, :n_cells].reshape(-1, self.n_classes, self.n_classes)
        n = matrix.sum(axis=(1, 2))
        loss, squared = totals[:, n_cells] / n, totals[:, n_cells + 1] / n
        gaps = totals[:, n_cells + 2 :].reshape(-1, 2, N_BINS)
        scores = {
            "accuracy": np.trace(matrix, axis1=1, axis2=2) / n,
            "macro_f1": _macro_f1(matrix),
            "log_loss": loss,
            "brier": squared,
            "ece": np.abs(gaps[:, 0] - gaps[:, 1]).sum(axis=1) / n,
        }
        if self.ordinal:
            place = np.arange(self.n_classes)
            scores["mae"] = (matrix * np.abs(place[:, None] - place)).sum(axis=(1, 2)) / n
            scores["quadratic_kappa"] = _kappa_of_matrix(matrix)
        return scores


def _macro_f1(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    hits = np.diagonal(matrix, axis1=1, axis2=2)
    either = matrix.sum(axis=1) + matrix.sum(axis=2)
    f1 = np.divide(2 * hits, either, out=np.zeros_like(either), where=either > 0)
    result: NDArray[np.float64] = f1.sum(axis=1) / (either > 0).sum(axis=1)
    return result


def _kappa_of_matrix(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the quadratic kappa of each matrix (R, C, C) of confusion; 1 where rows have one class."""
    place = np.arange(matrix.shape[1])
    distance = (place[:, None] - place) ** 2.0
    observed = (matrix * distance).sum(axis=(1, 2))
    by_chance = np.einsum("ri,rj,ij->r", matrix.sum(axis=2), matrix.sum(axis=1), distance)
    by_chance /= matrix.sum(axis=(1, 2))
    ratio = np.divide(observed, by_chance, out=np.zeros_like(observed), where=by_chance > 0)
    result: NDArray[np.float64] = 1 - ratio
    return result


class OrderedLabel(OneLabel):
    """Answers that are one of labels in an order, such as stars; decided and calibrated as `OneLabel` does.

    The mean absolute error, in steps of the order, and quadratic kappa (Cohen 1968) say how far wrong answers
    are off, which accuracy does not.
    """

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
        """Returns the scores of a part of the rows: `accuracy` and `macro_f1`, and further quick ones."""
        return {**super().few_scores(truth, answers), **_distances(truth, answers)}

    def validation(self, logits: NDArray[np.float32], truth: NDArray[np.int64]) -> dict[str, float]:
        """Returns the fields of the validation texts in a line of `metrics.jsonl`."""
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
    return {"mae": _mean_error(truth, answers), "quadratic_kappa": float(_kappa_of_matrix(matrix)[0])}
