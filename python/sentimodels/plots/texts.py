"""Histograms of data files: labels, lengths."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sentitok.figures.canvas import bar_style, grid, legend, line_style, plain

from . import AS_USUAL, Asked

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["label_histogram", "length_histogram"]

_BINS = 50
# Beyond so many bars their numbers would cover each other.
_NUMBERED = 24


def label_histogram(counts: Mapping[str, Mapping[str, int]], asked: Asked = AS_USUAL) -> "Figure":
    """Draws the share of each label in several tables."""
    labels = list(dict.fromkeys(label for of_table in counts.values() for label in of_table))
    figure, (axes,) = grid(1, width=min(14.0, max(5.2, 0.55 * len(labels) * len(counts))), height=4)
    width = 0.8 / len(counts)
    for place, (name, of_table) in enumerate(counts.items()):
        total = sum(of_table.values())
        shares = [100 * of_table.get(label, 0) / max(1, total) for label in labels]
        at = np.arange(len(labels)) + (place - (len(counts) - 1) / 2) * width
        bars = axes.bar(at, shares, width, label=plain(f"{name}, {total:,} rows"), **bar_style(place))
        if len(labels) * len(counts) <= _NUMBERED:
            axes.bar_label(bars, [f"{of_table.get(label, 0):,}" for label in labels], fontsize="small")
    turned = max(map(len, labels), default=0) > 8 or len(labels) > 15
    axes.set_xticks(
        range(len(labels)), [plain(label) for label in labels], rotation=45 if turned else 0,
        ha="right" if turned else "center",
    )  # fmt: skip
    axes.set_xlabel("label")
    axes.set_ylabel("share of the rows (%)")
    axes.margins(y=0.1)
    axes.grid(axis="y", alpha=0.3)
    axes.set_axisbelow(True)
    axes.set_title(_titled("labels", counts, asked), fontsize="medium")
    legend(figure, [axes])
    return figure


def length_histogram(
    lengths: Mapping[str, Sequence[int] | NDArray[np.int64]],
    asked: Asked = AS_USUAL,
    *,
    unit: str = "words",
    limit: int | None = None,
) -> "Figure":
    """Draws the lengths of several tables; `limit` marks where texts are cut."""
    figure, (axes,) = grid(1, width=5.6, height=4)
    values = {name: np.asarray(one) for name, one in lengths.items()}
    # The longest thousandth would squeeze the rest into one bar.
    top = max(1, *(int(np.quantile(one, 0.999)) for one in values.values() if len(one)), limit or 0)
    edges = np.linspace(0, top + 1, min(_BINS, top + 1) + 1)
    for place, (name, one) in enumerate(values.items()):
        counted, _ = np.histogram(np.minimum(one, top), edges)
        shares = 100 * counted / max(1, len(one))
        axes.stairs(shares, edges, label=plain(f"{name}, {len(one):,} texts"), **line_style(place))
    if limit is not None:
        axes.axvline(limit, color="grey", linestyle="--", linewidth=1, label=f"cut at {limit:,}")
    axes.set_xlabel(f"length of a text ({unit})")
    axes.set_ylabel("share of the texts (%)")
    longer = any((one > top).any() for one in values.values())
    title = _titled("lengths", values, asked)
    axes.set_title(f"{title}; the last bar holds all longer" if longer else title, fontsize="medium")
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    legend(figure, [axes])
    return figure


def _titled(what: str, tables: Mapping[str, object], asked: Asked) -> str:
    """Names the tables of a figure; several are named in its legend."""
    on = asked.on or (next(iter(tables)) if len(tables) == 1 else None)
    return what if on is None else f"{what} of {plain(on)}"
