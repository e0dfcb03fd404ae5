"""`language_card` and `translation_card`: what runs of `senti pretrain` and `translate train` recorded.

Not for laying it out (`cli/cards/`) nor for aligned models (`alignment/card.py`), which have the model part
of a language model. Nothing is measured again: all is from the run directory, which is checked first.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..config import LanguageConfig, MaskedConfig, Section
from ..data.record import BASE as BASE_ROLES
from ..data.record import TrainingRecord
from ..models.language import language_model_shape
from .defaults import SEQ2SEQ
from .families import LANGUAGE_MODEL, TRANSLATOR
from .language_directory import SOURCES, load_tokenizer
from .lineage import BASE
from .manifest import read_json
from .recorded import about_of, base_of, differing, ending, name_of, parameters_of, training_of

__all__ = ["language_card", "model_of", "sources_of", "translation_card"]

# The settings that say how large a model is, where an architecture has them.
_SIZES = ("d_model", "n_layers", "n_decoder_layers", "n_heads", "d_hidden", "d_head", "d_state", "d_ff")
# Keys that name files of the machine that trained, and what a card says elsewhere.
_ELSEWHERE = (
    "arch", "preset", "task.kind", "data.corpus", "data.train", "data.valid", "data.tokenizer",
    "train.init_from",
)  # fmt: skip


def language_card(folder: Path) -> dict[str, Any]:
    """Returns what the run directory of a language model says of it.

    Raises:
        CheckpointError: if it is none, or its files are not those it was written with.
        ConfigError: if it is another kind of run.
    """
    config = LANGUAGE_MODEL.load(folder)
    about = about_of(folder)
    task, data = config.task, config.data
    sources = sources_of(folder)
    same = {"arch": config.arch, "task": {"kind": task.kind}, "data": {"context": data.context}}
    usual = LANGUAGE_MODEL.resolve({**same, **({"preset": config.preset} if config.preset else {})})
    return {
        "kind": "language-model",
        "name": folder.resolve().name,
        **model_of(config, folder, about),
        "mask_rate": task.rate if isinstance(task, MaskedConfig) else None,
        "imported": about.get("imported"),
        "base": base_of(config.train.init_from, None, any(one["role"] == BASE for one in sources)),
        "data": sources,
        "corpus": corpus_of(about),
        "scores": dict(about.get("valid", {})),
        # Baselines are bits per byte of the text, which masked models have not.
        "baselines": about.get("baselines", {}) if "bits_per_byte" in about.get("valid", {}) else {},
        "training": training_of(about, config.train.seed),
        "settings": differing(config.tree(), usual.tree(), _ELSEWHERE),
        **ending(folder, about),
    }


def model_of(config: LanguageConfig, folder: Path, about: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what a language model is: architecture, size, vocabulary, and how far it reads.

    `reads` are the tokens that it reads at most; `None`: any number, in a state of one size.
    """
    vocabulary = int(about.get("vocabulary") or load_tokenizer(folder).vocab_size)
    shape = language_model_shape(config, vocabulary)
    counted = sum(parameter.numel() for parameter in shape.parameters())
    return {
        "arch": config.arch,
        "task": config.task.kind,
        "preset": config.preset,
        "parameters": parameters_of(about) or counted,
        "vocabulary": vocabulary,
        "sizes": sizes_of(config.model),
        "context": config.data.context,
        "reads": config.data.context if shape.backbone.has_positions else None,
    }


def sizes_of(model: Section) -> dict[str, int]:
    """Returns widths and numbers of layers and heads, by their keys in `[model]`."""
    given = model.plain()
    return {key: given[key] for key in _SIZES if given.get(key) is not None}


def corpus_of(about: Mapping[str, Any]) -> dict[str, Any] | None:
    """Returns how a corpus was divided: documents and tokens of training and validation."""
    corpus = about.get("corpus")
    if corpus is None:
        return None
    return {
        **{key: dict(zip(("train", "valid"), corpus[key], strict=True)) for key in ("documents", "tokens")},
        "valid_bytes": corpus.get("valid_bytes"),
        "left_out": corpus.get("left_out"),
    }


def sources_of(folder: Path) -> list[dict[str, Any]]:
    """Returns the files of `training_data.json`: role, file, documents, SHA-256; `corpus` is a run's own."""
    return [
        {
            "role": one.get("role", "corpus"), "file": name_of(one["source"]),
            "documents": one.get("documents") or None, "sha256": one["sha256"],
        }
        for one in read_json(folder / SOURCES).get("sources", [])
    ]  # fmt: skip


def translation_card(folder: Path) -> dict[str, Any]:
    """Returns what the run directory of a translation model says of it.

    Raises:
        CheckpointError: if it is none, or its files are not those it was written with.
        ConfigError: if it is another kind of run.
    """
    config = TRANSLATOR.load(folder)
    about, record = about_of(folder), TrainingRecord.load(folder)
    task, model = config.task, config.model
    learned = getattr(model, "positions", None) == "learned"
    usual = TRANSLATOR.resolve({"arch": config.arch, **({"preset": config.preset} if config.preset else {})})
    return {
        "kind": "translator",
        "name": folder.resolve().name,
        "arch": config.arch,
        "preset": config.preset,
        "parameters": parameters_of(about),
        "vocabulary": about.get("vocabulary") or load_tokenizer(folder).vocab_size,
        "sizes": sizes_of(model),
        "prompt": None if config.arch == SEQ2SEQ else task.prompt,
        "reads": getattr(model, "max_len", None) if learned else None,
        "max_tokens": config.data.max_tokens,
        "base": base_of(
            config.train.init_from, None, any(one.role.startswith(BASE_ROLES) for one in record.sources)
        ),
        "data": [
            {
                "role": one.role, "file": ", ".join(map(name_of, one.source.split(", "))),
                "rows": one.rows, "sha256": one.sha256,
            }
            for one in record.sources
        ],
        "pairs": about.get("pairs", {}),
        "valid_given": bool(config.data.valid),
        "scores": dict(about.get("valid", {})),
        "search": {
            key: getattr(task, key) for key in ("beam", "norm", "alpha", "length_ratio", "length_extra")
        },
        "training": training_of(about, config.train.seed),
        "settings": differing(config.tree(), usual.tree(), _ELSEWHERE),
        **ending(folder, about),
    }  # fmt: skip
