"""Notes on settings before training: settings without effect, and slow ones."""

import platform
from pathlib import Path

import pytest
import torch

from animals import config_of, write_corpus
from sentimodels.cli.command import Output
from sentimodels.cli.launch import dry_run_of
from sentimodels.config import OptimConfig, TrainConfig
from sentimodels.runs.execute import config_warnings, recipe_of


@pytest.mark.parametrize(
    ("precision", "processor", "kernels", "told"),
    [
        ("bfloat16", "x86_64", "AVX2", True),
        ("bfloat16", "AMD64", "DEFAULT", True),  # no AVX2 either
        ("bfloat16", "x86_64", "AVX512", False),
        ("bfloat16", "arm64", "DEFAULT", False),
        ("bfloat16", "aarch64", "SVE256", False),
        ("float32", "x86_64", "AVX2", False),
        ("auto", "x86_64", "AVX2", False),
    ],
)
def test_bfloat16_on_a_processor_without_its_products(
    precision: str, processor: str, kernels: str, told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: processor)
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: kernels)
    train = TrainConfig.model_validate({"precision": precision, "device": "cpu"})
    said = list(config_warnings(OptimConfig(), train, lambda: 10))
    assert len(said) == told
    assert all(one.endswith("--precision float32 is many times faster") for one in said)


def test_steps_are_counted_only_where_something_is_to_be_released() -> None:
    train = TrainConfig.model_validate({"device": "cpu", "precision": "float32"})

    def steps() -> int:
        raise AssertionError("counted")

    assert list(config_warnings(OptimConfig(), train, steps)) == []
    frozen = OptimConfig.model_validate({"freeze": ["backbone."], "unfreeze_at": 10})
    assert list(config_warnings(frozen, train, lambda: 11)) == []
    (said,) = config_warnings(frozen, train, lambda: 10)
    assert said == "optim.unfreeze_at 10: training has 10 steps, so frozen weights stay frozen"


def test_a_dry_run_says_so_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sentimodels.training.device.lacks_bfloat16", lambda: True)
    corpus = write_corpus(tmp_path)
    for precision, told in (("bfloat16", True), ("float32", False)):
        config = config_of(corpus, train={"precision": precision, "device": "cpu"})
        dry_run_of(Output("senti.pretrain/1", as_json=False, quiet=False), recipe_of(config))
        out, err = capsys.readouterr()
        assert ("--precision float32 is many times faster" in err) == told
        assert "parameters" in out
