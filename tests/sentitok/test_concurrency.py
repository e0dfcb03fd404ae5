"""One tokenizer, many threads; forked, spawned and served children."""

import asyncio
import multiprocessing
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pytest

import fuzz_threads
from commands import environment
from sentitok import PreTokenizer, Tokenizer, WordCounts, train_bpe

N_THREADS = 16


def test_hammer(tokenizer: Tokenizer, lines: list[str]) -> None:
    texts = [line + "<pad> 😀" for line in lines[:400]]
    expected = [tokenizer.encode(text, specials="all").ids.tolist() for text in texts]
    start = threading.Barrier(N_THREADS)

    def work(number: int) -> int:
        start.wait()
        wrong = 0
        for at in range(number, len(texts), 3):
            text = texts[at]
            wrong += tokenizer.encode(text, specials="all").ids.tolist() != expected[at]
            wrong += tokenizer.decode(expected[at]) != text
            wrong += tokenizer.count(text, specials="all") != len(expected[at])
            wrong += tokenizer.encode(text, specials={"<pad>"}).ids.tolist() != expected[at]
        batch = tokenizer.encode_batch(texts, threads=2, specials="all", offsets=True)
        wrong += batch.to_list() != expected
        wrong += tokenizer.with_specials([f"<{number}>"]).vocab_size != tokenizer.vocab_size + 1
        wrong += len(tokenizer.fingerprint) != 64
        return wrong

    with ThreadPoolExecutor(N_THREADS) as pool:
        assert sum(pool.map(work, range(N_THREADS))) == 0


def test_one_encoding_in_many_threads(tokenizer: Tokenizer) -> None:
    encoding = tokenizer.encode("naïve 😀 film" * 200)
    expected = encoding.offsets().tolist()
    start = threading.Barrier(N_THREADS)

    def work(_: int) -> bool:
        start.wait()
        return (
            encoding.type_ids is encoding.type_ids
            and encoding.offsets().tolist() == expected
            and len(encoding.tokens) == len(expected)
        )

    with ThreadPoolExecutor(N_THREADS) as pool:
        assert all(pool.map(work, range(N_THREADS)))


def test_a_stream_decoder_holds_under_threads(tokenizer: Tokenizer) -> None:
    decoder = tokenizer.stream_decoder()
    a = tokenizer.token_to_id("a")
    with ThreadPoolExecutor(N_THREADS) as pool:
        parts = list(pool.map(lambda _: decoder.push(a or 0), range(2000)))
    assert "".join(parts) + decoder.finish() == "a" * 2000


def test_training_in_threads(lines: list[str]) -> None:
    expected = train_bpe(texts=lines[:3000], vocab_size=600).to_bytes()
    with ThreadPoolExecutor(4) as pool:
        trained = pool.map(lambda _: train_bpe(iter(lines[:3000]), vocab_size=600).to_bytes(), range(4))
        assert set(trained) == {expected}


@pytest.mark.skipif(not getattr(sys, "_is_gil_enabled", lambda: True)(), reason="there is no lock to release")
def test_other_threads_run_while_encoding(tokenizer: Tokenizer, lines: list[str]) -> None:
    text = "".join(lines) * 4
    # In one go it would be none, or one before the work begins; a busy machine gives few.
    assert any(turns(lambda: tokenizer.encode(text)) >= 2 for _ in range(50))


def test_asyncio(tokenizer: Tokenizer) -> None:
    async def main() -> list[int]:
        calls = (asyncio.to_thread(tokenizer.count, "film " * n) for n in range(50))
        return list(await asyncio.gather(*calls))

    assert asyncio.run(main()) == [tokenizer.count("film " * n) for n in range(50)]


def test_every_kind_of_call_from_many_threads() -> None:
    """`python tests/fuzz_threads.py` makes more of them."""
    assert fuzz_threads.threads(seed=7, calls=500) == {}


def test_tasks_that_are_given_up() -> None:
    assert fuzz_threads.tasks(7, 0) == {}


METHODS = [
    method for method in ("fork", "spawn", "forkserver") if method in multiprocessing.get_all_start_methods()
]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.filterwarnings("ignore:.*use of fork.*:DeprecationWarning")
def test_children(method: str, tokenizer: Tokenizer, lines: list[str]) -> None:
    texts = lines[:3000]
    # The parent has used threads before: a pool that fork left half would hang here.
    expected = tokenizer.encode_batch(texts, threads=4)
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        results = [pool.submit(tokenizer.encode_batch, texts, threads=3) for _ in range(4)]
        for result in results:
            assert result.result(timeout=180) == expected


@pytest.mark.skipif("fork" not in METHODS, reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*use of fork.*:DeprecationWarning")
def test_fork_while_others_encode(tokenizer: Tokenizer, lines: list[str]) -> None:
    """A fork at a bad moment: other threads of the parent hold whatever can be held."""
    done = threading.Event()
    texts = lines[:2000]

    def busy() -> None:
        while not done.is_set():
            tokenizer.encode_batch(texts, threads=2, specials={"<pad>"})
            Tokenizer.from_bytes(tokenizer.to_bytes())

    threads = [threading.Thread(target=busy) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        context = multiprocessing.get_context("fork")
        for _ in range(5):
            child = context.Process(target=forked, args=(tokenizer, texts))
            child.start()
            child.join(180)
            assert child.exitcode == 0
    finally:
        done.set()
        for thread in threads:
            thread.join()


def forked(tokenizer: Tokenizer, texts: list[str]) -> None:
    batch = tokenizer.encode_batch(texts, threads=2)
    assert tokenizer.encode_batch(texts, specials={"<pad>"}) == batch
    assert Tokenizer.from_bytes(tokenizer.to_bytes()).encode_batch(texts) == batch
    assert train_bpe(iter(texts), vocab_size=300).vocab_size == 300


def test_import_starts_no_thread() -> None:
    code = "import threading, os, sentitok; print(len(os.listdir('/proc/self/task')))"
    if not Path("/proc/self/task").exists():
        pytest.skip("no /proc to count threads in")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"


def turns(work: Callable[[], object]) -> int:
    """How often another thread, which sleeps all the time, woke up while `work` ran."""
    woken: list[float] = []
    stop = threading.Event()

    def watch() -> None:
        while not stop.is_set():
            woken.append(time.perf_counter())
            time.sleep(0.0005)

    watcher = threading.Thread(target=watch)
    watcher.start()
    began = time.perf_counter()
    try:
        work()
    finally:
        ended = time.perf_counter()
        stop.set()
        watcher.join()
    return sum(began < at < ended for at in woken)


@pytest.mark.skipif(not getattr(sys, "_is_gil_enabled", lambda: True)(), reason="there is no lock to release")
def test_other_threads_run_while_python_objects_are_made(tokenizer: Tokenizer, lines: list[str]) -> None:
    text = "".join(lines) * (4_000_000 // sum(map(len, lines)))
    encoding = tokenizer.encode(text)
    batch = tokenizer.encode_batch([text, ""], offsets=True)
    ids = encoding.ids.tolist()
    splitter, counts = PreTokenizer("gpt2"), {f"w{n}": n for n in range(300_000)}
    for name, work in {
        "tokens": lambda: encoding.tokens,
        "surfaces": lambda: encoding.surfaces,
        "to_list": batch.to_list,
        "decode": lambda: tokenizer.decode(ids),
        "split": lambda: splitter.split(text),
        "pieces": lambda: splitter.pieces(text),
        "WordCounts": lambda: WordCounts(counts),
    }.items():
        # In one go it would be none, or one before the work begins; a busy machine gives few.
        assert any(turns(work) >= 2 for _ in range(50)), name
    assert encoding.tokens[:50] == [tokenizer.id_to_token(id) for id in ids[:50]]
    assert batch.to_list() == [ids, []]


# Loads the package in this interpreter or not, then in two others of the process, and uses it here.
INTERPRETERS = """
import sys, warnings
warnings.simplefilter("ignore")
use = "import sentitok; print(sentitok.train_bpe(texts=['ab ab'], vocab_size=258).encode('ab').ids)"
if sys.argv[1] == "first":
    exec(use)
try:
    import _interpreters
    new = lambda: _interpreters.create("legacy")
except ImportError:
    import _xxsubinterpreters as _interpreters
    new = lambda: _interpreters.create(isolated=False)
for _ in range(2):
    try:
        failed = _interpreters.run_string(new(), f"import sys; sys.path[:] = {sys.path!r}; {use}")
        print(failed and failed.formatted)
    except _interpreters.RunFailedError as error:
        print(error)
if sys.argv[1] == "first":
    exec(use)
"""


@pytest.mark.parametrize("here", ["first", "not"])
def test_a_second_interpreter_of_a_process_is_refused(here: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERPRETERS, here], capture_output=True, text=True, env=environment()
    )
    assert done.returncode == 0, done.stderr
    refused = "another interpreter of this process"
    expected = ["[256]", refused, refused, "[256]"] if here == "first" else ["[256]", "None", refused]
    found = done.stdout.splitlines()
    assert len(found) == len(expected)
    assert all(word in line for word, line in zip(expected, found, strict=True)), found
