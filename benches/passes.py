"""Times one library over one text, in a separate process: `python benches/passes.py < job.json`.

Four things, apart: *ready* (load, and a first call on 12 bytes, in which some
libraries allocate), the *first pass* over text that the process has never seen,
the *repeat* (the median of three passes more), and the peak memory of the first pass,
Python and texts included. Ids of the last pass go to a file; whether libraries
agree is decided there, outside the timing.

A job with `decode`, a file of ids, times decoding instead: the median of the passes
after the first, in which tables are made. Texts go to a file, as UTF-8.

It imports the standard library and NumPy alone, so that it runs in an environment
of a library's own.
"""

import json
import os
import statistics
import sys
import time
from importlib.metadata import version
from typing import Any

import numpy as np

from libraries import LIBRARIES, CannotLoadError

REPEATS = 3
# More than this for a first pass, and the repeat is one pass.
SLOW_S = 2.0
WARM_UP = "twelve bytes"


def peak_bytes() -> int:
    """The most memory this process has held.

    On Linux not by `getrusage`, which counts what the process had before it became this program.
    """
    try:
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))
    except OSError:
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def bind_to_one_processor() -> None:
    """Lets this process run on one processor alone, where the system can (Linux).

    Some libraries start as many threads as there are processors, whatever their settings.
    """
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def seconds(action: Any) -> tuple[float, Any]:
    """How long it takes, and what it returns."""
    started = time.perf_counter()
    result = action()
    return time.perf_counter() - started, result


def measure_decoding(job: dict[str, Any]) -> dict[str, Any]:
    """Decodes the ids of a job again and again."""
    library = LIBRARIES[job["library"]]
    if library.decoder is None:
        return {"refused": "no call that decodes is known"}
    with np.load(job["decode"]) as saved:
        rows = np.split(saved["ids"], np.cumsum(saved["lengths"])[:-1])
    try:
        decode = library.decoder(job, rows)
        first_s, texts = seconds(decode)
    except Exception as error:
        return {"refused": f"{type(error).__name__}: {error}"}
    repeats = []
    for _ in range(REPEATS if first_s < SLOW_S else 1):
        texts = None  # a second result next to the first is not part of a pass
        repeat_s, texts = seconds(decode)
        repeats.append(repeat_s)
    with open(job["texts"], "wb") as out:
        out.write(b"\0".join(text.encode() if isinstance(text, str) else text for text in texts))
    return {
        "version": version(library.package.split("==")[0]),
        "decode_s": statistics.median(repeats),
        "peak_bytes": peak_bytes(),
    }


def measure(job: dict[str, Any]) -> dict[str, Any]:
    """Loads the library of a job, and encodes its documents again and again."""
    library = LIBRARIES[job["library"]]
    with open(job["documents"], encoding="utf-8") as file:
        texts: list[str] = json.load(file)

    try:
        load_s, (encode, rows) = seconds(lambda: library.load(job))
        first_call_s, _ = seconds(lambda: encode([WARM_UP]))
    except CannotLoadError as error:
        return {"refused": str(error)}
    except Exception as error:
        return {"refused": f"{type(error).__name__}: {error}"}
    first_s, encoded = seconds(lambda: encode(texts))
    peak = peak_bytes()
    repeats = []
    for _ in range(REPEATS if first_s < SLOW_S else 1):
        encoded = None  # a second result next to the first is not part of a pass
        repeat_s, encoded = seconds(lambda: encode(texts))
        repeats.append(repeat_s)
    ids = [np.asarray(row, dtype=np.uint32) for row in rows(encoded)]
    lengths = np.asarray([len(row) for row in ids], dtype=np.int64)
    np.savez(job["ids"], ids=np.concatenate([*ids, np.empty(0, np.uint32)]), lengths=lengths)
    return {
        "version": version(library.package.split("==")[0]),
        "ready_s": load_s + first_call_s,
        "first_s": first_s,
        "repeat_s": statistics.median(repeats),
        "peak_bytes": peak,
    }


def main() -> None:
    """Reads the job from stdin, does it, writes the result."""
    job = json.load(sys.stdin)
    if job["threads"] == 1:
        bind_to_one_processor()
    # Some libraries print while they work.
    result_fd = os.dup(1)
    os.dup2(2, 1)
    result = measure_decoding(job) if "decode" in job else measure(job)
    with os.fdopen(result_fd, "w") as out:
        json.dump(result, out)


if __name__ == "__main__":
    main()
