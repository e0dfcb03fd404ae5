"""What BPE training is: count everything, merge the best pair, repeat.

The specification of `sentitok`'s trainer, slow and obvious: every step counts
all pairs again. Not Hugging Face's bookkeeping where a merge makes a token that
already occurs in a piece (that is held by comparison with `tokenizers`).
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import pairwise

Symbols = tuple[bytes, ...]
Pair = tuple[bytes, bytes]

#: GPT-2's table: the character that spells each byte.
PRINTABLE = [*range(33, 127), *range(161, 173), *range(174, 256)]
BYTE_TO_CHAR = {b: chr(b) for b in PRINTABLE} | {
    b: chr(256 + n) for n, b in enumerate(b for b in range(256) if b not in PRINTABLE)
}


def first_symbols(piece: bytes, unit: str) -> Symbols:
    """The bytes of a piece, or its characters."""
    if unit == "bytes":
        return tuple(bytes([b]) for b in piece)
    return tuple(c.encode() for c in piece.decode())


def code_point(symbol: bytes, unit: str) -> int:
    """What the alphabet is sorted by."""
    return ord(BYTE_TO_CHAR[symbol[0]] if unit == "bytes" else symbol.decode())


def count_pairs(words: Mapping[Symbols, int]) -> Counter[Pair]:
    """How often each pair occurs; places may overlap."""
    counts: Counter[Pair] = Counter()
    for word, count in words.items():
        for pair in pairwise(word):
            counts[pair] += count
    return counts


def merge(word: Symbols, pair: Pair) -> Symbols:
    """Joins a pair, from left to right."""
    out: Symbols = ()
    while word:
        n = 2 if word[:2] == pair else 1
        out, word = (*out, b"".join(word[:n])), word[n:]
    return out


def best(pairs: Mapping[Pair, int], rule: str, ids: Mapping[bytes, int], unit: str) -> Pair:
    """The pair to merge: the greatest count, ties by a named rule."""
    most = max(pairs.values())
    top = [pair for pair, count in pairs.items() if count == most]
    if rule == "bytes":
        return max(top)
    by_ids = {pair: (ids[pair[0]], ids[pair[1]]) for pair in top}
    if rule == "huggingface":
        return min(top, key=lambda pair: by_ids[pair])
    return min(top, key=lambda p: (len(first_symbols(p[0] + p[1], unit)), p[0] + p[1], by_ids[p]))


def train(
    counts: Mapping[bytes, int],
    vocab_size: int,
    *,
    min_frequency: int = 0,
    special_tokens: Iterable[str] = (),
    unit: str = "bytes",
    tie_break: str = "huggingface",
    alphabet: Iterable[bytes] = (),
    max_token_length: float = float("inf"),
) -> tuple[list[bytes], list[tuple[bytes, bytes, int]]]:
    """Tokens by id, and the merges with their counts."""
    seen = {symbol for piece in counts for symbol in first_symbols(piece, unit)} | set(alphabet)
    tokens = [text.encode() for text in special_tokens]
    tokens += [s for s in sorted(seen, key=lambda s: code_point(s, unit)) if s not in tokens]
    ids = {token: id for id, token in enumerate(tokens)}
    words = {first_symbols(piece, unit): count for piece, count in counts.items()}
    merges: list[tuple[bytes, bytes, int]] = []
    while len(tokens) < vocab_size:
        pairs = count_pairs(words)
        for left, right in list(pairs):
            if 2 < len(first_symbols(left + right, unit)) >= max_token_length:
                del pairs[left, right]
        if not pairs:
            break
        left, right = pair = best(pairs, tie_break, ids, unit)
        if pairs[pair] < min_frequency:
            break
        merges.append((left, right, pairs[pair]))
        if left + right not in ids:
            ids[left + right] = len(tokens)
            tokens.append(left + right)
        words = {merge(word, pair): count for word, count in words.items()}
    return tokens, merges
