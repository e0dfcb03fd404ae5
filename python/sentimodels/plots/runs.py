"""Figures of runs: curves and learning rates by step, and what each reached against its size or its seconds.

Which curves there are follows from the records: a classifier has macro-F1, a language model bits per byte, an
aligned one rewards or margins.
"""

import json
import math
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from sentitok.figures.canvas import POINTS_APART, grid, legend, line_style, plain, point_style, title

from ..data.opening import read_small
from ..errors import CheckpointError, ConfigError
from ..evaluation.slices import wilson
from . import AS_USUAL, Asked, said

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "History",
    "Reached",
    "accuracy",
    "curves",
    "rates",
    "read_history",
    "read_reached",
    "series",
    "smooth",
    "task_of",
    "trained_on",
]


# Share of the past in the smoothed training loss.
SMOOTHING = 0.98

History = list[dict[str, Any]]


def read_history(run: Path) -> History:
    """Reads the `metrics.jsonl` of a run.

    Raises:
        CheckpointError: if it is missing or damaged.
    """
    path = run / "metrics.jsonl"
    try:
        records = _records(read_small(path))
    except (FileNotFoundError, NotADirectoryError):
        raise CheckpointError(
            f"{run}: no directory with a metrics.jsonl, which curves are drawn from; name that of a run, or "
            "for a file of texts add --kind labels or --kind lengths"
        ) from None
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path}: no curves can be drawn ({error})") from error
    if not records or not all(isinstance(record, dict) for record in records):
        raise CheckpointError(f"{path}: no records of training")
    return records


def _records(text: str) -> list[Any]:
    """Returns the records of lines; a last one that was not written whole, as by a killed run, is not."""
    *lines, last = text.split("\n")
    records = [json.loads(line) for line in lines if line.strip()]
    with suppress(ValueError):
        records += [json.loads(last)] if last.strip() else []
    return records


def trained_on(run: Path) -> str | None:
    """Returns the names of the files that a run was trained on, `None` where it does not say."""
    try:
        sources = json.loads(read_small(run / "training_data.json"))["sources"]
        names = [Path(one["source"]).name for one in sources if one.get("role", "train") == "train"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    if len(names) > 3:
        return f"{len(names)} files"
    return " and ".join(dict.fromkeys(names)) or None


def task_of(run: Path) -> str | None:
    """Returns the task that a run was trained for, as `next-token`; `None` where it does not say."""
    try:
        kind = tomllib.loads(read_small(run / "config.toml"))["task"]["kind"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return kind if isinstance(kind, str) else None


def series(history: History, x: str, y: str) -> tuple[list[float], list[float]]:
    """Returns the points of the records that have both, as finite numbers."""
    points = [(r[x], r[y]) for r in history if _is_number(r.get(x)) and _is_number(r.get(y))]
    return [float(a) for a, _ in points], [float(b) for _, b in points]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def smooth(values: Sequence[float], share: float = SMOOTHING) -> list[float]:
    """Returns the running mean with exponential forgetting, corrected for its start."""
    smoothed = []
    total = weight = 0.0
    for value in values:
        total = share * total + (1 - share) * value
        weight = share * weight + (1 - share)
        smoothed.append(total / weight)
    return smoothed


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
        asked: the axis; the score, which is then drawn next to the losses; the title.

    Raises:
        ConfigError: if no run has the values.
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
        raise ConfigError("no run has records of its learning rate; only runs trained in steps record it")
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


_SCALES = ("parameters", "seconds")
# Letters of a line of the title.
_TITLE = 48
# Scores in `run.json` by which runs are compared: the first that is there.
_PARTS = {"test": "test rows", "crossed": "validation rows, cross-fitted", "valid": "validation rows"}


@dataclass(frozen=True)
class Reached:
    """The score of a run, and its cost.

    Attributes:
        accuracy: share of right answers.
        low: lower end of its 95 % interval.
        high: upper end.
        parameters: numbers that are trained.
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
    """Reads the score and cost in a run directory of a classifier.

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
    x = asked.axis or _SCALES[0]
    if x not in _SCALES:
        raise ConfigError(f"axis {x!r}: expected {', '.join(_SCALES)}")
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
    _across_runs(axes, x)
    axes.set_ylabel("accuracy, with 95 % interval")
    axes.grid(alpha=0.3)
    parts = " or ".join(dict.fromkeys(one.part for one in runs.values()))
    on = f"accuracy on {plain(asked.on) + ': ' if asked.on else ''}{parts}"
    axes.set_title("\n".join(wrap(on, _TITLE)), fontsize="medium")
    legend(figure, [axes], beside=True)
    return figure


def _across_runs(axes: "Axes", x: str) -> None:
    """Names the horizontal axis; its numbers are written as 300k, not as powers."""
    from matplotlib.ticker import EngFormatter, FuncFormatter, LogLocator, NullFormatter

    axes.set_xlabel(said(x))
    low, high = axes.get_xlim()
    thousands = EngFormatter(sep="")
    written = FuncFormatter(lambda value, _: f"{value:g}" if value < 1000 else thousands(value))
    axes.xaxis.set_major_formatter(written)
    axes.xaxis.set_minor_locator(LogLocator(subs=(2, 5) if high > 5 * low else range(2, 10)))
    axes.xaxis.set_minor_formatter(written if high < 100 * low else NullFormatter())
