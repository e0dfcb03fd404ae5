"""A large request that the system refuses is a MemoryError, and the process lives.

Runs `memory_limits.py`, which forks a child for each operation: encode, decode, normalize, load, save, count,
train and write data sets, each with more to make than a limit of address space leaves.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from sampled_cases import chosen

SCRIPT = Path(__file__).with_name("memory_limits.py")

if sys.platform != "linux":
    pytest.skip("RLIMIT_AS limits address space on Linux", allow_module_level=True)


@pytest.mark.parametrize(
    "what",
    chosen(
        ["byte_bpe", "normalized", "sentencepiece_bpe", "wordpiece", "unigram", "files", "corpus"],
        "byte_bpe",
    ),
)
def test_refused_requests_are_memory_errors(what: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(SCRIPT), what],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
