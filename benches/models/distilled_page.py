"""The section of docs/results.md about a student that a mixture teaches, from its result file alone.

Not for measuring (`distill.py`), nor for which mixtures the page of results judges (`mixtures.py`).
"""

from pathlib import Path
from statistics import fmean

from bars import GAIN_TAUGHT
from markdown import MET, MISSED, missing, points, table
from result import RESULTS, read

# What the command needs.
BEFORE = "after the same without --test: two hours of one core"
PARTS = {"dev": "dev", "sealed": "sealed"}


def part(folder: Path = RESULTS) -> str:
    """Returns the table of one BiLSTM alone and taught, or what to type for it."""
    path = folder / "distillation.json"
    if not path.is_file():
        return missing("python benches/models/distill.py --test", BEFORE)
    result = read(path)
    stamp = result["stamp"]
    rows = []
    for name, title in PARTS.items():
        scores, gain = result["scores"][name], result["gain"][name]
        reached = [fmean(one["accuracy"] for one in scores[kind]) for kind in ("alone", "taught")]
        word = MET if gain["value"] >= GAIN_TAUGHT else MISSED
        bar = f"{100 * GAIN_TAUGHT:+.1f}: {word}"
        rows.append([title, *(f"{one:.4f}" for one in reached), points(gain), bar])
    head = ["Kaggle phrases", "BiLSTM alone", "taught", "points more, 95 %", "bar"]
    told = [f"{points(one['gain'])}, {one['date']}, commit {one['commit'][:9]}" for one in result["earlier"]]
    before = f" The sealed part has judged other students before: {'; '.join(told)}." if told else ""
    epochs = result["epochs"]
    members = "; ".join(f"{seeds} of {name}" for name, seeds in result["members"].items())
    return (
        f"{table(head, rows)}\n\n"
        f"Means of {len(result['scores']['dev']['alone'])} seeds of the row `lstm`, taught for "
        f"{epochs['taught']} epochs, alone for {epochs['alone']}: alone, more epochs are no better on dev "
        "(`benches/models/distill.py`). The teacher is a mixture that dev chose "
        f"among runs ({members}). It learned the training part, and answers that and "
        f"{result['unlabelled']:,} phrases of IMDB's reviews, none of them a phrase of dev or of the sealed "
        f"part. {stamp['date']}, commit {stamp['commit'][:9]}, torch {stamp['versions']['torch']}: "
        f"`{stamp['command']}`.{before}"
    )
