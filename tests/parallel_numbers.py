"""Parallel text that a tiny model learns in seconds: numbers in words, from English to German."""

import random
from pathlib import Path
from typing import Any

__all__ = ["TINY", "number_pairs", "small_translation", "write_pairs", "write_parts"]

_ENGLISH = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
_GERMAN = ["null", "eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun"]

# Settings of a model that learns it.
TINY = [
    "--vocab", "320", "--batch-tokens", "600", "--lr", "0.01", "--threads", "1", "--set", "model.d_model=32",
    "--set", "model.n_layers=1", "--set", "model.n_decoder_layers=1", "--set", "model.n_heads=2",
    "--set", "model.dropout=0.0", "--set", "train.ema=0.9",
]  # fmt: skip


def number_pairs(n: int, seed: int = 0, longest: int = 6) -> tuple[list[str], list[str]]:
    """Returns sources and targets."""
    drawn = random.Random(seed)
    numbers = [[drawn.randrange(10) for _ in range(drawn.randint(1, longest))] for _ in range(n)]
    sources = [" ".join(_ENGLISH[digit] for digit in row) for row in numbers]
    return sources, [" ".join(_GERMAN[digit] for digit in row) for row in numbers]


def write_pairs(folder: Path, name: str, n: int, seed: int = 0, longest: int = 6) -> list[str]:
    """Writes `NAME.en` and `NAME.de`; returns their names."""
    files = [f"{name}.en", f"{name}.de"]
    for file, lines in zip(files, number_pairs(n, seed, longest), strict=True):
        (folder / file).write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return files


def write_parts(folder: Path) -> Path:
    """Writes pairs to train on, to validate on and to test on; returns the folder."""
    for seed, (name, n) in enumerate({"train": 1500, "valid": 40, "test": 40}.items()):
        write_pairs(folder, name, n, seed)
    return folder


def small_translation(folder: Path, **sections: dict[str, Any]) -> Any:
    """Returns the configuration of a model that learns the pairs of `write_parts` in seconds."""
    from sentimodels.lm.translation_config import resolve_translation

    files = {name: [str(folder / f"{name}.{side}") for side in ("en", "de")] for name in ("train", "valid")}
    small = {"d_model": 32, "n_layers": 1, "n_decoder_layers": 1, "n_heads": 2, "dropout": 0.0}
    tree = {
        "data": {**files, "vocab_size": 320},
        "model": small,
        "optim": {"lr": 0.01},
        "train": {"epochs": 8, "batch_tokens": 600, "ema": 0.9, "device": "cpu", "threads": 1},
    }
    return resolve_translation(tree, sections)
