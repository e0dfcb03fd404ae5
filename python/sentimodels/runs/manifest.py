"""The JSON files of a run directory, and its manifest: size and hash of the others, which comes last.

Not for what else a run directory holds (`directory.py`), nor for naming all that has changed (`verify.py`).
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..data.opening import read_small
from ..errors import CheckpointError
from .families import training_command

__all__ = [
    "check_unchanged",
    "listed",
    "manifest_hash",
    "read_json",
    "sha256_of",
    "to_json",
    "without",
]

MANIFEST = "manifest.json"


def listed(folder: Path) -> dict[str, dict[str, Any]]:
    """Returns what the manifest of a run says of each of its files: `bytes` and `sha256`.

    Raises:
        CheckpointError: if it is missing or damaged.
    """
    files = read_json(folder / MANIFEST).get("files")
    if not isinstance(files, dict) or not all(map(_is_entry, files.values())):
        raise CheckpointError(
            f"{folder / MANIFEST}: damaged: it has not size and SHA-256 of every file; take a copy of the "
            "run that is whole"
        )
    return files


def _is_entry(value: object) -> bool:
    """Whether a manifest says of a file what it should."""
    return (
        isinstance(value, dict) and type(value.get("bytes")) is int and isinstance(value.get("sha256"), str)
    )


def check_unchanged(folder: Path, names: Iterable[str] | None = None) -> None:
    """Compares files of a run directory with what its manifest says.

    Args:
        folder: the run directory.
        names: the files; without them all of the manifest that are there.

    Raises:
        CheckpointError: naming the first that is missing or differs.
    """
    files = listed(folder)
    for name in names if names is not None else [name for name in files if (folder / name).is_file()]:
        path = folder / name
        if not path.is_file():
            raise CheckpointError(f"{path}: missing; see senti verify {folder}")
        if name not in files or sha256_of(path) != files[name]["sha256"]:
            raise CheckpointError(f"{path}: changed since it was written; see senti verify {folder}")


def manifest_hash(folder: Path) -> str | None:
    """Returns the hash of a run's manifest, which changes with any of its files; `None` without one."""
    path = folder / MANIFEST
    return sha256_of(path) if path.is_file() else None


def read_json(path: Path) -> dict[str, Any]:
    """Reads a JSON file of a run directory.

    Raises:
        CheckpointError: if it is missing or damaged.
    """
    try:
        value = json.loads(read_small(path))
    except FileNotFoundError:
        raise CheckpointError(without(path)) from None
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{path}: unreadable: {error}") from error
    if not isinstance(value, dict):
        raise CheckpointError(f"{path}: expected an object")
    return value


def without(path: Path) -> str:
    """Returns what a folder without one of its files is: no run, or one that has not finished."""
    folder = path.parent
    if not (folder / "config.toml").is_file():
        return f"{folder}: no {path.name}; not a run directory"
    command = training_command(folder)
    return f"{folder}: no {path.name}; the run has not finished: senti {command} --resume {folder}"


def to_json(value: Mapping[str, Any]) -> bytes:
    """Returns the bytes of a JSON file of a run directory."""
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()


def sha256_of(path: Path) -> str:
    """Returns the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
