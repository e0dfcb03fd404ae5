"""An integral from 0 to 1 whose value is known, and whose parts are not: split where they miss most.

Gauss-Legendre nodes on each stretch; a network of maxima and ReLUs has kinks, between which its
slopes are smooth, so halving a stretch that misses much soon pens a kink in. Not for the slopes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

__all__ = ["Integral", "integrate"]

Values = NDArray[np.float64]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(4)
# Stretches to begin with.
_STRETCHES = 4


@dataclass(frozen=True)
class Integral:
    """What was found.

    Attributes:
        total: (T, C) the parts.
        first: (C,) the value at 0.
        last: (C,) the value at 1; less the first, the parts should sum up to it over T.
        n_slopes: places at which slopes were asked for.
    """

    total: Values
    first: Values
    last: Values
    n_slopes: int


@dataclass(frozen=True)
class _Stretch:
    """A part of the way: its ends, its parts (T, C), and what these miss at most of the difference."""

    begin: float
    end: float
    parts: Values
    missed: float

    def halves(self) -> list[tuple[float, float]]:
        middle = (self.begin + self.end) / 2
        return [(self.begin, middle), (middle, self.end)]


def integrate(
    values: Callable[[Values], Values], slopes: Callable[[Values], Values], *, tolerance: float, most: int
) -> Integral:
    """Integrates slopes from 0 to 1.

    Args:
        values: gives the values (n, C) at places.
        slopes: gives the slopes (n, T, C) at places; summed over T they are those of the values.
        tolerance: stops when all stretches together miss less.
        most: places at which slopes are asked for at most, but those to begin with.
    """
    known: dict[float, Values] = {}
    edges = np.linspace(0, 1, _STRETCHES + 1).tolist()
    asked = list(pairwise(edges))
    done: list[_Stretch] = []
    n_slopes = 0
    while asked:
        new = sorted({edge for pair in asked for edge in pair} - set(known))
        known.update(zip(new, values(np.array(new)), strict=True))
        done += _measured(asked, known, slopes)
        n_slopes += len(asked) * len(_NODES)
        done.sort(key=lambda stretch: stretch.missed)
        rest = sum(stretch.missed for stretch in done)
        asked = []
        # Halve the worst, so that the others miss less than half of what is allowed.
        if rest > tolerance:
            room = (most - n_slopes) // (2 * len(_NODES))
            while len(asked) < 2 * room and rest > tolerance / 2:
                worst = done.pop()
                rest -= worst.missed
                asked += worst.halves()
    return Integral(np.sum([stretch.parts for stretch in done], 0), known[0.0], known[1.0], n_slopes)


def _measured(
    pairs: list[tuple[float, float]], known: dict[float, Values], slopes: Callable[[Values], Values]
) -> list[_Stretch]:
    begin, end = np.array(pairs).T[:, :, None]
    places = begin + (end - begin) * (_NODES + 1) / 2
    each = slopes(places.ravel())
    each = each.reshape(*places.shape, *each.shape[1:])  # (stretches, nodes, T, C)
    parts = np.einsum("sn,sntc->stc", (end - begin) * _WEIGHTS / 2, each)
    return [
        _Stretch(one, other, part, float(np.abs(known[other] - known[one] - part.sum(0)).max()))
        for (one, other), part in zip(pairs, parts, strict=True)
    ]
