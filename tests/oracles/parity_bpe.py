"""What parity-aware BPE is: each merge is made for the language that needs the most tokens.

The specification of `sentitok.train_parity_bpe`, slow and obvious: every step counts the pairs of the
selected language again. Foroutan et al. 2025 (arXiv 2508.04796), with the ties and the window of
tokenizers 0.23.3's `ParityBpeTrainer`.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

Word = tuple[str, ...]
Pair = tuple[str, str]


def joined(word: Word, pair: Pair) -> Word:
    """A word after its pairs have become one symbol, from left to right."""
    out: list[str] = []
    at = 0
    while at < len(word):
        if word[at : at + 2] == pair:
            out.append("".join(pair))
            at += 2
        else:
            out.append(word[at])
            at += 1
    return tuple(out)


class Language:
    """The words of a language with their counts, as symbols."""

    def __init__(self, counts: Mapping[str, int]) -> None:
        self.words = Counter({tuple(word): n for word, n in counts.items()})

    def pairs(self, max_token_length: int | None) -> Counter[Pair]:
        """How often each pair occurs in the text, overlapping ones too."""
        pairs: Counter[Pair] = Counter()
        for word, n in self.words.items():
            for left, right in pairwise(word):
                length = len(left + right)
                if max_token_length is None or length == 2 or length < max_token_length:
                    pairs[left, right] += n
        return pairs

    def merge(self, pair: Pair) -> None:
        """Makes one symbol of a pair everywhere."""
        merged: Counter[Word] = Counter()
        for word, n in self.words.items():
            merged[joined(word, pair)] += n
        self.words = merged

    @property
    def length(self) -> int:
        """The symbols of the text."""
        return sum(len(word) * n for word, n in self.words.items())


def merges(
    languages: Sequence[Mapping[str, int]],
    n_merges: int,
    *,
    development: Sequence[Mapping[str, int]] | None = None,
    ratios: Sequence[float] | None = None,
    window: tuple[int, float] | None = None,
    global_merges: int = 0,
    min_frequency: int = 0,
    max_token_length: int | None = None,
) -> list[Pair]:
    """The merges, in order.

    Args:
        languages: the words of each language with their counts.
        n_merges: how many merges to make at most.
        development: the words of each development text, whose symbols decide.
        ratios: the compression that is wanted of each language.
        window: the size of the window and alpha, if there is one.
        global_merges: how many of the first merges are those of all languages together.
        min_frequency: how often a pair must occur.
        max_token_length: merged tokens are shorter than this.
    """
    texts = [Language(counts) for counts in languages]
    deciding = texts if development is None else [Language(counts) for counts in development]
    initial = [language.length for language in deciding]
    exhausted: set[int] = set()
    recent: list[int] = []

    def need(at: int) -> float:
        if at in exhausted:
            return -math.inf
        length = deciding[at].length
        return length if ratios is None else -(initial[at] / length) / ratios[at]

    def neediest(among: set[int]) -> int:
        # Where none may be selected, tokenizers selects the first.
        best = max(sorted(among), key=need, default=0)
        return best if need(best) > -math.inf else 0

    def selected() -> int:
        among = set(range(len(texts)))
        if window is None:
            return neediest(among)
        size, alpha = window
        best = neediest(among)
        while among and recent.count(best) / size > alpha / len(texts):
            if best not in among:
                best = neediest(set(range(len(texts))))  # tokenizers does not come back from here
                break
            among.discard(best)
            if among:
                best = neediest(among)
        recent.append(best)
        del recent[:-size]
        return best

    made: list[Pair] = []
    while len(made) < n_merges and len(exhausted) < len(texts):
        pairs: Counter[Pair] = Counter()
        if is_global := len(made) < global_merges:
            for language in texts:
                pairs += language.pairs(max_token_length)
        else:
            chosen = selected()
            pairs = texts[chosen].pairs(max_token_length)
        best = max(pairs.items(), key=lambda item: (item[1], item[0]), default=None)
        if best is None or best[1] < min_frequency:
            if is_global:
                break
            exhausted.add(chosen)
            continue
        made.append(best[0])
        for language in {id(one): one for one in (*texts, *deciding)}.values():
            language.merge(best[0])
    return made
