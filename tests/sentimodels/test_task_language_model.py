"""A causal language model as a task of its own: the trainer is told nothing of it."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sentimodels.config import Course, OptimConfig, TrainConfig
from sentimodels.training.task import Evaluation
from sentimodels.training.trainer import Record, Trainer

TEXT = torch.tensor(list(b"the cat sat on the mat and the dog sat on the cat; " * 40))


class Model(nn.Module):
    """States of the tokens so far, then the embedding once more: tied weights."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(128, 24)
        self.recurrent = nn.GRU(24, 24, batch_first=True)
        self.head = nn.Linear(24, 128)
        self.head.weight = self.embedding.weight

    def forward(self, input_ids: Tensor) -> Tensor:
        logits: Tensor = self.head(self.recurrent(self.embedding(input_ids))[0])
        return logits


@dataclass
class Rows:
    ids: Tensor

    def inputs(self) -> dict[str, Tensor]:
        return {"input_ids": self.ids[:, :-1]}


class NextToken:
    """Rows of 17 bytes, 8 a batch; stops on the perplexity of a part kept apart."""

    def course(self, world: int) -> Course:
        return Course(batch_size=8, n_batches=10 // world, steps=8 * 10 // world)

    def batches(self, epoch: int, position: int, rank: int, world: int) -> Iterator[Rows]:
        order = torch.randperm(80, generator=torch.Generator().manual_seed(epoch))
        for rows in order[rank::world].split(8)[position:]:
            yield Rows(torch.stack([TEXT[row * 17 : row * 17 + 17] for row in rows.tolist()]))

    def loss(self, model: nn.Module, batch: Rows) -> tuple[Tensor, int]:
        logits, targets = model(**batch.inputs()), batch.ids[:, 1:]
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum"), targets.numel()

    @torch.no_grad()
    def evaluate(self, model: nn.Module) -> Evaluation:
        loss, n = self.loss(model.eval(), Rows(TEXT[1700:2000].view(20, 15)))
        return Evaluation({"val_perplexity": float((loss / n).exp())}, "val_perplexity", False)


def test_a_language_model_is_a_task() -> None:
    torch.manual_seed(0)
    records: list[Record] = []
    fit = Trainer(OptimConfig(lr=0.02), TrainConfig(ema=0.0), on_record=records.append).fit(
        Model(), NextToken()
    )
    scores = [record["val_perplexity"] for record in records if "val_perplexity" in record]
    assert (fit.monitor, fit.best, fit.steps) == ("val_perplexity", min(scores), 80)
    assert min(scores) < 3 < scores[0]
    assert fit.tokens == 80 * 8 * 16
