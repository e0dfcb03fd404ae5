"""What stays of a long text: nothing of its size, in no thread."""

import json
import subprocess
import sys
import textwrap

import pytest

#: A text of so many bytes; before, up to 70 bytes for each of them stayed.
SIZE = 2 << 20
#: What may stay, in MiB: a cache and buffers for each processor, and what the allocator holds back.
KEPT = 24

RUN = """
    import gc, json, sys
    import sentitok

    def resident():
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) / 1024

    kind, size = json.loads(sys.argv[1])
    texts = ["the cat sat on the mat %d" % (n * 7919 % 1000) for n in range(2000)]
    tokenizer = {
        "bytes": lambda: sentitok.train_bpe(texts=texts, vocab_size=500, pre_tokenizer="bytes"),
        "gpt2": lambda: sentitok.train_bpe(texts=texts, vocab_size=500),
        "unigram": lambda: sentitok.train_unigram(texts=texts, vocab_size=200),
        "wordpiece": lambda: sentitok.train_wordpiece(texts=texts, vocab_size=300),
    }[kind]()
    tokenizer.encode_batch(texts * 20, threads=2)
    gc.collect()
    before = resident()
    for text in ("thecatsatonthemat" * (size // 17), "a" * size):
        tokenizer.count(text)
        tokenizer.encode(text)
    del text
    gc.collect()
    print(json.dumps(resident() - before))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("kind", ["bytes", "gpt2", "unigram", "wordpiece"])
def test_a_long_text_leaves_little_behind(kind: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(RUN), json.dumps([kind, SIZE])],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout) < KEPT


#: Threads that stay after their texts, and bytes of each text.
N_THREADS, THREAD_SIZE = 6, 1 << 20
#: What may stay of all of them, in MiB; the largest of glibc's arenas would.
KEPT_BY_THREADS = 32

RUN_THREADS = """
    import gc, json, sys, threading
    import sentitok

    def resident():
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) / 1024

    n_threads, size = json.loads(sys.argv[1])
    texts = ["the cat sat on the mat %d" % (n * 7919 % 1000) for n in range(2000)]
    tokenizer = sentitok.train_bpe(texts=texts, vocab_size=300)
    text = "kiwi jumps over 77 lazy dogs; " * (size // 30)
    tokenizer.encode(text)
    gc.collect()
    before = resident()
    all_at_once = threading.Barrier(n_threads)
    measured = threading.Event()
    done = threading.Barrier(n_threads + 1)

    def work():
        all_at_once.wait()
        for part in range(2):
            tokenizer.encode(text[part * 1000:])
        done.wait()
        measured.wait()

    threads = [threading.Thread(target=work) for _ in range(n_threads)]
    for thread in threads:
        thread.start()
    done.wait()
    gc.collect()
    print(json.dumps(resident() - before))
    measured.set()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_threads_that_encoded_long_texts_hold_nothing_back() -> None:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(RUN_THREADS), json.dumps([N_THREADS, THREAD_SIZE])],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout) < KEPT_BY_THREADS
