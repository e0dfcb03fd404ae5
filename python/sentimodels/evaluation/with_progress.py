"""`WithProgress`: a predictor that reports how many texts it has answered, for progress bars.

Not for answering, which the predictor does, some hundred texts at a time.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..data.labels import Labels
from .predictions import Predictor, answer

__all__ = ["WithProgress"]

# Texts between two movements of the bar.
_AT_ONCE = 512


@dataclass(frozen=True)
class WithProgress:
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

    @property
    def max_tokens(self) -> int | None:
        """Tokens of a text that the predictor reads at most; `None` if it reads whole texts."""
        most: int | None = getattr(self.predictor, "max_tokens", None)
        return most

    def answer(self, texts: list[str]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Returns `(n, n_classes)` probabilities, and which texts (n,) were cut."""
        if not texts:
            return answer(self.predictor, texts)
        parts, cut = [], []
        for start in range(0, len(texts), _AT_ONCE):
            probs, some = answer(self.predictor, texts[start : start + _AT_ONCE])
            parts.append(probs)
            cut.append(some)
            self.progress("predict", min(start + _AT_ONCE, len(texts)), len(texts))
        return np.concatenate(parts), np.concatenate(cut)

    def predict_proba(self, texts: list[str]) -> NDArray[np.float32]:
        """Returns `(n, n_classes)` probabilities."""
        return self.answer(texts)[0]
