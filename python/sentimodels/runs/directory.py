"""The run directory: all that is needed to answer, to resume, and to document the run.

| file | holds |
|---|---|
| `model.safetensors` | weights; in its metadata the hash of the tokenizer they belong to |
| `config.toml` | the resolved configuration, paths absolute; enough to run again |
| `tokenizer.json`, `open-vocabulary.json`, `words.json` or `hashed-ngrams.json` | what turns texts into ids |
| `labels.json` | names of the classes, in the order of the logits; their separator; if they are ordered |
| `run.json` | temperature, scores, baselines, versions, git commit, time |
| `metrics.jsonl` | the course of training |
| `training_data.json`, `training_texts.npz` | hashes of files and texts trained on |
| `state.safetensors` | only while unfinished: what `--resume` continues from; with FSDP `state-STEP/` too |
| `out_of_fold.npz` | of a fold: its answers to the rows that it leaves out |
| `crossfit.npz` | only while unfinished: what the halves of dev have chosen so far |
| `thresholds.json` | if chosen: how probabilities become answers (`senti thresholds`) |
| `manifest.json` | size and SHA-256 of the other files, except for thresholds and those of unfinished runs |
| `.torchrun` | the call of `torchrun` that trains it, so that a restart resumes it |
| `first/` | with `train.refit`: the run directory of the run that chose the number of steps |

A run directory is data: no pickle is written or read. Every file is written under another
name and renamed; `manifest.json` comes last, and then the state goes, so a directory with the one and
without the other is whole.
"""

import hashlib
import json
import os
import platform
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol, TypeVar

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import nn

from sentitok.atomic import json_bytes
from sentitok.atomic import write as write_atomically
from sentitok.remote import is_url

from ..config import RunConfig, ThresholdRule, Written
from ..data.label_sets import labels_kind, labels_saved
from ..data.opening import read_small
from ..data.record import TrainingRecord
from ..data.table import Labels
from ..errors import CheckpointError
from ..evaluation.answers import Temperature, read_temperature
from ..evaluation.thresholds import FILE as THRESHOLDS
from ..evaluation.thresholds import Thresholds, load_thresholds
from ..models import build
from ..text.encoder import TextEncoder, load_encoder
from ..training.distributed import launch_name, n_restarts
from ..training.state import STATE, drop_shards
from .families import CLASSIFIER, FILES, check_there, fetched, training_command
from .pretrained import absolutize_arch

__all__ = [
    "HasFingerprint",
    "Loaded",
    "absolutize_paths",
    "begin_run",
    "begun",
    "check_unchanged",
    "fetch_files",
    "finish_run",
    "finished",
    "git_state",
    "listed",
    "load_labels",
    "load_run",
    "load_weights",
    "manifest_hash",
    "mark_launch",
    "metadata_of",
    "read_json",
    "refuse_begun",
    "refuse_run",
    "restarted",
    "sha256_of",
    "to_json",
    "versions",
    "without",
]

# In a run directory with `train.refit`: the run that chose the number of steps.
FIRST = "first"
WEIGHTS = "model.safetensors"
LABELS = "labels.json"
CROSSFIT = "crossfit.npz"
METRICS = "metrics.jsonl"
LAUNCH = ".torchrun"
# They change until a run has finished, and go then: the state first, as without it a run counts as finished.
UNFINISHED = (STATE, CROSSFIT)
_FORMAT = "sentimodels.run/1"
_GIT_SECONDS = 10
_Config = TypeVar("_Config", bound=Written)


class HasFingerprint(Protocol):
    """The encoder that turns texts into ids, as far as weights belong to it."""

    @property
    def fingerprint(self) -> str:
        """SHA-256 of it."""


@dataclass(frozen=True)
class Loaded:
    """A run, as it was saved."""

    config: RunConfig
    module: nn.Module
    encoder: TextEncoder
    labels: Labels
    about: dict[str, Any]
    thresholds: Thresholds | None = None

    @property
    def temperature(self) -> Temperature:
        """The divisor of logits."""
        return read_temperature(self.about.get("temperature", 1.0))


def versions() -> dict[str, str]:
    """Returns the versions that a run depends on."""
    return dict(_versions())


@cache
def _versions() -> dict[str, str]:
    names = ("sentitok", "torch", "numpy", "scikit-learn", "safetensors", "pydantic")
    by_name = {"python": platform.python_version(), "platform": platform.platform()}
    for name in names:
        try:
            by_name[name] = version(name)
        except ImportError:  # run from a source tree
            by_name[name] = "unknown"
    return by_name


def _held(folder: Path) -> CheckpointError:
    more = "" if finished(folder) else f", or --resume {folder}"
    return CheckpointError(f"{folder}: holds a run already; give another --out, or --force{more}")


def refuse_run(folder: Path) -> None:
    """Raises `CheckpointError` if the folder itself holds a run, or is a file."""
    if folder.is_file():
        raise CheckpointError(f"{folder}: a file; --out names a folder, which is made for the run")
    if (folder / "config.toml").exists():
        raise _held(folder)


def begun(folder: Path) -> bool:
    """Whether a folder holds a run, or the first run of a refit."""
    return (folder / "config.toml").exists() or (folder / FIRST / "config.toml").exists()


def refuse_begun(folder: Path) -> None:
    """Raises if the folder holds a run, or the first run of a refit.

    Raises:
        CheckpointError: naming it.
    """
    if begun(folder):
        raise _held(folder)


def finished(folder: Path) -> bool:
    """Whether a run directory is whole."""
    return (folder / MANIFEST).is_file() and not (folder / STATE).is_file()


def mark_launch(folder: Path) -> None:
    """Notes which call of `torchrun` trains a run, if one does."""
    if (name := launch_name()) is not None:
        write_atomically(folder / LAUNCH, name.encode())


def restarted(folder: Path) -> bool:
    """Whether `torchrun` has restarted the processes that trained this run."""
    if not n_restarts() or not begun(folder):
        return False
    try:
        return (folder / LAUNCH).read_text("utf-8") == launch_name()
    except FileNotFoundError:
        return False


def absolutize_paths(config: _Config) -> _Config:
    """Returns the configuration with absolute paths, so that a run can be resumed from any folder."""

    def absolute(path: str) -> str:
        return path if is_url(path) else str(Path(path).absolute())

    made = _with_files(config, absolute)
    if isinstance(made, RunConfig) and (made.train.threshold or "").startswith("cost="):
        rule = ThresholdRule.of(made.train.threshold or "")
        threshold = str(replace(rule, file=absolute(rule.file)))
        made = made.model_copy(update={"train": made.train.model_copy(update={"threshold": threshold})})
    arch = getattr(config, "arch", None)
    return made.model_copy(update={"arch": absolutize_arch(arch)}) if arch else made


def fetch_files(config: _Config) -> _Config:
    """Returns the configuration with local copies of the files that have URLs; they are called by the URLs.

    Raises:
        ModuleNotFoundError, OSError: as `sentitok.remote`.
    """
    return _with_files(config, fetched)


def _with_files(config: _Config, change: Callable[[str], str]) -> _Config:
    """Returns the configuration with another path of each file."""

    def changed(path: str | tuple[str, ...]) -> str | tuple[str, ...]:
        return tuple(map(change, path)) if isinstance(path, tuple) else change(path)

    made: dict[str, Any] = {}
    for name, keys in FILES.items():
        section = getattr(config, name)
        paths = {key: changed(path) for key in keys if (path := getattr(section, key, None))}
        if paths:
            made[name] = section.model_copy(update=paths)
    if base := getattr(config, "base", None):
        made["base"] = changed(base)
    return config.model_copy(update=made)


def begin_run(
    folder: Path, config: RunConfig, encoder: TextEncoder, labels: Labels, record: TrainingRecord
) -> None:
    """Writes configuration, encoder and data record before training, so that a stopped run can be resumed.

    Raises:
        CheckpointError: if the folder holds another run.
    """
    refuse_run(folder)
    folder.mkdir(parents=True, exist_ok=True)
    encoder.save(folder)
    write_atomically(folder / LABELS, to_json(labels_saved(labels)))
    for file, content in record.files().items():
        write_atomically(folder / file, content)
    mark_launch(folder)
    write_atomically(folder / "config.toml", config.to_toml().encode())


def git_state() -> dict[str, Any] | None:
    """Returns the commit of the working folder and whether tracked files differ from it.

    Git is asked for its state only: no hook runs, no lock is taken, nothing is fetched. `None` where there is
    no git, no repository, or no commit.
    """
    if (commit := _git("rev-parse", "--verify", "HEAD")) is None:
        return None
    changed = _git("status", "--porcelain", "--untracked-files=no", "--ignore-submodules=all")
    if changed is None:
        return None
    return {"commit": commit, "changed": bool(changed)}


def _git(*args: str) -> str | None:
    program = shutil.which("git")
    if program is None:
        return None
    command = [program, "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", *args]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            check=False,
            timeout=_GIT_SECONDS,
            env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else None


def finish_run(
    folder: Path,
    module: nn.Module,
    encoder: HasFingerprint,
    about: Mapping[str, Any],
    *,
    keeps_state: bool = False,
) -> None:
    """Writes the weights, the results, and the manifest over all files.

    The state goes last, unless it is kept because the run was stopped or has still to be scored. So an
    interruption here can be repaired by resuming.
    """
    # One entry: the order of several would differ from run to run.
    metadata = {"sentimodels": json.dumps({"format": _FORMAT, "tokenizer_sha256": encoder.fingerprint})}
    tensors = {name: value.detach().cpu().contiguous() for name, value in module.state_dict().items()}
    write_atomically(folder / WEIGHTS, save(tensors, metadata=metadata))
    threads = {"threads": torch.get_num_threads()}
    whole = {"format": _FORMAT, **about, **threads, "versions": versions(), "git": git_state()}
    write_atomically(folder / "run.json", to_json(whole))
    write_manifest(folder)
    if not keeps_state:
        for name in UNFINISHED:
            (folder / name).unlink(missing_ok=True)
        drop_shards(folder)


def write_manifest(folder: Path) -> None:
    """Writes size and hash of the files that a finished run has."""
    files = {
        path.relative_to(folder).as_posix(): {"bytes": path.stat().st_size, "sha256": sha256_of(path)}
        for path in sorted(folder.iterdir())
        if path.is_file()
        and path.name not in (MANIFEST, THRESHOLDS, *UNFINISHED)
        and not path.name.startswith(".")
    }
    write_atomically(folder / MANIFEST, to_json({"format": _FORMAT, "files": files}))


def metadata_of(folder: Path) -> dict[str, str]:
    """Returns the metadata of the weights: the hash of their tokenizer.

    Raises:
        CheckpointError: if there are none, or of another format.
    """
    try:
        with safe_open(folder / WEIGHTS, framework="pt") as file:
            metadata: dict[str, str] = json.loads((file.metadata() or {}).get("sentimodels", "{}"))
    except FileNotFoundError:
        raise CheckpointError(without(folder / WEIGHTS)) from None
    except (SafetensorError, OSError, ValueError) as error:
        raise CheckpointError(f"{folder / WEIGHTS}: unreadable: {error}") from error
    if metadata.get("format") != _FORMAT:
        raise CheckpointError(
            f"{folder / WEIGHTS}: format {metadata.get('format')!r}, this version reads {_FORMAT!r}"
        )
    return metadata


def load_run(folder: Path) -> Loaded:
    """Loads a run, after checking every file it reads against the manifest.

    Raises:
        CheckpointError: if a file is missing or altered, or the tokenizer is not the run's.
    """
    check_there(folder)
    metadata = metadata_of(folder)
    config = CLASSIFIER.load(folder)
    encoder = load_encoder(folder, config)
    check_unchanged(folder, (WEIGHTS, "config.toml", LABELS, "run.json", encoder.file_name))
    if metadata.get("tokenizer_sha256") != encoder.fingerprint:
        raise CheckpointError(f"{folder}: its tokenizer is not the one the weights were trained with")
    labels = load_labels(folder)
    module = build(config.arch, config.model, encoder.inputs(len(labels), ordered=labels.ordered))
    load_weights(module, folder)
    about, thresholds = read_json(folder / "run.json"), load_thresholds(folder, labels)
    return Loaded(config, module.eval(), encoder, labels, about, thresholds)


def load_labels(folder: Path) -> Labels:
    """Reads the labels of a run.

    Raises:
        CheckpointError: if the file is missing or damaged.
    """
    named = read_json(folder / LABELS)
    names = named.get("labels")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise CheckpointError(f"{folder / LABELS}: expected a list of names")
    return labels_kind(named)


def load_weights(module: nn.Module, folder: Path) -> None:
    """Reads the weights of a run into a module of the same shape.

    Raises:
        CheckpointError: naming the first tensors that do not fit.
    """
    expected = module.state_dict()
    tensors = {}
    with safe_open(folder / WEIGHTS, framework="pt") as file:
        names = set(file.keys())
        wrong = sorted(names ^ set(expected))
        for name in names & set(expected):
            shape = tuple(file.get_slice(name).get_shape())
            if shape != tuple(expected[name].shape):
                wrong.append(f"{name} {shape}, expected {tuple(expected[name].shape)}")
            else:
                tensors[name] = file.get_tensor(name)
    if wrong:
        raise CheckpointError(f"{folder / WEIGHTS}: does not fit its configuration: {'; '.join(wrong[:3])}")
    with torch.no_grad():
        module.load_state_dict(tensors)


MANIFEST = "manifest.json"


def listed(folder: Path) -> dict[str, dict[str, Any]]:
    """Returns the manifest's entries on the files of a run: `bytes` and `sha256`.

    Raises:
        CheckpointError: if it is missing or damaged.
    """
    files = read_json(folder / MANIFEST).get("files")
    if not isinstance(files, dict) or not all(map(_is_entry, files.values())):
        raise CheckpointError(
            f"{folder / MANIFEST}: damaged: the size or SHA-256 of a file is missing; take a complete "
            "copy of the run"
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
    """Returns the kind of a folder without one of its files: no run, or one that has not finished."""
    folder = path.parent
    if not (folder / "config.toml").is_file():
        return f"{folder}: no {path.name}; not a run directory"
    command = training_command(folder)
    return f"{folder}: no {path.name}; the run has not finished: senti {command} --resume {folder}"


def to_json(value: Mapping[str, Any]) -> bytes:
    """Returns the bytes of a JSON file of a run directory."""
    return json_bytes(value)


def sha256_of(path: Path) -> str:
    """Returns the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
