"""What is said of settings before training: those that do nothing, and those that are slow here."""

import pytest
import torch

from sentimodels.config import OptimConfig, TrainConfig
from sentimodels.training.advice import advice


@pytest.mark.parametrize(
    ("precision", "processor", "told"),
    [
        ("bfloat16", "AVX2", True),
        ("bfloat16", "NO AVX", True),
        ("bfloat16", "AVX512", False),
        ("bfloat16", "DEFAULT", False),  # what torch is built for on an ARM Mac
        ("float32", "AVX2", False),
        ("auto", "AVX2", False),
    ],
)
def test_bfloat16_on_a_processor_without_its_products(
    precision: str, processor: str, told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: processor)
    train = TrainConfig.model_validate({"precision": precision, "device": "cpu"})
    said = list(advice(OptimConfig(), train, lambda: 10))
    assert len(said) == told
    assert all(one.endswith("type: --precision float32") for one in said)


def test_steps_are_counted_only_where_something_is_to_be_released() -> None:
    train = TrainConfig.model_validate({"device": "cpu", "precision": "float32"})

    def steps() -> int:
        raise AssertionError("counted")

    assert list(advice(OptimConfig(), train, steps)) == []
    frozen = OptimConfig.model_validate({"freeze": ["backbone."], "unfreeze_at": 10})
    assert list(advice(frozen, train, lambda: 11)) == []
    (said,) = advice(frozen, train, lambda: 10)
    assert said == "optim.unfreeze_at 10: training has 10 steps, so what is frozen stays so"
