"""`plan`, which `--dry-run` prints: steps of a run are tried, and nothing is left of it."""

import itertools
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from animals import config_of, write_corpus
from sentimodels.errors import DataError
from sentimodels.models.language import build_language_model
from sentimodels.runs.execute import execute, recipe_of, train
from sentimodels.runs.families import LANGUAGE_MODEL, resolve
from sentimodels.runs.init_weights import inherit_size
from sentimodels.runs.plan import plan
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
    """A masked model's head reads masked tokens; nobody multiplies by a table of places or segments."""
    config = config_of(Path(), "bert", task={"rate": 0.25, "next_sentence": True})
    module = build_language_model(config, 300)
    sizes = {name: p.numel() for name, p in module.named_parameters()}
    of_head = sum(n for name, n in sizes.items() if name.startswith("head."))
    blocks = sum(n for name, n in sizes.items() if re.search(r"transformer\.(?!positions)", name))
    assert sizes["backbone.transformer.positions.weight"] > 0
    assert working_parameters(module) == round(blocks + 0.25 * (of_head + sizes["backbone.embedding.weight"]))


@pytest.mark.parametrize("arch", ["gpt", "bert", "mamba"])
def test_a_plan_is_what_the_run_is(arch: str, corpus: Path, tmp_path: Path) -> None:
    config = config_of(corpus, arch)
    found = plan(recipe_of(config))
    made = train(config, tmp_path / "run")
    for key in ("parameters", "vocabulary"):
        assert found[key] == made[key]
    assert (found["steps"], found["tokens_of_a_step"]) == (made["planned_steps"], 4 * 32)
    assert found["corpus_tokens"] == made["corpus"]["tokens"][0]
    assert found["fits"]
    assert found["seconds"] > 0
    assert found["tokens_per_second"] > 0


def test_a_plan_draws_the_time_of_its_steps_out(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each step is said to take 2 seconds."""
    clock = itertools.count(0, 2)
    monkeypatch.setattr("sentimodels.runs.plan.time", SimpleNamespace(perf_counter=lambda: next(clock)))
    found = plan(recipe_of(config_of(corpus)))
    assert found["seconds"] == pytest.approx(2 * 12)
    assert found["tokens_per_second"] == pytest.approx(4 * 32 / 2)


def test_a_plan_takes_three_steps_and_scores_nothing(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[object] = []
    real = torch.optim.Optimizer.zero_grad

    def noted(self: torch.optim.Optimizer, *args: Any, **given: Any) -> None:
        steps.append(self)
        real(self, *args, **given)

    monkeypatch.setattr(torch.optim.Optimizer, "zero_grad", noted)
    monkeypatch.setattr("sentimodels.runs.plan._SECONDS", 0.0)
    recipe = recipe_of(config_of(corpus, train={"max_steps": 1_000}))
    scored: list[object] = []
    monkeypatch.setattr("sentimodels.tasks.next_token.NextToken.evaluate", lambda *_: scored.append(True))
    found = plan(recipe)
    assert found["steps"] == 1_000
    assert len(steps) == 3
    assert scored == []
    assert not recipe.out.exists()


def test_a_plan_counts_the_tokens_of_a_base(corpus: Path, tmp_path: Path) -> None:
    made = train(config_of(corpus, train={"max_steps": 1}), tmp_path / "base")
    given = {
        "data": {"corpus": [str(corpus)]},
        "train": {"init_from": str(tmp_path / "base"), "max_steps": 1},
    }
    found = plan(recipe_of(LANGUAGE_MODEL.resolve(*inherit_size(given))))
    assert (found["vocabulary"], found["parameters"]) == (300, made["parameters"])


def test_documents_that_a_plan_has_not_read_leave_the_steps_open(
    corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sentimodels.runs.corpus._DOCUMENTS", 50)
    whole = {"epochs": 2, "max_steps": None}
    found = plan(recipe_of(config_of(corpus, train=whole)))
    assert found["train_documents"] + found["valid_documents"] == 50
    assert {"steps", "seconds"}.isdisjoint(found)
    assert plan(recipe_of(config_of(corpus)))["steps"] == 12  # whatever the corpus


def test_a_model_that_does_not_fit_is_not_tried(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    large = LANGUAGE_MODEL.resolve({"preset": "5x-large", "data": {"corpus": [str(corpus)]}})
    monkeypatch.setattr("sentimodels.runs.plan._memory", lambda _: 10e9)
    found = plan(recipe_of(large))
    assert not found["fits"]
    assert found["parameters"] > 5e9
    assert found["memory_bytes"] == 4 * 4 * found["parameters"]  # weights, gradients, two moments
    assert "seconds" not in found


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("DefaultCPUAllocator: not enough memory")])
def test_memory_that_is_exhausted_in_a_step(
    error: Exception, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def loss(*_: object) -> Any:
        raise error

    monkeypatch.setattr("sentimodels.tasks.next_token.NextToken.loss", loss)
    found = plan(recipe_of(config_of(corpus)))
    assert not found["fits"]
    assert found["parameters"] > 0


def test_what_is_wrong_with_a_run_is_wrong_with_its_plan(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,label\n" + "".join(f"text {n},only\n" for n in range(40)))
    config = resolve({"arch": "cnn", "data": {"train": str(tmp_path / "a.csv")}})
    with pytest.raises(DataError) as of_plan:
        plan(recipe_of(config))
    with pytest.raises(DataError) as of_run:
        execute(recipe_of(config), tmp_path / "run")
    assert str(of_plan.value) == str(of_run.value)
    assert not (tmp_path / "run").exists()


def test_several_processes_do_not_plan(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sentimodels.errors import ConfigError

    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ConfigError, match="--dry-run"):
        plan(recipe_of(config_of(corpus)))
