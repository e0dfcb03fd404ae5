"""`load_predictor`: whatever answers, a run's `Classifier` or an `Ensemble` of several."""

from dataclasses import replace
from pathlib import Path

from .errors import CheckpointError
from .evaluation.answers import read_temperature
from .evaluation.predictions import Predictor
from .evaluation.thresholds import load_thresholds
from .runs.directory import manifest_hash
from .runs.ensemble import Ensemble, members_of, read_ensemble
from .runs.families import CLASSIFIER, check_there
from .text.encoder import HasFeatures

__all__ = ["load_predictor", "reads_whole"]


def reads_whole(path: Path) -> bool:
    """Whether a run, or each run of an ensemble, reads texts of any length at once, as bags do."""
    return all(isinstance(CLASSIFIER.load(one).model, HasFeatures) for one in members_of(path) or [path])


def load_predictor(path: Path, device: str | None = None, *, windows: bool = False) -> Predictor:
    """Loads a run directory or an ensemble's folder.

    Args:
        path: the folder.
        device: `cpu`, `cuda`, ... or `auto`; `None` is the CPU.
        windows: whether to read long texts in windows, whatever the runs were trained with.

    Raises:
        CheckpointError: if it is neither, or damaged.
    """
    from .classifier import Classifier

    check_there(path)
    members = members_of(path)
    if members is None:
        return Classifier.load(path, device or "cpu", windows=windows)
    value = read_ensemble(path)
    for member, about in zip(members, value["members"], strict=True):
        if members_of(member) is not None:
            raise CheckpointError(f"{path}: its member {member} is an ensemble; name its runs instead")
        if manifest_hash(member) != about["manifest_sha256"]:
            raise CheckpointError(f"{path}: its member {member} is not the run it was made of")
    loaded = Ensemble(
        tuple(Classifier.load(member, device or "cpu", windows=windows) for member in members),
        tuple(float(member["weight"]) for member in value["members"]),
        read_temperature(value["temperature"]),
    )
    if list(loaded.labels.names) != value["labels"]:
        raise CheckpointError(f"{path}: its runs have other labels now: {', '.join(loaded.labels)}")
    return replace(loaded, thresholds=load_thresholds(path, loaded.labels))
