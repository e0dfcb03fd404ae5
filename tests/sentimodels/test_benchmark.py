"""The small version of the benchmark of models: every row of it reaches its bar."""

import subprocess
import sys
from pathlib import Path

import shared_data

ROOT = Path(__file__).resolve().parent.parent.parent


def test_the_small_benchmark_reaches_its_bars() -> None:
    shared_data.folder()
    asked = [sys.executable, str(ROOT / "benches" / "models" / "run_all.py"), "--small"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(", seed 0: dev 0.") == 4
