"""Rows that need no training: a mixture of families, and models with a memory of phrases.

They are made of the answers that `train_one.py` left beside each run. The weights of a mixture
are fitted on one half of the validation sentences and scored on the other, both ways; for the
Kaggle test and the trees, on all of them. The memory holds the Kaggle training file: it can
answer test phrases, and none of the validation part, whose sentences it must not know.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rows import FAMILIES, MEMORY, MIXTURE, REMEMBERING, file_name

from sentimodels.data import Table, TrainingRecord, read_table
from sentimodels.evaluation.calibration import fit_temperature, log_probs, with_temperature
from sentimodels.evaluation.metrics import scores
from sentimodels.evaluation.phrase_memory import PhraseMemory
from sentimodels.evaluation.predictions import Predictions, binary_view
from sentimodels.runs.ensemble import fit_weights

SCORES = ("accuracy", "macro_f1", "quadratic_kappa", "log_loss", "ece")
PLACES = ("valid", "kaggle", "sst5")


def answers(folder: Path, place: str) -> Predictions:
    """What the run in `folder` answered in a place."""
    return Predictions.load(folder.with_suffix(f".{place}.npz"))


def mix(members: list[Predictions], weights: NDArray[np.float64], temperature: float) -> Predictions:
    """The members' probabilities, averaged."""
    mean = sum(weight * one.probs.astype(np.float64) for weight, one in zip(weights, members, strict=True))
    return replace(members[0], probs=with_temperature(np.asarray(mean), temperature).astype(np.float32))


def fitted(members: list[Predictions]) -> tuple[NDArray[np.float64], float]:
    """Weights and temperature with the least log loss on these rows."""
    weights = fit_weights([one.probs for one in members], members[0].truth)
    plain = mix(members, weights, 1.0)
    return weights, fit_temperature(log_probs(plain.probs), plain.truth)


def crossed(members: list[Predictions]) -> Predictions:
    """Each half of the sentences, answered with weights fitted on the other."""
    groups = members[0].groups
    assert groups is not None
    first = np.array([int(group) % 2 == 0 for group in groups])
    probs = np.empty_like(members[0].probs)
    for half in (first, ~first):
        weights, temperature = fitted([one.take(~half) for one in members])
        probs[half] = mix([one.take(half) for one in members], weights, temperature).probs
    return replace(members[0], probs=probs)


def described(name: str, seed: int, found: dict[str, Predictions]) -> dict[str, Any]:
    """The result of a row, in the shape that `train_one.py` writes."""
    out: dict[str, Any] = {"name": name, "seed": seed}
    for place, one in found.items():
        out[place] = {key: scores(one)[key] for key in SCORES}
    out["sst2"] = {key: scores(binary_view(found["sst5"]))[key] for key in SCORES}
    return out


def mixture(folders: list[Path], seed: int, out: Path) -> dict[str, Any]:
    """Mixes the runs, and keeps the answers as a run's are kept."""
    of_place = {place: [answers(folder, place) for folder in folders] for place in PLACES}
    weights, temperature = fitted(of_place["valid"])
    found = {place: mix(of_place[place], weights, temperature) for place in ("kaggle", "sst5")}
    found["valid"] = crossed(of_place["valid"])
    for place, one in found.items():
        one.save(out.with_suffix(f".{place}.npz"))
    told = [json.loads(folder.with_suffix(".json").read_text("utf-8")) for folder in folders]
    record = TrainingRecord.load(folders[0])
    unseen = found["kaggle"].take(~record.seen(Table.of(found["kaggle"].texts)))
    return {
        **described(MIXTURE, seed, found),
        "kaggle_unseen": {"n": len(unseen), **{key: scores(unseen)[key] for key in SCORES}},
        "weights": dict(zip(FAMILIES, weights.tolist(), strict=True)),
        "parameters": sum(one["parameters"] for one in told),
        "seconds": sum(one["seconds"] for one in told),
    }


def with_memory(folder: Path, memory: PhraseMemory, name: str, seed: int) -> dict[str, Any]:
    """The row of a run whose remembered phrases are answered from memory."""
    told = json.loads(folder.with_suffix(".json").read_text("utf-8"))
    found = answers(folder, "kaggle")
    probs, known = memory.apply(found.texts, found.probs)
    both = replace(found, probs=probs, remembered=known)
    unknown = both.take(~known)
    return {
        "name": name + MEMORY,
        "seed": seed,
        "parameters": told["parameters"],
        "remembered": float(known.mean()),
        "kaggle": {key: scores(both)[key] for key in SCORES},
        "kaggle_unseen": {"n": len(unknown), **{key: scores(unknown)[key] for key in SCORES}},
    }


def make(runs: Path, data: Path, seed: int = 0) -> list[str]:
    """Writes the results of all rows whose runs are there; returns their names."""

    def folder(name: str) -> Path:
        return runs / file_name(name, seed)

    made = []
    members = [folder(name) for name in FAMILIES]
    if all(member.with_suffix(".json").exists() for member in members):
        target = folder(MIXTURE)
        result = mixture(members, seed, target)
        target.with_suffix(".json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        made.append(MIXTURE)
    train = read_table(data / "kaggle-movie-reviews" / "train.tsv.xz")
    for name in REMEMBERING:
        if folder(name).with_suffix(".json").exists():
            labels = answers(folder(name), "kaggle").labels
            result = with_memory(folder(name), PhraseMemory(train, labels), name, seed)
            path = folder(name + MEMORY).with_suffix(".json")
            path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
            made.append(name + MEMORY)
    return made
