"""The style of every figure, and how it becomes a file.

matplotlib without a display and without pyplot: nothing global, no window. Colours are those of Okabe and Ito
2008, distinct to colour-blind eyes; line styles, markers and hatches say the same again, for print in grey.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..atomic import writing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "SUFFIXES",
    "bar_style",
    "check",
    "column",
    "grid",
    "legend",
    "line_style",
    "plain",
    "point_style",
    "save",
    "title",
]

SUFFIXES = (".png", ".svg", ".pdf")
# From dark to light and back, so that neighbours differ in grey too.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
# Of other numbers than the colours, so that dozens of lines differ in one of them.
_LINES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)))
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
# So many points can be distinguished without colour.
POINTS_APART = len(_MARKERS)
# Lines alone: dots would be circles by the thousand in an SVG.
_HATCHES = ("", "///", "xxx", "---", "\\\\\\")
# So many points of a line have a marker at most.
_MARKED = 12
# The longest name that a legend or an axis shows.
LONGEST = 40


def line_style(place: int, n_points: int = 0) -> dict[str, Any]:
    """Returns the style of the line at a place among several, with some markers if it has points."""
    style: dict[str, Any] = {
        "color": _COLOURS[place % len(_COLOURS)],
        "linestyle": _LINES[place % len(_LINES)],
        "linewidth": 1.6,
    }
    if n_points:
        # Lines begin to be marked at different places, so that markers do not cover each other.
        step = max(1, n_points // _MARKED)
        style |= {
            "marker": _MARKERS[place % len(_MARKERS)],
            "markersize": 4.5,
            "markevery": (place % step, step),
        }
    return style


def point_style(place: int) -> dict[str, Any]:
    """Returns the style of a point at a place among several."""
    return {"color": _COLOURS[place % len(_COLOURS)], "marker": _MARKERS[place % len(_MARKERS)]}


def bar_style(place: int) -> dict[str, Any]:
    """Returns the style of the bars at a place among several."""
    return {
        "color": _COLOURS[place % len(_COLOURS)], "hatch": _HATCHES[place % len(_HATCHES)],
        "edgecolor": "white", "linewidth": 0.5,
    }  # fmt: skip


def grid(
    n: int, *, columns: int = 3, width: float = 4.6, height: float = 3.6
) -> tuple["Figure", list["Axes"]]:
    """Returns a figure of `n` axes in rows of at most `columns`; sizes of one in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    columns = min(n, columns)
    rows = -(-n // columns)
    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, [figure.add_subplot(rows, columns, place + 1) for place in range(n)]


def column(heights: Sequence[float], *, width: float = 5.2) -> tuple["Figure", list["Axes"]]:
    """Returns a figure of axes below each other that share the horizontal axis; sizes in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, sum(heights)), layout="constrained")
    FigureCanvasAgg(figure)
    places = figure.add_gridspec(len(heights), 1, height_ratios=list(heights))
    made = [figure.add_subplot(places[0])]
    made += [figure.add_subplot(places[place], sharex=made[0]) for place in range(1, len(heights))]
    for axes in made[:-1]:
        axes.tick_params(labelbottom=False)
    return figure, made


def plain(text: str) -> str:
    """Returns a name as it is to be read: no formula between dollars, no name that legends leave out."""
    if len(text) > LONGEST:
        text = f"…{text[1 - LONGEST :]}"
    text = text.replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def title(text: str) -> str:
    """Returns a title, which may be longer than a name, without formulas."""
    return text.replace("$", r"\$")


def legend(figure: "Figure", axes: Sequence["Axes"], *, least: int = 2, beside: bool = False) -> None:
    """Puts one legend for all axes where it covers nothing: below them, or at their right.

    Args:
        figure: the figure.
        axes: those whose names it lists.
        least: names that need a legend; the axes of one alone may say it in their title.
        beside: in one column at the right.
    """
    from matplotlib.legend_handler import HandlerTuple

    # Of a name that is bars here and a line there, both are shown.
    entries: dict[str, dict[type, Any]] = {}
    for one in axes:
        for handle, label in zip(*one.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, {}).setdefault(type(handle), handle)
    if len(entries) < least:
        return
    handles: list[Any] = [tuple(kinds.values()) for kinds in entries.values()]
    look: dict[str, Any] = {"loc": "outside right center", "fontsize": "small"}
    if not beside:
        # A letter is about a twelfth of an inch wide, and the line before it half an inch.
        columns = int(figure.get_figwidth() / (0.6 + max(map(len, entries)) / 12))
        look |= {"loc": "outside lower center", "ncols": max(1, min(len(entries), columns))}
    width = 4.0 if any(len(kinds) > 1 for kinds in handles) else 2.0
    figure.legend(
        handles, list(entries), handler_map={tuple: HandlerTuple(ndivide=None)}, handlelength=width, **look
    )


def check(path: Path) -> None:
    """Refuses a file that a figure cannot be written to.

    Raises:
        ValueError: if the suffix names no format.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise ValueError(f"{path}: name a file that ends in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}")


def save(figure: "Figure", path: Path) -> None:
    """Writes a figure; the same figure gives the same bytes.

    Raises:
        ValueError: if the suffix names no format.
    """
    from matplotlib import rc_context

    check(path)
    kind = path.suffix[1:].lower()
    undated: dict[str, Any] = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}[kind]
    # The ids of an SVG are drawn at random unless they are salted; its text stays text, which can be
    # searched and read aloud, and is a tenth of the size of outlines.
    with rc_context({"svg.hashsalt": "sentitok", "svg.fonttype": "none"}), writing(path) as temporary:
        figure.savefig(temporary, dpi=120, format=kind, metadata=undated)
