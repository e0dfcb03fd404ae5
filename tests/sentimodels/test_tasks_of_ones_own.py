"""A causal language model, a masked one and a value head: backbone, head and task, trained by `Trainer.fit`.

Each takes fewer than 60 lines, the classes that all three share included, and the trainer knows nothing
of them. `test_heads.py` tests the heads by themselves.
"""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sentimodels.config import OptimConfig, TrainConfig, TrainingPlan
from sentimodels.models import ARCHITECTURES, build_backbone
from sentimodels.nn.cross_entropy import IGNORED
from sentimodels.nn.token_heads import MaskedTokenHead, NextTokenHead
from sentimodels.text.vocabulary import Inputs
from sentimodels.training.trainer import Evaluation, Trainer

V, MASK_ID, WIDTH = 30, 29, 12
PRE = {"norm_order": "pre", "positions": "rotary"}
CAUSAL = {"causal": True, **PRE}


class Model(nn.Module):
    def __init__(self, name: str, head: Any, **options: Any) -> None:
        super().__init__()
        sizes = {"d_model": 32, "n_heads": 2, "n_layers": 2, "dropout": 0.0, "char_ngrams": (0, 0), **options}
        config = ARCHITECTURES[name].config.model_validate(sizes)
        self.backbone = build_backbone(name, config, Inputs(V, 2))
        self.head = head(self.backbone)

    def forward(self, input_ids: Tensor) -> Tensor:
        states: Tensor = self.backbone(input_ids)
        return states


class Rows(NamedTuple):
    ids: Tensor
    targets: Tensor

    def inputs(self) -> dict[str, Tensor]:
        return {"input_ids": self.ids}


class Own(ABC):
    """What the three tasks share: texts that count on from a random start by a step of at most `most`."""

    most, steps = 3, 100

    def plan(self, world: int) -> TrainingPlan:
        return TrainingPlan(batch_size=32, n_batches=20, steps=self.steps)

    def batches(self, epoch: int, position: int, rank: int, world: int) -> Iterator[Rows]:
        return (self.rows(1000 * epoch + place) for place in range(position, 20))

    def rows(self, seed: int) -> Rows:
        torch.manual_seed(seed)
        start, step = torch.randint(0, 28, (32, 1)), torch.randint(1, self.most + 1, (32, 1))
        return self.asked((start + step * torch.arange(WIDTH)) % 28)

    @abstractmethod
    def asked(self, ids: Tensor) -> Rows:
        """Makes a batch of texts: the inputs, and the targets."""

    @abstractmethod
    def loss(self, model: nn.Module, batch: Rows) -> tuple[Tensor, int]:
        """Returns the sum of the losses, and how many there are."""

    @torch.no_grad()
    def evaluate(self, model: nn.Module) -> Evaluation:
        loss, n = self.loss(model.eval(), self.rows(-1))
        model.train()
        return Evaluation({"val_loss": float(loss / n)}, "val_loss", False)


class NextToken(Own):
    def asked(self, ids: Tensor) -> Rows:
        return Rows(ids[:, :-1], ids[:, 1:])

    def loss(self, model: Any, batch: Rows) -> tuple[Tensor, int]:
        losses = model.head.loss(model(**batch.inputs()), batch.targets, model.backbone)
        return losses.sum(), losses.numel()


class Masked(Own):
    most, steps = 1, 240

    def asked(self, ids: Tensor) -> Rows:
        hidden = torch.rand(ids.shape) < 0.3
        return Rows(ids.masked_fill(hidden, MASK_ID), ids.masked_fill(~hidden, IGNORED))

    def loss(self, model: Any, batch: Rows) -> tuple[Tensor, int]:
        losses = model.head.loss(model(**batch.inputs()), batch.targets, model.backbone)
        return losses.sum(), losses.numel()


class Values(Own):
    """The value of a place is the share of even numbers up to it."""

    def asked(self, ids: Tensor) -> Rows:
        return Rows(ids, (ids % 2 == 0).cumsum(1) / torch.arange(1, WIDTH + 1))

    def loss(self, model: Any, batch: Rows) -> tuple[Tensor, int]:
        values = model.head(model(**batch.inputs()))
        return F.mse_loss(values, batch.targets, reduction="sum"), values.numel()


# The model, and a loss that only a trained model reaches: of counting on, 1.1 nats in eleven
# tokens cannot be known, and a guess of a token is 3.3; the variance of the shares is 0.10.
class ValueHead(nn.Module):
    """A custom head: a value of each state, (B, T, 32) to (B, T)."""

    def __init__(self) -> None:
        super().__init__()
        self.output = nn.Linear(32, 1)

    def forward(self, states: Tensor) -> Tensor:
        values: Tensor = self.output(states).squeeze(-1)
        return values


OWN: list[tuple[type[Own], Any, dict[str, Any], float]] = [
    (NextToken, lambda backbone: NextTokenHead(backbone, V), {"name": "gpt", **CAUSAL}, 0.8),
    (Masked, lambda backbone: MaskedTokenHead(backbone, V, std=0.1), {"name": "bert", **PRE}, 1.0),
    (Values, lambda _: ValueHead(), {"name": "gpt", **CAUSAL}, 0.01),
]


@pytest.mark.parametrize(
    ("task", "head", "options", "most"), OWN, ids=lambda one: getattr(one, "__name__", "")
)
def test_a_task_of_ones_own(task: type[Own], head: Any, options: dict[str, Any], most: float) -> None:
    torch.manual_seed(0)
    model = Model(head=head, **options)
    first = task().evaluate(model).value
    fit = Trainer(OptimConfig(lr=0.01), TrainConfig(ema=0.0, patience=0)).fit(model, task())
    assert (fit.monitor, fit.steps) == ("val_loss", task.steps)
    assert (fit.best or 0) == pytest.approx(task().evaluate(model).value)
    assert (fit.best or 9) < min(most, first / 2)


@pytest.mark.parametrize("task", [NextToken, Masked, Values])
def test_it_takes_fewer_than_sixty_lines(task: type[Own]) -> None:
    lines = [line for part in (Model, Rows, Own, task) for line in inspect.getsource(part).splitlines()]
    assert len([line for line in lines if line.strip()]) < 60
