"""The small version of the benchmark of models: its rows reach their bars."""

import sys
from typing import Any

import pytest

import shared_data


@pytest.mark.slow
@pytest.mark.parametrize("rows", [("bow", "lstm"), ("tfidf", "gpt")])
def test_the_small_benchmark_reaches_its_bars(
    rows: tuple[str, ...], bench: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shared_data.folder()
    monkeypatch.setattr(sys, "argv", ["run.py", "--small", *rows])
    assert bench.run.main() == 0
    assert capsys.readouterr().out.count(", small: dev 0.") == len(rows)
