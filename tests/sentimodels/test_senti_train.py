"""`senti train`, `archs`, `init`, `verify`, as they are typed."""

import contextlib
import inspect
import json
import os
import re
import shlex
import shutil
import signal
import sys
import time
import tomllib
from pathlib import Path
from unittest.mock import patch

import pytest
import typer

from commands import start
from first_run import SMALL, make
from senti_in_process import senti
from sentimodels.classifier import Classifier
from sentimodels.cli.app import build
from sentimodels.cli.data import split
from sentimodels.cli.summary import seeds_summary
from sentimodels.config import DataConfig
from sentimodels.runs.directory import load_run, write_manifest
from sentimodels.runs.ensemble import Ensemble
from sentimodels.runs.tables import Tables
from sentimodels.text.words import WordNgrams


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("senti"))


def test_train_says_what_was_done(folder: Path) -> None:
    summary, notes = (folder / "summary.txt").read_text(), (folder / "notes.txt").read_text()
    assert "architecture  lstm" in summary
    assert re.search(
        r"^lstm beats majority \(\+\d+\.\d ± \d+\.\d points\), (beats|is within noise of)", summary, re.M
    )
    assert re.search(r"^steps +\d+ \(epochs\), best at \d+ by validation macro F1$", summary, re.M)
    assert re.search(r"^labels +neg \d+, pos \d+$", summary, re.M)
    assert "tfidf" in summary
    assert re.search(r'^next +echo ".+" \| senti predict runs/first$', summary.rstrip(), re.M)
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
    """One finished, one stopped, one not begun; from another folder."""
    args = ["train", "reviews.csv", "--seeds", "3", "--epochs", "1", "--no-baseline", *SMALL, "--json"]
    whole = senti(*args, "-o", "runs/whole", cwd=folder)
    asked = iter(range(1000))
    per_run = 17  # 270 rows in batches of 16
    with patch("sentimodels.cli.launch.Stopper.__call__", lambda _: next(asked) == per_run + 5):
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


def test_what_is_never_released_is_said(folder: Path) -> None:
    args = ["--arch", "cnn", "--epochs", "1", "--no-baseline", "--freeze", "backbone.", "--batch-size", "16"]
    args += ["--set", "model.d_model=16", "--set", "data.vocab_size=300", "--threads", "1"]
    for until, told in (("2", False), ("5000", True)):
        out = f"runs/until-{until}"
        done = senti("train", "reviews.csv", *args, "--unfreeze-at", until, "-o", out, cwd=folder)
        assert done.code == 0, done.err
        assert ("steps, so frozen weights stay frozen" in done.err) == told


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


# (arguments, exit code, message)
WRONG: list[tuple[list[str], int, str]] = [
    (["train", "missing.csv"], 2, "missing.csv"),
    (["train", "missing.csv", "--out", "runs/first"], 2, "missing.csv: No such file"),
    (["train", "reviews.csv", "--test", "missing.csv", "-o", "runs/x"], 2, "missing.csv: No such file"),
    (["train", "--resume", "runs/first", "--epochs", "9"], 2, "--resume DIR takes no other settings"),
    (["train", "reviews.csv", "--task", "ranking"], 2, "--task 'ranking': unknown task; expected"),
    (["train", "reviews.csv", "--set", "train.mixup=1"], 2, "unknown key; did you mean task.mixup?"),
    (["predict", "."], 2, "no model.safetensors; not a run directory"),
    (["train", "reviews.csv", "--patience", "-1"], 2, "-1"),
    (["train", "reviews.csv", "--arch", "lsmt"], 2, "did you mean lstm? there are tfidf"),
    (["train", "reviews.csv", "--set", "optim.lrr=1"], 2, "optim.lrr: unknown key; did you mean lr?"),
    (["train", "reviews.csv", "--set", "lr"], 2, "expected section.key=value"),
    (["train", "reviews.csv", "--out", "runs/first"], 2, "holds a run already"),
    (["train", "reviews.csv", "--label-column", "stars"], 2, "stars"),
    (["train", "reviews.csv", "--pooling", "medium"], 2, "--pooling: should be 'first', 'last'"),
    (["train", "reviews.csv", "--config", "missing.toml"], 2, "missing.toml"),
    (["train", "reviews.csv", "--arch", "gpt", "--max-len", "9000"], 2, "--max-len 9000: longer than the"),
    (["train", "reviews.csv", "--arch", "gpt", "--set", "data.max_tokens=9000"], 2, "data.max_tokens 9000:"),
    (["train", "reviews.csv", "--threshold", "p=2"], 2, "--threshold p=2: expected"),
    (["train", "reviews.csv", "--unfreeze-at", "2"], 2, "--unfreeze-at 2: nothing is frozen"),
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
    (["train", "reviews.csv", "--freeze", "head.x", "-o", "runs/x"], 2, "--freeze 'head.x'"),
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
    assert senti("init", "-o", "made.toml", cwd=folder).code == 0  # the same bytes
    assert senti("init", "--arch", "gpt", "-o", "made.toml", cwd=folder).code == 2
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


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ there")
@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_leaves_a_usable_run_that_resumes(sent: signal.Signals, code: int, folder: Path) -> None:
    out = f"runs/stopped-{code}"
    args = ["train", "reviews.csv", "-o", out, "--epochs", "400", "--patience", "0", "--no-baseline",
            *SMALL]  # fmt: skip
    process = start(" ".join(args), program="senti", cwd=folder)
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
    assert 0 < steps < 6800


NAMES = ["train", "runs", "predict", "archs", "init", "verify", "bench"]
COMMANDS = typer.main.get_group(build()).commands


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
