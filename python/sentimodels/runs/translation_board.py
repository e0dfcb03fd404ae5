"""The translation models of a folder, ranked by BLEU of the validation pairs, or by loss where none is known.

Not for classifiers (`leaderboard.py`) nor language models (`language_board.py`). BLEU is compared among
runs with the same validation pairs and signature; perplexity of one tokenizer alone.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

from ..data.record import TrainingRecord
from ..errors import CheckpointError
from ..training.state import STATE
from .config import read_toml
from .manifest import MANIFEST, read_json

__all__ = ["entry", "place"]


def place(one: dict[str, Any]) -> tuple[Any, ...]:
    """Returns what runs are ordered by, unfinished ones last."""
    bleu, loss = one.get("bleu"), one.get("loss")
    return (loss is None, bleu is None, -(bleu or 0.0), loss or 0.0, one["run"])


def entry(folder: Path, run: Path) -> dict[str, Any]:
    """Returns what is known of a translation model.

    Args:
        folder: the folder that the path of the run starts from.
        run: its directory.

    Returns:
        `run`; `arch`; `state`, `finished`, `stopped` or `unfinished`; `data`, which tells
        runs with the same validation pairs; and once it is known `bleu`, `chrf`, `signatures`, `loss`,
        `perplexity`, `parameters` and `seconds`.
    """
    state = "finished" if (run / MANIFEST).is_file() else "unfinished"
    if (run / STATE).is_file():
        state = "stopped"
    found: dict[str, Any] = {
        "run": run.relative_to(folder).as_posix() if run != folder else run.name,
        "arch": read_toml(run / "config.toml").get("arch"), "state": state, "data": _data(run),
    }  # fmt: skip
    if not (run / "run.json").is_file():
        return found
    about = read_json(run / "run.json")
    valid = about.get("valid", {})
    known = ("bleu", "chrf", "signatures", "loss", "perplexity")
    return found | {
        **{key: valid[key] for key in known if key in valid},
        "parameters": about.get("parameters"),
        "seconds": round(sum(about.get("seconds", {}).values()), 1),
    }


def _data(run: Path) -> str | None:
    """Returns what is the same for runs with the same validation pairs.

    Those that were divided off are known by their file, and by how it was divided.
    """
    try:
        rows = TrainingRecord.load(run).identity("valid")
    except CheckpointError:
        return None
    tree = read_toml(run / "config.toml")
    data, train = tree.get("data", {}), tree.get("train", {})
    divided = [] if data.get("valid") else [data.get("limit"), data.get("valid_share"), train.get("seed")]
    return hashlib.sha256(json.dumps([rows, divided]).encode()).hexdigest()[:12]
