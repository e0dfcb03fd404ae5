"""The worker of `sentitok bench`: one library, one process, two passes.

A separate process gives each library cold caches and a peak memory that is
its own. It reads a job as JSON from stdin and writes its result to stdout.
Loading is timed apart; encoding is timed by the library's fastest batch call,
and the ids it returned are saved for comparison, outside the timing.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np

from .output import peak_memory

# Encodes documents in a batch; turns the result into one array per document.
Encode = Callable[[list[str]], Any]
Rows = Callable[[Any], Sequence[Any]]
Loader = Callable[[dict[str, Any]], tuple[Encode, Rows]]

RIVALS = ("sentitok", "tokenizers", "tiktoken", "sentencepiece")


class CannotLoadError(Exception):
    """This library cannot run this tokenizer."""


def _sentitok(job: dict[str, Any]) -> tuple[Encode, Rows]:
    from sentitok import Tokenizer

    tokenizer = Tokenizer.from_file(job["json"])
    threads = job["threads"]
    return (
        lambda texts: tokenizer.encode_batch(texts, threads=threads, add_special_tokens=False),
        list,
    )


def _tokenizers(job: dict[str, Any]) -> tuple[Encode, Rows]:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(job["json"])
    # The fast call leaves offsets out, as ours does.
    encode = getattr(tokenizer, "encode_batch_fast", tokenizer.encode_batch)
    return (
        lambda texts: encode(texts, add_special_tokens=False),
        lambda encodings: [encoding.ids for encoding in encodings],
    )


def _tiktoken(job: dict[str, Any]) -> tuple[Encode, Rows]:
    import base64

    import tiktoken

    if "ranks" not in job:
        raise CannotLoadError(job["ranks_refused"])
    if job["pattern"] is None:
        raise CannotLoadError("tiktoken needs a pattern, which this pre-tokenizer does not have")
    with open(job["ranks"], "rb") as file:
        ranks = {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in file)}
    encoding = tiktoken.Encoding(
        "bench", pat_str=job["pattern"], mergeable_ranks=ranks, special_tokens=job["specials"]
    )
    if job["threads"] == 1:
        # Its batch call starts a pool of threads even for one.
        return (lambda texts: [encoding.encode_ordinary(text) for text in texts], lambda rows: rows)
    return (
        lambda texts: encoding.encode_ordinary_batch(texts, num_threads=job["threads"]),
        lambda rows: rows,
    )


def _sentencepiece(job: dict[str, Any]) -> tuple[Encode, Rows]:
    import sentencepiece

    if not job["source"].endswith(".model"):
        raise CannotLoadError("sentencepiece reads only its own .model files")
    processor = sentencepiece.SentencePieceProcessor(model_file=job["source"])
    return (
        lambda texts: processor.encode(texts, num_threads=job["threads"]),
        lambda rows: rows,
    )


LOADERS: dict[str, Loader] = {
    "sentitok": _sentitok,
    "tokenizers": _tokenizers,
    "tiktoken": _tiktoken,
    "sentencepiece": _sentencepiece,
}


def release(name: str) -> str:
    """Returns the version of a library, also of one that is not installed as a package."""
    return str(getattr(import_module(name), "__version__", None) or version(name))


def run(job: dict[str, Any], loaders: dict[str, Loader] = LOADERS) -> dict[str, Any]:
    """Loads one library, encodes the documents twice, saves the ids."""
    name = job["rival"]
    with open(job["documents"], encoding="utf-8") as file:
        texts: list[str] = json.load(file)
    try:
        started = time.perf_counter()
        encode, rows = loaders[name](job)
        load_s = time.perf_counter() - started
    except CannotLoadError as error:
        return {"rival": name, "refused": str(error)}
    except Exception as error:
        return {"rival": name, "refused": f"{type(error).__name__}: {error}"}
    seconds = []
    encoded: Any = None
    for _ in range(2):
        encoded = None  # the first pass's ids must not count as the second's memory
        started = time.perf_counter()
        encoded = encode(texts)
        seconds.append(time.perf_counter() - started)
    peak = peak_memory()
    ids = [np.asarray(row, dtype=np.uint32) for row in rows(encoded)]
    lengths = np.asarray([len(row) for row in ids], dtype=np.int64)
    np.savez(job["ids"], ids=np.concatenate([*ids, np.empty(0, np.uint32)]), lengths=lengths)
    return {
        "rival": name,
        "version": release(name),
        "load_s": load_s,
        "cold_s": seconds[0],
        "warm_s": seconds[1],
        "peak_memory_bytes": peak,
    }


def main(loaders: dict[str, Loader] = LOADERS) -> None:
    """Reads the job, does it, writes the result."""
    job = json.load(sys.stdin)
    # A library that prints must not spoil the result.
    result_fd = os.dup(1)
    os.dup2(2, 1)
    result = run(job, loaders)
    with os.fdopen(result_fd, "w") as out:
        json.dump(result, out)


if __name__ == "__main__":
    main()
