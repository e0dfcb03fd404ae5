"""Runs operations where the system refuses memory, each in a forked child of this process.

    python memory_sweep.py MODEL [OPERATION ...] [--megabytes 2 8 ...] [--size BYTES]

The limit of address space in a child is what it has mapped and so many megabytes more.
A child ends well if it gives the answer that one without a limit gives, or raises
MemoryError, or an error that the package documents; and if the same object answers a
short text afterwards. Prints a line for each that does not, and how many ended how.

Not a test by itself: `test_memory_sweep.py` runs it, as children that die must not take
the tests with them.
"""

import argparse
import collections
import errno
import hashlib
import os
import resource
import signal
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from memory_operations import (
    MODELS,
    SMALL,
    Work,
    byte_bpe,
    corpus_operations,
    files_operations,
    texts_operations,
)

import sentitok

ANSWERS = ("equal", "MemoryError", "error")


def digest(value: object) -> bytes:
    """What tells two answers apart."""
    if hasattr(value, "tobytes"):
        value = value.tobytes()
    elif isinstance(value, (list, tuple)):
        return hashlib.sha256(b"".join(map(digest, value))).digest()
    data = value if isinstance(value, bytes) else repr(value).encode(errors="surrogatepass")
    return hashlib.sha256(data).digest()


def limit(more: int | None) -> None:
    """Lets the process have so many bytes beside what it has mapped; `None`: all."""
    if more is None:
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        return
    with open("/proc/self/statm") as file:
        mapped = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (mapped + more, resource.RLIM_INFINITY))


def drain() -> list[object]:
    """Takes what the package has kept of freed blocks, which no limit holds back."""
    tokenizer = byte_bpe()
    held: list[object] = []
    data = b"\xff" * ((1 << 18) + 1000)
    while len(held) < 100:
        held.append(tokenizer.encode(data).ids)
    return held


def in_child(work: Callable[[], bytes]) -> tuple[int, bytes]:
    """How a child ended that does some work, and what it answered."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        status = 1
        try:
            os.write(write, work())
            status = 0
        finally:
            os._exit(status)
    os.close(write)
    answer = b""
    while part := os.read(read, 1 << 16):
        answer += part
    os.close(read)
    return os.waitpid(child, 0)[1], answer


def attempt(work: Work, small: Work, expected: bytes, expected_small: bytes, more: int) -> bytes:
    """What becomes of work that has so many bytes."""
    limit(more)
    try:
        answer = b"equal" if digest(work()) == expected else b"another answer"
    except MemoryError:
        answer = b"MemoryError"
    except sentitok.InternalError as error:
        answer = f"InternalError: {error}".encode()
    except sentitok.SentitokError:
        answer = b"error"
    except OSError as error:
        answer = b"error" if error.errno == errno.ENOMEM else repr(error).encode()
    except BaseException as error:
        answer = f"{type(error).__name__}: {error}".encode()
    limit(None)
    return answer if digest(small()) == expected_small else b"another answer to a small text"


def sweep(operations: dict[str, Work], small: Work, megabytes: list[float], label: str) -> bool:
    """Runs each operation under each limit; whether all ended well."""
    ended: collections.Counter[str] = collections.Counter()
    well = True
    expected_small = digest(small())
    for name, work in operations.items():
        status, expected = in_child(partial(lambda work: digest(work()), work))
        assert status == 0, f"{label}: {name}: fails without a limit: {status}"
        for more in megabytes:
            status, answer = in_child(
                partial(attempt, work, small, expected, expected_small, int(more * (1 << 20)))
            )
            found = answer.decode(errors="replace")
            if os.WIFSIGNALED(status):
                found = signal.Signals(os.WTERMSIG(status)).name
            elif status != 0:
                found = found or f"status {status}"
            ended[found if found in ANSWERS else "badly"] += 1
            if found not in ANSWERS:
                well = False
                print(f"{label}: {name}, {more} MB: {found}", flush=True)
    print(label, dict(ended), flush=True)
    return well


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", help="a model, large:KIND or corpus")
    parser.add_argument("operations", nargs="*")
    parser.add_argument("--megabytes", nargs="+", type=float, default=[2.0**n for n in range(1, 10)])
    parser.add_argument("--size", type=int, default=3_000_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if given.what == "corpus":
            tokenizer = byte_bpe()
            operations = corpus_operations(given.size, Path(folder))
        elif given.what.startswith("large:"):
            tokenizer = byte_bpe()
            operations = files_operations(given.what.removeprefix("large:"), given.size, Path(folder))
        else:
            tokenizer = MODELS[given.what]()
            operations = texts_operations(tokenizer, given.what, given.size)
        if given.operations:
            operations = {name: operations[name] for name in given.operations}
        held = drain()
        assert held
        return 0 if sweep(operations, lambda: tokenizer.encode(SMALL).ids, given.megabytes, given.what) else 1


if __name__ == "__main__":
    sys.exit(main())
