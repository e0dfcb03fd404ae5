"""`Inputs`: what a model is told of the texts and classes it is built for.

Not the texts themselves: an encoder (`encoder.py`) gives these facts once, before the first step.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from .ngrams import NgramTable

__all__ = ["Inputs"]


@dataclass(frozen=True)
class Inputs:
    """What a model is built for.

    Attributes:
        vocab_size: ids run below this.
        n_classes: classes.
        token_texts: the text of each id, for character n-grams; empty for special tokens.
        vectors: a vector for each id (V, D) to start from, rows of zeros where there is none.
        grams: for a bag of n-grams, the ids that each id is also made of.
        n_words: for a bag of n-grams, where words end: ids from here on are n-grams.
    """

    vocab_size: int
    n_classes: int
    token_texts: Sequence[str] | None = None
    vectors: Tensor | None = None
    grams: NgramTable | None = None
    n_words: int | None = None
