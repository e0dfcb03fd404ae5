"""Parallel text that a tiny model learns in seconds: numbers in words, from English to German."""

import random
from pathlib import Path

__all__ = ["TINY", "number_pairs", "write_pairs"]

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
