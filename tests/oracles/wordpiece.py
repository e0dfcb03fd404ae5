"""Reference implementation of WordPiece: count everything, merge the best pair, repeat; cut by longest match.

The specification of `sentitok`'s trainer and of longest match in one word, slow
and obvious. Not Hugging Face's bookkeeping where a corpus spells out the prefix.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from fractions import Fraction
from itertools import pairwise

Word = tuple[str, ...]
Pair = tuple[str, str]


def log2(n: int) -> int:
    """The logarithm to base 2 with 56 binary places, one by one, of a mantissa of 63."""
    log = n.bit_length() - 1
    mantissa = n << (63 - log)
    for _ in range(56):
        mantissa = mantissa * mantissa >> 63
        bit = mantissa >> 64
        mantissa >>= bit
        log = log << 1 | bit
    return log


def value(score: str, pair: int, left: int, right: int, total: int) -> int | Fraction:
    """The score of a pair, by its count, those of its symbols and that of all symbols."""
    if score == "frequency":
        return pair
    if score == "pmi":
        return Fraction(pair, left * right)
    return pair * (log2(pair) + log2(total) - log2(left) - log2(right))


def merge(word: Word, pair: Pair, joined: str) -> Word:
    """Joins a pair, from left to right."""
    out: Word = ()
    while word:
        n = 2 if word[:2] == pair else 1
        out, word = (*out, joined if n == 2 else word[0]), word[n:]
    return out


def train(
    counts: Mapping[str, int],
    vocab_size: int,
    *,
    score: str,
    min_frequency: int = 0,
    special_tokens: Iterable[str] = (),
    prefix: str = "##",
) -> tuple[list[str], list[tuple[str, str, int]]]:
    """Tokens by id, and the merges with the counts of their pairs."""
    words = {word: (word[:1], *(prefix + c for c in word[1:])) for word in counts}
    alphabet = sorted(set("".join(counts)))
    continuing = [prefix + c for c in sorted({c for word in counts for c in word[1:]})]
    tokens = list(dict.fromkeys([*special_tokens, *alphabet, *continuing]))
    merges: list[tuple[str, str, int]] = []
    while len(tokens) < vocab_size:
        symbols: Counter[str] = Counter()
        pairs: Counter[Pair] = Counter()
        for word, count in counts.items():
            for symbol in words[word]:
                symbols[symbol] += count
            for pair in pairwise(words[word]):
                pairs[pair] += count
        ids = {token: id for id, token in enumerate(tokens)}
        worth = {
            (a, b): (value(score, n, symbols[a], symbols[b], symbols.total()), -ids[a], -ids[b])
            for (a, b), n in pairs.items()
            if n >= min_frequency
        }
        if not worth:
            break
        left, right = pair = max(worth, key=worth.__getitem__)
        if score == "likelihood" and worth[pair][0] <= 0:
            break
        joined = left + right.removeprefix(prefix)
        merges.append((left, right, pairs[pair]))
        if joined not in ids:
            tokens.append(joined)
        words = {word: merge(cut, pair, joined) for word, cut in words.items()}
    return tokens, merges


def encode(word: str, known: Collection[str], *, prefix: str = "##", unk: str = "[UNK]") -> list[str]:
    """Longest match first; a word that cannot be cut to its end is unknown."""
    out: list[str] = []
    start = 0
    while start < len(word):
        before = prefix if start else ""
        ends = (end for end in range(len(word), start, -1) if before + word[start:end] in known)
        if (end := next(ends, None)) is None:
            return [unk]
        out.append(before + word[start:end])
        start = end
    return out
