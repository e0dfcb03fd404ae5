"""Texts that are longer than a model reads are counted and marked wherever a run answers."""

import csv
import io
import json
import logging
from pathlib import Path

import numpy as np
import pytest

from senti_in_process import senti
from sentimodels import Classifier
from sentimodels.data.encoded import encode_texts
from sentimodels.evaluation.predictions import Predictions, answer
from sentimodels.predictor import load_predictor
from sentimodels.web.models import Answering
from sentitok import train_bpe

LONG = "the plot goes on " * 20
SAID = "1 of 3 texts is longer than 16 tokens and was cut"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs that read 16 tokens, in windows of 16, and whole texts; an ensemble; and files of rows."""
    made = tmp_path_factory.mktemp("cut")
    rows = "".join(f"a good film number {i},pos\na bad film number {i},neg\n" for i in range(20))
    (made / "base.csv").write_text("text,label\n" + rows, "utf-8")
    (made / "rows.csv").write_text(f"text,label\ngood,pos\n{LONG} bad,neg\nbad,neg\n", "utf-8")
    base = ["train", "base.csv", "--no-baseline", "--epochs", "1"]
    small = ["--preset", "nano", "--max-len", "16"]
    for name, words in {
        "gru": ["--arch", "gru", *small],
        "windows": ["--arch", "gru", *small, "--set", "data.long=windows"],
        "bow": ["--arch", "bow"],
    }.items():
        done = senti(*base, *words, "-o", name, cwd=made)
        assert done.code == 0, done.err
        assert "longer than" not in done.err
    done = senti("ensemble", "gru", "bow", "--dev", "rows.csv", "-o", "both", cwd=made)
    assert done.code == 0, done.err
    assert "1 of 3 texts of dev that gru reads is longer than 16 tokens" in done.err
    return made


@pytest.mark.parametrize("long", ["truncate", "head-tail", "windows"])
def test_cut_texts_are_those_read_in_part(long: str) -> None:
    tokenizer = train_bpe(texts=["a b c d e f g"], vocab_size=260)
    texts = ["a", "", "b" * 40, "c" * 8, "d" * 9]
    encoded = encode_texts(texts, tokenizer, 8, long)  # type: ignore[arg-type]  # 2026-11-29: a parameter
    expected = [False] * 5 if long == "windows" else [False, False, True, False, True]
    assert encoded.cut.tolist() == expected


@pytest.mark.parametrize("run", ["gru", "both"])
def test_predict_counts_and_marks(folder: Path, run: str) -> None:
    done = senti("predict", run, "rows.csv", "--json", cwd=folder)
    assert [json.loads(line)["cut"] for line in done.out.splitlines()] == [False, True, False]
    done = senti("predict", run, "rows.csv", cwd=folder)
    assert [row["cut"] for row in csv.DictReader(io.StringIO(done.out))] == ["false", "true", "false"]
    assert SAID in done.err
    done = senti("predict", run, "rows.csv", "-o", f"{run}.csv", "--json", cwd=folder)
    assert json.loads(done.out)["n_cut"] == 1
    with (folder / f"{run}.csv").open(encoding="utf-8", newline="") as file:
        assert [row["cut"] for row in csv.DictReader(file)] == ["false", "true", "false"]
    assert SAID in senti("predict", run, cwd=folder, stdin=f"good\n{LONG}\nbad\n").err


@pytest.mark.parametrize("run", ["windows", "bow"])
def test_a_model_that_reads_whole_texts_says_nothing(folder: Path, run: str) -> None:
    done = senti("predict", run, "rows.csv", cwd=folder)
    assert "longer than" not in done.err
    assert "cut" not in done.out.splitlines()[0].split(",")
    report = senti("evaluate", run, "rows.csv", "--bootstrap", "0", "--json", cwd=folder)
    assert json.loads(report.out)["n_cut"] == 0


def test_reports_count_and_mark(folder: Path) -> None:
    assert SAID in senti("evaluate", "gru", "rows.csv", "--bootstrap", "0", cwd=folder).err
    done = senti("evaluate", "gru", "rows.csv", "--bootstrap", "0", "--json", "-o", "p.npz", cwd=folder)
    assert json.loads(done.out)["n_cut"] == 1
    kept = Predictions.load(folder / "p.npz")
    assert kept.cut is not None
    assert kept.cut.tolist() == [False, True, False]
    assert kept.take([1, 2]).cut is not None
    assert SAID in senti("errors", "gru", "rows.csv", cwd=folder).err
    value = json.loads(senti("errors", "gru", "rows.csv", "--json", cwd=folder).out)
    assert value["n_cut"] == 1
    assert all(one["cut"] == (one["row"] == 2) for one in value["errors"])
    done = senti("compare", "gru", "bow", "--data", "rows.csv", "--bootstrap", "100", cwd=folder)
    assert SAID in done.err
    assert "longer than 16 tokens" in senti("explain", "both", LONG, cwd=folder).err
    assert json.loads(senti("explain", "both", LONG, "--json", cwd=folder).out)["cut"] is True


def test_training_counts_cut_validation_and_test_texts(folder: Path) -> None:
    done = senti(
        "train", "base.csv", "--valid", "rows.csv", "--test", "rows.csv", "--arch", "gru", "--preset", "nano",
        "--max-len", "16", "--epochs", "1", "--no-baseline", "-o", "valid", cwd=folder,
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "1 validation text" in done.err
    assert "1 test text" in done.err
    about = json.loads((folder / "valid" / "run.json").read_text("utf-8"))
    assert about["cut"] == {"train": 0, "valid": 1, "test": 1}


def test_python_logs_and_tells(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    texts = ["good", LONG, "bad"]
    classifier = Classifier.load(folder / "gru")
    with caplog.at_level(logging.WARNING, "sentimodels"):
        probs = classifier.predict_proba(texts)
    assert SAID in caplog.text
    same, cut = classifier.answer(texts)
    assert (same == probs).all()
    assert cut.tolist() == [False, True, False]
    assert answer(load_predictor(folder / "both"), texts)[1].tolist() == [False, True, False]
    assert answer(classifier, [])[1].shape == (0,)
    caplog.clear()
    with caplog.at_level(logging.WARNING, "sentimodels"):
        Classifier.load(folder / "bow").predict(texts)
    assert caplog.text == ""


def test_the_page_marks_cut_texts(folder: Path) -> None:
    for run in ("gru", "both"):
        page = Answering(load_predictor(folder / run))
        assert page.predict(LONG, 1000)["cut"]["max_tokens"] == 16
        assert "cut" not in page.predict("good", 1000)
        found = page.predict_batch(["good", LONG])
        assert [one["cut"] for one in found["answers"]] == [False, True]
        assert found["n_cut"] == 1


def test_a_predictor_of_ones_own_needs_no_marks(folder: Path) -> None:
    class Fixed:
        labels = Classifier.load(folder / "bow").labels

        def predict_proba(self, texts: list[str]) -> "np.ndarray[tuple[int, int], np.dtype[np.float32]]":
            return np.full((len(texts), 2), 0.5, np.float32)

    assert answer(Fixed(), ["a", "b"])[1].tolist() == [False, False]
