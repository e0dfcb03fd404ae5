"""Memory over time under random texts: `python benches/soak.py --minutes 60`.

Encodes, decodes, splits, counts and loads without pause, from several threads,
texts that differ each time: words never seen, long runs, all scripts. After every few
calls each thread has a text of many megabytes, for each tokenizer and call in turn, and
then all wait for each other. Prints the resident memory every while. Ends with status 1
when more stays at the end than `docs/lab/performance.md` says: memory at the start, memory
of tokenizers and patterns, freed blocks that are kept for the next, and fragments; or when
the median of memory between calls grows by over 5 % from the second five minutes to any
later ones. Nothing in the environment is set for it.
"""

import argparse
import contextlib
import ctypes
import gc
import itertools
import json
import multiprocessing
import os
import random
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor

from sentitok import PreTokenizer, Tokenizer, train_bpe, train_unigram, train_wordpiece

#: What stays for each processor, in MiB: the workers of a tokenizer and those of a Unigram tokenizer, whose
#: tables stay 36 MiB larger after a long call until the next short one, and the states of a pattern without
#: look-around.
WORKER_MIB, UNIGRAM_WORKER_MIB, PATTERN_MIB = 18 + 36, 13 + 36, 3
#: Freed blocks of a megabyte and more, in the whole process.
KEPT_MIB = 64
#: Free memory between blocks that are in use.
FRAGMENTS_MIB = 32
#: The characters of the longest texts.
LONGEST = 3_000_000
#: Calls of a thread from one of these texts to the next.
CALLS = 20
#: The seconds whose memory is compared, and how much more the later ones may have.
WINDOW_S, GROWTH = 300, 1.05

SCRIPTS = [
    (0x20, 0x7F),
    (0xC0, 0x24F),
    (0x400, 0x4FF),
    (0x590, 0x6FF),
    (0x900, 0x97F),
    (0x4E00, 0x9FFF),
    (0x1F300, 0x1F6FF),
]


def resident_mib() -> float:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def most_mib() -> float:
    """The most resident memory since the call before; the kernel counts it."""
    with open("/proc/self/status") as file:
        most = next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    return most / 2**10


def trim() -> None:
    """Asks the C library to give back what it holds of freed memory."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)


def bound_mib() -> float:
    """How much memory may remain above that of the start: see :func:`tokenizers`."""
    processors = len(os.sched_getaffinity(0))
    workers = processors * (5 * WORKER_MIB + UNIGRAM_WORKER_MIB + PATTERN_MIB)
    return workers + KEPT_MIB + FRAGMENTS_MIB


def random_text(source: random.Random, size: int) -> str:
    """Words of one script or of several, runs of one character, and blanks."""
    parts: list[str] = []
    length = 0
    while length < size:
        first, last = source.choice(SCRIPTS)
        n = source.choice((1, 2, 4, 7, 12, 30, 300))
        match source.randrange(6):
            case 0:
                part = chr(source.randint(first, last)) * n
            case 1:
                part = str(source.getrandbits(40))
            case _:
                part = "".join(chr(source.randint(first, last)) for _ in range(n))
        parts.append(part)
        length += len(part) + 1
    return " ".join(parts)


def trained() -> list[bytes]:
    """Own files of BPE, Unigram and WordPiece tokenizers, some with patterns."""
    source = random.Random(1)
    texts = [random_text(source, 3000) for _ in range(200)]
    simple = [f"{n * 7919 % 1000} the cat sat on mats {n % 97}" for n in range(3000)]
    bpe = train_bpe(texts=texts, vocab_size=3000)
    pattern = PreTokenizer(pattern=r"\w+|[^\w\s]+|\s+")
    look_around = PreTokenizer(pattern=r"\b\w+\b|\s+(?!\S)|.", look_around=True)
    tokenizers = [
        bpe,
        train_bpe(texts=texts, vocab_size=3000, pre_tokenizer="bytes", normalizer="nfkc"),
        train_bpe(texts=texts, vocab_size=3000, pre_tokenizer=pattern),
        train_bpe(texts=texts, vocab_size=3000, pre_tokenizer=look_around),
        train_unigram(texts=simple, vocab_size=2000),
        train_wordpiece(texts=simple, vocab_size=2000),
    ]
    return [tokenizer.to_bytes() for tokenizer in tokenizers]


def tokenizers() -> list[Tokenizer]:
    """The tokenizers of :func:`trained`, which leaves its memory in a separate process."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return [Tokenizer.from_bytes(data) for data in pool.submit(trained).result()]


def call(tokenizer: Tokenizer, kind: int, text: str, threads: int) -> None:
    match kind:
        case 0:
            ids = tokenizer.encode(text).ids
            tokenizer.decode(ids)
        case 1:
            tokenizer.encode_batch([text[k::4] for k in range(4)], threads=threads)
        case 2:
            tokenizer.count(text)
        case 3:
            tokenizer.encode_batch([text], specials="all", offsets=True)
        case _:
            Tokenizer.from_bytes(tokenizer.to_bytes()).encode(text[:1000])


def churn(kept: list[Tokenizer], seed: int, ends: float, pause: float, together: threading.Barrier) -> None:
    """Calls until the time has passed; all threads wait for each other after their long texts."""
    source = random.Random(seed)
    for turn in itertools.count(seed):
        for _ in range(CALLS):
            time.sleep(pause)
            text = random_text(source, source.choice((20, 200, 2000, 20_000, 200_000)))
            call(source.choice(kept), source.randrange(5), text, source.choice((1, 2, 5)))
        text = random_text(source, 20_000) * (LONGEST // 20_000)
        call(kept[turn % len(kept)], turn // len(kept) % 5, text, 2)
        del text
        if together.wait() == 0 and time.monotonic() >= ends:
            together.abort()
            return


def run(
    kept: list[Tokenizer],
    seed: int,
    ends: float,
    pause: float,
    together: threading.Barrier,
    failed: list[Exception],
) -> None:
    try:
        churn(kept, seed, ends, pause, together)
    except threading.BrokenBarrierError:
        return
    except Exception as error:
        failed.append(error)
        together.abort()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--threads", type=int, default=3)
    parser.add_argument("--every", type=float, default=15, help="seconds between two lines")
    parser.add_argument("--pause", type=float, default=0, help="seconds before each call of a thread")
    options = parser.parse_args()
    kept = tokenizers()
    # Memory of the imports of the first call is there from the start.
    kept[0].encode("once")
    trim()
    settled = resident_mib()
    bound = settled + bound_mib()
    started = time.monotonic()
    ends = started + options.minutes * 60
    failed: list[Exception] = []
    between: list[float] = []
    # It is called as all threads wait for each other: no call needs memory then.
    together = threading.Barrier(options.threads, action=lambda: between.append(resident_mib()))
    workers = [
        threading.Thread(target=run, args=(kept, seed, ends, options.pause, together, failed))
        for seed in range(options.threads)
    ]
    most_mib()
    for worker in workers:
        worker.start()
    windows: list[dict[str, float]] = []
    while any(worker.is_alive() for worker in workers):
        time.sleep(options.every)
        seconds = time.monotonic() - started
        if seconds >= WINDOW_S * (len(windows) + 1):
            rest = sorted(between)
            between.clear()
            windows.append({"median": rest[len(rest) // 2], "most": rest[-1], "in_calls": most_mib()})
            told = ", ".join(f"{name} {mib:.1f}" for name, mib in windows[-1].items())
            print(f"to {len(windows) * WINDOW_S} s, MiB between calls: {told}", flush=True)
        print(f"{seconds:8.1f} s {resident_mib():8.1f} MiB", flush=True)
    if failed:
        raise failed[0]
    held = resident_mib()
    trim()
    at_rest = resident_mib()
    medians = [window["median"] for window in windows]
    growth = max(medians[2:], default=0) / medians[1] if medians[1:] else 0
    result = {
        "windows_mib": [{name: round(mib, 1) for name, mib in window.items()} for window in windows],
        "growth_after_ten_minutes": round(growth, 3),
        "minutes": options.minutes,
        "start_mib": round(settled, 1),
        "untrimmed_mib": round(held, 1),
        "at_rest_mib": round(at_rest, 1),
        "bound_mib": round(bound, 1),
    }
    print(json.dumps(result))
    return int(at_rest > bound or growth > GROWTH)


if __name__ == "__main__":
    sys.exit(main())
