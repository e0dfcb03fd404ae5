"""Chooses the learning rate of every row on dev, by the same small budget for each.

    python benches/models/tune.py            # rows without a rate; minutes a row

A variant that was only ever run at the rate of its default might lose by that alone. So every row that
is trained by steps, defaults too, is trained on a quarter of its training rows with half, once and
twice the rate of its architecture, one seed each, and scored on dev. The default stays unless another
rate gains more than MARGIN, about what a seed changes, because a smaller gain is chance. The sealed
part is never read. Other settings are part of the row's name.
"""

import sys
import tempfile
from pathlib import Path

from parts import Parts, kaggle
from result import append, data_folder
from rows import BY_STEPS, LATEST, Row
from run import fewer
from train_one import configured, trained

from sentimodels.classifier import Classifier
from sentimodels.evaluation.metrics import scores
from sentimodels.evaluation.predictions import predict
from sentimodels.runs.families import resolve

FACTORS = (0.5, 1, 2)
MARGIN = 0.005
SHARE = 4


def dev_accuracy(row: Row, lr: float, parts: Parts) -> float:
    config = configured({**row.tree, "optim": {**row.tree.get("optim", {}), "lr": lr}}, 0, data_folder())
    with tempfile.TemporaryDirectory() as folder:
        trained(config, parts, Path(folder))
        answers = predict(Classifier.load(Path(folder) / "run"), parts.dev)
    accuracy = scores(answers)["accuracy"]
    assert accuracy is not None
    return accuracy


def chosen(reached: dict[float, float]) -> float:
    """Returns the factor to take: 1 unless another gains more than MARGIN."""
    best = max(reached, key=lambda factor: reached[factor])
    return best if reached[best] > reached[1] + MARGIN else 1


def main() -> int:
    (whole,) = kaggle(data_folder())
    few = Parts(fewer(whole, len(whole.train) // SHARE).train, whole.dev, whole.sealed)
    for row in BY_STEPS:
        config = resolve(row.tree)
        if (f"tune:{row.name}", 0) in LATEST:
            continue
        lr = config.optim.lr
        reached = {factor: dev_accuracy(row, factor * lr, few) for factor in FACTORS}
        factor = chosen(reached)
        dev = {str(factor * lr): accuracy for factor, accuracy in reached.items()}
        append(
            f"tune:{row.name}", "python benches/models/tune.py", config.tree(), {"dev": dev},
            seed=0, lr=factor * lr, factor=factor, margin=MARGIN, share=1 / SHARE,
        )  # fmt: skip
        tried = ", ".join(f"{factor * lr:g}: {accuracy:.4f}" for factor, accuracy in reached.items())
        print(f"{row.name}: {tried}; takes {factor * lr:g}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
