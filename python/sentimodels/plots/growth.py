"""Time and memory of models against the length of texts, on logarithmic axes.

Not for measuring: who measured wrote JSON Lines, one object a measurement with `name`, `length`
(tokens of a text), `seconds` (of one step or call) and, where it was measured, `bytes` (peak memory).
"""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sentitok.figures.canvas import grid, legend, line_style, plain, title

from ..data.opening import read_small
from ..errors import DataError
from . import AS_USUAL, Asked

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Measured", "growth", "read_growth"]

# Of a name: length, seconds and bytes (`None`: not measured), by length.
Measured = list[tuple[float, float, float | None]]
_MEGA = 1e6


def read_growth(path: Path) -> dict[str, Measured]:
    """Reads a file of measurements.

    Raises:
        DataError: naming the line that is none.
        FileNotFoundError: if there is no file.
    """
    measured: dict[str, Measured] = {}
    for number, line in enumerate(read_small(path).splitlines(), 1):
        if not line.strip():
            continue
        try:
            row: dict[str, Any] = json.loads(line)
            used = row.get("bytes")
            point = (float(row["length"]), float(row["seconds"]), None if used is None else float(used))
            if not all(math.isfinite(value) and value > 0 for value in point if value is not None):
                raise ValueError("length, seconds and bytes must be above 0")
            measured.setdefault(str(row["name"]), []).append(point)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DataError(
                f"{path}:{number}: no measurement ({error}); expected an object with name, length, seconds "
                "and, if measured, bytes"
            ) from error
    if not measured:
        raise DataError(f"{path}: no measurements; expected JSON Lines with name, length, seconds and bytes")
    return {name: sorted(points, key=lambda point: point[0]) for name, points in measured.items()}


def growth(measured: Mapping[str, Measured], asked: Asked = AS_USUAL) -> "Figure":
    """Draws seconds and, where measured, memory against length."""
    with_memory = any(used is not None for points in measured.values() for _, _, used in points)
    figure, all_axes = grid(2 if with_memory else 1, width=4.8)
    names = [("seconds", 1, 1.0), ("peak memory (MB)", 2, _MEGA)]
    for axes, (label, part, unit) in zip(all_axes, names, strict=False):
        for place, (name, points) in enumerate(measured.items()):
            kept = [(point[0], value / unit) for point in points if (value := point[part]) is not None]
            if kept:
                at, values = zip(*kept, strict=True)
                axes.plot(at, values, label=plain(name), **{**line_style(place, len(at)), "markevery": 1})
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.set_yscale("log")
        axes.set_xlabel("length of a text (tokens)")
        axes.set_ylabel(label)
        axes.grid(alpha=0.3)
    if asked.on is not None:
        figure.suptitle(title(asked.on), fontsize="medium")
    legend(figure, all_axes)
    return figure
