"""Memory over time under random texts: `python benches/soak.py --minutes 60`.

Encodes, decodes, splits, counts and loads without pause, from several threads,
texts that differ each time: words never seen, long runs, all scripts, now and
then a text of many megabytes. Prints the resident memory every while, and ends
with status 1 when more stays at the end than `docs/lab/performance.md` says: what
memory at the start, memory of tokenizers and patterns, freed blocks that are kept
for the next, and fragments. Also compares the most memory of the five minutes after
the first five, while every worker gets its tables, with the most after them.
Nothing in the environment is set for it.
"""

import argparse
import contextlib
import ctypes
import gc
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


def churn(kept: list[Tokenizer], seed: int, ends: float, pause: float, failed: list[Exception]) -> None:
    source = random.Random(seed)
    try:
        while time.monotonic() < ends and not failed:
            time.sleep(pause)
            tokenizer = source.choice(kept)
            size = source.choice((20, 200, 2000, 20_000, 200_000)) if source.random() > 0.01 else LONGEST
            text = (
                random_text(source, size)
                if size < 1_000_000
                else random_text(source, 20_000) * (size // 20_000)
            )
            match source.randrange(5):
                case 0:
                    ids = tokenizer.encode(text).ids
                    tokenizer.decode(ids)
                case 1:
                    tokenizer.encode_batch([text[k::4] for k in range(4)], threads=source.choice((1, 2, 5)))
                case 2:
                    tokenizer.count(text)
                case 3:
                    tokenizer.encode_batch([text], specials="all", offsets=True)
                case _:
                    Tokenizer.from_bytes(tokenizer.to_bytes()).encode(text[:1000])
    except Exception as error:
        failed.append(error)


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
    workers = [
        threading.Thread(target=churn, args=(kept, seed, ends, options.pause, failed))
        for seed in range(options.threads)
    ]
    for worker in workers:
        worker.start()
    rows = []
    while any(worker.is_alive() for worker in workers):
        time.sleep(min(options.every, max(1, ends - time.monotonic())))
        rows.append((round(time.monotonic() - started, 1), round(resident_mib(), 1)))
        print(f"{rows[-1][0]:8.1f} s {rows[-1][1]:8.1f} MiB", flush=True)
    for worker in workers:
        worker.join()
    if failed:
        raise failed[0]
    held = resident_mib()
    trim()
    at_rest = resident_mib()
    early = [mib for seconds, mib in rows if 300 <= seconds < 600]
    late = [mib for seconds, mib in rows if seconds >= 600]
    result = {
        "most_from_5_to_10_minutes_mib": max(early, default=None),
        "most_later_mib": max(late, default=None),
        "minutes": options.minutes,
        "start_mib": round(settled, 1),
        "peak_mib": max(row[1] for row in rows),
        "untrimmed_mib": round(held, 1),
        "at_rest_mib": round(at_rest, 1),
        "bound_mib": round(bound, 1),
    }
    print(json.dumps(result))
    return int(at_rest > bound)


if __name__ == "__main__":
    sys.exit(main())
