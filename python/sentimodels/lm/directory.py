"""The run directory of a language model: the files of a classifier's, without labels.

| file | holds |
|---|---|
| `model.safetensors` | weights; in its metadata the hash of the tokenizer they belong to |
| `config.toml` | the resolved configuration, paths absolute; enough to run again |
| `tokenizer.json` | sentitok's tokenizer |
| `run.json` | scores, baselines, versions, git commit, time |
| `metrics.jsonl` | the course of training |
| `training_data.json` | hashes of the files trained on |
| `state.safetensors`, `tokens/` | only while unfinished: what `--resume` goes on from |
| `manifest.json` | size and SHA-256 of every other file |

Not for classifiers (`runs/directory.py`), which the parts that know no labels come from.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sentitok import SentitokError, Tokenizer

from ..config import LanguageConfig
from ..data.writers import write_atomically
from ..errors import CheckpointError
from ..runs.directory import (
    MANIFEST,
    WEIGHTS,
    check_there,
    check_unchanged,
    finish_run,
    load_weights,
    metadata_of,
    read_json,
    refuse_run,
    to_json,
)
from ..runs.language import load_language_config
from .model import LanguageModule, build_language_model

__all__ = [
    "SOURCES",
    "TOKENIZER",
    "LoadedModel",
    "begin_language_run",
    "finish_language_run",
    "load_language_model",
    "load_tokenizer",
]

TOKENIZER = "tokenizer.json"
SOURCES = "training_data.json"


@dataclass(frozen=True)
class LoadedModel:
    """A language model, as it was saved.

    Attributes:
        config: of the run.
        module: with its weights, in evaluation mode, on the CPU.
        tokenizer: the one the weights belong to.
        about: what `run.json` holds.
    """

    config: LanguageConfig
    module: LanguageModule
    tokenizer: Tokenizer
    about: dict[str, Any]


def begin_language_run(
    folder: Path, config: LanguageConfig, tokenizer: Tokenizer, sources: Mapping[str, Any]
) -> None:
    """Writes what is known before training, so that a stopped run can be resumed.

    Args:
        folder: the run directory.
        config: of the run, paths absolute.
        tokenizer: what makes its ids.
        sources: what is trained on, for `training_data.json`.

    Raises:
        CheckpointError: if the folder holds another run.
    """
    refuse_run(folder)
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(folder / TOKENIZER)
    write_atomically(folder / SOURCES, to_json(sources))
    write_atomically(folder / "config.toml", config.to_toml().encode())


def finish_language_run(
    folder: Path, module: LanguageModule, tokenizer: Tokenizer, about: Mapping[str, Any]
) -> None:
    """Writes the weights and what is known after training, and the manifest over all files."""
    finish_run(folder, module, tokenizer, about)


def load_tokenizer(folder: Path) -> Tokenizer:
    """Reads the tokenizer of a run.

    Raises:
        CheckpointError: if it is missing or damaged.
    """
    try:
        return Tokenizer.from_file(folder / TOKENIZER)
    except (OSError, SentitokError) as error:
        raise CheckpointError(f"{folder / TOKENIZER}: unreadable: {error}") from error


def load_language_model(folder: Path | str) -> LoadedModel:
    """Loads a language model, after checking every file it reads against the manifest.

    Raises:
        CheckpointError: if a file is missing or altered, or the tokenizer is not the run's.
        ConfigError: if the run is a classifier.
    """
    folder = Path(folder)
    check_there(folder)
    if not (folder / "config.toml").is_file():
        raise CheckpointError(f"{folder}: no config.toml; not a run directory")
    config = load_language_config(folder)
    metadata = metadata_of(folder)
    files = read_json(folder / MANIFEST).get("files", {})
    check_unchanged(folder, (WEIGHTS, "config.toml", TOKENIZER, "run.json"), files)
    tokenizer = load_tokenizer(folder)
    if metadata.get("tokenizer_sha256") != tokenizer.fingerprint:
        raise CheckpointError(f"{folder}: its tokenizer is not the one the weights were trained with")
    module = build_language_model(config, tokenizer.vocab_size)
    load_weights(module, folder)
    module.eval()
    return LoadedModel(config, module, tokenizer, read_json(folder / "run.json"))
