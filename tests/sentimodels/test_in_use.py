"""The bench of what people wait for: what its section of verdicts runs. Not for how long that takes."""

import importlib
from pathlib import Path
from typing import Any

import pytest

import shared_data
from sentimodels.data import read_table

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


# (figures of the row, its cells, the word in the table of all bars)
WAITED: list[tuple[list[float], str, str]] = [
    ([0.25, 0.3, 9.0], "0.30 s | 0.25 s | at most 0.3 s | met |", "met"),
    ([0.25, 0.31, 0.5], "0.31 s | 0.25 s | at most 0.3 s | **missed** |", "missed"),
    ([], "- | - | at most 0.3 s | not measured |", "not measured"),
]


@pytest.mark.parametrize(("figures", "cells", "word"), WAITED)
def test_a_bar_is_judged_on_the_median(
    monkeypatch: pytest.MonkeyPatch, figures: list[float], cells: str, word: str
) -> None:
    monkeypatch.syspath_prepend(BENCHES)
    judged, page = (importlib.import_module(name) for name in ("judged", "in_use_page"))
    rows = [
        {"what": "`senti --help`", "bar": "help", "figures": figures},
        {"what": "`sentitok --help`", "bar": "help", "figures": [0.1]},
        {"what": "Python's start alone", "bar": None, "figures": [0.012]},
    ]
    one = {
        "rows": rows, "cores": 2, "date": "2026-01-01 00:00", "git": "0" * 40, "versions": {"torch": "2"},
        "load": [0.1, 0.2], "command": "type this", "changed": [], **page.origin_of("help"),
    }  # fmt: skip
    section = page.section("help", one)
    assert section.startswith("## Help\n\n2 CPUs. 2026-01-01 00:00, commit 000000000, torch 2, load 0.1 and")
    assert f"\n| `senti --help` | {cells}\n" in section
    assert section.endswith("| Python's start alone | 0.01 s | 0.01 s |  |  |")
    measured = {"sections": {"help": one}}
    (of_help,) = [
        found for found in judged.judged_of("in-use", measured) if found.bar.what.endswith(": help")
    ]  # the slower of the two
    assert of_help.word == word
    assert page.reasons(measured) == []
    one["changed"] = ["python/sentitok/x.py"]
    assert page.reasons(measured) == ["help: python/sentitok/x.py: was not as in the commit"]
