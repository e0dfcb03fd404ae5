"""Several labels a text: how files write them, how they are divided, learned and scored."""

import csv
import json
import random
import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize
from torch import nn

from sampled_cases import chosen
from senti_in_process import Done, senti
from sentimodels.classifier import Classifier
from sentimodels.config import MultilabelConfig, RunConfig, TrainConfig
from sentimodels.data import Table, read_table
from sentimodels.data.label_sets import LabelSets, separators_seen
from sentimodels.data.split import folds, split, stratified
from sentimodels.errors import ConfigError, DataError
from sentimodels.evaluation.comparison import compare
from sentimodels.evaluation.metrics import intervals, per_class, scores, worst
from sentimodels.evaluation.predictions import PhraseMemory, Predictions
from sentimodels.evaluation.several_labels import SEVERAL_LABELS
from sentimodels.explain import attribute
from sentimodels.models import ARCHITECTURES, build
from sentimodels.runs.families import resolve
from sentimodels.tasks.distillation import divergence_of_each
from sentimodels.tasks.multilabel import Multilabel
from sentimodels.text.encoder import encoder_for
from sentimodels.web.models import load_models

WORDS = {"joy": "happy glad", "anger": "angry mad", "fear": "afraid scared"}
FILLER = ["the", "day", "was", "it", "we", "went", "to", "film", "and", "home", "with", "people", "night"]


def rows_of(n: int, seed: int = 0) -> list[tuple[str, list[str]]]:
    """Texts with a word of each of their labels; one in five has no label."""
    draw = random.Random(seed)
    rows = []
    for row in range(n):
        labels = [label for label in WORDS if draw.random() < 0.4]
        words = draw.choices(FILLER, k=6) + [draw.choice(WORDS[label].split()) for label in labels]
        draw.shuffle(words)
        rows.append((f"{' '.join(words)} {seed}{row}", sorted(labels)))
    return rows


def write_csv(path: Path, rows: list[tuple[str, list[str]]], separator: str = "|") -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(
            [("text", "labels"), *((text, separator.join(some)) for text, some in rows)]
        )
    return path


ROWS = rows_of(150)


# --- how files write several labels


def in_form(folder: Path, form: str) -> tuple[Path, dict[str, Any]]:
    """Writes `ROWS` in a form; returns the file, and how to read it."""
    if form in ("|", ";", ","):
        return write_csv(folder / "a.csv", ROWS, form), {"several": True}
    if form == "lists":
        path = folder / "a.jsonl"
        path.write_text("".join(json.dumps({"text": text, "labels": some}) + "\n" for text, some in ROWS))
        return path, {"several": True}
    if form == "lists in CSV":
        path = folder / "a.csv"
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([("text", "labels"), *((text, str(some)) for text, some in ROWS)])
        return path, {"several": True}
    if form == "columns":
        path = folder / "a.csv"
        with path.open("w", newline="") as file:
            rows = [(text, *(int(name in some) for name in WORDS)) for text, some in ROWS]
            csv.writer(file).writerows([("text", *WORDS), *rows])
        return path, {"label_columns": list(WORDS)}
    if form == "parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = folder / "a.parquet"
        columns = {"text": [text for text, _ in ROWS], "labels": [some for _, some in ROWS]}
        pq.write_table(pa.table(columns), path)
        return path, {"several": True}
    path = folder / "a.txt"
    lines = [" ".join(f"__label__{name}" for name in some) + f" {text}\n" for text, some in ROWS]
    path.write_text("".join(lines))
    return path, {"several": True, "format": "fasttext"}


@pytest.mark.parametrize("form", ["|", ";", ",", "lists", "lists in CSV", "columns", "parquet", "fasttext"])
def test_every_form_reads_the_same_sets(form: str, tmp_path: Path) -> None:
    path, how = in_form(tmp_path, form)
    table = read_table(path, **how)
    assert table.texts == [text for text, _ in ROWS]
    assert table.names_of_rows() == [some for _, some in ROWS]
    assert any("3 labels" in note for note in table.notes)
    empty = sum(not some for _, some in ROWS)
    assert any("empty set" in note and str(empty) in note for note in table.notes)
    assert LabelSets.of_sets(table.labelled()).names == ("anger", "fear", "joy")


def test_a_limit_draws_sets_over_the_whole_file(tmp_path: Path) -> None:
    table = read_table(write_csv(tmp_path / "a.csv", ROWS), several=True, limit=40, sample=True)
    known = dict(ROWS)
    assert len(table) == 40
    assert all(known[text] == some for text, some in zip(table.texts, table.names_of_rows(), strict=True))


# (cells of the label column, how to read them, words of the error)
REFUSED: list[tuple[list[str], dict[str, Any], list[str]]] = [
    (["a|b", "a||b"], {"several": True, "label_separator": "|"}, ["row 2", "a||b", "empty label"]),
    (['["a|b"]', '["c"]'], {"label_separator": "|"}, ["a|b", "separator", "--label-separator"]),
    (['["a"]', "b"], {"several": True}, ["row 2", "'b'", "--label-separator"]),
    (['["a"]', '[["b"]]'], {"several": True}, ["row 2", "list"]),
    (['["a"]', ""], {"several": True}, ["row 2", "[]"]),
    (["a|b", "a;b", "a", "b"], {"several": True}, ["'|'", "';'", "--label-separator"]),
    (["a|b"], {"label_separator": "x"}, ["'x'", "none"]),
    (["a|b"], {"label_separator": "|", "label_columns": ["a"]}, ["'|'", "leave one out"]),
    (["a|b"], {"label_columns": ["joy"]}, ["joy", "label"]),
    (["0.7", "1"], {"label_columns": ["label"]}, ["0.7", "'label'", "0 or 1"]),
]


@pytest.mark.parametrize(("cells", "how", "words"), REFUSED)
def test_cells_that_are_no_sets_are_refused(
    cells: list[str], how: dict[str, Any], words: list[str], tmp_path: Path
) -> None:
    with (tmp_path / "a.csv").open("w", newline="") as file:
        rows = [(f"some words {n} of it", cell) for n, cell in enumerate(cells)]
        csv.writer(file).writerows([("text", "label"), *rows])
    with pytest.raises(DataError) as caught:
        read_table(tmp_path / "a.csv", **how)
    assert all(word in str(caught.value) for word in words), str(caught.value)


@pytest.mark.parametrize(
    ("labels", "seen"),
    [
        (["joy|anger", "joy", "anger"], ["|"]),
        (["a;b", "b;c", "a;c"], [";"]),
        (["3,27", "27", "3"], [","]),
        (["Sports|Football", "Sports|Tennis"], []),
        (["1,5", "1", "5", "2,5", "2"], []),
        (["New York, NY", "Albany, NY"], []),
        (["pos", "neg"], []),
    ],
)
def test_a_separator_is_seen_where_its_parts_are_labels_too(labels: list[str], seen: list[str]) -> None:
    assert separators_seen(labels) == seen


@pytest.mark.parametrize("form", ["|", "lists", "fasttext"])
def test_one_label_a_text_names_both_ways(form: str, tmp_path: Path) -> None:
    rows = [(text, some) for text, some in ROWS if some]
    if form == "|":
        path = write_csv(tmp_path / "a.csv", rows)
    elif form == "lists":
        path = tmp_path / "a.jsonl"
        path.write_text("".join(json.dumps({"text": text, "label": some}) + "\n" for text, some in rows))
    else:
        path = tmp_path / "a.txt"
        path.write_text("".join(" ".join(f"__label__{one}" for one in some) + f" {t}\n" for t, some in rows))
    done = senti("train", path, "--arch", "nb", "--out", tmp_path / "run", cwd=tmp_path)
    assert done.code == 2
    assert "--task multilabel" in done.err
    blank = senti("train", write_csv(tmp_path / "b.csv", ROWS), "--arch", "nb", cwd=tmp_path)
    assert blank.code == 2
    assert "--task multilabel" in blank.err
    if form == "|":
        assert "--label-separator none" in done.err
        one = senti("train", path, "--arch", "nb", "--label-separator", "none", "--out", "run", cwd=tmp_path)
        assert one.code == 0, one.err
        assert "anger|joy" in Classifier.load(tmp_path / "run").labels


def test_columns_of_0_and_1_and_unlabelled_lines_name_the_option(tmp_path: Path) -> None:
    lines = [",".join([text, *(str(int(one in some)) for one in WORDS)]) for text, some in ROWS[:30]]
    (tmp_path / "a.csv").write_text("\n".join([",".join(["text", *WORDS]), *lines]) + "\n")
    done = train(tmp_path, "nb", file="a.csv")
    assert done.code == 2
    option = done.err[done.err.index("--label-columns") :].split()
    assert option == ["--label-columns", "joy,anger,fear"]
    assert train(tmp_path, "nb", *option, file="a.csv").code == 0
    (tmp_path / "b.csv").write_text(
        (tmp_path / "a.csv").read_text().replace("\n", ",0\n").replace("fear,0", "fear,odd", 1)
    )
    done = train(tmp_path, "nb", "--label-columns", "joy,odd,anger,fear", "--force", file="b.csv")
    assert (done.code, "'odd'" in done.err, "--label-columns joy,anger,fear" in done.err) == (2, True, True)
    lines = [" ".join([*(f"__label__{one}" for one in some), text]) + "\n" for text, some in ROWS]
    (tmp_path / "a.txt").write_text("".join(lines))
    done = train(tmp_path, "nb", "--task", "multilabel", "--force", file="a.txt")
    assert (done.code, "--format (fasttext" in done.err) == (2, True)
    more = ("--task", "multilabel", "--format", "fasttext", "--force")
    assert train(tmp_path, "nb", *more, file="a.txt").code == 0


def test_a_task_and_how_labels_are_read_must_agree() -> None:
    data = {"train": "a.csv", "label_separator": "|"}
    assert resolve({"arch": "nb", "data": data}).task.kind == "multilabel"
    with pytest.raises(ConfigError, match="multilabel"):
        resolve({"arch": "nb", "data": data, "task": {"kind": "classification"}})
    with pytest.raises(ConfigError, match="none"):
        resolve({"arch": "nb", "data": {**data, "label_separator": "none"}, "task": {"kind": "multilabel"}})


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([("words of it", []), ("others here", [])], ["empty set"]),
        ([(text, some) for text, some in ROWS[:40]], ["'rare'", "test"]),
    ],
)
def test_labels_without_rows_are_said(
    rows: list[tuple[str, list[str]]], words: list[str], tmp_path: Path
) -> None:
    path = write_csv(tmp_path / "a.csv", [*rows, *([("one more text", ["rare"])] * (len(rows) > 2))])
    test = write_csv(tmp_path / "b.csv", rows_of(20, 1))
    done = senti(
        "train", path, "--task", "multilabel", "--arch", "nb", "--test", test, "--no-baseline", cwd=tmp_path
    )
    assert done.code == (2 if len(rows) == 2 else 0)
    assert all(word in done.err for word in words), done.err


# --- parts and folds


@given(st.integers(0, 10**6), st.integers(20, 120), st.integers(1, 8), st.integers(2, 5))
def test_parts_have_their_share_of_each_label(seed: int, n: int, n_labels: int, n_parts: int) -> None:
    rng = np.random.default_rng(seed)
    labels = (rng.random((n, n_labels)) < rng.uniform(0.05, 0.6, n_labels)).astype(np.int64)
    part = stratified(labels, [1 / n_parts] * n_parts, seed)
    assert set(part.tolist()) <= set(range(n_parts))
    again = stratified(labels, [1 / n_parts] * n_parts, seed)
    assert (part == again).all()
    # The rarest label is dealt first, so its parts differ by one row at most.
    counts = labels.sum(0)
    rarest = int(np.where(counts > 0, counts, n + 1).argmin())
    of_parts = np.bincount(part[labels[:, rarest] == 1], minlength=n_parts)
    assert of_parts.max() - of_parts.min() <= 1


def test_stratified_parts_are_nearer_to_their_shares_than_drawn_ones() -> None:
    rng = np.random.default_rng(3)
    labels = (rng.random((400, 20)) < rng.uniform(0.02, 0.3, 20)).astype(np.int64)

    def away(part: Any) -> float:
        shares = np.stack([labels[part == place].sum(0) for place in range(10)]) / labels.sum(0)
        return float(np.abs(shares - 0.1).mean())

    dealt = away(stratified(labels, [0.1] * 10, 0))
    drawn = min(away(rng.permutation(400) % 10) for _ in range(20))
    assert dealt < drawn / 2


def test_split_and_folds_keep_sets_and_each_label_in_training() -> None:
    table = Table.of([text for text, _ in ROWS], [some for _, some in ROWS])
    parts = split(table, (0.8, 0.1, 0.1), 1)
    assert sorted(text for part in parts.values() for text in part.texts) == sorted(table.texts)
    shares = {name: [sum(label in one for one in part.names_of_rows()) / len(part) for label in WORDS]
              for name, part in parts.items()}  # fmt: skip
    assert np.abs(np.array(shares["test"]) - shares["train"]).max() < 0.1
    dealt = folds(table, 5)
    assert sorted(row for fold in dealt for row in fold) == list(range(len(table)))


# --- scores


def several(seed: int, n: int = 60, n_labels: int = 5, groups: bool = False) -> Predictions:
    rng = np.random.default_rng(seed)
    truth = (rng.random((n, n_labels)) < 0.35).astype(np.int64)
    truth[:2] = [[1] * n_labels, [0] * n_labels]
    probs = np.clip(truth * 0.3 + rng.random((n, n_labels)) * 0.7, 0, 1).astype(np.float32)
    names = [f"l{i}" for i in range(n_labels)]
    texts = [f"text {i}" for i in range(n)]
    of = [f"g{i % 7}" for i in range(n)] if groups else None
    return Predictions(LabelSets(names), probs, truth, texts, groups=of)


@pytest.mark.parametrize("seed", range(5))
def test_scores_are_those_of_scikit_learn(seed: int) -> None:
    one = several(seed)
    truth, probs, answers = one.truth, one.probs, (one.probs >= 0.5).astype(int)
    expected = {
        "accuracy": sk.accuracy_score(truth, answers),
        "micro_f1": sk.f1_score(truth, answers, average="micro"),
        "macro_f1": sk.f1_score(truth, answers, average="macro"),
        "weighted_f1": sk.f1_score(truth, answers, average="weighted"),
        "row_f1": sk.f1_score(truth, answers, average="samples", zero_division=1.0),
        "hamming_loss": sk.hamming_loss(truth, answers),
        "micro_average_precision": sk.average_precision_score(truth, probs, average="micro"),
        "macro_average_precision": sk.average_precision_score(truth, probs, average="macro"),
        "log_loss": np.mean([sk.log_loss(truth[:, i], probs[:, i].astype(float)) for i in range(5)]),
    }
    found = scores(one)
    assert found.keys() == SEVERAL_LABELS.score_names.keys() | {"accuracy"}
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, abs=1e-6), name
    ends = intervals(one, n_replicates=300)
    assert ends.keys() == found.keys() - {"micro_average_precision", "macro_average_precision"}
    assert all(low - 1e-9 <= (found[name] or 0.0) <= high + 1e-9 for name, (low, high) in ends.items()
               if name not in ("ece", "macro_f1")), ends  # fmt: skip
    table = per_class(one)
    precision = sk.precision_score(truth, answers, average=None)
    assert [row["precision"] for row in table] == pytest.approx(precision.tolist())
    assert [row["support"] for row in table] == truth.sum(0).tolist()


def test_an_interval_of_single_rows_is_that_of_groups_of_one() -> None:
    one = several(1)
    alone = Predictions(one.labels, one.probs, one.truth, one.texts, groups=[str(i) for i in range(len(one))])
    assert intervals(one, n_replicates=50) == intervals(alone, n_replicates=50)


def test_a_pair_of_equal_runs_differs_in_nothing() -> None:
    one = several(2, groups=True)
    found = compare({"a": one, "b": one}, n_replicates=50)["differences"][0]
    assert {value["difference"] for name, value in found.items() if "difference" in value} == {0.0}
    assert worst(one, 1)[0]["label"] == one.labels.value(one.truth[worst(one, 1)[0]["row"]])


def test_predictions_are_read_back_with_their_sets(tmp_path: Path) -> None:
    one = several(3)
    one.save(tmp_path / "p.npz")
    back = Predictions.load(tmp_path / "p.npz")
    assert back.labels == one.labels
    assert isinstance(back.labels, LabelSets)
    assert (back.truth == one.truth).all()
    with pytest.raises(DataError, match="finite"):
        Predictions(one.labels, one.probs * np.nan, one.truth, one.texts)
    with pytest.raises(DataError, match="0 to 1"):
        Predictions(one.labels, one.probs + 1, one.truth, one.texts)


@pytest.mark.parametrize(("value", "said"), [(np.nan, "finite"), (7.0, "0 to 1"), ("x", "'x'")])
def test_probabilities_that_are_no_numbers_are_refused_with_their_file(
    value: Any, said: str, tmp_path: Path
) -> None:
    several(3).save(tmp_path / "p.npz")
    with np.load(tmp_path / "p.npz") as arrays:
        parts = dict(arrays)
    parts["probs"] = np.full(parts["probs"].shape, value)
    np.savez(tmp_path / "p.npz", **parts)
    with pytest.raises(DataError, match=rf"p\.npz: .*{said}.*senti evaluate"):
        Predictions.load(tmp_path / "p.npz")


def test_a_temperature_for_each_label_lowers_the_loss_and_changes_no_answer() -> None:
    rng = np.random.default_rng(0)
    odds = rng.normal(size=(2000, 3)) * 2
    truth = (rng.random(odds.shape) < 1 / (1 + np.exp(-odds))).astype(np.int64)
    logits = (odds * [3, 1, 0.4]).astype(np.float32)
    fitted = SEVERAL_LABELS.fit_temperature(logits, truth)
    assert isinstance(fitted, list)
    assert fitted == pytest.approx([3, 1, 0.4], rel=0.2)
    plain, cooled = SEVERAL_LABELS.probabilities(logits), SEVERAL_LABELS.probabilities(logits, fitted)
    assert (SEVERAL_LABELS.decide(plain) == SEVERAL_LABELS.decide(cooled)).all()
    assert SEVERAL_LABELS.loss_rows(cooled, truth).mean() < SEVERAL_LABELS.loss_rows(plain, truth).mean()
    back = SEVERAL_LABELS.with_temperature(cooled, [1 / one for one in fitted])
    assert np.allclose(back, plain, atol=1e-5)


def test_remembered_phrases_are_shares_of_each_label() -> None:
    table = Table.of(["same text", "Same  text"], [["a"], ["a", "b"]])
    memory = PhraseMemory(table, LabelSets(["a", "b"]))
    probs, known = memory.apply(["same text", "new"], np.full((2, 2), 0.5, np.float32))
    assert known.tolist() == [True, False]
    assert probs[0] == pytest.approx([0.99, 0.5], abs=0.01)


# --- training


class Fixed(nn.Module):
    """A model whose logits are its only weights."""

    def __init__(self, logits: torch.Tensor) -> None:
        super().__init__()
        self.logits = nn.Parameter(logits)

    def forward(self, **_: Any) -> torch.Tensor:
        return self.logits


def task_of(labels: Any, **settings: Any) -> Multilabel:
    texts: Any = SimpleNamespace(text_of_row=np.arange(len(labels)))
    return Multilabel(MultilabelConfig(**settings), TrainConfig(), texts, labels, n_classes=labels.shape[1])


@pytest.mark.parametrize(
    "settings",
    [{}, {"class_weights": "balanced"}, {"class_weights": (2.0, 3.0, 0.5)}, {"label_smoothing": 0.2},
     {"loss": "focal"}, {"focal_gamma": 1.0, "focal_alpha": 0.5}],
)  # fmt: skip
def test_losses_are_those_of_torch(settings: dict[str, Any]) -> None:
    rng = torch.Generator().manual_seed(1)
    labels = (torch.rand(12, 3, generator=rng) < 0.4).long()
    logits = torch.randn(12, 3, generator=rng)
    task = task_of(labels.numpy(), **settings)
    weights = task._class_weights
    found = task._summed(logits, labels.float(), weights)
    target, p = labels.float(), logits.sigmoid()
    if "label_smoothing" in settings:
        target = target * 0.8 + 0.1
    cross = nn.functional.binary_cross_entropy_with_logits(
        logits, target, reduction="none", pos_weight=weights
    )
    if gamma := settings.get("focal_gamma", 2.0 if settings.get("loss") == "focal" else 0.0):
        cross = cross * (1 - torch.where(labels == 1, p, 1 - p)) ** gamma * settings.get("focal_alpha", 1.0)
    assert float(found) == pytest.approx(float(cross.sum()), rel=1e-5)


def test_divergence_is_that_of_bernoulli_variables() -> None:
    student, teacher = torch.tensor([[0.3, -2.0]]).double(), torch.tensor([[1.0, 0.5]]).double()
    p, q = (teacher / 2).sigmoid(), (student / 2).sigmoid()
    by_hand = 4 * (p * (p / q).log() + (1 - p) * ((1 - p) / (1 - q)).log()).sum()
    assert float(divergence_of_each(student, teacher, 2.0)) == pytest.approx(float(by_hand))
    assert float(divergence_of_each(teacher, teacher, 2.0)) == pytest.approx(0.0, abs=1e-12)


# --- every architecture, and what it answers


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("several")
    write_csv(folder / "train.csv", ROWS)
    write_csv(folder / "test.csv", rows_of(40, 7))
    for arch in ("nb", "bow"):
        done = train(folder, arch, "--task", "multilabel")
        assert done.code == 0, done.err
    return folder


def train(folder: Path, arch: str, *more: str, file: str = "train.csv") -> Done:
    return senti("train", file, "--arch", arch, "--out", f"runs/{arch}", "--no-baseline", *more, cwd=folder)


@pytest.mark.parametrize("arch", chosen(ARCHITECTURES, "tfidf", "nb", "bow", "cnn", "gru"))
def test_every_architecture_learns_several_labels(arch: str, place: Path) -> None:
    folder = place / "runs" / arch
    if not folder.exists():
        small = ["--preset", "nano"] if ARCHITECTURES[arch].presets else []
        few = [] if ARCHITECTURES[arch].fits else ["--set", "train.max_steps=2", "--batch-size", "32"]
        done = train(place, arch, "--label-separator", "|", *small, *few)
        assert done.code == 0, done.err
    run = Classifier.load(folder)
    assert isinstance(run.labels, LabelSets)
    probs = run.predict_proba(["happy and angry", "", "the film"])
    assert probs.shape == (3, 3)
    assert ((probs > 0) & (probs < 1)).all()
    answers = run.predict(["happy and angry"])[0]
    assert answers == [name for name, p in zip(run.labels, probs[0], strict=True) if p >= 0.5]
    if arch in ("nb", "bow"):
        assert answers == ["anger", "joy"]


def test_settings_that_a_fit_does_not_read_are_said(place: Path) -> None:
    given = ["--task", "multilabel", "--class-weights", "balanced", "--set", "task.label_smoothing=0.1"]
    done = senti(
        "train", "train.csv", "--arch", "nb", "-o", "runs/weighted", "--no-baseline", *given, cwd=place
    )
    assert done.code == 0, done.err
    assert "task.class_weights, task.label_smoothing: changes nothing, as nb is not trained" in done.err
    done = train(place, "nb", "--task", "multilabel", "--force")
    assert "changes nothing" not in done.err


def test_training_proposes_thresholds_where_they_pay(tmp_path: Path) -> None:
    """A bag seldom gives a rare label 0.5; thresholds that the other half of the rows chose answer it."""
    draw = random.Random(1)
    odd = [(f"{text} odd", [*some, "rare"]) if draw.random() < 0.07 else (text, some) for text, some in ROWS]
    write_csv(tmp_path / "train.csv", odd)
    done = train(tmp_path, "tfidf", "--task", "multilabel", "--valid-share", "0.5")
    assert done.code == 0, done.err
    assert "train with --threshold macro_f1, or senti thresholds RUN FILE --threshold macro_f1" in done.err
    about = json.loads((tmp_path / "runs/tfidf/run.json").read_text())
    found = about["proposed_thresholds"]
    assert found["rule"] == "macro_f1"
    assert found["usual"] == pytest.approx(about["valid"]["macro_f1"])
    assert found["by_rule"] > found["usual"] + 0.1
    assert 0 < found["interval"][0] < found["interval"][1]
    more = ("--task", "multilabel", "--valid-share", "0.5", "--threshold", "macro_f1", "--force")
    done = train(tmp_path, "tfidf", *more)
    assert done.code == 0, done.err
    assert "train with --threshold" not in done.err
    assert "proposed_thresholds" not in json.loads((tmp_path / "runs/tfidf/run.json").read_text())
    write_csv(tmp_path / "train.csv", ROWS)
    done = train(tmp_path, "nb", "--task", "multilabel", "--valid-share", "0.5")  # right without them
    assert done.code == 0, done.err
    assert "train with --threshold" not in done.err


def test_a_bag_is_scikit_learns_one_against_the_rest() -> None:
    config: RunConfig = resolve({"arch": "tfidf", "model": {"solver": "lbfgs", "tol": 1e-8}})
    texts = [text for text, _ in ROWS]
    truth = np.array([[int(name in some) for name in WORDS] for _, some in ROWS])
    encoder = encoder_for(config, texts)
    module: Any = build("tfidf", config.model, encoder.inputs(3))
    encoded = encoder.encode(texts)
    module.fit(encoded, truth, 0)
    counts = np.zeros((len(texts), encoder.vocab_size))
    np.add.at(counts, (np.repeat(encoded.text_of_row, encoded.lengths), encoded.ids.astype(int)), 1)
    features = counts * module.idf.numpy()
    features[:, 0] = 0
    features = normalize(features)
    for place_of, label in enumerate(truth.T):
        other = LogisticRegression(C=1.5, tol=1e-8, max_iter=2000).fit(features, label)
        assert module.weight.data[:, place_of].numpy() == pytest.approx(other.coef_[0], abs=1e-3)


@pytest.fixture(scope="module")
def made(place: Path) -> Path:
    (place / "out").mkdir()
    if not (place / "runs/cnn").exists():
        done = train(place, "cnn", "--label-separator", "|", "--preset", "nano", "--set", "train.max_steps=2")
        assert done.code == 0, done.err
    return place


def test_answers_are_written_as_the_training_file_writes_sets(made: Path) -> None:
    out = made / "out/answers.csv"
    done = senti("predict", "runs/nb", "test.csv", "-o", out, "--force", cwd=made)
    assert done.code == 0, done.err
    again = read_table(out, "text", "label", several=True, label_separator="|")
    run = Classifier.load(made / "runs/nb")
    assert again.names_of_rows() == [sorted(one) for one in run.predict(again.texts)]
    one = senti("predict", "runs/nb", "-", "--json", cwd=made, stdin="happy mad\nthe film\n")
    assert [json.loads(line)["label"] for line in one.out.splitlines()] == [["anger", "joy"], []]


def test_a_numpy_folder_answers_sets(made: Path) -> None:
    if not (made / "out/numpy").exists():
        assert senti("export", "runs/nb", "--numpy", "-o", "out/numpy", cwd=made).code == 0
    place = spec_from_file_location("several_by_numpy", made / "out/numpy/classifier.py")
    assert place is not None
    assert place.loader is not None
    module = module_from_spec(place)
    place.loader.exec_module(module)
    assert module.Classifier(made / "out/numpy").predict(["happy mad", "the film"]) == [["anger", "joy"], []]


def test_the_page_answers_sets(made: Path) -> None:
    model: Any = next(iter(load_models([made / "runs/nb"]).values()))
    assert model.predict("happy mad", 10)["label"] == ["anger", "joy"]
    assert model.predict_batch(["the film"])["answers"][0]["label"] == []
    assert len(model.effects("happy mad", "integrated-gradients")["tokens"]) == 2


def test_parts_of_a_score_sum_up_to_its_log_odds(made: Path) -> None:
    for name in ("nb", "cnn"):
        run = Classifier.load(made / "runs" / name)
        found = attribute(run, "so happy and mad")
        odds = SEVERAL_LABELS.log_odds(run.predict_proba(["so happy and mad"]))[0]
        assert found.scores == pytest.approx(odds, abs=1e-3)
        assert found.gap < 2e-3


@pytest.mark.slow
def test_a_student_of_texts_without_labels_says_that_none_has_any(made: Path) -> None:
    (made / "texts.txt").write_text("".join(f"{text}\n" for text, _ in ROWS), "utf-8")
    read = ["--data", "texts.txt", "--format", "lines", "--no-baseline"]
    done = senti("distill", "runs/nb", "--arch", "bow", "-o", "out/student", *read, cwd=made)
    assert done.code == 0, done.err
    assert re.search(r"^labels .*anger 0.*; \d+ rows without label$", done.out, re.M), done.out
    answers = Classifier.load(made / "out/student").predict(["happy and angry", "the film"])
    assert answers == Classifier.load(made / "runs/nb").predict(["happy and angry", "the film"])


def test_an_onnx_graph_answers_as_the_run(made: Path) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    for name, more in (("cnn", ["--int8", "--texts", "test.csv"]), ("nb", [])):
        done = senti("export", f"runs/{name}", "--onnx", "-o", f"out/onnx-{name}", *more, cwd=made)
        assert done.code == 0, done.err
        assert json.loads((made / f"out/onnx-{name}/export.json").read_text())["several"] is True


def test_a_stopped_run_goes_on_with_its_sets(made: Path) -> None:
    config = (made / "runs/cnn/config.toml").read_text()
    assert 'kind = "multilabel"' in config
    assert 'label_separator = "|"' in config


def test_a_frame_with_lists_trains_several_labels(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"text": [text for text, _ in ROWS], "labels": [some for _, some in ROWS]})
    run = Classifier.fit_frame(frame, tmp_path / "run", arch="nb", task={"kind": "multilabel"})
    assert run.predict(["happy mad"]) == [["anger", "joy"]]
    assert run.predict_frame(frame.head(2))["label"].tolist() == [some for _, some in ROWS[:2]]
