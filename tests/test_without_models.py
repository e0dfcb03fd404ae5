"""The tests of the tokenizer are collected where the extra `models` cannot be installed."""

import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent

# Without what most tests are about: collecting it takes long.
WITHOUT = """
import sys
sys.modules["torch"] = None
import pytest
sys.exit(pytest.main(["--collect-only", "-q", "-p", "no:cacheprovider", *sys.argv[1:]]))
"""


def test_without_torch_the_tests_of_senti_are_left_out() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, str(TESTS), f"--ignore={TESTS / 'sentitok'}", "-v"],
        capture_output=True,
        text=True,
        cwd=TESTS.parent,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "left out: tests/sentimodels, for want of torch" in done.stdout
    assert "test_layering" in done.stdout
    assert "test_trainer" not in done.stdout
