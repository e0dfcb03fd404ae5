"""`leave_one_out`: the contribution of each token of a text to the answer, by leaving it out.

After Zeiler and Fergus 2014 and Li, Monroe and Jurafsky 2016 (arXiv 1612.08220): the effect of a token on a
class is the probability of the class with it, less the one without it. A token of a subword tokenizer is left
out of the ids, so that its neighbours stay what they are; a word is left out of the text. One pass of the
model for each token: O(n) texts of n tokens.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sentitok import Tokenizer

from ..classifier import Classifier
from ..data.encoded import Encoded
from ..errors import DataError
from ..text.reading import ReadToken, places_read, plain_words, read_tokens
from .attribution import check_read

__all__ = ["MOST", "Effects", "leave_one_out", "leave_words_out"]

# Tokens of a text at most: the model reads the text as often.
MOST = 256


@dataclass(frozen=True)
class Effects:
    """The contributions of a text's tokens to its answer.

    Attributes:
        tokens: the tokens, as the model reads them.
        probs: (n_classes,) the probabilities of the whole text.
        effects: (n_tokens, n_classes) those less the ones without the token; 0 of a special token,
            which is not left out.
    """

    tokens: list[ReadToken]
    probs: NDArray[np.float32]
    effects: NDArray[np.float32]


def leave_one_out(classifier: Classifier, text: str, most: int = MOST) -> Effects:
    """Returns the effect of each token of a text.

    Raises:
        DataError: if it has too many tokens, or more than the run reads at once.
    """
    tokens, n_tokens = read_tokens(classifier.encoder, text)
    _check(n_tokens, most)
    if not isinstance(classifier.tokenizer, Tokenizer):
        return _of_words(lambda texts: classifier.answer(texts)[0], text, tokens)
    encoded = classifier.encoder.encode([text])
    check_read(encoded)
    rows = places_read(classifier.encoder, text, tokens)
    # Of each token, where it is: one place, or several where windows overlap.
    where: dict[int, list[tuple[int, int]]] = {
        place: [] for place, token in enumerate(tokens) if not token.special
    }
    for number, row in enumerate(rows):
        for at, place in enumerate(row.tolist()):
            if place in where:
                where[place].append((number, at))
    logits = classifier.logits_of(_without_each(encoded, [one for some in where.values() for one in some]))
    whole, without, start = logits[: len(rows)], [], len(rows)
    for some in where.values():
        changed = whole.copy()
        changed[[number for number, _ in some]] = logits[start : start + len(some)]
        without.append(changed.mean(0))
        start += len(some)
    probs = classifier.calibrated(np.stack([whole.mean(0), *without]))
    return _effects(tokens, list(where), probs)


def leave_words_out(
    predict_proba: Callable[[list[str]], NDArray[np.float32]], text: str, most: int = MOST
) -> Effects:
    """Returns the effect of each word of a text, for whatever answers texts, such as an ensemble.

    Raises:
        DataError: if it has too many words.
    """
    tokens, n_words = plain_words(text)
    _check(n_words, most)
    return _of_words(predict_proba, text, tokens)


def _check(n_tokens: int, most: int) -> None:
    if n_tokens > most:
        raise DataError(
            f"the text has {n_tokens} tokens, but at most {most} are left out one by one; shorten it"
        )


def _of_words(
    predict_proba: Callable[[list[str]], NDArray[np.float32]], text: str, tokens: list[ReadToken]
) -> Effects:
    without = [f"{text[: token.start]} {text[token.end :]}" for token in tokens]
    return _effects(tokens, range(len(tokens)), predict_proba([text, *without]))


def _effects(tokens: list[ReadToken], places: Sequence[int], probs: NDArray[np.float32]) -> Effects:
    """Returns the effects, from the probabilities of the whole text and of the text without each."""
    effects = np.zeros((len(tokens), probs.shape[1]), np.float32)
    effects[list(places)] = probs[0] - probs[1:]
    return Effects(tokens, probs[0], effects)


def _without_each(encoded: Encoded, places: Sequence[tuple[int, int]]) -> Encoded:
    """Returns the rows of a text as a text each, then those of `places` without the token that is there.

    Args:
        encoded: of one text.
        places: a row, and a place in it.
    """
    rows = [encoded.row(number) for number in range(len(encoded))]
    nothing = np.array([encoded.pad_id], rows[0].dtype)
    for number, place in places:
        row = np.delete(rows[number], place)
        rows.append(row if len(row) else nothing)
    lengths = np.array([len(row) for row in rows], np.int64)
    return replace(
        encoded,
        ids=np.concatenate(rows),
        row_offsets=np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]),
        text_of_row=np.arange(len(rows)),
        n_texts=len(rows),
        text_lengths=lengths,
    )
