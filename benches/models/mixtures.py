"""Rows that need no training: the mixture that dev chooses, and models with a memory of phrases.

Members are chosen among all runs there are, greedily, on dev (`evaluation/selection.py`): which runs,
weights, temperature. What the choice is worth is said twice: on dev, each half with members that the
other half chose, and on the sealed part, by members that all of dev chose. The memory holds Kaggle's
whole training file: it is scored on Kaggle's test alone, and has no score on the sealed part. Both
need the answers that runs leave in runs/bench; a result is of the very results it names, and stale as
soon as one of them is.
"""

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from bars import Result, Results
from result import load, path_of, read, stamp, write
from rows import AGAIN, MEMORY, MIXTURE, REMEMBERING
from train_one import by_group, scored

from sentimodels.data import read_table
from sentimodels.evaluation.phrase_memory import PhraseMemory
from sentimodels.evaluation.predictions import Predictions, binary_view
from sentimodels.evaluation.selection import Selection, crossed, select

# The file is of several architectures: their code is in the hashes of the members.
_ARCH = "bow"
COMMAND = "python benches/models/run_all.py mixture"


def answers(folder: Path, row: str, seed: int, place: str) -> Predictions:
    """What a run answered in a place."""
    path = path_of(folder, "kaggle", row, seed)
    return Predictions.load(path.with_name(f"{path.stem}.{place}.npz"))


def identity(result: Result) -> str:
    """Returns the hash of a result file's content."""
    return hashlib.sha256(json.dumps(result, sort_keys=True).encode()).hexdigest()


def library(found: Results, folder: Path) -> list[Result]:
    """Every run on train alone whose answers are still there, in one order."""
    there = []
    for (of_set, row), results in sorted(found.items()):
        if of_set != "kaggle" or row.startswith(MIXTURE) or row.endswith((AGAIN, MEMORY)):
            continue
        for result in results:
            path = path_of(folder, "kaggle", row, result["seed"])
            if path.with_name(f"{path.stem}.dev.npz").is_file():
                there.append(result)
    return there


def mixed(runs: list[Result], chosen: Selection, folder: Path, place: str) -> Predictions:
    """The mixture's answers in a place."""
    found = [answers(folder, one["row"], one["seed"], place) for one in runs]
    return replace(found[0], probs=chosen.mix([one.probs for one in found]))


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
    found = answers(folder, result["row"], result["seed"], "kaggle").labelled()
    probs, known = memory.apply(found.texts, found.probs)
    both = replace(found, probs=probs, remembered=known)
    return {
        "of": {"row": result["row"], "seed": result["seed"], "sha256": identity(result)},
        "cost": {"parameters": result["cost"]["parameters"], "remembered": float(np.mean(known))},
        "scores": {"kaggle": scored(both), "kaggle_unseen": scored(both.take(~known))},
    }


def make(found: Results, results: Path, folder: Path, data: Path) -> None:
    """Writes the results of all rows whose runs are there."""
    train = read_table(data / "kaggle-movie-reviews" / "train.tsv.xz")
    before = load()
    runs = library(found, folder)
    if len(runs) > 1:
        made = mixture(runs, folder)
        write(path_of(results, "kaggle", MIXTURE, 0), _described(MIXTURE, 0, made, before))
        found["kaggle", MIXTURE] = [read(path_of(results, "kaggle", MIXTURE, 0))]
        print(f"kaggle:{MIXTURE}: dev, each half chosen by the other, "
              f"{made['scores']['dev_crossed']['accuracy']:.4f}")  # fmt: skip
    for row in REMEMBERING:
        for result in found.get(("kaggle", row), []):
            path = path_of(folder, "kaggle", row, result["seed"])
            if path.with_name(f"{path.stem}.kaggle.npz").is_file():
                labels = answers(folder, row, result["seed"], "kaggle").labels
                made = remembering(result, PhraseMemory(train, labels), folder)
                name = row + MEMORY
                target = path_of(results, "kaggle", name, result["seed"])
                write(target, _described(name, result["seed"], made, before))


def _described(row: str, seed: int, made: Result, before: float | None) -> Result:
    about = stamp(_ARCH, COMMAND, before)
    return {"set": "kaggle", "row": row, "seed": seed, "stamp": about, **made}


def add(found: Results, refused: dict[str, list[str]], results: Path) -> None:
    """Adds the rows made of results that still count; says of the others why not."""
    for row in (MIXTURE, *(row + MEMORY for row in REMEMBERING)):
        for path in sorted(
            (results / "kaggle").glob(path_of(results, "kaggle", row, 0).name[:-6] + "*.json")
        ):
            result = read(path)
            wrong = parents_gone(result, found)
            if wrong:
                refused[path.name] = [*wrong, f"type: {COMMAND}"]
            else:
                found.setdefault(("kaggle", row), []).append(result)


def parents_gone(result: Result, found: Results) -> list[str]:
    """Names the results that a row was made of and that no longer count, or are others now."""
    parents = result.get("among") or [result["of"]]
    wrong = []
    for parent in parents:
        now = {one["seed"]: identity(one) for one in found.get(("kaggle", parent["row"]), [])}
        if now.get(parent["seed"]) != parent["sha256"]:
            wrong.append(f"made of {parent['row']}, seed {parent['seed']}, which is not that any more")
    return wrong
