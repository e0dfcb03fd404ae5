"""The run directory of a language model: the files of a classifier's, without labels.

| file | holds |
|---|---|
| `model.safetensors` | weights; in its metadata the hash of the tokenizer they belong to |
| `config.toml` | the resolved configuration, paths absolute; enough to run again |
| `tokenizer.json` | sentitok's tokenizer |
| `run.json` | scores, baselines, versions, git commit, time |
| `metrics.jsonl` | the course of training |
| `training_data.json` | hashes of the files trained on |
| `state.safetensors`, `tokens/` | only while unfinished: what `--resume` continues from |
| `manifest.json` | size and SHA-256 of the other files, except for those of unfinished runs |

Translation models have the same files, with the hashes of their texts as classifiers have them.
Parts without labels come from `runs/directory.py`, which writes classifiers.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from torch import nn

from sentitok import SentitokError, Tokenizer
from sentitok.atomic import write as write_atomically

from ..config import LanguageConfig, Written
from ..errors import CheckpointError, ConfigError
from ..models.language import LanguageModule, build_language_model, language_model_shape
from ..text.special_tokens import known_end, special_ids
from .directory import (
    MANIFEST,
    WEIGHTS,
    check_unchanged,
    finish_run,
    finished,
    load_weights,
    mark_launch,
    metadata_of,
    read_json,
    refuse_run,
    to_json,
)
from .families import LANGUAGE_MODEL, TRANSLATOR, Family, check_command, family_of, read_toml

__all__ = [
    "IMPORTED",
    "SAMPLES",
    "SOURCES",
    "TOKENIZER",
    "LoadedModel",
    "begin_language_run",
    "begin_with",
    "end_of_start",
    "import_transplanted",
    "load_checked",
    "load_language_model",
    "load_tokenizer",
    "load_unfinished",
    "shape_of",
    "tokenizer_of_start",
]

TOKENIZER = "tokenizer.json"
SOURCES = "training_data.json"
# Of an alignment: every answer before and after, with its reward.
# What `run.json` names as the origin of a run whose tokenizer was changed.
IMPORTED = "sentitok transplant"
SAMPLES = "samples.jsonl"
_Config = TypeVar("_Config", bound=Written)
_Module = TypeVar("_Module", bound=nn.Module)


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
    """Writes the configuration and tokenizer before training, so that a stopped run can be resumed.

    Args:
        folder: the run directory.
        config: of the run, paths absolute.
        tokenizer: makes its ids.
        sources: training files, for `training_data.json`.

    Raises:
        CheckpointError: if the folder holds another run.
    """
    begin_with(folder, config, tokenizer, {SOURCES: to_json(sources)})


def begin_with(folder: Path, config: Written, tokenizer: Tokenizer, files: Mapping[str, bytes]) -> None:
    """Writes tokenizer, the record of the training files, and at last the configuration.

    Raises:
        CheckpointError: if the folder holds another run.
    """
    refuse_run(folder)
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(folder / TOKENIZER)
    for name, content in files.items():
        write_atomically(folder / name, content)
    mark_launch(folder)
    write_atomically(folder / "config.toml", config.to_toml().encode())


def load_tokenizer(folder: Path) -> Tokenizer:
    """Reads the tokenizer of a run.

    Raises:
        CheckpointError: if it is missing or damaged.
    """
    try:
        return Tokenizer.from_file(folder / TOKENIZER)
    except (OSError, SentitokError) as error:
        raise CheckpointError(f"{folder / TOKENIZER}: unreadable: {error}") from error


def tokenizer_of_start(config: LanguageConfig) -> Tokenizer | None:
    """Returns the tokenizer of the run that a model starts from, unless another is named.

    Raises:
        ConfigError: if that run has no tokenizer, or translates.
    """
    start = config.train.init_from
    if start is not None and (Path(start) / "config.toml").is_file() and family_of(Path(start)) is TRANSLATOR:
        raise ConfigError(
            f"train.init_from {start}: a translation model; senti translate train FILES --init {start} "
            "continues it"
        )
    if start is None or config.data.tokenizer is not None or not Path(start).is_dir():
        return None
    if (Path(start) / "config.toml").is_file() and not (Path(start) / TOKENIZER).is_file():
        raise ConfigError(
            f"train.init_from {start}: that run reads whole words and has no tokenizer; name one with "
            "--tokenizer FILE, or leave out --init"
        )
    return load_tokenizer(Path(start))


def shape_of(config: LanguageConfig) -> LanguageModule:
    """Returns the module of a run without values, before its corpus is read."""
    known = config.data.tokenizer
    tokenizer = tokenizer_of_start(config) if known is None else Tokenizer.from_file(known)
    return language_model_shape(config, config.data.vocab_size if tokenizer is None else tokenizer.vocab_size)


def end_of_start(config: LanguageConfig, tokenizer: Tokenizer) -> str | None:
    """Returns the special token that ends a document of the run that a model starts from, or `None`.

    Args:
        config: of the model that starts there.
        tokenizer: of that run.
    """
    folder = Path(config.train.init_from or "")
    tree = read_toml(folder / "config.toml") if (folder / "config.toml").is_file() else {}
    about = read_json(folder / "run.json") if (folder / "run.json").is_file() else {}
    data = tree.get("data")
    named = data.get("end") if isinstance(data, Mapping) else None
    end = known_end(tokenizer, named, about)
    return end if end in special_ids(tokenizer) else None


def load_language_model(folder: Path | str) -> LoadedModel:
    """Loads a language model, after checking every file it reads against the manifest.

    Raises:
        CheckpointError: if a file is missing or altered, or the tokenizer is not the run's.
        CheckpointError: if the run is of another kind.
    """
    return LoadedModel(*load_checked(Path(folder), LANGUAGE_MODEL, build_language_model))


def load_checked(
    folder: Path, family: Family[_Config], build: Callable[[_Config, int], _Module]
) -> tuple[_Config, _Module, Tokenizer, dict[str, Any]]:
    """Loads a run whose texts a tokenizer reads, after checking its files against the manifest.

    Args:
        folder: the run directory.
        family: its kind; a run of another kind is refused.
        build: builds the module, of the configuration and the size of the vocabulary.

    Returns:
        Configuration, module in evaluation mode, tokenizer, and what `run.json` holds.

    Raises:
        CheckpointError: if a file is missing or altered, or the tokenizer is not the run's.
    """
    config = family.load(folder)
    metadata = metadata_of(folder)
    check_unchanged(folder, (WEIGHTS, "config.toml", TOKENIZER, "run.json"))
    tokenizer = load_tokenizer(folder)
    if metadata.get("tokenizer_sha256") != tokenizer.fingerprint:
        raise CheckpointError(f"{folder}: its tokenizer is not the one the weights were trained with")
    module = build(config, tokenizer.vocab_size)
    load_weights(module, folder)
    return config, module.eval(), tokenizer, read_json(folder / "run.json")


def load_unfinished(folder: Path, family: Family[_Config]) -> _Config:
    """Returns the configuration of a run that can be resumed.

    Raises:
        CheckpointError: if there is no run, nothing is left of it to do, or its settings have changed.
    """
    check_command(folder, next(iter(family.commands.values())))
    config = family.load(folder)
    if finished(folder):
        raise CheckpointError(f"{folder}: has finished; nothing to resume")
    if (folder / MANIFEST).is_file():  # a run that was killed before it could stop has no manifest yet
        check_unchanged(folder, ("config.toml", TOKENIZER))
    return config


def import_transplanted(folder: Path, out: Path) -> LoadedModel:
    """Reads a language model that `sentitok transplant` wrote of a run, and writes it as a run directory.

    Such a folder has the files of the run, with other rows in the tables and another tokenizer.json, and no
    manifest. What `run.json` says of it, scores and speed, is of the old tokenizer and is left out.

    Args:
        folder: what `sentitok transplant` wrote.
        out: the run directory, which must hold no run yet.

    Raises:
        CheckpointError: if a file is missing or damaged, or they do not belong together.
        CheckpointError: if it is a run of another kind.
    """
    config = LANGUAGE_MODEL.load(folder)
    tokenizer = load_tokenizer(folder)
    if metadata_of(folder).get("tokenizer_sha256") != tokenizer.fingerprint:
        raise CheckpointError(
            f"{folder}: tokenizer.json is not the one of the weights; give a folder that sentitok transplant "
            "wrote of a run"
        )
    module = build_language_model(config, tokenizer.vocab_size)
    load_weights(module, folder)
    data = {
        "tokenizer": None,
        "end": known_end(tokenizer, config.data.end, {}) or known_end(tokenizer, None, {}),
    }
    config = config.model_copy(update={"data": config.data.model_copy(update=data)})
    sources = folder / SOURCES
    about = {"arch": config.arch, "imported": IMPORTED}
    begin_language_run(out, config, tokenizer, read_json(sources) if sources.is_file() else {"sources": []})
    finish_run(out, module, tokenizer, about)
    return LoadedModel(config, module.eval(), tokenizer, about)
