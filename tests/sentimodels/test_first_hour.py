"""What a new user meets around a run: scores by class, folds, moved files, changed data."""

import json
import shutil
from pathlib import Path

import pytest

from labelled_reviews import write
from senti_in_process import senti
from sentimodels.runs.config import with_files
from sentimodels.runs.example import example_of

NB = ("--arch", "nb", "--no-baseline")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("first_hour")
    write(path / "reviews.csv", 200)
    done = senti("train", "reviews.csv", *NB, "--threads", "1", "-o", "runs/nb", cwd=path)
    assert done.code == 0, done.err
    (path / "summary.txt").write_text(done.out, "utf-8")
    return path


def test_a_summary_has_the_scores_of_each_class(folder: Path) -> None:
    about = json.loads((folder / "runs" / "nb" / "run.json").read_text("utf-8"))
    classes = {one["label"]: one for one in about["valid"]["per_class"]}
    assert classes.keys() == {"neg", "pos"}
    assert sum(one["support"] for one in classes.values()) == about["rows"]["valid"]
    out = (folder / "summary.txt").read_text("utf-8")
    assert f"{classes['neg']['precision']:.4f}" in out
    assert about["threads"] == 1


def test_a_card_shows_words_of_the_data(folder: Path) -> None:
    about = json.loads((folder / "runs" / "nb" / "run.json").read_text("utf-8"))
    assert about["example"] in (folder / "reviews.csv").read_text("utf-8")
    assert f'echo "{about["example"]}"' in senti("card", "runs/nb", cwd=folder).out


# (texts, the example)
EXAMPLES = [
    (["das Essen war gut", "ja, das Essen war kalt", "das Essen war da"], "das Essen war"),
    (["這部電影很好", "這部電影不好", "這部電影還行"], "這部電影"),
    (['say "hi" $(now)', "say"], "say"),
    (["!", "?"], "great fun"),
]


@pytest.mark.parametrize(("texts", "example"), EXAMPLES)
def test_an_example_is_of_the_language_of_the_texts(texts: list[str], example: str) -> None:
    assert example_of(texts) == example


def test_folds_are_one_table(folder: Path) -> None:
    done = senti("train", "reviews.csv", *NB, "--folds", "3", "-o", "runs/folds", cwd=folder)
    assert done.code == 0, done.err
    out = senti("runs", "runs", cwd=folder).out
    assert out.count("Folds of folds") == 1
    runs = json.loads(senti("runs", "runs", "--json", cwd=folder).out)["runs"]
    scores = [one["test"]["accuracy"] for one in runs if "fold" in one]
    assert len(scores) == 3
    means = [line for line in out.splitlines() if "mean" in line.split()]
    assert any(f"{sum(scores) / 3:.4f}" in line for line in means)


def test_a_configuration_finds_its_data_beside_itself(folder: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    moved.mkdir()
    text = (folder / "runs" / "nb" / "config.toml").read_text("utf-8").replace(str(folder), "/nowhere")
    (moved / "run.toml").write_text(text, "utf-8")
    done = senti("train", "--config", moved / "run.toml", "-o", tmp_path / "none", cwd=tmp_path)
    assert done.code == 2
    assert "/nowhere/reviews.csv" in done.err
    shutil.copy(folder / "reviews.csv", moved)
    done = senti("train", "--config", moved / "run.toml", "-o", tmp_path / "run", cwd=tmp_path)
    assert done.code == 0, done.err
    same = [(path / "model.safetensors").read_bytes() for path in (folder / "runs" / "nb", tmp_path / "run")]
    assert same[0] == same[1]


def test_files_that_exist_keep_their_names(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("", "utf-8")
    here = str(tmp_path / "a.csv")
    tree = {"data": {"train": here, "corpus": ["a.csv", "b.txt"], "text_column": "a.csv"}, "base": "a.csv"}
    assert with_files(tree, tmp_path) == {
        "data": {"train": here, "corpus": [here, "b.txt"], "text_column": "a.csv"}, "base": here,
    }  # fmt: skip


def test_changed_data_is_found(tmp_path: Path) -> None:
    write(tmp_path / "reviews.csv", 60)
    assert senti("train", "reviews.csv", *NB, "-o", "run", cwd=tmp_path).code == 0
    assert senti("verify", "run", "--data", cwd=tmp_path).code == 0
    with (tmp_path / "reviews.csv").open("a") as file:
        file.write("another text,pos\n")
    assert senti("verify", "run", cwd=tmp_path).code == 0
    done = senti("verify", "run", "--data", cwd=tmp_path)
    assert done.code == 1
    assert "reviews.csv: changed" in done.out
    (tmp_path / "reviews.csv").unlink()
    assert "reviews.csv: missing" in senti("verify", "run", "--data", cwd=tmp_path).out
