"""What training superwords is, slow and obvious: every step counts all pairs of all documents again.

SuperBPE (arXiv 2503.13423): BPE on the pieces of a pre-tokenizer up to a size; then BPE continues on
stretches, which only the second pre-tokenizer cuts. BoundlessBPE (arXiv 2504.00178) without deletions, in its
original form: at each step the best merge inside pieces and the best merge of two neighbouring pieces that
are one token each compete by count.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

from .bpe import Pair, Symbols, best, count_pairs, first_symbols, merge, train

Split = Callable[[str], Sequence[str]]
Merge = tuple[bytes, bytes, int]

#: Ids of superwords in ties: after those of all other tokens.
_LATER = 10**9


def encode(text: bytes, merges: Iterable[Pair]) -> Symbols:
    """The tokens of a text: the first merge of the list first, from left to right, until none is left."""
    ranks = {pair: rank for rank, pair in enumerate(merges)}
    symbols = first_symbols(text, "bytes")
    while found := [(ranks[pair], at) for at, pair in enumerate(pairwise(symbols)) if pair in ranks]:
        _, at = min(found)
        symbols = (*symbols[:at], symbols[at] + symbols[at + 1], *symbols[at + 2 :])
    return symbols


def may_join(pair: Pair, max_words: int, rule: str, max_token_length: float = float("inf")) -> bool:
    """Whether two tokens may become a superword."""
    left, right = pair
    words = len(re.findall(rb"[^ \r\n]+", left + right))
    crosses_stop = left.endswith((b".", b":")) and right.startswith(b" ")
    short = len(left + right) < max_token_length or len(left + right) == 2
    return words <= max_words and short and not (rule == "sentences" and crosses_stop)


def is_word(piece: str) -> bool:
    """Whether BoundlessBPE may join a piece (here of ASCII): letters, spaces, underscores, apostrophes."""
    return re.fullmatch(r"[a-zA-Z _'’]*[a-zA-Z][a-zA-Z _'’]*", piece) is not None


def superbpe(
    documents: Sequence[str],
    pieces: Split,
    stretches: Split,
    vocab_size: int,
    superwords_from: int,
    *,
    base: Iterable[Pair] = (),
    tokens: Iterable[bytes] | None = None,
    max_words: int = 4,
    rule: str = "sentences",
    min_count: int = 0,
    tie_break: str = "huggingface",
    max_token_length: float = float("inf"),
) -> tuple[list[bytes], list[Merge]]:
    """Tokens by id, and the merges with their counts; of a base only the new ones."""
    merges: list[Merge] = []
    if tokens is None:
        counts = Counter(piece.encode() for document in documents for piece in pieces(document))
        made, merges = train(
            Counter({piece: count for piece, count in counts.items() if count >= min_count}),
            superwords_from,
            alphabet=[bytes([b]) for b in range(256)],
            tie_break=tie_break,
            max_token_length=max_token_length,
        )
        tokens = made
    vocabulary = list(tokens)
    before = [*base, *((left, right) for left, right, _ in merges)]
    words = [encode(s.encode(), before) for document in documents for s in stretches(document)]
    while len(vocabulary) < vocab_size:
        found = count_pairs(Counter(words))
        found = Counter({
            pair: count for pair, count in found.items()
            if count >= min_count and may_join(pair, max_words, rule, max_token_length)
            and pair[0] + pair[1] not in vocabulary
        })  # fmt: skip
        if not found:
            break
        ids = {token: id for id, token in enumerate(vocabulary)}
        pair = best(found, tie_break, ids, "bytes")
        merges.append((*pair, found[pair]))
        vocabulary.append(pair[0] + pair[1])
        words = [merge(word, pair) for word in words]
    return vocabulary, merges


def boundless(
    documents: Sequence[str],
    pieces: Split,
    stretches: Split,
    vocab_size: int,
    *,
    max_words: int = 4,
    rule: str = "sentences",
    min_count: int = 0,
    tie_break: str = "huggingface",
) -> tuple[list[Merge], list[Merge]]:
    """The merges inside pieces, and those of pieces, each in order."""
    alphabet = [bytes([b]) for b in range(256)]
    counted = Counter(piece.encode() for document in documents for piece in pieces(document))
    inside = {first_symbols(piece, "bytes"): count for piece, count in counted.items() if count >= min_count}
    ids = {token: id for id, token in enumerate(sorted(alphabet, key=_byte_level))}
    # Each stretch is a list of pieces, which are lists of tokens; a superword is a piece of one token.
    texts = [
        [(is_word(piece), first_symbols(piece.encode(), "bytes")) for piece in pieces(stretch)]
        for document in documents
        for stretch in stretches(document)
    ]
    regular: list[Merge] = []
    supers: list[Merge] = []
    while 256 + len(regular) + len(supers) < vocab_size:
        pairs = count_pairs(inside)
        outside: Counter[Pair] = Counter()
        for text in texts:
            for (left_word, left), (right_word, right) in pairwise(text):
                if left_word and right_word and len(left) == len(right) == 1:
                    pair = (left[0], right[0])
                    if may_join(pair, max_words, rule) and pair[0] + pair[1] not in ids:
                        outside[pair] += 1
        outside = Counter({pair: count for pair, count in outside.items() if count >= min_count})
        most_inside, most_outside = max(pairs.values(), default=0), max(outside.values(), default=0)
        if not most_inside and not most_outside:
            break
        if most_inside >= most_outside:
            pair = best(pairs, tie_break, ids, "bytes")
            regular.append((*pair, most_inside))
            ids[pair[0] + pair[1]] = len(ids)
            inside = {merge(word, pair): count for word, count in inside.items()}
            texts = [[(word, merge(piece, pair)) for word, piece in text] for text in texts]
        else:
            pair = best(outside, tie_break, ids, "bytes")
            supers.append((*pair, most_outside))
            ids[pair[0] + pair[1]] = _LATER + len(supers)
            texts = [_join(text, pair) for text in texts]
    return regular, supers


def _join(text: list[tuple[bool, Symbols]], pair: Pair) -> list[tuple[bool, Symbols]]:
    """Joins two pieces of one token each, from left to right."""
    out: list[tuple[bool, Symbols]] = []
    while text:
        if [*text[:2]] == [(True, pair[:1]), (True, pair[1:])]:
            out, text = [*out, (True, (pair[0] + pair[1],))], text[2:]
        else:
            out, text = [*out, text[0]], text[1:]
    return out


def _byte_level(token: bytes) -> int:
    from .bpe import code_point

    return code_point(token, "bytes")
