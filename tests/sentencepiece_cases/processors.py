"""Cases about pickles, settings of the whole library, and threads that run at the same time."""

import threading
import time
from collections.abc import Callable
from typing import Any

from . import Library, case, pickled
from .models import english
from .vocabularies import FILE


@case(FILE + "pickle")
def _(lib: Library) -> None:
    sp = english(lib)
    assert pickled(sp).encode("hello world.", return_type=int) == sp.encode("hello world.", return_type=int)


@case(FILE + "global_params")
def _(lib: Library) -> None:
    lib.SetRandomGeneratorSeed(0)
    lib.SetMinLogLevel(2)
    lib.set_random_generator_seed(1)
    lib.set_min_log_level(3)


def others_run(call: Callable[[], Any]) -> Any:
    """The result of a call; another thread continues while it runs.

    One beat may fall before the work begins. A fast machine, or a busy one, gives few.
    """
    for _ in range(50):
        found, n_beats = _beats_of(call)
        if n_beats > 1:
            return found
    raise AssertionError("the other thread waited")


def _beats_of(call: Callable[[], Any]) -> tuple[Any, int]:
    stop, beats = threading.Event(), []

    def beat() -> None:
        while not stop.wait(0.001):
            beats.append(time.perf_counter())

    thread = threading.Thread(target=beat)
    thread.start()
    while not beats:
        time.sleep(0.001)
    start = time.perf_counter()
    found = call()
    end = time.perf_counter()
    stop.set()
    thread.join()
    return found, sum(start < at < end for at in beats)


@case("gil_release_test.py::test_gil_release")
def _(lib: Library) -> None:
    sp = english(lib)
    text = "Hello, world! Testing SentencePiece GIL release behavior. " * 20_000
    ids = others_run(lambda: sp.encode(text))
    assert ids
    assert others_run(lambda: sp.decode(ids))
    assert len(others_run(lambda: sp.parallel_encode([text] * 4, num_threads=4, chunk_len=1000))) == 4
