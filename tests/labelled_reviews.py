"""Labelled texts that can be learned in a second, for the tests of training."""

import csv
import random
from pathlib import Path
from typing import Any

GOOD = ["good", "great", "lovely", "gripping", "fine", "fun", "brilliant", "warm", "clever", "moving"]
BAD = ["bad", "dull", "awful", "messy", "boring", "flat", "stale", "weak", "tired", "clumsy"]
PLAIN = ["film", "movie", "plot", "story", "actor", "scene", "the", "a", "is", "of", "and", "this", "with"]

# Small and quick, whatever the architecture; keys of other architectures are left out.
SMALL: dict[str, Any] = {
    "d_model": 16,
    "d_hidden": 16,
    "n_heads": 2,
    "n_layers": 1,
    "d_head": 8,
    "filters": 8,
    "embedding_dropout": 0.2,
}


def rows(n: int, seed: int = 1) -> list[tuple[str, str]]:
    """Texts of plain words with two that give the label away."""
    drawn = random.Random(seed)
    out = []
    for _ in range(n):
        label = drawn.choice(["neg", "pos"])
        words = drawn.choices(PLAIN, k=drawn.randint(2, 12)) + drawn.choices(
            GOOD if label == "pos" else BAD, k=2
        )
        drawn.shuffle(words)
        out.append((" ".join(words), label))
    return out


def write(path: Path, n: int = 300, seed: int = 1) -> Path:
    """Writes such texts as CSV."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label"])
        writer.writerows(rows(n, seed))
    return path


def tree(arch: str, train_file: Path, /, **more: dict[str, Any]) -> dict[str, Any]:
    """A configuration of a small model, as `resolve` takes it."""
    from sentimodels.models import ARCHITECTURES

    fields = ARCHITECTURES[arch].config.model_fields
    out: dict[str, Any] = {
        "arch": arch,
        "data": {"train": str(train_file), "vocab_size": 300},
        "model": {key: value for key, value in SMALL.items() if key in fields},
        "optim": {"lr": 0.01},
        "train": {"threads": 1, "batch_size": 16, "epochs": 3},
    }
    if arch in ("tfidf", "nb", "bow"):
        out["train"] = {"threads": 1}
    for section, values in more.items():
        out[section] = {**out.get(section, {}), **values}
    return out


def write_books(folder: Path) -> None:
    """Writes `reviews.csv`, and their texts twice, one a line, as `books.txt`."""
    reviews = write(folder / "reviews.csv", 200).read_text().splitlines()[1:]
    lines = [line.rpartition(",")[0].strip('"') for line in reviews]
    (folder / "books.txt").write_text("\n".join(lines * 2) + "\n")
