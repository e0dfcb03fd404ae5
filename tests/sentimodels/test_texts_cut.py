"""Texts that are longer than a model reads are counted and marked wherever a run answers."""

import csv
import io
import json
import logging
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer

from senti_in_process import senti
from sentimodels import Classifier
from sentimodels.cli.app import build
from sentimodels.data import Table, read_table
from sentimodels.data.encoded import Cut, encode_texts
from sentimodels.evaluation.predictions import Predictions, answer, predict
from sentimodels.explain import EXPLAINERS
from sentimodels.predictor import load_predictor
from sentimodels.runs.execute import Callbacks, train
from sentimodels.runs.families import resolve
from sentimodels.runs.tables import Tables
from sentimodels.web.models import Answering, load_models
from sentitok import train_bpe

LONG = "the plot goes on " * 20
UNREAD = "% of it is not read"
SAID = "1 of 3 texts is longer than 16 tokens and was cut; 8"


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
        "windows": ["--arch", "gru", *small, "--windows"],
        "bow": ["--arch", "bow"],
        "tfidf": ["--arch", "tfidf"],
    }.items():
        done = senti(*base, *words, "-o", name, cwd=made)
        assert done.code == 0, done.err
        assert "longer than" not in done.err
    (made / "ids.csv").write_text(f"id,text\n1,good\n2,{LONG} bad\n", "utf-8")
    done = senti("ensemble", "gru", "bow", "--dev", "rows.csv", "-o", "both", cwd=made)
    assert done.code == 0, done.err
    assert "1 of 3 texts of dev that gru reads is longer than 16 tokens" in done.err
    assert UNREAD in done.err
    done = senti("ensemble", "bow", "tfidf", "--dev", "rows.csv", "-o", "bags", cwd=made)
    assert done.code == 0, done.err
    for name in ("one", "two"):
        one = Table.of(["good"], ["pos"])
        predict(load_predictor(made / "bow"), one).save(made / f"{name}.npz")
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
    for part in ("validation", "test"):
        line = f"1 of 3 {part} texts is longer than 16 tokens and was cut; "
        assert line in done.err
    assert done.err.count(UNREAD) == 2
    assert "--windows" in done.err
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
    shares = answer(load_predictor(folder / "both"), texts)[1]
    assert (shares > 0).tolist() == [False, True, False]
    n_tokens = int(classifier.encoder.encode([LONG]).text_lengths[0])
    assert shares[1] == pytest.approx(1 - 16 / n_tokens)
    assert answer(classifier, [])[1].shape == (0,)
    caplog.clear()
    with caplog.at_level(logging.WARNING, "sentimodels"):
        Classifier.load(folder / "bow").predict(texts)
    assert caplog.text == ""


def test_the_page_marks_cut_texts(folder: Path) -> None:
    for run in ("gru", "both"):
        page = Answering(load_predictor(folder / run))
        cut = page.predict(LONG, 1000)["cut"]
        assert (cut["long"], cut["max_tokens"]) == ("truncate", 16)
        assert cut["said"].startswith("The text is longer than 16 tokens and was cut; ")
        assert 0.5 < cut["unread"] < 1
        assert "cut" not in page.predict("good", 1000)
        found = page.predict_batch(["good", LONG])
        assert [one["cut"] for one in found["answers"]] == [False, True]
        assert found["n_cut"] == 1
        assert found["unread"] == cut["unread"]
    windows = Answering(load_predictor(folder / "windows")).predict(LONG, 1000)["cut"]
    assert windows["unread"] == 0
    assert windows["said"] == "The text is longer than 16 tokens and is read in windows"


def test_a_predictor_of_ones_own_needs_no_marks(folder: Path) -> None:
    class Fixed:
        labels = Classifier.load(folder / "bow").labels

        def predict_proba(self, texts: list[str]) -> "np.ndarray[tuple[int, int], np.dtype[np.float32]]":
            return np.full((len(texts), 2), 0.5, np.float32)

    assert answer(Fixed(), ["a", "b"])[1].tolist() == [0, 0]


def test_any_run_reads_in_windows_where_it_is_asked_to(folder: Path) -> None:
    run, both = (folder / name for name in ("gru", "both"))
    whole, windows = Classifier.load(run), Classifier.load(run, windows=True)
    assert windows.max_tokens is None
    texts = ["good", LONG + "bad"]
    assert windows.answer(texts)[1].tolist() == [False, False]
    probs = [one.predict_proba(texts) for one in (whole, windows)]
    assert probs[0][0] == pytest.approx(probs[1][0])
    assert probs[0][1] != pytest.approx(probs[1][1], abs=1e-6)
    # The logits of a text are the mean of those of its windows.
    ids = whole.encoder.encode(texts).text_lengths[1]
    rows = windows.encoder.encode([texts[1]])
    assert len(rows) == -(-int(ids) // 16)
    assert load_predictor(both, windows=True).max_tokens is None  # type: ignore[attr-defined]  # 2026-11-30: an Ensemble
    named = json.loads(senti("evaluate", "gru", "rows.csv", "--json", cwd=folder).out)
    assert named["unread"] == pytest.approx(0.8, abs=0.15)


# Each command that asks runs for answers, by arguments; and what it says of the run in windows.
ASKS = {
    "predict": ["gru", "rows.csv", "-o", "out.jsonl"],
    "evaluate": ["both", "rows.csv", "--bootstrap", "0"],
    "errors": ["gru", "rows.csv"],
    "submit": ["gru", "ids.csv", "-o", "out.csv", "--form", "imdb"],
    "explain": ["both", LONG],
    "thresholds": ["gru", "rows.csv"],
    "compare": ["gru", "bow", "--data", "rows.csv", "--bootstrap", "100"],
    "plot": ["gru", "bow", "--data", "rows.csv", "--kind", "calibration", "-o", "out.png"],
}
# As `ASKS`, where no run reads texts in parts, or none is asked.
IDLE = {
    "predict": [["bow", "rows.csv"]],
    "evaluate": [["bow", "rows.csv"]],
    "errors": [["bow", "rows.csv"]],
    "submit": [["bow", "ids.csv", "-o", "no.csv"]],
    "explain": [["bow", "good"]],
    "thresholds": [["bow", "rows.csv"]],
    "compare": [["bow", "bags", "--data", "rows.csv"], ["one.npz", "two.npz"]],
    "plot": [["bow", "--data", "rows.csv", "--kind", "calibration", "-o", "no.png"],
             ["rows.csv", "--kind", "labels", "-o", "no.png"]],
    "serve": [["bow", "bags"]],
    "export": [["bow", "--numpy", "-o", "no"], ["gru", "--hf", "-o", "no"]],
    "train": [["base.csv", "--arch", "bow", "-o", "no"]],
    "distill": [["gru", "--arch", "bow", "-o", "no"]],
}  # fmt: skip


def test_every_command_that_has_windows_is_here() -> None:
    """`sweep` has it too, and may compare architectures that read texts in parts with ones that do not."""
    commands = typer.main.get_command(build()).commands  # type: ignore[attr-defined]  # 2026-11-30: a group
    having = {
        name for name, command in commands.items() if any("--windows" in one.opts for one in command.params)
    }
    assert having == {*ASKS, *IDLE, "sweep"}


@pytest.mark.parametrize("command", ASKS)
def test_commands_read_in_windows_where_they_are_asked_to(command: str, folder: Path) -> None:
    args = [*ASKS[command], *(["--force"] if "-o" in ASKS[command] else [])]
    cut = senti(command, *args, cwd=folder)
    assert cut.code == 0, cut.err
    assert "longer than 16 tokens" in cut.err
    assert "--windows" in cut.err
    whole = senti(command, *args, "--windows", cwd=folder)
    assert whole.code == 0, whole.err
    assert "longer than" not in whole.err


@pytest.mark.parametrize("command", IDLE)
def test_windows_that_change_nothing_are_refused(command: str, folder: Path) -> None:
    for args in IDLE[command]:
        done = senti(command, *args, "--windows", cwd=folder)
        assert done.code == 2, done.out
        assert done.err.startswith("senti: --windows: "), done.err
        assert "leave it out" in done.err or "--onnx" in done.err
        assert not (folder / "no").exists()


def test_answers_in_windows_are_the_same_in_every_command(folder: Path) -> None:
    asked = Classifier.load(folder / "gru", windows=True)
    texts = read_table(folder / "rows.csv").texts
    probs = asked.predict_proba(texts)
    done = senti("predict", "gru", "rows.csv", "--windows", "--json", cwd=folder)
    found = [json.loads(line)["probs"] for line in done.out.splitlines()]
    assert [[one[name] for name in asked.labels] for one in found] == pytest.approx(probs, abs=1e-4)
    page: Any = next(iter(load_models([folder / "gru"], windows=True).values()))
    assert [one["probs"] for one in page.predict_batch(texts)["answers"]] == pytest.approx(probs, abs=1e-5)
    assert page.predict(texts[1], 1000)["cut"]["said"].endswith("is read in windows")
    assert senti("explain", "gru", texts[1], cwd=folder).code == 2
    for method in EXPLAINERS:
        done = senti("explain", "gru", texts[1], "--windows", "--json", "--method", method, cwd=folder)
        assert json.loads(done.out)["probs"] == pytest.approx(probs[1], abs=1e-5)
    done = senti(
        "evaluate", "gru", "rows.csv", "--windows", "-o", "w.npz", "--bootstrap", "0", "--force", cwd=folder
    )
    assert done.code == 0, done.err
    assert Predictions.load(folder / "w.npz").probs == pytest.approx(probs, abs=1e-5)


def test_an_export_reads_in_windows(folder: Path) -> None:
    done = senti("train", "base.csv", "--no-baseline", "--epochs", "1", "--arch", "cnn", "--preset", "nano",
                 "--max-len", "16", "-o", "cnn", cwd=folder)  # fmt: skip
    assert done.code == 0, done.err
    done = senti(
        "export", "cnn", "--numpy", "--windows", "-o", "cnn-numpy", "--texts", "rows.csv", cwd=folder
    )
    assert done.code == 0, done.err
    about = json.loads((folder / "cnn-numpy" / "classifier.json").read_text("utf-8"))
    assert about["long"] == "windows"
    assert "longer than" not in done.err
    done = senti("export", "cnn", "--numpy", "-o", "cnn-cut", "--texts", "rows.csv", cwd=folder)
    assert SAID in done.err
    assert "the folder cuts such texts too; --windows reads all of it" in done.err


def test_a_card_counts_the_training_texts_that_were_cut(folder: Path) -> None:
    done = senti("train", "rows.csv", "--no-baseline", "--epochs", "1", "--arch", "gru", "--preset", "nano",
                 "--max-len", "16", "--valid-share", "0", "-o", "cut", cwd=folder)  # fmt: skip
    assert done.code == 0, done.err
    said = "only its beginning is read; so it was with 1 of 3 training texts."
    assert said in senti("card", "cut", cwd=folder).out


def test_files_of_earlier_versions_say_which_texts_were_cut(folder: Path) -> None:
    assert senti("evaluate", "gru", "rows.csv", "-o", "now.npz", "--force", cwd=folder).code == 0
    with np.load(folder / "now.npz") as arrays:
        columns = dict(arrays)
    columns["cut"] = columns.pop("unread") > 0
    np.savez(folder / "before.npz", **columns)
    found = Predictions.load(folder / "before.npz")
    assert found.cut is not None
    assert found.cut.tolist() == [False, True, False]
    assert found.unread is not None
    assert Cut.of(found.unread).said(16) == "1 of 3 texts is longer than 16 tokens and was cut"


@pytest.mark.parametrize("far", [True, False])
def test_auto_proposes_windows_where_they_pay(far: bool, tmp_path: Path) -> None:
    """Of long texts the word that gives the label away is beyond what the run reads, or before it."""
    drawn, rows = random.Random(1), []
    for n in range(240):
        label, word = ("pos", "good") if n % 2 else ("neg", "bad")
        filler = drawn.choices(["the", "plot", "film", "of", "and", "scene"], k=40 if n % 4 < 2 else 4)
        rows.append((" ".join([*filler, word] if far else [word, *filler]), label))
    table = Table.of([text for text, _ in rows], [label for _, label in rows])
    said: list[str] = []
    config = resolve({
        "arch": "cnn", "preset": "nano", "estimates": {"cnn": 1.0}, "data": {"max_tokens": 16},
        "optim": {"lr": 0.01}, "train": {"epochs": 3, "threads": 1, "baseline": False},
    })  # fmt: skip
    parts = (table.take(range(start, 240, 3)) for start in range(3))
    first, second, valid = parts
    tables = Tables.of(Table.of(first.texts + second.texts, first.labelled() + second.labelled()), valid)
    about = train(config, tmp_path / "run", Callbacks(on_warning=said.append), tables=tables)
    found = about["windows"]
    assert (found["rows"], found["n_cut"]) == (80, 40)
    proposed = any("--windows (senti predict" in line for line in said)
    assert proposed == far
    if far:
        assert found["gain"] > 0.1
        asked = Classifier.load(tmp_path / "run", windows=True).predict(valid.texts)
        right = np.mean([a == b for a, b in zip(asked, valid.labelled(), strict=True)])
        assert found["windows"] == pytest.approx(right)
    assert "windows" not in train(
        config.model_copy(update={"estimates": {}}), tmp_path / "named", tables=tables
    )
