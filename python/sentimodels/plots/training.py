"""Curves and learning rates of runs of every kind, each on one axis with the others.

Not for what is left at the end (`reached.py`). Which curves there are follows from the records: a
classifier has macro-F1, a language model bits per byte, an aligned one rewards or margins.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sentitok.figures.canvas import grid, legend, line_style, plain, title

from ..errors import ConfigError
from . import AS_USUAL, Asked
from .histories import History, series, smooth
from .names import said

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["curves", "rates"]

# Fields that are drawn unless a score is named, in the order of the figure.
_FIELDS = (
    "loss", "val_loss", "val_perplexity", "val_bits_per_byte", "val_bleu", "val_macro_f1", "val_divergence",
    "accuracy", "margin", "reward_mean", "kl", "distinct_2",
)  # fmt: skip
# Fields of one step's sample, which alone are noise.
_SMOOTHED = ("loss", "accuracy", "margin")
_AXES = ("step", "epoch", "seconds", "tokens")


def curves(histories: Mapping[str, History], asked: Asked = AS_USUAL) -> "Figure":
    """Draws losses and scores of several runs, one axis for each.

    Args:
        histories: of each run, by name.
        asked: the axis; the score, which then stands beside the losses; the title.

    Raises:
        ConfigError: if no run has what is asked for.
    """
    x = _axis(asked)
    fields = _fields(histories, asked.score)
    # Four are more readable as a square than in a row.
    figure, all_axes = grid(len(fields), columns=2 if len(fields) == 4 else 3)
    for axes, field in zip(all_axes, fields, strict=True):
        for place, (name, history) in enumerate(histories.items()):
            at, values = series(history, x, field)
            if field in _SMOOTHED:
                values = smooth(values)
            if values:
                axes.plot(at, values, label=plain(name), **line_style(place, len(values)))
        axes.set_title(said(field) + ", smoothed" * (field in _SMOOTHED), fontsize="medium")
        _across(axes, x)
    _titled(figure, asked)
    legend(figure, all_axes)
    return figure


def rates(histories: Mapping[str, History], asked: Asked = AS_USUAL) -> "Figure":
    """Draws the learning rates of several runs.

    Raises:
        ConfigError: if no run has records of them.
    """
    x = _axis(asked)
    if not any(series(history, x, "lr")[1] for history in histories.values()):
        raise ConfigError("no run has records of its learning rate; a run without steps has none")
    figure, (axes,) = grid(1, width=5.6, height=4)
    for place, (name, history) in enumerate(histories.items()):
        at, values = series(history, x, "lr")
        axes.plot(at, values, label=plain(name), **line_style(place, len(values)))
    axes.set_ylim(bottom=0)
    axes.set_ylabel(said("lr"))
    _across(axes, x)
    _titled(figure, asked)
    legend(figure, [axes])
    return figure


def _axis(asked: Asked) -> str:
    x = asked.axis or _AXES[0]
    if x not in _AXES:
        raise ConfigError(f"axis {x!r}: expected {', '.join(_AXES)}")
    return x


def _across(axes: "Axes", x: str) -> None:
    """Names the horizontal axis; counts are written as 50k or 1.2M."""
    from matplotlib.ticker import EngFormatter

    axes.set_xlabel(said(x))
    if x in ("step", "tokens"):
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.grid(alpha=0.3)


def _fields(histories: Mapping[str, History], score: str | None) -> list[str]:
    """Returns the fields to draw: those of the table that a run has, or the losses and one score."""
    known = {
        key for history in histories.values() for record in history for key, value in record.items()
        if isinstance(value, (int, float))
    }  # fmt: skip
    if score is None:
        fields = [field for field in _FIELDS if field in known]
        if not fields:
            raise ConfigError(
                f"no run has records of a loss or a score; they have {', '.join(sorted(known))}"
            )
        return fields
    if score not in known:
        raise ConfigError(f"no run has {score!r}; they have {', '.join(sorted(known))}")
    return [field for field in ("loss", "val_loss") if field in known and field != score] + [score]


def _titled(figure: "Figure", asked: Asked) -> None:
    if asked.on is not None:
        figure.suptitle(title(f"trained on {asked.on}"), fontsize="medium")
