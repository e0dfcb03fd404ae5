"""`resolve_language`: the configuration of a language model's run, from files, flags and defaults.

Not for its sections (`config/language.py`). Values are taken, rising in weight, from the defaults of the
sections, the size of the architecture, what suits a language model of its kind, the preset's settings
of training, the file, and the command line.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..config import LANGUAGE_TASKS, CorpusConfig, LanguageConfig, OptimConfig, PretrainConfig, Section
from ..errors import CheckpointError, ConfigError, did_you_mean
from ..models import ARCHITECTURES, Architecture, architecture
from ..nn.backbone import Backbone
from .config import checked, merge, read_toml

__all__ = [
    "ALIGNMENT",
    "PRESETS",
    "check_command",
    "is_alignment",
    "is_distillation",
    "is_language",
    "is_translation",
    "load_language_config",
    "no_run",
    "resolve_language",
    "training_command",
]

# What a run directory of an aligned language model holds beside `config.toml`: how it was aligned.
ALIGNMENT = "alignment.toml"

# Of each size: rows of a batch, highest rate, tokens to train on. Rates are those of TinyLLM, but for the two
# smallest: of 1e-3 to 2.4e-2 nano ended best with 3e-3 (`benches/models/optimizers.py`).
PRESETS: dict[str, tuple[int, float, int]] = {
    "nano": (64, 3e-3, 41_000_000),
    "micro": (64, 3e-3, 41_000_000),
    "tiny": (32, 1e-3, 82_000_000),
    "small": (32, 1e-3, 328_000_000),
    "medium": (16, 8e-4, 655_000_000),
    "large": (16, 8e-4, 655_000_000),
    "x-large": (8, 5e-4, 1_310_000_000),
    "xx-large": (8, 5e-4, 2_600_000_000),
    "3x-large": (4, 3e-4, 5_200_000_000),
    "4x-large": (4, 3e-4, 10_500_000_000),
    "5x-large": (2, 2e-4, 21_000_000_000),
}
_DEFAULT_PRESET = "tiny"
# Sizes at which a table of its own would be most of the model.
_TIED = ("nano", "micro", "tiny")
_MASKED = ("bert", "encoder")
# What `[model]` of a language model has, where the architecture has such a key.
_MODEL: dict[str, dict[str, Any]] = {
    "next-token": {
        "causal": True, "bidirectional": False, "norm": "rms", "norm_order": "pre", "activation": "swiglu",
        "positions": "rotary", "biases": False, "dropout": 0.0, "embedding_dropout": 0.0,
        "char_ngrams": [0, 0], "pooling": "last",
    },
    # With learned positions the loss stays near that of a unigram model for millions of tokens.
    "masked": {
        "norm_order": "pre", "positions": "rotary", "embedding_dropout": 0.0, "char_ngrams": [0, 0],
    },
}  # fmt: skip
# What is kept as published (Devlin et al. 2019), so that transformers reads it.
_KEPT = {("bert", "masked"): ("norm_order", "positions")}
_OPTIM: dict[str, Any] = {
    "betas": [0.9, 0.95], "weight_decay": 0.1, "warmup": 0.02, "sparse_embeddings": False,
}  # fmt: skip
_SECTIONS: dict[str, type[Section]] = {
    "data": CorpusConfig, "optim": OptimConfig, "train": PretrainConfig,
    **{f"task.{kind}": section for kind, section in LANGUAGE_TASKS.items()},
}  # fmt: skip
_BUDGETS = ("tokens", "max_steps", "epochs")


def is_language(tree: Mapping[str, Any]) -> bool:
    """Whether a configuration is that of a language model."""
    return _named_task(tree) in LANGUAGE_TASKS


def is_translation(tree: Mapping[str, Any]) -> bool:
    """Whether a configuration is that of a translation model, which `runs/translation_config.py` reads."""
    return _named_task(tree) == "seq2seq"


def is_distillation(tree: Mapping[str, Any]) -> bool:
    """Whether a configuration is that of a classifier that a teacher taught."""
    return _named_task(tree) == "distillation"


def _named_task(tree: Mapping[str, Any]) -> str:
    """Returns the kind of task that a configuration names; nothing if it names none."""
    kind = _section(tree, "task").get("kind")
    return kind if isinstance(kind, str) else ""


def is_alignment(folder: Path) -> bool:
    """Whether a run directory is that of a language model that was aligned, or is being aligned."""
    return (folder / ALIGNMENT).is_file()


def training_command(folder: Path) -> str:
    """Returns the command that trains the run of a folder."""
    if is_alignment(folder):
        return "align"
    tree = read_toml(folder / "config.toml")
    kinds = {"translate train": is_translation, "pretrain": is_language, "distill": is_distillation}
    return next((command for command, is_one in kinds.items() if is_one(tree)), "train")


def check_command(folder: Path, command: str) -> None:
    """Refuses a run that another command trains, and so resumes; a folder without a run passes.

    Raises:
        CheckpointError: naming that command.
    """
    if (folder / "config.toml").is_file() and (own := training_command(folder)) != command:
        raise CheckpointError(
            f"{folder}: a run of senti {own}; senti {own} --resume {folder} goes on with it"
        )


def no_run(folder: Path) -> CheckpointError:
    """Returns the error of a folder that is no run directory, naming the runs that are in it."""
    inside = sorted(str(path.parent) for path in folder.glob("*/config.toml"))
    some = f"{', '.join(inside[:3])}{', ...' if len(inside) > 3 else ''}"
    return CheckpointError(
        f"{folder}: no config.toml; not a run directory{f'; there are runs in it: {some}' if inside else ''}"
    )


def load_language_config(folder: Path) -> LanguageConfig:
    """Reads the configuration of a language model's run.

    Raises:
        ConfigError: if it is another kind of run, or damaged.
        FileNotFoundError: if there is none.
    """
    tree = read_toml(folder / "config.toml")
    if is_translation(tree):
        raise ConfigError(f"{folder}: a translation model; senti translate text {folder} runs it")
    if not is_language(tree):
        raise ConfigError(f"{folder}: a classifier, not a language model; senti predict {folder} runs it")
    return resolve_language(tree)


def resolve_language(*trees: Mapping[str, Any]) -> LanguageConfig:
    """Merges trees, the last one winning, over the defaults, and checks the result.

    Raises:
        ConfigError: naming the key, its value, and what would be possible.
    """
    given = merge(trees)
    name = str(given.get("arch", LanguageConfig.model_fields["arch"].default))
    row = architecture(name)
    if not issubclass(row.module, Backbone):
        possible = [one for one, other in ARCHITECTURES.items() if issubclass(other.module, Backbone)]
        raise ConfigError(
            f"arch {name!r}: a bag of features has no states to predict a token from; "
            f"there are {', '.join(possible)}"
        )
    if name.startswith("hf:"):
        raise ConfigError(
            f"arch {name!r}: senti train fine-tunes it as a classifier; to pre-train GPT-2 or BERT further, "
            f"type senti import {name.removeprefix('hf:')} -o RUN, then senti pretrain FILE --init RUN"
        )
    kind = _kind(given, name)
    size = given.get("preset", _DEFAULT_PRESET if not given.get("model") else None)
    full = merge([_ground(name, row, kind, size, given), given])
    if size is not None:
        full["preset"] = size
    full["arch"] = name
    full["model"] = checked(row.config, full["model"], "model.", _SECTIONS)
    full["task"] = checked(LANGUAGE_TASKS[kind], full["task"], "task.", _SECTIONS)
    config = checked(LanguageConfig, full, "", _SECTIONS)
    assert isinstance(config, LanguageConfig)
    _possible(config)
    return config


def _kind(given: Mapping[str, Any], arch: str) -> str:
    task = given.get("task", {})
    kind = task.get("kind") if isinstance(task, Mapping) else task
    if kind is None:
        return "masked" if arch in _MASKED else "next-token"
    if not isinstance(kind, str) or kind not in LANGUAGE_TASKS:
        raise ConfigError(f"task.kind {kind!r}: unknown task; expected {', '.join(LANGUAGE_TASKS)}")
    return kind


def _ground(
    name: str, row: Architecture, kind: str, size: str | None, given: Mapping[str, Any]
) -> dict[str, Any]:
    """Returns what holds unless it is set."""
    if size is not None and (not isinstance(size, str) or size not in row.presets):
        there = ", ".join(row.presets) or "none"
        raise ConfigError(
            f"{name} has no preset {size!r}; {did_you_mean(str(size), row.presets)}there are: {there}"
        )
    possible = row.config.model_fields.keys() - set(_KEPT.get((name, kind), ()))
    suits = {key: value for key, value in _MODEL[kind].items() if key in possible}
    tree: dict[str, Any] = {
        "data": {},
        "model": {**(row.presets[size] if size else {}), **suits},
        "task": {"kind": kind},
        "optim": dict(_OPTIM),
        "train": {},
    }
    context = _section(given, "data").get("context")
    if "max_len" in row.config.model_fields and isinstance(context, int):
        tree["model"]["max_len"] = context
    batch, rate, tokens = PRESETS[size or _DEFAULT_PRESET]
    tree["optim"]["lr"] = rate
    tree["train"]["batch_size"] = batch
    if kind == "next-token":
        tree["task"]["tied"] = size in _TIED
    if not any(_section(given, "train").get(one) is not None for one in _BUDGETS):
        tree["train"]["tokens"] = tokens
    return tree


def _section(given: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    section = given.get(name, {})
    return section if isinstance(section, Mapping) else {}


def _possible(config: LanguageConfig) -> None:
    """Refuses settings that contradict each other."""
    model: Section = config.model
    if config.task.kind == "next-token" and getattr(model, "causal", True) is False:
        raise ConfigError("model.causal false: a model that sees the next token cannot learn to predict it")
    if config.task.kind == "masked" and getattr(model, "causal", False):
        raise ConfigError("model.causal true: masked tokens are read from both sides; take task next-token")
    if getattr(model, "pooling", "last") == "cls":
        raise ConfigError("model.pooling cls: it puts a token before each row; leave it out")
    if getattr(model, "char_ngrams", (0, 0)) != (0, 0):
        raise ConfigError("model.char_ngrams: a language model has one vector for each token; set [0, 0]")
    reach = getattr(model, "max_len", None)
    context = config.data.context
    if getattr(model, "positions", None) == "learned" and reach is not None and context > reach:
        raise ConfigError(
            f"data.context {context}: longer than the {reach} places that positions are learned for; take "
            f"--context {reach} or less, or, without --init, a higher model.max_len or model.positions rotary"
        )
