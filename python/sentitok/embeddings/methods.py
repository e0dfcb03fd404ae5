"""`METHODS`: ways to make the row of a new token, of rows that the model has.

| name | source |
|---|---|
| `pieces` | Gee et al. 2022, Fast Vocabulary Transfer (arXiv 2402.09977) |
| `nearest` | after Dobler and de Melo 2023, FOCUS (arXiv 2305.14481), with shared characters for fastText |
| `average` | Hewitt 2021, Initializing New Word Embeddings; transformers' `resize_token_embeddings` |

To add a way, add a row to `METHODS`.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..messages import shown
from .matching import Match

__all__ = ["AVERAGE", "COMPOSED", "COPIED", "METHODS", "RANDOM", "UNUSED", "Plan", "plan"]

# The kinds of new rows.
COPIED, COMPOSED, AVERAGE, RANDOM, UNUSED = range(5)
# Old tokens that `nearest` takes, and the characters that it compares at a time.
_NEAREST = 8
_GRAM = 3

# Old ids with their weights, by new id.
_Sources = dict[int, list[tuple[int, float]]]


@dataclass(frozen=True)
class _Method:
    """A way to make new rows.

    Attributes:
        about: a description of a new row.
        sources: returns the old rows of each missing token, or of some.
        rest: a description of the remaining rows.
    """

    about: str
    sources: Callable[[Match], _Sources]
    rest: Literal["average", "random"] = "average"


def _pieces(match: Match) -> _Sources:
    return {id: [(piece, 1 / len(ids)) for piece in ids] for id, ids in match.pieces.items()}


def _first(match: Match) -> _Sources:
    return {id: [(ids[0], 1.0)] for id, ids in match.pieces.items()}


def _nearest(match: Match) -> _Sources:
    """The old tokens that share most with a new one, by the share of characters in common (Dice)."""
    grams = {id: _grams(text) for id, text in match.old.texts.items() if id not in match.old.byte_tokens}
    ids_of: defaultdict[bytes, list[int]] = defaultdict(list)
    for id, own in grams.items():
        for gram in own:
            ids_of[gram].append(id)
    arrays = {gram: np.array(ids) for gram, ids in ids_of.items()}
    n_grams = np.zeros(1 + max(grams, default=0))
    for id, own in grams.items():
        n_grams[id] = len(own)
    made = _pieces(match)
    for id in match.pieces:
        own = _grams(match.new.texts[id])
        found = [arrays[gram] for gram in own if gram in arrays]
        if found:
            ids, shared = np.unique(np.concatenate(found), return_counts=True)
            alike = 2 * shared / (n_grams[ids] + len(own))
            best = np.argsort(-alike, kind="stable")[:_NEAREST]
            weights = alike[best] / alike[best].sum()
            made[id] = list(zip(ids[best].tolist(), weights.tolist(), strict=True))
    return made


def _grams(text: bytes) -> set[bytes]:
    """Returns the parts of a text, with marks for its beginning and its end."""
    marked = b"\xfe" + text + b"\xff"
    return {marked[at : at + _GRAM] for at in range(max(1, len(marked) - _GRAM + 1))}


def _none(_: Match) -> _Sources:
    return {}


METHODS: dict[str, _Method] = {
    "pieces": _Method("mean of the rows of its pieces under the old tokenizer", _pieces),
    "first": _Method("row of the first of these pieces", _first),
    "nearest": _Method(f"weighted mean of the {_NEAREST} old tokens that share most characters", _nearest),
    "average": _Method("mean of all rows", _none),
    "random": _Method("drawn at random, with mean and deviation of each column", _none, "random"),
}


@dataclass(frozen=True)
class Plan:
    """The sources of each row of a new table.

    Attributes:
        kinds: (N,) `COPIED`, ... of each row.
        starts: (N + 1,) where the sources of each row begin.
        sources: old ids.
        weights: the weight of each.
        used: old ids that are tokens; their mean is `AVERAGE`. Other old rows are unused, and their mean is
            that of new rows without a token.
        seed: of random rows.
    """

    kinds: NDArray[np.uint8]
    starts: NDArray[np.int64]
    sources: NDArray[np.int64]
    weights: NDArray[np.float64]
    used: NDArray[np.int64]
    seed: int


def plan(match: Match, method: str, n_rows: int, seed: int) -> Plan:
    """Returns the sources of each row of a new table.

    Args:
        match: the tokenizers, token by token.
        method: a name of `METHODS`.
        n_rows: rows of the new table, of which those without a token are unused.
        seed: of random rows.

    Raises:
        ValueError: if there is no such method.
    """
    if method not in METHODS:
        raise ValueError(f"method {shown(method)}: expected one of {', '.join(METHODS)}")
    way = METHODS[method]
    composed = way.sources(match)
    kinds = np.full(n_rows, UNUSED, np.uint8)
    rows: list[list[tuple[int, float]]] = [[] for _ in range(n_rows)]
    for id, there in match.copied.items():
        kinds[id], rows[id] = COPIED, [(there, 1.0)]
    rest = RANDOM if way.rest == "random" else AVERAGE
    for id in match.missing:
        rows[id] = composed.get(id, [])
        kinds[id] = COMPOSED if rows[id] else rest
    flat = [source for row in rows for source in row]
    return Plan(
        kinds=kinds,
        starts=np.cumsum([0, *map(len, rows)]),
        sources=np.array([id for id, _ in flat], np.int64),
        weights=np.array([weight for _, weight in flat], np.float64),
        used=np.array(sorted({*match.old.texts, *match.old.specials.values()}), np.int64),
        seed=seed,
    )
