"""docs/results.md, from the results of runs: the table, the bars, and what the reports claimed.

Not for running anything (`run_all.py`). Every number comes from a result file or from the
answers kept beside it; intervals are bootstrapped by sentence.
"""

import json
import os
import platform
import statistics
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from claims import claims
from rows import (
    BARS,
    ECE_BAR,
    FAMILIES,
    FIT_LIMITS,
    GAP_BAR,
    LIMITS,
    MEMORY,
    MIXTURE,
    NEAR,
    OTHER_BARS,
    REMEMBERING,
    REPORTED,
    ROWS,
    file_name,
)

from sentimodels.evaluation.intervals import intervals
from sentimodels.evaluation.predictions import Predictions

Result = dict[str, Any]
Results = dict[str, list[Result]]

PLACES = ("valid", "kaggle", "kaggle_unseen", "sst5", "sst2")
NAMES = [name for name, _ in ROWS] + [MIXTURE] + [name + MEMORY for name in REMEMBERING]


def fitting(one: Result) -> float:
    """Seconds of learning alone, without reading and encoding."""
    return float(one["stages"]["fit"] + one["stages"]["steps"])


def quickest(of_row: list[Result]) -> Result:
    """The seed that other programs disturbed least."""
    return min(of_row, key=lambda one: float(one["seconds"]))


def mean(of_row: list[Result], place: str, score: str) -> float:
    return statistics.fmean(float(one[place][score]) for one in of_row)


def _cell(of_row: list[Result], place: str) -> str:
    if place not in of_row[0]:
        return "-"
    accuracy = f"{mean(of_row, place, 'accuracy'):.4f}"
    if len(of_row) > 1:
        accuracy += f" ± {statistics.stdev(float(one[place]['accuracy']) for one in of_row):.4f}"
    return f"{accuracy} / {mean(of_row, place, 'macro_f1'):.3f}"


def _interval(runs: Path, name: str) -> str:
    path = runs / f"{file_name(name)}.valid.npz"
    if not path.exists():
        return "-"
    low, high = intervals(Predictions.load(path))["accuracy"]
    return f"{low:.4f} to {high:.4f}"


def _reported(name: str) -> str:
    of_row = REPORTED.get(name)
    if of_row is None:
        return "-"
    parts = [] if of_row.valid is None else [f"valid {of_row.valid:.4f}"]
    parts += [] if of_row.macro_f1 is None else [f"F1 {of_row.macro_f1:.2f}"]
    parts += [] if of_row.kaggle is None else [f"Kaggle {of_row.kaggle:.4f}"]
    return f"{', '.join(parts)} ({of_row.what})"


def scores_table(found: Results, runs: Path) -> str:
    lines = [
        "| model | parameters | seeds | valid | 95 % of valid | Kaggle | Kaggle, unseen | SST-5 | SST-2 |",
        "|---|---:|---:|---|---|---|---|---|---|",
    ]
    for name, of_row in found.items():
        valid, *rest = (_cell(of_row, place) for place in PLACES)
        cells = " | ".join([valid, _interval(runs, name), *rest])
        lines.append(f"| {name} | {of_row[0]['parameters']:,} | {len(of_row)} | {cells} |")
    return "\n".join(lines)


def cost_table(found: Results) -> str:
    lines = [
        "| model | seconds | fitting | CPU seconds | load | tokens/s | padding | peak memory | kappa "
        "| ECE before, after |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---|",
    ]
    for name, of_row in found.items():
        if "stages" not in of_row[0]:
            continue
        one = quickest(of_row)
        cpu = f"{one['cpu_seconds']:.0f}" if "cpu_seconds" in one else "-"
        fit = one["fit"]
        speed = f"{fit['tokens'] / fit['seconds']:,.0f}" if fit["tokens"] else "-"
        padding = f"{100 * fit['padding']:.1f} %" if fit["tokens"] else "-"
        load = "-" if one.get("load") is None else f"{one['load']:.1f}"
        calibration = f"{mean(of_row, 'valid', 'ece_before'):.3f}, {mean(of_row, 'valid', 'ece'):.3f}"
        lines.append(
            f"| {name} | {one['seconds']:.0f} | {fitting(one):.1f} | {cpu} | {load} | {speed} | {padding} | "
            f"{one['peak_memory_bytes'] / 1e6:,.0f} MB | {mean(of_row, 'valid', 'quadratic_kappa'):.3f} | "
            f"{calibration} |"
        )
    return "\n".join(lines)


def kappa_table(found: Results) -> str:
    lines = ["| model | valid | Kaggle | Kaggle, unseen | SST-5 | SST-2 |", "|---|---:|---:|---:|---:|---:|"]
    for name, of_row in found.items():
        cells = [
            f"{mean(of_row, place, 'quadratic_kappa'):.3f}" if place in of_row[0] else "-" for place in PLACES
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def other_table(sets: list[Result]) -> str:
    lines = [
        "| set | model | rows scored | accuracy | macro-F1 | CPU seconds |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for one in sets:
        lines.append(
            f"| {one['set']} | {one['model']} | {one['rows']:,} | {one['accuracy']:.4f} | "
            f"{one['macro_f1']:.3f} | {one['cpu_seconds']:.0f} |"
        )
    return "\n".join(lines)


def speed_table(found: Result) -> str:
    lines = ["| trainer | tokens/s | ours, times |", "|---|---:|---:|"]
    for side in found["sides"]:
        lines.append(f"| {side['name']} | {side['tokens_per_second']:,.0f} | {side['times']:.2f} |")
    return "\n".join(lines)


def read(path: Path) -> Any:
    return json.loads(path.read_text("utf-8")) if path.is_file() else None


def reports_table(found: Results) -> str:
    lines = [
        "| model | the report's own | ours: valid | F1 | Kaggle |",
        "|---|---|---:|---:|---:|",
    ]
    for name in REPORTED:
        if name in found:
            of_row = found[name]
            lines.append(
                f"| {name} | {_reported(name)} | {mean(of_row, 'valid', 'accuracy'):.4f} | "
                f"{mean(of_row, 'valid', 'macro_f1'):.3f} | {mean(of_row, 'kaggle', 'accuracy'):.4f} |"
            )
    return "\n".join(lines)


def below(found: Results) -> list[str]:
    """Returns which bars were missed, one sentence each."""
    missed = []
    for name, place, score, least in BARS:
        if name in found and mean(found[name], place, score) < least:
            missed.append(f"{name}: {place} {score} {mean(found[name], place, score):.4f}, bar {least}")
    if "encoder" in found:
        base = mean(found["encoder"], "valid", "accuracy")
        for name in NEAR:
            if name in found and mean(found[name], "valid", "accuracy") < base - 0.01:
                missed.append(f"{name}: more than 0.01 below the encoder's {base:.4f}")
    for name, most in LIMITS.items():
        if name in found and (taken := quickest(found[name])["seconds"]) > most:
            missed.append(f"{name}: {taken:.0f} s, bar {most:.0f} s")
    for name, most in FIT_LIMITS.items():
        if name in found and (taken := fitting(quickest(found[name]))) > most:
            missed.append(f"{name}: {taken:.1f} s of fitting, bar {most:.0f} s")
    for name, of_row in found.items():
        if "valid" in of_row[0] and (error := mean(of_row, "valid", "ece")) > ECE_BAR:
            missed.append(f"{name}: ECE {error:.4f} after temperature, bar {ECE_BAR}")
    return missed


def wide(found: Results) -> str:
    """Says which rows call the rare classes too seldom for the bar of macro-F1."""
    gaps = {
        name: mean(of_row, "valid", "accuracy") - mean(of_row, "valid", "macro_f1")
        for name, of_row in found.items()
        if "valid" in of_row[0]
    }
    over = [f"{name} {gap:.3f}" for name, gap in gaps.items() if gap > GAP_BAR]
    return (
        f"Macro-F1 is to lie at most {GAP_BAR} below the accuracy on valid. It does for "
        f"{'; '.join(name for name in gaps if gaps[name] <= GAP_BAR)}. It lies deeper for {'; '.join(over)}: "
        "they call the two rare classes less often than these occur."
    )


def below_elsewhere(sets: list[Result]) -> list[str]:
    """Returns which bars on other sets were missed."""
    missed = []
    for name, models, least in OTHER_BARS:
        best = max(
            (one["accuracy"] for one in sets if one["set"] == name and one["model"] in models), default=1
        )
        if best < least:
            missed.append(f"{name}: the best of {', '.join(models)} {best:.4f}, bar {least}")
    return missed


HEAD = """# Results on the Kaggle movie-review phrases

Written by `python benches/models/run_all.py` on {date}: {machine}, {cores} cores, {versions}.
{load}

Trained from scratch on 80 % of the sentences of the Kaggle training file (split by SentenceId,
stratified on the label of each sentence's longest phrase, seed 42): {train:,} phrases. `valid` is
the other 20 %, {valid:,} phrases. Each architecture has its own defaults; they were chosen by
`valid`, which also stops the training and fits the temperature, so `valid` flatters a little.
Kaggle's test labels are rebuilt from the SST dev and test trees for scoring alone; no model was
trained, tuned or stopped on them. "Unseen" leaves out test phrases that are training phrases
without case and spacing. SST-5 and SST-2 are the test sentences, answered by the same model,
without training again.

Cells are accuracy / macro-F1, ± one standard deviation over seeds. The 95 % interval is
bootstrapped by sentence (seed 0); its half is about 0.007, so smaller differences of single runs
say little. Always answering "neutral" gives {majority:.4f} on valid and 0.5179 on Kaggle.
"""

MIXED = """`{mixture}` is the mean of the probabilities of {n} families; weights and temperature are
fitted on one half of the validation sentences and scored on the other, both ways.
"""
REMEMBERED = """`{memory}` answers phrases that stand in the Kaggle training file from a table, a model the
rest: a property of that test, not of a model. "Unseen" are here the phrases not in that file.
"""


def _load(found: Results) -> str:
    loads = [r["load"] for rows in found.values() for r in rows if r.get("load") is not None]
    if not loads:
        return "The load of the machine is unknown."
    if max(loads) > (os.cpu_count() or 1) + 0.5:
        return (
            "**Other programs ran beside it**: seconds of rows whose load is above the number of cores are "
            "too long, by two or three times; CPU seconds are those of the run alone."
        )
    return "Nothing else of weight ran beside it."


def write(found: Results, runs: Path, target: Path) -> list[str]:
    """Writes the page; returns the bars that were missed."""
    one = next(of_row[0] for of_row in found.values() if "versions" in of_row[0])
    wanted = ("torch", "scikit-learn", "sentitok")
    head = HEAD.format(
        date=datetime.now(UTC).strftime("%Y-%m-%d"),
        machine=platform.processor() or platform.machine(),
        cores=os.cpu_count(),
        versions=", ".join(f"{name} {one['versions'][name]}" for name in wanted),
        load=_load(found),
        train=one["rows"]["train"],
        valid=one["rows"]["valid"],
        majority=one["baselines"]["majority"]["accuracy"],
    )
    other, speed = read(runs / "other.json"), read(target.with_name("trainer-speed.json"))
    missed = below(found) + (below_elsewhere(other["sets"]) if other else [])
    verdict = (
        "All bars of the design that these rows have are reached."
        if not missed
        else "Below their bars:\n\n" + "\n".join(f"- {line}" for line in missed)
    )
    parts = [head, scores_table(found, runs), ""]
    if MIXTURE in found:
        parts.append(MIXED.format(mixture=MIXTURE, n=len(FAMILIES)))
    if any(name.endswith(MEMORY) for name in found):
        parts.append(REMEMBERED.format(memory=MEMORY.strip()))
    parts += [verdict, "", wide(found), "\n## Cost\n", COST, cost_table(found)]
    parts += ["\n## Quadratic kappa\n", kappa_table(found)]
    if speed:
        parts += ["\n## Speed of training\n", SPEED.format(rows=speed["rows"]), speed_table(speed)]
    if other:
        parts += ["\n## Other sets\n", OTHER, other_table(other["sets"])]
    parts += ["\n## Beside the reports\n", REPORTS, reports_table(found)]
    if said := claims(found, runs):
        parts += ["\n## Which claims of the reports hold\n", said]
    target.write_text("\n".join(parts) + "\n", encoding="utf-8")
    return missed


SPEED = """`python benches/models/against_trainer.py`: one pass of the same encoder over the same
{rows:,} phrases, each side in processes of its own, in turns; medians of three.
"""
COST = """Times are those of the quickest seed: what ran beside a run can only lengthen it.
"""
OTHER = """`python benches/models/other_data.py`, one seed. `characters`: n-grams of 3 to 5 characters
beside those of words. No test part was used to choose, but MR has none: its folds were looked at
when the words of `nb` were defined and when characters were added to them; loss and penalty were
chosen on parts of the training rows of IMDB, tweets and Yelp. Published:
NB-SVM 0.794 on MR and 0.912 on IMDB (Wang and Manning 2012; there 25,000 reviews to learn
from, in this file 20,000).
"""
REPORTS = """Same split and same Kaggle test as the course report on movie reviews; the other reports
used other data, so their figures cannot stand here.
"""
