"""Cases of `test_tokenizer.py` about processes, threads and references."""

import gc
import multiprocessing
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from . import Library, case
from .tokenizer import FILE


def encodes_after_a_fork(tokenizer: Any) -> None:
    """The half of the case that asks that nothing hangs."""
    tokenizer.encode("Hi")
    tokenizer.encode_batch(["hi", "there"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TOKENIZERS_PARALLELISM", "false")
        process = multiprocessing.get_context("fork").Process(
            target=lambda: (tokenizer.encode("Hi"), tokenizer.encode_batch(["hi", "there"]))
        )
        process.start()
        process.join(timeout=180)
        ended = not process.is_alive()
        process.kill()
        process.join()
    assert ended


@case(FILE + "test_multiprocessing_with_parallelism")
def _(lib: Library) -> None:
    encodes_after_a_fork(lib.Tokenizer(lib.models.BPE()))


@case(FILE + "test_multithreaded_concurrency")
def _(lib: Library) -> None:
    tokenizer = lib.Tokenizer(lib.models.BPE())
    batches = [[f"my name is {name} " * 50] * 20 for name in ("john", "paul", "ringo")]
    calls = (tokenizer.encode_batch, tokenizer.encode_batch_fast, tokenizer.encode_batch)
    with ThreadPoolExecutor(max_workers=4) as pool:
        futures = [pool.submit(call, batch) for call, batch in zip(calls, batches, strict=True)] * 10
        found = [future.result() for future in futures]
    assert [len(one) for one in found] == [20] * 30


@case(FILE + "test_weakref_support", FILE + "test_weakref_with_multiple_references")
def _(lib: Library) -> None:
    tokenizer = lib.Tokenizer(lib.models.BPE())
    weak, other = weakref.ref(tokenizer), tokenizer
    assert weak() is tokenizer
    del tokenizer
    assert weak() is not None
    del other
    gc.collect()
    assert weak() is None
