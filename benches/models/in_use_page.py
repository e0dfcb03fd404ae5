"""Sections of docs/benchmarks.md about what people wait for, from their result file alone.

Not for measuring (`in_use.py`) nor for the bars (`bars.py`), which docs/results.md lists too.
"""

import sys
from statistics import median
from typing import Any

from bars import IN_USE
from judged import NOT_MEASURED
from markdown import MET, MISSED, from_what, table
from result import RESULTS, ROOT, origin, outdated

sys.path.insert(0, str(ROOT / "benches"))
import page

Result = dict[str, Any]

TARGET = RESULTS / "in-use.json"
PAGE = ROOT / "docs" / "benchmarks.md"
REVIEWS, TWEETS = "tests/data/sentences/yelp_labelled.txt", "tweet-sentiment/train.csv.xz"
ROUNDS = 5
N_TEXTS, N_REQUESTS, N_CLIENTS = 10_000, 1_000, 100
# Keys that are typed without a pause, and milliseconds between two of them: quick typists take 60 to 120.
KEYS, GAPS = 5, (30, 60, 90, 120)

# Of each section: its heading, what it is about, the settings that decide it, and the data that it reads.
SECTIONS: dict[str, tuple[str, str, Result, list[str]]] = {
    "predict": (
        "## senti predict", f"A `bow` trained on reviews; whole processes, {ROUNDS} rounds.",
        {"rounds": ROUNDS, "texts": N_TEXTS}, [REVIEWS, TWEETS],
    ),
    "page": (
        "## The page",
        f"A `gpt` of the preset `tiny`, `senti serve`. Keys are typed {KEYS} at a time, {GAPS[0]} to "
        f"{GAPS[-1]} ms apart.",
        {"rounds": ROUNDS, "requests": N_REQUESTS, "clients": N_CLIENTS, "keys": KEYS, "gaps": list(GAPS)},
        [REVIEWS],
    ),
    "help": ("## Help", f"On a terminal; whole processes, {ROUNDS} rounds.", {"rounds": ROUNDS}, []),
    "verdict": (
        "## senti train to a verdict", "No option but the file; whole processes.",
        {"rounds": ROUNDS, "texts": N_TEXTS}, [TWEETS],
    ),
}  # fmt: skip


def origin_of(name: str) -> Result:
    """Returns what a section is of."""
    _, _, settings, files = SECTIONS[name]
    return origin(settings, files)


def reasons(measured: Result) -> list[str]:
    """Returns why sections no longer count, one sentence each; a speed is of the commit that it names."""
    wrong = []
    for name, one in measured["sections"].items():
        _, _, settings, files = SECTIONS[name]
        found = [f"{path}: was not as in the commit" for path in one["changed"]]
        wrong += [f"{name}: {reason}" for reason in found + outdated(one, settings, files)]
    return wrong


def section(name: str, one: Result) -> str:
    """Returns a section, with its heading."""
    title, about, _, _ = SECTIONS[name]
    rows = [line(row) for row in one["rows"]]
    said = f"{one['cores']} CPUs. {from_what(one)}"
    return f"{title}\n\n{said}\n\n{about}\n\n{table(['', 'median', 'least', 'bar', 'verdict'], rows)}"


def line(row: Result) -> list[str]:
    """Returns the cells of a row; its bar is judged on the median."""
    most, unit = (None, "s") if row["bar"] is None else IN_USE[row["bar"]]
    asks = "" if most is None else f"at most {most:g} {unit}"
    if not row["figures"]:
        return [row["what"], "-", "-", asks, NOT_MEASURED]
    reached = median(row["figures"])
    verdict = "" if most is None else MET if reached <= most else f"**{MISSED}**"
    return [row["what"], *(f"{one:.2f} {unit}" for one in (reached, min(row["figures"]))), asks, verdict]


def write(measured: Result) -> None:
    """Writes the sections that were measured into the page."""
    made = "\n\n".join(section(name, one) for name, one in measured["sections"].items())
    PAGE.write_text(page.updated(PAGE.read_text("utf-8"), made), encoding="utf-8")
