"""How likely texts are to a causal model, and the hidden states that represent them.

A text longer than the context is read in windows that share half of their tokens: each token is scored once,
from at least half a context before it where the text has that much.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..errors import not_numbers
from ..models.language import CausalModel
from ..nn.cross_entropy import IGNORED

__all__ = ["Pooling", "TextScore", "pooled_states", "row_log_probs"]

Pooling = Literal["mean", "first", "last"]
# Tokens, padding included, that go through a model at once.
_MAX_TOKENS = 16_384


@dataclass(frozen=True)
class TextScore:
    """How likely a text is.

    Attributes:
        text: the text.
        ids: (N,) its tokens.
        offsets: (N, 2) where each begins and ends in the text, in characters.
        log_probs: (N,) natural logarithm of the probability of each token after those before it;
            NaN for a first token that nothing comes before.
        n_bytes: bytes of UTF-8 of the tokens that have one.
    """

    text: str
    ids: NDArray[np.int64]
    offsets: NDArray[np.int64]
    log_probs: NDArray[np.float64]
    n_bytes: int

    @property
    def log_prob(self) -> float:
        """Natural logarithm of the probability of all tokens that have one."""
        return float(np.nansum(self.log_probs))

    @property
    def perplexity(self) -> float:
        """Of a token; NaN where none has a probability. Comparable with one tokenizer alone."""
        n = int((~np.isnan(self.log_probs)).sum())
        try:
            return math.exp(-self.log_prob / n) if n else math.nan
        except OverflowError:
            return math.inf

    @property
    def bits_per_byte(self) -> float:
        """Bits for each byte of UTF-8, comparable across tokenizers; NaN where there is none."""
        return -self.log_prob / math.log(2) / self.n_bytes if self.n_bytes else math.nan


@dataclass(frozen=True)
class _Window:
    """Some tokens of a row, and how many of them are only context for the rest."""

    row: int
    ids: Sequence[int]
    n_known: int


@torch.inference_mode()
def row_log_probs(
    model: CausalModel, rows: Sequence[Sequence[int]], context: int | None
) -> list[NDArray[np.float64]]:
    """Returns the log-probability of each token but the first of each row.

    Args:
        model: a causal model in evaluation mode.
        rows: ids of each text.
        context: tokens that the model reads at most; `None`: any number.

    Raises:
        CheckpointError: if one is NaN, as with weights that are not finite.
    """
    out = [np.zeros(max(0, len(row) - 1)) for row in rows]
    filled = [0] * len(rows)
    # A window predicts one token more than it reads.
    size = None if context is None else context + 1
    cut = _windows(rows, size, overlap=size // 2 if size else 0)
    for windows in _batches([window for window in cut if len(window.ids) > 1]):
        ids, mask = _padded([window.ids for window in windows], model)
        aims = ids[:, 1:] if mask is None else ids[:, 1:].masked_fill(~mask[:, 1:], IGNORED)
        states = model(ids[:, :-1], None if mask is None else mask[:, :-1])
        losses = model.head.loss(states, aims, model.backbone).double().cpu().numpy()
        for window, loss in zip(windows, losses, strict=True):
            scored = loss[max(0, window.n_known - 1) : len(window.ids) - 1]
            begin = filled[window.row]
            out[window.row][begin : begin + len(scored)] = -scored
            filled[window.row] = begin + len(scored)
    if any(np.isnan(one).any() for one in out):
        raise not_numbers("logits")
    return out


@torch.inference_mode()
def pooled_states(
    model: nn.Module, rows: Sequence[Sequence[int]], context: int | None, pooling: Pooling, width: int
) -> NDArray[np.float32]:
    """Returns one state (n, D) for each row: the mean, the first or the last one of its tokens.

    Args:
        model: gives states (B, T, D) of ids and mask.
        rows: ids of each text, at least one.
        context: tokens that the model reads at most; a longer row is read in parts.
        pooling: which states.
        width: D.

    Raises:
        CheckpointError: if one is NaN, as with weights that are not finite.
    """
    out = np.zeros((len(rows), width), np.float64)
    counts = np.array([len(row) for row in rows], np.float64)
    begun = [False] * len(rows)
    for windows in _batches(list(_windows(rows, context, overlap=0))):
        ids, mask = _padded([window.ids for window in windows], model)
        states = model(ids, mask).double().cpu().numpy()
        for window, of in zip(windows, states, strict=True):
            n = len(window.ids)
            if pooling == "mean":
                out[window.row] += of[:n].sum(0) / counts[window.row]
            elif pooling == "last" or not begun[window.row]:
                out[window.row] = of[n - 1 if pooling == "last" else 0]
            begun[window.row] = True
    if np.isnan(out).any():
        raise not_numbers("states")
    return out.astype(np.float32)


def _windows(rows: Sequence[Sequence[int]], size: int | None, *, overlap: int) -> Iterator[_Window]:
    """Cuts rows into windows of at most `size`, those of one row in order."""
    for row, ids in enumerate(rows):
        start, known = 0, 0
        while known < len(ids):
            end = len(ids) if size is None else min(len(ids), start + size)
            yield _Window(row, ids[start:end], known - start)
            start, known = end - overlap, end


def _batches(windows: list[_Window]) -> Iterator[list[_Window]]:
    """Yields windows of near lengths together; those of one row stay in order."""
    # A later window of a row is never longer than an earlier one, and the sort is stable.
    windows.sort(key=lambda window: -len(window.ids))
    batch: list[_Window] = []
    for window in windows:
        if batch and (len(batch) + 1) * len(batch[0].ids) > _MAX_TOKENS:
            yield batch
            batch = []
        batch.append(window)
    if batch:
        yield batch


def _padded(rows: Sequence[Sequence[int]], model: nn.Module) -> tuple[Tensor, Tensor | None]:
    """Returns ids (B, T) padded on the right, and which are real; `None`: all."""
    device = next(model.parameters()).device
    width = max(len(row) for row in rows)
    ids = torch.tensor([[*row, *[0] * (width - len(row))] for row in rows], device=device)
    if min(len(row) for row in rows) == width:
        return ids, None
    lengths = torch.tensor([len(row) for row in rows], device=device)
    return ids, torch.arange(width, device=device) < lengths[:, None]
