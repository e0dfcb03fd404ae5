"""What the tasks of language models share when they score a validation part.

Not for which rows, nor for what else a task scores (`next_token.py`, `masked.py`, `seq2seq.py`).
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from ..training.trainer import NotFiniteError

__all__ = ["evaluating", "loss_scores"]


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
