"""The modules of benches/models, and results as they write them, for tests of the pages of results.

Not for the result files that are there (`benches/models/results`).
"""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from sentimodels.runs.config import resolve

FOLDER = Path(__file__).resolve().parents[1] / "benches" / "models"


@pytest.fixture(scope="module")
def bench() -> Iterator[Any]:
    """The modules of benches/models, by name."""
    sys.path.insert(0, str(FOLDER))
    try:

        class Modules:
            def __getattr__(self, name: str) -> ModuleType:
                return importlib.import_module(name)

        names = (
            "auto_order",
            "result",
            "rows",
            "bars",
            "bars_page",
            "judged",
            "parts",
            "claims",
            "results_page",
            "translations",
            "run_all",
            "train_one",
            "mixtures",
            "origins",
        )
        for name in names:
            importlib.import_module(name)
        yield Modules()
    finally:
        sys.path.remove(str(FOLDER))


def made(bench: Any, of_set: str, row: str, seed: int, accuracy: float, **cost: Any) -> dict[str, Any]:
    """A result as `train_one.py` writes it, without training."""
    rows_of = np.full(100, 10)
    right = np.random.default_rng(seed).binomial(10, accuracy, 100)
    place = {"rows": 1000, "accuracy": accuracy, "macro_f1": accuracy - 0.1, "quadratic_kappa": 0.5,
             "log_loss": 1.0, "ece": 0.01, "ece_before": 0.02}  # fmt: skip
    asked = bench.rows.rows_of(of_set)[row]
    config = bench.result.settings(resolve(asked.tree))
    return {
        "set": of_set, "row": row, "seed": seed,
        "stamp": {"commit": "0" * 40, "changed": [], "code": bench.result.code_hash(config["arch"]),
                  "versions": {"torch": "2", "scikit-learn": "1", "sentitok": "0"}, "machine": "x",
                  "cores": 2, "date": "2026-01-01 00:00", "load": [0.1, 0.2], "command": "c"},
        "config": config, "config_sha256": bench.result.digest(config),
        "data": {part: {"rows": 5, "sha256": part} for part in ("train", "dev", "sealed")},
        "cost": {"seconds": 1.0, "cpu_seconds": 1.0, "fit_seconds": 1.0, "peak_memory_bytes": 1,
                 "parameters": 3, "tokens_per_second": None, "padding": None, "temperature": 1.0, **cost},
        "scores": dict.fromkeys(("dev", "sealed", "kaggle", "kaggle_unseen", "sst5", "sst2"), place),
        "sealed": {"rows": bench.result.pack(rows_of), "right": bench.result.pack(right)},
    }  # fmt: skip
