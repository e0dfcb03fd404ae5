"""`distinct_n`: how little texts repeat themselves and each other (Li et al. 2016).

The share falls as texts are added, so compare sets with the same number of texts. Words are separated by
white space.
"""

from collections.abc import Iterable

__all__ = ["distinct_n"]


def distinct_n(texts: Iterable[str], n: int) -> float:
    """Returns the share of different n-grams among all of them, 0 to 1; 0 where there is none.

    Args:
        texts: the texts; no n-gram goes across two.
        n: words of an n-gram, from 1 on.
    """
    seen: set[tuple[str, ...]] = set()
    total = 0
    for text in texts:
        words = text.split()
        for start in range(len(words) - n + 1):
            seen.add(tuple(words[start : start + n]))
            total += 1
    return len(seen) / total if total else 0.0
