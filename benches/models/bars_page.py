"""The section of docs/results.md about bars: what each asks, what was reached, and how many are met.

Not for the bars themselves (`bars.py`).
"""

from bars import Bar
from judged import NOT_MEASURED, Judged, asks
from markdown import MET, MISSED

TEXT = """All of `benches/models/bars.py`, those of language models and of speed too: {count}
What people wait for is described in [benchmarks.md](benchmarks.md)."""


def part(every: list[Judged]) -> str:
    """Returns the count of the bars and their table."""
    lines = ["| bar | judged on | asks | reached | |", "|---|---|---|---:|---|"]
    lines += [f"| {line(one)} |" for one in every]
    return "\n\n".join([TEXT.format(count=count(every)), "\n".join(lines)])


def count(every: list[Judged]) -> str:
    words = [one.word for one in every]
    return ", ".join(f"{words.count(word)} {word}" for word in (MET, MISSED, NOT_MEASURED)) + "."


def line(one: Judged) -> str:
    """Says what a bar asks and what was reached."""
    bar = one.bar
    what = f"{bar.of_set}: {bar.row}" if isinstance(bar, Bar) else bar.what
    gate = "" if bar.gate else ", reported alone"
    return f"{what} | {bar.part}{gate} | {asks(bar)} | {shown(one)} | {one.word}"


def shown(one: Judged) -> str:
    """Shows what was reached, by as many digits as it takes to tell it from what was asked."""
    reached = one.reached
    if reached is None:
        return "-"
    limits = [limit for limit in (one.bar.least, one.bar.most) if limit is not None and limit != reached]
    digits = 0 if abs(reached) >= 100 else 2 if abs(reached) >= 1 else 4
    while any(f"{reached:.{digits}f}" == f"{limit:.{digits}f}" for limit in limits) and digits < 9:
        digits += 1
    return f"{reached:,.{digits}f}"
