"""A few faults of each kind: `python tests/fuzz_faults.py` makes more, of more commands."""

import subprocess
import sys
from pathlib import Path

import pytest

from commands import environment

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are found by /proc")
PROGRAM = Path(__file__).resolve().parent.parent / "fuzz_faults.py"


@pytest.mark.parametrize(
    ("fault", "commands"),
    [
        ("kill", ["merge-counts", "checkpoint-bpe", "encode-megatron", "prune"]),
        ("full", ["count-memory", "encode-megatron", "transplant", "convert"]),
        ("change", ["count-memory", "train-wordpiece", "encode-megatron"]),
        ("short", ["count-memory", "encode-megatron", "prune"]),
    ],
)
def test_commands_with_faults(fault: str, commands: list[str]) -> None:
    call = [sys.executable, str(PROGRAM), fault, *commands, "--count", "1", "--seed", "tests"]
    done = subprocess.run(call, capture_output=True, text=True, env=environment(), check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(done.stdout.splitlines()) == len(commands)
