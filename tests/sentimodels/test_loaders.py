"""Tokenizers in the workers of PyTorch's DataLoader, which begin in the middle of a batch."""

import pytest

import fuzz_threads


# With spawn, threads encode for seconds while the workers import; test_concurrency.py spawns in each run.
@pytest.mark.parametrize(
    "method",
    [pytest.param(one, marks=pytest.mark.slow if one == "spawn" else ()) for one in fuzz_threads.METHODS],
)
@pytest.mark.filterwarnings("ignore:.*use of fork.*:DeprecationWarning")
def test_workers_of_each_start_method(method: str) -> None:
    assert fuzz_threads.loaders(method)(7, 0) == {}
