"""`sleep_if_busy`: how the threads of a command wait for each other on a busy machine.

The threads of PyTorch work on parts of each operation and wait for the last one. By default libgomp lets them
spin for milliseconds, which is fastest where each thread has a processor. Where other programs run, the
thread that all wait for has none, and the spinning ones keep it from getting one: small networks train many
times slower. There, waiting threads should sleep. Results do not depend on it.

Figures are in `docs/lab/negative-results.md`, "Threads that sleep while they wait".
"""

import os
import time
from pathlib import Path

__all__ = ["sleep_if_busy"]

# Prefixes of the settings of OpenMP; where the user set one, nothing is changed.
_OF_OPENMP = ("OMP_", "GOMP_", "KMP_")
# The number of threads that run or wait for a processor, on Linux, as in "0.20 0.18 0.12 1/80 11206".
_RUNNING = Path("/proc/loadavg")
# A single look may meet a program that wakes for a moment: most of so many looks must find others.
_LOOKS, _SECONDS = 3, 0.01


def sleep_if_busy() -> bool:
    """Lets waiting threads sleep if other programs need the processors; returns whether it did.

    OpenMP reads the setting when it is loaded, so a command calls this before it imports torch. A program
    that imports this package is left alone.
    """
    if any(name.startswith(_OF_OPENMP) for name in os.environ) or not _busy():
        return False
    os.environ["OMP_WAIT_POLICY"] = "passive"
    return True


def _busy() -> bool:
    """Whether this process, with a thread for each processor that it may use, would have to share them."""
    try:
        free = (os.cpu_count() or 1) - len(os.sched_getaffinity(0))
        found = 0
        for look in range(_LOOKS):
            if look:
                time.sleep(_SECONDS)
            others = int(_RUNNING.read_text().split()[3].partition("/")[0]) - 1  # without this process
            found += others > free
            if not found:  # a quiet machine is not looked at again
                return False
    except (OSError, AttributeError, ValueError, IndexError):  # not on Linux, or not readable here
        return False
    return found * 2 > _LOOKS
