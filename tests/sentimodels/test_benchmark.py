"""The small version of the benchmark of models: its rows reach their bars; by default but one network."""

import subprocess
import sys
from pathlib import Path

import pytest

import shared_data

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.mark.parametrize("rows", [("tfidf", "bow", "lstm"), pytest.param(("gpt",), marks=pytest.mark.slow)])
def test_the_small_benchmark_reaches_its_bars(rows: tuple[str, ...]) -> None:
    shared_data.folder()
    asked = [sys.executable, str(ROOT / "benches" / "models" / "run_all.py"), "--small", *rows]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(", seed 0: dev 0.") == len(rows)
