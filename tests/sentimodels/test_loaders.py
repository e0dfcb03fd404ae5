"""Tokenizers in the workers of PyTorch's DataLoader, which begin in the middle of a batch."""

import pytest

import fuzz_threads


@pytest.mark.parametrize("method", fuzz_threads.METHODS)
@pytest.mark.filterwarnings("ignore:.*use of fork.*:DeprecationWarning")
def test_workers_of_each_start_method(method: str) -> None:
    assert fuzz_threads.loaders(method)(7, 0) == {}
