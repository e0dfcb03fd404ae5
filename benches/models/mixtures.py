"""Rows that need no training: the mixture that dev chooses, and models with a memory of phrases.

Members are chosen greedily on dev (`runs/ensemble.py`): which runs, weights, temperature, among all
runs whose answers `run.py` left in runs/bench. The choice is scored on dev with members that the other half
chose, and on the sealed part by members that all of dev chose. The memory holds Kaggle's whole training
file, so it is scored on Kaggle's test alone.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from result import Result, append
from rows import AGAIN, MEMORY, MIXTURE, REMEMBERING
from run import Job, jobs
from train_one import by_group, halves_of, scored

from sentimodels.data import read_table
from sentimodels.evaluation.predictions import PhraseMemory, Predictions, binary_view
from sentimodels.runs.ensemble import Selection, crossed, select

COMMAND = "python benches/models/run.py mixture"
PLACES = ("dev", "sealed", "kaggle", "sst5")


def answers(job: Job, place: str) -> Predictions:
    """What a run answered in a place."""
    return Predictions.load(job.answers.with_name(f"{job.answers.name}.{place}.npz"))


def is_answered(job: Job) -> bool:
    return all(job.answers.with_name(f"{job.answers.name}.{place}.npz").is_file() for place in PLACES)


def members() -> list[Job]:
    """Returns the runs on train alone whose answers are there.

    Raises:
        SystemExit: if there are fewer than two.
    """
    found = [job for job in jobs(["kaggle"]) if not job.name.endswith(AGAIN) and is_answered(job)]
    if len(found) < 2:
        raise SystemExit(
            f"mixture: {len(found)} runs have answers, and it takes two; run rows of kaggle first"
        )
    return found


def mixed(runs: list[Job], chosen: Selection, place: str) -> Predictions:
    """The mixture's answers in a place."""
    each = [answers(job, place) for job in runs]
    return replace(each[0], probs=chosen.mix([one.probs for one in each]))


def chosen_on_dev(runs: list[Job]) -> Selection:
    dev = [answers(job, "dev") for job in runs]
    return select([one.probs for one in dev], dev[0].truth)


def mixture(runs: list[Job], chosen: Selection) -> tuple[Result, Result]:
    """Returns scores of the mixture, and what else is kept."""
    dev = [answers(job, "dev") for job in runs]
    probs = [one.probs for one in dev]
    other_half = replace(dev[0], probs=crossed(probs, dev[0].truth, halves_of(dev[0])))
    sealed, sst5 = mixed(runs, chosen, "sealed"), mixed(runs, chosen, "sst5").labelled()
    scores: dict[str, Any] = {
        "dev": scored(replace(dev[0], probs=chosen.mix(probs))), "dev_crossed": scored(other_half),
        "sealed": scored(sealed), "kaggle": scored(mixed(runs, chosen, "kaggle").labelled()),
        "sst5": scored(sst5), "sst2": scored(binary_view(sst5)),
    }  # fmt: skip
    kept = {
        "members": [
            {"row": runs[place].name, "seed": runs[place].seed, "weight": chosen.weights[place]}
            for place in chosen.members
        ],
        "among": len(runs), "temperature": chosen.temperature, "sealed": by_group(sealed),
    }  # fmt: skip
    return scores, kept


def remembering(predictions: Predictions, memory: PhraseMemory) -> Result:
    """Scores of a run whose remembered phrases are answered from memory."""
    probs, known = memory.apply(predictions.texts, predictions.probs)
    both = replace(predictions, probs=probs, remembered=known)
    return {
        "kaggle": scored(both), "kaggle_unseen": scored(both.take(~known)),
        "remembered": float(np.mean(known)),
    }  # fmt: skip


def make(to: Path, data: Path) -> None:
    """Appends the results of the mixture and of the rows with memory."""
    train = read_table(data / "kaggle-movie-reviews" / "train.tsv.xz")
    runs = members()
    chosen = chosen_on_dev(runs)
    scores, kept = mixture(runs, chosen)
    append(
        f"kaggle:{MIXTURE}", COMMAND, {"chosen_by": "greedy selection on dev"}, scores, seed=0, to=to, **kept
    )
    print(f"kaggle:{MIXTURE}: dev, each half chosen by the other, {scores['dev_crossed']['accuracy']:.4f}")
    remembered = {(MIXTURE, 0): mixed(runs, chosen, "kaggle")}
    remembered |= {(job.name, job.seed): answers(job, "kaggle") for job in runs if job.name in REMEMBERING}
    for (name, seed), predictions in remembered.items():
        made = remembering(predictions.labelled(), PhraseMemory(train, predictions.labels))
        append(
            f"kaggle:{name}{MEMORY}", COMMAND, {"memory": "the whole training file"}, made, seed=seed, to=to
        )
