"""The small version of the benchmark of models: its rows reach their bars; by default two of them."""

import sys
from typing import Any

import pytest

import shared_data


@pytest.mark.parametrize("rows", [("bow", "lstm"), pytest.param(("tfidf", "gpt"), marks=pytest.mark.slow)])
def test_the_small_benchmark_reaches_its_bars(
    rows: tuple[str, ...], bench: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shared_data.folder()
    monkeypatch.setattr(sys, "argv", ["run.py", "--small", *rows])
    assert bench.run.main() == 0
    assert capsys.readouterr().out.count(", small: dev 0.") == len(rows)
