"""Thresholds: chosen for a target or by costs, cross-fitted, stored in a run, and used by every answer."""

import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from runpy import run_path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.metrics import f1_score

from senti_in_process import Done, senti
from sentimodels.classifier import Classifier
from sentimodels.config import ThresholdRule
from sentimodels.data import read_table
from sentimodels.data.label_sets import LabelSets
from sentimodels.data.table import Labels
from sentimodels.errors import CheckpointError, ConfigError, DataError
from sentimodels.evaluation.thresholds import (
    Thresholds,
    choose,
    coverage,
    cross_fitted,
    curves,
    load_thresholds,
    picker,
    read_costs,
    scored,
)
from sentimodels.export.onnx.reader import OnnxReader
from sentimodels.runs.families import resolve
from sentimodels.web.models import load_models

ABC = Labels(["a", "b", "c"])
SETS = LabelSets(["a", "b", "c"], "|")


def drawn(n: int, seed: int = 0, skew: float = 1.0) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Probabilities of three labels, and truth that follows them; the first label is rare with a skew."""
    draw = np.random.default_rng(seed)
    logits = draw.normal(size=(n, 3)) * 1.5 + np.log([1 / skew, 1, 1])
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return probs, np.array([draw.choice(3, p=row) for row in probs])


def drawn_sets(n: int, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    draw = np.random.default_rng(seed)
    probs = draw.uniform(size=(n, 3)) ** np.array([1, 2, 4])
    return probs, (draw.uniform(size=(n, 3)) < probs).astype(np.int64)


def rule(written: str) -> ThresholdRule:
    return ThresholdRule.of(written)


# --- choices


@given(st.integers(0, 1000), st.floats(0.3, 1), st.sampled_from(["precision", "recall"]))
def test_no_other_confidence_is_better(seed: int, target: float, name: str) -> None:
    probs, truth = drawn(60, seed)
    confidence, right = probs.max(axis=1), probs.argmax(axis=1) == truth
    reached = []
    for least in [0.0, *confidence]:
        n = (confidence >= least).sum()
        hits = right[confidence >= least].sum()
        share = hits / n if name == "precision" else hits / len(truth)
        if share >= target - 1e-12:
            reached.append(n)
    asked = ThresholdRule(name, target)
    if not reached:
        with pytest.raises(DataError, match=name):
            choose(asked, ABC, probs, truth)
        return
    chosen = choose(asked, ABC, probs, truth)
    answers = chosen.decide(probs)
    assert scored(chosen, answers, truth)[name] >= target - 1e-12
    assert (answers >= 0).sum() == (max if name == "precision" else min)(reached)


@given(st.integers(0, 1000), st.sampled_from(["precision=0.7", "recall=0.6", "macro_f1"]))
def test_no_other_threshold_of_a_label_is_better(seed: int, written: str) -> None:
    probs, truth = drawn_sets(50, seed)
    asked = rule(written)
    chosen = choose(asked, SETS, probs, truth)
    for place, least in enumerate(chosen.least):
        p, there = probs[:, place], truth[:, place]

        def of(least: float, p: NDArray[Any] = p, there: NDArray[Any] = there) -> tuple[float, float, float]:
            hits, n = there[p >= least].sum(), (p >= least).sum()
            return hits / max(1, n), hits / max(1, there.sum()), 2 * hits / max(1, n + there.sum())

        every = [of(one) for one in [0.0, *p]]
        precision, recall, f1 = of(least)
        if not there.any():
            assert least == 0.5
        elif asked.name == "macro_f1":
            assert f1 == pytest.approx(max(one[2] for one in every))
        elif asked.name == "recall":
            assert recall >= asked.target - 1e-12
            assert (p >= least).sum() == min(
                (p >= one).sum() for one, scores in zip([0.0, *p], every, strict=True)
                if scores[1] >= asked.target - 1e-12
            )  # fmt: skip
        elif least <= 1:
            assert precision >= asked.target - 1e-12
            assert recall == pytest.approx(max(one[1] for one in every if one[0] >= asked.target - 1e-12))
        else:  # never answered
            assert max(one[0] for one in every) < asked.target


def test_macro_f1_of_rare_labels_rises_and_holds_on_other_rows() -> None:
    probs, truth = drawn(4000, skew=12)
    chosen = choose(rule("macro_f1"), ABC, probs, truth)
    other, known = drawn(4000, seed=1, skew=12)
    plain = f1_score(known, other.argmax(axis=1), average="macro")
    assert f1_score(known, chosen.decide(other), average="macro") > plain + 0.01


def test_macro_f1_of_two_labels_is_the_best_cut() -> None:
    probs, truth = drawn(120, seed=3, skew=3)
    probs = np.stack([probs[:, 0], 1 - probs[:, 0]], axis=1)
    truth = (truth > 0).astype(np.int64)
    labels = Labels(["a", "b"])
    best = max(f1_score(truth, (probs[:, 0] < cut).astype(int), average="macro") for cut in probs[:, 0])
    chosen = choose(rule("macro_f1"), labels, probs, truth)
    assert f1_score(truth, chosen.decide(probs), average="macro") == pytest.approx(best)


def test_costs_choose_the_least_expected_cost(tmp_path: Path) -> None:
    path = tmp_path / "costs.csv"
    path.write_text("true,answer,cost\na,b,10\na,c,4\n*,,0.3\n")
    chosen = picker(rule(f"cost={path}"), ABC)(np.zeros((0, 3)), np.zeros(0, np.int64))
    matrix = np.array([[0, 10, 4, 0.3], [1, 0, 1, 0.3], [1, 1, 0, 0.3]])
    probs, truth = drawn(3000)
    expected = (probs @ matrix).argmin(axis=1)
    answers = chosen.decide(probs)
    assert (answers == np.where(expected == 3, -1, expected)).all()
    usual = Thresholds(chosen.rule, ABC, (0.0,) * 3, chosen.costs)
    found = scored(chosen, answers, truth)["cost"]
    assert found == pytest.approx(matrix[truth, answers].mean())
    assert found < scored(usual, probs.argmax(axis=1), truth)["cost"]


def test_costs_of_several_labels_are_thresholds(tmp_path: Path) -> None:
    path = tmp_path / "costs.csv"
    path.write_text("label,wrong,missed\na,1,4\nb,3,1\n")
    chosen = picker(rule(f"cost={path}"), SETS)(np.zeros((0, 3)), np.zeros((0, 3), np.int64))
    assert chosen.least == (0.2, 0.75, 0.5)
    answers, truth = np.array([[1, 0, 0], [1, 1, 1]]), np.array([[0, 1, 0], [1, 0, 1]])
    assert scored(chosen, answers, truth)["cost"] == (1 + 1 + 3) / 2


def test_each_half_is_answered_by_the_other_halfs_choice() -> None:
    probs, truth = drawn(200)
    half = np.arange(200) % 2 == 0
    seen: list[int] = []

    def pick(probs: NDArray[Any], truth: NDArray[np.int64]) -> Thresholds:
        seen.append(len(truth))
        return choose(rule("precision=0.7"), ABC, probs, truth)

    found = cross_fitted(pick, (probs, probs), truth, half)
    answers = np.zeros(200, np.int64)
    for rows in (half, ~half):
        answers[~rows] = choose(rule("precision=0.7"), ABC, probs[rows], truth[rows]).decide(probs[~rows])
    assert seen == [100, 100]
    assert found is not None
    assert found["answered"] == (answers >= 0).mean()
    assert found["recall"] == (answers == truth).mean()
    assert cross_fitted(pick, (probs, probs), truth, np.ones(200, np.bool_)) is None


def test_coverage_falls_as_confidence_rises() -> None:
    for labels, (probs, truth) in ((ABC, drawn(300)), (SETS, drawn_sets(300))):
        rows = coverage(labels, probs, truth)
        assert [row["recall"] for row in rows] == sorted((row["recall"] for row in rows), reverse=True)
        assert rows[0]["answered"] > rows[-1]["answered"]


# --- refusals

NOT_RULES = ["f1", "precision", "precision=", "precision=0", "precision=1.5", "recall=nan", "cost", "cost=",
             "macro_f1=1", ""]  # fmt: skip


@pytest.mark.parametrize("written", NOT_RULES)
def test_rules_that_are_none_are_refused(written: str) -> None:
    with pytest.raises(ValueError, match="threshold"):
        ThresholdRule.of(written)
    with pytest.raises(ConfigError, match="threshold"):
        resolve({"arch": "nb", "train": {"threshold": written}})


# (file, labels, words of the error)
BAD_COSTS: list[tuple[str, Labels, list[str]]] = [
    ("", ABC, ["true,answer,cost"]),
    ("a,b,1\n", ABC, ["a,b,1", "true,answer,cost"]),
    ("label,wrong,missed\na,1,2\n", ABC, ["true,answer,cost"]),
    ("true,answer,cost\na,x,1\n", ABC, ["line 2", "'x'", "a, b, c"]),
    ("true,answer,cost\n\na,b,much\n", ABC, ["line 3", "much", "number"]),
    ("true,answer,cost\na,b,-1\n", ABC, ["line 2", "-1"]),
    ("true,answer,cost\na,b,inf\n", ABC, ["line 2", "inf"]),
    ("true,answer,cost\na,b\n", ABC, ["line 2", "2 cells"]),
    ("true,answer,cost\na,,1\n", ABC, ["'b'", "*,,"]),
    ('true,answer,cost\na,"b,1\n', ABC, ["line", "CSV"]),
    ("true,answer,cost\na,b,1\n", SETS, ["label,wrong,missed"]),
    ("label,wrong,missed\na,0,0\n", SETS, ["'a'", "0"]),
    ("label,wrong,missed\nd,1,0\n", SETS, ["'d'", "a, b, c"]),
]


@pytest.mark.parametrize(("text", "labels", "words"), BAD_COSTS)
def test_bad_files_of_costs_are_refused(text: str, labels: Labels, words: list[str], tmp_path: Path) -> None:
    path = tmp_path / "costs.csv"
    path.write_text(text)
    with pytest.raises(DataError) as error:
        read_costs(path, labels)
    assert all(word in str(error.value) for word in ["costs.csv", *words])


def test_unreachable_targets_name_the_best(tmp_path: Path) -> None:
    probs, truth = np.array([[0.9, 0.1], [0.8, 0.2]]), np.array([1, 0])
    with pytest.raises(DataError, match=r"precision=0.9.*0\.5000"):
        choose(rule("precision=0.9"), Labels(["a", "b"]), probs, truth)
    with pytest.raises(DataError, match=r"recall=0.9.*0\.5000"):
        choose(rule("recall=0.9"), Labels(["a", "b"]), probs, truth)
    sets = np.array([[1, 0], [0, 1]])
    with pytest.raises(DataError, match=r"precision=0.9.*0\.5000"):
        choose(rule("precision=0.9"), LabelSets(["a", "b"], "|"), np.full((2, 2), 0.6), sets)


# --- runs


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Texts with a word of their label, one in four with a word of another; `train.csv` and `dev.csv`."""
    folder, draw = tmp_path_factory.mktemp("thresholds"), np.random.default_rng(0)
    words = {"neg": ["bad", "dull"], "ok": ["plain", "fair"], "pos": ["great", "fun"]}
    for name, n in (("train", 240), ("dev", 160)):
        with (folder / f"{name}.csv").open("w", newline="") as file:
            out = csv.writer(file)
            out.writerow(["text", "label"])
            for row in range(n):
                label = str(draw.choice(list(words)))
                hinted = label if draw.random() < 0.75 else str(draw.choice(list(words)))
                filler = draw.choice(["the", "film", "was", "it", "a", "story", "of", "and"], size=4)
                out.writerow([f"{' '.join(filler)} {draw.choice(words[hinted])} {name}{row}", label])
    (folder / "costs.csv").write_text("true,answer,cost\nneg,pos,9\n*,,0.4\n")
    lines = (folder / "dev.csv").read_text().splitlines()
    ids = [f"{number},{line}" for number, line in enumerate(lines[1:])]
    (folder / "ids.csv").write_text("\n".join(["id,text,label", *ids]) + "\n")
    for name in ("run", "plain"):
        done = senti("train", "train.csv", "--arch", "nb", "--no-baseline", "-o", name, cwd=folder)
        assert done.code == 0, done.err
    return folder


def run(place: Path, *args: str | Path, stdin: str = "") -> Done:
    done = senti(*args, cwd=place, stdin=stdin)
    assert done.code == 0, done.err
    return done


TEXTS = ["a great fun film", "zzz", "dull and bad", "plain fun"]


@pytest.mark.parametrize(
    "written", ["precision=0.85", "recall=0.4", "confidence=0.9", "macro_f1", "cost=costs.csv"]
)
def test_every_answer_follows_the_thresholds(written: str, place: Path) -> None:
    manifest = (place / "run/manifest.json").read_bytes()
    done = run(place, "thresholds", "run", "dev.csv", "--threshold", written, "--json")
    value = json.loads(done.out)
    assert value["crossed"]["answered"] > 0
    assert value["chosen_on"]["rows"] == 160
    assert (
        run(place, "thresholds", "run", "dev.csv", "--threshold", written, "-q").out
        == "run/thresholds.json\n"
    )
    assert (place / "run/manifest.json").read_bytes() == manifest
    run(place, "verify", "run")
    model = Classifier.load(place / "run")
    assert model.thresholds is not None
    decided = model.thresholds.decide(model.predict_proba(TEXTS))
    expected = [None if one < 0 else model.labels.names[one] for one in decided]
    assert model.predict(TEXTS) == expected
    stdin = "\n".join(TEXTS) + "\n"
    lines = run(place, "predict", "run", "--json", stdin=stdin).out.splitlines()
    assert [json.loads(line)["label"] for line in lines] == expected
    page: Any
    [page] = load_models([place / "run"]).values()
    assert [one["label"] for one in page.predict_batch(TEXTS)["answers"]] == expected
    assert page.predict(TEXTS[1], 9)["label"] == expected[1]
    said = json.loads(run(place, "evaluate", "run", "dev.csv", "--bootstrap", "0", "--json").out)
    rule_of = said["thresholds"].pop("rule")
    assert rule_of == value["rule"]
    name, _, target = written.partition("=")
    here, crossed = said["thresholds"].pop("chosen_here"), said["thresholds"].pop("crossed", None)
    assert here == (name not in ("confidence", "cost"))
    assert crossed == (value["crossed"] if here else None)
    assert said["thresholds"] == pytest.approx(value["chosen"])
    if name in ("precision", "recall"):
        assert value["chosen"][name] >= float(target)


@pytest.mark.parametrize("written", ["confidence=0.9", "precision=0.8", "macro_f1", "cost=costs.csv"])
def test_reports_and_exports_follow_the_thresholds(written: str, place: Path, tmp_path: Path) -> None:
    run(place, "thresholds", "run", "dev.csv", "--threshold", written, "-q")
    model = Classifier.load(place / "run")
    assert model.thresholds is not None
    table = read_table(place / "dev.csv")
    truth, answers = table.labelled(), model.predict(table.texts)
    wrong = [one is not None and one != other for one, other in zip(answers, truth, strict=True)]
    said = json.loads(run(place, "errors", "run", "dev.csv", "--json", "--top", "200").out)
    assert said["n_wrong"] == len(said["errors"]) == sum(wrong)
    assert said["n"] + said["n_unanswered"] == len(table)
    assert said["n_unanswered"] == answers.count(None)
    for error in said["errors"]:
        assert answers[error["row"] - 1] == error["predicted"]
        assert truth[error["row"] - 1] == error["label"]
    [own, _] = json.loads(run(place, "compare", "run", "plain", "--data", "dev.csv", "--json",
                              "--bootstrap", "100").out)["runs"]  # fmt: skip
    given = [one == other for one, other in zip(answers, truth, strict=True) if one is not None]
    assert own["thresholds"]["rule"] == model.thresholds.rule
    assert own["thresholds"]["precision"] == pytest.approx(sum(given) / max(1, len(given)))
    assert own["thresholds"]["answered"] == pytest.approx(len(given) / len(table))
    assert "thresholds of the runs" in run(
        place, "compare", "run", "plain", "--data", "dev.csv", "--bootstrap", "100"
    ).out  # fmt: skip
    card = run(place, "card", "run").out
    assert f"`{model.thresholds.rule}`" in card
    assert "160" in card
    crossed = model.thresholds.chosen_on["crossed"] if model.thresholds.chosen_on else {}
    assert f"{100 * crossed['answered']:.1f} % of texts are answered, with a precision of" in card
    assert f"{crossed['precision']:.4f} and a recall of {crossed['recall']:.4f}" in card
    assert ("no answer" in card) == model.thresholds.may_be_unsure
    done = run(place, "submit", "run", "ids.csv", "-o", tmp_path / "s.csv", "--form", "imdb")
    likeliest = model.predict(table.texts, threshold=0)
    lines = (tmp_path / "s.csv").read_text().splitlines()[1:]
    expected = [other if one is None else one for one, other in zip(answers, likeliest, strict=True)]
    assert [line.partition(",")[2] for line in lines] == expected
    assert model.thresholds.rule in done.err
    done = run(place, "export", "run", "--numpy", "-o", tmp_path / "numpy", "--texts", "dev.csv")
    assert f"thresholds  {model.thresholds.rule}" in done.out
    reader = run_path(str(tmp_path / "numpy/classifier.py"))["Classifier"](tmp_path / "numpy")
    assert reader.predict(table.texts, unsure="review") == model.predict(table.texts, unsure="review")
    about = {**reader.about, "labels": list(model.labels.names)}
    onnx = OnnxReader(model.encoder.vocabulary, None, about)
    assert onnx.answers(model.predict_proba(table.texts)) == answers


def test_thresholds_of_several_labels_are_exported_and_reported(place: Path, tmp_path: Path) -> None:
    rows = [f"{' '.join(words)} {i},{'|'.join(words)}" for i in range(60)
            for words in (["bad"], ["fun", "plain"], ["plain"])]  # fmt: skip
    (tmp_path / "sets.csv").write_text("text,label\n" + "\n".join(rows) + "\n")
    (tmp_path / "more.csv").write_text("text,label\nbad new,bad\nfun plain new,fun|plain\nplain x,plain\n")
    for args in (
        ["train", "sets.csv", "--task", "multilabel", "--arch", "nb", "--no-baseline", "-o", "run"],
        ["thresholds", "run", "more.csv", "--threshold", "recall=1", "--plot", "curve.png"],
        ["errors", "run", "more.csv"],
        ["submit", "run", "more.csv", "-o", "s.csv", "--form", "imdb"],
        ["card", "run"],
        ["export", "run", "--numpy", "-o", "numpy"],
    ):
        done = senti(*args, cwd=tmp_path)
        if args[0] != "submit":  # the file has no ids
            assert done.code == 0, done.err
    model = Classifier.load(tmp_path / "run")
    texts = ["bad fun", "plain", "nothing here", "fun"]
    reader = run_path(str(tmp_path / "numpy/classifier.py"))["Classifier"](tmp_path / "numpy")
    assert reader.predict(texts) == model.predict(texts)
    assert OnnxReader(model.encoder.vocabulary, None, reader.about).answers(
        model.predict_proba(texts)
    ) == model.predict(texts)
    assert "by its own threshold" in senti("card", "run", cwd=tmp_path).out


@pytest.mark.slow
def test_a_folder_of_transformers_leaves_thresholds_out_and_says_so(place: Path, tmp_path: Path) -> None:
    run(place, "thresholds", "run", "dev.csv", "--threshold", "confidence=0.9", "-q")
    done = senti("export", "run", "--hf", "-o", tmp_path / "hf", cwd=place)
    assert done.code == 2  # a bag is not a model of transformers
    folder = place / "bert"
    if not folder.exists():
        held = ("data.tokenizer_model=bpe", "data.vocab_size=300", "data.normalize=false",
                "data.lowercase=false", "model.positions=learned", "model.pooling=first", "model.head=tanh",
                "model.char_ngrams=[0,0]", "train.max_steps=2")  # fmt: skip
        run(place, "train", "train.csv", "--arch", "bert", "--preset", "nano", "--no-baseline", "-o", "bert",
            *(part for setting in held for part in ("--set", setting)))  # fmt: skip
    run(place, "thresholds", "bert", "dev.csv", "--threshold", "confidence=0.9", "-q")
    pytest.importorskip("transformers")
    done = senti("export", "bert", "--hf", "-o", tmp_path / "hf", cwd=place)
    assert "thresholds" in done.err, done.err


def test_thresholds_are_removed_without_rows(place: Path, tmp_path: Path) -> None:
    shutil.copytree(place / "plain", tmp_path / "run")
    run(place, "thresholds", tmp_path / "run", "dev.csv", "--threshold", "confidence=0.9")
    assert Classifier.load(tmp_path / "run").thresholds is not None
    for more in ([], ["--threshold", "macro_f1"], ["--threshold", "none", "--plot", tmp_path / "a.svg"]):
        done = senti("thresholds", tmp_path / "run", *more, cwd=place)
        assert done.code == 2
        assert "FILE: name the labelled rows" in done.err
    run(place, "thresholds", tmp_path / "run", "--threshold", "none")
    assert Classifier.load(tmp_path / "run").thresholds is None
    run(place, "thresholds", tmp_path / "run", "--threshold", "none")
    done = senti("thresholds", tmp_path, "--threshold", "none", cwd=place)
    assert done.code == 2
    assert "not a run directory" in done.err


def test_the_card_says_where_scores_flatter(place: Path, tmp_path: Path) -> None:
    shutil.copytree(place / "plain", tmp_path / "run")
    run(place, "thresholds", tmp_path / "run", "dev.csv", "--threshold", "precision=0.85")
    file = tmp_path / "run/thresholds.json"
    tree = json.loads(file.read_text())
    found = tree["chosen_on"]["scores"]
    tree["chosen_on"]["crossed"] = None
    file.write_text(json.dumps(tree))
    card = run(place, "card", tmp_path / "run").out
    assert "which flatter them" in card
    assert f"a precision of {found['precision']:.4f}" in card
    del tree["chosen_on"]["scores"]  # as earlier versions wrote it
    file.write_text(json.dumps(tree))
    assert "`precision=0.85`" in run(place, "card", tmp_path / "run").out


def test_rules_are_pointed_to_their_command(place: Path) -> None:
    for written in ("precision=0.9", "macro_f1", "cost=costs.csv"):
        done = senti("predict", "run", "--threshold", written, cwd=place, stdin="zzz\n")
        assert done.code == 2
        assert f"senti thresholds run FILE --threshold {written}" in done.err
        assert done.err.count("\n") <= 2


@pytest.mark.parametrize("seed", range(3))
def test_curves_are_what_each_threshold_gives(seed: int) -> None:
    probs, truth = drawn(80, seed)
    [curve] = curves(ABC, probs, truth).values()
    assert curve.chosen is None
    for place_of in range(0, len(curve.least), 7):
        at = Thresholds("", ABC, (float(curve.least[place_of]),) * 3)
        found = scored(at, at.decide(probs), truth)
        assert curve.answered[place_of] == pytest.approx(found["answered"])
        assert curve.precision[place_of] == pytest.approx(found["precision"])
        assert curve.recall[place_of] == pytest.approx(found["recall"])
    assert (np.diff(curve.least) > 0).all()
    chosen = choose(rule("precision=0.8"), ABC, probs, truth)
    [curve] = curves(ABC, probs, truth, chosen).values()
    assert curve.chosen is not None
    on = int(np.searchsorted(curve.least, curve.chosen[0]))
    assert curve.least[on] == curve.chosen[0]
    assert curve.chosen[1:] == pytest.approx((curve.answered[on], curve.precision[on], curve.recall[on]))
    of_each = curves(SETS, *drawn_sets(60, seed))
    assert set(of_each) == set(SETS.names)


def test_the_curve_is_drawn_with_the_chosen_point(place: Path, tmp_path: Path) -> None:
    picture = tmp_path / "curve.svg"
    done = run(
        place, "thresholds", "run", "dev.csv", "--threshold", "precision=0.8", "--plot", picture, "--json"
    )
    value = json.loads(done.out)
    assert value["plot"] == str(picture)
    drawn_file = picture.read_text()
    assert "precision" in drawn_file
    assert "chosen" in drawn_file
    run(place, "thresholds", "run", "dev.csv", "--threshold", "none", "--plot", tmp_path / "none.svg")
    assert "chosen" not in (tmp_path / "none.svg").read_text()
    run(place, "plot", "run", "plain", "--kind", "thresholds", "--data", "dev.csv", "-o", tmp_path / "p.png")
    done = senti("thresholds", "run", "dev.csv", "--plot", tmp_path / "curve.txt", cwd=place)
    assert done.code == 2
    assert ".png" in done.err


def test_unsure_answers_have_a_name(place: Path) -> None:
    run(place, "thresholds", "run", "dev.csv", "--threshold", "confidence=0.999", "-q")
    model, stdin = Classifier.load(place / "run"), "zzz\n"
    assert run(place, "predict", "run", "-q", "--unsure", "review", stdin=stdin).out == "review\n"
    done = run(place, "predict", "run", "--json", "--unsure", "review", stdin=stdin)
    assert json.loads(done.out)["label"] == "review"
    assert "confidence=0.999" in run(place, "predict", "run", stdin=stdin).err
    assert run(place, "predict", "run", "-q", stdin=stdin).out == "\n"
    assert model.predict(["zzz"], unsure="review") == ["review"]
    assert model.predict(["zzz"], threshold=0)[0] in model.labels.names
    assert model.predict(["zzz"], threshold={"neg": 1, "ok": 1}) == ["pos"]
    assert (
        run(place, "predict", "run", "-q", "--threshold", "0", stdin=stdin).out.strip() in model.labels.names
    )
    for threshold, word in ((1.5, "1.5"), (float("nan"), "nan"), ({"x": 0.5}, "'x'")):
        with pytest.raises(ConfigError, match=word):
            model.predict(["zzz"], threshold=threshold)
    assert senti("predict", "run", "--unsure", "pos", cwd=place, stdin=stdin).code == 2
    assert "no thresholds" not in run(place, "predict", "run", "--unsure", "review", stdin=stdin).err
    said = "no text is answered 'review'"
    assert (
        said not in run(place, "predict", "run", "--unsure", "review", "--threshold", "0.9", stdin=stdin).err
    )
    run(place, "thresholds", "run", "dev.csv", "--threshold", "none")
    assert said in run(place, "predict", "run", "--unsure", "review", stdin=stdin).err
    done = run(place, "thresholds", "run", "dev.csv", "--threshold", "none")
    assert not (place / "run/thresholds.json").exists()
    assert Classifier.load(place / "run").predict(["zzz"]) == model.predict(["zzz"], threshold=0)


def test_rows_that_chose_the_thresholds_are_named(place: Path, tmp_path: Path) -> None:
    done = run(place, "thresholds", "run", "dev.csv", "--threshold", "precision=0.85", "--json")
    crossed = json.loads(done.out)["crossed"]["precision"]
    header, *lines = (place / "dev.csv").read_text().splitlines(keepends=True)
    (tmp_path / "turned.csv").write_text("".join([header, *lines[::-1]]))
    (tmp_path / "others.csv").write_text("".join([header, *(f"new {line}" for line in lines)]))
    few = ["--bootstrap", "100"]
    calls: list[list[str | Path]]

    def note(*args: str | Path) -> str:
        return " ".join(line for line in run(place, *args).err.splitlines() if "chose the thresholds" in line)

    for file in (place / "dev.csv", tmp_path / "turned.csv"):
        calls = [
            ["evaluate", "run", file, "-o", tmp_path / "p.npz", "--force"],
            ["compare", "run", "plain", "--data", file],
            ["compare", tmp_path / "p.npz", "plain", "--data", file],
        ]
        for args in calls:
            said = note(*args, *few)
            assert "160 rows" in said
            assert f"precision {crossed:.4f}" in said
    assert not note("evaluate", "run", tmp_path / "others.csv", *few)
    assert not note("compare", "run", "plain", "--data", tmp_path / "others.csv", *few)
    assert not note("evaluate", "run", "dev.csv", "--limit", "100", *few)
    # Thresholds of earlier versions know the file, not its rows.
    path = place / "run/thresholds.json"
    tree = json.loads(path.read_text())
    del tree["chosen_on"]["texts_sha256"], tree["chosen_on"]["crossed"]
    path.write_text(json.dumps(tree))
    said = note("evaluate", "run", "dev.csv", *few)
    assert "160 rows" in said
    assert "cross-fitted" not in said
    assert not note("evaluate", "run", tmp_path / "turned.csv", *few)


def test_the_next_step_names_unsure_answers(place: Path) -> None:
    for written, may_be_unsure in (("confidence=0.9", True), ("macro_f1", False)):
        said = run(place, "thresholds", "run", "dev.csv", "--threshold", written).out
        [following] = (line for line in said.splitlines() if line.startswith("next"))
        assert ("--unsure review" in following) == may_be_unsure
        run(place, *following.split()[2:], "-o", "answers.csv", "--force")


def test_bad_input_is_refused_by_name(place: Path) -> None:
    (place / "run/thresholds.json").unlink(missing_ok=True)
    (place / "bad.csv").write_text("true,answer,cost\nneg,good,9\n")
    for args, words in (
        (["thresholds", "run", "dev.csv", "--threshold", "f1"], ["f1", "macro_f1"]),
        (["thresholds", "run", "dev.csv", "--threshold", "cost=bad.csv"], ["bad.csv", "good", "neg, ok"]),
        (["thresholds", "run", "dev.csv", "--threshold", "cost=none.csv"], ["none.csv"]),
        (["thresholds", "run", "dev.csv", "--threshold", "recall=1"], ["recall=1", "highest"]),
        (["thresholds", "run", "train.csv", "--threshold", "macro_f1"], ["--even-if-trained"]),
        (["train", "train.csv", "--arch", "nb", "-o", "x", "--threshold", "cost=bad.csv"], ["bad.csv"]),
        (["train", "train.csv", "--arch", "nb", "-o", "x", "--threshold", "macro_f1", "--set",
          "data.valid_share=0"], ["macro_f1", "--valid"]),
        (["train", "train.csv", "--arch", "nb", "-o", "x", "--threshold", "best"], ["best", "macro_f1"]),
    ):  # fmt: skip
        done = senti(*args, cwd=place)
        assert done.code != 0
        assert all(word in done.err for word in words), done.err
        assert not (place / "x").exists()
        assert not (place / "run/thresholds.json").exists()


def test_damaged_files_are_refused(place: Path, tmp_path: Path) -> None:
    good = Thresholds("macro_f1", ABC, (0.0,) * 3, ((0.0, 1.0, 1.0),) * 3)
    good.save(tmp_path)
    assert load_thresholds(tmp_path, ABC) == good
    assert load_thresholds(place, ABC) is None
    damage: list[Callable[[dict[str, Any]], Any]] = [
        lambda tree: tree | {"schema": "x"}, lambda tree: tree | {"labels": ["a"]},
        lambda tree: tree | {"least": [0.5]}, lambda tree: tree | {"least": [0, 0, "x"]},
        lambda tree: tree | {"least": [0, 0, float("nan")]}, lambda tree: tree | {"costs": [[1]] * 3},
        lambda tree: tree | {"costs": 1}, lambda tree: [],
        lambda tree: {key: one for key, one in tree.items() if key != "rule"},
    ]  # fmt: skip
    for change in damage:
        (tmp_path / "thresholds.json").write_text(json.dumps(change(good.tree())))
        with pytest.raises(CheckpointError, match=r"thresholds\.json"):
            load_thresholds(tmp_path, ABC)


@pytest.mark.parametrize(
    "more", [[], ["--test-share", "0.3"], ["--refit"], ["--task", "multilabel", "--label-separator", "|"]]
)
def test_training_stores_thresholds(more: list[str], place: Path, tmp_path: Path) -> None:
    data = place / "train.csv"
    for written in ("recall=0.3", f"cost={place / 'costs.csv'}"):
        if "multilabel" in more and written.startswith("cost"):
            continue
        out = tmp_path / written.partition("=")[0]
        args: list[str | Path] = [
            "train",
            data,
            "--arch",
            "nb",
            "-o",
            out,
            "--threshold",
            written,
            "--no-baseline",
            *more,
        ]
        done = run(tmp_path, *args)
        about = json.loads((out / "run.json").read_text())
        kept = about.get("chosen", about)["thresholds"]
        model = Classifier.load(out)
        assert model.thresholds is not None
        assert (model.thresholds.rule, list(model.thresholds.least)) == (kept["rule"], kept["least"])
        if "--refit" not in more:
            assert 0 < kept["test" if "--test-share" in more else "crossed"]["answered"] <= 1
            assert f"thresholds {written}" in done.out
        run(tmp_path, "verify", out)


def test_costs_are_found_from_another_folder(place: Path, tmp_path: Path) -> None:
    run(place, "train", "train.csv", "--arch", "nb", "-o", tmp_path / "run", "--threshold", "cost=costs.csv",
        "--no-baseline")  # fmt: skip
    config = (tmp_path / "run/config.toml").read_text()
    assert f"cost={place / 'costs.csv'}" in config
    run(tmp_path, "train", "--config", "run/config.toml", "-o", "again", "--no-baseline")


def test_a_target_that_training_misses_is_said(place: Path, tmp_path: Path) -> None:
    done = run(place, "train", "train.csv", "--arch", "nb", "-o", tmp_path / "run", "--threshold", "recall=1",
               "--no-baseline")  # fmt: skip
    assert "recall=1" in done.err
    assert Classifier.load(tmp_path / "run").thresholds is None


def test_an_ensemble_has_its_own(place: Path) -> None:
    (place / "run/thresholds.json").unlink(missing_ok=True)
    run(place, "train", "train.csv", "--arch", "bow", "--no-baseline", "-o", "bow")
    run(place, "ensemble", "run", "bow", "--dev", "dev.csv", "-o", "both")
    run(place, "thresholds", "both", "dev.csv", "--threshold", "confidence=0.999")
    assert run(place, "predict", "both", "-q", "--unsure", "review", stdin="zzz\n").out == "review\n"
    assert run(place, "predict", "run", "-q", "--unsure", "review", stdin="zzz\n").out != "review\n"
