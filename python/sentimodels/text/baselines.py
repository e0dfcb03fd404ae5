"""What a language model is compared with: a unigram model of its tokens, and gzip on the same text.

Both as bits per byte of the validation texts, which are the same whatever the tokenizer is; the text's
bytes are counted before it becomes tokens. Not for the model's own (`tasks/next_token.py`).
"""

import math
import zlib
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["ValidText", "bits_per_byte", "unigram_loss"]

# Level 9 with the header that gzip writes.
_LEVEL, _GZIP = 9, 31


@dataclass
class ValidText:
    """The bytes of the validation texts, and how few gzip makes of them, documents a line apart."""

    n_bytes: int = 0
    _packed: int = 0
    _packer: "zlib._Compress" = field(default_factory=lambda: zlib.compressobj(_LEVEL, wbits=_GZIP))

    def add(self, text: bytes) -> None:
        """Adds a document."""
        self.n_bytes += len(text)
        self._packed += len(self._packer.compress(text + b"\n"))

    def gzip_bytes(self) -> int:
        """Ends the text; returns how many bytes gzip makes of it."""
        self._packed += len(self._packer.flush())
        return self._packed


def unigram_loss(train: NDArray[np.int64], valid: NDArray[np.int64]) -> float:
    """Returns the cross entropy, summed over tokens, of a unigram model; one is added to each count.

    Args:
        train: how often each id (V,) occurs in training.
        valid: how often it occurs in what is scored.
    """
    log = np.log((train + 1) / (train.sum() + len(train)))
    return float(-(valid * log).sum())


def bits_per_byte(loss: float, n_bytes: int) -> float:
    """Returns a loss in nats, summed over all tokens, as bits for each byte of the text."""
    return loss / math.log(2) / max(1, n_bytes)
