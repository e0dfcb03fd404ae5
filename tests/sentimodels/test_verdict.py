"""What a verdict rests on: rows that chose nothing, or halves of dev that chose for each other."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labelled_reviews import tree, write
from sentimodels.cli.summary import summary
from sentimodels.config import DataConfig
from sentimodels.data import Table, TrainingRecord, read_table
from sentimodels.data.split import Units
from sentimodels.errors import ConfigError
from sentimodels.evaluation.calibration import softmax
from sentimodels.evaluation.metrics import scores
from sentimodels.evaluation.predictions import of_logits
from sentimodels.runs.directory import CROSSFIT
from sentimodels.runs.execute import Callbacks, resume, train
from sentimodels.runs.families import resolve
from sentimodels.runs.judging import CrossFit
from sentimodels.runs.refit import refit, settled
from sentimodels.runs.tables import Tables


@pytest.fixture(scope="module")
def reviews(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("data") / "reviews.csv")


def of(path: Path, **data: Any) -> Tables:
    return Tables(DataConfig(train=str(path), **data))


def lengths(tables: Tables) -> list[int]:
    return [0 if part is None else len(part) for part in (tables.train, tables.valid, tables.test)]


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("data") / "many.csv", 10_000)


# (file, keys of [data], rows of train, valid, test)
DIVIDED: list[tuple[str, dict[str, Any], list[int]]] = [
    ("few", {}, [270, 30, 0]),
    ("few", {"test_share": 0.2}, [210, 30, 60]),
    ("many", {}, [8000, 1000, 1000]),
    ("many", {"test_share": 0}, [9000, 1000, 0]),
    ("many", {"valid_share": 0}, [10_000, 0, 0]),
    ("many", {"valid": "FEW"}, [10_000, 300, 0]),
    ("many", {"test": "FEW"}, [9000, 1000, 300]),
    ("many", {"valid": "FEW", "test_share": 0.1}, [9000, 300, 1000]),
]


@pytest.mark.parametrize(("file", "data", "expected"), DIVIDED)
def test_parts_by_default(
    file: str, data: dict[str, Any], expected: list[int], reviews: Path, many: Path
) -> None:
    given = {key: str(reviews) if value == "FEW" else value for key, value in data.items()}
    found = of({"few": reviews, "many": many}[file], **given)
    assert lengths(found) == expected
    parts = [part for part in (found.train, found.valid, found.test) if part is not None]
    places = [set(part.numbers or []) for part in parts if part.sha256 == found.train.sha256]
    assert len(set.union(*places)) == sum(map(len, places))


def test_shares_leave_rows_to_train_on(reviews: Path) -> None:
    with pytest.raises(ConfigError, match="no row to train on"):
        of(reviews, test_share=0.5, valid_share=0.6)


@pytest.mark.parametrize("arch", ["lstm", "bow"])
def test_rows_that_judge_reach_neither_training_nor_choice(arch: str, reviews: Path, tmp_path: Path) -> None:
    """With other test rows all that was learned and chosen is the same, byte by byte."""
    config = resolve(tree(arch, reviews, data={"test_share": 0.2}))
    runs = []
    for name, prefix in (("a", ""), ("b", "never read before: ")):
        found = Tables(config.data)
        assert found.test is not None
        if prefix:
            turned = {"neg": "pos", "pos": "neg"}
            found.test = Table.of(
                [prefix + text for text in found.test.texts], [turned[x] for x in found.test.labelled()]
            )
        about = train(config, tmp_path / name, tables=found)
        assert about["judged"] == "test"
        runs.append(about)
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in "ab"]
    assert weights[0] == weights[1]
    assert runs[0]["temperature"] == runs[1]["temperature"]
    assert runs[0]["valid"] == runs[1]["valid"]
    assert runs[0]["test"] != runs[1]["test"]
    assert runs[0]["baselines"]["tfidf"]["accuracy"] > runs[1]["baselines"]["tfidf"]["accuracy"]


def test_a_half_of_dev_does_not_choose_for_itself() -> None:
    """Labels of one half changed: the answers that judge that half stay, those of the other do not."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 80)
    evaluations = [rng.normal(0, 1, (80, 2)).astype(np.float32) for _ in range(6)]
    groups = Units.of_groups(80, [str(row // 2) for row in range(80)])
    found = CrossFit(labels, groups)
    other = CrossFit(labels, groups)
    assert all(found.half[row] == found.half[row + 1] for row in range(0, 80, 2))
    assert 30 <= found.half.sum() <= 50
    other.labels = np.where(found.half, 1 - labels, labels)
    for logits in evaluations:
        found.update(logits)
        other.update(logits)
    mine, theirs = found.logits(), other.logits()
    assert (mine[found.half] == theirs[found.half]).all()
    assert (mine[~found.half] != theirs[~found.half]).any()


def test_each_half_is_answered_by_the_step_that_the_other_chose() -> None:
    labels = np.array([0, 1] * 20)
    found = CrossFit(labels)
    right = np.where(labels[:, None] == [0, 1], 2.0, -2.0).astype(np.float32)
    good_for_first = np.where(found.half[:, None], right, -right)
    for logits in (good_for_first, -good_for_first):
        found.update(logits)
    # The first half likes the first step, in which the second half is wrong; and the other way round.
    assert (found.probs().argmax(1) != labels).all()


def test_what_is_chosen_on_noise_is_not_rewarded() -> None:
    """Of 200 evaluations by chance the best looks good on dev, and is no better: the verdict says so."""
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, 200)
    found = CrossFit(labels)
    best = 0.0
    for _ in range(200):
        logits = rng.normal(0, 1, (200, 2)).astype(np.float32)
        best = max(best, float((logits.argmax(1) == labels).mean()))
        found.update(logits)
    assert best > 0.56
    assert abs(float((found.probs().argmax(1) == labels).mean()) - 0.5) < 0.07


def test_a_stopped_run_has_the_verdict_of_one_that_was_not(reviews: Path, tmp_path: Path) -> None:
    config = resolve(tree("cnn", reviews, train={"epochs": 4}))
    whole = train(config, tmp_path / "whole")
    assert whole["judged"] == "crossed"
    steps = iter(range(100))
    train(config, tmp_path / "run", callbacks=Callbacks(should_stop=lambda: next(steps) >= 40))
    assert (tmp_path / "run" / CROSSFIT).is_file()
    again = resume(tmp_path / "run")
    assert again["crossed"] == whole["crossed"]
    timed = {"seconds"}
    for name, value in whole["baselines"].items():
        assert {k: v for k, v in value.items() if k not in timed} == {
            k: v for k, v in again["baselines"][name].items() if k not in timed
        }
    assert not (tmp_path / "run" / CROSSFIT).exists()


def test_the_summary_names_the_rows_that_judge(reviews: Path, tmp_path: Path) -> None:
    few = train(resolve(tree("bow", reviews)), tmp_path / "few")
    said = summary(few, tmp_path)
    assert "270 train, 30 valid" in said
    assert "judged on valid, cross-fitted: each half of valid" in said
    more = train(resolve(tree("bow", reviews, data={"test_share": 0.2})), tmp_path / "more")
    said = summary(more, tmp_path)
    assert "210 train, 30 valid, 60 test" in said
    assert "judged on the test rows, on which nothing was chosen" in said
    assert more["baselines"]["majority"]["gain"] == pytest.approx(
        more["test"]["accuracy"] - more["baselines"]["majority"]["accuracy"]
    )


def test_the_rows_held_out_are_recorded(reviews: Path, tmp_path: Path) -> None:
    """The file as a whole is refused, the rows that judged are not."""
    train(resolve(tree("bow", reviews, data={"test_share": 0.2})), tmp_path / "run", baseline=False)
    record = TrainingRecord.load(tmp_path / "run")
    whole = read_table(reviews)
    shared = [record.shared(role, whole) for role in ("train", "valid", "test")]
    assert [int(rows.sum()) for rows in shared] == [210, 30, 60]
    assert np.sum(shared, axis=0).max() == 1


@pytest.mark.parametrize("arch", ["tfidf", "cnn"])
def test_a_recipe_is_trained_again_on_train_and_dev(arch: str, reviews: Path, tmp_path: Path) -> None:
    config = resolve(tree(arch, reviews, data={"test_share": 0.2}))
    tables = Tables(config.data)
    assert tables.test is not None
    first = train(config, tmp_path / "first", tables=tables, baseline=False)
    again = refit(config, first, tables, tmp_path / "again")
    assert again["rows"] == {"train": 240, "valid": 0, "test": 0}
    assert again["temperature"] == first["temperature"]
    assert not TrainingRecord.load(tmp_path / "again").shared("train", tables.test).any()
    stated = json.loads((tmp_path / "again" / "run.json").read_text("utf-8"))
    assert stated["temperature"] == first["temperature"]
    assert first["judged"] == "test"
    assert "judged" not in again
    if arch == "cnn":  # as many passes as were best, over more rows
        size = config.train.plan(210).batch_size
        passes = first["fit"]["best_step"] / -(-210 // size)
        assert again["fit"]["steps"] == round(passes * -(-240 // size))


def test_without_dev_there_is_nothing_to_train_again_by(reviews: Path) -> None:
    with pytest.raises(ConfigError, match="nothing was chosen"):
        settled(resolve(tree("cnn", reviews)), {"fit": {"steps": 3, "best_step": 3}}, 10, 12)


def test_crossed_scores_are_of_the_crossed_answers(reviews: Path, tmp_path: Path) -> None:
    found = of(reviews)
    assert found.valid is not None
    labels = found.labels.encode(found.valid.labelled())
    crossed = CrossFit(labels)
    logits = np.random.default_rng(3).normal(0, 1, (30, 2)).astype(np.float32)
    crossed.update(logits)
    answers = of_logits(found.labels, crossed.logits(), found.valid)
    assert scores(answers)["accuracy"] == pytest.approx((logits.argmax(1) == labels).mean())
    np.testing.assert_allclose(answers.probs, softmax(crossed.logits().astype(float)), atol=1e-6)
