"""What encoding with BPE is: join the best pair of neighbours, and again.

The specification of `sentitok`'s three orders of merging, slow and obvious: every
step looks at all neighbours again. By scores as sentencepiece 0.2.3 merges (the
greatest score, unused pieces taken apart at the end), by list as tokenizers 0.23.3
does, by rank as tiktoken does. Dropout is given as its distribution: every way the
draws may fall, with its probability.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TypeVar

#: Types of pieces in `.model` files.
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)

Ids = tuple[int, ...]
#: A candidate: rank, place, end; the pair is at `place` and goes to `end`.
Candidate = tuple[float, int, int]
Symbol = TypeVar("Symbol")
#: A symbol of a SentencePiece model: its text, and whether it never merges.
Piece = tuple[str, bool]


@dataclass
class ByScores:
    """A SentencePiece model: pieces with scores and types."""

    pieces: Sequence[tuple[str, float, int]]
    byte_fallback: bool = False

    @cached_property
    def found(self) -> Mapping[str, tuple[int, float]]:
        """The pieces that are in a text or join in it: id and score."""
        kinds = (NORMAL, USER_DEFINED, UNUSED)
        return {t: (id, score) for id, (t, score, kind) in enumerate(self.pieces) if kind in kinds}

    @cached_property
    def user(self) -> Sequence[str]:
        """The user's pieces, the longest first."""
        return sorted((t for t, _, kind in self.pieces if kind == USER_DEFINED), key=len, reverse=True)

    def id(self, piece: str) -> int:
        """The id of a piece of any type."""
        return next(id for id, (text, _, _) in enumerate(self.pieces) if text == piece)

    @cached_property
    def unk(self) -> int:
        """The id of the unknown piece."""
        return next(id for id, (_, _, kind) in enumerate(self.pieces) if kind == UNKNOWN)

    def symbols(self, text: str) -> list[Piece]:
        """Characters, and the user's pieces, which never merge: the longest at each place."""
        out = []
        while text:
            piece = next((piece for piece in self.user if text.startswith(piece)), "")
            out.append((piece or text[0], bool(piece)))
            text = text[len(piece or text[0]) :]
        return out

    def rank(self, left: Piece, right: Piece) -> float | None:
        """What a pair waits by, the least first; None if it does not merge."""
        found = None if left[1] or right[1] else self.found.get(left[0] + right[0])
        return None if found is None else -found[1]

    def encode(self, text: str) -> list[int]:
        """The ids of a text."""
        symbols = self.symbols(text)
        parts: dict[str, tuple[str, str]] = {}

        def queue(at: int) -> None:
            if 0 <= at < len(symbols) - 1 and self.rank(symbols[at], symbols[at + 1]) is not None:
                left, right = symbols[at][0], symbols[at + 1][0]
                if self.pieces[self.found[left + right][0]][2] == UNUSED:
                    parts[left + right] = (left, right)

        for at in range(len(symbols)):
            queue(at)
        while True:
            ranks = [(self.rank(*pair), at) for at, pair in enumerate(pairwise(symbols))]
            waiting = [(rank, at) for rank, at in ranks if rank is not None]
            if not waiting:
                break
            at = min(waiting)[1]
            symbols[at : at + 2] = [(symbols[at][0] + symbols[at + 1][0], False)]
            queue(at - 1)
            queue(at)

        def resegment(piece: str) -> list[str]:
            return [p for part in parts[piece] for p in resegment(part)] if piece in parts else [piece]

        return self.finish([piece for symbol, _ in symbols for piece in resegment(symbol)])

    def finish(self, pieces: Sequence[str]) -> list[int]:
        """The ids of pieces; runs of unknown text are one id, or bytes."""
        out: list[int] = []
        was_unknown = False
        for piece in pieces:
            id = self.found[piece][0] if piece in self.found else self.unk
            unknown = id == self.unk or self.pieces[id][2] == UNUSED
            if not unknown:
                out.append(id)
            elif self.byte_fallback:
                out.extend(self.id(f"<0x{byte:02X}>") for byte in piece.encode())
            elif not was_unknown:
                out.append(self.unk)
            was_unknown = unknown
        return out

    def dropout(self, text: str, p: float) -> dict[Ids, float]:
        """What may come of a text, by its probability; without unused pieces.

        A pair that is passed over is gone for good.
        """
        symbols = self.symbols(text)
        starts = [sum(len(piece) for piece, _ in symbols[:at]) for at in range(len(symbols))]
        places = tuple(zip(starts, symbols, strict=True))
        out: dict[Ids, float] = defaultdict(float)
        for way, probability in _ways(places, len(text), self.joined, p, waits=False).items():
            out[tuple(self.finish([piece for piece, _ in way]))] += probability
        return out

    def joined(self, left: Piece, right: Piece) -> tuple[float, Piece] | None:
        """What a pair waits by, and what it becomes."""
        rank = self.rank(left, right)
        return None if rank is None else (rank, (left[0] + right[0], False))


@dataclass
class ByList:
    """A model of Hugging Face: ids by token, and pairs in order; of characters."""

    tokens: Mapping[str, int]
    merges: Sequence[tuple[str, str]]
    unk: str | None = None
    fuse_unk: bool = False
    byte_fallback: bool = False
    ignore_merges: bool = False
    prefix: str = ""
    suffix: str = ""

    @cached_property
    def pairs(self) -> Mapping[tuple[int, int], tuple[float, int]]:
        """Rank and result of each pair; of one listed twice the last place counts."""
        pairs = {}
        for rank, (left, right) in enumerate(self.merges):
            joined = left + right.removeprefix(self.prefix)
            pairs[self.tokens[left], self.tokens[right]] = (float(rank), self.tokens[joined])
        return pairs

    def symbols(self, text: str) -> list[int]:
        """The first symbols of a piece."""
        out: list[int] = []
        waiting: list[int] = []  # an unknown token, until something known follows
        for at, char in enumerate(text):
            unit = (self.prefix if at else "") + char + (self.suffix if at == len(text) - 1 else "")
            spelled = [self.tokens.get(f"<0x{byte:02X}>") for byte in unit.encode()]
            if unit in self.tokens:
                out += [*waiting, self.tokens[unit]]
                waiting = []
            elif self.byte_fallback and None not in spelled:
                # Bytes go before an unknown token that waits.
                out += [id for id in spelled if id is not None]
            elif self.unk is not None:
                out += [] if self.fuse_unk else waiting
                waiting = [self.tokens[self.unk]]
        return out + waiting

    def encode(self, text: str) -> list[int]:
        """The ids of a piece."""
        if self.ignore_merges and text in self.tokens:
            return [self.tokens[text]]
        ids = self.symbols(text)
        while True:
            waiting = [(*self.pairs[pair], at) for at, pair in enumerate(pairwise(ids)) if pair in self.pairs]
            if not waiting:
                return ids
            _, id, at = min(waiting, key=lambda found: (found[0], found[2]))
            ids[at : at + 2] = [id]

    def dropout(self, text: str, p: float) -> dict[Ids, float]:
        """What may come of a piece, by its probability.

        A pair that is passed over waits until another candidate, stale or not, is
        taken from the queue.
        """
        ids = self.symbols(text)

        def joined(left: int, right: int) -> tuple[float, int] | None:
            return self.pairs.get((left, right))

        return _ways(tuple(enumerate(ids)), len(ids), joined, p, waits=True)


class ByRanks(ByList):
    """The model of a `.tiktoken` file: any two tokens that join to a token merge."""

    def __init__(self, tokens: Mapping[str, int]) -> None:
        super().__init__(tokens, (), ignore_merges=True)

    @cached_property
    def pairs(self) -> Mapping[tuple[int, int], tuple[float, int]]:
        """Rank and result of each pair, both the id of the joined token."""
        cuts = [(token[:at], token[at:]) for token in self.tokens for at in range(1, len(token))]
        known = [cut for cut in cuts if cut[0] in self.tokens and cut[1] in self.tokens]
        ids = {cut: self.tokens["".join(cut)] for cut in known}
        return {(self.tokens[a], self.tokens[b]): (float(id), id) for (a, b), id in ids.items()}


def _ways(
    symbols: tuple[tuple[int, Symbol], ...],
    end: int,
    pair: Callable[[Symbol, Symbol], tuple[float, Symbol] | None],
    p: float,
    *,
    waits: bool,
) -> dict[tuple[Symbol, ...], float]:
    """All that merging with dropout may lead to, and how probable each is.

    `symbols` are places and the symbols there, in a text that goes to `end`.
    """

    def candidate(symbols: tuple[tuple[int, Symbol], ...], at: int) -> Iterator[Candidate]:
        if 0 <= at < len(symbols) - 1:
            found = pair(symbols[at][1], symbols[at + 1][1])
            if found is not None:
                stop = symbols[at + 2][0] if at + 2 < len(symbols) else end
                yield (found[0], symbols[at][0], stop)

    start = tuple(sorted(c for at in range(len(symbols)) for c in candidate(symbols, at)))
    # States that were reached and not left: symbols, waiting candidates, passed-over candidates.
    nothing: tuple[Candidate, ...] = ()
    states = {(symbols, start, nothing): 1.0}
    out: dict[tuple[Symbol, ...], float] = defaultdict(float)
    while states:
        state, probability = states.popitem()
        symbols, queue, passed = state
        if not queue:
            out[tuple(symbol for _, symbol in symbols)] += probability
            continue
        top, queue = queue[0], queue[1:]
        places = [place for place, _ in symbols]
        at = places.index(top[1]) if top[1] in places else len(places)
        is_live = at + 1 < len(places) and [*places, end][at + 2] == top[2]
        if waits or is_live:
            over = (symbols, queue, (*passed, top) if waits else nothing)
            states[over] = states.get(over, 0.0) + probability * p
            probability *= 1 - p
        queue = tuple(sorted((*queue, *passed)))
        found = pair(symbols[at][1], symbols[at + 1][1]) if is_live else None
        if found is not None:
            symbols = (*symbols[:at], (top[1], found[1]), *symbols[at + 2 :])
            queue = tuple(sorted((*queue, *candidate(symbols, at - 1), *candidate(symbols, at))))
        after = (symbols, queue, nothing)
        states[after] = states.get(after, 0.0) + probability
    return dict(out)
