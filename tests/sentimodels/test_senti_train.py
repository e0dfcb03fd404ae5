"""`senti train`, `predict`, `archs`, `init`, `verify`, as they are typed."""

import contextlib
import csv
import inspect
import io
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from unittest.mock import patch

import pytest

from labelled_reviews import write
from senti_in_process import senti
from sentimodels.classifier import Classifier
from sentimodels.cli.app import build
from sentimodels.cli.data import split
from sentimodels.cli.predict import at_once
from sentimodels.cli.summary import seeds_summary
from sentimodels.config import DataConfig
from sentimodels.evaluation.watched import Watched
from sentimodels.runs.directory import load_run, write_manifest
from sentimodels.runs.ensemble import Ensemble
from sentimodels.runs.tables import Tables
from sentimodels.text.words import WordNgrams
from terminal import on_terminal, plain

SMALL = [
    "--arch",
    "lstm",
    "--set",
    "model.d_model=16",
    "--set",
    "model.d_hidden=16",
    "--set",
    "data.vocab_size=300",
    "--threads",
    "1",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with reviews.csv and a run made of it."""
    path = tmp_path_factory.mktemp("senti")
    write(path / "reviews.csv")
    done = senti(
        "train", "reviews.csv", "--out", "runs/first", "--lr", "0.01", "--epochs", "3", *SMALL, cwd=path
    )
    assert done.code == 0, done.err
    (path / "summary.txt").write_text(done.out)
    (path / "notes.txt").write_text(done.err)
    return path


def test_train_says_what_was_done(folder: Path) -> None:
    summary, notes = (folder / "summary.txt").read_text(), (folder / "notes.txt").read_text()
    assert "architecture  lstm" in summary
    assert re.search(
        r"^lstm beats majority \(\+\d+\.\d ± \d+\.\d points\), (beats|is within noise of)", summary, re.M
    )
    assert re.search(r"^steps +\d+ \(epochs\), best at \d+ by validation macro F1$", summary, re.M)
    assert re.search(r"^labels +neg \d+, pos \d+$", summary, re.M)
    assert "tfidf" in summary
    assert summary.rstrip().endswith('next     echo "great fun" | senti predict runs/first')
    assert "read as csv" in notes
    assert "\x1b" not in summary + notes  # no colour, no bar, outside a terminal


def test_train_json_and_quiet(folder: Path) -> None:
    done = senti("train", "reviews.csv", "--arch", "tfidf", "-o", "runs/json", "--json", cwd=folder)
    assert done.code == 0, done.err
    value = json.loads(done.out)
    assert value["schema"] == "senti.train/1"
    assert value["valid"]["accuracy"] > 0.8
    done = senti("train", "reviews.csv", "--arch", "tfidf", "-o", "runs/quiet", "--quiet", cwd=folder)
    assert (done.code, done.out, done.err) == (0, f"runs{os.sep}quiet\n", "")
    assert senti("train", "reviews.csv", "--json", "--quiet", cwd=folder).code == 2


def test_several_seeds(folder: Path) -> None:
    done = senti(
        "train",
        "reviews.csv",
        "-o",
        "runs/seeds",
        "--seeds",
        "2",
        "--epochs",
        "1",
        *SMALL,
        "--json",
        cwd=folder,
    )
    assert done.code == 0, done.err
    value = json.loads(done.out)
    assert len(value["seeds"]) == 2
    assert value["spread"]["accuracy"]["interval"] >= 0
    assert (folder / "runs" / "seeds" / "seed-1" / "manifest.json").is_file()
    text = seeds_summary(value, Path("runs"))
    assert re.search(r"^lstm [a-z ]+ majority \(.*\), [a-z ]+ tfidf \(.*\), over seeds and rows$", text, re.M)
    for args in (["--resume", "runs/seeds"], ["reviews.csv", "-o", "runs/seeds", "--seeds", "2"]):
        done = senti("train", *args, cwd=folder)
        assert done.code == 2
        assert "all its seeds have finished" in done.err or "a group of runs already" in done.err


def test_stopped_seeds_go_on(folder: Path, tmp_path: Path) -> None:
    """One had finished, one was stopped, one had not begun; from another folder."""
    args = ["train", "reviews.csv", "--seeds", "3", "--epochs", "1", "--no-baseline", *SMALL, "--json"]
    whole = senti(*args, "-o", "runs/whole", cwd=folder)
    asked = iter(range(1000))
    per_run = 17  # 270 rows in batches of 16
    with patch("sentimodels.cli.stopping.Stopper.__call__", lambda _: next(asked) == per_run + 5):
        done = senti(*args, "-o", "runs/parts", cwd=folder)
    assert done.code == 130, done.err
    assert "resume with senti train --resume runs/parts" in done.err.replace("\\", "/")
    assert sorted(path.name for path in (folder / "runs" / "parts").iterdir()) == [
        "group.json", "seed-0", "seed-1",
    ]  # fmt: skip
    first = (folder / "runs" / "parts" / "seed-0" / "run.json").read_bytes()
    done = senti("train", "--resume", folder / "runs" / "parts", "--no-baseline", "--json", cwd=tmp_path)
    assert done.code == 0, done.err
    assert json.loads(done.out)["spread"] == json.loads(whole.out)["spread"]
    assert (folder / "runs" / "parts" / "seed-0" / "run.json").read_bytes() == first
    for seed in ("seed-1", "seed-2"):
        weights = [folder / "runs" / name / seed / "model.safetensors" for name in ("whole", "parts")]
        assert weights[0].read_bytes() == weights[1].read_bytes()


def test_options_reach_the_configuration(folder: Path) -> None:
    (folder / "weights.csv").write_text("label,weight\nneg,1\npos,3\n")
    args = [
        "train", "reviews.csv", "--arch", "cnn", "-o", "runs/options", "--epochs", "1", "--no-baseline",
        "--char-ngrams", "2,4", "--freeze", "backbone.embedding", "--freeze", "backbone.convolutions",
            "--unfreeze-at", "9",
        "--class-weights", "weights.csv", "--skip", "20", "--clean", "--unescape", "--device", "cpu",
        "--set", "model.d_model=16", "--set", "data.vocab_size=300", "--threads", "1", "--patience", "7",
        "--max-len", "99", "--precision", "float32", "--task", "classification",
    ]  # fmt: skip
    done = senti(*args, cwd=folder)
    assert done.code == 0, done.err
    config = tomllib.loads((folder / "runs" / "options" / "config.toml").read_text("utf-8"))
    assert config["model"]["char_ngrams"] == [2, 4]
    assert (config["train"]["patience"], config["train"]["precision"]) == (7, "float32")
    assert (config["data"]["max_tokens"], config["task"]["kind"]) == (99, "classification")
    assert config["train"]["baseline"] is False
    assert (config["optim"]["freeze"], config["optim"]["unfreeze_at"]) == (
        ["backbone.embedding", "backbone.convolutions"],
        9,
    )
    assert config["task"]["class_weights"] == [1.0, 3.0]
    assert [config["data"][key] for key in ("skip", "clean", "unescape")] == [20, True, True]
    assert "252 train" in done.out


def test_the_summary_counts_the_rows_that_are_drawn(folder: Path) -> None:
    rows = [f"good film {i},pos" for i in range(90)] + [f"bad film {i},neg" for i in range(30)]
    (folder / "skewed.csv").write_text("text,label\n" + "\n".join(rows) + "\n")
    args = ["train", "skewed.csv", "--epochs", "1", "--no-baseline", "--set", "data.valid_share=0", *SMALL]
    done = senti(*args, "--set", "task.sampler=balanced", "-o", "runs/drawn", cwd=folder)
    assert done.code == 0, done.err
    assert re.search(r"^labels +neg 30, pos 90$", done.out, re.M)
    assert re.search(r"^drawn +neg 60, pos 60 an epoch, by task.sampler$", done.out, re.M)
    done = senti(*args, "-o", "runs/plain", cwd=folder)
    assert re.search(r"^labels +neg 30, pos 90$", done.out, re.M)
    assert "drawn" not in done.out


def test_train_and_split_hold_out_the_same_share() -> None:
    shares = inspect.signature(split).parameters["shares"].default
    assert float(shares.split(",")[1]) == DataConfig().valid_share


@pytest.mark.parametrize("arch", ["tfidf", "nb"])
def test_linear_models_take_character_ngrams(folder: Path, arch: str) -> None:
    out = f"runs/characters-{arch}"
    done = senti("train", "reviews.csv", "--arch", arch, "-o", out, "--char-ngrams", "3,5", cwd=folder)
    assert done.code == 0, done.err
    words = load_run(folder / out).encoder.encoder
    assert isinstance(words, WordNgrams)
    assert any(ngram.startswith("\x01") for ngram in words.ngrams)
    answered = senti("predict", out, cwd=folder, stdin="wonderfully\n")  # in no training text as a word
    assert answered.code == 0, answered.err
    unknown = senti("predict", out, cwd=folder, stdin="qqqq\n")
    assert answered.out.splitlines()[1].split(",")[2:] != unknown.out.splitlines()[1].split(",")[2:]


def test_clean_and_skip_change_what_is_read(folder: Path) -> None:
    (folder / "breaks.csv").write_text("text,label\n" + "fine<br /><br />film,pos\nbad<br />film,neg\n" * 20)
    plain = tables(folder, DataConfig(train="breaks.csv"))
    clean = tables(folder, DataConfig(train="breaks.csv", clean=True, skip=10))
    assert len(plain.train) + len(plain.valid or []) == 40
    assert len(clean.train) + len(clean.valid or []) == 30
    assert set(clean.train.texts) == {"fine film", "bad film"}


def tables(folder: Path, data: DataConfig) -> Tables:
    with contextlib.chdir(folder):
        return Tables(data)


def test_dry_run_trains_nothing(folder: Path) -> None:
    done = senti("train", "reviews.csv", "--out", "runs/dry", "--dry-run", "--json", *SMALL, cwd=folder)
    assert done.code == 0, done.err
    assert json.loads(done.out)["train_rows"] == 270
    assert not (folder / "runs" / "dry").exists()


def test_flags_go_above_set_and_that_above_the_file(folder: Path) -> None:
    (folder / "run.toml").write_text('[data]\ntrain = "reviews.csv"\n[train]\nepochs = 9\nbatch_size = 27\n')
    args = ["--config", "run.toml", "--set", "train.epochs=5", "--dry-run", "--json", *SMALL]
    assert json.loads(senti("train", *args, cwd=folder).out)["steps"] == 50
    assert json.loads(senti("train", *args, "--epochs", "2", cwd=folder).out)["steps"] == 20


# (arguments, exit code, what is said)
WRONG: list[tuple[list[str], int, str]] = [
    (["train", "missing.csv"], 2, "missing.csv"),
    (["train", "missing.csv", "--out", "runs/first"], 2, "missing.csv: No such file"),
    (["train", "reviews.csv", "--test", "missing.csv", "-o", "runs/x"], 2, "missing.csv: No such file"),
    (["train", "--resume", "runs/first", "--epochs", "9"], 2, "--resume DIR takes no other settings"),
    (["train", "reviews.csv", "--task", "ranking"], 2, "task.kind 'ranking': unknown task; expected"),
    (["train", "reviews.csv", "--set", "train.mixup=1"], 2, "unknown key; did you mean task.mixup?"),
    (["predict", "."], 2, "no model.safetensors; not a run directory"),
    (["train", "reviews.csv", "--patience", "-1"], 2, "-1"),
    (["train", "reviews.csv", "--arch", "lsmt"], 2, "did you mean lstm? there are tfidf"),
    (["train", "reviews.csv", "--set", "optim.lrr=1"], 2, "optim.lrr: unknown key; did you mean lr?"),
    (["train", "reviews.csv", "--set", "lr"], 2, "expected section.key=value"),
    (["train", "reviews.csv", "--out", "runs/first"], 2, "holds a run already"),
    (["train", "reviews.csv", "--label-column", "stars"], 2, "stars"),
    (["train", "reviews.csv", "--pooling", "medium"], 2, "model.pooling"),
    (["train", "reviews.csv", "--config", "missing.toml"], 2, "missing.toml"),
    (["train", "--epochs", "1"], 2, "data.train: name the file"),
    (["train", "--arch", "lstm"], 2, "data.train: name the file"),
    (["train", "--resume", "runs/first"], 2, "has finished; nothing to resume"),
    (["train", "--resume", "runs/none"], 2, "no such folder; give a run, as senti train"),
    (["train", "reviews.csv", "--resume", "runs/first"], 2, "--resume DIR takes no other settings"),
    (["train", "reviews.csv", "--lr", "1e30", "--set", "optim.name=sgd", "--set", "optim.clip=0",
      "--out", "runs/nan", *SMALL], 1, "lower optim.lr"),
    (["train", "reviews.csv", "--class-weights", "heavy"], 2, "none, balanced, numbers as 1,2"),
    (["train", "reviews.csv", "--class-weights", "1,2,3", "-o", "runs/x"], 2, "3 weights for 2 classes"),
    (["train", "reviews.csv", "--char-ngrams", "many"], 2, "--char-ngrams many: expected two whole numbers"),
    (["train", "reviews.csv", "--freeze", "head.x", "-o", "runs/x"], 2, "optim.freeze 'head.x'"),
    (["predict", "runs/first", "reviews.csv", "--device", "abacus"], 2, "abacus"),
    (["evaluate", "runs/first", "reviews.csv", "--device", "abacus"], 2, "abacus"),
    (["predict", "runs/none"], 2, "runs/none"),
    (["predict", "runs/first", "missing.csv"], 2, "missing.csv"),
    (["predict", "runs/first", "reviews.csv", "-o", "x.txt"], 2, "writes .csv, .tsv or .jsonl"),
    (["predict", "runs/first", "-", "--format", "jsonl"], 2, "--format: stdin is read as one text a line"),
    (["predict", "runs/first", "--skip", "1"], 2, "--skip: stdin is read as one text a line; name a file"),
    (["predict", "runs/first", "reviews.csv", "--threshold", "high"], 2, "expected a probability"),
    (["predict", "runs/first", "reviews.csv", "--threshold", "1.5"], 2, "expected a probability"),
    (["predict", "runs/first", "reviews.csv", "--threshold", "good=0.5"], 2, "unknown label 'good'"),
    (["verify", "."], 2, "not a run directory"),
    (["init", "--arch", "gpt", "--preset", "huge"], 2, "gpt has no preset 'huge'"),
    (["init", "--task", "translation"], 2, "next-token, masked, seq2seq, ppo, dpo"),
]  # fmt: skip


@pytest.mark.parametrize(("args", "code", "message"), WRONG, ids=[" ".join(args[:4]) for args, _, _ in WRONG])
def test_wrong_calls(args: list[str], code: int, message: str, folder: Path) -> None:
    done = senti(*args, cwd=folder)
    assert done.code == code, done.err
    assert message in done.err.replace("\\", "/")
    assert "Traceback" not in done.err
    assert done.out == ""


def test_predict_from_stdin(folder: Path) -> None:
    done = senti("predict", "runs/first", cwd=folder, stdin="a great lovely film\n\nan awful mess, dull\n")
    assert done.code == 0, done.err
    found = list(csv.DictReader(io.StringIO(done.out)))
    assert [row["text"] for row in found] == ["a great lovely film", "", "an awful mess, dull"]
    assert [found[0]["label"], found[2]["label"]] == ["pos", "neg"]
    assert abs(float(found[0]["p_pos"]) + float(found[0]["p_neg"]) - 1) < 1e-5
    done = senti("predict", "runs/first", "--quiet", cwd=folder, stdin="a great lovely film\n")
    assert done.out == "pos\n"


def test_a_long_file_has_a_bar_on_a_terminal(folder: Path, tmp_path: Path) -> None:
    with (tmp_path / "many.csv").open("w", encoding="utf-8") as file:
        file.write("text,label\n")
        file.writelines(f"a great film number {n},pos\n" for n in range(1200))
    run, many = folder / "runs" / "first", tmp_path / "many.csv"
    code, shown = on_terminal(f"predict {run} {many} -o answers.csv", program="senti", cwd=tmp_path)
    assert code == 0, shown
    assert "predicting" in shown
    assert "1,200 / 1,200" in plain(shown)
    assert len((tmp_path / "answers.csv").read_text("utf-8").splitlines()) == 1201
    for line in (f"evaluate {run} {many} --bootstrap 0", f"errors {run} {many}"):
        code, shown = on_terminal(line, program="senti", cwd=tmp_path)
        assert code == 0, shown
        assert "1,200 / 1,200" in plain(shown)
    # Answers that the terminal shows are their own bar.
    code, shown = on_terminal(f"predict {run} {many} --quiet", program="senti", cwd=tmp_path)
    assert (code, plain(shown).split()) == (0, ["pos"] * 1200)


def test_texts_are_answered_one_at_a_time_where_they_are_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    for typed, file, n in ((True, "-", 1), (True, "reviews.csv", 4096), (False, "-", 4096)):
        monkeypatch.setattr("sys.stdin.isatty", lambda typed=typed: typed, raising=False)
        assert at_once(file) == n


def test_who_is_watched_answers_the_same(folder: Path) -> None:
    predictor = Classifier.load(folder / "runs" / "first")
    steps: list[tuple[str, int, int]] = []
    watched = Watched(predictor, lambda stage, done, total: steps.append((stage, done, total)))
    texts = [f"a great film number {n}" for n in range(1030)]
    assert watched.predict_proba(texts) == pytest.approx(predictor.predict_proba(texts), abs=1e-6)
    assert steps == [("predict", n, 1030) for n in (512, 1024, 1030)]
    assert watched.predict_proba([]).shape == predictor.predict_proba([]).shape
    assert (watched.labels, watched.temperature) == (predictor.labels, predictor.temperature)


def test_predict_the_most_probable(folder: Path) -> None:
    text = "a great lovely film\n"
    whole = senti("predict", "runs/first", "--json", cwd=folder, stdin=text)
    record = json.loads(whole.out)
    ranked = sorted(record["probs"].items(), key=lambda pair: -pair[1])
    done = senti("predict", "runs/first", "--top-k", "1", cwd=folder, stdin=text)
    header, row = done.out.splitlines()
    assert header == "text,label,label_1,p_1"
    assert row == f"a great lovely film,{record['label']},{ranked[0][0]},{ranked[0][1]:.6f}"
    done = senti("predict", "runs/first", "--top-k", "9", "--json", cwd=folder, stdin=text)
    assert list(json.loads(done.out)["probs"].items()) == ranked


def test_unsure_answers_are_blank(folder: Path) -> None:
    text = "qqqq\n"  # of no class more than of the other
    record = json.loads(senti("predict", "runs/first", "--json", cwd=folder, stdin=text).out)
    (label, _), (other, _) = sorted(record["probs"].items(), key=lambda pair: -pair[1])
    for asked, answer in (
        (["0"], label),
        (["1"], ""),
        ([f"{label}=1"], other),
        ([f"{other}=1"], label),
        (["1", f"{other}=0"], other),
    ):
        flags = [word for value in asked for word in ("--threshold", value)]
        assert senti("predict", "runs/first", "-q", *flags, cwd=folder, stdin=text).out == f"{answer}\n"
    done = senti("predict", "runs/first", "--json", "--threshold", "1", cwd=folder, stdin=text)
    assert json.loads(done.out)["label"] is None


def test_predict_a_file(folder: Path) -> None:
    for name in ("answers.csv", "answers.tsv", "answers.jsonl"):
        done = senti("predict", "runs/first", "reviews.csv", "-o", name, cwd=folder)
        assert done.code == 0, done.err
        assert done.out == f"300 answers in {name}\nnext: senti evaluate runs/first reviews.csv\n"
    records = [json.loads(line) for line in (folder / "answers.jsonl").read_text("utf-8").splitlines()]
    with (folder / "answers.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(records) == len(rows) == 300
    assert [record["label"] for record in records] == [row["label"] for row in rows]
    assert records[0]["schema"] == "senti.predict/1"
    assert set(records[0]["probs"]) == {"neg", "pos"}


def test_predict_counts_texts_and_needs_no_labels(folder: Path) -> None:
    """A quoted text may hold line ends, and a label may be blank."""
    (folder / "odd.csv").write_text('text,label\n"a great\nlovely\nfilm",pos\n"an awful mess",\n')
    for name in ("odd-answers.csv", "odd-answers.tsv", "odd-answers.jsonl"):
        done = senti("predict", "runs/first", "odd.csv", "-o", name, "--json", cwd=folder)
        assert done.code == 0, done.err
        assert json.loads(done.out)["rows"] == 2
    with (folder / "odd-answers.csv").open(encoding="utf-8", newline="") as file:
        assert [row["label"] for row in csv.DictReader(file)] == ["pos", "neg"]
    done = senti("predict", "runs/first", "odd.csv", "--skip", "1", "-q", "--device", "cpu", cwd=folder)
    assert done.out == "neg\n"


def test_archs_lists_the_table(folder: Path) -> None:
    from sentimodels.models import ARCHITECTURES

    done = senti("archs", "--quiet", cwd=folder)
    assert done.out.split() == list(ARCHITECTURES)
    assert "nano to 5x-large" in senti("archs", cwd=folder).out


def test_init_writes_what_train_reads(folder: Path) -> None:
    done = senti("init", "--arch", "gpt", "--preset", "nano", cwd=folder)
    value = tomllib.loads(done.out)
    assert value["arch"] == "gpt"
    assert value["model"]["d_model"] == 64
    assert "# Peak learning rate, reached at the end of warmup." in done.out
    assert senti("init", "-o", "made.toml", cwd=folder).code == 0
    assert senti("init", "-o", "made.toml", cwd=folder).code == 2
    done = senti("train", "reviews.csv", "--config", "made.toml", "--dry-run", "--json", cwd=folder)
    assert json.loads(done.out)["arch"] == "lstm"


def test_verify(folder: Path, tmp_path: Path) -> None:
    assert senti("verify", "runs/first", cwd=folder).code == 0
    copy = Path(shutil.copytree(folder / "runs" / "first", tmp_path / "copy"))
    with (copy / "model.safetensors").open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        last = file.read(1)
        file.seek(-1, os.SEEK_END)
        file.write(bytes([last[0] ^ 1]))
    done = senti("verify", copy, cwd=folder)
    assert done.code == 1
    assert "model.safetensors: changed since it was written" in done.out


def test_verify_an_ensemble(folder: Path, tmp_path: Path) -> None:
    runs = [Path(shutil.copytree(folder / "runs" / "first", tmp_path / name)) for name in ("a", "b")]
    members = tuple(Classifier.load(run) for run in runs)
    Ensemble(members, (0.5, 0.5)).save(tmp_path / "both", runs, "")
    assert senti("verify", "both", cwd=tmp_path).code == 0
    about = json.loads((runs[1] / "run.json").read_text())
    (runs[1] / "run.json").write_text(json.dumps(about | {"temperature": 9.0}))
    done = senti("verify", "both", cwd=tmp_path)
    assert done.code == 1
    assert "b/run.json: changed since it was written" in done.out.replace("\\", "/")
    # A run that is whole, but not the one whose weight was fitted.
    write_manifest(runs[1])
    done = senti("verify", "both", cwd=tmp_path)
    assert done.code == 1
    assert "b: not the run the ensemble was made of" in done.out
    done = senti("predict", "both", cwd=tmp_path, stdin="good\n")
    assert done.code == 2
    assert "is not the run it was made of" in done.err


@pytest.mark.skipif(sys.platform == "win32", reason="signals are others there")
@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_leaves_a_usable_run_that_resumes(sent: signal.Signals, code: int, folder: Path) -> None:
    out = f"runs/stopped-{code}"
    args = ["train", "reviews.csv", "-o", out, "--epochs", "400", "--patience", "0", "--no-baseline",
            *SMALL]  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-m", "sentimodels.cli", *args],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    metrics = folder / out / "metrics.jsonl"
    until = time.monotonic() + 120
    while not (metrics.is_file() and "grad_norm" in metrics.read_text()) and time.monotonic() < until:
        time.sleep(0.05)
    process.send_signal(sent)
    _, err = process.communicate(timeout=120)
    assert process.returncode == code, err.decode()
    assert f"resume with senti train --resume {out}".encode() in err
    assert re.search(rb"^step \d+/6,800: loss .* tok/s, \d+:\d\d:\d\d left$", err, re.M)
    assert (folder / out / "state.safetensors").is_file()
    assert senti("verify", out, cwd=folder).code == 0
    assert senti("predict", out, cwd=folder, stdin="a great lovely film\n").code == 0
    steps = json.loads((folder / out / "run.json").read_text())["fit"]["steps"]
    assert 0 < steps < 400 * 5


NAMES = ["train", "runs", "predict", "archs", "init", "verify"]
COMMANDS = {command.name: command for command in build().registered_commands}


@pytest.mark.parametrize("name", NAMES)
def test_help_ends_with_examples_that_run(name: str, folder: Path, tmp_path: Path) -> None:
    epilog = str(COMMANDS[name].epilog)
    lines = [line.removeprefix("$ ") for line in epilog.splitlines() if line.startswith("$ ")]
    assert 2 <= len(lines) <= 3
    shutil.copytree(folder / "runs" / "first", tmp_path / "runs" / "first")
    shutil.copy(folder / "reviews.csv", tmp_path)
    for line in lines:
        before, _, command = line.rpartition(" | ")
        words = shlex.split(command)
        assert words[0] == "senti"
        if words[1] == "train":
            shutil.rmtree(tmp_path / "runs" / "first", ignore_errors=True)
            words += [] if "--dry-run" in words else ["--limit", "60", "--threads", "1"]
        done = senti(*words[1:], cwd=tmp_path, stdin=shlex.split(before)[1] + "\n" if before else "")
        assert done.code == 0, (line, done.err)
