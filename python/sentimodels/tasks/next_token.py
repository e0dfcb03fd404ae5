"""`NextToken`: a causal language model as a task: batches of rows, the loss of each next token, scores.

A row is a context of tokens and the one that follows; of a validation row only tokens that no row before it
has had count, so the score is that of the whole text, each token once.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from sentitok import Tokenizer

from ..config import LanguageConfig, TrainingPlan
from ..models.language import CausalModel
from ..nn.cross_entropy import IGNORED
from ..text.corpus import Corpus
from ..text.corpus_stats import bits_per_byte
from ..text.packed import PackedSplit, RowOrder
from ..training.trainer import Evaluation, NotFiniteError

__all__ = [
    "LanguageRows",
    "NextToken",
    "Rows",
    "evaluating",
    "loss_scores",
    "of_rows",
    "rows_at_once",
    "rows_of",
]


# Tokens that go through the model at once on a CPU: with 2,048 a step of preset tiny takes a tenth longer, in
# bfloat16 a quarter; with 8,192 it takes as long, and 400 MB more.
_TOKENS = 4096


@dataclass(frozen=True)
class LanguageRows:
    """The parts of a language model's task.

    Attributes:
        corpus: the rows.
        order: which of them make a batch.
        tokenizer: made their ids.
        bfloat16: whether validation computes in bfloat16.
    """

    corpus: Corpus
    order: RowOrder
    tokenizer: Tokenizer
    bfloat16: bool


class Rows(NamedTuple):
    """Rows of ids (B, T), and the token that follows each, or `IGNORED`."""

    ids: Tensor
    targets: Tensor
    n_targets: int

    def inputs(self) -> dict[str, Tensor]:
        """The arguments of the model."""
        return {"input_ids": self.ids}


def rows_of(part: PackedSplit, numbers: list[int], *, once: bool = False) -> Rows:
    """Reads rows of a part.

    Args:
        part: of the corpus.
        numbers: which rows.
        once: whether tokens that an earlier row has had do not count.
    """
    ids = np.full((len(numbers), part.stride + 1), part.end, np.int64)
    targets = np.full((len(numbers), part.stride), IGNORED, np.int64)
    for place, row in enumerate(numbers):
        tokens = part.read(part.start(row), part.stride + 1)
        ids[place, : len(tokens)] = tokens
        seen = part.n_seen(row) if once else 0
        targets[place, seen : len(tokens) - 1] = tokens[1 + seen :]
    return Rows(torch.from_numpy(ids[:, :-1]), torch.from_numpy(targets), int((targets != IGNORED).sum()))


def rows_at_once(n_rows: int, n_tokens: int, device: torch.device) -> int:
    """Returns how many rows of so many tokens go through the model at once."""
    return n_rows if device.type != "cpu" else min(n_rows, max(1, _TOKENS // n_tokens))


class NextToken:
    """Each token from those before it.

    Args:
        corpus: the rows.
        order: which of them make a batch.
        bfloat16: whether validation computes in bfloat16.
    """

    def __init__(self, corpus: Corpus, order: RowOrder, *, bfloat16: bool = False) -> None:
        self.corpus, self.order, self.bfloat16 = corpus, order, bfloat16

    def plan(self, world: int) -> TrainingPlan:
        """Returns the batches of an epoch and the steps in all."""
        return self.order.plan(world)

    def batches(self, epoch: int, position: int, rank: int, world: int) -> Iterator[Rows]:
        """Yields this process's rows of each batch."""
        for numbers in self.order.batches(epoch, position, rank, world):
            yield rows_of(self.corpus.train, numbers)

    def pieces(self, batch: Rows, device: torch.device) -> Iterator[Rows]:
        """Yields some rows at a time on a CPU, where a whole batch takes more memory and little less time."""
        size = rows_at_once(batch.ids.shape[0], batch.ids.shape[1], device)
        for ids, targets in zip(batch.ids.split(size), batch.targets.split(size), strict=True):
            yield Rows(ids, targets, int((targets != IGNORED).sum()))

    def loss(self, model: nn.Module, batch: Rows) -> tuple[Tensor, int]:
        """Returns the loss summed over the tokens, and how many there are."""
        device = next(model.parameters()).device
        ids, targets = (value.to(device, non_blocking=True) for value in (batch.ids, batch.targets))
        states = model(input_ids=ids)
        whole = _causal(model)
        compiled = whole is not model and device.type != "cpu"  # it makes a CPU no faster
        loss = whole.head.summed_loss(states, targets, whole.backbone, compiled=compiled)
        return loss, batch.n_targets

    def evaluate(self, model: nn.Module) -> Evaluation:
        """Scores the validation part: loss of a token, perplexity, bits per byte of the text."""
        total, n_tokens = torch.zeros((), dtype=torch.float64), 0
        with evaluating(model, bfloat16=self.bfloat16):
            for numbers in self.order.in_order(self.corpus.valid.n_rows):
                loss, n = self.loss(model, rows_of(self.corpus.valid, numbers, once=True))
                total += loss.cpu().double()
                n_tokens += n
        scores = loss_scores(float(total), n_tokens)
        scores["val_bits_per_byte"] = bits_per_byte(float(total), self.corpus.facts.valid_bytes)
        return Evaluation(scores, "val_loss", higher_is_better=False)


def _causal(model: nn.Module) -> CausalModel:
    """Returns the model itself, without what compiles it."""
    whole = getattr(model, "_orig_mod", model)
    assert isinstance(whole, CausalModel)
    return whole


def of_rows(_: LanguageConfig, rows: LanguageRows) -> NextToken:
    """Returns the task of a run."""
    return NextToken(rows.corpus, rows.order, bfloat16=rows.bfloat16)


@contextmanager
def evaluating(model: nn.Module, *, bfloat16: bool) -> Iterator[None]:
    """A block in which a model is in evaluation mode and no gradients are kept.

    Args:
        model: it is in its former mode again after the block.
        bfloat16: whether the block computes in bfloat16.
    """
    kind = next(model.parameters()).device.type
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad(), torch.autocast(kind, torch.bfloat16, enabled=bfloat16):
            yield
    finally:
        model.train(was_training)


def loss_scores(loss: float, n_tokens: int) -> dict[str, float]:
    """Returns the loss of a token, in nats, and the perplexity, of a loss summed over tokens.

    Raises:
        NotFiniteError: if it is not finite.
    """
    if not math.isfinite(loss):
        raise NotFiniteError(f"the validation loss is {loss}")
    mean = loss / max(1, n_tokens)
    return {"val_loss": mean, "val_perplexity": math.exp(min(mean, 700.0))}
