"""`TokenDataset.windows`: rows of one length for a loader of PyTorch."""

import pickle
from typing import Any

import numpy as np
import pytest

from sentitok import Tokenizer, encode_files
from sentitok.datasets import TokenDataset

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory, tokenizer: Tokenizer) -> TokenDataset:
    """Two directories of several shards, some shorter than a row."""
    folder = tmp_path_factory.mktemp("windows")
    for name in ("one", "two"):
        texts = [f"{name} film {number} of a man " * (number % 7) for number in range(200)]
        encode_files(None, folder / name, tokenizer, texts=texts, separator="<|endoftext|>", shard_tokens=90)
    return TokenDataset([folder / "one", folder / "two"])


@pytest.mark.parametrize(("length", "stride"), [(1, None), (8, None), (64, 5), (500, 499), (7, 20)])
def test_windows_are_slices_of_the_stream(dataset: TokenDataset, length: int, stride: int | None) -> None:
    whole = np.concatenate(list(dataset)).tolist()
    step = stride or length
    rows = dataset.windows(length, stride=stride)
    expected = [whole[start : start + length] for start in range(0, len(whole) - length + 1, step)]
    assert len(rows) == len(expected)
    assert [row.tolist() for row in rows] == expected
    assert rows[-1].tolist() == expected[-1]
    assert [row.tolist() for row in rows[1:3]] == expected[1:3]
    assert rows[0].dtype == torch.int64
    pairs = dataset.windows(length, stride=stride, targets=True)
    assert len(pairs) == len(range(0, len(whole) - length, step))
    for number, (row, targets) in enumerate(pairs):
        assert row.tolist() == whole[number * step : number * step + length]
        assert targets.tolist() == whole[number * step + 1 : number * step + length + 1]


def test_rows_may_be_changed_without_changing_the_data(dataset: TokenDataset) -> None:
    rows = dataset.windows(4)
    before = rows[0].tolist()
    rows[0][:] = 0
    assert rows[0].tolist() == before


def test_too_few_ids_give_no_rows(dataset: TokenDataset) -> None:
    assert len(dataset.windows(dataset.tokens)) == 1
    assert len(dataset.windows(dataset.tokens, targets=True)) == 0
    assert list(dataset.windows(dataset.tokens + 1)) == []
    with pytest.raises(IndexError, match="0 windows"):
        dataset.windows(dataset.tokens + 1)[0]


@pytest.mark.parametrize(("length", "stride"), [(0, None), (-1, None), (4, 0)])
def test_lengths_below_one_are_refused(dataset: TokenDataset, length: int, stride: int | None) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        dataset.windows(length, stride=stride)


@pytest.mark.parametrize("row", [True, "3", 1.5, None])
def test_what_is_no_number_of_a_row_is_refused(dataset: TokenDataset, row: Any) -> None:
    with pytest.raises(TypeError, match="row"):
        dataset.windows(4)[row]


def test_windows_are_pickled_by_path(dataset: TokenDataset) -> None:
    data = pickle.dumps(dataset.windows(16, stride=3, targets=True))
    assert len(data) < 1000
    again = pickle.loads(data)
    assert repr(again) == repr(dataset.windows(16, stride=3, targets=True))
    assert again[5][1].tolist() == dataset.windows(16, stride=3, targets=True)[5][1].tolist()


def test_a_list_of_directories_is_one_data_set(dataset: TokenDataset) -> None:
    one, two = dataset.directories
    assert TokenDataset([one, two]).directories == TokenDataset(one, two).directories == (one, two)
    assert TokenDataset((str(one),), two).tokens == dataset.tokens
    with pytest.raises(TypeError, match="list of paths"):
        TokenDataset(None)  # type: ignore[arg-type]  # 2026-11-29: what a caller may pass by mistake
    with pytest.raises(ValueError, match="empty"):
        TokenDataset([])
