"""Accuracy of classifiers against what they cost: parameters, or seconds of training.

Not for language models, whose losses are compared by `senti runs`. A point is one run, or one recipe
over several seeds, as its file says; its line is the 95 % interval of the accuracy.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from sentitok.figures.canvas import POINTS_APART, grid, legend, plain, point_style

from ..data.opening import read_small
from ..errors import CheckpointError, ConfigError
from ..evaluation.slices import wilson
from . import AS_USUAL, Asked, said

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Reached", "accuracy", "read_reached"]

_AXES = ("parameters", "seconds")
# Letters of a line of the title.
_TITLE = 48
# What of `run.json` says how good a run is: the first that is there.
_PARTS = {"test": "test rows", "crossed": "validation rows, crossed", "valid": "validation rows"}


@dataclass(frozen=True)
class Reached:
    """What a run reached, and what it cost.

    Attributes:
        accuracy: share of right answers.
        low: lower end of its 95 % interval.
        high: upper end.
        parameters: numbers that were learnt.
        seconds: of training.
        part: the rows that judged.
    """

    accuracy: float
    low: float
    high: float
    parameters: int
    seconds: float
    part: str


def read_reached(run: Path) -> Reached:
    """Reads what a run directory of a classifier says of it.

    Raises:
        CheckpointError: if it is none, has not finished, or was judged on nothing.
    """
    path = run / "run.json"
    try:
        about: dict[str, Any] = json.loads(read_small(path))
        part = next((name for name in _PARTS if "accuracy" in about.get(name, {})), None)
        if part is None:
            raise CheckpointError(
                f"{run}: has no accuracy; give runs of senti train that had validation or test rows, or "
                "take --kind curves"
            )
        scores = about[part]
        rows = int(about["rows"]["test" if part == "test" else "valid"])
        low, high = scores.get("intervals", {}).get("accuracy") or wilson(scores["accuracy"], rows)
        return Reached(
            float(scores["accuracy"]), float(low), float(high), int(about["parameters"]),
            float(sum(about["seconds"].values())), _PARTS[part],
        )  # fmt: skip
    except CheckpointError:
        raise
    except FileNotFoundError:
        raise CheckpointError(f"{run}: no run.json; give run directories that have finished") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(f"{path}: says no accuracy and cost ({error!r})") from error


def accuracy(runs: Mapping[str, Reached], asked: Asked = AS_USUAL) -> "Figure":
    """Draws accuracy against parameters or seconds, a logarithmic axis.

    Raises:
        ConfigError: if there is no such axis, or a cost is not above 0.
    """
    x = asked.axis or _AXES[0]
    if x not in _AXES:
        raise ConfigError(f"axis {x!r}: expected {', '.join(_AXES)}")
    wrong = next((name for name, one in runs.items() if not getattr(one, x) > 0), None)
    if wrong is not None:
        raise ConfigError(
            f"{wrong}: {said(x)} {getattr(runs[wrong], x)}, which a logarithmic axis cannot show"
        )
    # A line of the legend is a fifth of an inch high.
    figure, (axes,) = grid(1, width=7.0, height=max(4.2, 0.5 + len(runs) / 5))
    numbered = len(runs) > POINTS_APART
    # The legend lists them as the eye does, the highest first.
    for place, (name, one) in enumerate(sorted(runs.items(), key=lambda item: -item[1].accuracy)):
        ends = [[one.accuracy - one.low], [one.high - one.accuracy]]
        number = f"{place + 1}  " if numbered else ""
        axes.errorbar(
            [getattr(one, x)], [one.accuracy], yerr=ends, capsize=2, elinewidth=0.8, markersize=6,
            linestyle="", label=number + plain(name), **point_style(place),
        )  # fmt: skip
        axes.annotate(
            number, (getattr(one, x), one.accuracy), (4, 3), textcoords="offset points", fontsize="x-small"
        )
    axes.set_xscale("log")
    axes.margins(x=0.08, y=0.08)
    _across(axes, x)
    axes.set_ylabel("accuracy, with 95 % interval")
    axes.grid(alpha=0.3)
    parts = " or ".join(dict.fromkeys(one.part for one in runs.values()))
    on = f"accuracy on {plain(asked.on) + ': ' if asked.on else ''}{parts}"
    axes.set_title("\n".join(wrap(on, _TITLE)), fontsize="medium")
    legend(figure, [axes], beside=True)
    return figure


def _across(axes: "Axes", x: str) -> None:
    """Names the horizontal axis; its numbers are written as 300k, not as powers."""
    from matplotlib.ticker import EngFormatter, FuncFormatter, LogLocator, NullFormatter

    axes.set_xlabel(said(x))
    low, high = axes.get_xlim()
    thousands = EngFormatter(sep="")
    written = FuncFormatter(lambda value, _: f"{value:g}" if value < 1000 else thousands(value))
    axes.xaxis.set_major_formatter(written)
    axes.xaxis.set_minor_locator(LogLocator(subs=(2, 5) if high > 5 * low else range(2, 10)))
    axes.xaxis.set_minor_formatter(written if high < 100 * low else NullFormatter())
