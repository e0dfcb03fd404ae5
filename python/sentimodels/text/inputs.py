"""`Inputs`: what a model needs to know of its texts and classes.

Not the texts themselves: an encoder (`encoder.py`) gives these facts once, before the first step.
"""

from dataclasses import dataclass

from torch import Tensor

from .ngrams import NgramTable

__all__ = ["Inputs"]


@dataclass(frozen=True)
class Inputs:
    """What a model is built for.

    Attributes:
        vocab_size: ids run below this.
        n_classes: classes, for a head of classes.
        pad_id: the id of padding, whose vector is zero; `None`: none.
        n_ngrams: rows of the table of character n-grams; 0: tokens have none.
        vectors: a vector for each id (V, D) to start from, rows of zeros where there is none.
        grams: for a bag of n-grams, the ids that each id is also made of.
        n_words: for a bag of n-grams, where words end: ids from here on are n-grams.
    """

    vocab_size: int
    n_classes: int
    pad_id: int | None = None
    n_ngrams: int = 0
    vectors: Tensor | None = None
    grams: NgramTable | None = None
    n_words: int | None = None
