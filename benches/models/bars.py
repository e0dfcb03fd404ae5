"""Every bar of the classifiers in one place: what it asks, and the part it is judged on.

Not for what was reached (`results/`). A bar is met, missed or not measured: it is judged on the mean
over seeds, and not before all seeds of its row are there. Bars on the sealed part are gates: a missed
one ends `run_all.py` with exit code 1. Kaggle's test, SST-5, SST-2 and the folds of MR are reported
alone, since older versions were looked at there.
"""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from rows import AGAIN, CHOSEN, MEMORY, MIXTURE, rows_of

Result = dict[str, Any]
# Results by (set, row), one a seed.
Results = dict[tuple[str, str], list[Result]]

MET, MISSED, NOT_MEASURED = "met", "missed", "not measured"


@dataclass(frozen=True)
class Bar:
    """One bar.

    Attributes:
        of_set: the data set.
        row: the row that is judged.
        part: where: `sealed`, `kaggle`, `sst5`, `sst2`, or `cost`.
        score: what of it.
        least: at least so much; with `most` instead, at most.
        most: at most so much.
        near: the row that it may be below by `least`, a difference.
        gate: whether a miss is a failure.
    """

    of_set: str
    row: str
    part: str
    score: str
    least: float | None = None
    most: float | None = None
    near: str | None = None
    gate: bool = True


BARS: list[Bar] = [
    Bar("kaggle", "tfidf" + AGAIN, "sealed", "accuracy", 0.602),
    Bar("kaggle", "bow" + AGAIN, "sealed", "accuracy", 0.616),
    Bar("kaggle", "cnn" + AGAIN, "sealed", "accuracy", 0.620),
    Bar("kaggle", "lstm" + AGAIN, "sealed", "accuracy", 0.630),
    Bar("kaggle", "lstm" + AGAIN, "sealed", "macro_f1", 0.49),
    Bar("kaggle", "encoder" + AGAIN, "sealed", "accuracy", 0.620),
    Bar("kaggle", "gpt" + AGAIN, "sealed", "accuracy", 0.620),
    Bar("kaggle", MIXTURE, "sealed", "accuracy", 0.640),
    *(
        Bar("kaggle", row, "sealed", "accuracy", -0.01, near="encoder")
        for row in ("mamba", "encoder, linear-elu", "encoder, linear-softmax", "encoder, nystrom")
    ),
    *(
        Bar("kaggle", row, "sealed", "ece", most=0.02)
        for row in ("tfidf", "tfidf, characters", "nb", "bow", "cnn", "rnn", "gru", "lstm", "encoder", "bert",
                    "gpt", "mamba", MIXTURE)
    ),
    *(
        Bar("kaggle", row, "sealed", "accuracy_less_macro_f1", most=0.14)
        for row in ("rnn", "gru", "lstm", MIXTURE)
    ),
    Bar("kaggle", "tfidf", "cost", "seconds", most=20),
    Bar("kaggle", "bow", "cost", "fit_seconds", most=5),
    Bar("kaggle", "lstm", "cost", "seconds", most=300),
    *(
        Bar("kaggle", row, "cost", "padding", most=0.10)
        for row in ("cnn", "lstm", "encoder", "gpt", "mamba")
    ),
    Bar("imdb", "nb", "sealed", "accuracy", 0.912),
    Bar("kaggle", "tfidf" + AGAIN, "kaggle", "accuracy", 0.625, gate=False),
    Bar("kaggle", "bow" + AGAIN, "kaggle", "accuracy", 0.645, gate=False),
    Bar("kaggle", MIXTURE + MEMORY, "kaggle", "accuracy", 0.675, gate=False),
    Bar("kaggle", "lstm" + AGAIN, "sst5", "accuracy", 0.45, gate=False),
    Bar("kaggle", "lstm" + AGAIN, "sst2", "accuracy", 0.85, gate=False),
    Bar("mr", CHOSEN, "sealed", "accuracy", 0.794, gate=False),
]  # fmt: skip


@dataclass(frozen=True)
class Judged:
    """A bar, what was reached, and the word for it."""

    bar: Bar
    reached: float | None
    word: str


def value(result: Result, part: str, score: str) -> float:
    """Returns a number of a result."""
    if part == "cost":
        return float(result["cost"][score])
    scores = result["scores"][part]
    if score == "accuracy_less_macro_f1":
        return float(scores["accuracy"]) - float(scores["macro_f1"])
    return float(scores[score])


def judged(bar: Bar, found: Results) -> Judged:
    """Puts a bar in a word."""
    # Other programs can only lengthen a time, so the quickest seed counts.
    join: Callable[[list[float]], float] = min if bar.part == "cost" else fmean
    reached = _of(bar.row, bar, found, join)
    if reached is not None and bar.near is not None:
        base = _of(bar.near, bar, found, join)
        reached = None if base is None else reached - base
    if reached is None:
        return Judged(bar, None, NOT_MEASURED)
    within = (bar.least is None or reached >= bar.least) and (bar.most is None or reached <= bar.most)
    return Judged(bar, reached, MET if within else MISSED)


def _of(row: str, bar: Bar, found: Results, join: Callable[[list[float]], float]) -> float | None:
    results = found.get((bar.of_set, row), [])
    asked = rows_of(bar.of_set).get(row)
    if len(results) < (1 if asked is None else asked.seeds):
        return None
    return join([value(one, bar.part, bar.score) for one in results])
