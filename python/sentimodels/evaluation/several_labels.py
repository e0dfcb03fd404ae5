"""`SeveralLabels`: answers that are sets of labels, each label decided alone.

The probability of a label is the sigmoid of its logit over its own temperature; a label is answered from 0.5
on. Scores over all labels of all rows are micro, means over labels macro (of labels that occur in truth or
answers); `accuracy` counts rows whose whole set is right, as scikit-learn's `accuracy_score` does. `row_f1`
is the mean over rows of the F1 of a row's set, 1 where truth and answer are both empty.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..data.table import Labels
from .answers import Answers, Scores, Temperature, cooled
from .calibration import N_BINS, TINY, bin_of, ece_of, fit_temperature

__all__ = ["SEVERAL_LABELS", "SeveralLabels"]


class SeveralLabels(Answers):
    """See the module; the methods are those of `Answers`."""

    several = True
    score_names: ClassVar = {
        "micro_f1": "micro F1", "macro_f1": "macro-F1", "weighted_f1": "weighted F1", "row_f1": "F1 of a row",
        "accuracy": "subset accuracy", "hamming_loss": "Hamming loss",
        "micro_average_precision": "average precision, micro",
        "macro_average_precision": "average precision, macro",
        "log_loss": "log loss", "ece": "ECE", "brier": "Brier",
    }  # fmt: skip
    table: ClassVar = {
        "accuracy": "subset acc.",
        "macro_f1": "macro F1",
        "micro_f1": "micro F1",
        "log_loss": "log loss",
    }
    chosen_by = "micro_f1"
    said_credit = "points of F1 a row"
    least = 0.5
    divides = False

    def fault(self, truth: NDArray[np.int64], n: int, n_labels: int) -> str | None:
        """Returns the fault in the truth of `n` rows, if there is one."""
        if truth.shape != (n, n_labels):
            return f"labels {truth.shape} for {n} texts and {n_labels} labels"
        if truth.size and (truth.min() < -1 or truth.max() > 1):
            return "a label is neither 0 nor 1"
        return None

    def known(self, truth: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Returns of which rows the labels are known, (n,)."""
        known: NDArray[np.bool_] = truth.min(axis=1) >= 0
        return known

    def probabilities(self, logits: NDArray[Any], temperature: Temperature = 1.0) -> NDArray[np.float64]:
        """Returns the probabilities of logits."""
        return _sigmoid(cooled(logits.astype(np.float64), temperature))

    def with_temperature(self, probs: NDArray[Any], temperature: Temperature) -> NDArray[np.float64]:
        """Returns probabilities as if their logits had been divided by a temperature."""
        return self.probabilities(self.log_odds(probs), temperature)

    def log_odds(self, probs: NDArray[Any]) -> NDArray[np.float64]:
        """Returns the logits of probabilities."""
        inside = np.clip(np.asarray(probs, dtype=np.float64), TINY, 1 - TINY)
        odds: NDArray[np.float64] = np.log(inside) - np.log1p(-inside)
        return odds

    def fit_temperature(self, logits: NDArray[Any], truth: NDArray[np.int64]) -> Temperature:
        """Returns the temperature that fits rows which were not trained on."""
        # Two classes, of which the first has the logit 0.
        pairs = [np.stack([np.zeros(len(one)), one], axis=1) for one in logits.T.astype(np.float64)]
        return [fit_temperature(pair, of_label) for pair, of_label in zip(pairs, truth.T, strict=True)]

    def decide(self, probs: NDArray[Any], least: NDArray[Any] | float | None = None) -> NDArray[np.int64]:
        """Returns the answers that probabilities give."""
        return (probs >= (self.least if least is None else least)).astype(np.int64)

    def right(self, truth: NDArray[np.int64], answers: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Returns which answers are wholly right, (n,)."""
        right: NDArray[np.bool_] = (truth == answers).all(axis=1)
        return right

    def credit(self, truth: NDArray[np.int64], answers: NDArray[np.int64]) -> NDArray[np.float64]:
        """Returns how right each answer is, (n,), 0 to 1; models are compared with baselines by its mean."""
        hits = (truth * answers).sum(axis=1)
        either = truth.sum(axis=1) + answers.sum(axis=1)
        return np.where(either == 0, 1.0, 2 * hits / np.maximum(either, 1))

    def p_of(self, probs: NDArray[Any], answers: NDArray[np.int64]) -> NDArray[np.float64]:
        """Returns the probability of each answer, (n,)."""
        # Of the label that is least sure: a whole set has hardly any probability where there are many labels.
        given: NDArray[np.float64] = np.where(answers == 1, probs, 1 - probs).astype(np.float64)
        least: NDArray[np.float64] = given.min(axis=1)
        return least

    def likelihoods(self, probs: NDArray[Any], truth: NDArray[np.int64]) -> NDArray[np.float64]:
        """Returns the probability of each known fact of the rows, flat; a mixture is fitted to these."""
        inside = np.clip(np.asarray(probs, dtype=np.float64), TINY, 1 - TINY)
        return np.where(truth == 1, inside, 1 - inside).ravel()

    def loss_rows(self, probs: NDArray[Any], truth: NDArray[np.int64]) -> NDArray[np.float64]:
        """Returns the log loss of each row, (n,)."""
        losses: NDArray[np.float64] = (
            -np.log(self.likelihoods(probs, truth)).reshape(truth.shape).mean(axis=1)
        )
        return losses

    def brier(self, probs: NDArray[Any], truth: NDArray[np.int64]) -> float:
        """Returns the Brier score."""
        return float(np.square(probs.astype(np.float64) - truth).mean())

    def confidence(
        self, probs: NDArray[Any], truth: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.int64]]:
        """Returns probabilities, whether each came true, and the row of each; for calibration."""
        rows = np.repeat(np.arange(len(truth)), truth.shape[1])
        return probs.astype(np.float64).ravel(), truth.ravel() == 1, rows

    # 2026-11-30: the labels matter where there is one a text
    def scores(self, labels: Labels, probs: NDArray[Any], truth: NDArray[np.int64]) -> Scores:  # noqa: ARG002
        """Returns the scores of rows whose labels are all known."""
        from sklearn.metrics import average_precision_score

        answers = self.decide(probs)
        occurs = truth.any(axis=0)
        micro = macro = None
        if occurs.any():
            micro = float(average_precision_score(truth.ravel(), probs.ravel()))
            macro = float(average_precision_score(truth[:, occurs], probs[:, occurs], average="macro"))
        confidence, so, _ = self.confidence(probs, truth)
        return {
            **self.few_scores(truth, answers),
            "weighted_f1": _weighted_f1(truth, answers),
            "hamming_loss": float((truth != answers).mean()),
            "micro_average_precision": micro,
            "macro_average_precision": macro,
            "log_loss": float(self.loss_rows(probs, truth).mean()),
            "ece": ece_of(confidence, so),
            "brier": self.brier(probs, truth),
        }

    def few_scores(self, truth: NDArray[np.int64], answers: NDArray[np.int64]) -> dict[str, float]:
        """Returns the scores of a part of the rows: `accuracy` and `macro_f1`, and further quick ones."""
        hits, wrong = _counts(truth, answers)
        either = 2 * hits + wrong
        return {
            "accuracy": float(self.right(truth, answers).mean()),
            "micro_f1": float(2 * hits.sum() / max(1, either.sum())),
            "macro_f1": float((2 * hits / np.maximum(either, 1)).sum() / max(1, (either > 0).sum())),
            "row_f1": float(self.credit(truth, answers).mean()),
        }

    def validation(self, logits: NDArray[np.float32], truth: NDArray[np.int64]) -> dict[str, float]:
        """Returns the fields of the validation texts in a line of `metrics.jsonl`."""
        probs = self.probabilities(logits)
        few = self.few_scores(truth, self.decide(probs))
        return {
            "val_loss": float(self.loss_rows(probs, truth).mean()),
            **{f"val_{key}": few[key] for key in ("accuracy", "micro_f1", "macro_f1")},
        }

    def sums(
        self,
        # 2026-11-30: the labels matter where there is one a text
        labels: Labels,  # noqa: ARG002
        probs: NDArray[Any],
        truth: NDArray[np.int64],
        groups: NDArray[np.int64],
        n: int,
    ) -> "_Sums":
        """Returns sums of rows from which the scores follow."""
        answers, n_labels, n_rows = self.decide(probs), truth.shape[1], len(truth)
        values = np.zeros((n, 3 * n_labels + _ALONE + 2 * N_BINS))
        alone = (
            np.ones(n_rows), self.right(truth, answers), self.credit(truth, answers),
            self.loss_rows(probs, truth), np.square(probs.astype(np.float64) - truth).mean(axis=1),
        )  # fmt: skip
        of_rows = np.column_stack([truth * answers, truth != answers, truth, *alone])
        np.add.at(values[:, : of_rows.shape[1]], groups, of_rows)
        confidence, so, rows = self.confidence(probs, truth)
        place = 3 * n_labels + _ALONE + bin_of(confidence)
        np.add.at(values, (groups[rows], place), confidence)
        np.add.at(values, (groups[rows], place + N_BINS), so)
        return _Sums(values, n_labels)

    def constant(self, truth: NDArray[np.int64], n_labels: int) -> NDArray[np.int64]:
        """Returns the constant answer (n,) that suits the rows best."""
        # The most frequent labels, as many as suit the rows best.
        order = np.argsort(-truth.sum(axis=0), kind="stable")
        answer, best, score = np.zeros(n_labels, np.int64), np.zeros(n_labels, np.int64), -1.0
        for label in (None, *order.tolist()):
            if label is not None:
                answer[label] = 1
            now = float(self.credit(truth, np.broadcast_to(answer, truth.shape)).mean())
            if now < score:
                break
            if now > score:
                best, score = answer.copy(), now
        return np.tile(best, (len(truth), 1))

    def per_label(
        self, labels: Labels, probs: NDArray[Any], truth: NDArray[np.int64]
    ) -> list[dict[str, Any]]:
        """Returns precision, recall, F1, support and answers of each label."""
        from sklearn.metrics import average_precision_score

        answers = self.decide(probs)
        hits, support, answered = (truth * answers).sum(axis=0), truth.sum(axis=0), answers.sum(axis=0)
        return [
            {
                "label": name,
                "precision": float(hits[i] / max(1, answered[i])),
                "recall": float(hits[i] / max(1, support[i])),
                "f1": float(2 * hits[i] / max(1, support[i] + answered[i])),
                "support": int(support[i]),
                "predicted": int(answered[i]),
                "average_precision": (
                    float(average_precision_score(truth[:, i], probs[:, i])) if support[i] else None
                ),
            }
            for i, name in enumerate(labels)
        ]

    def confusions(
        self, labels: Labels, truth: NDArray[np.int64], answers: NDArray[np.int64]
    ) -> list[dict[str, Any]]:
        """Returns which labels were answered instead of which, the most frequent first."""
        # A missed label of a row and an answered one that it does not have are one pair.
        missed, extra = (truth == 1) & (answers == 0), (truth == 0) & (answers == 1)
        pairs = missed.astype(np.int64).T @ extra.astype(np.int64)
        support = truth.sum(axis=0)
        found = [
            {
                "label": labels[true], "predicted": labels[answered], "n": int(pairs[true, answered]),
                "share": float(pairs[true, answered] / support[true]),
            }
            for true, answered in zip(*(side.tolist() for side in np.nonzero(pairs)), strict=True)
        ]  # fmt: skip
        for name, sides, of in (("missed", missed, "label"), ("extra", extra, "predicted")):
            other = "predicted" if of == "label" else "label"
            alone = sides & ~(extra if of == "label" else missed).any(axis=1, keepdims=True)
            for place, n in enumerate(alone.sum(axis=0).tolist()):
                if n:
                    share = n / max(1, int(support[place])) if name == "missed" else None
                    found.append({of: labels[place], other: "nothing", "n": n, "share": share or 0.0})
        return sorted(found, key=lambda pair: -pair["n"])


SEVERAL_LABELS = SeveralLabels()
# Further sums: rows, whole sets, F1, log loss, Brier.
_ALONE = 5


@dataclass(frozen=True)
class _Sums:
    """Sums over rows: hits, errors and truth of each label, then `_ALONE`, then the bins of calibration."""

    values: NDArray[np.float64]
    n_labels: int

    def scores(self, totals: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        """Returns the scores of each row of totals `(n_replicates, n_sums)`."""
        c = self.n_labels
        hits, wrong, support = totals[:, :c], totals[:, c : 2 * c], totals[:, 2 * c : 3 * c]
        n, exact, credit, loss, squared = totals[:, 3 * c : 3 * c + _ALONE].T
        either = 2 * hits + wrong
        f1 = np.divide(2 * hits, either, out=np.zeros_like(hits), where=either > 0)
        gaps = totals[:, 3 * c + _ALONE :].reshape(-1, 2, N_BINS)
        return {
            "accuracy": exact / n,
            "macro_f1": f1.sum(axis=1) / np.maximum((either > 0).sum(axis=1), 1),
            "micro_f1": 2 * hits.sum(axis=1) / np.maximum(either.sum(axis=1), 1),
            "weighted_f1": (f1 * support).sum(axis=1) / np.maximum(support.sum(axis=1), 1),
            "row_f1": credit / n,
            "hamming_loss": wrong.sum(axis=1) / (n * c),
            "log_loss": loss / n,
            "brier": squared / n,
            "ece": np.abs(gaps[:, 0] - gaps[:, 1]).sum(axis=1) / (n * c),
        }


def _sigmoid(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    # The exponential of a number of at most 0 does not overflow.
    small = np.exp(-np.abs(logits))
    result: NDArray[np.float64] = np.where(logits >= 0, 1.0, small) / (1 + small)
    return result


def _counts(
    truth: NDArray[np.int64], answers: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns how often each label is rightly answered, and wrongly answered or missed."""
    return (truth * answers).sum(axis=0), (truth != answers).sum(axis=0)


def _weighted_f1(truth: NDArray[np.int64], answers: NDArray[np.int64]) -> float:
    hits, wrong = _counts(truth, answers)
    f1, support = 2 * hits / np.maximum(2 * hits + wrong, 1), truth.sum(axis=0)
    return float((f1 * support).sum() / max(1, support.sum()))
