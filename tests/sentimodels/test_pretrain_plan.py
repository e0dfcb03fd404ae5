"""`senti pretrain --dry-run`: what would be built, about what it would take, and which parameters work."""

import re
from pathlib import Path
from typing import Any

import pytest
import torch

from animals import config_of, write_corpus
from sentimodels.models.language import build_language_model
from sentimodels.recipes.pretraining import pretrain
from sentimodels.recipes.pretraining_plan import _loss, plan
from sentimodels.runs.families import LANGUAGE_MODEL
from sentimodels.runs.start import as_grown
from sentimodels.training.history import working_parameters


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("corpus"))


def test_a_table_that_a_head_reads_counts_as_work() -> None:
    """MFU counts the parameters that every token goes through."""
    tied, untied = (build_language_model(config_of(Path(), task={"tied": on}), 300) for on in (True, False))
    blocks = sum(p.numel() for name, p in tied.named_parameters() if "embedding" not in name)
    assert working_parameters(tied) == working_parameters(untied) == blocks + 300 * 16


def test_a_head_counts_for_the_tokens_that_it_reads() -> None:
    """A masked model's reads those that are masked; nobody multiplies by a table of places or segments."""
    config = config_of(Path(), "bert", task={"rate": 0.25, "next_sentence": True})
    module = build_language_model(config, 300)
    sizes = {name: p.numel() for name, p in module.named_parameters()}
    of_head = sum(n for name, n in sizes.items() if name.startswith("head."))
    blocks = sum(n for name, n in sizes.items() if re.search(r"transformer\.(?!positions)", name))
    assert sizes["backbone.transformer.positions.weight"] > 0
    assert working_parameters(module) == round(blocks + 0.25 * (of_head + sizes["backbone.embedding.weight"]))


def test_the_plan_counts_without_reading(tmp_path: Path) -> None:
    found = plan(
        LANGUAGE_MODEL.resolve({"preset": "tiny", "data": {"vocab_size": 10_000}, "task": {"tied": False}})
    )
    assert found["parameters"] == pytest.approx(8.14e6, rel=0.01)
    assert found["parameters_of_blocks"] == pytest.approx(3.0e6, rel=0.02)
    assert (found["tokens_of_a_step"], found["tokens"]) == (32 * 256, 82_000_000)
    large = plan(LANGUAGE_MODEL.resolve({"preset": "5x-large"}))
    assert large["parameters"] > 5e9
    assert {"seconds", "memory_bytes"}.isdisjoint(large)  # too large to be tried
    assert list(tmp_path.iterdir()) == []


def test_the_plan_counts_the_tokens_of_a_base(corpus: Path, tmp_path: Path) -> None:
    made = pretrain(config_of(corpus, train={"max_steps": 1}), tmp_path / "base")
    given = {
        "data": {"corpus": [str(corpus)]},
        "train": {"init_from": str(tmp_path / "base"), "max_steps": 1},
    }
    found = plan(LANGUAGE_MODEL.resolve(*as_grown(given)))
    assert (found["vocabulary"], found["parameters"]) == (300, made["parameters"])


@pytest.mark.parametrize("arch", ["gpt", "bert", "mamba"])
def test_the_plan_estimates_time_and_memory(arch: str) -> None:
    tree = {"arch": arch, "preset": "nano", "data": {"context": 32, "vocab_size": 300}}
    found = plan(LANGUAGE_MODEL.resolve({**tree, "train": {"max_steps": 1000, "batch_size": 2}}))
    assert found["seconds"] > 0
    assert found["memory_bytes"] > 5 * 4 * found["parameters"]
    # How long a corpus is, nobody has looked.
    assert "seconds" not in plan(LANGUAGE_MODEL.resolve({**tree, "train": {"epochs": 1, "batch_size": 2}}))


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_the_plan_tries_the_precision_of_the_run(precision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def loss(module: Any, *rows: Any) -> Any:
        tried.append(torch.is_autocast_enabled("cpu"))
        return _loss(module, *rows)

    monkeypatch.setattr("sentimodels.recipes.pretraining_plan._loss", loss)
    tree = {"preset": "nano", "data": {"context": 32, "vocab_size": 300}}
    train = {"max_steps": 1, "batch_size": 2, "device": "cpu", "precision": precision}
    plan(LANGUAGE_MODEL.resolve({**tree, "train": train}))
    assert set(tried) == {precision == "bfloat16"}
