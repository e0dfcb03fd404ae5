"""`example_of`: words to try a classifier with, in the language of its data.

They are the commonest run of words among the training texts, so that no text of one person is shown in a
summary or in a card.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from ..data.normalization import stands_alone

__all__ = ["example_of"]

# Texts that are looked at, and texts that must share the words.
_TEXTS, _SHARED = 2_000, 3
_LONGEST = 40


def example_of(texts: Sequence[str]) -> str:
    """Returns up to three words, or four characters of a script without spaces, that texts have in common."""
    rows = np.linspace(0, len(texts) - 1, min(len(texts), _TEXTS)).astype(int)
    some = [texts[row] for row in rows]
    for size in (3, 2, 1):
        counts: Counter[str] = Counter()
        for text in some:
            counts.update(_runs(text, size))
        if counts:
            n, example = max((n, run) for run, n in counts.items())
            if n >= _SHARED or size == 1:
                return example
    return "great fun"


def _runs(text: str, size: int) -> set[str]:
    """Returns the runs of so many words of a text, which a shell takes between double quotes."""
    if stands_alone(text):
        words, joined = [char for char in text if not char.isspace()], ""
        size += 1
    else:
        words, joined = text.split(), " "
    runs = (joined.join(words[i : i + size]) for i in range(len(words) - size + 1))
    return {run for run in runs if len(run) <= _LONGEST and all(c.isalnum() or c == " " for c in run)}
