"""`init_weights`: a model begins with the weights of another run, or of a safetensors file.

`inherit_config` makes a classifier read texts as the run does that it begins from, `inherit_size` gives a
language model the size of that run, and `fit_width_to_vectors` gives a model the width of its word vectors.

`train.resume`, which continues a stopped run, needs every weight. Here a tensor is used where its name fits,
and tensors that are not used are listed. Names may differ there: a map says which prefix becomes which. Rows
of a table belong to ids, so tables are used only where the tokenizer is the same; a head belongs to labels.
Any other tensor of another shape is an error, because it is part of a model of another size.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from ..config import RunConfig
from ..data.opening import open_text
from ..errors import CheckpointError, ConfigError
from ..models import ARCHITECTURES, HF, Fits
from ..text.encoder import TextEncoder, load_encoder
from ..training.optimizer import is_table
from .directory import MANIFEST, WEIGHTS, HasFingerprint, check_unchanged
from .families import (
    ALIGNMENT,
    CLASSIFIER,
    LANGUAGE_MODEL,
    TRANSLATOR,
    check_there,
    family_of,
    merge,
    read_toml,
    written,
)
from .pretrained import check_pooling, load_pretrained, same_arch, tensor_names

if TYPE_CHECKING:
    from ..config import LanguageConfig

__all__ = [
    "OWN",
    "encoder_of_base",
    "first_weights",
    "fit_width_to_vectors",
    "inherit_config",
    "inherit_size",
    "inherit_translator",
    "init_weights",
]

# Prefixes of tensors that read a text, for any labels.
_BODY = "backbone."


# Tensors of a language model's head with a row for each token.
_PER_TOKEN = ("head.weight", "head.bias")
# Settings that a run makes itself, whatever its base has.
OWN = ("dropout", "embedding_dropout", "word_dropout", "attention_dropout", "head", "head_dropout")
# A language model has read whole embeddings: a classifier that starts there needs most of each. Chosen on dev
# of a gpt, compared with 0.5 for drawn weights (`benches/models/bert.py`).
_EMBEDDING_DROPOUT = 0.1


def inherit_config(*trees: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Returns settings with those of the run below them that they start from, if they do.

    Its shape, positions, reading order and context are taken over, so that its weights fit and mean what
    they meant; of a classifier its head and its dropout too, while after a language model less of embeddings
    is dropped than elsewhere. Given settings have priority. Another architecture than the base's is left as
    it is.

    Raises:
        ConfigError: if a preset is named that the base does not have.
    """
    given = merge(trees)
    base = _base_of(given)
    arch = str(given.get("arch", "auto"))
    if base is None or not (arch == "auto" or same_arch(arch, base.arch)):
        return list(trees)
    _check_size(given, base)
    if isinstance(base, RunConfig):
        model, longest = base.model.plain(), base.data.max_tokens
    else:
        model = {key: value for key, value in base.model.plain().items() if key not in OWN}
        model["embedding_dropout"] = _EMBEDDING_DROPOUT
        longest = base.data.context
    rest = [{key: value for key, value in one.items() if key != "arch"} for one in trees]
    return [{"arch": base.arch, "model": model, "data": {"max_tokens": longest}}, *rest]


def inherit_size(*trees: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Returns settings of a language model with those of the one below them that it starts from, if it does.

    Its size, task and context are taken over, as its tokenizer is; given settings have priority. Another
    architecture or task than the base's is left as it is.

    Raises:
        ConfigError: if a preset is named that the base does not have.
    """
    given = merge(trees)
    base = _base_of(given)
    if base is None or isinstance(base, RunConfig) or given.get("arch", base.arch) != base.arch:
        return list(trees)
    if _section(given, "task").get("kind", base.task.kind) != base.task.kind:
        return list(trees)
    _check_size(given, base)
    ground: dict[str, Any] = {"arch": base.arch, "model": base.model.plain(), "task": base.task.plain()}
    if base.preset is not None:
        ground["preset"] = base.preset
    return [{**ground, "data": {"context": base.data.context}}, *trees]


def inherit_translator(given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the settings that a run takes over from the one that it starts from: kind, size, tokenizer.

    Args:
        given: values by section and key; `train.init_from` names the run, if there is one.

    Raises:
        ConfigError: if that run does not write text, or the values contradict it.
    """
    section = given.get("train", {})
    start = section.get("init_from") if isinstance(section, Mapping) else None
    if start is None:
        return {}
    folder = Path(str(start))
    family = family_of(folder)
    tree = read_toml(folder / "config.toml")
    task = tree.get("task", {})
    if family is not TRANSLATOR and task.get("kind") != "next-token":
        raise ConfigError(
            f"{folder}: translation starts from a model that writes text: one of senti pretrain with "
            "task next-token, or of senti translate train"
        )
    data = given.get("data", {})
    if isinstance(data, Mapping) and data.get("tokenizer") is not None:
        raise ConfigError(f"data.tokenizer: a run that starts from {folder} has its tokenizer")
    for key in ("arch", "preset"):
        if given.get(key) is not None and given[key] != tree.get(key):
            raise ConfigError(f"{key} {given[key]!r}: {folder} is {tree.get(key)!r}; leave it out")
    shape, there = given.get("model"), tree.get("model", {})
    for key, value in shape.items() if isinstance(shape, Mapping) else ():
        if key in there and key not in OWN and value != there[key]:
            raise ConfigError(
                f"model.{key} {written(value)}: {folder}, whose weights are taken over, has "
                f"{written(there[key])}; leave it out, or train without --init"
            )
    return {
        **{key: tree[key] for key in ("arch", "preset", "model") if key in tree},
        "data": {"tokenizer": str(folder / "tokenizer.json"), "end": tree.get("data", {}).get("end")},
        "task": {"tied": task.get("tied", True)},
    }


def _base_of(given: Mapping[str, Any]) -> "RunConfig | LanguageConfig | None":
    """Returns the configuration of the run that settings start from, if they do and it may be one."""
    start = _section(given, "train").get("init_from")
    return _config_of(Path(start)) if isinstance(start, str) else None


def _config_of(start: Path) -> "RunConfig | LanguageConfig | None":
    """Returns the configuration of a classifier or a language model, `None` of anything else."""
    if not (start / "config.toml").is_file():
        return None
    family = family_of(start)
    if family is ALIGNMENT:  # whose weights are a language model's
        family = LANGUAGE_MODEL
    return None if family is TRANSLATOR else family.load(start)


def _check_size(given: Mapping[str, Any], base: "RunConfig | LanguageConfig") -> None:
    size = given.get("preset")
    if size is not None and size != base.preset:
        own = "a custom size" if base.preset is None else f"the size {base.preset!r}"
        raise ConfigError(
            f"preset {size!r}: the run that train.init_from names has {own}, and its weights fit no other; "
            "leave out --preset, or --init"
        )


def _section(tree: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    section = tree.get(name, {})
    return section if isinstance(section, Mapping) else {}


def fit_width_to_vectors(*trees: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Returns settings with `model.d_model` as `data.vectors` needs it below them, where none is given.

    A preset's width gives way. Settings are left as they are where the architecture has no embeddings, and
    where the file cannot be read: reading it later reports the error.
    """
    given = merge(trees)
    arch, data, model = given.get("arch"), given.get("data"), given.get("model", {})
    path = data.get("vectors") if isinstance(data, Mapping) else None
    if not isinstance(path, str) or not Path(path).is_file():
        return list(trees)
    if arch not in ARCHITECTURES or "d_model" not in ARCHITECTURES[arch].config.model_fields:
        return list(trees)
    width = 0 if isinstance(model, Mapping) and "d_model" in model else _width_of(Path(path))
    return [{"model": {"d_model": width}}, *trees] if width else list(trees)


def _width_of(path: Path) -> int:
    """Returns how many numbers the first word has; 0 if the file does not begin as it should."""
    with open_text(path) as file:
        for number, line in enumerate(islice(file.lines(), 2)):
            word, _, rest = line.rstrip().partition(" ")
            if number or not (word.isdecimal() and rest.isdecimal()):  # how many words, how many numbers
                width = len(rest.split())
                return width if width > 1 else 0
    return 0


def encoder_of_base(config: RunConfig) -> TextEncoder | None:
    """Returns the encoder of the run that a model starts from, if it may be used: one vocabulary.

    `None` where a tokenizer is named, where the weights do not belong to a run, or where that run has another
    architecture, whose encoder may not suit.
    """
    path = config.train.init_from
    if path is None or config.data.tokenizer is not None or not Path(path).is_dir():
        return None
    there = _config_of(Path(path)) or CLASSIFIER.load(Path(path))  # which says what else it is
    if not same_arch(there.arch, config.arch):
        return None
    if isinstance(there, RunConfig):
        update = {"normalize": there.data.normalize, "lowercase": there.data.lowercase}
    else:
        update = {"normalize": bool(config.data.normalize), "lowercase": bool(config.data.lowercase)}
    data = config.data.model_copy(update=update)
    return load_encoder(Path(path), config.model_copy(update={"data": data}))


def first_weights(module: nn.Module, config: RunConfig, encoder: HasFingerprint) -> list[str]:
    """Puts the weights that a classifier starts from into it: those of `hf:PATH`, then of `train.init_from`.

    A run of the same `hf:PATH` has them all, so its folder is not needed again.

    Returns:
        The tensors that were used and not used, one sentence each.

    Raises:
        SentiError: as `check_pooling`, `load_pretrained` and `init_weights` do.
    """
    start = config.train.init_from
    base = None if start is None else _config_of(Path(start))
    known = base is not None and same_arch(base.arch, config.arch)
    if config.arch.startswith(HF):
        check_pooling(module)
    said = [] if known else load_pretrained(module, config.arch)
    if known and isinstance(module, Fits):
        return [f"{start}: none of its weights are used: {config.arch} computes its own from the texts"]
    return said if start is None else [*said, *init_weights(module, config, encoder)]


def init_weights(
    module: nn.Module, config: "RunConfig | LanguageConfig", encoder: HasFingerprint
) -> list[str]:
    """Puts the weights of `train.init_from` into a module, where they fit.

    Args:
        module: the model, with the weights it would start from.
        config: the run; `train.init_from` and `train.init_map`.
        encoder: makes the ids of the run.

    Returns:
        The tensors that were used and not used, one sentence each.

    Raises:
        ConfigError: if nothing fits, a part is of another size, or two tensors have one name here.
        CheckpointError: if there are no weights.
    """
    path = Path(config.train.init_from or "")
    if not path.is_file():
        check_there(path)
    _check_whole(path)
    expected = module.state_dict()
    try:
        used, unused = _fitting(path, expected, config, encoder.fingerprint)
    except FileNotFoundError:
        raise CheckpointError(f"{path / WEIGHTS}: no such file; name a run that has finished") from None
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"{path}: weights unreadable: {error}") from error
    body, there = _bodies(expected), _bodies([*used, *unused])
    of_body = sum(name in used for name in body)
    # Fewer layers than there, or more, may begin so; of other models a few names are the same by chance.
    if not of_body or (not config.train.init_map and of_body < min(len(body), len(there)) / 2):
        fits = f"only {of_body} of its {len(there)} tensors fit" if of_body else "none of its tensors fits"
        raise ConfigError(
            f"train.init_from {path}: {fits}; one that does not is {next(iter(unused.values()), 'none')}; "
            f"this model has {len(body)}, such as {body[0] if body else 'none'}{_other(path, config)}"
        )
    with torch.no_grad():
        module.load_state_dict(used, strict=False)
    said = [f"{path}: {len(used)} of {len(used) + len(unused)} tensors are where the model starts"]
    if path.is_file() and (path.parent / "config.toml").is_file():
        said.append(f"{path}: weights alone; name {path.parent} to take over its tokenizer and settings too")
    # More or fewer layers, or places, follow from the names of tensors.
    if differ := _differences(path, config, ("n_layers", "max_len")):
        said.append(f"{path}: its weights are read otherwise here: {', '.join(differ)}")
    fresh = [name for name in expected if name not in used]
    for names, what in ((unused.values(), "not used"), (fresh, "start fresh")):
        if names:
            said.append(f"{path}: {what}: {tensor_names(names)}")
    return said


def _check_whole(path: Path) -> None:
    """Compares the files of a base with its manifest, where it has one.

    Raises:
        CheckpointError: naming the first that has changed.
    """
    if (path / MANIFEST).is_file():
        check_unchanged(path)


def _bodies(names: Iterable[str]) -> list[str]:
    """Returns the names of what reads a text, or all where none is called so."""
    names = list(names)
    return [name for name in names if name.startswith(_BODY)] or names


def _fitting(
    path: Path, expected: Mapping[str, Tensor], config: "RunConfig | LanguageConfig", fingerprint: str
) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Returns the fitting tensors of a base by their names here, and messages on the rest by their names.

    Raises:
        ConfigError: if one is of another size and may not be left out, or two have one name.
        FileNotFoundError, OSError, SafetensorError: if there are no weights, or none that can be read.
    """
    used: dict[str, Tensor] = {}
    unused: dict[str, str] = {}
    file = path / WEIGHTS if path.is_dir() else path
    per_token = () if isinstance(config, RunConfig) else _PER_TOKEN
    with safe_open(file, framework="pt") as source:
        about = json.loads((source.metadata() or {}).get("sentimodels", "{}"))
        same_ids = about.get("tokenizer_sha256") == fingerprint
        for name in sorted(source.keys()):
            here = _renamed(name, config.train.init_map)
            shape = tuple(source.get_slice(name).get_shape())
            wanted = tuple(expected[here].shape) if here in expected else ()
            more = _rows_of_padding(here, shape, wanted, same_ids)
            stranger = not same_ids and (is_table(here) or here in per_token)
            reason = _why_not(here, wanted if more else shape, expected, stranger)
            if reason is not None and here in expected and not (stranger or _of_head(here)):
                raise ConfigError(f"train.init_from {path}: {name} is {reason}{_sizes(path, config)}")
            if reason is None and here in used:
                raise ConfigError(
                    f"train.init_map: two tensors of {file} are renamed to {here}; one is {name}"
                )
            if reason is None:
                value = source.get_tensor(name)
                used[here] = nn.functional.pad(value, (0, 0, 0, more)) if more else value
            else:
                unused[name] = f"{name} ({reason})"
    return used, unused


def _rows_of_padding(name: str, shape: tuple[int, ...], wanted: tuple[int, ...], same_ids: bool) -> int:
    """Returns how many rows a table has more here than there: a language model lacks the row of padding."""
    if not same_ids or not is_table(name) or not wanted or shape[1:] != wanted[1:]:
        return 0
    more = wanted[0] - shape[0]
    return more if abs(more) == 1 else 0


def _of_head(name: str) -> bool:
    """Whether a tensor may have another shape than that of the base, as it belongs to labels."""
    return not name.startswith(_BODY)


def _differences(
    path: Path, config: "RunConfig | LanguageConfig", without: Collection[str] = ()
) -> list[str]:
    """Returns the settings that differ between a model and its base, among those that both have."""
    base = _config_of(path)
    if base is None:
        return []
    here, there = config.model.plain(), base.model.plain()
    left_out = {*OWN, "pooling", "settings", *without}
    keys = [key for key in there if key in here and key not in left_out and here[key] != there[key]]
    differ = [f"model.{key} {written(here[key])} (there {written(there[key])})" for key in keys]
    if (here.get("pooling") == "cls") != (there.get("pooling") == "cls"):
        only = "here" if here.get("pooling") == "cls" else "there"
        differ.append(f'model.pooling "cls" only {only}, an extra position before the text')
    return differ


def _sizes(path: Path, config: "RunConfig | LanguageConfig") -> str:
    """Returns the keys in which a model differs from its base, and what to do about it."""
    base = _config_of(path)
    if base is None:
        return (
            ": give the model that size, or leave the tensor out by a name that is nowhere (train.init_map)"
        )
    if base.arch != config.arch:
        return _other(path, config)
    differ = _differences(path, config)
    said = f"; here {', '.join(differ)}" if differ else ""
    if isinstance(base, RunConfig) and not isinstance(config, RunConfig):
        return f"{said}: a classifier's sizes are not taken over; set them with --set, or leave out --init"
    return f"{said}: leave out what says otherwise, or --init"


def _other(path: Path, config: "RunConfig | LanguageConfig") -> str:
    """Returns what to do where nothing fits, or little."""
    base = _config_of(path)
    if base is None or base.arch == config.arch:
        return "; train.init_map renames tensors, leave out --init to start from nothing"
    if isinstance(base, RunConfig) and not isinstance(config, RunConfig):
        return f"; that run is a classifier, a {base.arch}, this one a {config.arch}: leave out --init"
    return (
        f"; that run is a {base.arch}, this one a {config.arch}: take --arch {base.arch}, or leave out --init"
    )


def _renamed(name: str, names: Mapping[str, str]) -> str:
    """Returns the name of a tensor here: the longest prefix of its name counts."""
    fitting = [start for start in names if name.startswith(start)]
    if not fitting:
        return name
    start = max(fitting, key=len)
    return names[start] + name.removeprefix(start)


def _why_not(name: str, shape: tuple[int, ...], expected: Mapping[str, Tensor], stranger: bool) -> str | None:
    """Returns why a tensor cannot be used; `None` if it can. The rows of a `stranger` have different ids."""
    if name not in expected:
        return "no such parameter"
    if stranger:
        return "of another tokenizer"
    wanted = tuple(expected[name].shape)
    return None if shape == wanted else f"{list(shape)}, expected {list(wanted)}"
