"""`senti runs`: which runs a folder has, in which order, and what of them compares."""

import json
import re
from pathlib import Path

import pytest

from labelled_reviews import write
from language_runs import language_run, tokenizer_of
from senti_in_process import senti
from sentimodels.errors import CheckpointError
from sentimodels.runs.directory import finish_run
from sentimodels.runs.leaderboard import leaderboard


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with runs on two files, one of them in a deeper folder, and one that was begun only."""
    path = tmp_path_factory.mktemp("runs")
    write(path / "reviews.csv", 200)
    write(path / "others.csv", 120, seed=2)
    common = ["--no-baseline", "--threads", "1"]
    for args in (
        ["reviews.csv", "--arch", "nb", "-o", "runs/nb", "--test", "others.csv"],
        ["reviews.csv", "--arch", "bow", "--set", "model.fit_lr=0.000001", "-o", "runs/deep/bow"],
        ["others.csv", "--arch", "tfidf", "-o", "runs/other"],
    ):
        done = senti("train", *args, *common, cwd=path)
        assert done.code == 0, done.err
    begun = path / "runs" / "begun"
    begun.mkdir()
    (begun / "config.toml").write_bytes((path / "runs" / "nb" / "config.toml").read_bytes())
    return path


def test_the_best_comes_first(folder: Path) -> None:
    done = senti("runs", "--json", cwd=folder)
    assert done.code == 0, done.err
    value = json.loads(done.out)
    assert value["schema"] == "senti.runs/1"
    found = {one["run"]: one for one in value["runs"]}
    assert set(found) == {"nb", "deep/bow", "other", "begun"}
    scores = [one.get("macro_f1") for one in value["runs"]]
    assert scores[-1] is None
    assert scores[:-1] == sorted(scores[:-1], reverse=True)
    assert found["begun"]["state"] == "unfinished"
    nb = found["nb"]
    about = json.loads((folder / "runs" / "nb" / "run.json").read_text())
    assert nb["macro_f1"] == about["valid"]["macro_f1"]
    low, high = nb["interval"]
    assert low <= nb["macro_f1"] <= high
    assert 0 <= low <= high <= 1
    assert nb["parameters"] == about["parameters"]
    assert nb["seconds"] == round(sum(about["seconds"].values()), 1)
    assert nb["test"]["accuracy"] == about["test"]["accuracy"]
    assert found["nb"]["data"] == found["deep/bow"]["data"] != found["other"]["data"]


def test_the_page_keeps_rows_apart(folder: Path) -> None:
    done = senti("runs", "runs", cwd=folder)
    assert done.code == 0, done.err
    assert re.search(r"^Runs on 20 validation rows$", done.out, re.M)
    assert re.search(r"^Runs on 12 validation rows$", done.out, re.M)
    assert re.search(r"^ *nb +nb +finished +[01]\.\d{4} +[01]\.\d{4} to [01]\.\d{4} ", done.out, re.M)
    assert re.search(r"^ *begun +nb +unfinished +- ", done.out, re.M)
    assert "their scores cannot be compared" in done.out


def test_quiet_names_the_best(folder: Path) -> None:
    best = json.loads(senti("runs", "--json", cwd=folder).out)["runs"][0]["run"]
    assert senti("runs", "runs", "-q", cwd=folder).out.replace("\\", "/") == f"runs/{best}\n"
    assert senti("runs", "runs/nb", "-q", cwd=folder).out.replace("\\", "/") == "runs/nb\n"


@pytest.mark.parametrize(
    ("name", "message"),
    [("none", "no such folder"), ("reviews.csv", "not a folder"), ("empty", "no run in this folder")],
)
def test_folders_without_runs(name: str, message: str, folder: Path) -> None:
    (folder / "empty").mkdir(exist_ok=True)
    done = senti("runs", name, cwd=folder)
    assert done.code == 2
    assert message in done.err


def test_parts_of_one_file_are_other_rows(folder: Path) -> None:
    """Two folds have as many validation rows of one file, and not the same."""
    done = senti("train", "reviews.csv", "--arch", "tfidf", "--folds", "2", "-o", "folds", cwd=folder)
    assert done.code == 0, done.err
    found = json.loads(senti("runs", "folds", "--json", cwd=folder).out)["runs"]
    assert {one["run"] for one in found} == {"fold-0", "fold-1"}
    assert found[0]["rows"]["valid"] == found[1]["rows"]["valid"]
    assert found[0]["data"] != found[1]["data"]


def test_folders_that_are_no_runs_are_left_out(tmp_path: Path) -> None:
    """One is of another program, one was cut off, one has no numbers where it should."""
    language_run(tmp_path / "good", "gpt")
    language_run(tmp_path / "numbers", "gpt")
    (tmp_path / "numbers" / "run.json").write_text('{"seconds": null}')
    for name, content in (("hugo", 'title = "A site"\n'), ("cut", 'arch = "seq2seq"\npreset = "tin')):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.toml").write_text(content)
    done = senti("runs", ".", cwd=tmp_path)
    assert done.code == 0, done.err
    assert re.search(r"^ *good +gpt ", done.out, re.M)
    left = re.findall(r"left out: (\w+): not a run, or damaged: ", done.err)
    assert sorted(left) == ["cut", "hugo", "numbers"]
    for name in left:
        with pytest.raises(CheckpointError, match=f"{name}: not a run, or damaged"):
            leaderboard(tmp_path / name)


def test_masked_models_are_ranked_by_perplexity(tmp_path: Path) -> None:
    """The loss of a model that also tells halves apart has the loss of that in it."""
    valid = {
        "follows": {"loss": 5.0, "perplexity": 50.0},
        "plain": {"loss": 4.5, "perplexity": 90.0},
        "best": {"loss": 3.9, "perplexity": 49.0},
    }
    for name, scores in valid.items():
        module = language_run(tmp_path / name, "bert")
        finish_run(tmp_path / name, module, tokenizer_of("bert"), {"valid": scores})
    module = language_run(tmp_path / "causal", "gpt")
    scores = {"loss": 6.0, "perplexity": 400.0, "bits_per_byte": 2.0}
    finish_run(tmp_path / "causal", module, tokenizer_of("gpt"), {"valid": scores})
    language_run(tmp_path / "unknown", "bert")
    _, found, _ = leaderboard(tmp_path)
    assert [one["run"] for one in found] == ["causal", "best", "follows", "plain", "unknown"]
