"""`Seq2Seq`: a target for each source; see `training.trainer.Task`.

Cross entropy of each token of the targets and of their end, smoothed in training alone (Szegedy et al. 2016):
validation loss and perplexity are of the plain one. The same for an encoder-decoder and for a causal model:
the `PairFormat` knows how each reads pairs.
"""

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..config import Seq2SeqConfig, TrainingPlan, TranslationTrainConfig
from ..generation.pair_formats import Writer
from ..nn.cross_entropy import IGNORED, summed_cross_entropy
from ..text.pairs import Pairs, Rows, plan
from ..training.device import use_bfloat16
from ..training.trainer import Evaluation
from .next_token import evaluating, loss_scores

__all__ = ["PairFormat", "Seq2Seq"]

# Places of a validation batch.
_PLACES = 16_384


class PairFormat(Protocol):
    """How a model reads pairs, and what it writes with."""

    @property
    def end_id(self) -> int:
        """The marker that ends a text."""

    def sources(self, rows: Rows) -> Rows:
        """Returns sources as the model reads them."""

    def widths(self, pairs: Pairs) -> NDArray[np.int64]:
        """Returns the places (n, sides) that each side of a pair takes."""

    def batch(self, pairs: Pairs, rows: NDArray[np.int64]) -> Any:
        """Returns some pairs as a batch with `labels`."""

    def table(self, model: Any) -> Tensor:
        """Returns the table (V, D) that states are compared with."""

    def room(self, model: Any, sources: Rows) -> NDArray[np.int64] | None:
        """Returns how many tokens, the end included, a target of each source may have; `None`: any number."""

    def alike(self, model: Any) -> bool:
        """Whether sources that are read together must be of one length."""

    def writer(self, model: Any, sources: Rows, rows: NDArray[np.int64]) -> Writer:
        """Returns an object that writes the targets of some sources."""


class Seq2Seq:
    """The task of writing a target for a source.

    Args:
        config: `[task]`.
        train: `[train]`.
        format: how the model reads pairs.
        pairs: the training pairs, sources as the format has them.
        valid: the pairs that decide which weights are best, or `None`.
        bleu: of the model's translations of the validation sources; asked for `monitor` bleu alone.
    """

    def __init__(
        self,
        config: Seq2SeqConfig,
        train: TranslationTrainConfig,
        format: PairFormat,
        pairs: Pairs,
        valid: Pairs | None = None,
        *,
        bleu: Callable[[nn.Module], float] | None = None,
    ) -> None:
        self.config, self.train, self.format = config, train, format
        self.pairs, self.valid, self.bleu = pairs, valid, bleu
        self._widths = format.widths(pairs)

    def _plan(self, epoch: int, world: int) -> list[NDArray[np.int64]]:
        places = self.train.batch_tokens * world
        return plan(self._widths, places, seed=self.train.seed, epoch=epoch)

    def plan(self, world: int) -> TrainingPlan:
        """Returns the batches of an epoch and the steps in all."""
        return self.train.plan(len(self._plan(0, world)))

    def batches(self, epoch: int, position: int, rank: int, world: int) -> Iterator[Any]:
        """Yields this process's rows of each batch: every `world`-th of the batch of all."""
        for rows in self._plan(epoch, world)[position:]:
            own = rows[rank::world]
            # A batch of fewer rows than processes: one without rows has one whose loss is not counted.
            batch = self.format.batch(self.pairs, own if len(own) else rows[:1])
            if not len(own):
                batch.labels.fill_(IGNORED)
            yield batch

    def loss(self, model: nn.Module, batch: Any) -> tuple[Tensor, int]:
        """Returns the smoothed loss summed over the tokens of the targets, and how many there are."""
        return self._loss(model, batch, self.config.label_smoothing)

    def _loss(self, model: nn.Module, batch: Any, label_smoothing: float) -> tuple[Tensor, int]:
        table = self.format.table(model)
        labels = batch.labels.to(table.device)
        states = model(**batch.inputs(table.device))
        there = labels != IGNORED  # padding costs no logits
        labels, states = labels[there], states[there]
        kind = table.device.type
        if torch.is_autocast_enabled(kind):  # as the product with the table would be
            states = states.to(torch.get_autocast_dtype(kind))
        loss = summed_cross_entropy(states, table, labels, label_smoothing=label_smoothing)
        return loss, len(labels)

    def evaluate(self, model: nn.Module) -> Evaluation | None:
        """Scores the validation pairs, if there are any."""
        if self.valid is None:
            return None
        total, count = 0.0, 0
        device = next(model.parameters()).device
        with evaluating(model, bfloat16=use_bfloat16(self.train, device)):
            for rows in plan(self.format.widths(self.valid), _PLACES):
                loss, n = self._loss(model, self.format.batch(self.valid, rows), 0.0)
                total, count = total + float(loss), count + n
            scores = loss_scores(total, count)
            if self.config.monitor == "bleu" and self.bleu is not None:
                scores["val_bleu"] = self.bleu(model)
        if "val_bleu" in scores:
            return Evaluation(scores, "val_bleu", higher_is_better=True)
        return Evaluation(scores, "val_loss", higher_is_better=False)
