"""What runs of every kind record of themselves, as their cards tell it: what kind they are, files, settings.

What one kind alone records is in `card.py`, `ensemble_card.py`, `language_card.py`, `alignment/card.py`. A
card is made of a run whose files are those of its manifest, and of nothing else; of files and of other
runs only names are told, not the folders they lay in.
"""

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any

from ..errors import CheckpointError
from .directory import WEIGHTS
from .ensemble import FILE
from .families import check_there, family_of
from .group import is_group
from .manifest import listed, manifest_hash, read_json
from .verify import verify

__all__ = [
    "about_of", "base_of", "differing", "ending", "kind_of", "name_of", "parameters_of", "training_of",
]  # fmt: skip


def kind_of(folder: Path) -> str:
    """Returns what a folder holds: a classifier, ensemble, language-model, translator or aligned-model.

    Raises:
        CheckpointError: if it holds no run.
        ConfigError: if its configuration is not valid TOML.
    """
    check_there(folder)
    if (folder / FILE).is_file():
        return "ensemble"
    if is_group(folder):
        raise CheckpointError(f"{folder}: a group of runs; name one of them, such as {_first(folder)}")
    return family_of(folder).name


def _first(folder: Path) -> Path:
    """Returns the first run of a group that has begun; the group itself, if none has."""
    return next((path.parent for path in sorted(folder.glob("*/config.toml"))), folder)


def about_of(folder: Path) -> dict[str, Any]:
    """Returns what `run.json` holds, of a run whose files are those it was written with.

    Raises:
        CheckpointError: if a file is missing, damaged or another one than the manifest names.
    """
    if wrong := verify(folder):
        raise CheckpointError(f"{folder}: not as it was written, so a card would be wrong: {wrong[0]}")
    return read_json(folder / "run.json")


def ending(folder: Path, about: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what every card ends with: the files, their hashes, versions and the git commit."""
    return {
        "files": listed(folder),
        "manifest_sha256": manifest_hash(folder),
        "versions": about.get("versions", {}),
        "git": about.get("git"),
    }


def training_of(about: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Returns how training went: its steps, tokens, seconds and device; `None` where that is not recorded."""
    fit = about.get("fit", {})
    seconds = about.get("seconds")
    return {
        "seed": seed,
        **{key: fit.get(key) for key in ("stop", "steps", "best_step", "monitor", "tokens")},
        "device": about.get("device"),
        "seconds": None if seconds is None else round(sum(seconds.values()), 1),
    }


def base_of(start: str | None, sha256: str | None, learned: bool) -> dict[str, Any] | None:
    """Returns what weights began as; `None` if they were drawn.

    Args:
        start: the run directory, or the file of weights.
        sha256: the hash of its manifest, if the run recorded that.
        learned: whether the run recorded what that one had learned from.
    """
    if not start:
        return None
    return {"name": name_of(start), "sha256": sha256, "learned": learned}


def name_of(path: str) -> str:
    """Returns the name of a file or run without the folders it lies in; weights are named by their run."""
    place = PurePath(path)
    return f"{place.parent.name}/{place.name}" if place.name == WEIGHTS else place.name


def parameters_of(about: Mapping[str, Any]) -> int | None:
    """Returns how many parameters a run recorded; `None` if it did not."""
    count = about.get("parameters")
    return None if count is None else int(count)


def differing(
    tree: Mapping[str, Any], usual: Mapping[str, Any], elsewhere: Collection[str]
) -> dict[str, Any]:
    """Returns the settings of a configuration that are not the usual ones, by `section.key`.

    Args:
        tree: the configuration.
        usual: the one that they are compared with.
        elsewhere: keys that are left out, as the card tells them elsewhere or not at all.
    """
    defaults = dict(_flat(usual))
    return {key: value for key, value in _flat(tree) if key not in elsewhere and value != defaults.get(key)}


def _flat(tree: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value
