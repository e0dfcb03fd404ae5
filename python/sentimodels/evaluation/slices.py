"""Accuracy on parts of the rows that have something in common: where a model is weak.

Parts by length, label, script, English negation and contrast, and by `facts` of a run. Scores of all rows are
in `metrics.py`. Intervals are Wilson's (1927), which hold for few rows and for
shares near 0 and 1; rows of one group count for their effective number (Kish's design effect, as in
Korn and Graubard 1998). One part in twenty differs from the whole by chance alone.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sentitok import Tokenizer
from sentitok.scripts import script_of

from ..data.normalization import n_words
from ..text.encoder import TextEncoder
from ..text.vocabulary import OpenVocabulary
from ..text.words import HashedNgrams
from .predictions import Predictions

__all__ = ["accuracy_interval", "confused_pairs", "slices", "vocabulary_facts", "wilson"]

# The 97.5 % point of the normal distribution.
_Z = 1.959963984540054
_NEGATION = re.compile(
    r"\b(?:not|no|never|none|nothing|nobody|nowhere|neither|nor|without|hardly|barely|scarcely|cannot)\b"
    r"|n['’]t\b",
    re.IGNORECASE,
)
_CONTRAST = re.compile(
    r"\b(?:but|however|although|though|yet|despite|except|instead|unfortunately|while|whereas)\b",
    re.IGNORECASE,
)


def slices(
    predictions: Predictions, facts: Mapping[str, Sequence[str]] | None = None
) -> list[dict[str, Any]]:
    """Returns rows, accuracy and its 95 % interval of each part.

    Args:
        predictions: whose labels are all known.
        facts: further values of each row, by name; parts are rows of one value.

    Returns:
        Parts in the order of the facts and of their values; `differs` is `below` or `above` where the
        interval leaves out the accuracy of all rows. A value that all rows share is not a part.
    """
    texts = predictions.texts
    known: dict[str, Sequence[str]] = {
        "words": [_length(text) for text in texts],
        "label": [predictions.labels.shown(one) for one in predictions.truth],
        "script": [_script(text) for text in texts],
        "negation": ["yes" if _NEGATION.search(text) else "no" for text in texts],
        "contrast": ["yes" if _CONTRAST.search(text) else "no" for text in texts],
    }
    if predictions.seen is not None:
        known["training text"] = ["yes" if seen else "no" for seen in predictions.seen.tolist()]
    if predictions.labels.several:  # a row is in a part for each of its labels
        known.pop("label")
        known |= {
            f"label {name}": ["yes" if one else "" for one in column.tolist()]
            for name, column in zip(predictions.labels, predictions.truth.T, strict=True)
        }
    orders: dict[str, Callable[[str], Any]] = {
        "words": _by_length, "label": list(predictions.labels.names).index
    }  # fmt: skip
    right = predictions.right
    overall = float(right.mean())
    parts = []
    for name, values in {**known, **(facts or {})}.items():
        each = np.array(values, dtype=object)
        distinct: list[Any] = sorted(set(values), key=orders.get(name, str))
        for value in filter(None, distinct) if len(distinct) > 1 else []:
            inside = each == value
            groups = None if predictions.groups is None else np.array(predictions.groups, object)[inside]
            low, high = accuracy_interval(right[inside], groups)
            differs = "below" if high < overall else "above" if low > overall else None
            parts.append(
                {
                    "slice": name, "value": value, "n": int(inside.sum()),
                    "accuracy": float(right[inside].mean()), "interval": [low, high], "differs": differs,
                }
            )  # fmt: skip
    return parts


def confused_pairs(predictions: Predictions) -> list[dict[str, Any]]:
    """Returns which label was answered instead of which, the most frequent first.

    `share` is that of the rows of the true label.
    """
    return predictions.answers.confusions(predictions.labels, predictions.truth, predictions.predicted)


def accuracy_interval(
    right: NDArray[np.bool_], groups: NDArray[np.object_] | None = None
) -> tuple[float, float]:
    """Returns the 95 % interval of the share of right answers; rows of a group are not independent."""
    n, share = len(right), float(right.mean())
    if groups is None:
        return wilson(share, n)
    numbers = np.unique(groups.astype(str), return_inverse=True)[1]
    sizes = np.bincount(numbers).astype(np.float64)
    if len(sizes) == n:
        return wilson(share, n)
    if share in (0.0, 1.0) or len(sizes) == 1:  # nothing varies, so the smallest effective number
        return wilson(share, len(sizes))
    away = np.bincount(numbers, weights=right) - share * sizes
    variance = len(sizes) / (len(sizes) - 1) * float((away**2).sum()) / n**2
    worth = share * (1 - share) / variance if variance else float(n)
    return wilson(share, min(float(n), worth))


def wilson(share: float, n: float) -> tuple[float, float]:
    """Returns Wilson's 95 % score interval of a share of `n` rows."""
    widened = 1 + _Z**2 / n
    middle = (share + _Z**2 / (2 * n)) / widened
    half = _Z * np.sqrt(share * (1 - share) / n + _Z**2 / (4 * n**2)) / widened
    # Rounding must not leave the share itself out.
    return min(share, max(0.0, float(middle - half))), max(share, min(1.0, float(middle + half)))


def _length(text: str) -> str:
    """Returns the number of words as a range: 0-1, 2-3, 4-7, 8-15 and so on."""
    low = 1 << max(1, n_words(text).bit_length()) >> 1
    return "0-1" if low == 1 else f"{low}-{2 * low - 1}"


def _by_length(value: str) -> int:
    return int(value.split("-")[0])


def _script(text: str) -> str:
    """Returns the script of most letters of a text, by the names of the characters."""
    counts: dict[str, int] = {}
    for char in text:
        if char.isalpha():
            counts[script_of(char)] = counts.get(script_of(char), 0) + 1
    return max(counts, key=lambda script: (counts[script], script)) if counts else "no letters"


# Tokens a word at which a range ends.
_FEW, _MANY = 1.25, 2.0


def vocabulary_facts(predictor: object, texts: Sequence[str]) -> dict[str, list[str]]:
    """Returns, for a run with one vocabulary, the words of each text that are new to it; else nothing.

    `unknown words`: the share of words that have no id. Of subwords, which know every
    word, `tokens a word`: rare words take several.
    """
    encoder = getattr(predictor, "encoder", None)
    if not isinstance(encoder, TextEncoder):
        return {}
    if isinstance(encoder.encoder, Tokenizer):
        batch = encoder.encoder.encode_batch(list(map(encoder.prepare, texts)), add_special_tokens=False)
        counts = np.diff(batch.row_offsets).tolist()
        return {"tokens a word": [_fertility(n, text) for n, text in zip(counts, texts, strict=True)]}
    return {"unknown words": [_unknown(encoder, text) for text in texts]}


def _fertility(n_tokens: int, text: str) -> str:
    n = n_tokens / max(1, len(text.split()))
    return f"below {_FEW:g}" if n < _FEW else f"{_FEW:g} to {_MANY:g}" if n < _MANY else f"{_MANY:g} or more"


def _unknown(encoder: TextEncoder, text: str) -> str:
    own = encoder.encoder
    read = encoder.prepare(text)
    if isinstance(own, OpenVocabulary):
        new = [word not in own.ids for word in own.cut(read)]
    elif isinstance(own, HashedNgrams):
        new = (own._located(own._pieces([read]))[0] < 0)[1:-1].tolist()
    else:
        assert not isinstance(own, Tokenizer)
        new = [
            word not in own._ids for word in own.cutter.cut(read.lower() if own.config.lowercase else read)
        ]
    share = sum(new) / max(1, len(new))
    return "none" if not share else "up to a quarter" if share <= 0.25 else "over a quarter"
