"""Numbers instead of classes as a custom task: the trainer knows nothing of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from sentimodels.config import OptimConfig, TrainConfig, TrainingPlan
from sentimodels.errors import TrainingError
from sentimodels.training.trainer import Evaluation, Trainer

X = torch.randn(64, 5, generator=torch.Generator().manual_seed(1))
Y = X @ torch.tensor([1.0, -2.0, 0.5, 0.0, 3.0]) + 0.25


class Rows:
    def __init__(self, rows: Tensor) -> None:
        self.x, self.y = X[rows], Y[rows]

    def inputs(self) -> dict[str, Tensor]:
        return {"input": self.x}


class Regression:
    """The squared error of a line through points, 16 a batch; stops on that of the whole."""

    def plan(self, world: int) -> TrainingPlan:
        return TrainingPlan(batch_size=16, n_batches=4, steps=240)

    def batches(self, epoch: int, position: int, rank: int, world: int) -> Iterator[Rows]:
        return (Rows(torch.arange(start, 64, 4)) for start in range(position, 4))

    def loss(self, model: nn.Module, batch: Rows) -> tuple[Tensor, int]:
        return ((model(**batch.inputs())[:, 0] - batch.y) ** 2).sum(), len(batch.y)

    @torch.no_grad()
    def evaluate(self, model: nn.Module) -> Evaluation:
        return Evaluation({"val_mse": float(((model(X)[:, 0] - Y) ** 2).mean())}, "val_mse", False)


def test_a_regression_is_a_task() -> None:
    torch.manual_seed(0)
    model = nn.Linear(5, 1)
    fit = Trainer(OptimConfig(lr=0.1, weight_decay=0.0), TrainConfig(ema=0.0, patience=0)).fit(
        model, Regression()
    )
    assert (fit.monitor, fit.best is not None and fit.best < 1e-2) == ("val_mse", True)
    assert model.weight[0].tolist() == pytest.approx([1.0, -2.0, 0.5, 0.0, 3.0], abs=0.1)


def test_a_score_that_is_not_finite_ends_the_run(tmp_path: Path) -> None:
    model = nn.Linear(5, 1)
    optim = OptimConfig(name="sgd", lr=1e19, clip=0.0, warmup=0.0)
    with pytest.raises(TrainingError, match=r"val_mse is inf after step 1|the loss is"):
        Trainer(optim, TrainConfig(ema=0.0, evaluate_every=1)).fit(model, Regression(), folder=tmp_path)
