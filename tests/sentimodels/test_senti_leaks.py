"""`senti train --leaks`: the treatment of training texts that are in another part."""

import re
from pathlib import Path

import pytest

from labelled_reviews import write
from senti_in_process import senti
from sentimodels.data import Table, leaks


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """60 reviews, the first of them in a file for validation too."""
    path = tmp_path_factory.mktemp("leaks")
    lines = write(path / "reviews.csv", 60).read_text("utf-8").splitlines()
    (path / "valid.csv").write_text("\n".join([lines[0], lines[1], "new film,pos", "new plot,neg"]) + "\n")
    return path


def test_leaks_are_dropped(folder: Path) -> None:
    args = ["reviews.csv", "--valid", "valid.csv", "--arch", "tfidf", "-o", "run", "--leaks", "drop"]
    done = senti("train", *args, cwd=folder)
    assert done.code == 0, done.err
    assert re.search(r"^rows +59 train, 3 valid$", done.out, re.M)
    assert "1 training row with a text of valid is left out" in done.err


def test_leaks_end_the_run(folder: Path) -> None:
    args = ["reviews.csv", "--valid", "valid.csv", "--arch", "tfidf", "--leaks", "fail"]
    done = senti("train", *args, cwd=folder)
    assert done.code == 2
    assert "1 of the 3 rows of valid (33.3 %) is a training text; 1 letter for letter. Keep" in done.err
    assert "--leaks drop" in done.err


def test_rows_that_differ_in_case_are_counted_apart() -> None:
    train = Table.of(["One text", "two"], ["a", "b"])
    said = leaks(train, Table.of(["one TEXT", "two"], ["a", "b"])).lines("valid")[0]
    assert said.endswith("1 letter for letter, the rest except for case and spacing")
