"""Runs and files that the tests of reports, figures and commands share.

Each fixture imports what it needs: this file is read before any test, by each of several processes.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

import labelled_reviews
import sentitok

if TYPE_CHECKING:
    from sentimodels.data import Table

SENTENCES = Path(__file__).resolve().parent / "data" / "sentences"


@pytest.fixture
def fake_classifier(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes run directories load as `FakeClassifier`."""
    import fake_run

    module: Any = ModuleType("sentimodels.classifier")
    module.Classifier = fake_run.FakeClassifier
    monkeypatch.setitem(sys.modules, "sentimodels.classifier", module)


@pytest.fixture
def engine_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes `--engine processes` start threads: processes would import PyTorch first."""

    @contextmanager
    def opened(engine: str, address: None, workers: int, *, gpus: int) -> Iterator[Executor]:
        assert (engine, address, gpus) == ("processes", None, 0)
        with ThreadPoolExecutor(workers) as executor:
            yield executor

    monkeypatch.setattr("sentitok.adapters.open_executor", opened)


@pytest.fixture(scope="session")
def reviews(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Labelled texts that can be learned in a second."""
    return labelled_reviews.write(tmp_path_factory.mktemp("data") / "reviews.csv")


@pytest.fixture(scope="session")
def trained(reviews: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of an LSTM on them."""
    from sentimodels.runs.execute import train
    from sentimodels.runs.families import resolve

    folder = tmp_path_factory.mktemp("runs") / "lstm"
    train(resolve(labelled_reviews.tree("lstm", reviews)), folder)
    return folder


@pytest.fixture(scope="session")
def sentences() -> Table:
    """1,000 labelled sentences."""
    from sentimodels.data import read_table

    return read_table(SENTENCES / "yelp_labelled.txt")


@pytest.fixture(scope="session")
def parts(sentences: Table) -> dict[str, Table]:
    """The same in two parts; three rows of valid are copied from train."""
    from sentimodels.data import Table, split

    made = split(sentences, (0.8, 0.2), 1)
    train, valid = made["train"], made["valid"]
    copied = Table.of(
        [*valid.texts, *(text.upper() for text in train.texts[:3])],
        [*valid.labelled(), *train.labelled()[:3]],
    )
    return {"train": train, "valid": copied}


@pytest.fixture(scope="session")
def made(parts: dict[str, Table], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the examples of `--help` name: files, two runs and two groups of folds."""
    import fake_run
    from sentimodels.data import Table, read_table
    from sentimodels.data.writers import write_table
    from sentimodels.evaluation.predictions import predict
    from sentimodels.runs.families import resolve
    from sentimodels.runs.group import train_folds

    path = tmp_path_factory.mktemp("made")
    for name, table in parts.items():
        write_table(table, path / f"{name}.csv")
    write_table(Table.of(parts["valid"].texts), path / "test.csv")
    write_table(parts["train"].take(range(200)), path / "reviews.csv")
    (path / "trees.txt").write_text("(3 (2 a) (4 good))\n(1 (1 bad) (2 .))\n", "utf-8")
    sentitok.train_bpe(texts=["good bad film"], vocab_size=300).save(path / "tokenizer.json")
    train, valid = read_table(path / "train.csv"), read_table(path / "valid.csv")
    half = frozenset(sorted(set(" ".join(train.texts).split()))[::2])
    fake_run.make_run(path / "runs" / "gpt", train, strength=3.0, temperature=1.5)
    fake_run.make_run(path / "runs" / "lstm", train, words=half)
    for name in ("gpt", "lstm"):
        run = fake_run.FakeClassifier.load(path / "runs" / name)
        # As `senti evaluate` writes it in this folder.
        found = predict(run, replace(valid, source=Path("valid.csv")), temperature=run.temperature)
        found.save(path / f"{name}.npz")
    for arch in ("nb", "tfidf"):
        tree = {"arch": arch, "data": {"train": str(path / "reviews.csv"), "folds": 2}}
        train_folds(resolve(tree), path / "runs" / f"{arch}-folds")
    return path


@pytest.fixture
def folder(made: Path, tmp_path: Path, fake_classifier: None) -> Path:
    """A copy of it, so that tests do not see each other."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path
