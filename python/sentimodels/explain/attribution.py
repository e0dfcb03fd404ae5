"""`Attribution`: the parts of an answer, and their expected sum."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..data.encoded import Encoded
from ..errors import DataError
from ..evaluation.answers import Temperature, cooled
from ..text.reading import ReadToken

__all__ = ["Attribution", "Feature", "check_read", "scores_of"]


@dataclass(frozen=True)
class Feature:
    """An n-gram that a bag holds, or several that read alike, such as those of an unknown word.

    Attributes:
        text: the text of the token.
        places: where it is in the text, in characters, once for each time; n-grams at an end of
            the text cover the words that they have.
        effects: (n_classes,) its contribution to the score of each class, all places together.
    """

    text: str
    places: list[tuple[int, int]]
    effects: NDArray[np.float64]


@dataclass(frozen=True)
class Attribution:
    """The contributions of a text's tokens to the scores of the classes.

    Attributes:
        tokens: the tokens, as the model reads them.
        probs: (n_classes,) the probabilities of the text.
        scores: (n_classes,) the scores of the text.
        baseline: (n_classes,) the scores of the text without its tokens.
        effects: (n_tokens, n_classes) the part of each token.
        method: `linear` or `integrated-gradients`.
        n_gradients: points of the path at which gradients were taken; 0 where none are needed.
        features: of a bag, its n-grams, the strongest first; `None` of a network.
    """

    tokens: list[ReadToken]
    probs: NDArray[np.float32]
    scores: NDArray[np.float64]
    baseline: NDArray[np.float64]
    effects: NDArray[np.float64]
    method: str
    n_gradients: int = 0
    features: list[Feature] | None = None

    @property
    def gap(self) -> float:
        """The greatest part of a class's difference to the baseline that the contributions miss."""
        missed = self.scores - self.baseline - self.effects.sum(0)
        return float(np.abs(missed).max())


def check_read(encoded: Encoded) -> None:
    """Refuses a text that is read in part: its rest would seem to have no effect.

    Raises:
        DataError: naming both lengths.
    """
    if encoded.cut.any():
        raise DataError(
            f"the text has {encoded.text_lengths[0]} tokens, but the run reads {encoded.max_tokens} at once; "
            "shorten it, or read it in windows (--windows)"
        )


def scores_of(
    logits: NDArray[np.floating], temperature: Temperature, *, several: bool = False
) -> NDArray[np.float64]:
    """Returns the scores of logits (..., C).

    With `several` labels a text, each label's score is its own log odds.
    """
    scores: NDArray[np.float64] = cooled(logits.astype(np.float64), temperature)
    return scores if several else scores - scores.mean(-1, keepdims=True)
