"""The rules of evidence in benches/models: which parts choose, which judge, and how runs are recorded."""

from pathlib import Path
from typing import Any

import pytest

from labelled_reviews import rows, tree
from sentimodels.data import Table
from sentimodels.runs.families import resolve

ROOT = Path(__file__).resolve().parents[2]


def parts_of(n: int, bench: Any, opened: list[str]) -> Any:
    """Three parts of small texts; the sealed part says when it is read."""
    made = rows(n)
    table = Table.of([f"{row} {text}" for row, (text, _) in enumerate(made)], [label for _, label in made])
    whole = bench.parts.of_whole(table)

    def sealed() -> Table:
        opened.append("sealed")
        found: Table = whole.sealed()
        return found

    return bench.parts.Parts(whole.train, whole.dev, sealed)


def test_parts_share_no_group(bench: Any) -> None:
    texts = [f"text {row}" for row in range(400)]
    table = Table.of(texts, [str(row % 2) for row in range(400)], [str(row // 4) for row in range(400)])
    whole = bench.parts.of_whole(table)
    groups = [set(part.groups) for part in (whole.train, whole.dev, whole.sealed())]
    assert [len(one) for one in groups] == [72, 8, 20]
    assert len(set.union(*groups)) == 100


def test_folds_seal_every_row_once(bench: Any) -> None:
    table = Table.of([f"text {row}" for row in range(100)], [str(row % 2) for row in range(100)])
    found = list(bench.parts.folds(table))
    assert sorted(text for one in found for text in one.sealed().texts) == sorted(table.texts)
    for one in found:
        assert len({*one.train.texts, *one.dev.texts, *one.sealed().texts}) == 100


@pytest.mark.parametrize("again", [False, True])
def test_sealed_rows_reach_neither_training_nor_choice(
    bench: Any, again: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A spy on each training and each fit of a temperature: the sealed part is shut until they are done."""
    from sentimodels.evaluation.one_label import OneLabel
    from sentimodels.runs import refit as refit_module

    opened: list[str] = []
    given: set[str] = set()
    parts = parts_of(200, bench, opened)

    def spied(module: Any, name: str, what: str | None = None) -> None:
        real = getattr(module, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            opened.append(what or name)
            if tables := kwargs.get("tables"):
                for table in (tables.train, tables.valid, tables.test):
                    given.update([] if table is None else table.texts)
            return real(*args, **kwargs)

        monkeypatch.setattr(module, name, call)

    spied(bench.train_one, "train")
    spied(refit_module, "recipe_of", "train")
    spied(OneLabel, "fit_temperature")
    made = tree("cnn", tmp_path, train={"epochs": 2})
    config = resolve({**made, "data": {"vocab_size": 300}})
    found = bench.train_one.one(config, [parts], None, again, dict)
    assert opened[-1] == "sealed"
    assert opened.count("sealed") == 1
    assert opened.count("train") == (2 if again else 1)
    assert given == {*parts.train.texts, *parts.dev.texts}
    assert not given & set(parts.sealed().texts)
    assert found["scores"]["sealed"]["rows"] == 40
    assert ("ece_before" in found["scores"]["sealed"]) != again
    right = bench.result.unpack(found["sealed"]["right"])
    assert right.sum() / 40 == pytest.approx(found["scores"]["sealed"]["accuracy"])


def test_a_run_is_one_line_and_the_last_one_is_shown(
    bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "results.jsonl"
    for accuracy in (0.5, 0.625):
        scores = {"dev": {"accuracy": accuracy}, "sealed": {"accuracy": 0.5, "macro_f1": 0.25, "ece": 0.03}}
        bench.result.append("kaggle:bow", "type this", {}, scores, seed=0, seconds=2.0, to=file,
                            cost={"fit_seconds": 4.0})  # fmt: skip
    assert len(file.read_text("utf-8").splitlines()) == 2
    monkeypatch.setattr("sys.argv", ["table.py", "kaggle", "--file", str(file)])
    bench.table.main()
    out = capsys.readouterr().out
    assert "| kaggle:bow | 1 | 0.6250 |" in out
    assert "kaggle:bow, sealed ece 0.0300: missed (at most 0.02)" in out
    assert "kaggle:bow, cost fit_seconds 4.0000: met (at most 5)" in out


def test_the_recorded_runs_can_be_read(bench: Any) -> None:
    needed = {"row", "seed", "commit", "date", "command", "settings", "scores", "seconds"}
    assert all(needed <= run.keys() for run in bench.result.results())
