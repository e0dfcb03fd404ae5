"""Results: one line of JSON a run in `results.jsonl`, appended and never rewritten.

A line holds `row`, `seed`, `commit`, `date`, `command`, `settings`, `scores` and `seconds` (CPU seconds of
training), and whatever else a benchmark wants to keep. It is a snapshot: nothing checks that today's code
would give the same figures. `table.py` prints the lines.
"""

import base64
import json
import os
import subprocess
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sentimodels.runs.directory import versions

ROOT = Path(__file__).resolve().parents[2]
RESULTS = Path(__file__).with_name("results.jsonl")

Result = dict[str, Any]


def data_folder() -> Path:
    return Path(os.environ.get("SENTITOK_DATA", ROOT.parent / "shared" / "data"))


def git(*args: str) -> str:
    done = subprocess.run(["git", "-C", str(ROOT), *args], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def commit() -> str:
    """Returns the commit, with `+` where tracked files differ from it."""
    return git("rev-parse", "HEAD") + "+" * bool(git("status", "--porcelain", "--untracked-files=no"))


def append(
    row: str,
    command: str,
    settings: Any,
    scores: Result,
    *,
    seed: int | None = None,
    seconds: float | None = None,
    to: Path | None = None,
    **more: Any,
) -> Result:
    """Appends one run.

    Args:
        row: the measured row, as in `kaggle:bow`.
        command: how to measure it again.
        settings: what decides the figures.
        scores: the figures, by part where parts are scored.
        seed: of the run; `None` where several seeds are one figure.
        seconds: CPU seconds of training.
        to: the file; `RESULTS` if not given.
        more: other things to keep.
    """
    result = {
        "row": row, "seed": seed, "commit": commit(), "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M"),
        "command": command, "settings": settings, "scores": scores, "seconds": seconds,
        "versions": versions(), **more,
    }  # fmt: skip
    with (to or RESULTS).open("a", encoding="utf-8") as file:
        file.write(json.dumps(result, ensure_ascii=False) + "\n")
    return result


def results(path: Path | None = None) -> Iterator[Result]:
    """Yields the runs of a file, oldest first."""
    with (path or RESULTS).open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def latest(path: Path | None = None) -> dict[tuple[str, int | None], Result]:
    """Returns the last run of each row and seed."""
    return {(result["row"], result["seed"]): result for result in results(path)}


def verdict(reached: float, *, least: float | None = None, most: float | None = None) -> str:
    """Says whether a bar is met: `least` or `most`, one of which is given."""
    if least is not None:
        return f"{'met' if reached >= least else 'missed'} (at least {least:g})"
    assert most is not None
    return f"{'met' if reached <= most else 'missed'} (at most {most:g})"


def pack(counts: NDArray[np.int64]) -> str:
    """Returns counts below 65,536 as text."""
    return base64.b85encode(zlib.compress(counts.astype("<u2").tobytes(), 9)).decode()


def unpack(text: str) -> NDArray[np.int64]:
    """Reads what `pack` wrote."""
    return np.frombuffer(zlib.decompress(base64.b85decode(text)), dtype="<u2").astype(np.int64)
