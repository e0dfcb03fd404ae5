"""`senti reproduce`: a run of every kind is trained again; differences are named."""

import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import alignment_runs
import distilling
from labelled_reviews import write
from parallel_numbers import TINY, write_pairs
from pretrained_runs import pretrained
from senti_in_process import senti
from sentimodels.config import DEFAULT_TASK, TASKS, trained_by
from sentimodels.runs.directory import read_json, to_json, write_manifest
from sentimodels.runs.execute import train
from sentimodels.runs.families import FAMILIES

LSTM = ["--arch", "lstm", "--preset", "nano", "--epochs", "1", "--no-baseline", "--threads", "1"]
LSTM += ["--set", "model.d_model=16", "--set", "model.d_hidden=16", "--set", "data.vocab_size=300"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of an LSTM on reviews.csv."""
    folder = tmp_path_factory.mktemp("reproduce")
    write(folder / "reviews.csv")
    done = senti("train", "reviews.csv", *LSTM, "-o", "run", cwd=folder)
    assert done.code == 0, done.err
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """A copy, whose data lies elsewhere than the run says."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path


def reproduced(folder: Path, *args: str, code: int = 0) -> dict[str, Any]:
    done = senti("reproduce", *args, "--json", cwd=folder)
    assert done.code == code, done.err
    value: dict[str, Any] = json.loads(done.out)
    assert value["schema"] == "senti.reproduce/1"
    return value


def test_a_run_becomes_the_same(made: Path) -> None:
    value = reproduced(made, "run")
    assert value["verdict"] == "weights"
    assert value["mismatches"] == []
    assert value["weights"]["equal"]
    assert value["weights"]["tensors"] > 3
    assert value["scores"]["equal"]
    assert value["scores"]["compared"] > 5
    assert {path.name for path in made.iterdir()} == {"reviews.csv", "run"}


def test_the_new_run_is_kept_where_it_is_asked_for(folder: Path) -> None:
    value = reproduced(folder, "run", "reviews.csv", "--to", "again")
    assert value["to"] == "again"
    assert senti("verify", "again", cwd=folder).code == 0
    weights = [(folder / name / "model.safetensors").read_bytes() for name in ("run", "again")]
    assert weights[0] == weights[1]
    done = senti("reproduce", "run", "--to", "again", cwd=folder)
    assert done.code == 2
    assert "--to again" in done.err
    assert senti("reproduce", "run", "reviews.csv", "-q", cwd=folder).out.strip() == "weights"


def test_a_changed_file_is_named(folder: Path) -> None:
    rows = (folder / "reviews.csv").read_text("utf-8").splitlines(keepends=True)
    (folder / "changed.csv").write_text("".join([*rows[:-40], "a new film,pos\n"]), "utf-8")
    value = reproduced(folder, "run", "changed.csv", code=1)
    assert value["verdict"] == "neither"
    data = next(one for one in value["mismatches"] if one["what"] == "data (train)")
    assert "changed.csv" in data["now"]
    assert "senti reproduce run FILE" in data["remedy"]
    assert value["weights"]["differ"]
    # A column that nothing reads changes the file alone.
    more = [line.rstrip("\n") + f",{place}\n" for place, line in enumerate(rows[1:])]
    (folder / "more.csv").write_text("".join(["text,label,number\n", *more]), "utf-8")
    value = reproduced(folder, "run", "more.csv")
    assert value["verdict"] == "weights"
    assert [one["what"] for one in value["mismatches"]] == ["data (train)", "data (valid)"]


def test_a_missing_file_is_named(folder: Path) -> None:
    text = (folder / "run" / "config.toml").read_text("utf-8")
    there = json.dumps(str(Path(text.split('train = "')[1].split('"')[0])))
    (folder / "run" / "config.toml").write_text(text.replace(there, '"/nowhere/reviews.csv"'), "utf-8")
    write_manifest(folder / "run")
    done = senti("reproduce", "run", cwd=folder)
    assert done.code == 2
    assert "/nowhere/reviews.csv" in done.err
    assert "senti reproduce run FILE" in done.err
    assert reproduced(folder, "run", "reviews.csv")["verdict"] == "weights"


def change(run: Path, **values: Any) -> None:
    """Changes what `run.json` says, and the manifest with it."""
    about = read_json(run / "run.json")
    for key, value in values.items():
        about[key] = {**about[key], **value} if isinstance(value, dict) else value
    (run / "run.json").write_bytes(to_json(about))
    write_manifest(run)


def test_other_versions_are_named(folder: Path) -> None:
    change(folder / "run", versions={"torch": "1.0.0", "python": "3.1.4"})
    value = reproduced(folder, "run", "reviews.csv")
    assert value["verdict"] == "weights"
    remedies = {one["what"]: one["remedy"] for one in value["mismatches"]}
    assert remedies == {
        "torch": "pip install torch==1.0.0",
        "python": "create an environment with Python 3.1.4",
    }
    done = senti("reproduce", "run", "reviews.csv", cwd=folder)
    assert "torch: 1.0.0 then" in done.err  # before training
    assert "pip install torch==1.0.0" in done.out


def test_another_number_of_threads_is_named(folder: Path) -> None:
    words = ["--arch", "tfidf", "--threads", "1", "-o", "one"]
    assert senti("train", "reviews.csv", *words, cwd=folder).code == 0
    value = reproduced(folder, "one", "--threads", "2")
    [threads] = value["mismatches"]
    assert (threads["what"], threads["then"], threads["now"]) == ("threads", "1", "2")
    assert "--threads" in threads["remedy"]
    assert value["verdict"] in ("weights", "scores")


def test_scores_may_be_equal_where_weights_are_not(folder: Path) -> None:
    from safetensors import safe_open
    from safetensors.torch import save_file

    path = folder / "run" / "model.safetensors"
    with safe_open(path, framework="pt") as file:
        tensors, metadata = {name: file.get_tensor(name) for name in file.keys()}, file.metadata()  # noqa: SIM118  # 2026-11-30: not a dict
    name = next(name for name in tensors if tensors[name].ndim == 2)
    tensors[name][0, 0] += 1e-3
    save_file(tensors, path, metadata)
    write_manifest(folder / "run")
    value = reproduced(folder, "run", "reviews.csv")
    assert value["verdict"] == "scores"
    assert value["weights"]["differ"] == [name]
    assert value["weights"]["largest"] == pytest.approx(1e-3, rel=1e-2)
    scores = read_json(folder / "run" / "run.json")["crossed"]
    change(folder / "run", crossed={"accuracy": scores["accuracy"] + 0.01})
    value = reproduced(folder, "run", "reviews.csv", code=1)
    assert value["verdict"] == "neither"
    differ = value["scores"]["differ"]["crossed.accuracy"]
    assert differ["then"] == pytest.approx(differ["now"] + 0.01)


def imported(run: Path) -> None:
    change(run, imported="BertModel")


def unfinished(run: Path) -> None:
    (run / "manifest.json").unlink()


def edited(run: Path) -> None:
    with (run / "config.toml").open("a") as file:
        file.write("\n")


@pytest.mark.parametrize(
    ("harm", "said"),
    [(imported, "imported from BertModel"), (unfinished, "not finished"), (edited, "config.toml: changed")],
)
def test_what_cannot_be_trained_again(harm: Callable[[Path], None], said: str, folder: Path) -> None:
    harm(folder / "run")
    done = senti("reproduce", "run", "reviews.csv", cwd=folder)
    assert done.code == 2
    assert said in done.err


def test_two_files_of_a_run_of_one_are_refused(folder: Path) -> None:
    done = senti("reproduce", "run", "reviews.csv", "other.csv", cwd=folder)
    assert done.code == 2
    assert "other.csv" in done.err


def test_an_ensemble_is_refused(folder: Path) -> None:
    for seed in ("1", "2"):
        words = ["--arch", "nb", "--no-baseline", "--set", f"train.seed={seed}", "-o", f"nb-{seed}"]
        assert senti("train", "reviews.csv", *words, cwd=folder).code == 0
    done = senti("ensemble", "nb-1", "nb-2", "--select", "-o", "both", cwd=folder)
    assert done.code == 0, done.err
    done = senti("reproduce", "both", cwd=folder)
    assert done.code == 2
    assert "an ensemble" in done.err
    assert "senti reproduce" in done.err


@pytest.mark.parametrize("words", [["--folds", "2"], ["--seeds", "2"]])
def test_groups_are_reproduced_run_by_run(words: list[str], folder: Path) -> None:
    done = senti("train", "reviews.csv", "--arch", "nb", *words, "-o", "group", cwd=folder)
    assert done.code == 0, done.err
    value = reproduced(folder, "group", "--to", "again")
    assert value["verdict"] == "weights"
    assert [one["verdict"] for one in value["runs"]] == ["weights", "weights"]
    assert len(list((folder / "again").iterdir())) == 2


def a_classifier(folder: Path, kind: str = DEFAULT_TASK) -> list[str]:
    write(folder / "reviews.csv")
    words = ["--task", kind, "--arch", "nb", "--test-share", "0.2", "-o", "run"]
    return ["train", "reviews.csv", *words]


def a_refitted_classifier(folder: Path) -> list[str]:
    return [*a_classifier(folder), "--refit"]


def ordered_labels(folder: Path) -> list[str]:
    text = write(folder / "stars.csv").read_text("utf-8")
    (folder / "stars.csv").write_text(text.replace(",pos", ",3").replace(",neg", ",1"), "utf-8")
    return ["train", "stars.csv", "--arch", "bow", "--task", "ordinal", "-o", "run"]


def several_labels(folder: Path) -> list[str]:
    text = write(folder / "reviews.csv").read_text("utf-8")
    (folder / "reviews.csv").write_text(text.replace(",pos", ",pos|any").replace(",neg", ",any"), "utf-8")
    return ["train", "reviews.csv", "--arch", "nb", "--label-separator", "|", "-o", "run"]


def a_student(folder: Path) -> list[str]:
    distilling.make(folder)
    return ["distill", "teacher", "--arch", "nb", "-o", "run"]


def a_language_model(folder: Path) -> list[str]:
    pretrained(folder, "few")
    shutil.move(folder / "lm" / "few", folder / "run")
    return []


def a_masked_model(folder: Path) -> list[str]:
    pretrained(folder, "bert")
    shutil.move(folder / "lm" / "bert", folder / "run")
    return []


def a_translator(folder: Path) -> list[str]:
    write_pairs(folder, "train", 200, 1)
    return ["translate", "train", "train.en", "train.de", *TINY, "--epochs", "1", "-o", "run"]


def an_alignment(folder: Path, method: str) -> list[str]:
    alignment_runs.make(folder)
    train(alignment_runs.config_of(folder, method, train={"max_steps": 2}), folder / "run")
    return []


# By kind of task, how a run of it is trained; tasks of `senti train` that need no more than `--task` first.
KINDS: dict[str, Callable[[Path], list[str]]] = {
    **{kind: partial(a_classifier, kind=kind) for kind in trained_by("train")},
    "ordinal": ordered_labels,
    "multilabel": several_labels,
    "distillation": a_student,
    "next-token": a_language_model,
    "masked": a_masked_model,
    "seq2seq": a_translator,
    "ppo": lambda folder: an_alignment(folder, "ppo"),
    "dpo": lambda folder: an_alignment(folder, "dpo"),
    "refit": a_refitted_classifier,
}


def test_every_task_is_reproduced_here() -> None:
    assert set(KINDS) >= set(TASKS)
    assert {row.family for row in TASKS.values()} == {family.name for family in FAMILIES}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_run_becomes_the_same(kind: str, tmp_path: Path) -> None:
    if words := KINDS[kind](tmp_path):
        done = senti(*words, cwd=tmp_path)
        assert done.code == 0, done.err
    value = reproduced(tmp_path, "run")
    assert value["verdict"] == "weights", value
    assert value["mismatches"] == []
    assert value["scores"]["compared"] or kind == "dpo"


def test_a_changed_corpus_and_a_changed_teacher_are_named(tmp_path: Path) -> None:
    a_language_model(tmp_path)
    books = tmp_path / "books.txt"
    books.write_text("one more line\n" + books.read_text("utf-8"), "utf-8")
    value = reproduced(tmp_path, "run", code=1)
    assert [one["what"] for one in value["mismatches"]] == ["data (file 1)"]
    (tmp_path / "student").mkdir()
    assert senti(*a_student(tmp_path / "student"), cwd=tmp_path / "student").code == 0
    change(tmp_path / "student" / "teacher", arch="other")
    value = reproduced(tmp_path / "student", "run")
    assert [one["what"] for one in value["mismatches"]] == ["setting task.teacher_sha256"]
