"""What a step frees stays for the next one, and goes back to the system in the end."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from labelled_reviews import tree, write
from sentimodels.runs.families import resolve
from sentimodels.runs.train import train
from sentimodels.training import malloc as heap

RESIDENT = """
import os
from pathlib import Path

import numpy as np

from sentimodels.training.malloc import Heap, trim_heap


def resident():
    return int(Path("/proc/self/statm").read_text("utf-8").split()[1]) * os.sysconf("SC_PAGE_SIZE")


before = resident()
"""
HOLES = """
blocks = [np.ones(60_000, np.uint8) for _ in range(4000)]  # below what is mapped by itself
full = resident()
kept = blocks[::20]
del blocks
holes = resident()
trim_heap()
print(full - before, holes - before, resident() - before, all(block.all() for block in kept))
"""
STEPS = """
import resource
from contextlib import nullcontext


def step():
    began = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    blocks = [np.ones(8_000_000, np.uint8) for _ in range(20)]
    del blocks
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - began


with HEAP:
    faults = [step() for _ in range(5)]
    during = resident() - before
print(max(faults[1:]), during, resident() - before)
"""
GLIBC = pytest.mark.skipif(
    heap._of_glibc("malloc_trim") is None, reason="the C library is not glibc, or not on Linux"
)


def said(program: str, **environment: str) -> list[int]:
    """Returns what a program prints, in a process of its own: else blocks go where earlier ones were."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_"))}
    command = [sys.executable, "-c", RESIDENT + program]
    run = subprocess.run(command, capture_output=True, text=True, check=True, env=own | environment)
    return [int(word) for word in run.stdout.replace("True", "1").replace("False", "0").split()]


@GLIBC
def test_what_is_free_between_blocks_in_use_is_given_back() -> None:
    full, holes, trimmed, whole = said(HOLES)
    assert full > 200_000_000
    assert holes > 200_000_000
    assert trimmed < 40_000_000
    assert whole


@GLIBC
def test_steps_write_to_the_memory_of_the_step_before_and_the_end_gives_it_back() -> None:
    faults, during, afterwards = said(STEPS.replace("HEAP", "Heap()"))
    assert faults < 1_000
    assert during > 150_000_000
    assert afterwards < 40_000_000


@GLIBC
@pytest.mark.parametrize(
    ("context", "environment"),
    [
        ("nullcontext()", {}),
        ("Heap()", {"MALLOC_TRIM_THRESHOLD_": "131072"}),
        ("Heap()", {"GLIBC_TUNABLES": "glibc.malloc.trim_threshold=131072"}),
    ],
    ids=["without it", "the environment sets the limits", "by the other way"],
)
def test_else_each_step_gives_it_back(context: str, environment: dict[str, str]) -> None:
    during = said(STEPS.replace("HEAP", context), **environment)[1]
    assert during < 40_000_000


@GLIBC
def test_other_settings_of_glibc_leave_it_on() -> None:
    assert said(STEPS.replace("HEAP", "Heap()"), GLIBC_TUNABLES="glibc.rtld.nns=4")[1] > 150_000_000


def test_where_no_one_tells_what_is_held_nothing_is_trimmed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heap, "Path", lambda _: Path("/nowhere"))
    trimmed: list[int] = []
    monkeypatch.setattr(heap, "trim_heap", lambda: trimmed.append(1))
    now = iter(range(0, 10_000, 100))
    kept = heap.Heap(lambda: float(next(now)))
    for _ in range(5):
        kept.after_step()
    assert not trimmed
    assert heap.resident() == 0


def test_another_library_keeps_what_it_keeps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heap, "_of_glibc", lambda name: None)
    with heap.Heap():
        heap.trim_heap()


def test_it_is_trimmed_once_it_has_grown_by_half(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is looked at every five seconds; what the step after a trim holds is what is needed."""
    now, held = 100.0, 200
    trimmed: list[tuple[float, int]] = []

    def trim() -> None:
        nonlocal held
        trimmed.append((now, held))
        held = 100

    monkeypatch.setattr(heap, "trim_heap", trim)
    monkeypatch.setattr(heap, "resident", lambda: held)
    kept = heap.Heap(lambda: now)
    for step in range(60):
        now = 100.0 + step
        held += 12 if step < 40 else 0
        kept.after_step()
    assert trimmed == [(110, 332), (120, 220), (130, 220), (140, 208)]


def test_what_does_not_grow_is_not_trimmed(monkeypatch: pytest.MonkeyPatch) -> None:
    trimmed: list[int] = []
    monkeypatch.setattr(heap, "trim_heap", lambda: trimmed.append(1))
    monkeypatch.setattr(heap, "resident", lambda: 100)
    now = 0.0
    kept = heap.Heap(lambda: now)
    for step in range(100):
        now = float(step)
        kept.after_step()
    assert not trimmed


def test_training_trims_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """After steps that hold more and more, and at the end."""
    trimmed: list[int] = []
    held = iter(10**number for number in range(10_000))
    monkeypatch.setattr(heap, "trim_heap", lambda: trimmed.append(1))
    monkeypatch.setattr(heap, "resident", lambda: next(held))
    monkeypatch.setattr(heap, "_SECONDS", 0.0)
    config = resolve(tree("bow", write(tmp_path / "reviews.csv")), {"train": {"epochs": 1}})
    about = train(config, tmp_path / "run", baseline=False)
    assert len(trimmed) == about["fit"]["steps"] + 1 > 2
