"""Predictions on disk, memory, ensembles, reports: their numbers and their refusals."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fake_run
from fake_run import LABELS, some_predictions
from sentimodels.data import Labels, Table, TrainingRecord, read_table
from sentimodels.data.normalization import fold
from sentimodels.errors import CheckpointError, ConfigError, DataError
from sentimodels.evaluation.calibration import softmax
from sentimodels.evaluation.metrics import scores
from sentimodels.evaluation.predictions import (
    MODEL_SHARE,
    PhraseMemory,
    Predictions,
    WithMemory,
    binary_view,
    predict,
)
from sentimodels.predictor import load_predictor
from sentimodels.runs.directory import manifest_hash
from sentimodels.runs.ensemble import Ensemble, fit_weights, members_of
from sentimodels.runs.report import evaluate, report


@given(st.lists(st.text(max_size=20), max_size=6), st.booleans())
def test_predictions_come_back_from_disk(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], full: bool
) -> None:
    n = len(texts)
    more: dict[str, Any] = {}
    if full:
        more = {
            "groups": texts,
            "ids": texts[::-1],
            "seen": np.arange(n) % 2 == 0,
            "about": {"run": "r", "t": 1.5},
        }
    p = Predictions(LABELS, np.full((n, 3), 1 / 3, np.float32), np.full(n, -1), texts, **more)
    path = tmp_path_factory.mktemp("p") / "p.npz"
    p.save(path)
    back = Predictions.load(path)
    assert (back.labels, back.texts, back.groups, back.ids, back.about) == (
        p.labels, p.texts, p.groups, p.ids, p.about,
    )  # fmt: skip
    assert (back.probs == p.probs).all()
    assert (back.truth == p.truth).all()
    assert back.remembered is None
    assert (back.seen is None) == (not full)


def test_a_file_of_predictions_holds_no_objects(tmp_path: Path) -> None:
    some_predictions().save(tmp_path / "p.npz")
    with np.load(tmp_path / "p.npz", allow_pickle=False) as arrays:
        assert not any(arrays[name].dtype.hasobject for name in arrays)


def damaged(name: str) -> bytes:
    if name == "no zip":
        return b"PK\x03\x04 and then nothing"
    if name == "empty":
        return b""
    head = {"schema": "senti.predictions/1", "labels": ["a"], "about": {}}
    arrays: dict[str, Any] = {
        "head": np.frombuffer(json.dumps(head).encode(), np.uint8),
        "probs": np.ones((1, 1), np.float32), "truth": np.zeros(1, np.int64),
        "texts_utf8": np.frombuffer(b"abc", np.uint8), "texts_ends": np.array([3]),
    }  # fmt: skip
    match name:
        case "other schema":
            arrays["head"] = np.frombuffer(b'{"schema": "x/9"}', np.uint8)
        case "offsets":
            arrays["texts_ends"] = np.array([99])
        case "truth":
            arrays["truth"] = np.array([7])
        case "not finite":
            arrays["probs"] = np.full((1, 1), np.nan, np.float32)
        case "objects":
            arrays["probs"] = np.array([[None]], dtype=object)
        case "missing":
            del arrays["truth"]
    written = io.BytesIO()
    np.savez(written, **arrays)
    return written.getvalue()


@pytest.mark.parametrize(
    "name", ["no zip", "empty", "other schema", "offsets", "truth", "not finite", "objects", "missing"]
)
def test_damaged_predictions_are_an_error(tmp_path: Path, name: str) -> None:
    path = tmp_path / "p.npz"
    path.write_bytes(damaged(name))
    with pytest.raises(DataError):
        Predictions.load(path)


def test_labels_of_the_file_must_be_the_models(folder: Path) -> None:
    run = load_predictor(folder / "runs" / "gpt")
    with pytest.raises(DataError, match="row 2: unknown label 'pos'"):
        predict(run, Table.of(["a", "b"], ["1", "pos"]))
    assert predict(run, Table.of(["a", "b"], ["1", ""])).truth.tolist() == [1, -1]
    assert predict(run, Table.of([""])).probs.shape == (1, 2)
    with pytest.raises(DataError, match="no row has a label"):
        report(predict(run, Table.of(["a"])))


def test_what_was_trained_on_is_refused(folder: Path) -> None:
    run = folder / "runs" / "gpt"
    train = read_table(folder / "train.csv")
    with pytest.raises(DataError, match="the run was trained on"):
        evaluate(load_predictor(run), train, run=run)
    found, _ = evaluate(load_predictor(run), train, run=run, allow_trained=True)
    assert found.seen is not None
    assert found.seen.all()


def test_unseen_rows_are_reported_apart(folder: Path) -> None:
    run = folder / "runs" / "gpt"
    found, _ = evaluate(load_predictor(run), read_table(folder / "valid.csv"), run=run)
    value = report(found, n_replicates=50)
    known = set(map(fold, read_table(folder / "train.csv").texts))
    assert value["unseen"]["n_seen"] == sum(fold(text) in known for text in found.texts) >= 3
    assert value["unseen"]["n"] == value["n"] - value["unseen"]["n_seen"]
    assert found.seen is not None
    assert value["unseen"]["accuracy"] == scores(found.take(~found.seen))["accuracy"]
    assert json.loads(json.dumps(value))["n_groups"] == value["n"]


def test_the_report_agrees_with_itself(folder: Path) -> None:
    run = folder / "runs" / "gpt"
    found, _ = evaluate(load_predictor(run), read_table(folder / "valid.csv"), run=run)
    value = report(found, n_replicates=200)
    matrix = np.array(value["confusion"]["rows"])
    assert value["accuracy"] == pytest.approx(matrix.trace() / matrix.sum())
    assert value["macro_f1"] == pytest.approx(np.mean([row["f1"] for row in value["per_class"]]))
    assert sum(row["n"] for row in value["lengths"]) == sum(
        b["n"] for b in value["calibration"]["reliability"]
    )
    assert value["accuracy"] > value["majority"]["accuracy"]
    for name, (low, high) in value["intervals"].items():
        assert low <= value[name] <= high or name == "ece", name
    assert value["calibration"]["temperature"] == 1.5
    raw = fake_run.FakeClassifier.load(run)
    raw.temperature = 1.0
    before = scores(predict(raw, read_table(folder / "valid.csv")))
    for name in ("log_loss", "ece", "brier"):
        assert value["calibration"]["before"][name] == pytest.approx(before[name], abs=1e-4)


def test_a_memory_answers_what_it_knows_and_nothing_else(folder: Path) -> None:
    run = load_predictor(folder / "runs" / "gpt")
    memory = PhraseMemory(Table.of(["Good  Film", "good film", "bad"], ["1", "0", "0"]), run.labels)
    assert len(memory) == 2
    texts = ["GOOD film", "bad", "other"]
    plain = run.predict_proba(texts)
    mixed = WithMemory(run, memory).predict_proba(texts)
    assert mixed[2].tolist() == plain[2].tolist()
    assert mixed[0] == pytest.approx((1 - MODEL_SHARE) * np.array([0.5, 0.5]) + MODEL_SHARE * plain[0])
    assert mixed[1, 0] > 0.97
    assert mixed.sum(axis=1) == pytest.approx(1)
    with pytest.raises(DataError, match="unknown label"):
        PhraseMemory(Table.of(["a"], ["9"]), run.labels)


def test_memory_is_reported_apart(folder: Path) -> None:
    run = load_predictor(folder / "runs" / "gpt")
    train, valid = read_table(folder / "train.csv"), read_table(folder / "valid.csv")
    found, with_memory = evaluate(run, valid, memory=PhraseMemory(train, run.labels))
    value = report(found, with_memory, n_replicates=0)
    known = set(map(fold, train.texts))
    assert value["memory"]["n_remembered"] == sum(fold(text) in known for text in valid.texts) >= 3
    assert value["memory"]["accuracy_remembered"] == 1.0
    assert value["accuracy"] == scores(found)["accuracy"]
    assert "intervals" not in value


def grid_weights(given: "np.ndarray[Any, Any]") -> float:
    """The slow definition for two models: the best of ten thousand weights, five rows for each model."""
    weights = np.linspace(0, 1, 10_001)[1:-1]
    losses = -np.log(weights[:, None] * given[0] + (1 - weights[:, None]) * given[1]).sum(axis=1)
    losses -= 5 * (np.log(weights) + np.log(1 - weights))
    return float(weights[losses.argmin()])


@pytest.mark.parametrize("seed", range(4))
def test_ensemble_weights_are_the_best_ones(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, 400)
    probs = []
    for strength in (1.0, 0.7):
        logits = rng.normal(size=(400, 3))
        logits[np.arange(400), truth] += strength
        probs.append(softmax(logits))
    weights = fit_weights(probs, truth)
    assert weights.sum() == pytest.approx(1)
    given = np.stack([one[np.arange(400), truth] for one in probs])
    assert weights[0] == pytest.approx(grid_weights(given), abs=2e-3)


def test_a_useless_model_gets_hardly_any_weight() -> None:
    truth = np.array([0, 1] * 5000)
    good = np.where(np.eye(2)[truth] > 0, 0.9, 0.1)
    assert fit_weights([good, 1 - good], truth) == pytest.approx([1, 0], abs=1e-3)
    with pytest.raises(ConfigError):
        fit_weights([], truth)


def test_few_rows_share_the_weight_between_equal_models() -> None:
    """One of four rows differs: that says next to nothing of which model is better."""
    truth = np.array([0, 1, 0, 1])
    one = np.where(np.eye(2)[truth] > 0, 0.8, 0.2)
    other = one.copy()
    other[0] = other[0, ::-1]
    assert 0.3 < fit_weights([one, other], truth)[1] < 0.5


def test_ensembles_load_again(folder: Path) -> None:
    runs = [folder / "runs" / name for name in ("gpt", "lstm")]
    table = read_table(folder / "valid.csv")
    members = [load_predictor(run) for run in runs]
    probs = [member.predict_proba(table.texts) for member in members]
    made = Ensemble.fit(members, probs, made_truth := members[0].labels.encode(table.labelled()))
    made.save(folder / "both", runs, table.sha256)
    back = load_predictor(folder / "both")
    assert (back.predict_proba(table.texts) == made.predict_proba(table.texts)).all()
    paths = members_of(folder / "both")
    assert paths is not None
    assert [path.resolve() for path in paths] == [run.resolve() for run in runs]

    def loss(p: "np.ndarray[Any, Any]") -> float:
        return float(-np.log(p[np.arange(len(made_truth)), made_truth]).mean())

    assert loss(made.predict_proba(table.texts)) <= min(map(loss, probs)) + 1e-6
    # What `evaluate` knows of the runs it knows of their ensemble.
    with pytest.raises(DataError, match="was trained on"):
        evaluate(back, read_table(folder / "train.csv"), run=folder / "both")


# (content of ensemble.json, part of the message)
BROKEN = [
    ("{", "not an ensemble"),
    ('{"schema": "senti.ensemble/9"}', "expected senti.ensemble/1"),
    ('{"schema": "senti.ensemble/1", "members": [{"run": "x"}]}', "not an ensemble"),
    ('{"schema": "senti.ensemble/1", "members": [], "temperature": 1, "labels": []}', "0 members"),
    (
        '{"schema": "senti.ensemble/1", "members": [{"run": "../runs/gpt", "weight": 1, "manifest_sha256": '
        '"PIN"}], "temperature": 1, "labels": ["x"]}',
        "other labels now",
    ),
    *(
        (
            '{"schema": "senti.ensemble/1", "members": [{"run": "../runs/gpt", "manifest_sha256": "PIN", '
            f'"weight": {weight}}}], "temperature": {temperature}, "labels": ["1", "2"]}}',
            rf"e/ensemble\.json.*{said}.*senti ensemble",
        )
        for (weight, temperature), said in (
            (("NaN", "1"), "weights nan"),
            (('"x"', "1"), "'x'"),
            (("2", "1"), r"weights 2\.0"),
            (("1", "NaN"), "temperature nan"),
            (("1", "[1, 0]"), r"temperature \[1, 0\]"),
            (("1", "[1, 1, 1]"), "3 temperatures for 2 labels"),
        )
    ),
]


@pytest.mark.parametrize(("content", "message"), BROKEN)
def test_broken_ensembles_are_an_error(folder: Path, content: str, message: str) -> None:
    (folder / "e").mkdir()
    pinned = content.replace('"PIN"', json.dumps(manifest_hash(folder / "runs" / "gpt")))
    (folder / "e" / "ensemble.json").write_text(pinned, "utf-8")
    with pytest.raises((CheckpointError, ConfigError), match=message):
        load_predictor(folder / "e")


def test_weights_are_shares(folder: Path) -> None:
    run = load_predictor(folder / "runs" / "gpt")
    for weights in ((0.5, 0.6), (2.0, -1.0), (1.0,)):
        with pytest.raises(ConfigError):
            Ensemble((run, run), weights)


def test_records_come_back_and_damage_is_found(tmp_path: Path) -> None:
    train = Table.of(["a", "b", "A "], ["1", "2", "1"])
    record = TrainingRecord.of(train, valid=Table.of(["c"]), test=None)
    record.save(tmp_path)
    back = TrainingRecord.load(tmp_path)
    assert [source.role for source in back.sources] == ["train", "valid"]
    assert (len(back.exact), len(back.folded)) == (3, 2)
    assert back.learned == record.sources[:1]
    assert back.learned_from(train).all()
    assert not back.learned_from(Table.of(["c"])).any()
    assert record.files() == back.files()
    for name in record.files():
        (tmp_path / name).write_bytes(b"{}")
        with pytest.raises(CheckpointError, match="training"):
            TrainingRecord.load(tmp_path)
        record.save(tmp_path)


def test_five_classes_as_two() -> None:
    labels = Labels(["0", "1", "2", "3", "4"])
    probs = np.array([[0.1, 0.2, 0.4, 0.2, 0.1], [0, 0, 1, 0, 0], [0.5, 0, 0, 0.1, 0.4]], np.float32)
    p = binary_view(Predictions(labels, probs, np.array([1, 2, 4]), ["a", "b", "c"]))
    assert p.texts == ["a", "c"]
    assert p.truth.tolist() == [0, 1]
    assert p.probs == pytest.approx(np.array([[0.5, 0.5], [0.5, 0.5]]))
    with pytest.raises(DataError, match="needs labels 0 to 4"):
        binary_view(some_predictions())
