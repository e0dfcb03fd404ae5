"""A causal language model as a task of its own: the trainer is told nothing of it."""

from collections.abc import Iterator
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sentimodels.config import Course, OptimConfig, TrainConfig
from sentimodels.training.task import Evaluation
from sentimodels.training.trainer import Trainer

TEXT = torch.tensor(list(b"the cat sat on the mat and the dog sat on the cat; " * 40))


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(128, 24)
        self.recurrent = nn.GRU(24, 24, batch_first=True)
        self.head = nn.Linear(24, 128)
        self.head.weight = self.embedding.weight  # tied

    def forward(self, input_ids: Tensor) -> Tensor:
        logits: Tensor = self.head(self.recurrent(self.embedding(input_ids))[0])
        return logits


class Rows:
    def __init__(self, ids: Tensor) -> None:
        self.ids, self.targets = ids[:, :-1], ids[:, 1:].flatten()

    def inputs(self) -> dict[str, Tensor]:
        return {"input_ids": self.ids}


class NextToken:
    def course(self, world: int) -> Course:
        return Course(batch_size=8, n_batches=10, steps=80)

    def batches(self, epoch: int, position: int, rank: int, world: int) -> Iterator[Rows]:
        order = torch.randperm(80, generator=torch.Generator().manual_seed(epoch))
        return (Rows(TEXT[:1360].view(80, 17)[rows]) for rows in order.split(8)[position:])

    def loss(self, model: nn.Module, batch: Rows) -> tuple[Tensor, int]:
        logits = model(**batch.inputs()).flatten(0, 1)
        return F.cross_entropy(logits, batch.targets, reduction="sum"), len(batch.targets)

    @torch.no_grad()
    def evaluate(self, model: nn.Module) -> Evaluation:
        loss, n = self.loss(model, Rows(TEXT[1700:2000].view(20, 15)))
        return Evaluation({"val_perplexity": float((loss / n).exp())}, "val_perplexity", False)


def test_a_language_model_is_a_task(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = Model()
    before = NextToken().evaluate(model).value
    fit = Trainer(OptimConfig(lr=0.02), TrainConfig(ema=0.0, patience=0)).fit(model, NextToken())
    assert (fit.monitor, fit.steps, fit.tokens) == ("val_perplexity", 80, 80 * 8 * 16)
    assert fit.best == NextToken().evaluate(model).value
    assert 1 < fit.best < 2 < 50 < before
    assert not model.embedding.sparse  # its gradients are in every row
    torch.manual_seed(0)
    again, asked = Model(), iter(range(1, 100))
    options = OptimConfig(lr=0.02), TrainConfig(ema=0.0, patience=0)
    Trainer(*options, should_stop=lambda: next(asked) == 33).fit(again, NextToken(), folder=tmp_path)
    Trainer(*options).fit(again, NextToken(), folder=tmp_path, resume=True)
    assert torch.equal(again.head.weight, model.embedding.weight)
