"""What encoding with a Unigram model is: the cut of the best sum of scores.

The specification of `sentitok`'s encoder, slow and obvious: every piece is
tried at every place. Sums are those of sentencepiece 0.2.3 (32 bits, begun
again at 0 beyond 100,000) or of tokenizers 0.23.3 (64 bits). Normalization is
not here: the text holds `▁` for spaces.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

UNKNOWN_PENALTY = 10.0
RESET = 100_000.0


@dataclass(frozen=True)
class Model:
    """Pieces with their scores; `kinds` are those of `.model` files, as words."""

    pieces: Sequence[str]
    scores: Sequence[float]
    kinds: Sequence[str]
    single: bool = True
    byte_fallback: bool = False

    def usable(self) -> dict[str, tuple[int, float]]:
        """The pieces a text can hold, with id and score."""
        found = {}
        for i, (piece, score, kind) in enumerate(zip(self.pieces, self.scores, self.kinds, strict=True)):
            if not self.single or kind == "normal":
                found[piece] = (i, self.kept(score))
            elif kind == "user_defined":
                found[piece] = (i, self.kept(0.1 * (len(piece.encode()) - 1)))
        return found

    def kept(self, number: float) -> float:
        """A number as the reference keeps it."""
        return float(np.float32(number)) if self.single else number

    def unknown_score(self) -> float:
        """The score of a character that is in no piece."""
        known = zip(self.scores, self.kinds, strict=True)
        least = min(score for score, kind in known if not self.single or kind == "normal")
        return self.kept(self.kept(least) - UNKNOWN_PENALTY)


def best_way(model: Model, text: str) -> list[tuple[str, int | None]]:
    """The pieces of the best way, with their ids; `None` for an unknown character."""
    usable, unknown = model.usable(), model.unknown_score()
    longest = max(map(len, usable))
    # The best sum to each place, where its last piece starts, and that piece's id.
    best: dict[int, tuple[float, int, int | None]] = {0: (0.0, 0, None)}
    for start in range(len(text)):
        here = best[start][0]
        if model.single and abs(here) > RESET:
            best |= {at: (model.kept(way[0] - here), *way[1:]) for at, way in best.items() if at >= start}
            here = 0.0
        offers: list[tuple[int, float, int | None]] = []
        for end in range(start + 1, min(start + longest, len(text)) + 1):
            if text[start:end] in usable:
                id, score = usable[text[start:end]]
                offers.append((end, score, id))
        if not any(end == start + 1 for end, *_ in offers):
            offers.append((start + 1, unknown, None))
        for end, score, found in offers:
            total = model.kept(here + score)
            if end not in best or total > best[end][0]:  # of equals the earlier start stays
                best[end] = (total, start, found)
    way: list[tuple[str, int | None]] = []
    end = len(text)
    while end > 0:
        _, start, last = best[end]
        way.insert(0, (text[start:end], last))
        end = start
    return way


def encode(model: Model, text: str) -> list[int]:
    """The ids of a text; neighbouring unknown characters are one, or their bytes."""
    unknown_id = list(model.kinds).index("unknown")
    ids: list[int] = []
    after_unknown = False
    for piece, id in best_way(model, text):
        if id is not None:
            ids.append(id)
        elif model.byte_fallback:
            ids += [list(model.pieces).index(f"<0x{byte:02X}>") for byte in piece.encode()]
        elif not after_unknown:
            ids.append(unknown_id)
        after_unknown = id is None
    return ids
