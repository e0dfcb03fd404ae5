"""The page that `benches/transformers_cases.py` writes of two runs; the runs need sources of transformers."""

import subprocess
import sys
from pathlib import Path

import pytest

import transformers_cases


def test_the_page_counts_what_ends_alike_and_names_the_rest() -> None:
    untouched = {"results": {"a": "passed", "b": "failed", "c": "passed", "d": "skipped"}}
    stays = {"X: this tokenizer runs in transformers as before: why": 2}
    accelerated = {
        "results": {"a": "passed", "b": "failed", "c": "failed", "d": "skipped"},
        "made": {"runs here": 3000, "stays": stays},
    }
    page = transformers_cases.page(untouched, accelerated, "sentitok 1.")
    for said in (
        "| passed both times | 1 |",
        "| failed both times | 1 |",
        "| skipped both times | 1 |",
        "| ends otherwise | 1 |",
        "- `c`: passed, accelerated failed",
        "3,000 ran here and 2 stayed",
        "| X | this tokenizer runs in transformers as before: why | 2 |",
    ):
        assert said in page
    accelerated["results"] = untouched["results"]
    assert "| ends otherwise | 0 |" in transformers_cases.page(untouched, accelerated, "sentitok 1.")


def test_a_folder_without_tests_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="give sources of transformers"):
        transformers_cases.files(tmp_path)
    command = [sys.executable, str(transformers_cases.__file__)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "usage: " in done.stderr
