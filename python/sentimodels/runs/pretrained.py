"""`hf:PATH` in a run: its settings and its tokenizer from the folder, and the weights it starts from.

Only safetensors are read, never pickles, and nothing is downloaded.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from torch import nn

from ..config import DataConfig
from ..data.opening import read_small
from ..errors import CheckpointError, ConfigError
from ..models import HF

__all__ = [
    "FRESH_HEAD",
    "absolutize_arch",
    "check_pooling",
    "check_reach",
    "load_pretrained",
    "of_folder",
    "reach_of",
    "same_arch",
    "silence",
    "tensor_names",
    "without_folder",
]

# The note on a head that no weights of the folder fit.
FRESH_HEAD = "the head starts fresh"
# Models that number their places from the id of padding on, which takes the first ones: that id, where
# config.json does not say it.
_AFTER_PADDING = {
    **dict.fromkeys((
        "altclip_text_model", "bridgetower_text_model", "camembert", "clap_text_model", "data2vec-text",
        "esm", "ibert", "layoutlmv3", "longformer", "luke", "mpnet", "roberta", "roberta-prelayernorm",
        "xlm-roberta", "xlm-roberta-xl", "xmod",
    ), 1),
    "lilt": 0,
    "markuplm": 0,
}  # fmt: skip
# The name of a tensor with a number in it, as that of a layer; a message may follow the name.
_NUMBERED = re.compile(r"([^ ]*?\.)(\d+)(\..*)")


def _folder(arch: str) -> Path | None:
    """Returns the folder that an architecture names; `None`: it is one of ours."""
    return Path(arch.removeprefix(HF)) if arch.startswith(HF) else None


def absolutize_arch(arch: str) -> str:
    """Returns the name of an architecture with an absolute path."""
    folder = _folder(arch)
    return arch if folder is None else f"{HF}{folder.absolute()}"


def same_arch(one: str, other: str) -> bool:
    """Whether two names are of one architecture, by whatever way to its folder."""
    folders = _folder(one), _folder(other)
    if folders[0] is None or folders[1] is None:
        return one == other
    return folders[0].resolve() == folders[1].resolve()


def without_folder(arch: str) -> str:
    """Returns the name of an architecture without the folders that its own folder lies in."""
    folder = _folder(arch)
    return arch if folder is None else f"{HF}{folder.name}"


def of_folder(arch: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the settings of the folder of an architecture; none where a run has settled them before.

    Raises:
        CheckpointError: if the folder has no `config.json`, or no `tokenizer.json` where none is given.
    """
    folder = _folder(arch)
    if folder is None or _has(given, "model", "settings"):
        return {}
    try:
        settings = json.loads(read_small(folder / "config.json"))
    except FileNotFoundError:
        raise CheckpointError(
            f"{folder}: no config.json; --arch {HF}PATH takes a folder that transformers' "
            "save_pretrained wrote"
        ) from None
    except (RecursionError, ValueError) as error:
        raise CheckpointError(f"{folder / 'config.json'}: unreadable: {error}") from error
    tree: dict[str, Any] = {"model": {"settings": json.dumps(settings)}, "data": {}}
    reach, longest = reach_of(settings), DataConfig.model_fields["max_tokens"].default
    if reach is not None and reach < longest:
        tree["data"]["max_tokens"] = reach
    if not _has(given, "data", "tokenizer"):
        if not (folder / "tokenizer.json").is_file():
            raise CheckpointError(
                f"{folder}: no tokenizer.json; save the model's fast tokenizer there with save_pretrained, "
                "or give --tokenizer FILE"
            )
        tree["data"]["tokenizer"] = str(folder / "tokenizer.json")
    return tree


def reach_of(given: Any) -> int | None:
    """Returns how many places a model has by its `config.json`; `None` where it does not say."""
    if not isinstance(given, Mapping):
        return None
    reach = given.get("max_position_embeddings") or given.get("n_positions")
    if not isinstance(reach, int):
        return None
    if (usual := _AFTER_PADDING.get(str(given.get("model_type")))) is not None:
        pad = given.get("pad_token_id")
        reach -= (pad if isinstance(pad, int) else usual) + 1
    return reach if reach > 0 else None


def check_reach(settings: str, longest: int) -> None:
    """Refuses rows that are longer than a model has places for.

    Raises:
        ConfigError: naming both.
    """
    reach = reach_of(json.loads(settings))
    if reach is not None and longest > reach:
        raise ConfigError(
            f"data.max_tokens {longest}: longer than the {reach} places of the model; "
            f"set data.max_tokens = {reach} or less"
        )


def check_pooling(module: nn.Module) -> None:
    """Refuses to classify by the first state of a model of transformers that reads from left to right.

    Raises:
        ConfigError: naming the setting.
    """
    from ..models.hf import Hf

    backbone = getattr(module, "backbone", None)
    if isinstance(backbone, Hf) and backbone.config.pooling == "first" and not backbone.looks_ahead():
        raise ConfigError(
            "model.pooling 'first' of a model that reads from left to right sees one token: use last or mean"
        )


def load_pretrained(module: nn.Module, arch: str) -> list[str]:
    """Puts the weights of the folder into a module: into its backbone, or with its own head into all of it.

    Returns:
        The tensors that were used and not used, one sentence each; nothing for an architecture of ours.

    Raises:
        CheckpointError: if there are no safetensors, or they are of another model.
    """
    folder = _folder(arch)
    if folder is None:
        return []
    from ..models.hf import Hf, HfClassifier, auto_class

    part = module if isinstance(module, HfClassifier) else getattr(module, "backbone", None)
    assert isinstance(part, Hf | HfClassifier)
    whole = isinstance(part, HfClassifier)
    if not any(folder.glob("*.safetensors")):
        raise CheckpointError(
            f"{folder}: no safetensors; pickles (.bin) can run code when they are opened, and are not read: "
            "if you trust one, load it with transformers, whose save_pretrained writes safetensors"
        )
    try:
        with silence():
            theirs, info = auto_class(with_head=whole).from_pretrained(
                folder, config=part.model.config, local_files_only=True, use_safetensors=True,
                output_loading_info=True, ignore_mismatched_sizes=True,
            )  # fmt: skip
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise CheckpointError(f"{folder}: unreadable: {str(error).splitlines()[0]}") from error
    # A head of other labels, or none in the folder, starts fresh.
    renewed: set[str] = set()
    if isinstance(part, HfClassifier):
        absent = {*info["missing_keys"], *(name for name, *_ in info["mismatched_keys"])}
        renewed = {name for name in absent if part.is_of_head(name)}
    if wrong := [one for one in info["mismatched_keys"] if one[0] not in renewed]:
        name, there, wanted = min(wrong)
        raise CheckpointError(
            f"{folder}: {name} is {list(there)}, config.json asks for {list(wanted)}: they are of "
            "different models; save both again with save_pretrained"
        )
    own = part.model.state_dict()
    missing = sorted((set(info["missing_keys"]) & set(own)) - renewed)
    if missing:
        raise CheckpointError(f"{folder}: no tensor {missing[0]}; is config.json of the same model?")
    tensors = theirs.state_dict()
    part.model.load_state_dict({name: own[name] if name in renewed else tensors[name] for name in own})
    head = f"; {FRESH_HEAD}" if renewed or not whole else ", the head among them"
    said = [f"{folder}: {len(own) - len(renewed)} tensors are where the model starts{head}"]
    unused = sorted({*info["unexpected_keys"], *(set(tensors) - set(info["missing_keys"]))} - set(own))
    if unused:
        said.append(f"{folder}: not used: {tensor_names(unused)}")
    return said


def tensor_names(names: Iterable[str]) -> str:
    """Returns the names of all of some tensors; those of like layers are one: `blocks.0-11.norm.weight`."""
    groups: dict[tuple[str, str], list[int]] = {}
    for name in names:
        found = _NUMBERED.fullmatch(name)
        groups.setdefault((found[1], found[3]) if found else (name, ""), []).extend(
            [int(found[2])] if found else []
        )
    return ", ".join(f"{before}{_ranges(numbers)}{after}" for (before, after), numbers in groups.items())


def _ranges(numbers: Iterable[int]) -> str:
    """Returns numbers with runs of them as their ends: `0-3,7`."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


@contextmanager
def silence() -> Iterator[None]:
    """Keeps transformers' bar and its report of tensors off the terminal: what matters is said here."""
    logging = import_module("transformers.utils.logging")
    before, shows = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(before)
        if shows:
            logging.enable_progress_bar()


def _has(tree: Mapping[str, Any], section: str, key: str) -> bool:
    values = tree.get(section, {})
    return isinstance(values, Mapping) and bool(values.get(key))
