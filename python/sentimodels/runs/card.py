"""`card`: what a classifier's run recorded of itself, for those it is handed to.

Not for laying it out (`cli/cards/classifier.py`) nor for other kinds of runs (`recorded.py` says which
there are). Nothing is measured again and nothing is typed: data, scores, intervals, limits and hashes are
those of the run directory, which is checked against its manifest first.
"""

from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any

from ..config import DistillationConfig, RunConfig
from ..data.record import TrainingRecord
from ..errors import CheckpointError
from ..evaluation.slices import wilson
from .ensemble import members_of
from .families import CLASSIFIER, check_there, resolve
from .manifest import read_json
from .pretrained import without_folder
from .recorded import about_of, differing, ending

__all__ = ["card"]

# Parts that are scored, with the rows that they are.
_PARTS = {"test": "test", "crossed": "valid", "valid": "valid"}
_TEXTS = ("max_tokens", "long", "lowercase", "tokenizer_model")
_SCORES = ("accuracy", "macro_f1", "log_loss", "ece")
# Keys that name files of the machine that trained, and what the card says elsewhere.
_ELSEWHERE = (
    "arch", "data.train", "data.valid", "data.test", "data.tokenizer", "data.vectors",
    "train.init_from", "task.teacher", "task.teacher_sha256",
)  # fmt: skip


def card(folder: Path) -> dict[str, Any]:
    """Returns what a classifier's run directory says of the model.

    Raises:
        CheckpointError: if it is none, or its files are not those it was written with.
    """
    check_there(folder)
    if members_of(folder) is not None:
        raise CheckpointError(f"{folder}: an ensemble, not one classifier; senti card {folder} has its runs")
    config = CLASSIFIER.load(folder)
    about, record = about_of(folder), TrainingRecord.load(folder)
    first = about.get("chosen", about)
    labels = read_json(folder / "labels.json")["labels"]
    tree = config.tree()
    # The folder that an `hf:` architecture was read from may be gone; the run has its settings.
    read = {"model": {"settings": tree["model"]["settings"]}} if "settings" in tree["model"] else {}
    return {
        "kind": "classifier",
        "name": folder.resolve().name,
        "arch": without_folder(config.arch),
        "example": about.get("example", "great fun"),
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
        "settings": differing(tree, resolve({"arch": config.arch, **read}).tree(), _ELSEWHERE),
        **ending(folder, about),
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
