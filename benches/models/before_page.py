"""The section of docs/results.md about an earlier commit, from the result file of `before.py` alone.

Not for measuring, nor for the bars (`bars.py`).
"""

from pathlib import Path
from statistics import fmean
from typing import Any

from bars import speeds
from judged import asks, judged_of
from markdown import from_what, missing, points, table
from result import RESULTS, read

BEFORE = "hours of one core; stops and goes on"


def part(folder: Path = RESULTS) -> str:
    """Returns the table of both commits, or what to type for it."""
    path = folder / "before.json"
    if not path.is_file():
        return missing("python benches/models/before.py 156d62a", BEFORE)
    result = read(path)
    words = "; ".join(f"{asks(one.bar)}: {one.word}" for one in judged_of("before", result))
    rows = [row(arch, one) for arch, one in result["archs"].items()]
    head = ["", "accuracy, then", "now", "points more, 95 %", "macro-F1, then", "now", "points more, 95 %",
            "speed, now / then: median, all turns"]  # fmt: skip
    return (
        f"Defaults of commit {result['then'][:9]}, the last one before backbone, head and task were taken "
        "apart, and of this one, on dev of the Kaggle phrases, which stopped both. Scores are means of "
        "seeds. The speed of training is in tokens a second, of bags in seconds; both commits took turns.\n\n"
        f"{table(head, rows)}\n\nBars, of all architectures: {words}.\n\n{from_what(result)}"
    )


def row(arch: str, one: dict[str, Any]) -> list[str]:
    """Returns the cells of an architecture."""
    accuracy, macro = (
        [f"{fmean(run[key] for run in one[side]):.4f}" for side in ("then", "now")]
        for key in ("accuracy", "macro_f1")
    )
    middle, turns = speeds(one)
    times = f"{middle:.2f} ({min(turns):.2f} to {max(turns):.2f})"
    return [f"`{arch}`", *accuracy, points(one["gain"]), *macro, points(one["macro_f1_gain"]), times]
