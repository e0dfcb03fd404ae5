"""A corpus that a tiny language model learns in seconds: each animal has its own place."""

from pathlib import Path
from typing import Any

import numpy as np

from sentimodels.config import LanguageConfig
from sentimodels.runs.families import LANGUAGE_MODEL

__all__ = ["config_of", "write_corpus"]

SMALL = {"d_model": 16, "n_layers": 2}
MODELS: dict[str, dict[str, Any]] = {
    "gpt": {**SMALL, "n_heads": 2},
    "linear": {**SMALL, "n_heads": 2},
    "bert": {**SMALL, "n_heads": 2, "dropout": 0.1},
    "encoder": {**SMALL, "n_heads": 2},
    "mamba": {**SMALL, "d_head": 8},
    "lstm": {**SMALL, "d_hidden": 16},
}
ANIMALS, PLACES = ("cat", "dog", "bird", "cow", "fox"), ("mat", "tree", "house", "hill", "road")


def write_corpus(folder: Path) -> Path:
    """Writes sentences in which each animal has its own place, so the last word can be known."""
    drawn = np.random.default_rng(0)
    path = folder / "animals.txt"
    lines = []
    for _ in range(300):
        sentences = [
            f"the {ANIMALS[i]} sat on the {PLACES[i]}" for i in drawn.integers(0, 5, drawn.integers(2, 6))
        ]
        lines.append(" and ".join(sentences))
    path.write_text("\n".join(lines) + "\n")
    return path


def config_of(corpus: Path, arch: str = "gpt", **sections: dict[str, Any]) -> LanguageConfig:
    """Returns the configuration of a model that learns the corpus."""
    tree = {
        "arch": arch,
        "model": MODELS[arch],
        "data": {"corpus": [str(corpus)], "context": 32, "vocab_size": 300, "valid_share": 0.1},
        "optim": {"lr": 0.01},
        "train": {
            "max_steps": 12,
            "batch_size": 4,
            "log_every": 4,
            "evaluate_every": 6,
            "precision": "float32",
        },
    }
    return LANGUAGE_MODEL.resolve(tree, sections)
