"""`resolve_translation`: the configuration of a translation run, from files, flags and defaults.

Not for its sections (`config/translation.py`). A causal architecture takes its sizes and settings as a
language model does (`runs/language.py`); one that starts from a run takes that run's.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..config import (
    OptimConfig,
    ParallelConfig,
    Section,
    Seq2SeqConfig,
    TranslationConfig,
    TranslationTrainConfig,
)
from ..errors import ConfigError
from ..models.seq2seq import Seq2SeqModelConfig
from .config import checked, merge, read_toml, written
from .directory import check_there
from .language import is_language, is_translation, resolve_language
from .start import OWN

__all__ = ["SEQ2SEQ", "load_translation_config", "resolve_translation", "starting"]

# The architecture that is an encoder and a decoder.
SEQ2SEQ = "seq2seq"
_OPTIM: dict[str, Any] = {
    "lr": 1e-3, "betas": [0.9, 0.98], "weight_decay": 0.01, "warmup": 0.1, "schedule": "linear",
    "sparse_embeddings": False,
}  # fmt: skip
_SECTIONS: dict[str, type[Section]] = {
    "data": ParallelConfig, "optim": OptimConfig, "train": TranslationTrainConfig, "task": Seq2SeqConfig,
}  # fmt: skip


def load_translation_config(folder: Path) -> TranslationConfig:
    """Reads the configuration of a translation run.

    Raises:
        ConfigError: if it is another kind of run, or damaged.
        FileNotFoundError: if there is none.
    """
    tree = read_toml(folder / "config.toml")
    if is_translation(tree):
        return resolve_translation(tree)
    kind, remedy = ("a language model", "generate") if is_language(tree) else ("a classifier", "predict")
    raise ConfigError(f"{folder}: {kind}, not a translation model; senti {remedy} {folder} runs it")


def starting(given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what a run takes over from the one that it starts from: its kind, its size, its tokenizer.

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
    check_there(folder)
    tree = read_toml(folder / "config.toml")
    task = tree.get("task", {})
    if not is_translation(tree) and not (is_language(tree) and task.get("kind") == "next-token"):
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


def resolve_translation(*trees: Mapping[str, Any]) -> TranslationConfig:
    """Merges trees, the last one winning, over the defaults, and checks the result.

    Raises:
        ConfigError: naming the key, its value, and what would be possible.
    """
    given = merge(trees)
    name = str(given.get("arch", SEQ2SEQ))
    full = merge([{"data": {}, "model": {}, "task": {}, "optim": _OPTIM, "train": {}}, given])
    if name == SEQ2SEQ:
        if given.get("preset") is not None:
            raise ConfigError(f"preset {given['preset']!r}: {SEQ2SEQ} has none; set model.d_model and others")
        full["model"] = checked(Seq2SeqModelConfig, full["model"], "model.", _SECTIONS)
    else:
        kept: dict[str, Any] = {key: given[key] for key in ("arch", "preset", "model") if key in given}
        shape = kept.get("model")
        reach = shape.get("max_len") if isinstance(shape, Mapping) else None
        # A pair is a row here: there is no context but the places that the model has.
        data = {"context": max(reach, 8)} if isinstance(reach, int) else {}
        language = resolve_language({**kept, "data": data, "task": {"kind": "next-token"}})
        full |= {"model": language.model, "preset": language.preset}
    full["arch"] = name
    config = checked(TranslationConfig, full, "", _SECTIONS)
    assert isinstance(config, TranslationConfig)
    return config
