"""A run directory without training: word weights in JSON behind the contract of `Classifier`.

For the tests of everything that judges runs and does not care how they were made.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sentimodels.data import Labels, Table, TrainingRecord
from sentimodels.evaluation.calibration import softmax
from sentimodels.evaluation.predictions import Predictions

LABELS = Labels(["0", "1", "2"])


class FakeClassifier:
    """Logits are sums of word weights; a word without weight adds nothing."""

    def __init__(self, labels: Labels, weights: dict[str, list[float]], temperature: float) -> None:
        self.labels = labels
        self.weights = weights
        self.temperature = temperature

    @classmethod
    def load(cls, folder: Path, device: str = "cpu", **_: bool) -> "FakeClassifier":
        value = json.loads((Path(folder) / "fake.json").read_text("utf-8"))
        return cls(Labels(value["labels"]), value["weights"], value["temperature"])

    def predict_proba(self, texts: list[str]) -> NDArray[np.float32]:
        zero = [0.0] * len(self.labels)
        logits = np.array(
            [
                np.sum([self.weights.get(word, zero) for word in text.split()] or [zero], axis=0)
                for text in texts
            ]
        )
        return softmax(logits.reshape(len(texts), len(self.labels)) / self.temperature).astype(np.float32)


def make_run(
    folder: Path,
    train: Table,
    *,
    strength: float = 1.0,
    temperature: float = 1.0,
    words: frozenset[str] = frozenset(),
) -> Path:
    """Writes a run: each word's weights are its smoothed log shares among the labels."""
    labels = Labels.from_values(train.labelled())
    counts: dict[str, list[float]] = {}
    for text, label in zip(train.texts, train.labelled(), strict=True):
        for word in set(text.split()):
            if not words or word in words:
                counts.setdefault(word, [1.0] * len(labels))[labels.index(label)] += 1
    weights = {word: (strength * np.log(np.array(c) / sum(c))).tolist() for word, c in counts.items()}
    folder.mkdir(parents=True)
    value = {"labels": list(labels.names), "weights": weights, "temperature": temperature}
    (folder / "fake.json").write_text(json.dumps(value), encoding="utf-8")
    TrainingRecord.of(train).save(folder)
    lines = []
    for step in range(1, 21):
        lines.append({"step": step, "epoch": step / 10, "loss": 1 / step, "lr": 0.01 * min(1, step / 5)})
        if step % 10 == 0:
            lines.append({
                "step": step, "epoch": step / 10, "val_loss": 2 / step, "val_accuracy": 0.5 + step / 100,
                "val_macro_f1": 0.4 + step / 100, "seconds": float(step), "tokens": 100 * step,
            })  # fmt: skip
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return folder


def some_predictions(n: int = 3, **more: Any) -> Predictions:
    probs = softmax(np.random.default_rng(0).normal(size=(n, 3))).astype(np.float32)
    return Predictions(LABELS, probs, np.arange(n) % 3, [f"t{i}" for i in range(n)], **more)
