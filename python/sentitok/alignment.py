"""`align`: the spans of a text that two tokenizers agree on, for work across vocabularies.

Distillation from a model with another tokenizer compares what both models say of the same text: the
smallest spans that no token of either crosses.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._sentitok import Encoding, Tokenizer, align_offsets
from .messages import shown

__all__ = ["Alignment", "align"]


class Alignment(NamedTuple):
    """The spans that two tokenizers agree on, as three arrays of shape `(n, 2)` with starts and ends.

    Attributes:
        spans: the characters of the text.
        a: the ids of the first encoding.
        b: the ids of the second encoding.
    """

    spans: NDArray[np.int64]
    a: NDArray[np.int64]
    b: NDArray[np.int64]


def align(a: Tokenizer | Encoding, b: Tokenizer | Encoding, text: str) -> Alignment:
    """Aligns what two tokenizers make of a text.

    The spans are the smallest that no token of either crosses, and ascend. Both have text in each span: a
    token that only one has, such as a space, belongs to the next span, or to the last at the end. No span
    divides a character, even if tokens are parts of one. If one has no tokens for the text, there are no
    spans. The time is linear.

    Args:
        a: a tokenizer, which encodes the text without its template's special tokens; or its encoding of the
            text, whose template's tokens are in no range.
        b: the other.
        text: the text.

    Raises:
        TypeError: for anything else.
        ValueError: for an encoding of a longer text, or of a pair.
    """
    made = []
    for name, given in (("a", a), ("b", b)):
        if isinstance(given, Tokenizer):
            encoding = given.encode(text, add_special_tokens=False)
        elif isinstance(given, Encoding):
            encoding = given
        else:
            raise TypeError(f"{name}={shown(given)} is neither a Tokenizer nor an Encoding")
        offsets = encoding.offsets(trim=False)
        if len(offsets) and (end := int(offsets.max())) > len(text):
            raise ValueError(
                f"{name} is the encoding of a longer text: a token ends at {end}, and the text at {len(text)}"
            )
        if 1 in encoding.sequence_ids:
            raise ValueError(f"{name} is the encoding of a pair; align one text at a time")
        made.append((offsets, encoding.special_tokens_mask))
    spans, in_a, in_b = (array.reshape(-1, 2) for array in align_offsets(*made))
    return Alignment(spans, in_a, in_b)
