"""`ensemble_card`: what an ensemble recorded of itself, and what its runs did.

Not for laying it out (`cli/cards/ensemble.py`). An ensemble records members, weights, the temperature and
the hash of the rows that chose them. It records no scores: those are of each run alone.
"""

from pathlib import Path, PurePath
from typing import Any

from ..errors import CheckpointError
from .card import card
from .ensemble import predictor_hash, read_ensemble, verify_ensemble
from .families import check_there

__all__ = ["ensemble_card"]

_OF_A_RUN = ("arch", "parameters", "labels", "scores", "refitted", "judged", "data", "files")


def ensemble_card(folder: Path) -> dict[str, Any]:
    """Returns what an ensemble's folder says of the predictor.

    Raises:
        CheckpointError: if its file is damaged, or a run is gone or not the one it was made of.
    """
    check_there(folder)
    value = read_ensemble(folder)
    if wrong := verify_ensemble(folder):
        raise CheckpointError(f"{folder}: not as it was written, so a card would be wrong: {wrong[0]}")
    members = []
    for one in value["members"]:
        facts = card(folder / one["run"])
        members.append(
            {
                "name": PurePath(one["run"]).name,
                "weight": float(one["weight"]),
                "manifest_sha256": one["manifest_sha256"],
                **{key: facts[key] for key in _OF_A_RUN},
            }
        )
    if not members:
        raise CheckpointError(f"{folder}: an ensemble of no runs; make it anew: senti ensemble")
    chosen_on = value.get("dev_sha256")
    return {
        "kind": "ensemble",
        "name": folder.resolve().name,
        "labels": list(value.get("labels", members[0]["labels"])),
        "parameters": sum(one["parameters"] for one in members),
        "temperature": float(value["temperature"]),
        "members": members,
        "chosen_on": {
            "sha256": chosen_on,
            "files": sorted(
                {source["file"] for one in members for source in one["data"] if source["sha256"] == chosen_on}
            ),
        },
        "ensemble_sha256": predictor_hash(folder),
    }
