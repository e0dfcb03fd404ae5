"""`text_logits`: a model's answers to encoded texts, the same whatever the batches are.

Not for probabilities (`classifier.py`, which knows the temperature). Rows go in order of
length, a bounded number of tokens at a time; the windows of a long text are averaged.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from .data.encoded import Encoded, batches

__all__ = ["text_logits"]

# Tokens, padding included, that go through a model at once.
MAX_TOKENS = 16_384


def text_logits(
    module: nn.Module,
    encoded: Encoded,
    *,
    device: torch.device | None = None,
    bfloat16: bool = False,
    max_tokens: int = MAX_TOKENS,
) -> NDArray[np.float32]:
    """Returns the logits (n_texts, C) of all texts."""
    on = torch.device("cpu") if device is None else device
    was_training = module.training
    if was_training:
        module.eval()
    total: NDArray[np.float32] | None = None
    with torch.inference_mode(), torch.autocast(on.type, torch.bfloat16, enabled=bfloat16):
        for batch in batches(encoded, max_tokens=max_tokens):
            logits = module(**batch.inputs(on)).float().cpu().numpy()
            if total is None:
                total = np.zeros((encoded.n_texts, logits.shape[1]), np.float32)
            # A text's windows may share a batch, so they are added one by one.
            np.add.at(total, encoded.text_of_row[batch.index.numpy()], logits)
    if was_training:
        module.train()
    if total is None:
        return np.zeros((0, 0), np.float32)
    n_windows = np.bincount(encoded.text_of_row, minlength=encoded.n_texts)
    return (total / np.maximum(n_windows, 1)[:, None]).astype(np.float32)
