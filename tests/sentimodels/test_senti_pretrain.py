"""`senti pretrain`: its output, refusals and files; `senti runs` of these. `--init` is tested elsewhere."""

import json
import re
import shlex
import shutil
import signal
import sys
import time
from pathlib import Path

import pytest
from typer.main import get_group

from commands import run, start
from pretrained_runs import SMALL, pretrained
from senti_in_process import senti
from sentimodels.cli.app import build
from sentimodels.cli.options import count
from sentimodels.cli.pretrain import summary
from sentimodels.errors import SentiError
from sentimodels.runs.families import LANGUAGE_MODEL


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reviews, with labels and without, and runs of language models on them."""
    return pretrained(tmp_path_factory.mktemp("pretrain"), "few", "more", "bert")


def test_what_is_printed(folder: Path) -> None:
    done = senti(
        *("pretrain", "books.txt", *SMALL, "--tokens", "1K", "--evaluate-every", "4", "-o", "said"),
        cwd=folder,
    )
    assert done.code == 0, done.err
    assert re.search(r"^model +gpt, [\d,]+ parameters, next-token$", done.out, re.M)
    assert re.search(r"^tokens +1,024 trained on$", done.out, re.M)
    assert re.search(r"^steps +8 \(tokens\), best at \d by validation loss$", done.out, re.M)
    for name in ("gpt, this run", "unigram", "gzip"):
        assert re.search(rf"^{name} .*\d\.\d{{4}}$", done.out, re.M), name
    assert re.search(r'^next +senti generate said "Once"\nor +senti train FILE --init said$', done.out, re.M)
    assert re.search(r"^step \d/8: loss \d+\.\d+ lr .* tok/s, 0:\d\d:\d\d left$", done.err, re.M)
    assert re.search(r"^step 4: validation loss .*, perplexity .*, bits per byte \d\.\d{4}$", done.err, re.M)
    value = json.loads(
        senti("pretrain", "books.txt", *SMALL, "--steps", "1", "-o", "js", "--json", cwd=folder).out
    )
    assert value["schema"] == "senti.pretrain/1"
    assert value["valid"]["bits_per_byte"] > 0
    assert set(value["baselines"]) == {"unigram", "gzip"}
    done = senti("pretrain", "books.txt", *SMALL, "--steps", "1", "-o", "quiet", "--quiet", cwd=folder)
    assert (done.out, done.err) == ("quiet\n", "")
    done = senti("pretrain", "books.txt", *SMALL, "--steps", "1", "--dry-run", cwd=folder)
    assert re.search(r"^tokens of a step +128$", done.out, re.M)
    assert "tokens of " in done.err  # what is known of the corpus


def test_mfu_is_said_with_formula_and_peak() -> None:
    about = {
        "arch": "gpt", "parameters": 124_000_000, "task": "next-token",
        "valid": {"loss": 3.0, "perplexity": 20.1},
        "corpus": {"documents": [5, 1], "tokens": [500, 100]}, "seconds": {"fit": 3.0},
        "fit": {"steps": 3, "stop": "tokens", "best_step": 3, "tokens": 9},
        "speed": {
            "tokens_per_second": 4e5, "mfu": 0.31, "formula": "6 * parameters * x / peak", "peak": 989e12,
        },
    }  # fmt: skip
    text = summary(about, Path("run"))
    assert "400,000 tokens/s, MFU 31.0 % (6 * parameters * x / peak; peak 989 TFLOP/s)" in text


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["books.txt", "--arch", "bow"], "arch 'bow': a bag of features has no states"),
        (["books.txt", "--tokens", "many"], "--tokens many: expected a number above 0, as in 500K, 41M"),
        (["gone.txt"], "gone.txt"),
        (
            ["books.txt", "--context", "100000"],
            "fewer than one row of 100000: give a longer corpus, or lower",
        ),
        (
            ["books.txt", "--end", "<x>", "--tokenizer", "lm/more/tokenizer.json"],
            "--end <x>: not a special token of the tokenizer, which has ",
        ),
        (
            ["books.txt", "--resume", "lm/more", "--threads", "1"],
            "takes no other settings: the run keeps its own; leave out books.txt, --threads",
        ),
        (["gone.txt", "--dry-run"], "gone.txt: No such file"),
        (["books.txt", "-o", "books.txt"], "books.txt: a file; --out names a folder"),
        (["books.txt", "--config", "lm"], "--config lm: a folder; name a file of it, such as lm/config.toml"),
        (["books.txt", "--arch", "seq2seq"], "senti translate train trains it; there are tfidf"),
        (["books.txt", "-o", "lm/more"], "lm/more: holds a run already; give another --out"),
        (
            ["books.txt", "--arch", "hf:gpt2"],
            "type senti import gpt2 -o RUN, then senti pretrain FILE --init",
        ),
        (["--resume", "lm/more"], "lm/more: has finished; nothing to resume"),
        (["books.txt", "--mask-rate", "0.2"], "--mask-rate: only task.kind masked has this key"),
        (
            ["books.txt", "--init", "lm/more", "--set", "model.d_model=20"],
            "here model.d_model 20 (there 16): leave out what says otherwise, or --init",
        ),
        (
            ["books.txt", "--init", "lm/more", "--preset", "micro"],
            "--preset 'micro': the run that --init",
        ),
    ],
)
def test_what_cannot_be_is_said_on_one_line(args: list[str], said: str, folder: Path) -> None:
    small = (
        [] if "--resume" in args else [*SMALL, "--steps", "1", *([] if "-o" in args else ["-o", "refused"])]
    )
    done = senti("pretrain", *small, *args, cwd=folder)
    assert done.code == 2
    assert said in done.err
    assert done.err.strip().splitlines()[-1].startswith("senti: ")
    assert not (folder / "refused").exists()


def test_counts_may_be_written_short() -> None:
    assert [count(text, "--tokens") for text in ("12", "1.5k", "41M", "2G", "1_000")] == [
        12, 1500, 41_000_000, 2_000_000_000, 1000,
    ]  # fmt: skip


def test_the_file_that_init_writes_is_one_to_train_with(folder: Path) -> None:
    for arch, task in (("gpt", "next-token"), ("bert", "masked")):
        done = senti(
            "init", "--arch", arch, "--task", task, "--preset", "nano", "-o", f"{arch}.toml", cwd=folder
        )
        assert f"senti pretrain books.txt --config {arch}.toml" in done.out
        again = senti("pretrain", "books.txt", "--config", f"{arch}.toml", "--dry-run", "--json", cwd=folder)
        assert json.loads(again.out)["arch"] == arch
        assert "# Share of the documents held out for validation" in (folder / f"{arch}.toml").read_text()


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ there")
@pytest.mark.parametrize(
    ("sent", "code"),
    [pytest.param(signal.SIGINT, 130, marks=pytest.mark.slow), (signal.SIGTERM, 143)],
)
def test_a_signal_leaves_a_run_that_resumes(sent: signal.Signals, code: int, folder: Path) -> None:
    out = f"stopped-{code}"
    line = f"pretrain books.txt {' '.join(SMALL)} --steps 9000 -o {out}"
    process = start(line, program="senti", cwd=folder)
    metrics = folder / out / "metrics.jsonl"
    until = time.monotonic() + 120
    while not (metrics.is_file() and "grad_norm" in metrics.read_text()) and time.monotonic() < until:
        time.sleep(0.05)
    process.send_signal(sent)
    _, err = process.communicate(timeout=120)
    assert process.returncode == code, err.decode()
    assert f"resume with senti pretrain --resume {out}".encode() in err
    assert (folder / out / "state.safetensors").is_file()
    assert senti("verify", out, cwd=folder).code == 0
    found = json.loads(senti("runs", "--json", ".", cwd=folder).out)["language_models"]
    assert next(one["state"] for one in found if one["run"] == out) == "stopped"


def test_runs_ranks_language_models_by_bits_per_byte(folder: Path) -> None:
    done = senti("runs", "lm", "--json", cwd=folder)
    assert done.code == 0, done.err
    value = json.loads(done.out)
    assert value["runs"] == []
    names = [one["run"] for one in value["language_models"]]
    assert names[0] == "more"
    assert names[-1] == "bert"  # masked tokens have no bits per byte
    bits = [one["bits_per_byte"] for one in value["language_models"][:-1]]
    assert bits == sorted(bits)
    assert len({one["data"] for one in value["language_models"]}) == 1
    text = senti("runs", "lm", cwd=folder).out
    assert re.search(r"run +arch +state +bits per byte +perplexity", text)
    for task in ("next-token", "masked"):
        assert f"Language models, {task}, on the same validation documents" in text
    assert senti("runs", "lm", "--quiet", cwd=folder).out == "lm/more\n"
    assert senti("predict", "lm/more", cwd=folder, stdin="x\n").code == 2


def test_runs_scored_on_other_texts_are_not_ranked_together(folder: Path) -> None:
    """The limit of validation tokens ends after other documents for another tokenizer."""
    for vocabulary in ("300", "900"):
        done = senti(
            *("pretrain", "books.txt", *SMALL, "--steps", "1", "--vocab", vocabulary),
            *("--set", "data.valid_tokens=200", "-o", f"cut/{vocabulary}"),
            cwd=folder,
        )
        assert done.code == 0, done.err
    found = json.loads(senti("runs", "cut", "--json", cwd=folder).out)["language_models"]
    assert len({one["data"] for one in found}) == 2


def test_a_dry_run_says_that_a_model_does_not_fit(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sentimodels.runs.plan._memory", lambda _: 10e9)
    done = senti("pretrain", "books.txt", "--preset", "5x-large", "--dry-run", cwd=folder)
    assert done.code == 1
    assert "does not fit: 87" in done.err
    assert re.search(r"^parameters +5,", done.out, re.M)


COMMANDS = get_group(build()).commands


def test_help_ends_with_examples_that_run(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "books.txt").write_text((folder / "books.txt").read_text().replace("\n", "\n\n"))
    lines = [line[2:] for line in str(COMMANDS["pretrain"].epilog).splitlines() if line.startswith("$ ")]
    assert len(lines) == 3
    small = ["--threads", "1", "--context", "32", "--batch-size", "2", "--vocab", "300", "--limit", "60"]
    small += ["--valid-share", "0.2"]  # halves of validation rows need documents to come from
    small += ["--set", "model.d_model=16", "--set", "model.n_heads=2", "--set", "model.n_layers=1"]
    for line in lines:
        words = shlex.split(line)
        assert words[:2] == ["senti", "pretrain"]
        if "--resume" in words:  # what was trained just now has finished
            assert "has finished; nothing to resume" in senti(*words[1:], cwd=tmp_path).err
            continue
        if "--steps" in words:
            words[words.index("--steps") + 1] = "2"
        done = senti(*words[1:], *small, cwd=tmp_path)
        assert done.code == 0, (line, done.err)


def test_the_command_and_the_library_agree_on_defaults() -> None:
    assert LANGUAGE_MODEL.resolve({}).arch == "gpt"
    with pytest.raises(SentiError):
        LANGUAGE_MODEL.resolve({"arch": "none"})


def test_the_examples_of_the_page_run(folder: Path, tmp_path: Path) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "how-to" / "pretrain.md").read_text("utf-8")
    lines = re.findall(r"^\$ (senti.*)$", page.split("## Pre-training")[1].split("\n## ")[0], re.M)
    assert len(lines) == 7
    for name in ("books.txt", "reviews.csv"):
        shutil.copy(folder / name, tmp_path)
    small = [
        "--threads",
        "1",
        "--context",
        "32",
        "--batch-size",
        "2",
        "--vocab",
        "300",
        "--valid-share",
        "0.2",
    ]
    (tmp_path / "books.txt").write_text((folder / "books.txt").read_text().replace("\n", "\n\n"))
    for line in lines:
        words = shlex.split(line)
        if words[0] == "sentitok":
            code, _, said = run(" ".join(words[1:]).replace("8000", "300"), cwd=tmp_path)
            assert code == 0, (line, said)
            continue
        if words[1] == "pretrain":
            words += [*small, "--steps", "2", "--set", "model.d_model=32", "--set", "model.n_layers=1"]
        elif words[1] == "train":
            words += ["--epochs", "1", "--no-baseline", "--threads", "1"]
        done = senti(*words[1:], cwd=tmp_path)
        assert done.code == 0, (line, done.err)
    # The settings shown for a project are its settings.
    optim = LANGUAGE_MODEL.load(tmp_path / "runs" / "tinyllm").optim
    assert (optim.betas, optim.weight_decay, optim.clip) == ((0.9, 0.999), 0.01, 2)
    assert optim.lr * optim.min_lr_ratio == pytest.approx(1e-6)
