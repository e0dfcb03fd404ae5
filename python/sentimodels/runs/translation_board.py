"""The translation models of a folder, ranked by BLEU of the validation pairs, or by loss where none is known.

Not for classifiers (`leaderboard.py`) nor language models (`language_board.py`). BLEU is compared among
runs with the same validation pairs and signature; perplexity of one tokenizer alone.
"""

from pathlib import Path
from typing import Any

from ..data.record import TrainingRecord
from ..errors import CheckpointError
from .config import read_toml
from .directory import STATE
from .language import is_translation
from .manifest import MANIFEST, read_json

__all__ = ["translation_board", "translation_runs"]


def translation_runs(runs: list[Path]) -> list[Path]:
    """Returns those that are translation models."""
    return [run for run in runs if is_translation(read_toml(run / "config.toml"))]


def translation_board(folder: Path, runs: list[Path]) -> list[dict[str, Any]]:
    """Returns what is known of each translation model, the best first; unfinished ones last.

    Args:
        folder: what the paths of runs are told from.
        runs: their directories.

    Returns:
        For each run: `run`; `arch`; `state`, `finished`, `stopped` or `unfinished`; `data`, which tells
        runs with the same validation pairs; and once it is known `bleu`, `chrf`, `signatures`, `loss`,
        `perplexity`, `parameters` and `seconds`.
    """
    return sorted((_entry(folder, run) for run in runs), key=_place)


def _place(one: dict[str, Any]) -> tuple[Any, ...]:
    bleu, loss = one.get("bleu"), one.get("loss")
    return (loss is None, bleu is None, -(bleu or 0.0), loss or 0.0, one["run"])


def _entry(folder: Path, run: Path) -> dict[str, Any]:
    state = "finished" if (run / MANIFEST).is_file() else "unfinished"
    if (run / STATE).is_file():
        state = "stopped"
    entry: dict[str, Any] = {
        "run": run.relative_to(folder).as_posix() if run != folder else run.name,
        "arch": read_toml(run / "config.toml").get("arch"), "state": state, "data": _data(run),
    }  # fmt: skip
    if not (run / "run.json").is_file():
        return entry
    about = read_json(run / "run.json")
    valid = about.get("valid", {})
    known = ("bleu", "chrf", "signatures", "loss", "perplexity")
    return entry | {
        **{key: valid[key] for key in known if key in valid},
        "parameters": about.get("parameters"),
        "seconds": round(sum(about.get("seconds", {}).values()), 1),
    }


def _data(run: Path) -> str | None:
    """Returns what is the same for runs with the same validation pairs."""
    try:
        return TrainingRecord.load(run).identity("valid")
    except CheckpointError:
        return None
