"""Rows that need no training: the mixture that dev chooses, and models with a memory of phrases.

Members are chosen among all runs there are, greedily, on dev (`evaluation/selection.py`): which runs,
weights, temperature. What the choice is worth is said twice: on dev, each half with members that the
other half chose, and on the sealed part, by members that all of dev chose. The memory holds Kaggle's
whole training file: it is scored on Kaggle's test alone, and has no score on the sealed part. Both
need the answers that runs leave in runs/bench, which git does not keep: where those of one run are
missing, nothing is chosen. A result is of the very results it names, and stale as soon as one of them is.
"""

import hashlib
import json
from dataclasses import replace
from math import isclose
from pathlib import Path
from typing import Any

import numpy as np
from bars import Result, Results
from parts import FILES
from result import earlier as judged_before
from result import load, origin, path_of, read, stamp, write
from rows import AGAIN, MEMORY, MIXTURE, REMEMBERING
from train_one import by_group, scored

from sentimodels.data import read_table
from sentimodels.evaluation.phrase_memory import PhraseMemory
from sentimodels.evaluation.predictions import Predictions, binary_view
from sentimodels.evaluation.selection import Selection, crossed, select

# The file is of several architectures: their code is in the hashes of the members.
_ARCH = "bow"
COMMAND = "python benches/models/run_all.py mixture"
ANSWERS_ANEW = "python benches/models/run_all.py kaggle --answers"
CHOSEN_BY = "greedy forward selection on dev, each half by the other for the figure of dev"
PLACES = ("dev", "sealed", "kaggle", "sst5")


def answers(folder: Path, row: str, seed: int, place: str) -> Predictions:
    """What a run answered in a place."""
    path = path_of(folder, "kaggle", row, seed)
    return Predictions.load(path.with_name(f"{path.stem}.{place}.npz"))


def identity(result: Result) -> str:
    """Returns the hash of a result file's content."""
    return hashlib.sha256(json.dumps(result, sort_keys=True).encode()).hexdigest()


def can_be_member(row: str) -> bool:
    """Whether runs of a row of the Kaggle phrases may be in the mixture: those that saw train alone."""
    return not row.startswith(MIXTURE) and not row.endswith((AGAIN, MEMORY))


def answered(result: Result, folder: Path) -> bool:
    """Whether the answers of a run are there, and are those that its result was scored on."""
    row, seed = result["row"], result["seed"]
    path = path_of(folder, "kaggle", row, seed)
    if not all(path.with_name(f"{path.stem}.{place}.npz").is_file() for place in PLACES):
        return False
    of_dev, said = scored(answers(folder, row, seed, "dev")), result["scores"]["dev"]
    return all(isclose(of_dev[key], said[key], rel_tol=1e-4) for key in ("accuracy", "log_loss"))


def library(by_row: Results, folder: Path) -> list[Result]:
    """Every run on train alone that counts, in one order.

    Raises:
        SystemExit: if the answers of one of them are missing.
    """
    runs = [
        result
        for (of_set, row), results in sorted(by_row.items())
        if of_set == "kaggle" and can_be_member(row)
        for result in results
    ]
    if lacking := [run for run in runs if not answered(run, folder)]:
        raise SystemExit(
            f"mixture: {len(lacking)} of {len(runs)} runs have no answers in {folder}, or those of another "
            f"run: {named(lacking)}; nothing was chosen or written. To train these again: {ANSWERS_ANEW}"
        )
    return runs


def named(runs: list[Result]) -> str:
    """Names runs by row, their seeds behind it."""
    seeds: dict[str, list[str]] = {}
    for run in runs:
        seeds.setdefault(run["row"], []).append(str(run["seed"]))
    return "; ".join(f"{row} ({', '.join(of_row)})" for row, of_row in seeds.items())


def earlier(runs: list[Result], path: Path) -> list[Result]:
    """Returns what the sealed part has said of mixtures before, the last of them from the file itself.

    Raises:
        SystemExit: if that was chosen among runs that are not among these.
    """
    if not path.is_file():
        return []
    before = read(path)
    there = {(run["row"], run["seed"]) for run in runs}
    if gone := [one for one in before["among"] if (one["row"], one["seed"]) not in there]:
        raise SystemExit(
            f"mixture: {path.name} was chosen among {len(before['among'])} runs, of which {len(gone)} have "
            f"no result that counts now: {named(gone)}; nothing was chosen or written. To run what is "
            "missing or stale: python benches/models/run_all.py kaggle"
        )
    return judged_before(
        path, lambda one: {"among": len(one["among"]), "accuracy": one["scores"]["sealed"]["accuracy"]}
    )


def mixed(runs: list[Result], chosen: Selection, folder: Path, place: str) -> Predictions:
    """The mixture's answers in a place."""
    all_answers = [answers(folder, one["row"], one["seed"], place) for one in runs]
    return replace(all_answers[0], probs=chosen.mix([one.probs for one in all_answers]))


def mixture(runs: list[Result], folder: Path) -> Result:
    """Chooses on dev, and only then answers the sealed part."""
    dev = [answers(folder, one["row"], one["seed"], "dev") for one in runs]
    probs = [one.probs for one in dev]
    chosen = select(probs, dev[0].truth)
    of_dev = replace(dev[0], probs=chosen.mix(probs))
    other_half = replace(dev[0], probs=crossed(probs, dev[0].truth, dev[0].groups))
    best = min(runs, key=lambda one: float(one["scores"]["dev"]["log_loss"]))
    sealed = mixed(runs, chosen, folder, "sealed")
    places: dict[str, Any] = {
        "dev": scored(of_dev), "dev_crossed": scored(other_half), "sealed": scored(sealed),
    }  # fmt: skip
    for place in ("kaggle", "sst5"):
        made = mixed(runs, chosen, folder, place)
        made.labelled().save(path_of(folder, "kaggle", MIXTURE, 0).with_name(f"{MIXTURE}-seed-0.{place}.npz"))
        places[place] = scored(made.labelled())
        if place == "sst5":
            places["sst2"] = scored(binary_view(made.labelled()))
    members = [
        {"row": runs[place]["row"], "seed": runs[place]["seed"], "weight": chosen.weights[place],
         "sha256": identity(runs[place])}
        for place in chosen.members
    ]  # fmt: skip
    return {
        "members": members,
        "among": [{"row": one["row"], "seed": one["seed"], "sha256": identity(one)} for one in runs],
        "best_single": {"row": best["row"], "seed": best["seed"], "sha256": identity(best)},
        "cost": {
            "temperature": chosen.temperature,
            "parameters": sum(runs[place]["cost"]["parameters"] for place in chosen.members),
            "cpu_seconds": sum(runs[place]["cost"]["cpu_seconds"] for place in chosen.members),
        },
        "scores": places,
        "sealed": by_group(sealed),
    }


def remembering(result: Result, memory: PhraseMemory, folder: Path) -> Result:
    """A run whose remembered phrases are answered from memory: the Kaggle test alone has such."""
    predictions = answers(folder, result["row"], result["seed"], "kaggle").labelled()
    probs, known = memory.apply(predictions.texts, predictions.probs)
    both = replace(predictions, probs=probs, remembered=known)
    return {
        "of": {"row": result["row"], "seed": result["seed"], "sha256": identity(result)},
        "cost": {"parameters": result["cost"]["parameters"], "remembered": float(np.mean(known))},
        "scores": {"kaggle": scored(both), "kaggle_unseen": scored(both.take(~known))},
    }


def make(by_row: Results, results: Path, folder: Path, data: Path) -> None:
    """Writes the results of the mixture and of the rows with memory.

    Raises:
        SystemExit: if the answers of a run are missing, or the mixture that is there had more to choose from.
    """
    train = read_table(data / "kaggle-movie-reviews" / "train.tsv.xz")
    before = load()
    runs = library(by_row, folder)
    if len(runs) < 2:
        raise SystemExit(f"mixture: {len(runs)} runs count, and it takes two; run some rows of kaggle first")
    target = path_of(results, "kaggle", MIXTURE, 0)
    judged = earlier(runs, target)
    made = mixture(runs, folder)
    write(target, _described(MIXTURE, 0, {**made, "earlier": judged}, before))
    by_row["kaggle", MIXTURE] = [read(target)]
    print(f"kaggle:{MIXTURE}: dev, each half chosen by the other, "
          f"{made['scores']['dev_crossed']['accuracy']:.4f}")  # fmt: skip
    for row in REMEMBERING:
        for result in by_row.get(("kaggle", row), []):
            labels = answers(folder, row, result["seed"], "kaggle").labels
            made = remembering(result, PhraseMemory(train, labels), folder)
            name = row + MEMORY
            target = path_of(results, "kaggle", name, result["seed"])
            write(target, _described(name, result["seed"], made, before))


def _described(row: str, seed: int, made: Result, before: float | None) -> Result:
    about = stamp(_ARCH, COMMAND, before)
    rule = {"row": row, "chosen_by": CHOSEN_BY, "remembers": row.endswith(MEMORY)}
    described = {"set": "kaggle", "row": row, "seed": seed, "stamp": about, **made}
    return {**described, **origin(rule, [FILES["kaggle"]])}


def add(by_row: Results, refused: dict[str, list[str]], results: Path) -> None:
    """Adds the rows made of results that still count; says of the others why not."""
    for row in (MIXTURE, *(row + MEMORY for row in REMEMBERING)):
        for path in sorted(
            (results / "kaggle").glob(path_of(results, "kaggle", row, 0).name[:-6] + "*.json")
        ):
            result = read(path)
            wrong = parents_gone(result, by_row)
            if wrong:
                refused[path.name] = [*wrong, f"type: {COMMAND}"]
            else:
                by_row.setdefault(("kaggle", row), []).append(result)


def parents_gone(result: Result, by_row: Results) -> list[str]:
    """Names the results that a row was made of and that no longer count, or are others now."""
    parents = result.get("among") or [result["of"]]
    wrong = []
    for parent in parents:
        now = {one["seed"]: identity(one) for one in by_row.get(("kaggle", parent["row"]), [])}
        if now.get(parent["seed"]) != parent["sha256"]:
            wrong.append(f"made of {parent['row']}, seed {parent['seed']}, which is not that any more")
    return wrong
