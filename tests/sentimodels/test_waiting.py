"""How the threads of a command wait for each other: asleep where other programs need the processors."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sentimodels.cli import waiting
from sentimodels.cli.waiting import sleep_if_busy


@pytest.fixture
def running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns what stands for /proc/loadavg, on a machine of 2 processors without settings of OpenMP."""
    for name in [*os.environ]:
        if name.startswith(("OMP_", "GOMP_", "KMP_")):
            monkeypatch.delenv(name)
    # Set and removed again, so that what the command sets does not outlive the test.
    monkeypatch.setenv("OMP_WAIT_POLICY", "active")
    monkeypatch.delenv("OMP_WAIT_POLICY")
    path = tmp_path / "loadavg"
    monkeypatch.setattr(waiting, "_RUNNING", path)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    return path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.00 0.00 0.00 1/80 11206\n", False),
        ("9.00 9.00 9.00 1/80 11206\n", False),  # earlier programs have ended
        ("0.00 0.00 0.00 2/80 11206\n", True),
        ("0.00 0.00 0.00 25/80 11206\n", True),
        ("", False),
        ("what is this\n", False),
    ],
)
def test_threads_sleep_where_other_programs_run(running: Path, text: str, expected: bool) -> None:
    running.write_text(text)
    assert sleep_if_busy() is expected
    assert os.environ.get("OMP_WAIT_POLICY") == ("passive" if expected else None)


def test_processors_that_a_command_may_not_use_are_for_others(
    running: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    running.write_text("0 0 0 57/900 1\n")
    assert not sleep_if_busy()
    running.write_text("0 0 0 58/900 1\n")
    assert sleep_if_busy()


def test_a_setting_of_the_user_is_kept(running: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    running.write_text("0 0 0 9/80 1\n")
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert not sleep_if_busy()
    assert "OMP_WAIT_POLICY" not in os.environ


def test_a_program_that_wakes_for_a_moment_changes_nothing(
    running: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running.write_text("0 0 0 9/80 1\n")
    monkeypatch.setattr("sentimodels.cli.waiting.time.sleep", lambda _: running.write_text("0 0 0 1/80 1\n"))
    assert not sleep_if_busy()


def test_other_systems_are_left_as_they_are(running: Path) -> None:
    assert not running.exists()
    assert not sleep_if_busy()


def test_a_program_that_imports_the_package_is_left_alone() -> None:
    code = "import os; before = dict(os.environ); import sentimodels.cli.app, sentimodels.classifier; "
    code += "assert dict(os.environ) == before, set(os.environ) ^ set(before)"
    subprocess.run([sys.executable, "-c", code], check=True)
