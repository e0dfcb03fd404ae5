"""Prints tables of `results.jsonl`.

    python benches/models/table.py                  # every row of every set, its last run of each seed
    python benches/models/table.py kaggle imdb      # these
    python benches/models/table.py kaggle:bow --all # every run of a row, oldest first

A row that has parts (`dev`, `sealed`) shows its accuracy there, in the mean over seeds, next to the bars of
`rows.py`. Any other row shows its scores as they are.
"""

import argparse
from pathlib import Path
from statistics import fmean
from typing import Any

from result import RESULTS, Result, latest, results, verdict
from rows import BARS, Bar

PARTS = ("dev", "dev_crossed", "sealed", "kaggle", "sst5", "sst2")
HEAD = ("row", "seeds", *PARTS, "macro-F1, sealed", "CPU seconds", "commit", "date")


def table(head: tuple[str, ...], rows: list[list[str]]) -> str:
    lines = [list(head), ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def mean(runs: list[Result], part: str, score: str) -> float | None:
    """Returns the mean of a score over runs; `None` where a run lacks it."""
    reached = [run["scores"].get(part, {}).get(score) for run in runs]
    return None if None in reached else fmean(reached)


def line(name: str, runs: list[Result]) -> list[str]:
    """Returns the cells of a row that has parts."""
    figures = [mean(runs, part, "accuracy") for part in PARTS] + [mean(runs, "sealed", "macro_f1")]
    seconds = [run["seconds"] for run in runs if run["seconds"] is not None]
    return [
        name, str(len(runs)), *("-" if one is None else f"{one:.4f}" for one in figures),
        f"{fmean(seconds):.0f}" if seconds else "-", runs[-1]["commit"][:9], runs[-1]["date"][:10],
    ]  # fmt: skip


def judged(bar: Bar, by_row: dict[str, list[Result]]) -> str:
    """Says what a bar asks, the result, and whether that is enough."""
    runs = by_row.get(bar.row)
    if runs is None:
        return f"{bar.row}: not measured"
    if bar.part == "cost":
        reached: float | None = fmean(run["cost"][bar.score] for run in runs)
    else:
        reached = mean(runs, bar.part, bar.score)
    if reached is None:
        return f"{bar.row}: {bar.part} not measured"
    said = verdict(reached, least=bar.least, most=bar.most)
    return f"{bar.row}, {bar.part} {bar.score} {reached:.4f}: {said}"


def shown(value: Any) -> str:
    """Returns scores on one line, numbers to four places, long lists left out."""
    if isinstance(value, dict):
        return ", ".join(f"{key}: {shown(one)}" if not isinstance(one, dict) else f"{key}: ({shown(one)})"
                         for key, one in value.items())  # fmt: skip
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list) and len(str(value)) > 120:
        return f"{len(value)} items"
    return str(value)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("rows", nargs="*", metavar="SET[:ROW]", help="what to print; all without it")
    parser.add_argument("--all", action="store_true", help="every run, not the last of each row and seed")
    parser.add_argument("--file", type=Path, default=RESULTS)
    asked = parser.parse_args()

    def is_wanted(row: str) -> bool:
        return not asked.rows or any(row == one or row.startswith(f"{one}:") for one in asked.rows)

    found = results(asked.file) if asked.all else latest(asked.file).values()
    runs = [run for run in found if is_wanted(run["row"])]
    by_row: dict[str, list[Result]] = {}
    for run in runs:
        by_row.setdefault(run["row"], []).append(run)
    with_parts = {name for name, some in by_row.items() if mean(some[:1], "dev", "accuracy") is not None}
    cells = [line(name, by_row[name]) for name in by_row if name in with_parts and not asked.all]
    if cells:
        print(table(HEAD, cells))
    for name, some in by_row.items():
        for run in some if asked.all or name not in with_parts else []:
            seed = "" if run["seed"] is None else f", seed {run['seed']}"
            print(f"{name}{seed} ({run['date']}, {run['commit'][:9]}): {shown(run['scores'])}")
    for bar in BARS:
        if bar.row in by_row:
            print(judged(bar, by_row))


if __name__ == "__main__":
    main()
