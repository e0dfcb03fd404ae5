"""`senti translate` as it is typed."""

import json
import re
import shlex
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from typer.main import get_group

from commands import start
from parallel_numbers import TINY, write_pairs
from senti_in_process import senti
from sentimodels.cli.app import build
from sentimodels.cli.launch import Stopper
from sentimodels.data.parallel import read_parallel
from sentimodels.translator import Translator

VALID = ["--valid", "valid.en", "--valid", "valid.de"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files and a run that knows them."""
    made = tmp_path_factory.mktemp("translate")
    for seed, (name, n) in enumerate({"train": 1500, "valid": 40, "test": 40}.items()):
        write_pairs(made, name, n, seed)
    rows = read_parallel([made / "train.en", made / "train.de"], limit=200)
    lines = [f"{source},{target}" for source, target in zip(rows.sources, rows.targets, strict=True)]
    (made / "pairs.csv").write_text("\n".join(["en,de", *lines, ""]), "utf-8")
    done = senti(
        "translate", "train", "train.en", "train.de", *VALID, "-o", "runs/en-de", "--epochs", "8", *TINY,
        "--json", cwd=made,
    )  # fmt: skip
    assert done.code == 0, done.err
    about = json.loads(done.out)
    assert (about["schema"], about["run"]) == ("senti.translate-train/1", "runs/en-de")
    assert about["valid"]["loss"] < 0.5
    assert done.err == ""
    return made


def test_lines_longer_than_any_trained_on_are_named(folder: Path) -> None:
    long = " ".join(["one"] * 400)
    done = senti("translate", "text", "runs/en-de", cwd=folder, stdin=f"one\n{long}\ntwo\n{long}\n")
    assert (done.code, len(done.out.splitlines())) == (0, 4)
    assert re.search(r"line 2 is longer than 128 tokens, .* split such lines into sentences", done.err)
    assert "2 of 4 lines are longer than that" in done.err
    done = senti("translate", "text", "runs/en-de", cwd=folder, stdin="one two\n")
    assert done.err == ""


def test_lines_in_lines_out(folder: Path) -> None:
    done = senti("translate", "text", "runs/en-de", cwd=folder, stdin="one two three\n\nnine\n")
    assert (done.code, done.out) == (0, "eins zwei drei\n\nneun\n")
    done = senti("translate", "text", "runs/en-de", "test.en", "-o", "out.de", "--beam", "2", cwd=folder)
    assert (done.code, done.out) == (0, "")
    assert len((folder / "out.de").read_text().splitlines()) == 40
    done = senti("translate", "text", "runs/en-de", "--n-best", "2", cwd=folder, stdin="one\n")
    first, second = (line.split("\t") for line in done.out.splitlines())
    assert first[0] == "eins"
    assert float(first[1]) >= float(second[1])
    done = senti("translate", "text", "runs/en-de", "--n-best", "2", cwd=folder, stdin="\n")
    assert done.out == "\t0.0000\n"
    done = senti("translate", "text", "runs/en-de", "--json", "--n-best", "3", cwd=folder, stdin="one\ntwo\n")
    found = [json.loads(line) for line in done.out.splitlines()]
    assert [one["source"] for one in found] == ["one", "two"]
    assert [len(one["translations"]) for one in found] == [3, 3]
    assert found[1]["translations"][0]["text"] == "zwei"


def test_scores_have_signatures(folder: Path) -> None:
    pytest.importorskip("sacrebleu", reason="BLEU is sacrebleu's")
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    done = senti("translate", "evaluate", "runs/en-de", "test.en", "test.de", "-o", "t.de", cwd=folder)
    assert done.code == 0, done.err
    found, references = (
        (folder / "t.de").read_text().splitlines(),
        (folder / "test.de").read_text().splitlines(),
    )
    bleu, chrf = BLEU(), CHRF()
    scores = bleu.corpus_score(found, [references]).score, chrf.corpus_score(found, [references]).score
    assert f"BLEU     {scores[0]:.2f}  ({bleu.get_signature()})" in done.out
    assert f"chrF     {scores[1]:.2f}  ({chrf.get_signature()})" in done.out
    assert "pairs are training pairs as well" in done.err
    done = senti("translate", "evaluate", "runs/en-de", "test.en", "test.de", "--json", cwd=folder)
    about = json.loads(done.out)
    assert about["bleu"] == pytest.approx(scores[0])
    assert about["signatures"] == {"bleu": str(bleu.get_signature()), "chrf": str(chrf.get_signature())}
    done = senti("translate", "evaluate", "runs/en-de", "test.en", "test.de", "--quiet", cwd=folder)
    assert done.out == f"{scores[0]:.2f}\n"


def test_scores_are_there_where_translations_cannot_be_written(folder: Path) -> None:
    pytest.importorskip("sacrebleu", reason="BLEU is sacrebleu's")
    files = ("test.en", "test.de", "-o", "train.en/out.de")
    done = senti("translate", "evaluate", "runs/en-de", *files, cwd=folder)
    assert done.code != 0
    assert "train.en" in done.err
    assert re.search(r"^BLEU +\d", done.out, re.M)


def test_without_sacrebleu_it_says_what_to_install(folder: Path) -> None:
    with patch("sentimodels.evaluation.translation.find_spec", return_value=None):
        done = senti("translate", "evaluate", "runs/en-de", "test.en", "test.de", cwd=folder)
        assert done.code == 2
        assert 'pip install "sentitok[lm]"' in done.err
        args = ["train.en", "train.de", "-o", "runs/unscored", "--steps", "2", *TINY]
        done = senti("translate", "train", *args, cwd=folder)
        assert done.code == 0, done.err
        assert "no BLEU of the validation pairs without sacrebleu" in done.err
        assert "BLEU" not in done.out
        # What BLEU is to choose is not begun.
        args = ["train.en", "train.de", "-o", "runs/chosen", "--monitor", "bleu", *TINY]
        done = senti("translate", "train", *args, cwd=folder)
        assert (done.code, done.out) == (2, "")
        assert "BLEU and chrF need sacrebleu" in done.err
        assert not (folder / "runs" / "chosen").exists()


def test_a_table_and_a_causal_model(folder: Path) -> None:
    columns = ["--source-column", "en", "--target-column", "de"]
    done = senti(
        "translate", "train", "pairs.csv", *columns, "--arch", "gpt", "--preset", "nano", "--steps", "3",
        "--vocab", "300", "--threads", "1", "-o", "runs/table", "--quiet", cwd=folder,
    )  # fmt: skip
    assert (done.code, done.out) == (0, "runs/table\n"), done.err
    assert senti("translate", "text", "runs/table", "--beam", "1", cwd=folder, stdin="one\n").code == 0


def test_runs_are_ranked(folder: Path, tmp_path: Path) -> None:
    for name, bleu in (("a", 20.0), ("b", 30.0), ("c", None)):
        shutil.copytree(folder / "runs" / "en-de", tmp_path / name)
        about = json.loads((tmp_path / name / "run.json").read_text())
        about["valid"] = {**about["valid"], "bleu": bleu}
        if bleu is None:
            del about["valid"]["bleu"]
        (tmp_path / name / "run.json").write_text(json.dumps(about))
    shutil.copytree(folder / "runs" / "en-de", tmp_path / "d")
    (tmp_path / "d" / "run.json").unlink()
    found = json.loads(senti("runs", ".", "--json", cwd=tmp_path).out)
    assert [one["run"] for one in found["translation_models"]] == ["b", "a", "c", "d"]
    assert (found["runs"], found["language_models"]) == ([], [])
    done = senti("runs", ".", cwd=tmp_path)
    assert done.code == 0
    assert "Translation models on the same validation pairs" in done.out
    assert senti("runs", ".", "--quiet", cwd=tmp_path).out == "b\n"


def test_a_dry_run_with_the_file_that_init_writes(folder: Path) -> None:
    """The command that `senti init` names, with `--dry-run`, says what the run of the fixture did."""
    done = senti("init", "--task", "seq2seq", "-o", "seq2seq.toml", cwd=folder)
    assert done.code == 0, done.err
    assert "# Number of transformer blocks in the decoder." in (folder / "seq2seq.toml").read_text()
    words = [*shlex.split(done.out.splitlines()[-1])[2:], *VALID, "--epochs", "8", *TINY]
    done = senti(*words, "--dry-run", "--json", cwd=folder)
    assert done.code == 0, done.err
    assert not (folder / "runs" / "seq2seq").exists()
    said = json.loads(done.out)
    about = json.loads((folder / "runs" / "en-de" / "run.json").read_text())
    assert (said["train_pairs"], said["valid_pairs"]) == (1_500, 40)
    assert (said["steps"], said["parameters"], said["vocabulary"]) == (
        about["fit"]["steps"], about["parameters"], about["vocabulary"],
    )  # fmt: skip
    assert said["seconds"] > 0
    assert said["memory_bytes"] > 4 * 6 * said["parameters"]
    shown = senti(*words, "--set", "train.accumulate=2", "--dry-run", cwd=folder).out
    assert re.search(r"^time +about \d", shown, re.M)
    assert re.search(rf"^steps +{8 * -(-said['steps'] // 16)}$", shown, re.M), shown


WRONG = [
    (["train", "train.en", "valid.de"], 2, "train.en has 1,500 lines, but valid.de has 40"),
    (["train", "train.en"], 2, "--source-column en --target-column de"),
    (["train", "none.en", "train.de"], 2, "none.en"),
    (["train", "--epochs", "3"], 2, "no training pairs"),
    (["train", "--resume", "runs/en-de", "--epochs", "3"], 2, "--resume DIR takes no other settings"),
    (["train", "--resume", "runs/en-de"], 2, "has finished; nothing to resume"),
    (["train", "--resume", "runs/none"], 2, "no such folder"),
    (["train", "train.en", "train.de", "-o", "runs/en-de"], 2, "holds a run already"),
    (["train", "train.en", "train.de", "--init", "runs/none"], 2, "no such folder"),
    (
        ["train", "train.en", "train.de", "--set", "model.d_model=7"],
        2,
        "7 is not a multiple of n_heads",
    ),
    (["text", "runs/none"], 2, "no such folder"),
    (["text", "runs/en-de", "none.en"], 2, "none.en"),
    (["text", "runs/en-de", "train.en", "--max-line-bytes", "2"], 2, "line is longer than 2 bytes"),
    (["text", "runs/en-de", "--n-best", "9"], 2, "--n-best 9: from 1 to the 5 of beam"),
    (["evaluate", "runs/en-de", "train.en", "train.de"], 2, "was trained on it"),
    (["evaluate", "runs/en-de", "test.en", "train.de"], 2, "test.en has 40 lines, but train.de has 1,500"),
]


@pytest.mark.parametrize(("args", "code", "said"), WRONG, ids=[" ".join(args) for args, _, _ in WRONG])
def test_wrong_calls_say_what_is_wrong(args: list[str], code: int, said: str, folder: Path) -> None:
    if args[0] == "evaluate":
        pytest.importorskip("sacrebleu", reason="BLEU is sacrebleu's")
    done = senti("translate", *args, cwd=folder, stdin="one\n")
    assert done.code == code, done.err
    assert said in done.err
    assert done.err.count("\n") <= 1


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ there")
@pytest.mark.parametrize(
    ("sent", "code"),
    [pytest.param(signal.SIGINT, 130, marks=pytest.mark.slow), (signal.SIGTERM, 143)],
)
def test_a_signal_leaves_a_usable_run_that_resumes(sent: signal.Signals, code: int, folder: Path) -> None:
    out = f"runs/stopped-{code}"
    args = ["translate", "train", "train.en", "train.de", "-o", out, *TINY]
    process = start(" ".join([*args, "--epochs", "4000"]), program="senti", cwd=folder)
    metrics = folder / out / "metrics.jsonl"
    until = time.monotonic() + 120
    while not (metrics.is_file() and "grad_norm" in metrics.read_text()) and time.monotonic() < until:
        time.sleep(0.05)
    process.send_signal(sent)
    _, err = process.communicate(timeout=180)
    assert process.returncode == code, err.decode()
    assert f"resume with senti translate train --resume {out}".encode() in err
    assert (folder / out / "state.safetensors").is_file()
    assert senti("verify", out, cwd=folder).code == 0
    assert senti("translate", "text", out, cwd=folder, stdin="one\n").code == 0
    steps = json.loads((folder / out / "run.json").read_text())["fit"]["steps"]
    with patch("sentimodels.cli.launch.Stopper.__call__", _after(10)):
        done = senti("translate", "train", "--resume", out, cwd=folder)
    assert done.code == 130, done.err
    assert json.loads((folder / out / "run.json").read_text())["fit"]["steps"] == steps + 10


def _after(steps: int) -> Callable[[Stopper], bool]:
    asked = iter(range(10_000))
    return lambda _: next(asked) == steps - 1


TRANSLATE: Any = get_group(build()).commands["translate"]
COMMANDS = TRANSLATE.commands


@pytest.mark.parametrize("name", ["train", "text", "evaluate"])
def test_help_ends_with_examples_that_run(name: str, folder: Path, tmp_path: Path) -> None:
    lines = [line.removeprefix("$ ") for line in str(COMMANDS[name].epilog).splitlines() if line[:2] == "$ "]
    assert len(lines) == 2
    if name == "evaluate":
        pytest.importorskip("sacrebleu", reason="BLEU is sacrebleu's")
    for file in folder.iterdir():
        if file.is_file():
            shutil.copy(file, tmp_path)
    if name != "train":
        shutil.copytree(folder / "runs" / "en-de", tmp_path / "runs" / "en-de")
    for line in lines:
        before, _, command = line.rpartition(" | ")
        words = shlex.split(command)
        assert words[:3] == ["senti", "translate", name]
        more = [*TINY, "--steps", "2", "--epochs", "1"] if name == "train" else []
        stdin = f"{shlex.split(before)[1]}\n" if before else ""
        done = senti(*words[1:], *more, cwd=tmp_path, stdin=stdin)
        assert done.code == 0, f"{line}\n{done.err}"


def test_a_run_is_loaded_by_name(folder: Path) -> None:
    assert Translator.load(str(folder / "runs" / "en-de")).translate(["one"])[0][0].text == "eins"
