"""`Answers`: how the answers of one kind of labels are decided, scored, calibrated and named.

There are three kinds: one label a text, one of labels in an order (both `one_label.py`), several or none
(`several_labels.py`). Everything that has to tell them apart asks `answers_of(labels)`.
Arrays are those of n rows and C labels: logits and probabilities `(n, C)`; truth and answers `(n,)` class
indices or `(n, C)` of 0 and 1; truth is -1 where it is not known.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from ..data.table import Labels

__all__ = [
    "Answers",
    "Scores",
    "Sums",
    "Temperature",
    "answers_named",
    "answers_of",
    "cooled",
    "read_temperature",
    "said_temperature",
]

# The divisor of logits: one number, or one for each label.
Temperature = float | Sequence[float]
Scores = dict[str, float | None]


def cooled(logits: NDArray[Any], temperature: Temperature) -> NDArray[Any]:
    """Returns logits (..., C) divided by a temperature, of the same type."""
    divided: NDArray[Any] = logits / np.asarray(temperature, dtype=logits.dtype)
    return divided


def read_temperature(value: Any) -> Temperature:
    """Returns a temperature that a file of JSON holds.

    Raises:
        ValueError, TypeError: if it is neither a number above 0 nor a list of them.
    """
    read = [float(one) for one in value] if isinstance(value, list) else float(value)
    numbers = np.atleast_1d(np.asarray(read, dtype=np.float64))
    if not (np.isfinite(numbers) & (numbers > 0)).all():
        raise ValueError(f"temperature {value}: expected numbers above 0")
    return read


def said_temperature(temperature: Temperature) -> str:
    """Writes a temperature; of many labels the lowest and the highest."""
    values = np.atleast_1d(np.asarray(temperature, dtype=np.float64))
    if len(values) == 1:
        return f"{values[0]:.3f}"
    return f"{values.min():.3f} to {values.max():.3f} by label"


class Sums(Protocol):
    """Sums of rows from which scores follow, so that a bootstrap only adds."""

    @property
    def values(self) -> NDArray[np.float64]:
        """The sums of each group, `(n_groups, n_sums)`."""

    def scores(self, totals: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        """Returns the scores of each row of totals `(n_replicates, n_sums)`."""


class Answers(ABC):
    """How the answers of one kind of labels are decided, scored, calibrated and named.

    Attributes:
        several: whether a text may have several labels.
        score_names: the scores by key, as reports name them, in their order.
        table: the keys and names of the scores that small tables show.
        chosen_by: the key of the score that `--arch auto` compares architectures by.
        said_credit: what `credit` measures, for people.
        least: the probability that an answer needs.
        divides: whether labels exclude each other, so that there is a matrix of confusion.
    """

    several: ClassVar[bool]
    score_names: ClassVar[Mapping[str, str]]
    table: ClassVar[Mapping[str, str]]
    chosen_by: ClassVar[str]
    said_credit: ClassVar[str]
    least: ClassVar[float]
    divides: ClassVar[bool]

    @abstractmethod
    def fault(self, truth: NDArray[np.int64], n: int, n_labels: int) -> str | None:
        """Returns the fault in the truth of `n` rows, if there is one."""

    @abstractmethod
    def known(self, truth: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Returns of which rows the labels are known, (n,)."""

    @abstractmethod
    def probabilities(self, logits: NDArray[Any], temperature: Temperature = 1.0) -> NDArray[np.float64]:
        """Returns the probabilities of logits."""

    @abstractmethod
    def with_temperature(self, probs: NDArray[Any], temperature: Temperature) -> NDArray[np.float64]:
        """Returns probabilities as if their logits had been divided by a temperature."""

    @abstractmethod
    def log_odds(self, probs: NDArray[Any]) -> NDArray[np.float64]:
        """Returns the logits of probabilities."""

    @abstractmethod
    def fit_temperature(self, logits: NDArray[Any], truth: NDArray[np.int64]) -> Temperature:
        """Returns the temperature that fits rows which were not trained on."""

    @abstractmethod
    def decide(self, probs: NDArray[Any], least: NDArray[Any] | float | None = None) -> NDArray[np.int64]:
        """Returns the answers that probabilities give.

        Args:
            probs: the probabilities.
            least: the probability that each label needs, (C,) or one for all; the usual one if not given.
        """

    @abstractmethod
    def right(self, truth: NDArray[np.int64], answers: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Returns which answers are wholly right, (n,)."""

    @abstractmethod
    def credit(self, truth: NDArray[np.int64], answers: NDArray[np.int64]) -> NDArray[np.float64]:
        """Returns how right each answer is, (n,), 0 to 1; models are compared with baselines by its mean."""

    @abstractmethod
    def p_of(self, probs: NDArray[Any], answers: NDArray[np.int64]) -> NDArray[np.float64]:
        """Returns the probability of each answer, (n,)."""

    @abstractmethod
    def likelihoods(self, probs: NDArray[Any], truth: NDArray[np.int64]) -> NDArray[np.float64]:
        """Returns the probability of each known fact of the rows, flat; a mixture is fitted to these."""

    @abstractmethod
    def loss_rows(self, probs: NDArray[Any], truth: NDArray[np.int64]) -> NDArray[np.float64]:
        """Returns the log loss of each row, (n,)."""

    @abstractmethod
    def brier(self, probs: NDArray[Any], truth: NDArray[np.int64]) -> float:
        """Returns the Brier score."""

    @abstractmethod
    def confidence(
        self, probs: NDArray[Any], truth: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.int64]]:
        """Returns probabilities, whether each came true, and the row of each; for calibration."""

    @abstractmethod
    def scores(self, labels: Labels, probs: NDArray[Any], truth: NDArray[np.int64]) -> Scores:
        """Returns the scores of rows whose labels are all known."""

    @abstractmethod
    def few_scores(self, truth: NDArray[np.int64], answers: NDArray[np.int64]) -> dict[str, float]:
        """Returns the scores of a part of the rows: `accuracy` and `macro_f1`, and further quick ones."""

    @abstractmethod
    def validation(self, logits: NDArray[np.float32], truth: NDArray[np.int64]) -> dict[str, float]:
        """Returns the fields of the validation texts in a line of `metrics.jsonl`."""

    @abstractmethod
    def sums(
        self, labels: Labels, probs: NDArray[Any], truth: NDArray[np.int64], groups: NDArray[np.int64], n: int
    ) -> Sums:
        """Returns sums of rows from which the scores follow.

        Args:
            labels: the labels.
            probs: the probabilities.
            truth: the labels of the rows, all known.
            groups: (n_rows,) the group of each row.
            n: groups.
        """

    @abstractmethod
    def constant(self, truth: NDArray[np.int64], n_labels: int) -> NDArray[np.int64]:
        """Returns the constant answer (n,) that suits the rows best."""

    @abstractmethod
    def per_label(
        self, labels: Labels, probs: NDArray[Any], truth: NDArray[np.int64]
    ) -> list[dict[str, Any]]:
        """Returns precision, recall, F1, support and answers of each label."""

    @abstractmethod
    def confusions(
        self, labels: Labels, truth: NDArray[np.int64], answers: NDArray[np.int64]
    ) -> list[dict[str, Any]]:
        """Returns which labels were answered instead of which, the most frequent first."""


def answers_of(labels: Labels) -> Answers:
    """Returns how answers with these labels are decided and scored."""
    return answers_named({"several": labels.several, "ordered": labels.ordered})


def answers_named(about: Mapping[str, Any]) -> Answers:
    """Returns how answers are decided and scored, by what `run.json` says of the labels."""
    if about.get("several"):
        from .several_labels import SEVERAL_LABELS

        return SEVERAL_LABELS
    from .one_label import ONE_LABEL, ORDERED_LABELS

    return ORDERED_LABELS if about.get("ordered") else ONE_LABEL
