"""`senti ensemble`: members chosen on dev, judged on rows that chose nothing."""

import json
from pathlib import Path
from typing import Any

import pytest

from labelled_reviews import write
from senti_in_process import senti

RUNS = ["runs/bow", "runs/nb", "runs/weak"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with three runs of the same rows, the last of which has learned nothing, and other files."""
    path = tmp_path_factory.mktemp("ensemble")
    write(path / "reviews.csv", 400)
    write(path / "other.csv", 200, seed=7)
    rows = ["reviews.csv", "--test-share", "0.2", "--no-baseline", "-q"]
    weak = ["--arch", "cnn", "--epochs", "1", "--lr", "1e-7", "--batch-size", "200", "--threads", "1"]
    for args in (["--arch", "bow"], ["--arch", "nb"], weak):
        name = "weak" if args is weak else args[1]
        done = senti("train", *rows, *args, "-o", f"runs/{name}", cwd=path)
        assert done.code == 0, done.err
    return path


def made(folder: Path, *args: str) -> dict[str, Any]:
    done = senti("ensemble", *args, "--json", cwd=folder)
    assert done.code == 0, done.err
    value: dict[str, Any] = json.loads(done.out)
    return value


def test_members_are_chosen_on_dev_and_judged_on_test(folder: Path) -> None:
    value = made(folder, *RUNS, "--select", "-o", "best")
    assert "runs/weak" not in value["chosen"]
    weights = {one["run"]: one["weight"] for one in value["members"]}
    assert weights["runs/weak"] == 0
    assert sum(weights.values()) == pytest.approx(1)
    # Few rows of dev leave some weight to the worse members and the temperature near 1.
    assert value["dev"]["log_loss"] <= min(one["log_loss"] for one in value["members"]) + 0.02
    assert set(value["dev_crossed"]) == set(value["test"]) - {"members"}
    kept = json.loads((folder / "best" / "ensemble.json").read_text("utf-8"))["members"]
    assert [one["run"] for one in kept] == [f"../{run}" for run in value["chosen"]]
    # The test rows are the ones that every run held out.
    rows = json.loads((folder / "runs" / "bow" / "run.json").read_text("utf-8"))
    listed = {one["run"]: one for one in value["test"]["members"]}
    assert list(listed) == value["chosen"]
    if "runs/bow" in listed:
        assert listed["runs/bow"]["accuracy"] == pytest.approx(rows["test"]["accuracy"])
    done = senti("evaluate", "best", "other.csv", "--json", "--bootstrap", "0", cwd=folder)
    assert done.code == 0, done.err


def test_the_output_names_where_it_was_chosen_and_judged(folder: Path) -> None:
    done = senti("ensemble", *RUNS, "--select", "-o", "shown", cwd=folder)
    assert "On dev, 40 rows" in done.out
    assert "of 3 runs, by greedy forward selection on dev" in done.out
    assert "On test, 80 rows" in done.out
    assert "judged on test: nothing was chosen there" in done.out
    done = senti("ensemble", *RUNS, "--dev", "other.csv", "-o", "unjudged", cwd=folder)
    assert "not judged: dev chose the ensemble" in done.out
    assert "greedy" not in done.out


def test_a_file_to_judge_on_may_be_named(folder: Path) -> None:
    value = made(folder, *RUNS, "--test", "other.csv", "-o", "named")
    assert len(value["members"]) == len(value["test"]["members"]) == 3
    assert "chosen" not in value


# (name, arguments, part of the message)
REFUSED = [
    ("dev is test", [*RUNS, "--dev", "other.csv", "--test", "other.csv"], "holds rows of dev, which choose"),
    ("trained on", [*RUNS, "--dev", "other.csv", "--test", "reviews.csv"], "was trained on"),
    ("where of nothing", [*RUNS, "--where", "split=dev"], "--where goes with --dev"),
    ("no such file", [*RUNS, "--dev", "missing.csv"], "missing.csv"),
    ("no run", ["runs/bow", "runs/none"], "runs/none"),
    ("one", ["runs/bow"], "give two runs or more"),
]


@pytest.mark.parametrize(("args", "said"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_refusals(args: list[str], said: str, folder: Path) -> None:
    done = senti("ensemble", *args, "-o", "refused", cwd=folder)
    assert done.code == 2, done.out
    assert said in done.err
    assert not (folder / "refused").exists()


def test_runs_with_different_validation_rows_need_a_file(folder: Path) -> None:
    done = senti("train", "reviews.csv", "--arch", "nb", "--no-baseline", "-q", "-o", "runs/else", cwd=folder)
    assert done.code == 0, done.err
    done = senti("train", "other.csv", "--arch", "nb", "--no-baseline", "-q", "-o", "runs/far", cwd=folder)
    done = senti("ensemble", "runs/bow", "runs/far", "-o", "refused", cwd=folder)
    assert done.code == 2
    assert "the runs have different validation rows; name a file of rows to choose on: --dev FILE" in done.err


def test_changed_data_is_no_dev(folder: Path, tmp_path: Path) -> None:
    write(tmp_path / "reviews.csv", 300)
    for name in ("bow", "nb"):
        senti("train", "reviews.csv", "--arch", name, "--no-baseline", "-q", "-o", name, cwd=tmp_path)
    write(tmp_path / "reviews.csv", 300, seed=3)
    done = senti("ensemble", "bow", "nb", "-o", "refused", cwd=tmp_path)
    assert done.code == 2
    assert "has changed since the run began" in done.err
