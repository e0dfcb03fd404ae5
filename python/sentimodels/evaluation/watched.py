"""`Watched`: a predictor that tells how many texts it has answered, for the bar of a long file.

Not for answering, which the predictor does, some hundred texts at a time.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..data.labels import Labels
from .predictions import Predictor

__all__ = ["Watched"]

# Texts between two movements of the bar.
_AT_ONCE = 512


@dataclass(frozen=True)
class Watched:
    """A predictor that is watched.

    Attributes:
        predictor: who answers.
        progress: called with the stage, texts answered, and texts in all.
    """

    predictor: Predictor
    progress: Callable[[str, int, int], None]

    @property
    def labels(self) -> Labels:
        """The classes."""
        return self.predictor.labels

    @property
    def temperature(self) -> float:
        """What logits are divided by."""
        return float(getattr(self.predictor, "temperature", 1.0))

    def predict_proba(self, texts: list[str]) -> NDArray[np.float32]:
        """Returns `(n, n_classes)` probabilities."""
        if not texts:
            return self.predictor.predict_proba(texts)
        parts = []
        for start in range(0, len(texts), _AT_ONCE):
            parts.append(self.predictor.predict_proba(texts[start : start + _AT_ONCE]))
            self.progress("predict", min(start + _AT_ONCE, len(texts)), len(texts))
        return np.concatenate(parts)
