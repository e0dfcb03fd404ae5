"""`TokenWindows.shuffled` and `TokenDataset.shuffled`: every row once, and any step alone."""

import json
import pickle
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands import environment
from sampled_cases import THOROUGH
from sentitok import Tokenizer, encode_files
from sentitok.datasets import TokenBatches, TokenDataset
from sentitok.shuffle import BlockPermutation, FeistelPermutation

Batches = TokenBatches[Any]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory, tokenizer: Tokenizer) -> TokenDataset:
    """Two directories of several shards, some shorter than a row."""
    folder = tmp_path_factory.mktemp("shuffled")
    for name in ("one", "two"):
        texts = [f"{name} film {number} of a man " * (number % 7) for number in range(200)]
        encode_files(None, folder / name, tokenizer, texts=texts, separator="<|endoftext|>", shard_tokens=90)
    return TokenDataset([folder / "one", folder / "two"])


class Numbers:
    """So many rows, each its number."""

    def __init__(self, n: int) -> None:
        self.n = n

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        return f"Numbers({self.n})"

    def take(self, numbers: Any, /) -> list[int]:
        found: list[int] = numbers.tolist()
        return found


@pytest.mark.parametrize("n", [1, 2, 3, 10, 100, 1000, 4097])
def test_a_permutation_has_every_number_once(n: int) -> None:
    places = np.arange(n)
    one, two = FeistelPermutation(n, 5, 0)(places), FeistelPermutation(n, 5, 1)(places)
    assert sorted(one.tolist()) == sorted(two.tolist()) == list(range(n))
    if n >= 100:
        assert (one != two).any()
        assert (FeistelPermutation(n, 6, 0)(places) != one).any()
        assert abs(np.corrcoef(places, one)[0, 1]) < 0.2
    assert (FeistelPermutation(n, 5, 0)(places[::2]) == one[::2]).all()  # a place alone tells


def test_the_order_of_a_seed_stays() -> None:
    """Runs that resume with another release read the rows that they have not read."""
    assert FeistelPermutation(10, 1, 0)(np.arange(10)).tolist() == [4, 5, 6, 8, 1, 0, 3, 2, 7, 9]
    assert FeistelPermutation(10**12, 7, 3)(np.arange(2)).tolist() == [639608276548, 347283913037]
    by_blocks = BlockPermutation(25, 4, 1, 0)(np.arange(25)).tolist()
    assert by_blocks[:13] == [4, 8, 23, 10, 17, 21, 12, 16, 5, 20, 6, 14, 24]


@given(st.integers(1, 3000), st.integers(1, 50), st.integers(0, 1 << 63))
def test_a_block_permutation_has_every_number_once(n: int, block_rows: int, seed: int) -> None:
    places = np.arange(n)
    order = BlockPermutation(n, block_rows, seed, 0)
    assert sorted(order(places).tolist()) == places.tolist()
    some = places[:: max(1, n // 7)]
    assert order(some).tolist() == order(places)[some].tolist()


def test_a_block_permutation_reads_64_blocks_at_a_time() -> None:
    n, block_rows = 100_000, 10
    rows = BlockPermutation(n, block_rows, 3, 0)(np.arange(n))
    for group in np.split(rows[: n - n % 640], n // 640):
        assert len(set(group // block_rows)) == 64
        assert abs(np.corrcoef(np.arange(640), group)[0, 1]) < 0.25
    assert len(set(rows[:640] // 1000)) > 30  # from everywhere
    assert (BlockPermutation(n, block_rows, 3, 1)(np.arange(n)) != rows).mean() > 0.99


@given(
    n=st.integers(1, 200), batch_size=st.integers(1, 9), world_size=st.integers(1, 5),
    seed=st.integers(0, 2**64 - 1), epochs=st.integers(1, 3), drop_last=st.booleans(),
    block_rows=st.none() | st.integers(1, 20),
)  # fmt: skip
def test_each_epoch_has_each_row_once_over_all_ranks(
    n: int, batch_size: int, world_size: int, seed: int, epochs: int, drop_last: bool, block_rows: int | None
) -> None:
    def of(rank: int, size: int = batch_size, world: int = world_size) -> Batches:
        return TokenBatches(
            Numbers(n), size, seed=seed, epochs=epochs, rank=rank, world_size=world,
            drop_last=drop_last, block_rows=block_rows,
        )  # fmt: skip

    together = batch_size * world_size
    if n < (together if drop_last else world_size):
        with pytest.raises(ValueError, match="fewer than"):
            of(0)
        return
    ranks = [of(rank) for rank in range(world_size)]
    n_steps = ranks[0].steps_per_epoch
    assert {len(one) for one in ranks} == {n_steps * epochs}
    for epoch in range(epochs):
        steps = range(epoch * n_steps, (epoch + 1) * n_steps)
        rows = [row for step in steps for one in ranks for row in one[step]]
        assert len(set(rows)) == len(rows) == n - ranks[0].left_out
        assert set(rows) <= set(range(n))
        sizes = [[len(one[step]) for one in ranks] for step in steps]
        assert all(max(of_step) - min(of_step) <= 1 and min(of_step) for of_step in sizes)
        assert all(of_step == [batch_size] * world_size for of_step in sizes[: None if drop_last else -1])
    assert ranks[0].left_out < (together if drop_last else world_size)
    # One process with a batch as large as all of theirs reads the same rows, step by step.
    alone = of(0, together, 1)
    assert alone.steps_per_epoch == n_steps + (ranks[0].left_out > 0 and not drop_last)
    for epoch in range(epochs):
        for place in range(n_steps):
            rows = [row for one in ranks for row in one[epoch * n_steps + place]]
            assert rows == alone[epoch * alone.steps_per_epoch + place]


def test_any_step_resumes(dataset: TokenDataset) -> None:
    batches = dataset.windows(64, targets=True).shuffled(8, seed=3, epochs=2)
    whole = [(rows.tolist(), targets.tolist()) for rows, targets in batches]
    assert len(whole) == len(batches) == 2 * batches.steps_per_epoch
    assert whole[0] != whole[batches.steps_per_epoch]
    for step in range(len(batches) + 1):
        again = dataset.windows(64, targets=True).shuffled(8, seed=3, epochs=2)[step:]
        assert len(again) == len(batches) - step
        assert [(rows.tolist(), targets.tolist()) for rows, targets in again] == whole[step:]
    assert batches[-1][0].tolist() == whole[-1][0]
    assert [rows.tolist() for rows, _ in batches[2:9:3]] == [rows for rows, _ in whole[2:9:3]]
    with pytest.raises(IndexError, match=rf"step {len(batches)} of {len(batches)}"):
        batches[len(batches)]


def test_rows_are_those_of_the_windows(dataset: TokenDataset) -> None:
    stream = dataset.stream(0, dataset.tokens).tolist()
    windows = dataset.windows(16, stride=5, targets=True)
    batches = windows.shuffled(8, seed=1)
    seen = []
    for step, (rows, targets) in enumerate(batches):
        assert rows.dtype == targets.dtype == np.int64
        assert rows.flags.owndata and targets.flags.owndata  # noqa: PT018  # 2026-11-30: both or none
        for number, row, target in zip(batches.numbers(step).tolist(), rows, targets, strict=True):
            assert row.tolist() == stream[number * 5 : number * 5 + 16]
            assert target.tolist() == stream[number * 5 + 1 : number * 5 + 17]
            seen.append(number)
    assert sorted(seen) == list(range(len(windows)))
    assert windows.take([3])[0].tolist() == [stream[15:31]]
    assert dataset.windows(7).take([]).shape == (0, 7)


def test_documents_are_shuffled_too(dataset: TokenDataset) -> None:
    batches = dataset.shuffled(7, seed=2)
    found = [document.tolist() for batch in batches for document in batch]
    assert found != [document.tolist() for document in dataset]
    assert sorted(found) == sorted(document.tolist() for document in dataset)
    assert batches[0][0].dtype == np.int64


@pytest.mark.parametrize(
    ("given_", "words"),
    [
        ({"batch_size": 0}, "batch_size=0"),
        ({"seed": -1}, "seed=-1"),
        ({"epochs": 0}, "epochs=0"),
        ({"epochs": 2**63}, "epochs=9223372036854775808"),
        ({"rank": 2, "world_size": 2}, "rank=2: .*world_size, 2"),
        ({"world_size": 0}, "world_size=0"),
        ({"block_rows": 0}, "block_rows=0"),
        ({"world_size": 100_000}, "fewer than 100000 rows"),
        ({"batch_size": 100_000, "drop_last": True}, "fewer than 100000 rows.*drop_last=True"),
    ],
)
def test_what_gives_no_batches_is_refused(dataset: TokenDataset, given_: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        dataset.windows(16).shuffled(**{"batch_size": 4, **given_})


@pytest.mark.parametrize("numbers", [[True], ["1"], [1.5], 3, [[1]]])
def test_rows_are_taken_by_whole_numbers(dataset: TokenDataset, numbers: Any) -> None:
    with pytest.raises(TypeError, match="rows are"):
        dataset.windows(4).take(numbers)
    with pytest.raises(TypeError, match="documents are"):
        dataset.take(numbers)


@pytest.mark.parametrize("number", [-1, 10**6, 2**70])
def test_rows_that_are_not_there_are_refused(dataset: TokenDataset, number: int) -> None:
    with pytest.raises((IndexError, TypeError), match=str(number)):
        dataset.windows(4).take([number])


def test_batches_are_pickled_by_path(dataset: TokenDataset) -> None:
    batches = dataset.windows(16, stride=3).shuffled(4, seed=5, epochs=3)[7:]
    data = pickle.dumps(batches)
    assert len(data) < 2000
    again = pickle.loads(data)
    assert repr(again) == repr(batches)
    assert again[5].tolist() == batches[5].tolist()


def sparse(folder: Path, tokens: int) -> TokenDataset:
    """A data set of one document of zeros that takes no room on the disk."""
    folder.mkdir()
    with open(folder / "shard-00000.bin", "wb") as file:
        file.truncate(2 * tokens)
    np.save(folder / "shard-00000.idx.npy", np.array([tokens]))
    shard = {
        "file": "shard-00000.bin", "index": "shard-00000.idx.npy", "first_document": 0, "documents": 1,
        "tokens": tokens, "bytes": 2 * tokens, "sha256": "",
    }  # fmt: skip
    manifest = {
        "schema": "sentitok.dataset", "version": 1, "layout": "sentitok", "dtype": "uint16",
        "vocab_size": 3000, "tokenizer_sha256": "", "separator": None, "complete": True, "documents": 1,
        "tokens": tokens, "shards": [shard],
    }  # fmt: skip
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return TokenDataset(folder)


@pytest.mark.parametrize("block_rows", [None, 512])
def test_a_thousand_million_rows_take_no_memory(block_rows: int | None, tmp_path: Path) -> None:
    windows = sparse(tmp_path / "sparse", 4 * 10**9 + 3).windows(8, stride=4)
    assert len(windows) == 10**9 - 1
    tracemalloc.start()
    batches = windows.shuffled(32, epochs=1000, rank=1, world_size=4, block_rows=block_rows)
    assert batches.steps_per_epoch == -(-len(windows) // 128)
    numbers = set()
    for step in range(0, len(batches), len(batches) // 30):
        numbers |= set(batches.numbers(step).tolist())
    for step in (
        0,
        len(batches) // 2,
        len(batches) - 1,
    ):
        assert batches[step].shape == (32, 8)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(numbers) > 900
    assert peak < 1e6


_LOADING = """
import sys
import warnings
import torch
from torch.utils.data import DataLoader
from sentitok.datasets import TokenDataset

warnings.filterwarnings("ignore", "This DataLoader will create 5 worker processes")

if __name__ == "__main__":
    windows = TokenDataset(sys.argv[1:]).windows(32, stride=16, targets=True)
    rows = [(row.tolist(), targets.tolist()) for row, targets in windows]
    for workers, context in ((0, None), (2, "fork")):
        loader = DataLoader(windows, batch_size=4, num_workers=workers, multiprocessing_context=context)
        found = []
        for inputs, targets in loader:
            assert inputs.dtype == targets.dtype == torch.int64
            found += list(zip(inputs.tolist(), targets.tolist()))
        assert found == rows, workers
    batches = windows.shuffled(4, seed=1, epochs=2)
    expected = [(rows.tolist(), targets.tolist()) for rows, targets in batches]
    for workers, context, step in ((0, None, 3), (1, sys.argv.pop(), 7), (5, "fork", 12)):
        loader = DataLoader(
            batches[step:], batch_size=None, num_workers=workers, multiprocessing_context=context
        )
        found = []
        for inputs, targets in loader:
            assert inputs.dtype == targets.dtype == torch.int64 and inputs.is_contiguous()
            found.append((inputs.tolist(), targets.tolist()))
        assert found == expected[step:], (workers, context, step)
    documents = TokenDataset(sys.argv[1:]).shuffled(3, seed=1)
    loaded = [[one.tolist() for one in batch] for batch in DataLoader(documents, batch_size=None)]
    assert loaded == [[one.tolist() for one in batch] for batch in documents]
    print(len(rows), len(expected))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="fork")
def test_loaders_of_any_number_of_workers_give_what_is_there(dataset: TokenDataset, tmp_path: Path) -> None:
    """In a separate process, where any warning is an error."""
    pytest.importorskip("torch")
    script = tmp_path / "loading.py"
    # A spawned process imports PyTorch again, so only thorough tests do it; batches are pickled above.
    script.write_text(_LOADING.replace("sys.argv.pop()", repr("spawn" if THOROUGH else "fork")))
    done = subprocess.run(
        [sys.executable, "-W", "error", script, *dataset.directories],
        capture_output=True,
        env=environment(PYTHONWARNINGS="error"),
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    windows = dataset.windows(32, stride=16, targets=True)
    assert done.stdout.split() == [str(len(windows)), str(len(windows.shuffled(4, epochs=2)))]


_WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None
from sentitok.datasets import TokenDataset
windows = TokenDataset(sys.argv[1:]).windows(8)
assert windows.shuffled(4)[0].shape == (4, 8)
try:
    windows[0]
except ImportError as error:
    assert "TokenWindows.shuffled" in str(error)
else:
    raise AssertionError
"""


def test_batches_need_no_torch(dataset: TokenDataset) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT_TORCH, *dataset.directories],
        capture_output=True, env=environment(), text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
