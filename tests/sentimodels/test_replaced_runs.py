"""`--force`: a run takes the name of another one, which is kept under the next free number."""

import shutil
from pathlib import Path

import pytest

from labelled_reviews import write
from senti_in_process import senti

NB = ["--arch", "nb", "--no-baseline"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("replaced")
    write(path / "reviews.csv", 200)
    (path / "texts.txt").write_text("a short text\nand another one\n" * 40)
    assert senti("train", "reviews.csv", *NB, "-o", "runs/nb", cwd=path).code == 0
    return path


def files(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


# (the command for a run directory, as often as it is run)
COMMANDS: list[list[str]] = [
    ["train", "reviews.csv", *NB],
    ["train", "reviews.csv", *NB, "--seeds", "2"],
    ["train", "reviews.csv", *NB, "--folds", "2"],
    ["sweep", "reviews.csv", "--set", "model.c=1,2", "--arch", "nb"],
    ["distill", "runs/nb", "--data", "reviews.csv", "--arch", "nb", "--no-baseline"],
    ["pretrain", "texts.txt", "--arch", "gpt", "--preset", "nano", "--steps", "1",
     "--set", "data.vocab_size=300", "--set", "data.context=16"],
]  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command[:1] + command[-2:-1]))
def test_force_keeps_the_run_that_was_there(command: list[str], folder: Path) -> None:
    out = folder / "runs" / "taken"
    for old in folder.glob("runs/taken*"):
        shutil.rmtree(old)
    done = senti(*command, "-o", out, cwd=folder)
    assert done.code == 0, done.err
    first = files(out)
    refused = senti(*command, "-o", out, cwd=folder)
    assert (refused.code, "--force" in refused.err) == (2, True), refused.err
    assert files(out) == first
    for number in ("1", "2"):
        done = senti(*command, "-o", out, "--force", cwd=folder)
        assert done.code == 0, done.err
        assert files(out).keys() == first.keys()
        assert files(out.with_name(f"taken.{number}")).keys() == first.keys()
    assert files(out.with_name("taken.1")) == first


def test_a_run_that_does_not_begin_replaces_none(folder: Path) -> None:
    before = files(folder / "runs" / "nb")
    for wrong in (["--label-column", "stars"], ["--set", "model.c=-1"], ["--valid", "missing.csv"]):
        done = senti("train", "reviews.csv", *NB, *wrong, "-o", "runs/nb", "--force", cwd=folder)
        assert done.code == 2, done.err
        assert files(folder / "runs" / "nb") == before
        assert not (folder / "runs" / "nb.1").exists()


def test_force_is_refused_where_it_would_do_nothing(folder: Path) -> None:
    done = senti("train", "--resume", "runs/nb", "--force", cwd=folder)
    assert (done.code, "--force" in done.err) == (2, True), done.err


def test_a_folder_that_cannot_be_renamed_is_named(folder: Path) -> None:
    done = senti("train", "../../reviews.csv", *NB, "-o", ".", "--force", cwd=folder / "runs" / "nb")
    assert (done.code, "cannot be renamed" in done.err) == (2, True), done.err
