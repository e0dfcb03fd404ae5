"""Folds and sweeps: rows, runs, ranking, and that a stopped group resumes."""

import json
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from labelled_reviews import rows, write
from senti_in_process import senti
from sentimodels.data import Table
from sentimodels.data.split import folds
from sentimodels.errors import ConfigError, DataError
from sentimodels.runs import group
from sentimodels.runs.sweep import combinations


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with reviews.csv, and grouped.csv, whose rows come in threes."""
    path = tmp_path_factory.mktemp("groups")
    write(path / "reviews.csv", 200)
    lines = [f"{text},{label},{place // 3}" for place, (text, label) in enumerate(rows(150))]
    (path / "grouped.csv").write_text("text,label,group\n" + "\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("n", [2, 3, 7])
@pytest.mark.parametrize("grouped", [False, True])
def test_folds_divide_the_rows(n: int, grouped: bool) -> None:
    texts, labels = zip(*rows(100), strict=True)
    groups = [str(place // 4) for place in range(100)] if grouped else None
    table = Table.of(texts, labels, groups)
    found = folds(table, n)
    assert sorted(row for fold in found for row in fold) == list(range(100))
    units = 25 if grouped else 100
    sizes = [len(fold) // (4 if grouped else 1) for fold in found]
    assert sum(sizes) == units
    assert max(sizes) - min(sizes) <= 1
    if grouped:  # a group is on one side
        owner = {row // 4: place for place, fold in enumerate(found) for row in fold}
        assert all(owner[row // 4] == place for place, fold in enumerate(found) for row in fold)
    else:
        shares = [Counter(labels[row] for row in fold)["pos"] for fold in found]
        assert max(shares) - min(shares) <= 1
    assert folds(table, n) == found
    assert folds(table, n, seed=7) != found


def test_too_few_for_the_folds() -> None:
    with pytest.raises(DataError, match="2 groups cannot make 3 folds"):
        folds(Table.of(["a", "b", "c"], ["0", "1", "0"], ["x", "x", "y"]), 3)
    with pytest.raises(DataError, match="1 rows cannot make 2 folds"):
        folds(Table.of(["a"], ["0"]), 2)


def test_cross_validation(folder: Path) -> None:
    args = ["train", "grouped.csv", "--arch", "tfidf", "--folds", "3", "-o", "runs/folds", "--json"]
    done = senti(*args, cwd=folder)
    assert done.code == 0, done.err
    value = json.loads(done.out)
    assert value["schema"] == "senti.train/1"
    assert [one["rows"]["train"] + one["rows"]["valid"] for one in value["folds"]] == [99, 99, 102]
    scores = [one["test"]["accuracy"] for one in value["folds"]]
    assert value["spread"]["accuracy"]["mean"] == pytest.approx(sum(scores) / 3)
    assert value["spread"]["accuracy"]["interval"] > 0
    assert all("tfidf" not in one["baselines"] for one in value["folds"])
    for place in range(3):
        assert senti("verify", f"runs/folds/fold-{place}", cwd=folder).code == 0
    for again in (["grouped.csv", "--arch", "tfidf", "--folds", "3", "-o", "runs/folds"],
                  ["--resume", "runs/folds"]):  # fmt: skip
        done = senti("train", *again, cwd=folder)
        assert done.code == 2
        assert "holds a group of runs already" in done.err or "all its folds have finished" in done.err


def test_folds_say_what_they_reach(folder: Path) -> None:
    done = senti("train", "grouped.csv", "--arch", "nb", "--folds", "2", cwd=folder)
    assert done.code == 0, done.err
    assert re.search(r"^nb +training rows +accuracy +macro F1$", done.out, re.M)
    assert re.search(r"^fold 1 ", done.out, re.M)
    assert re.search(r"^2 folds +mean +95 %\naccuracy +[01]\.\d{4} +± 0\.\d{4}$", done.out, re.M)
    assert (folder / "runs" / "nb-folds" / "fold-1" / "manifest.json").is_file()


SMALL = ["--arch", "cnn", "--set", "model.d_model=8", "--set", "model.filters=4", "--set",
         "data.vocab_size=300", "--threads", "1", "--epochs", "1"]  # fmt: skip


def test_stopped_folds_go_on(folder: Path, tmp_path: Path) -> None:
    args = ["train", "grouped.csv", *SMALL, "--folds", "3", "--json"]
    whole = senti(*args, "-o", "runs/whole", cwd=folder)
    assert whole.code == 0, whole.err
    asked = iter(range(1000))
    with patch("sentimodels.cli.launch.Stopper.__call__", lambda _: next(asked) == 8):
        done = senti(*args, "-o", "runs/parts", cwd=folder)
    assert done.code == 130, done.err
    assert "resume with senti train --resume runs/parts" in done.err.replace("\\", "/")
    assert not (folder / "runs" / "parts" / "fold-2").exists()
    done = senti("train", "--resume", folder / "runs" / "parts", "--json", cwd=tmp_path)
    assert done.code == 0, done.err
    assert json.loads(done.out)["spread"] == json.loads(whole.out)["spread"]
    for place in range(3):
        for name in ("model.safetensors", "training_data.json"):
            files = [folder / "runs" / of / f"fold-{place}" / name for of in ("whole", "parts")]
            assert files[0].read_bytes() == files[1].read_bytes(), name


# (assignments, the combinations)
COMBINED: list[tuple[list[str], list[dict[str, str]]]] = [
    (["optim.lr=1e-3,3e-3"], [{"optim.lr": "1e-3"}, {"optim.lr": "3e-3"}]),
    (
        ["a.b=1, 2", "c.d=x"],
        [{"a.b": "1", "c.d": "x"}, {"a.b": "2", "c.d": "x"}],
    ),
    (
        ["a.b=1,2", "c.d=[1,2],[3,4]"],
        [
            {"a.b": "1", "c.d": "[1,2]"}, {"a.b": "1", "c.d": "[3,4]"},
            {"a.b": "2", "c.d": "[1,2]"}, {"a.b": "2", "c.d": "[3,4]"},
        ],
    ),
    (['a.b="x,y",z'], [{"a.b": '"x,y"'}, {"a.b": "z"}]),
]  # fmt: skip


@pytest.mark.parametrize(("assignments", "expected"), COMBINED, ids=[str(one[0]) for one in COMBINED])
def test_combinations(assignments: list[str], expected: list[dict[str, str]]) -> None:
    assert combinations(assignments) == expected


@pytest.mark.parametrize(
    ("assignments", "message"),
    [
        (["optim.lr"], "expected key=values"),
        (["a.b=1", "a.b=2"], "given twice; give its values in one list"),
        (["data.limit=10,20"], "all runs of a sweep use the same rows"),
        ([f"a.k{i}=1,2,3,4,5,6,7,8,9,10" for i in range(5)], "100,000 combinations: at most 10,000"),
    ],
)
def test_combinations_that_are_refused(assignments: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        combinations(assignments)


def test_a_sweep_ranks_by_validation_rows(folder: Path) -> None:
    args = ["sweep", "reviews.csv", "--arch", "tfidf", "--set", "model.max_features=2,5000", "--set",
            "model.c=1,2", "--threads", "1"]  # fmt: skip
    done = senti(*args, "-o", "runs/sweep", "--json", cwd=folder)
    assert done.code == 0, done.err
    value = json.loads(done.out)
    assert value["schema"] == "senti.sweep/1"
    assert (value["monitor"], value["left"], len(value["runs"])) == ("macro_f1", 0, 4)
    scores = [one["macro_f1"] for one in value["runs"]]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] > scores[-1]  # two features say little
    assert value["runs"][0]["values"]["model.max_features"] == "5000"
    assert value["best"] == value["runs"][0]["run"]
    best = json.loads((folder / "runs" / "sweep" / value["best"] / "run.json").read_text())
    assert best["valid"]["macro_f1"] == scores[0]
    assert "test" not in best
    done = senti(*args, "-o", "runs/other", cwd=folder)
    assert re.search(r"^run +model\.max_features +model\.c +macro F1", done.out, re.M)
    assert "4 runs by validation macro F1" in done.out
    assert "is too high on the rows that chose it" in done.out


def test_a_budget_ends_a_sweep_and_resume_keeps_to_it(folder: Path) -> None:
    """Each run is said to take 4 seconds: of a budget of 10, two fit."""
    clock = iter(range(0, 10_000, 4))
    args = [
        "sweep",
        "reviews.csv",
        "--arch",
        "tfidf",
        "--set",
        "model.c=0.1,1,2,5",
        "--budget",
        "10s",
        "--json",
    ]
    with patch("sentimodels.runs.group.time.process_time", lambda: next(clock)):
        done = senti(*args, "-o", "runs/budget", "--json", cwd=folder)
    assert done.code == 0, done.err
    value = json.loads(done.out)
    assert (len(value["runs"]), value["left"], value["spent"], value["budget"]) == (2, 2, 8.0, 10.0)
    again = senti("train", "--resume", "runs/budget", "--json", cwd=folder)
    assert again.code == 0, again.err
    assert json.loads(again.out) == value
    done = senti("train", "--resume", "runs/budget", cwd=folder)
    assert "2 combinations were not tried: the budget is used up" in done.out


def test_architectures_are_swept_too(folder: Path) -> None:
    done = senti("sweep", "reviews.csv", "--set", "arch=tfidf,nb", "-o", "runs/archs", "-q", cwd=folder)
    assert done.code == 0, done.err
    assert re.match(r"runs.archs.[12]\n$", done.out)
    kept = group.FILE, json.loads((folder / "runs" / "archs" / "group.json").read_text())
    assert [tree["arch"] for tree in kept[1]["runs"].values()] == ["tfidf", "nb"]


def test_a_dry_run_plans_every_combination(folder: Path) -> None:
    args = ["sweep", "reviews.csv", "--arch", "bow", "--set", "model.word_ngrams=1,2", "--set",
            "model.fit_lr=0.5,1", "--dry-run", "-o", "runs/dry"]  # fmt: skip
    done = senti(*args, "--budget", "1h", "--json", cwd=folder)
    assert done.code == 0, done.err
    value = json.loads(done.out)
    planned = value["combinations"]
    assert [one["values"] for one in planned] == [
        {"model.word_ngrams": words, "model.fit_lr": rate} for words in ("1", "2") for rate in ("0.5", "1")
    ]
    alone = [*args[:4], "--set", "model.word_ngrams=2", "--dry-run", "--json"]
    one = json.loads(senti("train", *alone[1:], cwd=folder).out)
    same = ("train_rows", "valid_rows", "vocabulary", "tokens", "parameters", "steps")
    assert [planned[-1][key] for key in same] == [one[key] for key in same]
    assert (value["runs"], value["within_budget"]) == (4, 4)
    assert value["memory_bytes"] > 1e8
    assert value["fits"]
    assert not (folder / "runs" / "dry").exists()
    many = ["sweep", "reviews.csv", "--arch", "nb", "--set", f"model.c={','.join(map(str, range(1, 51)))}"]
    with patch("sentimodels.runs.plan._PLANNED", 3):
        shown = senti(*many, "--dry-run", cwd=folder).out
    assert re.search(r"^3 combinations of 50, spread over the grid$", shown, re.M)
    assert re.findall(r"^(\d+) +[\d,]+ +0 +[\d.]+$", shown, re.M) == ["1", "25", "50"]
    assert re.search(r"^runs +50$", shown, re.M)


def test_a_sweep_from_a_base_has_its_shape(folder: Path) -> None:
    small = ["--preset", "nano", "--set", "model.d_model=24", "--epochs", "1", "--threads", "1"]
    base = senti("train", "reviews.csv", "--arch", "cnn", *small, "-o", "runs/base", "-q", cwd=folder)
    assert base.code == 0, base.err
    args = [
        "sweep",
        "reviews.csv",
        "--init",
        "runs/base",
        "--set",
        "optim.lr=0.01,0.02",
        "--dry-run",
        "--json",
    ]
    done = senti(*args, cwd=folder)
    assert done.code == 0, done.err
    about = json.loads((folder / "runs" / "base" / "run.json").read_text())
    planned = json.loads(done.out)["combinations"]
    assert [(one["arch"], one["parameters"]) for one in planned] == [("cnn", about["parameters"])] * 2


def test_a_dry_run_counts_seeds_and_folds(folder: Path) -> None:
    call = ["train", "reviews.csv", "--arch", "nb", "--dry-run", "--json"]
    one, seeds, in_folds = (
        json.loads(senti(*call, *more, cwd=folder).out) for more in ([], ["--seeds", "3"], ["--folds", "4"])
    )
    assert "runs" not in one
    assert (seeds["runs"], in_folds["runs"]) == (3, 4)
    assert seeds["train_rows"] == one["train_rows"]
    assert in_folds["train_rows"] + in_folds["valid_rows"] == 150


def test_a_sweep_without_architecture_takes_the_best(folder: Path) -> None:
    args: list[Any] = ["sweep", "reviews.csv", "--set", "model.c=0.5,1", "-o", "runs/auto", "--json"]
    done = senti(*args, cwd=folder)
    assert done.code == 0, done.err
    trees = json.loads((folder / "runs" / "auto" / "group.json").read_text())["runs"].values()
    assert {tree["arch"] for tree in trees} == {"nb"}
    assert [tree["model"]["c"] for tree in trees] == [0.5, 1.0]


# (arguments, message)
WRONG = [
    (["sweep", "reviews.csv", "--arch", "nb"], "give several values of a key"),
    (["sweep", "reviews.csv", "--arch", "nb", "--set", "model.alpha=1"], "give several values of a key"),
    (["sweep", "missing.csv", "--arch", "nb", "--set", "model.c=1,2"], "missing.csv: No such file"),
    (["sweep", "reviews.csv", "--set", "model.zzz=1,2"], "model.zzz: unknown key"),
    (["sweep", "reviews.csv", "--arch", "nb", "--set", "model.c=1,2", "--set", "data.valid_share=0",
      "-o", "runs/x"], "chooses on validation rows"),
    (["train", "reviews.csv", "--arch", "nb", "--folds", "1"], "1"),
    (["train", "reviews.csv", "--arch", "nb", "--folds", "3", "--seeds", "2"], "exclude each other"),
    (["train", "reviews.csv", "--arch", "nb", "--folds", "3", "--test", "grouped.csv", "-o", "runs/x"],
     "each fold is the test part of a run"),
    (["train", "reviews.csv", "--arch", "nb", "--set", "data.fold=3", "-o", "runs/x"], "data.fold 3: needs"),
    (["train", "reviews.csv", "--arch", "nb", "--folds", "300", "-o", "runs/x"], "200 rows cannot make 300"),
]  # fmt: skip


@pytest.mark.parametrize(("args", "message"), WRONG, ids=[" ".join(args[:7]) for args, _ in WRONG])
def test_wrong_calls(args: list[str], message: str, folder: Path) -> None:
    done = senti(*args, cwd=folder)
    assert done.code == 2, done.out
    assert message in done.err
    assert "Traceback" not in done.err


def test_a_sweep_goes_on_after_a_run_that_failed(folder: Path) -> None:
    args = ["sweep", "reviews.csv", "--arch", "cnn", "--epochs", "2", "--threads", "1"]
    rates = ["--set", "optim.lr=1e30,1e-3", "--set", "optim.clip=0"]
    done = senti(*args, *rates, "-o", "runs/diverged", "--json", cwd=folder)
    assert done.code == 0, done.err
    value = json.loads(done.out)
    assert value["best"] == "2"
    assert list(value["failed"]) == ["1"]
    assert "lower optim.lr" in value["failed"]["1"]
    assert value["left"] == 0
    done = senti(*args, "--set", "optim.lr=1e30,1e31", "--set", "optim.clip=0", "-o", "runs/all", cwd=folder)
    assert done.code == 1
    assert "all runs failed; the last: " in done.err
    done = senti("runs", "runs/all", cwd=folder)
    assert "unfinished" in done.out


# (arguments, part of the message)
MISTAKES = [
    (["sweep", "reviews.csv", "--arch", "bow", "--set", "train.seed=1,1"], "has a value twice"),
    (
        ["sweep", "reviews.csv", "--arch", "bow", "--set", "train=1,2"],
        "train: should be a section, as in [train]",
    ),
    (["sweep", "reviews.csv", "--set", "arch=bow,nb", "--label-column", "mood"], "no column 'mood'; it has"),
    (["sweep", "empty", "--set", "arch=bow,nb"], "empty: a folder without"),
    (["train", "reviews.csv", "--folds", "2", "--arch", "bow", "--label-column", "mood"], "no column 'mood'"),
    (["train", "reviews.csv", "--folds", "2", "--arch", "bow", "--group-column", "mood"], "no column 'mood'"),
    (["train", "reviews.csv", "--folds", "500", "--arch", "bow"], "200 rows cannot make 500 folds"),
    (
        ["train", "reviews.csv", "--folds", "2", "--arch", "bow", "--group-column", "label"],
        "no labels; name their column",
    ),
    (
        ["train", "reviews.csv", "--folds", "2", "--arch", "bow", "--test-share", "0.3"],
        "leave out --test-share",
    ),
    (
        ["train", "reviews.csv", "--folds", "2", "--arch", "bow", "--limit", "2"],
        "too few for 2 folds",
    ),
    (["train", "reviews.csv", "--arch", "bow", "--set", "data.fold=0"], "data.fold 0: needs data.folds"),
    (["train", "empty", "--folds", "2", "--arch", "bow"], "empty: a folder without"),
    (["runs", "empty"], "empty: no run in this folder"),
    (["runs", "nowhere"], "nowhere: no such folder"),
]


@pytest.mark.parametrize(("args", "said"), MISTAKES, ids=[" ".join(args) for args, _ in MISTAKES])
def test_mistakes_leave_no_run(args: list[str], said: str, folder: Path, tmp_path: Path) -> None:
    (folder / "empty").mkdir(exist_ok=True)
    out = [] if args[0] == "runs" else ["-o", str(tmp_path / "made")]
    done = senti(*args, *out, cwd=folder)
    assert done.code == 2, done.out
    assert said in done.err
    assert not (tmp_path / "made").exists()


def test_a_fold_may_hold_no_row_out(tmp_path: Path) -> None:
    five = [f"a {'good' if i % 2 else 'bad'} film {i},{i % 2}" for i in range(5)]
    (tmp_path / "five.csv").write_text("text,label\n" + "\n".join(five) + "\n")
    done = senti("train", "five.csv", "--arch", "nb", "--folds", "2", "--out", "runs", cwd=tmp_path)
    assert done.code == 0, done.err


def test_a_group_resumes_only_with_its_data(tmp_path: Path) -> None:
    write(tmp_path / "reviews.csv", 60)
    words = ["--arch", "nb", "--folds", "2", "--out", "runs", "--no-baseline"]
    assert senti("train", "reviews.csv", *words, cwd=tmp_path).code == 0
    shutil.rmtree(tmp_path / "runs" / "fold-1")
    with (tmp_path / "reviews.csv").open("a") as file:
        file.write("one more film,pos\n")
    done = senti("train", "--resume", "runs", cwd=tmp_path)
    assert done.code == 2
    assert all(word in done.err for word in ("reviews.csv", "changed", "put the file back"))
