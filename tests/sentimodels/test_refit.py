"""`senti train --refit`: trained again on train and valid, judged on the test rows, resumed from anywhere."""

import json
from pathlib import Path
from typing import Any

import pytest

from labelled_reviews import tree, write
from senti_in_process import senti
from sentimodels.data import TrainingRecord, read_table
from sentimodels.errors import CheckpointError, ConfigError
from sentimodels.runs.directory import load_run
from sentimodels.runs.execute import Callbacks, resume, train
from sentimodels.runs.families import resolve
from sentimodels.runs.verify import verify


@pytest.fixture(scope="module")
def reviews(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("data") / "reviews.csv")


def asked(arch: str, reviews: Path, **data: Any) -> Any:
    made = tree(arch, reviews, data=data, train={"refit": True, "baseline": False})
    return resolve(made)


def test_the_second_run_has_train_and_valid_and_the_test_rows_judge_it(reviews: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    about = train(asked("cnn", reviews, test_share=0.2), run)
    assert about["rows"] == {"train": 240, "valid": 0, "test": 60}
    assert about["judged"] == "test"
    assert about["chosen"]["rows"] == {"train": 210, "valid": 30, "test": 60}
    assert about["temperature"] == about["chosen"]["temperature"]
    passes = about["chosen"]["fit"]["best_step"] / -(-210 // 16)
    assert about["fit"]["steps"] == round(passes * -(-240 // 16))
    record = TrainingRecord.load(run)
    whole = read_table(reviews)
    assert [int(record.shared(role, whole).sum()) for role in ("train", "valid", "test")] == [240, 0, 60]
    kept = json.loads((run / "run.json").read_text("utf-8"))
    assert kept["chosen"]["valid"]["accuracy"] == about["chosen"]["valid"]["accuracy"]
    assert verify(run) == verify(run / "first") == []
    assert load_run(run).temperature == about["temperature"]
    with pytest.raises(CheckpointError, match="holds a run already"):
        train(asked("cnn", reviews), run)
    with pytest.raises(CheckpointError, match="nothing to resume"):
        resume(run)


@pytest.mark.parametrize("stop", [5, 45, pytest.param(70, marks=pytest.mark.slow)])
def test_a_stopped_refit_goes_on_to_the_same_weights(stop: int, reviews: Path, tmp_path: Path) -> None:
    """Stopped while it chooses, and while it is trained again: 42 steps the first, then up to 45."""
    config = asked("cnn", reviews, test_share=0.2)
    whole = train(config, tmp_path / "whole")
    if stop > 42 + whole["fit"]["steps"]:
        stop = 42 + whole["fit"]["steps"] - 3
    steps = iter(range(1, 1000))
    first = train(config, tmp_path / "run", callbacks=Callbacks(should_stop=lambda: next(steps) == stop))
    assert first["fit"]["stop"] == "stopped"
    assert (tmp_path / "run" / "config.toml").exists() == (stop > 42)
    with pytest.raises(CheckpointError, match=f"holds a run already.*--resume {tmp_path / 'run'}$"):
        train(config, tmp_path / "run")
    again = resume(tmp_path / "run")
    for name in ("", "first"):
        weights = [
            (tmp_path / run / name / "model.safetensors").read_bytes().rpartition(b"}}")[2]
            for run in ("whole", "run")
        ]
        assert weights[0] == weights[1]
    for key in ("rows", "temperature", "test", "judged"):
        assert again[key] == whole[key]
    assert again["chosen"]["valid"] == whole["chosen"]["valid"]


def test_without_validation_rows_there_is_nothing_to_choose_by(reviews: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"train\.refit: .* chosen on validation rows"):
        train(asked("bow", reviews, valid_share=0), tmp_path / "run")


def test_the_command_says_what_was_judged(reviews: Path, tmp_path: Path) -> None:
    done = senti("train", reviews, "--arch", "bow", "--refit", "-o", "run", cwd=tmp_path)
    assert done.code == 0, done.err
    assert "300 train" in done.out
    assert "of 270 train, 30 valid, which chose temperature" in done.out
    assert "before refit, bow beats majority" in done.out
    assert "the refitted model is not judged" in done.out
    done = senti(
        "train", reviews, "--arch", "bow", "--refit", "--test-share", "0.2", "-o", "two", cwd=tmp_path
    )
    assert "judged on the test rows" in done.out
    assert "before refit, bow" not in done.out
    done = senti("runs", ".", "--json", cwd=tmp_path)
    listed = {one["run"]: one for one in json.loads(done.out)["runs"]}
    assert set(listed) == {"run", "two"}
    assert listed["run"]["rows"]["valid"] == 30
    assert listed["run"]["macro_f1"] > 0.7


def test_folds_and_seeds_are_refitted(reviews: Path, tmp_path: Path) -> None:
    done = senti(
        "train", reviews, "--arch", "bow", "--refit", "--folds", "3", "-o", "f", "--json", cwd=tmp_path
    )
    assert done.code == 0, done.err
    folds = json.loads(done.out)["folds"]
    assert [one["rows"] for one in folds] == [{"train": 200, "valid": 0, "test": 100}] * 3
    done = senti("train", reviews, "--arch", "bow", "--refit", "--seeds", "2", "-o", "s", cwd=tmp_path)
    assert done.code == 0, done.err


def test_a_sweep_is_not_refitted(reviews: Path, tmp_path: Path) -> None:
    args = ["--set", "arch=bow,nb", "--set", "train.refit=true"]
    done = senti("sweep", reviews, *args, "-o", "sweep", cwd=tmp_path)
    assert done.code == 2
    assert "a sweep ranks runs by their validation rows" in done.err
