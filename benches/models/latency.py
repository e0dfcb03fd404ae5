"""How fast each architecture trains and answers: `senti bench`, several times, the best of each figure.

    python benches/models/latency.py                 # minutes; writes docs/lab/latency.md
    python benches/models/latency.py --rounds 1 --preset nano --no-page

Presets alternate from round to round, so that a busy minute does not hit one alone. The page names commit,
date, machine and load. Figures of a loaded machine are too slow: measure on a quiet one, or read the ratios.
"""

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

from result import commit
from table import table

from sentimodels.models import ARCHITECTURES

COMMAND = "python benches/models/latency.py"
PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "lab" / "latency.md"
PRESETS = ("nano", "tiny")
HEAD = (
    "architecture", "parameters", "training, tokens/s", "answering, tokens/s", "texts/s", "one text, ms",
    "1 of 20 takes, ms", "on disk, MB",
)  # fmt: skip


def bench(preset: str, archs: list[str]) -> list[dict[str, Any]]:
    """Returns the rows of one call of `senti bench`."""
    words = [word for name in archs for word in ("--arch", name)]
    call = [sys.executable, "-m", "sentimodels", "bench", "--json", "--preset", preset, *words]
    done = subprocess.run(call, check=True, stdout=subprocess.PIPE, text=True)
    rows: list[dict[str, Any]] = json.loads(done.stdout)["results"]
    return rows


def best_of(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns the best of each figure of one architecture."""
    most = {key: max(row[key] for row in rows) for key in rows[0] if key.endswith("_per_s")}
    least = {key: min(row[key] for row in rows) for key in rows[0] if key.endswith("_ms")}
    return {**rows[0], **most, **least}


def line(row: dict[str, Any]) -> list[str]:
    """Returns the cells of an architecture."""
    return [
        row["arch"], f"{row['parameters']:,}", f"{row['train_tokens_per_s']:,.0f}",
        f"{row['answer_tokens_per_s']:,.0f}", f"{row['answer_texts_per_s']:,.0f}",
        f"{row['latency_ms']:.2f}", f"{row['latency_p95_ms']:.2f}", f"{row['bytes'] / 1e6:.1f}",
    ]  # fmt: skip


def summary(by_preset: dict[str, list[dict[str, Any]]]) -> str:
    """Returns the summary: what is fastest, by how much, and what a larger size costs."""
    first, *larger = by_preset
    rows = by_preset[first]
    bags = [row for row in rows if not ARCHITECTURES[row["arch"]].presets]
    networks = [row for row in rows if ARCHITECTURES[row["arch"]].presets]

    def most(some: list[dict[str, Any]], key: str) -> dict[str, Any]:
        return max(some, key=lambda row: row[key])

    def least(some: list[dict[str, Any]], key: str) -> dict[str, Any]:
        return min(some, key=lambda row: row[key])

    def said(row: dict[str, Any], key: str, unit: str) -> str:
        return f"`{row['arch']}` ({row[key]:,.{1 if row[key] < 100 else 0}f} {unit})"

    def times(one: dict[str, Any], other: dict[str, Any], key: str) -> str:
        return f"{one[key] / other[key]:,.1f} times"

    train, answer = "train_tokens_per_s", "answer_texts_per_s"
    lines = [
        f"Of the bags {said(most(bags, train), train, 'tokens/s')} trains fastest, "
        f"{times(most(bags, train), most(networks, train), train)} as fast as the fastest network.",
        f"In batches {said(most(rows, answer), answer, 'texts/s')} answers fastest; of the bags "
        f"{said(most(bags, answer), answer, 'texts/s')}.",
        f"A single text is answered fastest by {said(least(rows, 'latency_ms'), 'latency_ms', 'ms')}.",
    ]
    for key, what, unit in ((train, "trains", "tokens/s"), (answer, "answers batches", "texts/s")):
        fast, slow = most(networks, key), least(networks, key)
        lines.append(
            f"Of the networks of size {first}, {said(fast, key, unit)} {what} fastest and "
            f"{said(slow, key, unit)} slowest, {times(fast, slow, key)} apart."
        )
    fast, slow = least(networks, "latency_ms"), most(networks, "latency_ms")
    lines.append(
        f"They answer a single text in the time of {said(fast, 'latency_ms', 'ms')} to "
        f"{said(slow, 'latency_ms', 'ms')}."
    )
    small, large = least(rows, "bytes"), most(rows, "bytes")
    lines.append(
        f"On disk `{small['arch']}` is smallest ({small['bytes'] / 1e6:.1f} MB) and `{large['arch']}` "
        f"largest ({large['bytes'] / 1e6:.1f} MB)."
    )
    by_arch = {row["arch"]: row for row in networks}
    for preset in larger:
        pairs = [(by_arch[row["arch"]], row) for row in by_preset[preset] if row["arch"] in by_arch]
        slower = {
            key: median(one[key] / other[key] for one, other in pairs)
            for key in ("train_tokens_per_s", "answer_texts_per_s")
        }
        lines.append(
            f"Size {preset} instead of {first} trains {slower['train_tokens_per_s']:.1f} times and answers "
            f"batches {slower['answer_texts_per_s']:.1f} times as slowly (medians of the networks)."
        )
    lines.append("`senti bench FILE` measures your texts on your machine.")
    about = "Which classifier trains, answers and loads fastest, on one thread of one machine."
    return "\n\n".join([about, "\n".join(f"- {line}" for line in lines)])


def page(by_preset: dict[str, list[dict[str, Any]]], rounds: int) -> str:
    """Returns the page."""
    import torch

    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    busy = (
        ""
        if load <= cores
        else " Other programs ran at the same time, so figures are too slow; trust ratios."
    )
    measured = "one round" if rounds == 1 else f"best of {rounds} rounds"
    date = f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}"
    parts = [
        "# Speed of classifiers",
        f"## Summary\n\n{summary(by_preset)}",
        "## How it is measured",
        f"Written by `{COMMAND}`, not by hand: `senti bench`, {measured}. {date}, commit "
        f"{commit()[:9]}, {platform.machine()}, {cores} cores, one thread, torch {torch.__version__}, load "
        f"{load:.1f}.{busy}",
        "The texts are 1,000 of 32 words each. Texts/s and tokens/s are speeds in batches. "
        "The time of one text is the median of 100 texts that are answered one after the other, reading and "
        "tokenizing included. Bags (`tfidf`, `nb`, `bow`) have no sizes and are fitted at once. "
        "`senti bench FILE` measures your texts on your machine, `senti bench --device cuda` a GPU.",
    ]
    for preset, rows in by_preset.items():
        parts += [f"## Size {preset}", table(HEAD, list(map(line, rows)))]
    return "\n\n".join(parts) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="calls of senti bench a size")
    parser.add_argument("--preset", action="append", metavar="SIZE", help="a size; repeatable")
    parser.add_argument("--no-page", action="store_true", help="print the page instead of writing it")
    given = parser.parse_args()
    sizeless = [name for name, row in ARCHITECTURES.items() if not row.presets]
    presets = given.preset or list(PRESETS)
    found: dict[str, list[list[dict[str, Any]]]] = {preset: [] for preset in presets}
    for _ in range(given.rounds):
        for preset in presets:
            archs = [name for name in ARCHITECTURES if preset == presets[0] or name not in sizeless]
            found[preset].append(bench(preset, archs))
    best = {
        preset: [best_of(list(rows)) for rows in zip(*calls, strict=True)] for preset, calls in found.items()
    }
    text = page(best, given.rounds)
    if given.no_page:
        print(text)
    else:
        PAGE.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
