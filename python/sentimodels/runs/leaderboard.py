"""The runs of a folder, ranked by the score that chose their weights.

Not for a comparison on the same rows with a test of the difference (`senti compare`). Scores are of
validation rows, so runs are ranked among those with the same ones; the interval is that of these rows.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ..data.record import TrainingRecord
from ..errors import CheckpointError
from ..tasks.classification import MONITOR
from ..training.state import STATE
from . import language_board, translation_board
from .directory import FIRST
from .families import ALIGNMENT, CLASSIFIER, LANGUAGE_MODEL, TRANSLATOR, check_there, family_of
from .manifest import MANIFEST, read_json

__all__ = ["leaderboard"]

# Folders below which no run is looked for.
_DEPTH = 4


def leaderboard(
    folder: Path, say: Callable[[str], None] | None = None
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]:
    """Returns what is known of each run in a folder, the best first; unfinished ones last.

    Args:
        folder: a run, or a folder of runs.
        say: told of each that is left out, as it is none or damaged.

    Returns:
        Classifiers, then language models, as `language_board` describes them, then translation models,
        as `translation_board` does. Of classifiers, for each run: `run`, its path below the folder;
        `arch`; `state`, `finished`, `stopped` or `unfinished`; the monitored score under its own
        name, with `interval` where it is known; `accuracy`, `log_loss`, `parameters`, `seconds`,
        `seed`, `rows`, `data`, which tells runs with the same rows, and `test` where there are test
        rows.

    Raises:
        CheckpointError: if there is no such folder, it holds no run, or all are damaged.
    """
    check_there(folder)
    runs = list(_runs(folder, _DEPTH))
    if not runs:
        raise CheckpointError(
            f"{folder}: no run in this folder; give a folder of runs, as senti train writes them"
        )
    classifiers: list[dict[str, Any]] = []
    models: list[dict[str, Any]] = []
    translations: list[dict[str, Any]] = []
    failed: CheckpointError | None = None
    for run in runs:
        try:
            family = family_of(run)
            if family in (LANGUAGE_MODEL, ALIGNMENT):
                models.append(language_board.entry(folder, run))
            elif family is TRANSLATOR:
                translations.append(translation_board.entry(folder, run))
            else:
                classifiers.append(_entry(folder, run))
        # Of any folder, a file may be of another program, or damaged in any way.
        except (OSError, ValueError, TypeError, AttributeError, LookupError) as error:
            failed = CheckpointError(f"{run}: not a run, or damaged: {error}")
            if say is not None:
                say(f"left out: {failed}")
    if failed is not None and not (classifiers or models or translations):
        raise failed
    score = MONITOR.removeprefix("val_")
    classifiers.sort(key=lambda one: (one.get(score) is None, -(one.get(score) or 0.0), one["run"]))
    models.sort(key=language_board.place)
    translations.sort(key=translation_board.place)
    return classifiers, models, translations


def _runs(folder: Path, depth: int) -> Iterator[Path]:
    """Yields the run directories in a folder, itself too."""
    if (folder / "config.toml").is_file():
        yield folder
    elif depth:
        for path in sorted(folder.iterdir()):
            if path.is_dir() and not path.name.startswith("."):
                yield from _runs(path, depth - 1)


def _entry(folder: Path, run: Path) -> dict[str, Any]:
    config = CLASSIFIER.load(run)
    state = "finished" if (run / MANIFEST).is_file() else "unfinished"
    if (run / STATE).is_file():
        state = "stopped"
    entry: dict[str, Any] = {
        "run": run.relative_to(folder).as_posix() if run != folder else run.name,
        "arch": config.arch, "seed": config.train.seed, "state": state,
        "data": _data(run / FIRST if (run / FIRST).is_dir() else run),
    }  # fmt: skip
    if config.data.fold is not None:  # folds of one table are shown together
        of = run.parent.relative_to(folder).as_posix() if run != folder else run.parent.name
        entry |= {"folds_of": of, "fold": config.data.fold}
    if not (run / "run.json").is_file():
        return entry
    about = read_json(run / "run.json")
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
