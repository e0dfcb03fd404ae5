"""`validation_scores`: what a line of `metrics.jsonl` says of the validation texts.

Not for reports (`evaluation/metrics.py`): these three decide which weights are best, at each evaluation.
"""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

__all__ = ["validation_scores"]


def validation_scores(logits: NDArray[np.float32], labels: NDArray[np.int64]) -> dict[str, Any]:
    """Returns what a line of `metrics.jsonl` says of the validation texts."""
    from sklearn.metrics import f1_score

    answers = logits.argmax(1)
    log_probs = torch.from_numpy(logits).double().log_softmax(-1).numpy()
    return {
        "val_loss": float(-log_probs[np.arange(len(labels)), labels].mean()),
        "val_accuracy": float((answers == labels).mean()),
        "val_macro_f1": float(f1_score(labels, answers, average="macro", zero_division=0)),
    }
