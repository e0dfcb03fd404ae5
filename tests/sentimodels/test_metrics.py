"""Scores, calibration, intervals: against scikit-learn, by hand, and by brute force."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn import metrics as sk

from sentimodels.data import Labels
from sentimodels.errors import DataError
from sentimodels.evaluation.calibration import (
    brier,
    ece,
    fit_temperature,
    log_probs,
    reliability,
    softmax,
    with_temperature,
)
from sentimodels.evaluation.metrics import (
    by_length,
    confusion,
    holm,
    intervals,
    is_ordinal,
    majority,
    mcnemar,
    per_class,
    scores,
    worst,
)
from sentimodels.evaluation.predictions import Predictions


def predictions_of(
    probs: NDArray[Any], truth: NDArray[Any], groups: list[str] | None = None, names: list[str] | None = None
) -> Predictions:
    return Predictions(
        labels=Labels(names or [str(i) for i in range(probs.shape[1])]),
        probs=probs.astype(np.float32),
        truth=truth.astype(np.int64),
        texts=[f"text {i}" for i in range(len(truth))],
        groups=groups,
    )


def random_predictions(seed: int, n: int, n_classes: int, n_groups: int | None = None) -> Predictions:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_classes, n)
    logits = rng.normal(size=(n, n_classes)) * 2
    logits[np.arange(n), truth] += 1
    groups = None if n_groups is None else [f"g{g}" for g in rng.integers(0, n_groups, n)]
    return predictions_of(softmax(logits), truth, groups)


@given(st.integers(0, 2**32), st.integers(1, 60), st.integers(2, 5))
def test_scores_are_scikit_learns(seed: int, n: int, n_classes: int) -> None:
    p = random_predictions(seed, n, n_classes)
    found = scores(p)
    assert found["accuracy"] == sk.accuracy_score(p.truth, p.predicted)
    assert found["macro_f1"] == pytest.approx(
        sk.f1_score(p.truth, p.predicted, average="macro", zero_division=0.0)
    )
    probs = p.probs.astype(np.float64)
    expected = sk.log_loss(p.truth, probs / probs.sum(axis=1, keepdims=True), labels=range(n_classes))
    assert found["log_loss"] == pytest.approx(expected, abs=1e-5)
    assert sum(row["support"] for row in per_class(p)) == sum(row["predicted"] for row in per_class(p)) == n
    assert confusion(p).sum() == n
    if n_classes == 2:
        assert found["brier"] == pytest.approx(2 * sk.brier_score_loss(p.truth, p.probs[:, 1]), abs=1e-6)


def test_scores_by_hand() -> None:
    probs = np.array([[0.8, 0.2], [0.6, 0.4], [0.3, 0.7], [0.1, 0.9]])
    p = predictions_of(probs, np.array([0, 1, 1, 1]))
    found = scores(p)
    assert found["accuracy"] == 0.75
    assert found["macro_f1"] == pytest.approx((2 / 3 + 0.8) / 2)
    assert found["log_loss"] == pytest.approx(-np.log([0.8, 0.4, 0.7, 0.9]).mean(), abs=1e-6)
    assert found["brier"] == pytest.approx(2 * (0.04 + 0.36 + 0.09 + 0.01) / 4, abs=1e-6)
    assert found["ece"] == pytest.approx((0.2 + 0.6 + 0.3 + 0.1) / 4, abs=1e-6)
    assert found["auroc"] == 1.0
    assert confusion(p).tolist() == [[1, 0], [1, 2]]
    assert majority(p) == {"label": "1", "accuracy": 0.75, "macro_f1": pytest.approx(3 / 7)}
    assert [row["row"] for row in worst(p)] == [1]
    assert worst(p)[0]["p_label"] == pytest.approx(0.4)


def test_what_has_no_value_is_none() -> None:
    one_class = predictions_of(np.array([[0.9, 0.1], [0.8, 0.2]]), np.array([0, 0]))
    assert scores(one_class)["auroc"] is None
    assert scores(one_class)["quadratic_kappa"] is None
    named = predictions_of(np.eye(2), np.array([0, 1]), names=["neg", "pos"])
    assert scores(named)["quadratic_kappa"] is None
    assert not is_ordinal(named.labels)
    assert not is_ordinal(Labels(["1", "inf"]))


def test_lengths_are_sliced_by_words() -> None:
    p = random_predictions(0, 6, 2)
    texts = ["", "one", "two words", "a b c d", "e f g h i j k", "x " * 20]
    found = by_length(Predictions(p.labels, p.probs, p.truth, texts))
    assert [(row["words"], row["n"]) for row in found] == [("0-1", 2), ("2-3", 1), ("4-7", 2), ("16-31", 1)]
    assert by_length(Predictions(p.labels, p.probs[:1], p.truth[:1], [""]))[0]["n"] == 1


@pytest.mark.parametrize("true_temperature", [0.5, 1.0, 2.5])
def test_the_temperature_is_found(true_temperature: float) -> None:
    rng = np.random.default_rng(3)
    logits = rng.normal(size=(40_000, 4)) * 2
    drawn = softmax(logits).cumsum(axis=1)
    truth = (rng.random((len(logits), 1)) > drawn).sum(axis=1)
    overconfident = logits * true_temperature
    found = fit_temperature(overconfident, truth)
    assert found == pytest.approx(true_temperature, rel=0.03)
    assert ece(softmax(overconfident / found), truth) < 0.01
    assert fit_temperature(log_probs(softmax(overconfident)), truth) == pytest.approx(found, rel=1e-3)


@pytest.mark.parametrize("n_rows", [2, 4, 10, 20])
@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("scale", [0.1, 1.0, 4.0])
def test_a_temperature_of_few_rows_does_no_harm(n_rows: int, n_classes: int, scale: float) -> None:
    """The model is calibrated, so any temperature except 1 costs log loss."""
    rng = np.random.default_rng(n_rows)
    logits = rng.normal(size=(20_000, n_classes)) * scale
    truth = (rng.random((len(logits), 1)) > softmax(logits).cumsum(axis=1)).sum(axis=1)

    def loss(temperature: float) -> float:
        return float(-np.log(softmax(logits / temperature)[np.arange(len(truth)), truth]).mean())

    drawn = [rng.integers(0, len(logits), n_rows) for _ in range(20)]
    harm = [loss(fit_temperature(logits[rows], truth[rows])) - loss(1.0) for rows in drawn]
    assert np.mean(harm) < 0.01
    assert max(harm) < 0.05


def test_rows_move_the_temperature_once_they_are_enough() -> None:
    logits = np.log(np.array([[0.6, 0.4], [0.3, 0.7], [0.55, 0.45], [0.2, 0.8]]))
    right = logits.argmax(axis=1)
    assert fit_temperature(logits, right) == 1
    assert 0.3 < fit_temperature(np.tile(logits, (4, 1)), np.tile(right, 4)) < 1
    assert 1 < fit_temperature(np.tile(logits, (4, 1)), np.tile(1 - right, 4)) < 8


@pytest.mark.parametrize("n_rows", [4, 40, 400])
def test_a_temperature_other_than_1_fits_the_rows_better_by_half_a_nat(n_rows: int) -> None:
    rng = np.random.default_rng(n_rows)
    found = []
    for _ in range(20):
        logits = rng.normal(size=(n_rows, 3)) * 2
        truth = rng.integers(0, 3, n_rows) if rng.random() < 0.5 else logits.argmax(axis=1)
        found.append(fit_temperature(logits, truth))
        fits = [log_probs(softmax(logits / t))[np.arange(n_rows), truth].sum() for t in (1, found[-1])]
        assert found[-1] == 1 or fits[1] - fits[0] >= 0.5
    assert len(set(found)) > 1


def test_a_temperature_changes_no_answer_and_can_be_undone() -> None:
    probs = random_predictions(1, 200, 5).probs
    cooled = with_temperature(probs, 0.4)
    assert (cooled.argmax(axis=1) == probs.argmax(axis=1)).all()
    assert np.abs(with_temperature(cooled, 1 / 0.4) - probs).max() < 1e-6
    with pytest.raises(DataError):
        fit_temperature(np.zeros((0, 2)), np.zeros(0, np.int64))


def test_a_sure_and_wrong_model_has_a_finite_loss() -> None:
    p = predictions_of(np.array([[1.0, 0.0]]), np.array([1]))
    assert math.isfinite(scores(p)["log_loss"] or math.inf)
    assert 0.05 <= fit_temperature(log_probs(p.probs), p.truth) <= 20.1


def test_reliability_bins() -> None:
    probs = np.array([[1.0, 0.0], [0.95, 0.05], [0.5, 0.5], [1 / 3, 2 / 3]])
    bins = reliability(probs, np.array([0, 1, 0, 1]), n_bins=3)
    assert [(b.n, b.accuracy) for b in bins] == [(2, 1.0), (2, 0.5)]
    assert brier(np.eye(3), np.arange(3)) == 0


def slow_intervals(p: Predictions, n_replicates: int, seed: int) -> dict[str, tuple[float, float]]:
    """The definition: draw groups with replacement, score the rows."""
    groups = p.groups or [str(i) for i in range(len(p))]
    order = list(dict.fromkeys(groups))
    rows = {group: [i for i, other in enumerate(groups) if other == group] for group in order}
    rng = np.random.Generator(np.random.PCG64(seed))
    drawn = rng.integers(0, len(order), size=(n_replicates, len(order)))
    found = [scores(p.take([row for g in one for row in rows[order[g]]])) for one in drawn]
    ends = {}
    for name in ("accuracy", "macro_f1", "log_loss", "brier", "ece", "quadratic_kappa"):
        low, high = np.quantile(np.array([one[name] for one in found], dtype=np.float64), [0.025, 0.975])
        ends[name] = (float(low), float(high))
    return ends


@pytest.mark.parametrize("n_groups", [None, 7])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_intervals_are_those_of_the_slow_definition(n_groups: int | None, n_classes: int) -> None:
    p = random_predictions(5, 40, n_classes, n_groups)
    found = intervals(p, n_replicates=30, seed=9)
    for name, ends in slow_intervals(p, 30, 9).items():
        assert found[name] == pytest.approx(ends, abs=1e-6), name


def test_intervals_do_not_depend_on_how_many_are_drawn_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    p = random_predictions(5, 50, 3)
    whole = intervals(p, n_replicates=40)
    monkeypatch.setattr("sentimodels.evaluation.metrics._CELLS_AT_ONCE", 120)
    assert intervals(p, n_replicates=40) == whole


def test_an_interval_covers_the_truth_about_nineteen_times_in_twenty() -> None:
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(200):
        right = rng.random(150) < 0.7
        p = predictions_of(np.where(right[:, None], [0.9, 0.1], [0.1, 0.9]), np.zeros(150))
        low, high = intervals(p, n_replicates=200)["accuracy"]
        covered += low <= 0.7 <= high
    assert 180 <= covered <= 199


# (only a, only b, p)
MCNEMAR = [(0, 0, 1.0), (1, 0, 1.0), (5, 0, 0.0625), (10, 2, 0.038574), (3, 3, 1.0)]


@pytest.mark.parametrize(("only_a", "only_b", "p"), MCNEMAR)
def test_mcnemar(only_a: int, only_b: int, p: float) -> None:
    a = np.array([True] * only_a + [False] * only_b + [True] * 4, dtype=np.bool_)
    b = np.array([False] * only_a + [True] * only_b + [True] * 4, dtype=np.bool_)
    found = mcnemar(a, b)
    assert found[:2] == (only_a, only_b)
    assert found[2] == pytest.approx(p, abs=1e-6)


def test_holm() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.8]) == pytest.approx([1.0, 1.0])
    assert holm([]) == []
