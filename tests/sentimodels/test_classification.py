"""The task of telling classes apart: the losses of every option, and the same ones as ever."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from plain_model import N_CLASSES, PlainModel, encoded
from sentimodels.config import ClassificationConfig, OptimConfig, TrainConfig
from sentimodels.tasks.classification import Classification
from sentimodels.training.trainer import Record, Trainer

# Losses of each step and evaluation, as the trainer had them when it knew labels itself.
SAVED: dict[str, Any] = json.loads(
    (Path(__file__).resolve().parent.parent / "data" / "losses.json").read_text("utf-8")
)


@pytest.mark.parametrize("name", SAVED["cases"])
def test_losses_stay_what_they_were(name: str) -> None:
    """Within rounding: two processors of the same instruction set differ by 2e-7, and so do older sets."""
    case = SAVED["cases"][name]
    train, labels = encoded(90, 1)
    valid, valid_labels = encoded(30, 2)
    torch.manual_seed(5)
    model = PlainModel(sparse=True)
    config = TrainConfig(epochs=3, batch_size=16, log_every=1, ema=0.9, seed=4)
    options = ClassificationConfig(**case["task"])
    task = Classification(options, config, train, labels, valid, valid_labels, n_classes=N_CLASSES)
    records: list[Record] = []
    Trainer(OptimConfig(lr=0.02), config, on_record=records.append).fit(model, task)
    found = {
        "losses": [record["loss"] for record in records if "loss" in record],
        "val_losses": [record["val_loss"] for record in records if "val_loss" in record],
    }
    expected = {key: case[key] for key in found}
    for key, values in expected.items():
        assert found[key] == pytest.approx(values, rel=1e-6)


def test_options_differ() -> None:
    """So that no case above can pass for another."""
    assert len({tuple(case["losses"]) for case in SAVED["cases"].values()}) == len(SAVED["cases"])
