"""`verify`: says what of a run directory is not as it was written."""

from pathlib import Path

from sentitok import Tokenizer

from ..data.opening import hash_file
from ..data.readers import read_table
from ..data.record import TrainingRecord
from ..evaluation.thresholds import FILE as THRESHOLDS
from ..text.encoder import load_encoder
from ..training.state import STATE
from .directory import FIRST, MANIFEST, UNFINISHED, WEIGHTS, listed, metadata_of, sha256_of
from .families import CLASSIFIER, check_there, family_of, fetched

__all__ = ["changed_data", "verify"]


def verify(folder: Path) -> list[str]:
    """Compares a run directory with its manifest and its tokenizer with its weights.

    Returns:
        The faults, one sentence each; none if all is as written.

    Raises:
        CheckpointError: if it is not a run directory.
    """
    check_there(folder)
    wrong = []
    files = listed(folder)
    for name, entry in files.items():
        path = folder / name
        if Path(name).name != name:
            wrong.append(f"{name}: no file of a run directory")
        elif not path.is_file():
            wrong.append(f"{name}: missing")
        elif sha256_of(path) != entry["sha256"]:
            wrong.append(f"{name}: changed since it was written")
    there = {path.name for path in folder.iterdir() if path.is_file() and not path.name.startswith(".")}
    known = {*files, MANIFEST, THRESHOLDS, *(UNFINISHED if STATE in there else ())}
    wrong += [f"{name}: not in the manifest" for name in sorted(there - known)]
    if WEIGHTS in there:
        wrong += _mismatch(folder)
    if (folder / FIRST).is_dir():
        wrong += [f"{FIRST}/{line}" for line in verify(folder / FIRST)]
    return wrong


def changed_data(folder: Path) -> list[str]:
    """Compares the files that a run was trained and judged on with their hashes.

    Returns:
        The missing and changed files, one sentence each.

    Raises:
        CheckpointError: if the run's record of its data is missing or damaged.
        OSError: if a file cannot be read.
    """
    wrong = []
    for source in {(one.source, one.sha256, one.format) for one in TrainingRecord.load(folder).sources}:
        path, sha256, format = Path(fetched(source[0])), source[1], source[2]
        if not path.exists():
            wrong.append(f"{path}: missing, so it cannot be compared")
        elif (hash_file(path) if path.is_file() else read_table(path, format=format).sha256) != sha256:
            wrong.append(f"{path}: changed since the run was trained")
    return sorted(wrong)


def _mismatch(folder: Path) -> list[str]:
    try:
        expected = metadata_of(folder).get("tokenizer_sha256")
        actual = _fingerprint(folder)
    except ValueError as error:
        return [str(error)]
    return [] if expected == actual else ["the tokenizer is not the one the weights were trained with"]


def _fingerprint(folder: Path) -> str:
    """Returns the hash of the tokenizer of a run, be it a classifier or a language model."""
    if family_of(folder) is not CLASSIFIER:
        return Tokenizer.from_file(folder / "tokenizer.json").fingerprint
    return load_encoder(folder, CLASSIFIER.load(folder)).fingerprint
