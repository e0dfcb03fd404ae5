"""A folder as transformers writes it, from a run directory and back.

| file | holds |
|---|---|
| `config.json` | settings |
| `model.safetensors` | weights |
| `tokenizer.json`, `tokenizer_config.json` | the tokenizer |

Only safetensors are read: a `.bin` file is a pickle, which runs code when it is opened.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor

from sentitok import SentitokError, Tokenizer
from sentitok.atomic import write as write_atomically

from ...data.opening import read_small
from ...errors import CheckpointError, ConfigError
from ...models.language import build_language_model, language_model_shape
from ...runs.directory import finish_run, to_json
from ...runs.families import LANGUAGE_MODEL
from ...runs.language_directory import LoadedModel, begin_language_run
from ...text.special_tokens import known_end, masked_tokens, special_ids
from ...text.vocabulary import as_saved
from . import LAYOUTS, Layout
from .layout import of_ours, to_ours

__all__ = ["export_model", "import_model", "settings_of", "tokenizer_of"]

_WEIGHTS = "model.safetensors"
# transformers' roles of special tokens that no model of ours decides: what the tokens are usually called.
_ROLES = {"unk_token": ("[UNK]", "<unk>"), "pad_token": ("[PAD]", "<pad>")}


def export_model(loaded: LoadedModel, folder: Path, *, replace: bool = False) -> list[Path]:
    """Writes a model as transformers reads it.

    Args:
        loaded: a `gpt` that is GPT-2, or a `bert`.
        folder: where to; it must hold none of the files yet, unless they are to be replaced.
        replace: replace the files.

    Returns:
        The files.

    Raises:
        ConfigError: if transformers' layout has no place for the model, naming the setting.
        CheckpointError: if the folder holds one of the files.
    """
    config, tokenizer = loaded.config, loaded.tokenizer
    layout = next((one for one in LAYOUTS if one.arch == config.arch), None)
    if layout is None:
        known = ", ".join(f"{one.arch} (as {one.name})" for one in LAYOUTS)
        raise ConfigError(f"arch {config.arch}: transformers has no layout for it; there is one for {known}")
    settings = layout.to_theirs(config, tokenizer.vocab_size)
    tensors = of_ours(layout.pairs(config), loaded.module.state_dict())
    if config.task.kind == "masked":
        _, special = masked_tokens(tokenizer)
        ids = {"cls": special.cls, "sep": special.sep, "mask": special.mask, "pad": special.pad}
        there = {role: id for role, id in ids.items() if id < tokenizer.vocab_size}
        settings |= {"pad_token_id": there.get("pad")}
        roles = {f"{role}_token": tokenizer.id_to_token(id) for role, id in there.items()}
    else:
        end = known_end(tokenizer, config.data.end, loaded.about)
        id = None if end is None else tokenizer.token_to_id(end)
        settings |= {"bos_token_id": id, "eos_token_id": id}
        roles = {} if end is None else {"bos_token": end, "eos_token": end}
    about = _tokenizer_config(tokenizer, roles, config.data.context)
    files = {
        "config.json": to_json({**settings, "dtype": "float32"}),
        _WEIGHTS: save(tensors, metadata={"format": "pt"}),
        "tokenizer_config.json": to_json(about),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name in (*files, "tokenizer.json"):
        if (folder / name).exists() and not replace:
            raise CheckpointError(f"{folder / name}: exists already; give another folder, or replace=True")
    tokenizer.save(folder / "tokenizer.json")
    for name, content in files.items():
        write_atomically(folder / name, content)
    return [folder / name for name in ("config.json", _WEIGHTS, "tokenizer.json", "tokenizer_config.json")]


def _tokenizer_config(tokenizer: Tokenizer, roles: Mapping[str, str | None], context: int) -> dict[str, Any]:
    special = special_ids(tokenizer)
    there = {role: [name for name in names if name in special] for role, names in _ROLES.items()}
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": context,
        **{role: names[0] for role, names in there.items() if names},
        **roles,
    }


def import_model(folder: Path, out: Path) -> tuple[LoadedModel, list[str]]:
    """Reads a model of transformers, and writes it as a run directory.

    Args:
        folder: with `config.json`, safetensors and the tokenizer's files.
        out: the run directory, which must hold no run yet.

    Returns:
        The model, and the parts of the folder that were left out, one sentence each.

    Raises:
        CheckpointError: if a file or a tensor is missing or damaged, or only pickles are there.
        ConfigError: if the model is of a kind, or has a setting, that we do not have.
    """
    given = settings_of(folder)
    layout = next((one for one in LAYOUTS if one.model_type == given.get("model_type")), None)
    if layout is None:
        known = ", ".join(one.model_type for one in LAYOUTS)
        raise ConfigError(
            f"{folder / 'config.json'}: model_type {given.get('model_type')!r}; known are {known}"
        )
    tensors = _named(_weights(folder), layout)
    tokenizer = as_saved(tokenizer_of(folder))
    sections = layout.from_theirs(given, tensors)
    end = given.get("eos_token_id")
    content = tokenizer.id_to_token(end) if isinstance(end, int) and 0 <= end < tokenizer.vocab_size else None
    data = {"context": sections["model"]["max_len"], "end": known_end(tokenizer, content, {})}
    data = {name: value for name, value in data.items() if value is not None}
    config = LANGUAGE_MODEL.resolve({"arch": layout.arch, "data": data, **sections})
    _check_layers(tensors, layout, sections["model"]["n_layers"], folder)  # before their names are made
    pairs, notes = layout.pairs(config), []
    used = {name for pair in pairs for name in pair.theirs}
    unused = sorted(name for name in tensors if name not in used and not re.search(layout.ignored, name))
    if unused:
        notes.append(f"{len(unused)} tensors of other heads are left out: {', '.join(unused[:3])}")
    ours = to_ours(pairs, tensors, str(folder))
    notes += _cut(ours, layout, tokenizer.vocab_size, folder)
    _check_shapes(language_model_shape(config, tokenizer.vocab_size), ours, folder)  # before memory is taken
    module = build_language_model(config, tokenizer.vocab_size)
    module.load_state_dict(ours)
    about = {"arch": layout.arch, "imported": layout.name}
    begin_language_run(out, config, tokenizer, {"sources": [], "imported": layout.name})
    finish_run(out, module, tokenizer, about)
    return LoadedModel(config, module.eval(), tokenizer, about), notes


def settings_of(folder: Path) -> dict[str, Any]:
    """Returns what `config.json` of a folder holds.

    Raises:
        CheckpointError: if it is missing or damaged.
    """
    path = folder / "config.json"
    try:
        given = json.loads(read_small(path))
    except FileNotFoundError:
        raise CheckpointError(
            f"{folder}: no config.json; give a folder that transformers' save_pretrained wrote"
        ) from None
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path}: unreadable: {error}") from error
    if not isinstance(given, dict):
        raise CheckpointError(f"{path}: expected an object")
    return given


def _weights(folder: Path) -> dict[str, Tensor]:
    """Reads the weights, of one file or of parts, in float32."""
    names = [_WEIGHTS]
    index = folder / f"{_WEIGHTS}.index.json"
    if index.is_file() and not (folder / _WEIGHTS).is_file():  # as transformers: a whole file comes first
        try:
            names = sorted(set(json.loads(read_small(index))["weight_map"].values()))
            if not all(isinstance(name, str) for name in names):
                raise ValueError("a file's name is not text")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise CheckpointError(f"{index}: unreadable: {error}") from error
    elif not (folder / _WEIGHTS).is_file():
        pickles = sorted(path.name for path in folder.glob("*.bin"))
        if pickles:
            raise CheckpointError(
                f"{folder / pickles[0]}: a pickle, which can run code when it is opened, and is not read; "
                "if you trust it, load it with transformers, whose save_pretrained writes safetensors"
            )
        raise CheckpointError(f"{folder}: no {_WEIGHTS}")
    weights: dict[str, Tensor] = {}
    for name in names:
        if Path(name).name != name:
            raise CheckpointError(f"{index}: {name!r} is not a file of the folder")
        try:
            weights |= load_file(folder / name)
        except (OSError, SafetensorError) as error:
            raise CheckpointError(f"{folder / name}: unreadable: {error}") from error
    return {name: value.float() for name, value in weights.items()}


def _check_layers(tensors: Mapping[str, Tensor], layout: Layout, n_layers: int, folder: Path) -> None:
    """Refuses weights of more layers than the settings have, or far fewer; a few are missed by name.

    Raises:
        CheckpointError: naming both numbers.
    """
    numbers = [int(found[1]) for name in tensors if (found := re.match(layout.layer, name))]
    there = ""
    if n_layers > len(tensors):
        there = f"{len(tensors):,} tensors in all"
    elif numbers and max(numbers) >= n_layers:
        there = f"{max(numbers) + 1:,}"
    if there:
        raise CheckpointError(
            f"{folder / 'config.json'}: {n_layers:,} layers, but the weights have {there}; "
            "is it of the same model?"
        )


def _named(tensors: Mapping[str, Tensor], layout: Layout) -> dict[str, Tensor]:
    """Returns tensors by their names of today: with a prefix, and norms with weight and bias."""
    bare = layout.table in tensors
    out = {}
    for name, value in tensors.items():
        today = re.sub(r"\.gamma$", ".weight", re.sub(r"\.beta$", ".bias", name))
        out[layout.prefix + today if bare and not today.startswith("cls.") else today] = value
    return out


def tokenizer_of(folder: Path) -> Tokenizer:
    """Reads the tokenizer of a folder from the files that are there.

    Raises:
        CheckpointError: if there is none, or it is damaged.
    """
    try:
        if (folder / "tokenizer.json").is_file():
            return Tokenizer.from_file(folder / "tokenizer.json")
        if (folder / "vocab.json").is_file():
            return Tokenizer.from_gpt2(folder / "vocab.json", folder / "merges.txt")
        if (folder / "vocab.txt").is_file():
            about = folder / "tokenizer_config.json"
            given = json.loads(read_small(about)) if about.is_file() else {}
            return Tokenizer.from_bert_vocab(folder / "vocab.txt", bool(given.get("do_lower_case", True)))
    except (OSError, SentitokError, ValueError, AttributeError) as error:
        raise CheckpointError(f"{folder}: the tokenizer is unreadable: {error}") from error
    raise CheckpointError(
        f"{folder}: no tokenizer; expected tokenizer.json, vocab.json with merges.txt, or vocab.txt"
    )


def _cut(ours: dict[str, Tensor], layout: Layout, n_words: int, folder: Path) -> list[str]:
    """Leaves out rows of ids that the tokenizer never makes."""
    notes = []
    for name in layout.per_token:
        rows = ours[name].shape[0] if name in ours and ours[name].ndim else n_words
        if rows < n_words:
            raise CheckpointError(
                f"{folder}: {rows} tokens in the weights, but {n_words} in the tokenizer: they do not belong "
                "together"
            )
        if rows > n_words:
            ours[name] = ours[name][:n_words].clone()
            notes.append(
                f"{rows - n_words} rows of {name} are of ids that the tokenizer does not have: left out"
            )
    return notes


def _check_shapes(module: torch.nn.Module, ours: Mapping[str, Tensor], folder: Path) -> None:
    for name, value in module.state_dict().items():
        if name not in ours or ours[name].shape != value.shape:
            shape = tuple(ours[name].shape) if name in ours else "missing"
            raise CheckpointError(
                f"{folder}: {name} is {shape}, expected {tuple(value.shape)}; "
                "is config.json of the same model?"
            )
