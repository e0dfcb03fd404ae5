"""`senti compare`: all pairs of runs on the same rows, and of groups of folds fold by fold."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import ttest_1samp

from labelled_reviews import write
from senti_in_process import senti
from sentimodels.data import Labels
from sentimodels.errors import DataError
from sentimodels.evaluation.comparison import FoldScores, compare, compare_folds, corrected_t, verdict
from sentimodels.evaluation.metrics import holm, intervals, scores
from sentimodels.evaluation.predictions import Predictions


def predictions_of(right: NDArray[np.bool_], groups: list[str] | None = None) -> Predictions:
    """Answers of one class to rows of it, right or wrong."""
    probs = np.where(right[:, None], [0.9, 0.1], [0.2, 0.8]).astype(np.float32)
    truth = np.zeros(len(right), np.int64)
    return Predictions(Labels(["a", "b"]), probs, truth, [f"text {i}" for i in range(len(right))], groups)


def drawn(seed: int, share: float, n: int = 400) -> NDArray[np.bool_]:
    right: NDArray[np.bool_] = np.random.default_rng(seed).random(n) < share
    return right


def test_a_better_model_is_told_from_an_equal_one() -> None:
    right = drawn(1, 0.7, 2000)
    better = predictions_of(right | drawn(2, 0.1, 2000))
    found = compare({"base": predictions_of(right), "better": better})["differences"][0]
    assert (found["run"], found["less"]) == ("better", "base")
    assert found["accuracy"]["difference"] > 0
    assert found["accuracy"]["interval"][0] > 0
    assert found["accuracy"]["p"] < 0.01
    assert found["mcnemar"]["p"] < 0.01
    same = compare({"a": better, "b": better})["differences"][0]
    assert same["accuracy"] == {"difference": 0.0, "interval": [0.0, 0.0], "p": 1.0, "p_holm": 1.0}
    assert same["mcnemar"] == {"only_a_right": 0, "only_b_right": 0, "p": 1.0, "p_holm": 1.0}


def test_the_verdict_says_which_is_better_and_by_how_much() -> None:
    right = drawn(1, 0.7, 2000)
    base, better = predictions_of(right), predictions_of(right | drawn(2, 0.1, 2000))
    found = compare({"base": base, "better": better})
    difference = found["differences"][0]["accuracy"]
    low, high = (f"{100 * end:.1f}" for end in difference["interval"])
    said = f"better is better than base by {100 * difference['difference']:.1f} points of accuracy"
    assert verdict(found, "accuracy", "accuracy") == f"{said} (95 % interval {low} to {high})"
    assert verdict(compare({"better": better, "base": base}), "accuracy", "accuracy").startswith(said)
    same = verdict(compare({"a": base, "b": base}), "accuracy", "accuracy")
    assert same.startswith("no difference in accuracy between a and b can be told: both have the same")
    assert "-0.0" not in verdict(compare({"b": base, "a": base}), "accuracy", "accuracy")
    near = predictions_of(right ^ (np.arange(2000) < 3))
    assert "is ahead by" in verdict(compare({"a": base, "near": near}), "accuracy", "accuracy")
    several = verdict(compare({"base": base, "better": better, "twin": better}), "accuracy", "accuracy")
    assert several.startswith("better has the highest accuracy; it is better than base by")
    assert several.endswith("; no difference from twin can be told")


def test_all_pairs_are_compared_and_corrected_together() -> None:
    by_run = {name: predictions_of(drawn(seed, 0.6 + seed / 20)) for seed, name in enumerate("abcd")}
    found = compare(by_run, n_replicates=200)
    pairs = [(one["run"], one["less"]) for one in found["differences"]]
    assert pairs == [("b", "a"), ("c", "a"), ("d", "a"), ("c", "b"), ("d", "b"), ("d", "c")]
    assert found["correction"] == {"method": "holm", "pairs": 6}
    for key in ("accuracy", "macro_f1", "log_loss", "mcnemar"):
        p = [one[key]["p"] for one in found["differences"]]
        assert [one[key]["p_holm"] for one in found["differences"]] == holm(p)
    # A pair does not depend on the other runs, except for the correction.
    alone = compare({name: by_run[name] for name in "bd"}, n_replicates=200)["differences"][0]
    among = found["differences"][4]
    assert {**among["accuracy"], "p_holm": 0} == {**alone["accuracy"], "p_holm": 0}
    for one in found["runs"]:
        of_run = by_run[one["run"]]
        assert one["accuracy"] == scores(of_run)["accuracy"]
        assert one["intervals"]["accuracy"] == list(intervals(of_run, n_replicates=200)["accuracy"])


def test_rows_of_a_group_are_drawn_together_for_all_runs() -> None:
    right = np.repeat(drawn(3, 0.5, 40), 10)
    groups = [f"g{row // 10}" for row in range(400)]
    a, b = predictions_of(right, groups), predictions_of(~right, groups)
    found = compare({"a": a, "b": b}, n_replicates=200)
    # A file of predictions without groups is drawn as the first one.
    assert compare({"a": a, "b": replace(b, groups=None)}, n_replicates=200) == found
    alone = compare({"a": replace(a, groups=None), "b": b}, n_replicates=200)
    width = [one["differences"][0]["accuracy"]["interval"] for one in (found, alone)]
    assert width[0][1] - width[0][0] > 2 * (width[1][1] - width[1][0])


def test_other_rows_are_not_compared() -> None:
    a = predictions_of(drawn(1, 0.5, 20))
    other = replace(a, texts=["else", *a.texts[1:]])
    named = Predictions(Labels(["x", "y"]), a.probs, a.truth, a.texts)
    for b, message in ((other, "row 1 differs"), (a.take(range(5)), "20 rows"), (named, "labels differ")):
        with pytest.raises(DataError, match=message):
            compare({"a": a, "same": a, "b": b}, n_replicates=10)


def test_the_corrected_t_test_is_the_plain_one_but_for_its_variance() -> None:
    found = np.array([0.01, 0.03, -0.01, 0.02, 0.02])
    plain = ttest_1samp(found, 0)
    half, p = corrected_t(found, 0.0)
    assert p == pytest.approx(plain.pvalue)
    assert half == pytest.approx(found.mean() - plain.confidence_interval().low)
    # Five folds, a quarter of the training rows each: the variance is 0.45 for 0.2 of the plain test.
    wider, p_of_folds = corrected_t(found, 0.25)
    assert wider == pytest.approx(half * (0.45 / 0.2) ** 0.5)
    assert p_of_folds > p
    assert corrected_t(np.zeros(3), 0.25) == (0.0, 1.0)
    assert corrected_t(np.full(4, 0.5), 0.25) == (0.0, 0.0)


def test_equal_learners_differ_in_one_of_twenty_cross_validations() -> None:
    """Differences of folds share a tenth of their variance, where training sets share most rows."""
    rng, found = np.random.default_rng(0), [0, 0]
    for _ in range(1000):
        of_folds = rng.normal(scale=0.1**0.5) + rng.normal(scale=0.9**0.5, size=10)
        for place, share in enumerate((1 / 9, 0.0)):
            found[place] += corrected_t(of_folds, share)[1] < 0.05
    corrected, plain = found
    assert 30 <= corrected <= 70
    assert plain > 100


def fold_scores(values: list[float], rows: list[str] | None = None) -> FoldScores:
    n = len(values)
    return FoldScores(rows or [f"rows {i}" for i in range(n)], [80] * n, [20] * n, {"accuracy": values}, {})


def test_folds_are_compared_pair_by_pair() -> None:
    scores = {"a": [0.7, 0.8, 0.6], "b": [0.8, 0.9, 0.72], "c": [0.5, 0.9, 0.7]}
    found = compare_folds({name: fold_scores(values) for name, values in scores.items()})
    assert found["folds"] == 3
    assert found["test"] == "corrected-t"
    assert [one["accuracy"] for one in found["runs"]] == pytest.approx([0.7, 0.80666667, 0.7])
    assert [(one["run"], one["less"]) for one in found["differences"]] == [("b", "a"), ("c", "a"), ("c", "b")]
    first = found["differences"][0]["accuracy"]
    assert first["of_folds"] == pytest.approx([0.1, 0.1, 0.12])
    half, p = corrected_t(np.array(first["of_folds"]), 0.25)
    assert first["interval"] == pytest.approx([first["difference"] - half, first["difference"] + half])
    assert first["p"] == p
    assert first["p_holm"] == pytest.approx(3 * p)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (fold_scores([0.5, 0.5]), "3 folds"),
        (fold_scores([0.5] * 3, ["rows 0", "others", "rows 2"]), "fold 1"),
    ],
)
def test_folds_of_other_rows_are_refused(other: FoldScores, said: str) -> None:
    with pytest.raises(DataError, match=said):
        compare_folds({"a": fold_scores([0.5] * 3), "b": other})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Groups of folds of the same rows, of other folds, and of seeds; and a run."""
    path = tmp_path_factory.mktemp("folds")
    write(path / "reviews.csv")
    for name, words in {
        "nb": ["--arch", "nb", "--folds", "3"],
        "tfidf": ["--arch", "tfidf", "--folds", "3"],
        "otherwise": ["--arch", "nb", "--folds", "3", "--set", "data.split_seed=7"],
        "seeds": ["--arch", "nb", "--seeds", "2"],
        "run": ["--arch", "nb", "--no-baseline"],
    }.items():
        done = senti("train", "reviews.csv", *words, "-o", name, "-q", cwd=path)
        assert done.code == 0, done.err
    return path


def test_groups_of_folds(folder: Path) -> None:
    done = senti("compare", "nb", "tfidf", "--json", cwd=folder)
    assert done.code == 0, done.err
    value: dict[str, Any] = json.loads(done.out)
    runs = [
        [json.loads((folder / name / f"fold-{n}" / "run.json").read_text("utf-8")) for n in range(3)]
        for name in ("nb", "tfidf")
    ]
    for one, of_run in zip(value["runs"], runs, strict=True):
        assert one["of_folds"]["accuracy"] == [about["test"]["accuracy"] for about in of_run]
        assert one["n"] == sum(about["rows"]["test"] for about in of_run)
    found = value["differences"][0]["accuracy"]["of_folds"]
    nb, tfidf = ([about["test"]["accuracy"] for about in of_run] for of_run in runs)
    assert found == pytest.approx(np.subtract(tfidf, nb).tolist())
    done = senti("compare", "nb", "tfidf", cwd=folder)
    assert done.code == 0, done.err
    assert "Nadeau" in done.out
    assert "tfidf less nb" in done.out
    assert f"verdict  {value['verdict']}" in done.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nb", "otherwise"], "different rows"),
        (["nb", "run"], "run is not"),
        (["nb", "nb"], "given twice"),
        (["nb", "seeds"], "group of seeds"),
        (["nb", "tfidf", "--data", "reviews.csv"], "--data"),
    ],
)
def test_groups_that_cannot_be_compared(folder: Path, words: list[str], said: str) -> None:
    done = senti("compare", *words, cwd=folder)
    assert done.code == 2
    assert said in done.err
