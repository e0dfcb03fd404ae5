"""One measurement in a separate process: `python benches/worker.py < job.json`.

A separate process has cold caches and its own peak memory. The job
is a JSON object with a `task`; the result is one JSON object on stdout.
How each library trains: `trainers.py`.
"""

import json
import os
import random
import string
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import hostile_files
from sentitok.cli import rivals
from sentitok.cli.output import peak_memory
from trainers import TRAINERS


def train(job: dict[str, Any]) -> dict[str, Any]:
    """Trains one library; the tokens go to a file for comparison."""
    started, cpu_started = time.perf_counter(), time.process_time()
    tokens = TRAINERS[job["model"]][job["rival"]](job["path"], job["vocab_size"])
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu_started
    peak = peak_memory()
    with open(job["tokens"], "w", encoding="utf-8") as file:
        json.dump(sorted(token.hex() for token in tokens()), file)
    return {
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "peak_memory_bytes": peak,
        "version": rivals.release(job["rival"].split(",")[0]),
    }


def growth(job: dict[str, Any]) -> dict[str, Any]:
    """Trains ours and says how many distinct pieces there were."""
    import sentitok

    started = time.perf_counter()
    tokenizer = sentitok.train_bpe(job["path"], vocab_size=job["vocab_size"])
    seconds = time.perf_counter() - started
    report = tokenizer.report
    assert report is not None  # it was trained here
    return {
        "seconds": seconds,
        "stages": report.seconds,
        "distinct_pieces": report.distinct_pieces,
        "peak_memory_bytes": peak_memory(),
    }


def batched(items: Iterable[Any], n: int) -> Iterator[tuple[Any, ...]]:
    """Whole groups of `n`; from Python 3.12 on it is in `itertools`."""
    return zip(*[iter(items)] * n, strict=False)


def hostile_texts(n: int) -> dict[str, str | bytes]:
    """Texts that break quadratic algorithms, about `n` bytes each."""
    state = 0x9E3779B97F4A7C15
    random = bytearray()
    while len(random) < n:  # xorshift64: the same bytes everywhere
        state ^= (state << 13) & (2**64 - 1)
        state ^= state >> 7
        state ^= (state << 17) & (2**64 - 1)
        random += state.to_bytes(8, "little")
    letters = "".join(chr(ord("a") + byte % 26) for byte in random)[:n]
    chinese = "".join(chr(0x4E00 + (high << 8 | low) % 20_000) for high, low in batched(random, 2))
    return {
        "one letter": "a" * n,
        "two letters": "ab" * (n // 2),
        "blanks": " " * n,
        "line feeds": "\n" * n,
        "digits": "7" * n,
        "equals signs": "=" * n,
        "one CJK character": "日" * (n // 3),
        "combining marks": "e" + "\u0301" * (n // 2),
        "joined emoji": "👩\u200d" * (n // 7),
        "one sign that NFKC makes 18": "\ufdfa" * (n // 3),
        "random letters": letters,
        "random words of 11 letters": " ".join(map("".join, batched(letters, 11)))[:n],
        "random Chinese": chinese[: n // 3],
        "random code points": "".join(islice(code_points(random), n // 4)),
        "random bytes": bytes(random[:n]),
    }


def code_points(random: Iterable[int]) -> Iterator[str]:
    """Characters of any code point, assigned or not, except for surrogates; nearly all have four bytes."""
    for low, middle, high in batched(random, 3):
        point = (high << 16 | middle << 8 | low) % 0x110000
        if not 0xD800 <= point < 0xE000:
            yield chr(point)


def hostile(job: dict[str, Any]) -> dict[str, Any]:
    """Times encoding and training of one hostile text; the best of five."""
    import sentitok

    text = hostile_texts(job["n"])[job["text"]]
    tokenizer = sentitok.Tokenizer.from_file(job["json"])
    actions: dict[str, Callable[[], object]] = {
        "encode": lambda: tokenizer.encode(text),
        "train": lambda: sentitok.train_bpe(texts=[text], vocab_size=1000, invalid_utf8="bytes"),
    }
    best: dict[str, float] = {}
    for _ in range(5):
        for name, action in actions.items():
            started, cpu_started = time.perf_counter(), time.process_time()
            action()
            taken = {
                f"{name}_s": time.perf_counter() - started,
                f"{name}_cpu_s": time.process_time() - cpu_started,
            }
            best |= {key: min(value, best.get(key, value)) for key, value in taken.items()}
    return best


def unbroken_texts(n: int) -> dict[str, str]:
    """Texts without blanks, of about `n` bytes."""
    rng = random.Random(1)
    part = "".join(rng.choices(string.ascii_lowercase, k=1000))
    return {
        "random letters": "".join(rng.choices(string.ascii_lowercase, k=n)),
        "two letters by chance": "".join(rng.choices("ab", k=n)),
        "one letter": "a" * n,
        "one string again and again": part * (n // len(part)),
        "Chinese characters": "".join(chr(0x4E00 + int(3000 * rng.random() ** 4)) for _ in range(n // 3)),
    }


def unbroken(job: dict[str, Any]) -> dict[str, Any]:
    """Times each trainer on one text without blanks; the best of three."""
    import sentitok

    texts = [unbroken_texts(job["n"])[job["text"]]]
    trainers: dict[str, Callable[..., object]] = {
        "bpe": sentitok.train_bpe,
        "wordpiece": sentitok.train_wordpiece,
        "unigram": sentitok.train_unigram,
    }
    best: dict[str, float] = {}
    for name, train_one in trainers.items():
        for _ in range(3):
            started = time.process_time()
            train_one(texts=texts, vocab_size=job["vocab_size"], threads=1)
            best[name] = min(time.process_time() - started, best.get(name, float("inf")))
    return best


def longest_tokens(tokenizer: Any, n: int) -> str:
    """A text of about `n` bytes of the 2,000 longest tokens, in random order."""
    tokens = [tokenizer.decode([id]) for id in range(tokenizer.vocab_size)]
    tokens = sorted((token for token in tokens if "\ufffd" not in token), key=len)[-2000:]
    mean = sum(len(token.encode()) for token in tokens) / len(tokens)
    return "".join(random.Random(1).choices(tokens, k=round(n / mean)))


def hostile_speed(job: dict[str, Any]) -> dict[str, Any]:
    """Encodes each hostile text with one tokenizer on one thread: bytes a second, the best of five.

    Each time with a tokenizer just loaded and called on a short text, so that no cache knows the text.
    """
    if sys.platform == "linux":  # a long text is shared among the processors there are
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    import sentitok

    path = job["path"]

    def load() -> sentitok.Tokenizer:
        if path.endswith(".tiktoken"):
            return sentitok.Tokenizer.from_tiktoken(path, job["pattern"])
        return sentitok.Tokenizer.from_file(path)

    texts = {**hostile_texts(job["n"]), "longest tokens by chance": longest_tokens(load(), job["n"])}
    actions: dict[str, Callable[[sentitok.Tokenizer, str | bytes], object]] = {
        "ids": lambda tokenizer, text: tokenizer.encode(text),
        "spans": lambda tokenizer, text: tokenizer.encode(text).offsets("bytes"),
    }
    speeds: dict[str, dict[str, float]] = {}
    for name, text in texts.items():
        n_bytes = len(text if isinstance(text, bytes) else text.encode())
        for action, act in actions.items():
            times = []
            for _ in range(5):
                tokenizer = load()
                tokenizer.encode("a short text")
                started = time.process_time()
                act(tokenizer, text)
                times.append(time.process_time() - started)
            speeds.setdefault(action, {})[name] = n_bytes / min(times)
    return speeds


def hostile_file(job: dict[str, Any]) -> dict[str, Any]:
    """Loads a hostile file and uses it; seconds of each step, memory, and why it is refused."""
    del job["task"]
    return hostile_files.use(**job)


TASKS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "train": train,
    "growth": growth,
    "hostile": hostile,
    "unbroken": unbroken,
    "hostile_speed": hostile_speed,
    "hostile_file": hostile_file,
}


def main() -> None:
    """Reads the job from stdin, does it, writes the result."""
    job = json.load(sys.stdin)
    # Some libraries print while they work.
    result_fd = os.dup(1)
    os.dup2(2, 1)
    result = TASKS[job["task"]](job)
    with os.fdopen(result_fd, "w") as out:
        json.dump(result, out)


if __name__ == "__main__":
    main()
