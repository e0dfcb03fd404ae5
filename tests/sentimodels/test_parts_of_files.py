"""Training, validation and test rows from one file, and texts that are in two of them."""

from pathlib import Path
from typing import Any

import pytest

from sentimodels import resolve, train
from sentimodels.cli.data import split
from sentimodels.config import DataConfig
from sentimodels.data import Table, TrainingRecord, read_table
from sentimodels.errors import DataError
from sentimodels.predictor import load_predictor
from sentimodels.runs.report import evaluate
from sentimodels.runs.tables import Tables

WORDS = {"pos": "good fine great", "neg": "bad poor dull"}


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    """40 rows of train, then 10 of dev and 10 of test, all with different texts."""
    rows = []
    for number in range(60):
        part = "train" if number < 40 else "dev" if number < 50 else "test"
        label = ("pos", "neg")[number % 2]
        rows.append(f"film {number} {WORDS[label]},{label},{part}\n")
    path = tmp_path / "all.csv"
    path.write_text("text,label,split\n" + "".join(rows), encoding="utf-8")
    return path


def tables(path: Path, **data: Any) -> Tables:
    return Tables(DataConfig(train=str(path), **data))


def test_each_part_has_a_condition_of_its_own(parts: Path) -> None:
    found = tables(parts, where="split=train", valid_where="split=dev", test_where="split=test")
    assert found.valid is not None
    assert found.test is not None
    assert [len(found.train), len(found.valid), len(found.test)] == [40, 10, 10]
    assert found.train.numbers == list(range(40))
    assert found.test.numbers == list(range(50, 60))


# (settings, rows of train, valid and test)
SELECTIONS: list[tuple[dict[str, Any], tuple[int, int, int]]] = [
    ({"valid_where": "split=dev", "test_where": "split=test"}, (40, 10, 10)),
    ({"valid_where": "split=dev"}, (50, 10, 0)),
    ({"test_where": "split=test", "valid_share": 0.2}, (40, 10, 10)),
    ({"valid_where": "split=dev", "folds": 2, "fold": 0}, (25, 10, 25)),
    ({"valid_where": "split=dev", "limit": 20}, (20, 10, 0)),
    ({"valid_where": "split=dev", "where": "split=train", "limit": 20}, (20, 10, 0)),
    ({"where": "split=train", "valid_where": "split=dev", "test_where": "split=test"}, (40, 10, 10)),
]


@pytest.mark.parametrize(("data", "sizes"), SELECTIONS)
def test_chosen_rows_never_train(parts: Path, data: dict[str, Any], sizes: tuple[int, int, int]) -> None:
    found = tables(parts, **data)
    chosen = [found.train, found.valid, found.test]
    assert tuple(0 if part is None else len(part) for part in chosen) == sizes
    numbers = [number for part in chosen if part is not None for number in part.numbers or []]
    assert len(numbers) == len(set(numbers))


def test_chosen_rows_never_train_by_another_name_of_the_file(parts: Path) -> None:
    other = parts.with_name("link.csv")
    other.symlink_to(parts)
    assert len(tables(parts, valid=str(other), valid_where="split=dev").train) == 50


def test_rows_chosen_twice_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    rows = [f"film {i},{'pos' if i % 2 else 'neg'},{i // 10},{i // 15}\n" for i in range(60)]
    path.write_text("text,label,a,b\n" + "".join(rows), encoding="utf-8")
    for data in (
        {"valid_where": "a=1", "test_where": "b=1"},
        {"valid_where": "a=1", "where": "b=1"},
        {"test_where": "a=1", "where": "b=1", "limit": 4},
    ):
        with pytest.raises(DataError, match="5 rows are chosen by"):
            tables(path, **data)
    with pytest.raises(DataError, match="10 rows are chosen by --valid-where a=1 and by --where a=1"):
        tables(path, valid_where="a=1", where="a=1")


def test_limits_are_of_the_training_rows(parts: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text("text,label\n" + "a good one,pos\na bad one,neg\n" * 5, encoding="utf-8")
    found = tables(parts, where="split=train", limit=8, skip=4, valid=str(other))
    assert found.valid is not None
    assert [len(found.train), len(found.valid)] == [8, 10]
    numbers = found.train.numbers or []
    assert numbers == sorted(numbers)
    assert set(numbers) <= set(range(4, 40))
    assert found.train.labelled().count("pos") == 4


def test_other_rows_of_the_file_can_be_scored(parts: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    data = {"train": str(parts), "where": "split=train", "valid_where": "split=dev"}
    train(resolve({"arch": "tfidf", "data": data}), run, baseline=False)
    predictor = load_predictor(run)
    rows = {name: read_table(parts, where=f"split={name}") for name in ("train", "dev", "test")}
    with pytest.raises(DataError, match="trained on 40 of these 40 rows"):
        evaluate(predictor, rows["train"], run=run)
    with pytest.raises(DataError, match="trained on 40 of these 60 rows"):
        evaluate(predictor, read_table(parts), run=run)
    assert evaluate(predictor, rows["test"], run=run)[0].about["n_validation"] == 0
    # The best step and the temperature were chosen on these.
    assert evaluate(predictor, rows["dev"], run=run)[0].about["n_validation"] == 10


def test_rows_read_another_way_are_the_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "trees.txt"
    path.write_text("(3 (2 It) (4 good))\n(0 (1 No) (2 .))\n", encoding="utf-8")
    record = TrainingRecord.of(read_table(path, format="sst", limit=1))
    phrases = read_table(path, format="sst-phrases", skip=4)
    assert record.shared("train", phrases).tolist() == [True, True]
    assert record.shared("train", read_table(path, format="sst", skip=1)).tolist() == [False]
    # Rows from no file have a separate hash.
    assert not record.shared("train", Table.of(["It good"], ["3"])).any()


def test_leaks_are_dropped_or_end_the_run(parts: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text(
        "text,label\nFILM 3  bad poor dull,neg\nfilm 2 good fine great,pos\nnew,pos\n", encoding="utf-8"
    )
    for role in ("valid", "test"):
        told = tables(parts, **{role: str(other)})
        assert any(f"2 of the 3 rows of {role}" in note for note in told.notes)
        with pytest.raises(DataError, match=f"2 of the 3 rows of {role}.*--leaks drop, or data.leaks"):
            tables(parts, leaks="fail", **{role: str(other)})
        kept = tables(parts, leaks="drop", valid_share=0, **{role: str(other)})
        assert len(kept.train) == 58
        assert f"2 training rows with a text of {role} are left out" in kept.notes
        assert not any("are training texts" in note for note in kept.notes)
    assert len(tables(parts, leaks="fail", valid=str(other), where="split=dev").train) == 10


def test_a_label_is_not_lost_with_its_rows(tmp_path: Path) -> None:
    path, other = tmp_path / "a.csv", tmp_path / "b.csv"
    path.write_text("text,label\none,x\ntwo,y\n", encoding="utf-8")
    other.write_text("text,label\nTwo,y\n", encoding="utf-8")
    with pytest.raises(DataError, match="no training row has the label 'y'"):
        tables(path, valid=str(other), leaks="drop")


def test_one_share_is_held_out_everywhere() -> None:
    import inspect

    shares = inspect.signature(split).parameters["shares"].default
    held_out = DataConfig.model_fields["valid_share"].default
    assert [float(share) for share in shares.split(",")] == [1 - held_out, held_out]
