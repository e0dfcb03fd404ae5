"""What every row of a table of choices keeps; architectures and explainers have files of their own."""

from pathlib import Path
from typing import Any, get_args

import pytest
import torch
from torch import nn

from sentimodels.config import SCHEDULES, TASKS, DistillationConfig, OptimConfig, Section
from sentimodels.data.readers import READERS, recognise
from sentimodels.explain import EXPLAINERS
from sentimodels.nn.class_head import POOLINGS, Pooling, PoolingKind
from sentimodels.runs.execute import RECIPES
from sentimodels.runs.families import FAMILIES
from sentimodels.runs.tasks import CLASSIFIER_TASKS
from sentimodels.tasks.distillation import DISTANCES
from sentimodels.training.optimizer import OPTIMIZERS, Optimizers, rate


def choices(section: type[Section], key: str) -> set[str]:
    return set(get_args(section.model_fields[key].annotation))


def test_the_configuration_offers_what_the_tables_have() -> None:
    assert choices(OptimConfig, "name") == set(OPTIMIZERS)
    assert choices(OptimConfig, "schedule") == set(SCHEDULES)
    assert choices(DistillationConfig, "loss") == set(DISTANCES)
    assert set(get_args(PoolingKind)) == set(POOLINGS)
    assert set(CLASSIFIER_TASKS) == set(TASKS)
    assert set(RECIPES) == {kind for family in FAMILIES for kind in family.tasks}
    assert all(set(family.commands) == set(family.tasks) for family in FAMILIES)


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_schedule_falls_from_the_highest_rate_to_the_last(name: str) -> None:
    config = OptimConfig.model_validate({"schedule": name, "warmup": 0.2, "min_lr_ratio": 0.1})
    rates = [rate(step, 50, config) for step in range(50)]
    assert max(rates) == rates[10] == pytest.approx(1.0)
    assert rates[:10] == sorted(rates[:10])
    assert rates[10:] == sorted(rates[10:], reverse=True)
    assert rates[-1] == pytest.approx(1.0 if name == "constant" else 0.1)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_an_optimizer_lowers_a_loss_and_resumes_from_its_state(name: str) -> None:
    def trained(steps: int, state: dict[str, Any] | None = None) -> tuple[nn.Module, Optimizers]:
        torch.manual_seed(0)
        module = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
        config = OptimConfig.model_validate({"name": name, "lr": 0.01})
        if state is not None:
            module.load_state_dict(state["module"])
        optimizers = Optimizers(module, config, sparse=())
        if state is not None:
            optimizers.load(state["tensors"])
        for _ in range(steps):
            optimizers.set_rate(1.0)
            optimizers.zero_grad()
            module(rows).square().mean().backward()
            optimizers.step()
        return module, optimizers

    rows = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
    before, _ = trained(0)
    half, optimizers = trained(5)
    whole, _ = trained(10)
    assert whole(rows).square().mean() < before(rows).square().mean()
    state = {"module": half.state_dict(), "tensors": {k: v.clone() for k, v in optimizers.tensors().items()}}
    resumed, _ = trained(5, state)
    for one, other in zip(whole.parameters(), resumed.parameters(), strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("name", POOLINGS)
def test_a_pooling_reads_real_tokens_only(name: PoolingKind) -> None:
    pooling = Pooling(name, 6)
    states = torch.randn(3, 5, 6)
    mask = torch.arange(5)[None] < torch.tensor([3, 5, 0])[:, None]
    pooled = pooling(states, mask)
    assert pooled.shape == (3, pooling.d_out)
    states[0, 3:] = 9.0
    torch.testing.assert_close(pooling(states, mask), pooled)
    assert not pooled[2].any()


@pytest.mark.parametrize("name", [name for name, row in READERS.items() if row.suffixes])
def test_a_reader_is_found_by_the_suffixes_of_its_row(name: str, tmp_path: Path) -> None:
    for suffix in READERS[name].suffixes:
        (tmp_path / f"a{suffix}").write_text("x")
        assert recognise(tmp_path / f"a{suffix}") == name


def test_something_explains_an_ensemble() -> None:
    assert any(row.of_ensembles for row in EXPLAINERS.values())
