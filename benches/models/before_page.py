"""The section of docs/results.md about an earlier commit, from the result file of `before.py` alone.

Not for measuring. An architecture is less accurate where the whole interval is below zero or macro-F1 is
below by more than seeds differ; slower, where it was so in every turn.
"""

from pathlib import Path
from statistics import fmean, median, stdev
from typing import Any

from markdown import MET, MISSED, from_what, missing, points, table
from result import RESULTS, read

BEFORE = "hours of one core; stops and goes on"


def part(folder: Path = RESULTS) -> str:
    """Returns the table of both commits, or what to type for it."""
    path = folder / "before.json"
    if not path.is_file():
        return missing("python benches/models/before.py 156d62a", BEFORE)
    result = read(path)
    rows = [row(arch, one) for arch, one in result["archs"].items()]
    head = [
        "", "accuracy then", "now", "points more, 95 %", "macro-F1 then", "now", "no less accurate",
        "times as fast, all turns", "no slower",
    ]  # fmt: skip
    return (
        f"Defaults of commit {result['then'][:9]}, the last one before backbone, head and task were taken "
        "apart, and of this one, on dev of the Kaggle phrases, which stopped both. Accuracy and macro-F1 are "
        "means of seeds; of the speed of training, both in turns, the median is shown, and the ends.\n\n"
        f"{table(head, rows)}\n\n{from_what(result)}"
    )


def row(arch: str, one: dict[str, Any]) -> list[str]:
    """Returns the cells of an architecture."""
    then, now = one["then"], one["now"]
    accuracy, macro = (
        [f"{fmean(run[key] for run in side):.4f}" for side in (then, now)] for key in ("accuracy", "macro_f1")
    )
    turns = speeds(one)
    times = f"{median(turns):.2f} ({min(turns):.2f} to {max(turns):.2f})" if turns else "-"
    slower = "" if not turns else MET if max(turns) >= 1 else MISSED
    less = MET if no_less(one) else MISSED
    return [f"`{arch}`", *accuracy, points(one["gain"]), *macro, less, times, slower]


def speeds(one: dict[str, Any]) -> list[float]:
    """Returns how many times as fast each run is now as the one before that stood beside it."""
    return [
        now["tokens_per_second"] / then["tokens_per_second"]
        for then, now in zip(one["then"], one["now"], strict=True)
        if now["tokens_per_second"]
    ]


def no_less(one: dict[str, Any]) -> bool:
    """Whether neither accuracy nor macro-F1 is below by more than its interval."""
    then, now = ([run["macro_f1"] for run in one[side]] for side in ("then", "now"))
    # Student's t of the mean of a few seeds: 95 % of three differ by up to 2.5 deviations of one.
    spread = max(stdev(then), stdev(now)) if len(then) > 1 else 0.0
    return bool(one["gain"]["high"] >= 0 and fmean(now) >= fmean(then) - 2.5 * spread)
