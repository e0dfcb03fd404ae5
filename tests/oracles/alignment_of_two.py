"""What the alignment of two tokenizations is, slow and obvious: every place to divide both is tried.

The specification of `sentitok.align`.
"""

from collections.abc import Sequence
from itertools import product

Span = tuple[int, int]
#: The span of the text, the ids of the first tokenization, and those of the second.
Aligned = tuple[Span, Span, Span]


def divides(before: Sequence[Span], after: Sequence[Span]) -> bool:
    """Whether some position has all of the one before it, and all of the other behind it."""
    return max((end for _, end in before), default=0) <= min((start for start, _ in after), default=1 << 30)


def align(a: Sequence[Span], b: Sequence[Span]) -> list[Aligned]:
    """The smallest spans of which both have text, from left to right."""
    found: list[tuple[Span, Span]] = []
    i = j = 0
    while True:
        places = [
            (k, n)
            for k, n in product(range(i + 1, len(a) + 1), range(j + 1, len(b) + 1))
            if has_text(a[i:k]) and has_text(b[j:n]) and divides([*a[:k], *b[:n]], [*a[k:], *b[n:]])
        ]
        if not places:
            break
        k, n = min(places, key=sum)
        found.append(((i, k), (j, n)))
        i, j = k, n
    if found:
        found[-1] = ((found[-1][0][0], len(a)), (found[-1][1][0], len(b)))
    return [(hull([*a[k:n], *b[i:j]]), (k, n), (i, j)) for (k, n), (i, j) in found]


def has_text(spans: Sequence[Span]) -> bool:
    """Whether a span is not empty."""
    return any(start < end for start, end in spans)


def hull(spans: Sequence[Span]) -> Span:
    """From the first start to the last end."""
    return min(start for start, _ in spans), max(end for _, end in spans)
