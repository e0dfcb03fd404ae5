"""The bench of waiting times: the commands of its section of verdicts. Their time is not tested."""

import importlib
from pathlib import Path
from typing import Any

import pytest

import shared_data
from sentimodels.data import read_table

pytestmark = pytest.mark.slow  # a program of benches/, not of the package
BENCHES = Path(__file__).resolve().parents[2] / "benches" / "models"


def test_a_verdict_is_timed_without_any_option(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SENTITOK_DATA", str(shared_data.folder()))
    monkeypatch.syspath_prepend(BENCHES)
    in_use = importlib.import_module("in_use")
    asked: list[tuple[Any, ...]] = []

    def senti(*args: str | Path, given: str = "") -> float:
        asked.append(args)
        return 700.0

    monkeypatch.setattr(in_use, "senti", senti)
    rows = in_use.SECTIONS["verdict"](tmp_path)
    assert {(command, out) for command, _, out, _ in asked} == {("train", "--out")}
    assert len({folder for *_, folder in asked}) == len(asked)
    assert {len(read_table(file)) for _, file, _, _ in asked} == {1_000, 10_000}
    assert [(row["what"], row["bar"], set(row["figures"])) for row in rows] == [
        ("1,000 tweets", None, {700.0}), ("10,000 tweets", "verdict on 10,000 rows", {700.0}),
    ]  # fmt: skip


def test_a_verdict_on_many_labels_reads_files_of_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SENTITOK_DATA", str(shared_data.folder()))
    monkeypatch.syspath_prepend(BENCHES)
    in_use = importlib.import_module("in_use")
    tables = []

    def senti(command: str, file: Path, *args: str | Path, given: str = "") -> float:
        tables.append(read_table(file, several="multilabel" in args))
        return 7.0

    monkeypatch.setattr(in_use, "senti", senti)
    rows = in_use.SECTIONS["labels"](tmp_path)
    assert [len(table) for table in tables] == [10_000, 10_000]
    assert len(set(tables[0].labelled())) == 20
    assert [row["bar"] for row in rows if row["bar"]] == ["verdict on 20 labels", "verdict on several labels"]
