"""`card`: what a run recorded of itself, for those it is handed to.

Not for laying it out (`cli/card.py`). Nothing is measured anew and nothing is typed: data, scores,
intervals, limits and hashes are those of the run directory, which is checked against its manifest
first. Of files only names are told, not the folders they lay in.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any

from ..config import DistillationConfig, RunConfig
from ..data.record import TrainingRecord
from ..errors import CheckpointError
from ..evaluation.slices import wilson
from .config import resolve
from .directory import MANIFEST, check_there, load_config, manifest_hash, read_json, verify
from .ensemble import members_of

__all__ = ["card"]

# Parts that are scored, with the rows that they are.
_PARTS = {"test": "test", "crossed": "valid", "valid": "valid"}
_TEXTS = ("max_tokens", "long", "lowercase", "tokenizer_model")
_SCORES = ("accuracy", "macro_f1", "log_loss", "ece")
# Keys that name files of the machine that trained, and what the card says elsewhere.
_FILES = (
    "data.train", "data.valid", "data.test", "data.tokenizer", "data.vectors", "train.init_from",
    "task.teacher", "task.teacher_sha256",
)  # fmt: skip


def card(folder: Path) -> dict[str, Any]:
    """Returns what a classifier's run directory says of the model.

    Raises:
        CheckpointError: if it is none, or its files are not those it was written with.
    """
    check_there(folder)
    if members_of(folder) is not None:
        raise CheckpointError(f"{folder}: an ensemble; make a card of each of its runs")
    config = load_config(folder)
    if wrong := verify(folder):
        raise CheckpointError(f"{folder}: not as it was written, so a card would be wrong: {wrong[0]}")
    about, record = read_json(folder / "run.json"), TrainingRecord.load(folder)
    first = about.get("chosen", about)
    labels = read_json(folder / "labels.json")["labels"]
    tree = config.tree()
    return {
        "name": folder.resolve().name,
        "arch": config.arch,
        "parameters": about["parameters"],
        "labels": {label: about.get("labels", {}).get(label) for label in labels},
        "data": [
            {
                "role": source.role, "file": PurePath(source.source).name, "format": source.format,
                "rows": source.rows, "sha256": source.sha256,
            }
            for source in record.sources
        ],
        "texts": {key: tree["data"].get(key) for key in _TEXTS},
        "scores": {
            **{part: _scores(first, part) for part in _PARTS if part in first and part != "test"},
            **({"test": _scores(about, "test")} if "test" in about else {}),
        },
        "refitted": "chosen" in about,
        "judged": about.get("judged"),
        "taught": _taught(config, about),
        "baselines": about.get("baselines", {}),
        "calibration": {
            "temperature": about.get("temperature", 1.0),
            "ece_before": first.get("valid", {}).get("ece_before"),
            "ece": first.get("valid", {}).get("ece"),
        },
        "training": {
            "seed": config.train.seed, "stop": about["fit"]["stop"], "steps": about["fit"]["steps"],
            "best_step": about["fit"]["best_step"], "device": about.get("device"),
            "seconds": round(sum(about.get("seconds", {}).values()), 1),
        },
        "settings": _settings(tree, config.arch),
        "files": read_json(folder / MANIFEST)["files"],
        "manifest_sha256": manifest_hash(folder),
        "versions": about.get("versions", {}),
        "git": about.get("git"),
    }  # fmt: skip


def _taught(config: RunConfig, about: Mapping[str, Any]) -> dict[str, Any] | None:
    """Returns who taught a student, and how far it is from its teacher, if rows told; `None` of others."""
    task = config.task
    if not isinstance(task, DistillationConfig):
        return None
    name = PurePath(task.teacher).name
    return {"teacher": name, "sha256": task.teacher_sha256, "distilled": about.get("distilled")}


def _scores(about: Mapping[str, Any], part: str) -> dict[str, Any]:
    """Returns the scores of a part with its rows and the intervals that are known."""
    given, n = about[part], about["rows"][_PARTS[part]]
    scores = {name: given[name] for name in _SCORES if given.get(name) is not None}
    ends = dict(given.get("intervals", {}))
    # Of crossed answers no bootstrap is recorded: accuracy and rows give Wilson's interval.
    ends.setdefault("accuracy", list(wilson(given["accuracy"], n)))
    by = "bootstrap" if "accuracy" in given.get("intervals", {}) else "Wilson"
    return {"rows": n, **scores, "intervals": ends, "intervals_by": by}


def _settings(tree: Mapping[str, Any], arch: str) -> dict[str, Any]:
    """Returns the settings that are not the defaults of the architecture."""
    usual = dict(_flat(resolve({"arch": arch}).tree()))
    return {
        key: value
        for key, value in _flat(tree)
        if key not in _FILES and key != "arch" and value != usual.get(key)
    }


def _flat(tree: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value
