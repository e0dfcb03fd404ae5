"""Memory that was freed goes back to the system."""

import os
from pathlib import Path

import numpy as np
import pytest

from sentimodels.lm import heap, translation

STATM = Path("/proc/self/statm")


def resident() -> int:
    """Bytes in memory."""
    return int(STATM.read_text("utf-8").split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(
    heap._malloc_trim() is None or not STATM.is_file(), reason="the C library is not glibc, or not on Linux"
)
def test_what_is_free_between_blocks_in_use_is_given_back() -> None:
    before = resident()
    blocks = [np.ones(60_000, np.uint8) for _ in range(4000)]  # below what is mapped by itself
    assert resident() - before > 160_000_000
    kept = blocks[::20]
    del blocks
    heap.trim_heap()
    assert resident() - before < 80_000_000
    assert all(block.all() for block in kept)


def test_another_library_keeps_what_it_keeps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heap, "_malloc_trim", lambda: None)
    heap.trim_heap()


def test_it_is_trimmed_every_so_many_steps_however_many_records_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After each step it would take a quarter of the time."""
    trimmed: list[int] = []
    heard: list[int] = []
    hear = translation._heard(lambda one: heard.append(one["step"]))
    monkeypatch.setattr(translation, "trim_heap", lambda: trimmed.append(heard[-1]))
    for step in range(1, 61):
        hear({"step": step})
    assert heard == list(range(1, 61))
    assert trimmed == [20, 40, 60]
