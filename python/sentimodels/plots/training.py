"""Curves and learning rates of runs of every kind, each on one axis with the others, from `metrics.jsonl`.

What is left at the end is in `reached.py`. Which curves there are follows from the records: a
classifier has macro-F1, a language model bits per byte, an aligned one rewards or margins.
"""

import json
import math
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sentitok.figures.canvas import grid, legend, line_style, plain, title

from ..data.opening import read_small
from ..errors import CheckpointError, ConfigError
from . import AS_USUAL, Asked, said

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["History", "curves", "rates", "read_history", "series", "smooth", "task_of", "trained_on"]


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
