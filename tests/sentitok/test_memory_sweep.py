"""Every operation where the system refuses memory: the same answer, or an error, and no abort.

Runs `memory_sweep.py`, which forks a child for each operation and each limit. By default a
few kinds of model and limits; the `slow` variant takes all of both.
"""

import subprocess
import sys
from pathlib import Path

import pytest

SWEEP = Path(__file__).with_name("memory_sweep.py")
MODELS = (
    "byte_bpe",
    "llama",
    "sentencepiece_bpe",
    "replaced_bpe",
    "wordpiece",
    "unigram",
    "unigram_json",
    "unsplit",
    "unsplit_bpe",
    "chained",
)
FILES = ("large:bpe", "large:unigram", "large:wordpiece")


def sweep(what: str, *options: str, seconds: int = 600) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(SWEEP), what, *options],
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]


@pytest.mark.parametrize("model", ["byte_bpe", "unsplit", "chained"])
def test_texts_where_memory_is_refused(model: str) -> None:
    sweep(model, "--megabytes", "1", "--size", "400000")


@pytest.mark.parametrize("kind", FILES)
def test_files_where_memory_is_refused(kind: str) -> None:
    sweep(kind, "--megabytes", "1", "24", "--size", "300000")


def test_corpora_where_memory_is_refused() -> None:
    sweep("corpus", "--megabytes", "2", "16", "--size", "150000")


@pytest.mark.slow
@pytest.mark.parametrize("what", [*MODELS, *FILES])
def test_all_where_memory_is_refused(what: str) -> None:
    sweep(what, "--size", "3000000", seconds=3600)


@pytest.mark.slow
def test_all_of_a_corpus_where_memory_is_refused() -> None:
    sweep("corpus", "--size", "1500000", seconds=3600)
