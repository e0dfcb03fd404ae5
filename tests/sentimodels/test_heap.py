"""Memory that was freed goes back to the system."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from labelled_reviews import tree, write
from sentimodels.runs.config import resolve
from sentimodels.runs.train import train
from sentimodels.training import heap

# In a process of its own: in another, blocks would go where earlier ones were.
PROGRAM = """
import os
from pathlib import Path

import numpy as np

from sentimodels.training.heap import trim_heap


def resident():
    return int(Path("/proc/self/statm").read_text("utf-8").split()[1]) * os.sysconf("SC_PAGE_SIZE")


before = resident()
blocks = [np.ones(60_000, np.uint8) for _ in range(4000)]  # below what is mapped by itself
full = resident()
kept = blocks[::20]
del blocks
holes = resident()
trim_heap()
print(full - before, holes - before, resident() - before, all(block.all() for block in kept))
"""


@pytest.mark.skipif(heap._malloc_trim() is None, reason="the C library is not glibc, or not on Linux")
def test_what_is_free_between_blocks_in_use_is_given_back() -> None:
    own = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_"))}
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, env=own)
    full, holes, trimmed, whole = run.stdout.split()
    assert int(full) > 200_000_000
    assert int(holes) > 200_000_000
    assert int(trimmed) < 40_000_000
    assert whole == "True"


def test_another_library_keeps_what_it_keeps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heap, "_malloc_trim", lambda: None)
    heap.trim_heap()


def test_it_is_trimmed_now_and_then_however_many_steps_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """After each step it would take a quarter of the time."""
    now = 100.0
    trimmed: list[float] = []
    monkeypatch.setattr(heap, "trim_heap", lambda: trimmed.append(now))
    held = heap.Heap(lambda: now)
    for step in range(60):
        now = 100.0 + step
        held.after_step()
    assert trimmed == [115, 130, 145]


def test_training_trims_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    trimmed: list[int] = []
    monkeypatch.setattr(heap, "trim_heap", lambda: trimmed.append(1))
    monkeypatch.setattr(heap, "_SECONDS", 0.0)
    config = resolve(tree("bow", write(tmp_path / "reviews.csv")), {"train": {"epochs": 1}})
    about = train(config, tmp_path / "run", baseline=False)
    assert len(trimmed) == about["fit"]["steps"] > 1
