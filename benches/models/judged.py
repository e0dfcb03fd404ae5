"""Whether bars are met, missed or not measured, by the results that are there.

Not for the bars themselves (`bars.py`). That of a row is judged on the mean over seeds, and not before all
seeds of the row are there.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from bars import BARS, OTHER_BARS, Bar, OtherBar, Others, Result, Results
from markdown import MET, MISSED
from result import read
from rows import rows_of

NOT_MEASURED = "not measured"


@dataclass(frozen=True)
class Judged:
    """A bar, what was reached, and the word for it."""

    bar: Bar | OtherBar
    reached: float | None
    word: str


def others(folder: Path) -> Others:
    """Returns the results of bars that are not of rows, where they are."""
    names = dict.fromkeys(bar.file for bar in OTHER_BARS)
    return {name: read(path) for name in names if (path := folder / f"{name}.json").is_file()}


def all_judged(by_row: Results, beside: Others) -> list[Judged]:
    """Puts every bar in a word."""
    return [*(judged(bar, by_row) for bar in BARS), *(judged_other(bar, beside) for bar in OTHER_BARS)]


def judged_other(bar: OtherBar, beside: Others) -> Judged:
    """Puts a bar that is not of a row in a word."""
    result = beside.get(bar.file)
    reached = None if result is None else bar.of(result)
    return Judged(bar, reached, word(bar, reached))


def judged_of(file: str, result: Result) -> list[Judged]:
    """Puts the bars of one result file in words."""
    return [judged_other(bar, {file: result}) for bar in OTHER_BARS if bar.file == file]


def asks(bar: Bar | OtherBar) -> str:
    """Says what a bar asks."""
    score = bar.score.replace("accuracy_less_macro_f1", "accuracy less macro-F1").replace("_", " ")
    if isinstance(bar, Bar) and bar.near is not None:
        return f"{score} at most {-(bar.least or 0):g} below {bar.near}"
    if bar.most is not None:
        return f"{score} at most {bar.most:,g}"
    return f"{score} at least {bar.least:,g}"


def word(bar: Bar | OtherBar, reached: float | None) -> str:
    """Returns met, missed or not measured."""
    if reached is None:
        return NOT_MEASURED
    within = (bar.least is None or reached >= bar.least) and (bar.most is None or reached <= bar.most)
    return MET if within else MISSED


def value(result: Result, part: str, score: str) -> float:
    """Returns a number of a result."""
    if part == "cost":
        return float(result["cost"][score])
    scores = result["scores"][part]
    if score == "accuracy_less_macro_f1":
        return float(scores["accuracy"]) - float(scores["macro_f1"])
    return float(scores[score])


def judged(bar: Bar, by_row: Results) -> Judged:
    """Puts a bar in a word."""
    # Other programs can only lengthen a time, so the quickest seed counts.
    join: Callable[[list[float]], float] = min if bar.part == "cost" else fmean
    reached = _of(bar.row, bar, by_row, join)
    if reached is not None and bar.near is not None:
        base = _of(bar.near, bar, by_row, join)
        reached = None if base is None else reached - base
    return Judged(bar, reached, word(bar, reached))


def _of(row: str, bar: Bar, by_row: Results, join: Callable[[list[float]], float]) -> float | None:
    results = by_row.get((bar.of_set, row), [])
    asked = rows_of(bar.of_set).get(row)
    if len(results) < (1 if asked is None else asked.seeds):
        return None
    return join([value(one, bar.part, bar.score) for one in results])
