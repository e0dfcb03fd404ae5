"""Labels in an order: how the order is known, the model, the scores."""

import csv
import json
import random
import shlex
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from oracles import ordinal as oracle
from sampled_cases import chosen
from senti_in_process import Done, senti
from sentimodels.classifier import Classifier
from sentimodels.config import OrdinalConfig, ThresholdRule, TrainConfig
from sentimodels.data.table import Labels, OrderedLabels
from sentimodels.errors import ConfigError, DataError
from sentimodels.evaluation.answers import answers_of
from sentimodels.evaluation.comparison import compare
from sentimodels.evaluation.metrics import intervals, scores
from sentimodels.evaluation.one_label import ORDERED_LABELS
from sentimodels.evaluation.predictions import Predictions
from sentimodels.evaluation.thresholds import picker
from sentimodels.explain import attribute
from sentimodels.models import ARCHITECTURES
from sentimodels.nn.ordinal import CutPoints, cumulative_loss, cuts_of, start
from sentimodels.runs.families import resolve
from sentimodels.tasks.ordinal import Ordinal
from sentimodels.web.models import load_models

GOOD, BAD = ["great", "lovely", "superb"], ["awful", "dull", "boring"]
FILLER = ["the", "day", "was", "it", "we", "went", "to", "film", "and", "home", "with", "people", "night"]
# Their order is not that of the alphabet.
NAMES = ("poor", "fair", "good")


def rows_of(n: int, n_classes: int = 4, seed: int = 0) -> list[tuple[str, int]]:
    """Texts whose class is the number of good words among three words."""
    draw = random.Random(seed)
    rows = []
    for row in range(n):
        label = draw.randrange(n_classes)
        marked = [draw.choice(GOOD) for _ in range(label)]
        words = marked + [draw.choice(BAD) for _ in range(n_classes - 1 - label)] + draw.choices(FILLER, k=4)
        draw.shuffle(words)
        rows.append((f"{' '.join(words)} {seed}{row}", label))
    return rows


def write_csv(path: Path, rows: list[tuple[str, int]], names: tuple[str, ...] | None = None) -> Path:
    with path.open("w", newline="") as file:
        cells = [(text, label + 1 if names is None else names[label]) for text, label in rows]
        csv.writer(file).writerows([("text", "label"), *cells])
    return path


# --- the order of the labels


@pytest.mark.parametrize(
    ("values", "order", "names"),
    [
        (["10", "2", "1", "2"], None, ("1", "2", "10")),
        (["0.5", "-1", "0"], None, ("-1", "0", "0.5")),
        (["good", "poor", "fair"], NAMES, NAMES),
        (["1", "2", "3"], ("3", "1", "2"), ("3", "1", "2")),
    ],
)
def test_order_is_that_of_numbers_or_the_one_given(
    values: list[str], order: tuple[str, ...] | None, names: tuple[str, ...]
) -> None:
    labels = OrderedLabels.of(values, order, Path("a.csv"))
    assert labels.names == names
    assert answers_of(labels) is ORDERED_LABELS


@pytest.mark.parametrize(
    ("values", "order", "words"),
    [
        (["good", "poor"], None, ["'good'", "--label-order"]),
        (["1", "2", "unknown"], None, ["'unknown'", "--label-order"]),
        (["1", "1.0", "2"], None, ["'1'", "'1.0'"]),
        (["good", "poor", "fair"], ("poor", "good"), ["'fair'", "--label-order"]),
        (["good", "poor"], NAMES, ["'fair'", "--label-order"]),
    ],
)
def test_an_unknown_order_names_the_option(
    values: list[str], order: tuple[str, ...] | None, words: list[str]
) -> None:
    with pytest.raises(DataError) as error:
        OrderedLabels.of(values, order, Path("a.csv"))
    assert all(word in str(error.value) for word in words), error.value


@pytest.mark.parametrize("names", [("so so", "good"), ("it's bad", "very good, really", 'a "b"'), ("a", "b")])
def test_an_order_that_is_proposed_can_be_typed(names: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(
            [("text", "label"), *((f"a word {n} {name}", name) for n in range(20) for name in names)]
        )
    done = senti("train", path, "--task", "ordinal", "--arch", "tfidf", "-o", "run", cwd=tmp_path)
    assert done.code == 2
    proposed = shlex.split(done.err[done.err.index("--label-order") :].removesuffix(" (in your order)\n"))
    done = senti("train", path, *proposed, "--arch", "tfidf", "-o", "run", cwd=tmp_path)
    assert done.code == 0, done.err
    assert Classifier.load(tmp_path / "run").labels.names == tuple(sorted(names))
    done = senti("train", path, "--label-order", "bad,a", "--arch", "tfidf", "-o", "run-2", cwd=tmp_path)
    assert done.code == 2
    assert shlex.split(done.err[done.err.index("--label-order") :])[1].startswith("bad,a")


def test_configurations_that_cannot_be() -> None:
    data: dict[str, Any] = {"train": "a.csv"}
    assert resolve({"arch": "tfidf", "data": {**data, "label_order": NAMES}}).task.kind == "ordinal"
    for tree, words in (
        ({"arch": "nb", "task": {"kind": "ordinal"}}, ["nb", "tfidf"]),
        ({"arch": "bow", "data": {**data, "label_order": NAMES}, "task": {"kind": "classification"}},
         ["label_order", "--task ordinal"]),
        ({"arch": "bow", "data": {**data, "label_order": ("a", "b", "a")}}, ["label_order", "'a'", "twice"]),
        ({"arch": "bow", "data": {**data, "label_separator": "|"}, "task": {"kind": "ordinal"}},
         ["label_separator", "ordinal"]),
        ({"arch": "bow", "task": {"kind": "ordinal", "loss": "mse"}}, ["mse", "coral"]),
    ):  # fmt: skip
        with pytest.raises(ConfigError) as error:
            resolve(tree)
        assert all(word in str(error.value) for word in words), error.value


# --- the model and its losses


@given(st.integers(2, 7), st.integers(0, 10**6))
def test_cut_points_are_the_definition(n_classes: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    raw = start(n_classes) + rng.normal(size=n_classes - 1) * 2
    values, labels = rng.normal(size=12) * 3, rng.integers(0, n_classes, 12)
    cuts = cuts_of(raw)
    assert (np.diff(cuts) > 0).all()
    module = CutPoints(n_classes).double()
    module.raw.data.copy_(torch.from_numpy(raw))
    given_scores = torch.tensor(values[:, None], requires_grad=True)
    log_probs = module(given_scores)
    expected = [oracle.probabilities(value, cuts.tolist()) for value in values]
    assert log_probs.exp().detach().numpy() == pytest.approx(np.array(expected), abs=1e-5)
    loss, by_score, by_raw = cumulative_loss(values, raw, labels)
    assert loss == pytest.approx(
        oracle.loss_of_likelihood(values.tolist(), cuts.tolist(), labels.tolist()), rel=1e-6
    )
    (-log_probs[range(12), torch.from_numpy(labels)].sum()).backward()
    assert given_scores.grad is not None
    assert module.raw.grad is not None
    assert by_score == pytest.approx(given_scores.grad[:, 0].numpy(), abs=1e-4)
    assert by_raw == pytest.approx(module.raw.grad.numpy(), abs=1e-4)


def test_extreme_scores_stay_finite() -> None:
    module = CutPoints(5)
    module.raw.data[1:] = -200.0  # gaps that softplus rounds to nothing
    log_probs = module(torch.tensor([[-1e4], [0.0], [1e4]]))
    assert torch.isfinite(log_probs).all()
    loss, *slopes = cumulative_loss(np.array([-1e4, 1e4]), start(3), np.array([2, 0]))
    assert np.isfinite(loss)
    assert all(np.isfinite(slope).all() for slope in slopes)


def test_classes_begin_equally_likely() -> None:
    assert CutPoints(5)(torch.zeros(1, 1)).exp()[0].tolist() == pytest.approx([0.2] * 5, abs=1e-6)


def task_of(labels: Any, **given: Any) -> Ordinal:
    texts: Any = SimpleNamespace(text_of_row=np.arange(len(labels)))
    return Ordinal(OrdinalConfig(**given), TrainConfig(), texts, labels, n_classes=4)


@pytest.mark.parametrize("loss", ["likelihood", "coral"])
@pytest.mark.parametrize("weights", ["none", (2.0, 1.0, 0.5, 3.0)])
def test_losses_are_those_of_the_definition(loss: str, weights: Any) -> None:
    rng = np.random.default_rng(1)
    values, labels = rng.normal(size=15) * 2, rng.integers(0, 4, 15)
    raw = start(4) + 0.3
    module = CutPoints(4)
    module.raw.data.copy_(torch.from_numpy(raw))
    task = task_of(labels, loss=loss, class_weights=weights)
    log_probs = module(torch.from_numpy(values[:, None]))
    found = task._summed(log_probs, task._target(torch.from_numpy(labels)), task._class_weights)
    by = {"likelihood": oracle.loss_of_likelihood, "coral": oracle.loss_of_coral}[loss]
    factor = [1.0] * 4 if weights == "none" else weights
    cuts = cuts_of(raw).tolist()
    expected = sum(
        factor[label] * by([value], cuts, [label]) for value, label in zip(values, labels, strict=True)
    )
    assert found.item() == pytest.approx(expected, rel=1e-5)


# --- scores


def ordered(
    seed: int, n: int = 60, names: tuple[str, ...] = ("1", "2", "3", "4"), groups: bool = False
) -> Predictions:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, len(names), n)
    probs = rng.dirichlet(np.ones(len(names)), n)
    probs[np.arange(n), truth] += 0.5
    probs = (probs / probs.sum(1, keepdims=True)).astype(np.float32)
    texts = [f"text {i}" for i in range(n)]
    of = [f"g{i % 7}" for i in range(n)] if groups else None
    return Predictions(OrderedLabels(names), probs, truth, texts, groups=of)


@pytest.mark.parametrize("seed", range(4))
def test_error_and_kappa_are_those_of_the_definition(seed: int) -> None:
    one = ordered(seed, groups=seed % 2 == 0)
    truth, answers = one.truth.tolist(), one.predicted.tolist()
    found = scores(one)
    assert found["mae"] == pytest.approx(oracle.mean_absolute_error(truth, answers))
    assert found["quadratic_kappa"] == pytest.approx(oracle.quadratic_kappa(truth, answers))
    assert found["quadratic_kappa"] == pytest.approx(cohen_kappa_score(truth, answers, weights="quadratic"))
    few = ORDERED_LABELS.few_scores(one.truth, one.predicted)
    assert few["mae"] == found["mae"]
    assert few["quadratic_kappa"] == pytest.approx(found["quadratic_kappa"])
    ends = intervals(one, n_replicates=200)
    for name in ("mae", "quadratic_kappa"):
        low, high = ends[name]
        assert low < (found[name] or 0.0) < high
    other = ordered(seed + 10)
    other = Predictions(other.labels, other.probs, one.truth, one.texts, groups=one.groups)
    found_of_pair = compare({"a": one, "b": other}, n_replicates=100)
    difference = found_of_pair["differences"][0]["mae"]["difference"]
    assert difference == pytest.approx(found_of_pair["runs"][1]["mae"] - found_of_pair["runs"][0]["mae"])


def test_numbers_of_a_plain_classification_have_an_error_too() -> None:
    one = ordered(0)
    plain = Predictions(Labels(one.labels.names), one.probs, one.truth, one.texts)
    assert scores(plain)["mae"] == scores(one)["mae"]
    words = Predictions(Labels(["a", "b", "c", "d"]), one.probs, one.truth, one.texts)
    assert scores(words)["mae"] is None
    named = Predictions(OrderedLabels(["d", "a", "c", "b"]), one.probs, one.truth, one.texts)
    assert scores(named)["quadratic_kappa"] == scores(one)["quadratic_kappa"]


def test_predictions_are_read_back_with_their_order(tmp_path: Path) -> None:
    one = ordered(3, names=NAMES)
    one.save(tmp_path / "p.npz")
    back = Predictions.load(tmp_path / "p.npz")
    assert back.labels.names == NAMES
    assert back.labels.ordered


# --- every architecture, and what it answers


def train(folder: Path, arch: str, *more: str) -> Done:
    return senti(
        "train", "train.csv", "--arch", arch, "--out", f"runs/{arch}", "--no-baseline", *more, cwd=folder
    )


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ordinal")
    write_csv(folder / "train.csv", rows_of(160))
    write_csv(folder / "test.csv", rows_of(40, seed=7))
    write_csv(folder / "named.csv", rows_of(120, 3), NAMES)
    for arch in ("tfidf", "bow"):
        done = train(folder, arch, "--task", "ordinal")
        assert done.code == 0, done.err
    return folder


LEARN = [name for name, row in ARCHITECTURES.items() if not row.not_ordinal]


@pytest.mark.parametrize("arch", chosen(LEARN, "tfidf", "bow", "cnn", "gru"))
def test_every_architecture_learns_an_order(arch: str, place: Path) -> None:
    folder = place / "runs" / arch
    if not folder.exists():
        few = ["--preset", "nano", "--set", "train.max_steps=2", "--batch-size", "32"]
        done = train(place, arch, "--task", "ordinal", *few)
        assert done.code == 0, done.err
    run = Classifier.load(folder)
    assert run.labels.ordered
    probs = run.predict_proba(["great and lovely superb", "", "awful dull boring"])
    assert probs.shape == (3, 4)
    assert probs.sum(1) == pytest.approx(np.ones(3), abs=1e-5)
    if arch in ("tfidf", "bow"):
        assert run.predict(["great lovely superb", "awful dull boring"]) == ["4", "1"]
        # One score moves all classes: a better text is no more likely to be at most a class.
        at_most = run.predict_proba(["awful dull boring", "awful dull great", "great superb great"]).cumsum(1)
        assert (np.diff(at_most, axis=0) <= 1e-5).all()


def test_other_architectures_say_what_to_take(place: Path) -> None:
    done = train(place, "nb", "--task", "ordinal")
    assert done.code == 2
    assert "tfidf" in done.err


def test_bags_reach_the_minimum_of_the_definition() -> None:
    """No step in any direction lowers the penalized loss of `tfidf`."""
    from sentimodels.models import build
    from sentimodels.text.encoder import encoder_for

    config: Any = resolve({"arch": "tfidf", "task": {"kind": "ordinal"}})
    rows = rows_of(80)
    texts, labels = [text for text, _ in rows], np.array([label for _, label in rows])
    encoder = encoder_for(config, texts)
    module: Any = build("tfidf", config.model, encoder.inputs(4, ordered=True))
    encoded = encoder.encode(texts)
    module.fit(encoded, labels, 0)
    module.double()
    inputs = encoded.ids.astype(np.int64)
    rows_ids = [inputs[a:b] for a, b in zip(encoded.row_offsets, encoded.row_offsets[1:], strict=False)]
    padded = torch.nn.utils.rnn.pad_sequence([torch.from_numpy(row) for row in rows_ids], batch_first=True)

    def penalized() -> float:
        log_probs = module(padded)[range(len(labels)), torch.from_numpy(labels)]
        return float(-config.model.c * log_probs.sum() + 0.5 * module.weight.square().sum())

    with torch.no_grad():
        best, rng = penalized(), torch.Generator().manual_seed(0)
        for _ in range(20):
            for parameter in (module.weight, module.cut_points.raw):
                before = parameter.data.clone()
                parameter.data += 0.02 * torch.randn(parameter.shape, generator=rng, dtype=torch.float64)
                assert penalized() > best - 1e-3
                parameter.data = before


@pytest.fixture(scope="module")
def made(place: Path) -> Path:
    (place / "out").mkdir()
    if not (place / "runs/cnn").exists():
        done = train(place, "cnn", "--task", "ordinal", "--preset", "nano", "--set", "train.max_steps=2")
        assert done.code == 0, done.err
    return place


def test_reports_have_error_and_kappa(made: Path) -> None:
    done = senti("evaluate", "runs/tfidf", "test.csv", "--json", "--bootstrap", "100", cwd=made)
    value = json.loads(done.out)
    for name in ("mae", "quadratic_kappa"):
        low, high = value["intervals"][name]
        assert low <= value[name] <= high
        assert name in value["majority"]
    for args in (["evaluate", "runs/tfidf", "test.csv"], ["card", "runs/tfidf"],
                 ["compare", "runs/tfidf", "runs/bow", "--data", "test.csv",
                  "--bootstrap", "100"]):  # fmt: skip
        done = senti(*args, cwd=made)
        assert "quadratic kappa" in done.out, args
    about = json.loads((made / "runs/tfidf/run.json").read_text())
    assert {"mae", "quadratic_kappa"} <= about["crossed"].keys() | about["valid"].keys()


@given(st.integers(2, 6), st.integers(0, 10**6))
def test_no_answer_has_a_smaller_expected_error_than_the_median(n: int, seed: int) -> None:
    probs = np.random.default_rng(seed).dirichlet(np.ones(n), 20)
    labels = Labels([str(one) for one in range(n)])
    chosen_by = picker(ThresholdRule.of("mae"), labels)(probs, np.zeros(20, np.int64))
    answers = chosen_by.decide(probs)
    assert answers.tolist() == (probs.cumsum(1) < 0.5).sum(1).clip(max=n - 1).tolist()
    errors = probs @ np.abs(np.arange(n)[:, None] - np.arange(n))
    assert errors[np.arange(20), answers] == pytest.approx(errors.min(1))


def test_runs_answer_with_the_median_where_it_is_asked_for(made: Path) -> None:
    done = senti("train", "train.csv", "--task", "ordinal", "--arch", "bow", "--threshold", "mae",
                 "-o", "runs/median", "--no-baseline", "--json", cwd=made)  # fmt: skip
    assert done.code == 0, done.err
    run = Classifier.load(made / "runs/median")
    texts = [text for text, _ in rows_of(40, seed=5)]
    median = (run.predict_proba(texts).cumsum(1) < 0.5).sum(1)
    assert run.predict(texts) == [run.labels.names[one] for one in median]
    found = json.loads(done.out)
    assert found["thresholds"]["rule"] == "mae"
    assert "proposed_thresholds" not in found
    part = "test" if "test" in found["thresholds"] else "crossed"
    assert 0 <= found["thresholds"][part]["cost"] < 3
    plain = json.loads((made / "runs/bow/run.json").read_text())["proposed_thresholds"]
    assert (plain["rule"], plain["score"]) == ("mae", "mean absolute error")
    assert plain["usual"] == pytest.approx(plain["by_rule"] - sum(plain["interval"]) / 2, abs=0.1)
    with pytest.raises(DataError, match="no order"):
        picker(ThresholdRule.of("mae"), Labels(["a", "b"]))


def test_the_order_of_names_is_kept_everywhere(made: Path) -> None:
    folder = made / "runs/named"
    if not folder.exists():
        done = senti("train", "named.csv", "--label-order", "poor,fair,good", "--arch", "tfidf",
                     "--out", "runs/named", "--no-baseline", cwd=made)  # fmt: skip
        assert done.code == 0, done.err
    run = Classifier.load(folder)
    assert run.labels.names == NAMES
    assert run.predict(["great lovely", "awful dull"]) == ["good", "poor"]
    assert json.loads((folder / "labels.json").read_text()) == {"labels": list(NAMES), "ordered": True}
    student = senti("distill", "runs/named", "--arch", "bow", "-o", "out/named", "--no-baseline", cwd=made)
    assert student.code == 0, student.err
    assert Classifier.load(made / "out/named").labels.names == NAMES
    done = senti("train", "named.csv", "--task", "ordinal", "--arch", "tfidf", "-o", "out/no", cwd=made)
    assert done.code == 2
    assert "--label-order" in done.err


def test_a_run_can_be_trained_again_from_its_configuration(made: Path) -> None:
    config = (made / "runs/cnn/config.toml").read_text()
    assert 'kind = "ordinal"' in config


@pytest.mark.parametrize("arch", ["tfidf", "bow", "cnn"])
def test_a_numpy_folder_answers_as_the_run(arch: str, made: Path) -> None:
    out = f"out/again-{arch}"
    done = senti("export", f"runs/{arch}", "--numpy", "-o", out, "--texts", "test.csv", "--force", cwd=made)
    assert done.code == 0, done.err
    place = spec_from_file_location(f"ordered_by_numpy_{arch}", made / out / "classifier.py")
    assert place is not None
    assert place.loader is not None
    module = module_from_spec(place)
    place.loader.exec_module(module)
    texts = ["great lovely film", "", "awful day", "x" * 50]
    found = module.Classifier(made / out).predict_proba(texts)
    assert found == pytest.approx(Classifier.load(made / "runs" / arch).predict_proba(texts), abs=1e-6)


def test_transformers_cannot_hold_cut_points(made: Path) -> None:
    done = senti("export", "runs/tfidf", "--hf", "-o", "out/hf", cwd=made)
    assert done.code == 2
    assert "cut points" in done.err


def test_the_page_answers_stars(made: Path) -> None:
    model: Any = next(iter(load_models([made / "runs/tfidf"]).values()))
    assert model.predict("great lovely superb", 10)["label"] == "4"
    assert len(model.effects("great film", "integrated-gradients")["tokens"]) == 2


@pytest.mark.parametrize("arch", ["tfidf", "bow", "cnn"])
def test_parts_of_a_score_sum_up(arch: str, made: Path) -> None:
    run = Classifier.load(made / "runs" / arch)
    found = attribute(run, "a great lovely film that was not dull")
    log_probs = np.log(run.predict_proba(["a great lovely film that was not dull"])[0].astype(np.float64))
    assert found.scores == pytest.approx(log_probs - log_probs.mean(), abs=1e-3)
    assert found.gap < 2e-3
    if arch != "cnn":  # a good word makes the highest class likelier than the lowest
        effects = {token.text: effect for token, effect in zip(found.tokens, found.effects, strict=True)}
        assert effects["great"][-1] > effects["great"][0]
        assert effects["dull"][-1] < effects["dull"][0]


@pytest.mark.slow
def test_an_onnx_graph_answers_as_the_run(made: Path) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    for name in ("cnn", "tfidf", "bow"):
        done = senti("export", f"runs/{name}", "--onnx", "-o", f"out/onnx-{name}", cwd=made)
        assert done.code == 0, done.err
        assert json.loads((made / f"out/onnx-{name}/export.json").read_text())["ordered"] is True


def test_a_frame_trains_ordered_labels(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    rows = rows_of(90, 3)
    frame = pd.DataFrame({"text": [text for text, _ in rows], "label": [NAMES[label] for _, label in rows]})
    run = Classifier.fit_frame(frame, tmp_path / "run", arch="tfidf", data={"label_order": list(NAMES)})
    assert run.labels.names == NAMES
    assert run.predict(["great lovely", "awful dull"]) == ["good", "poor"]
