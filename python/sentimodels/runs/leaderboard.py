"""The runs of a folder, ranked by the score that chose their weights.

Not for a comparison on the same rows with a test of the difference (`senti compare`). Scores are of
validation rows, so runs are ranked among those with the same ones; the interval is that of these rows.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..data.opening import read_small
from ..data.record import TrainingRecord
from ..errors import CheckpointError
from ..tasks.classification import MONITOR
from .directory import FIRST, STATE, check_there, load_config
from .language_board import language_board, language_runs
from .manifest import MANIFEST
from .translation_board import translation_board, translation_runs

__all__ = ["leaderboard"]

# Folders below which no run is looked for.
_DEPTH = 4


def leaderboard(folder: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]:
    """Returns what is known of each run in a folder, the best first; unfinished ones last.

    Returns:
        Classifiers, then language models, as `language_board` tells of them, then translation models,
        as `translation_board` does. Of classifiers, for each run: `run`, its path below the folder;
        `arch`; `state`, `finished`, `stopped` or `unfinished`; the monitored score under its own
        name, with `interval` where it is known; `accuracy`, `log_loss`, `parameters`, `seconds`,
        `seed`, `rows`, `data`, which tells runs with the same rows, and `test` where there are test
        rows.

    Raises:
        CheckpointError: if there is no such folder, or it holds no run.
    """
    check_there(folder)
    runs = list(_runs(folder, _DEPTH))
    of_language, of_translation = language_runs(runs), translation_runs(runs)
    entries = [_entry(folder, run) for run in runs if run not in (*of_language, *of_translation)]
    if not runs:
        raise CheckpointError(
            f"{folder}: no run in this folder; give a folder of runs, as senti train writes them"
        )
    score = MONITOR.removeprefix("val_")
    ranked = sorted(entries, key=lambda one: (one.get(score) is None, -(one.get(score) or 0.0), one["run"]))
    return ranked, language_board(folder, of_language), translation_board(folder, of_translation)


def _runs(folder: Path, depth: int) -> Iterator[Path]:
    """Yields the run directories in a folder, itself too."""
    if (folder / "config.toml").is_file():
        yield folder
    elif depth:
        for path in sorted(folder.iterdir()):
            if path.is_dir() and not path.name.startswith("."):
                yield from _runs(path, depth - 1)


def _entry(folder: Path, run: Path) -> dict[str, Any]:
    config = load_config(run)
    state = "finished" if (run / MANIFEST).is_file() else "unfinished"
    if (run / STATE).is_file():
        state = "stopped"
    entry: dict[str, Any] = {
        "run": run.relative_to(folder).as_posix() if run != folder else run.name,
        "arch": config.arch, "seed": config.train.seed, "state": state,
        "data": _data(run / FIRST if (run / FIRST).is_dir() else run),
    }  # fmt: skip
    if not (run / "run.json").is_file():
        return entry
    about = _json(run / "run.json")
    score = MONITOR.removeprefix("val_")
    # Of a refitted run, the validation rows that chose its steps.
    valid, test = about.get("chosen", about).get("valid"), about.get("test")
    entry |= {
        "parameters": about.get("parameters"), "rows": about.get("chosen", about).get("rows"),
        "seconds": round(sum(about.get("seconds", {}).values()), 1),
    }  # fmt: skip
    if valid is not None:
        entry |= {key: valid.get(key) for key in (score, "accuracy", "log_loss")}
        entry["interval"] = valid.get("intervals", {}).get(score)
    if test is not None:
        entry["test"] = {key: test.get(key) for key in (score, "accuracy")}
    return entry


def _data(run: Path) -> str | None:
    """Returns what is the same for runs with the same validation rows: of their file, and their places."""
    try:
        return TrainingRecord.load(run).identity("valid")
    except CheckpointError:
        return None


def _json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(read_small(path))
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path}: unreadable: {error}") from error
    if not isinstance(value, dict):
        raise CheckpointError(f"{path}: expected an object")
    return value
