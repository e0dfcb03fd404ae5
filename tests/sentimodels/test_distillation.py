"""Distillation: training data, excluded rows, and resumed runs."""

import csv
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from distilling import make, student
from labelled_reviews import rows, tree, write
from oracles.distillation import by_hand
from sentimodels import Classifier
from sentimodels.data import Table, TrainingRecord, read_table
from sentimodels.data.writers import write_table
from sentimodels.errors import CheckpointError, ConfigError, DataError
from sentimodels.recipes.distillation import resolve_distillation
from sentimodels.runs.ensemble import Ensemble
from sentimodels.runs.execute import Callbacks, resume, train
from sentimodels.runs.families import check_command, resolve
from sentimodels.runs.report import evaluate
from sentimodels.runs.tables import Tables
from sentimodels.runs.teacher import taught_tables
from sentimodels.runs.verify import verify


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("made"))


def one_loss(made: Path, label_weight: float, labels: list[int]) -> float:
    """The loss of a batch of three texts by a fresh student, summed."""
    from sentimodels.models import build
    from sentimodels.runs.tables import SoftLabels, task_of
    from sentimodels.text.encoder import encoder_for

    config = student(made, task={"label_weight": label_weight, "temperature": 2.0})
    texts = ["good film", "bad film", "a plot"]
    encoder = encoder_for(config, texts)
    torch.manual_seed(0)
    module = build(config.arch, config.model, encoder.inputs(2)).eval()
    answers = np.array([[0.1, 0.9], [0.8, 0.2], [0.5, 0.5]], np.float32)
    tables = Tables.of(Table.of(texts, ["neg", "pos", "neg"]))
    tables.soft_labels = SoftLabels(answers, None, None, ())
    task = task_of(config, tables, encoder.encode(texts), np.array(labels), None, None, None)
    (batch,) = task.batches(0, 0, 0, 1)
    with torch.no_grad():
        logits = module(**batch.inputs()).double().tolist()
        loss, n = task.loss(module, batch)
    assert n == 3
    expected = 0.0
    for place, row in enumerate(batch.index.tolist()):
        taught = by_hand(logits[place], answers[row].tolist(), 2.0)
        weight = label_weight if labels[row] >= 0 else 0.0
        z = logits[place]
        given = math.log(sum(map(math.exp, z))) - z[labels[row]]
        expected += (1 - weight) * taught + weight * given
    assert float(loss) == pytest.approx(expected, rel=1e-5)
    return float(loss)


def test_labels_have_their_weight_in_rows_that_have_one(made: Path) -> None:
    none = one_loss(made, 0.3, [-1, -1, -1])
    assert none == one_loss(made, 0.0, [1, 0, 1])
    assert none != one_loss(made, 0.3, [1, -1, -1])


def test_a_student_learns_its_teacher_from_texts_without_labels(made: Path, tmp_path: Path) -> None:
    config = student(made, data={"train": str(made / "texts.txt"), "format": "lines"}, train={"epochs": 8})
    about = train(config, tmp_path / "student")
    assert about["labels"] == {"neg": 0, "pos": 0}
    assert about["rows"] == {"train": 270, "valid": 30, "test": 0}
    assert about["fit"]["monitor"] == "val_divergence"
    assert "valid" not in about
    assert about["distilled"]["agreement"] > 0.85
    teacher, learned = Classifier.load(made / "teacher"), Classifier.load(tmp_path / "student")
    others = [text for text, _ in rows(200, seed=99)]
    assert (teacher.predict_proba(others).argmax(1) == learned.predict_proba(others).argmax(1)).mean() > 0.85
    assert verify(tmp_path / "student") == []
    lines = [json.loads(line) for line in (tmp_path / "student" / "metrics.jsonl").read_text().splitlines()]
    divergences = [line["val_divergence"] for line in lines if "val_divergence" in line]
    assert divergences[-1] < divergences[0]


def test_without_data_the_parts_are_the_teachers(made: Path, tmp_path: Path) -> None:
    about = train(student(made, train={"epochs": 2}), tmp_path / "student")
    records = [TrainingRecord.load(run) for run in (made / "teacher", tmp_path / "student")]
    for role in ("train", "valid"):
        assert records[0].rows[role].tolist() == records[1].rows[role].tolist()
    assert about["fit"]["monitor"] == "val_macro_f1"
    assert {"valid", "crossed", "distilled"} <= set(about)
    taught = about["distilled"]
    assert taught["part"] == "valid"
    assert (
        taught["teacher"]["accuracy"]
        == json.loads((made / "teacher" / "run.json").read_text())["valid"]["accuracy"]
    )
    assert 0 <= taught["agreement"] <= 1


def test_rows_with_and_without_labels_learn_together(made: Path, tmp_path: Path) -> None:
    with (tmp_path / "some.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label"])
        writer.writerows(
            (text, label if row % 2 else "") for row, (text, label) in enumerate(rows(100, seed=5))
        )
    notes: list[str] = []
    config = student(made, data={"train": str(tmp_path / "some.csv")}, train={"epochs": 1})
    about = train(config, tmp_path / "student", callbacks=Callbacks(on_warning=notes.append))
    assert 0 < sum(about["labels"].values()) < about["rows"]["train"]
    assert any("some rows that judge have no label" in note for note in notes)
    assert about["fit"]["monitor"] == "val_divergence"


@pytest.mark.parametrize("arch", ["tfidf", "bow", "lstm", "gpt"])
def test_students_of_other_architectures(made: Path, arch: str, tmp_path: Path) -> None:
    more = {} if arch in ("tfidf", "bow") else {"train": {"epochs": 1}}
    about = train(student(made, arch, **more), tmp_path / "student", baseline=False)
    assert about["arch"] == arch
    assert set(Classifier.load(tmp_path / "student").predict(["a great lovely film"])) <= {"neg", "pos"}
    if arch == "bow":  # of the teacher's own kind, it learns its likeliest labels
        assert about["distilled"]["agreement"] > 0.9


def test_an_ensemble_teaches(made: Path, tmp_path: Path) -> None:
    config = resolve(tree("tfidf", made / "reviews.csv"))
    train(config, tmp_path / "other", baseline=False)
    runs = [made / "teacher", tmp_path / "other"]
    members = tuple(Classifier.load(run) for run in runs)
    Ensemble(members, (0.5, 0.5)).save(tmp_path, runs, "0" * 64)
    config = student(made, task={"teacher": str(tmp_path)}, train={"epochs": 1})
    about = train(config, tmp_path / "student")
    assert about["distilled"]["teacher"]["accuracy"] > 0.8
    roles = [source.role for source in TrainingRecord.load(tmp_path / "student").sources]
    assert roles == ["train", "valid", "teacher-0", "teacher-1"]


# What stays out.


def test_rows_that_judged_the_teacher_are_left_out(made: Path, tmp_path: Path) -> None:
    data = {"train": str(made / "reviews.csv"), "valid_share": 0.0}
    notes: list[str] = []
    about = train(
        student(made, data=data, train={"epochs": 1}),
        tmp_path / "student",
        callbacks=Callbacks(on_warning=notes.append),
    )
    assert about["rows"]["train"] == 360
    assert any("40 rows of" in note and "the teacher was evaluated are left out" in note for note in notes)
    kept = TrainingRecord.load(tmp_path / "student").rows["train"]
    assert not set(kept) & set(TrainingRecord.load(made / "teacher").rows["valid"])


def test_rows_the_teacher_learned_from_do_not_judge(made: Path, tmp_path: Path) -> None:
    config = student(made, data={"train": str(made / "reviews.csv"), "split_seed": 1})
    with pytest.raises(DataError, match=r"the teacher was trained on \d+ of the 40 validation rows"):
        train(config, tmp_path / "student")
    test = {"train": str(made / "texts.txt"), "format": "lines", "test": str(made / "reviews.csv")}
    with pytest.raises(DataError, match=r"trained on 360 of the 400 test rows"):
        train(student(made, data=test), tmp_path / "student")
    assert not (tmp_path / "student").exists()


def test_texts_of_the_teacher_among_those_that_judge_are_told(made: Path, tmp_path: Path) -> None:
    write_table(read_table(made / "reviews.csv").take(range(20)), tmp_path / "copied.csv")
    write_table(Table.of([text for text, _ in rows(50, seed=3)]), tmp_path / "more.csv")
    data = {"train": str(tmp_path / "more.csv"), "valid": str(tmp_path / "copied.csv")}
    notes: list[str] = []
    train(
        student(made, data=data, train={"epochs": 1}),
        tmp_path / "student",
        callbacks=Callbacks(on_warning=notes.append),
    )
    assert any("validation rows have a text that the teacher was trained on" in note for note in notes)


def test_a_student_is_not_scored_on_what_its_teacher_learned(made: Path, tmp_path: Path) -> None:
    config = student(made, data={"train": str(made / "texts.txt"), "format": "lines"}, train={"epochs": 1})
    train(config, tmp_path / "student")
    table = read_table(made / "reviews.csv")
    learned = Classifier.load(tmp_path / "student")
    with pytest.raises(DataError, match="the teacher of the run was trained on 360 of these 400 rows"):
        evaluate(learned, table, run=tmp_path / "student")
    valid = table.take(TrainingRecord.load(made / "teacher").rows["valid"])
    found, _ = evaluate(learned, valid, run=tmp_path / "student")
    assert found.seen is not None
    # And so for a student of the student.
    again = student(made, data={"train": str(made / "texts.txt"), "format": "lines"}, train={"epochs": 1},
                    task={"teacher": str(tmp_path / "student")})  # fmt: skip
    train(again, tmp_path / "again")
    with pytest.raises(DataError, match="the teacher of the run was trained on 360"):
        evaluate(Classifier.load(tmp_path / "again"), table, run=tmp_path / "again")


def test_leaks_between_the_students_parts_are_dropped_or_refused(made: Path, tmp_path: Path) -> None:
    texts = [text for text, _ in rows(60, seed=8)]
    write_table(Table.of(texts), tmp_path / "texts.csv")
    write_table(Table.of([text.upper() for text in texts[:10]], ["pos", "neg"] * 5), tmp_path / "valid.csv")
    data = {"train": str(tmp_path / "texts.csv"), "valid": str(tmp_path / "valid.csv")}
    with pytest.raises(DataError, match="10 of the 10 rows of valid"):
        train(student(made, data={**data, "leaks": "fail"}), tmp_path / "student")
    dropped = student(made, data={**data, "leaks": "drop"}, train={"epochs": 1})
    assert train(dropped, tmp_path / "student")["rows"]["train"] == 50


def test_what_fitted_an_ensemble_does_not_teach(made: Path, tmp_path: Path) -> None:
    table = read_table(made / "reviews.csv")
    dev = tmp_path / "dev.csv"
    write_table(Table.of([text for text, _ in rows(40, seed=4)], ["neg", "pos"] * 20), dev)
    member = Classifier.load(made / "teacher")
    Ensemble((member,), (1.0,)).save(tmp_path, [made / "teacher"], read_table(dev).sha256)
    assert table.sha256 != read_table(dev).sha256
    config = student(made, task={"teacher": str(tmp_path)}, data={"train": str(dev)})
    with pytest.raises(DataError, match="were chosen on its rows"):
        train(config, tmp_path / "student")


# Resumed runs, and refusals.


def test_a_stopped_distillation_goes_on_to_the_same_bytes(made: Path, tmp_path: Path) -> None:
    config = student(made, data={"train": str(made / "texts.txt"), "format": "lines"}, train={"epochs": 3})
    whole = train(config, tmp_path / "whole", baseline=False)
    asked = iter(range(1000))
    stopped = train(
        config,
        tmp_path / "stopped",
        baseline=False,
        callbacks=Callbacks(should_stop=lambda: next(asked) >= 20),
    )
    assert stopped["fit"]["stop"] == "stopped"
    with pytest.raises(CheckpointError, match=r"stopped: a run of senti distill; senti distill --resume"):
        check_command(tmp_path / "stopped", "train")
    about = resume(tmp_path / "stopped")
    assert about["fit"]["stop"] == whole["fit"]["stop"]
    assert about["distilled"] == whole["distilled"]
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "stopped")]
    assert weights[0] == weights[1]
    with pytest.raises(CheckpointError, match="nothing to resume"):
        resume(tmp_path / "stopped")


def test_another_teacher_ends_a_stopped_distillation(made: Path, tmp_path: Path) -> None:
    train(resolve(tree("tfidf", made / "reviews.csv")), tmp_path / "teacher", baseline=False)
    config = student(made, task={"teacher": str(tmp_path / "teacher")}, train={"epochs": 2})
    train(config, tmp_path / "student", callbacks=Callbacks(should_stop=lambda: True))
    manifest = tmp_path / "teacher" / "manifest.json"
    manifest.write_bytes(manifest.read_bytes() + b"\n")
    with pytest.raises(CheckpointError, match="has changed since the distillation began"):
        resume(tmp_path / "student")
    with pytest.raises(CheckpointError, match="a run of senti train; senti train --resume"):
        check_command(made / "teacher", "distill")


def test_early_stopping_follows_the_divergence(made: Path, tmp_path: Path) -> None:
    config = student(
        made, data={"train": str(made / "texts.txt"), "format": "lines"},
        train={"epochs": 30, "patience": 1}, optim={"lr": 0.3},
    )  # fmt: skip
    about = train(config, tmp_path / "student", baseline=False)
    assert about["fit"]["stop"] == "patience"
    assert about["fit"]["best_step"] < about["fit"]["steps"]


# (configuration, message)
REFUSED: list[tuple[str, dict[str, Any], type[Exception], str]] = [
    ("no teacher", {"task": {"teacher": ""}}, ConfigError, "name the teacher"),
    (
        "a folder that is not there",
        {"task": {"teacher": "nowhere"}},
        CheckpointError,
        "nowhere: no such folder",
    ),
    ("temperature", {"task": {"temperature": 0}}, ConfigError, r"task\.temperature"),
    ("weight", {"task": {"label_weight": 1.5}}, ConfigError, r"task\.label_weight"),
    ("loss", {"task": {"loss": "mse"}}, ConfigError, r"task\.loss"),
    ("another task", {"task": {"kind": "classification"}}, ConfigError, "task"),
    ("refit", {"train": {"refit": True}}, ConfigError, r"train\.refit"),
    ("folds", {"data": {"folds": 3}}, ConfigError, r"data\.folds"),
    ("auto", {"arch": "auto"}, ConfigError, 'arch "auto"'),
]


@pytest.mark.parametrize(("name", "asked", "kind", "said"), REFUSED, ids=[row[0] for row in REFUSED])
def test_wrong_settings(
    made: Path, name: str, asked: dict[str, Any], kind: type[Exception], said: str, tmp_path: Path
) -> None:
    base = {"arch": "cnn", "task": {"teacher": str(made / "teacher")}}
    with pytest.raises(kind, match=said):
        train(resolve_distillation(base, asked), tmp_path / "student")
    assert not (tmp_path / "student").exists()


def test_labels_that_the_teacher_does_not_know_are_named(made: Path, tmp_path: Path) -> None:
    write_table(Table.of(["a film", "a plot"] * 20, ["pos", "maybe"] * 20), tmp_path / "other.csv")
    with pytest.raises(DataError, match="unknown label 'maybe'"):
        train(student(made, data={"train": str(tmp_path / "other.csv")}), tmp_path / "student")


def test_teachers_of_other_rows_need_the_texts_named(made: Path, tmp_path: Path) -> None:
    write(tmp_path / "other.csv", 100, seed=11)
    train(resolve(tree("tfidf", tmp_path / "other.csv")), tmp_path / "other", baseline=False)
    runs = [made / "teacher", tmp_path / "other"]
    Ensemble(tuple(Classifier.load(run) for run in runs), (0.5, 0.5)).save(tmp_path, runs, "0" * 64)
    with pytest.raises(
        ConfigError, match="trained on different rows; name the texts to learn from: --data FILE"
    ):
        resolve_distillation({"task": {"teacher": str(tmp_path)}})


# The command.


def test_some_rows_keep_what_the_teacher_answers(made: Path) -> None:
    teacher = str(made / "teacher")
    config = resolve_distillation({"arch": "cnn", "task": {"teacher": teacher}})
    loaded = Classifier.load(made / "teacher")
    whole = taught_tables(config, made / "teacher", loaded, None, None)
    assert whole.soft_labels is not None
    some = whole.some(range(0, 20, 5))
    assert some.soft_labels is not None
    assert (some.valid, some.test) == (None, None)
    assert some.train.texts == whole.train.texts[0:20:5]
    np.testing.assert_array_equal(some.soft_labels.train, whole.soft_labels.train[0:20:5])
    np.testing.assert_array_equal(some.to_fit(), whole.soft_labels.train[0:20:5].argmax(1))
    assert len(whole.train) == len(whole.soft_labels.train) == 360
