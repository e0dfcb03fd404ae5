"""`PhraseMemory`: answers for phrases that are training texts, apart from any model.

Off by default and reported apart: on a split by sentence it knows nothing, on the
Kaggle test it answers one row in six. Phrases are compared without case, spacing and what is not seen.
A remembered row is the shares of its labels, with a little of the model's answer left
so that no probability is 0.
"""

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from ..data.normalization import fold
from ..data.table import Labels, Table
from .predictions import Predictor

# What is left to the model; 0.02 costs a log loss of 0.02 where the memory is right.
MODEL_SHARE = 0.02


class PhraseMemory:
    """The labels of training phrases."""

    def __init__(self, table: Table, labels: Labels) -> None:
        """Remembers a table.

        Raises:
            DataError: if it has no labels, or one that the model has not.
        """
        self.labels = labels
        self._known: dict[str, Counter[int]] = {}
        for text, label in zip(table.texts, labels.encode(table.labelled()).tolist(), strict=True):
            self._known.setdefault(fold(text), Counter())[label] += 1

    def __len__(self) -> int:
        return len(self._known)

    def apply(
        self, texts: list[str], probs: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Returns the probabilities with remembered rows replaced, and which rows those are."""
        mixed = probs.copy()
        known = np.zeros(len(texts), dtype=np.bool_)
        for row, text in enumerate(texts):
            counts = self._known.get(fold(text))
            if counts is None:
                continue
            known[row] = True
            share = np.zeros(len(self.labels), dtype=np.float32)
            for label, count in counts.items():
                share[label] = count / counts.total()
            mixed[row] = (1 - MODEL_SHARE) * share + MODEL_SHARE * probs[row]
        return mixed, known


class WithMemory:
    """A model whose remembered phrases are answered from memory."""

    def __init__(self, base: Predictor, memory: PhraseMemory) -> None:
        self.base = base
        self.memory = memory

    @property
    def labels(self) -> Labels:
        """The classes."""
        return self.base.labels

    def predict_proba(self, texts: list[str]) -> NDArray[np.float32]:
        """Returns `(n, n_classes)` probabilities."""
        return self.memory.apply(texts, self.base.predict_proba(texts))[0]
