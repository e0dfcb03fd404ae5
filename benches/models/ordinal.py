"""Stars: the task `ordinal` against plain classification, on the five classes of the sentences of SST.

    python benches/models/ordinal.py                        # minutes
    python benches/models/ordinal.py --phrases 30000        # trained on phrases as well
    python benches/models/ordinal.py --arch cnn --default-loss

Both tasks have the same rows, seeds and settings to choose from. Settings are chosen by quadratic kappa on
dev, and the test rows are read once. Each run is scored by its likeliest class, and by the median of its
probabilities, which has the least expected absolute error.
"""

import argparse
import json
import tempfile
import time
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from result import append, data_folder
from sklearn.metrics import accuracy_score, cohen_kappa_score, f1_score, mean_absolute_error

from sentimodels.classifier import Classifier
from sentimodels.data import read_table
from sentimodels.runs.execute import train
from sentimodels.runs.families import resolve

# Settings that are chosen from, by task and architecture.
LOSSES = {"classification": ["cross-entropy"], "ordinal": ["likelihood", "coral"]}
MODELS: dict[str, list[dict[str, Any]]] = {
    "tfidf": [{"model": {"c": c}} for c in (1.5, 5.0, 15.0, 50.0)],
    "bow": [{"model": {"fit_epochs": epochs}} for epochs in (2, 5)],
    # Networks learn an order by their heads.
    **{arch: [{"preset": "nano"}] for arch in ("cnn", "gru", "encoder", "gpt")},
}
SEEDS = {"tfidf": 1, "bow": 3, "cnn": 2, "gru": 2, "encoder": 3, "gpt": 2}


def decided(probs: NDArray[Any]) -> dict[str, NDArray[np.int64]]:
    """Returns the answers that probabilities give, in two ways."""
    return {
        "likeliest": probs.argmax(1),
        "median": (probs.cumsum(1) < 0.5).sum(1).clip(max=probs.shape[1] - 1),
    }


def scores_of(truth: NDArray[np.int64], answers: NDArray[np.int64]) -> dict[str, float]:
    return {
        "accuracy": accuracy_score(truth, answers),
        "macro_f1": f1_score(truth, answers, average="macro"),
        "mae": mean_absolute_error(truth, answers),
        "kappa": cohen_kappa_score(truth, answers, weights="quadratic"),
    }


def trained(
    tree: dict[str, Any], data: dict[str, Any], texts: dict[str, list[str]]
) -> dict[str, NDArray[Any]]:
    """Trains a run, and returns its probabilities of each part."""
    with tempfile.TemporaryDirectory() as folder:
        train(resolve({**tree, "data": data}), Path(folder) / "run")
        run = Classifier.load(Path(folder) / "run")
        return {part: run.predict_proba(some) for part, some in texts.items()}


def settings_of(task: str, arch: str, *, default_loss: bool) -> list[dict[str, Any]]:
    """Returns the settings that dev chooses from."""
    fixed = default_loss or arch in ("tfidf", "bow")
    losses = [{}] if fixed else [{"loss": loss} for loss in LOSSES[task]]
    return [
        {"arch": arch, **model, "task": {"kind": task, **loss}}
        for model, loss in product(MODELS[arch], losses)
    ]


def main() -> None:
    """Prints the scores of both tasks on test, with the settings that dev chose."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--phrases", type=int, help="train on so many phrases of the trees, not on sentences")
    parser.add_argument("--arch", nargs="*", default=list(MODELS))
    parser.add_argument("--default-loss", action="store_true", help="try no other loss of networks")
    parser.add_argument("--save", action="store_true", help="append the figures to results.jsonl")
    asked = parser.parse_args()
    trees = data_folder() / "sst-trees"
    parts = {part: read_table(trees / f"{part}.txt.xz", format="sst") for part in ("dev", "test")}
    texts = {part: table.texts for part, table in parts.items()}
    truth = {part: np.array([int(label) for label in table.labelled()]) for part, table in parts.items()}
    data: dict[str, Any] = {
        "train": str(trees / "train.txt.xz"),
        "format": "sst",
        "valid": str(trees / "dev.txt.xz"),
    }
    if asked.phrases:
        data |= {"format": "sst-phrases", "limit": asked.phrases}
    for arch, task in product(asked.arch, LOSSES):
        best: Any = None
        for settings in settings_of(task, arch, default_loss=asked.default_loss):
            began = time.process_time()
            probs = [
                trained({**settings, "train": {"seed": seed, "baseline": False}}, data, texts)
                for seed in range(SEEDS[arch])
            ]
            seconds = (time.process_time() - began) / len(probs)
            of_part = {
                part: {
                    way: [scores_of(truth[part], decided(one[part])[way]) for one in probs]
                    for way in ("likeliest", "median")
                }
                for part in truth
            }
            on_dev = float(np.mean([one["kappa"] for one in of_part["dev"]["likeliest"]]))
            print(f"  {json.dumps(settings)}: dev kappa {on_dev:.4f}, {seconds:.1f} s a run", flush=True)
            if best is None or on_dev > best[0]:
                best = (on_dev, settings, of_part["test"], seconds)
        _, settings, found, seconds = best
        for way, runs in found.items():
            means = {name: float(np.mean([one[name] for one in runs])) for name in runs[0]}
            said = ", ".join(f"{name} {value:.4f}" for name, value in means.items())
            print(f"{arch} {task}, {way}: test {said}", flush=True)
            if asked.save:
                command = "python benches/models/ordinal.py"
                append(f"stars:{arch}:{task}:{way}", command, settings, means, seconds=seconds)


if __name__ == "__main__":
    main()
