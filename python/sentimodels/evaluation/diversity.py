"""How much texts repeat themselves, each other, and what was trained on.

`distinct_n` is that of Li et al. 2016: among all n-grams of words of some texts, the share that is
different. It falls with the number of texts, so it compares sets of as many. `Copies` tells the share of
words that stand in a run of n words which the training texts have too. Words are what white space divides.
"""

from collections.abc import Iterable, Sequence

__all__ = ["Copies", "distinct_n"]


def _ngrams(words: Sequence[str], n: int) -> Iterable[tuple[str, ...]]:
    return (tuple(words[start : start + n]) for start in range(len(words) - n + 1))


def distinct_n(texts: Iterable[str], n: int) -> float:
    """Returns the share of different n-grams among all of them, 0 to 1; 0 where there is none.

    Args:
        texts: the texts; no n-gram goes across two.
        n: words of an n-gram, from 1 on.
    """
    seen: set[tuple[str, ...]] = set()
    total = 0
    for text in texts:
        for ngram in _ngrams(text.split(), n):
            seen.add(ngram)
            total += 1
    return len(seen) / total if total else 0.0


class Copies:
    """What texts have in common with those that were trained on.

    Args:
        training: the texts that were trained on.
        n: words that must stand together to count as copied.
    """

    def __init__(self, training: Iterable[str], n: int = 8) -> None:
        self.n = n
        self._known = {hash(ngram) for text in training for ngram in _ngrams(text.split(), n)}

    def share(self, texts: Iterable[str]) -> float:
        """Returns the share of the words of texts that stand in a run of n that was trained on."""
        copied = total = 0
        for text in texts:
            words = text.split()
            inside = [False] * len(words)
            for start, ngram in enumerate(_ngrams(words, self.n)):
                if hash(ngram) in self._known:
                    inside[start : start + self.n] = [True] * self.n
            copied += sum(inside)
            total += len(words)
        return copied / total if total else 0.0
