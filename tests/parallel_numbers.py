"""Parallel text that a tiny model learns in seconds: numbers in words, from English to German."""

import random
from pathlib import Path
from typing import Any

from sentimodels.config import TranslationConfig
from sentimodels.runs.families import TRANSLATOR, set_value

__all__ = ["TINY", "number_pairs", "small_translation", "write_pairs", "write_parts"]

_ENGLISH = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
_GERMAN = ["null", "eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun"]

# Settings of a model that learns it, and the same as options of a command.
_SETTINGS = {
    "data.vocab_size": "320", "model.d_model": "32", "model.n_layers": "1", "model.n_decoder_layers": "1",
    "model.n_heads": "2", "model.dropout": "0.0", "optim.lr": "0.01", "train.batch_tokens": "600",
    "train.ema": "0.9", "train.threads": "1",
}  # fmt: skip
TINY = [word for key, value in _SETTINGS.items() for word in ("--set", f"{key}={value}")]


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


def small_translation(folder: Path, **sections: dict[str, Any]) -> TranslationConfig:
    """Returns the configuration of a model that learns the pairs of `write_parts` in seconds."""
    files = {name: [str(folder / f"{name}.{side}") for side in ("en", "de")] for name in ("train", "valid")}
    tree: dict[str, Any] = {"data": files, "train": {"epochs": 8, "device": "cpu"}}
    for key, value in _SETTINGS.items():
        set_value(tree, f"{key}={value}")
    return TRANSLATOR.resolve(tree, sections)
