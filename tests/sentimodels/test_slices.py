"""Accuracy on parts of the rows: which rows, which interval, and what a run says of its vocabulary."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from labelled_reviews import tree, write
from senti_in_process import senti
from sentimodels import Classifier
from sentimodels.data import Labels
from sentimodels.evaluation.predictions import Predictions
from sentimodels.evaluation.slices import accuracy_interval, confused_pairs, slices, vocabulary_facts, wilson
from sentimodels.runs.execute import train
from sentimodels.runs.families import resolve

LABELS = Labels(["bad", "fine", "good"])


def predictions(rows: list[tuple[str, str, str]], **more: Any) -> Predictions:
    """Rows of text, label and answer."""
    probs = np.full((len(rows), 3), 0.1, np.float32)
    for row, (_, _, answer) in enumerate(rows):
        probs[row, LABELS.index(answer)] = 0.8
    truth = np.array([LABELS.index(label) for _, label, _ in rows])
    return Predictions(LABELS, probs, truth, [text for text, _, _ in rows], **more)


def part(found: list[dict[str, Any]], name: str) -> dict[str, tuple[int, float]]:
    return {one["value"]: (one["n"], one["accuracy"]) for one in found if one["slice"] == name}


def test_rows_are_in_the_parts_they_belong_to() -> None:
    rows = [
        ("fun", "good", "good"),
        ("", "bad", "good"),
        ("not my film", "bad", "good"),
        ("I didn’t like it, but she did", "bad", "bad"),
        ("скучный фильм", "bad", "fine"),
        ("日本 fun", "good", "good"),
        ("とても 良い", "good", "good"),
        ("12 + 3 !", "fine", "fine"),
    ]
    found = slices(predictions(rows), {"sound": ["a"] * 4 + ["b"] * 4, "same": ["x"] * 8})
    assert part(found, "words") == {"0-1": (2, 0.5), "2-3": (3, pytest.approx(1 / 3)), "4-7": (3, 1.0)}
    assert part(found, "label") == {"bad": (4, 0.25), "fine": (1, 1.0), "good": (3, 1.0)}
    scripts = {"Latin": (4, 0.75), "Cyrillic": (1, 0.0), "Japanese": (1, 1.0), "no letters": (2, 0.5)}
    assert part(found, "script") == scripts
    assert part(found, "negation") == {"no": (6, pytest.approx(4 / 6)), "yes": (2, 0.5)}
    assert part(found, "contrast") == {"no": (7, pytest.approx(4 / 7)), "yes": (1, 1.0)}
    assert part(found, "sound") == {"a": (4, 0.5), "b": (4, 0.75)}
    assert part(found, "same") == part(found, "training text") == {}
    seen = slices(predictions(rows, seen=np.arange(8) < 2))
    assert part(seen, "training text") == {"no": (6, pytest.approx(4 / 6)), "yes": (2, 0.5)}
    pairs = [
        (one["label"], one["predicted"], one["n"], one["share"]) for one in confused_pairs(predictions(rows))
    ]
    assert pairs == [("bad", "good", 2, 0.5), ("bad", "fine", 1, 0.25)]


@pytest.mark.parametrize(("right", "n"), [(0, 1), (1, 1), (0, 20), (7, 20), (20, 20), (999, 1000)])
def test_wilson_is_scipys(right: int, n: int) -> None:
    ends = binomtest(right, n).proportion_ci(method="wilson")
    np.testing.assert_allclose(wilson(right / n, n), [ends.low, ends.high], atol=1e-12)
    answers = np.arange(n) < right
    assert accuracy_interval(answers) == wilson(right / n, n)
    assert accuracy_interval(answers, np.arange(n).astype(object)) == wilson(right / n, n)


def test_rows_of_a_group_count_for_less() -> None:
    """Every row ten times over says no more than once; groups that do not matter cost nothing."""
    right = np.arange(40) % 4 > 0
    groups = np.repeat(np.arange(40), 10).astype(object)
    low, high = accuracy_interval(np.repeat(right, 10), groups)
    once = wilson(0.75, 40)
    assert (low, high) == pytest.approx(once, abs=0.005)
    mixed = np.random.default_rng(0).permutation(np.repeat(right, 10))
    low, high = accuracy_interval(mixed, groups)
    assert high - low < 0.75 * (once[1] - once[0])
    ones = np.ones(400, bool)
    assert accuracy_interval(ones, groups) == wilson(1.0, 40)
    assert accuracy_interval(np.arange(400) % 2 > 0, np.zeros(400, object)) == wilson(0.5, 1)


def test_intervals_cover_the_truth() -> None:
    """Of a thousand draws, groups of five that agree, about 95 in 100 cover it."""
    drawn = np.random.default_rng(1)
    covered = 0
    for _ in range(1000):
        each = drawn.random(60) < 0.8
        low, high = accuracy_interval(np.repeat(each, 5), np.repeat(np.arange(60), 5).astype(object))
        covered += low <= 0.8 <= high
    assert 920 <= covered <= 980


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("sliced")
    reviews = write(made / "reviews.csv")
    write(made / "valid.csv", 60, seed=9)
    for name, sections in (
        ("tfidf", {}),
        ("bow", {}),
        ("gru", {}),
        ("gpt", {"data": {"tokenizer_model": "bpe"}}),
    ):
        train(resolve(tree(name, reviews, **sections)), made / name, baseline=False)
    return made


@pytest.mark.parametrize("name", ["tfidf", "bow", "gru", "gpt"])
def test_a_run_tells_what_is_new_to_it(runs: Path, name: str) -> None:
    texts = ["a great film", "a great film with a blorp", "Zwrdl qwrt Film", ""]
    facts = vocabulary_facts(Classifier.load(runs / name), texts)
    if name == "gpt":
        assert facts["tokens a word"][2] == "2 or more"
        assert facts["tokens a word"][0] == "1.25 to 2"  # of 300 tokens
        assert facts["tokens a word"][3] == "below 1.25"
    else:
        assert facts == {"unknown words": ["none", "up to a quarter", "over a quarter", "none"]}
    assert vocabulary_facts(object(), texts) == {}


def test_the_command_prints_pairs_and_slices(runs: Path) -> None:
    text = (runs / "valid.csv").read_text("utf-8")
    (runs / "odd.csv").write_text(text + "a great zwrdl,neg\nnot dull but qwrt,pos\n", "utf-8")
    done = senti("errors", "gru", "odd.csv", "--json", cwd=runs)
    assert done.code == 0, done.err
    value = json.loads(done.out)
    assert sum(pair["n"] for pair in value["pairs"]) == value["n_wrong"] >= 1
    for name in ("words", "label", "unknown words", "negation", "contrast"):
        assert sum(one["n"] for one in value["slices"] if one["slice"] == name) == value["n"] == 62
    for one in value["slices"]:
        assert 0 <= one["interval"][0] <= one["accuracy"] <= one["interval"][1] <= 1
    page = senti("errors", "gru", "odd.csv", cwd=runs).out
    for said in (
        "Confused most",
        "Accuracy on parts of the rows, of all 0.",
        "unknown words over a quarter",
    ):
        assert said in page
