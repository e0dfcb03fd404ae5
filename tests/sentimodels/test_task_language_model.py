"""A causal language model as a custom task: the trainer knows nothing of it."""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor, nn

from sentimodels.config import OptimConfig, TrainConfig, TrainingPlan
from sentimodels.training.trainer import Evaluation, Trainer

TEXT = torch.tensor(list(b"the cat sat on the mat and the dog sat on the cat; " * 40))


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(128, 24)
        self.recurrent = nn.GRU(24, 24, batch_first=True)
        self.head = nn.Linear(24, 128)
        self.head.weight = self.embedding.weight  # tied

    def forward(self, input_ids: Tensor) -> Tensor:
        return torch.as_tensor(self.head(self.recurrent(self.embedding(input_ids))[0]))


class Rows(NamedTuple):
    ids: Tensor

    def inputs(self) -> dict[str, Tensor]:
        return {"input_ids": self.ids[:, :-1]}


class NextToken:
    def plan(self, world: int) -> TrainingPlan:
        return TrainingPlan(batch_size=8, n_batches=10, steps=80)

    def batches(self, epoch: int, position: int, rank: int, world: int) -> Iterator[Rows]:
        order = torch.randperm(80, generator=torch.Generator().manual_seed(epoch))
        return (Rows(TEXT[:1360].view(80, 17)[rows]) for rows in order.split(8)[position:])

    def loss(self, model: nn.Module, batch: Rows) -> tuple[Tensor, int]:
        logits = model(**batch.inputs()).flatten(0, 1)
        targets = batch.ids[:, 1:].flatten()
        return nn.functional.cross_entropy(logits, targets, reduction="sum"), len(targets)

    @torch.no_grad()
    def evaluate(self, model: nn.Module) -> Evaluation:
        loss, n = self.loss(model, Rows(TEXT[1700:2000].view(20, 15)))
        return Evaluation({"val_perplexity": float((loss / n).exp())}, "val_perplexity", False)


def test_a_language_model_is_a_task() -> None:
    torch.manual_seed(0)
    model = Model()
    fit = Trainer(OptimConfig(lr=0.02), TrainConfig(ema=0.0, patience=0)).fit(model, NextToken())
    assert (fit.monitor, fit.steps, fit.tokens) == ("val_perplexity", 80, 80 * 8 * 16)
    assert 1 < (fit.best or 0) == NextToken().evaluate(model).value < 2
    assert not model.embedding.sparse  # its gradients are in every row
