"""The sections of a run's configuration: which keys there are, their defaults and limits.

On the ground: they know values, neither files nor architectures nor training. `runs/families.py`
reads and merges them.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from .classifier import (
    AUTO,
    ClassificationConfig,
    DataConfig,
    DistillationConfig,
    Long,
    MultilabelConfig,
    OrdinalConfig,
    RunConfig,
    TaskConfig,
)
from .section import SECTIONS, CharNgrams, NgramRange, RowOf, Section, Written, flag
from .task import DEFAULT_TASK, TASKS, TaskKind, TaskSection, choices, sections_of, trained_by
from .train import RULES, SCHEDULES, LoopConfig, OptimConfig, ThresholdRule, TrainConfig, TrainingPlan

if TYPE_CHECKING:
    from .align import (
        ALIGN_OPTIM,
        AlignConfig,
        AlignDataConfig,
        AlignTrainConfig,
        DPOConfig,
        JudgedConfig,
        PPOConfig,
        reward_weights,
    )
    from .language import (
        CorpusConfig,
        LanguageConfig,
        MaskedConfig,
        NextTokenConfig,
        PretrainConfig,
    )
    from .translation import ParallelConfig, Seq2SeqConfig, TranslationConfig, TranslationTrainConfig

__all__ = [
    "ALIGN_OPTIM",
    "AUTO",
    "DEFAULT_TASK",
    "RULES",
    "SCHEDULES",
    "SECTIONS",
    "TASKS",
    "AlignConfig",
    "AlignDataConfig",
    "AlignTrainConfig",
    "CharNgrams",
    "ClassificationConfig",
    "CorpusConfig",
    "DPOConfig",
    "DataConfig",
    "DistillationConfig",
    "JudgedConfig",
    "LanguageConfig",
    "Long",
    "LoopConfig",
    "MaskedConfig",
    "MultilabelConfig",
    "NextTokenConfig",
    "NgramRange",
    "OptimConfig",
    "OrdinalConfig",
    "PPOConfig",
    "ParallelConfig",
    "PretrainConfig",
    "RowOf",
    "RunConfig",
    "Section",
    "Seq2SeqConfig",
    "TaskConfig",
    "TaskKind",
    "TaskSection",
    "ThresholdRule",
    "TrainConfig",
    "TrainingPlan",
    "TranslationConfig",
    "TranslationTrainConfig",
    "Written",
    "choices",
    "flag",
    "reward_weights",
    "sections_of",
    "trained_by",
]

# Sections of the other kinds of runs, by module: one is imported when a name of it is asked for.
_OTHERS = {
    "align": (
        "ALIGN_OPTIM",
        "AlignConfig",
        "AlignDataConfig",
        "AlignTrainConfig",
        "DPOConfig",
        "JudgedConfig",
        "PPOConfig",
        "reward_weights",
    ),
    "language": ("CorpusConfig", "LanguageConfig", "MaskedConfig", "NextTokenConfig", "PretrainConfig"),
    "translation": ("ParallelConfig", "Seq2SeqConfig", "TranslationConfig", "TranslationTrainConfig"),
}


def __getattr__(name: str) -> object:
    for module, names in _OTHERS.items():
        if name in names:
            return getattr(import_module(f".{module}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
