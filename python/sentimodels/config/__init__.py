"""The sections of a run's configuration: which keys there are, their defaults and limits.

On the ground: they know values, neither files nor architectures nor training. `runs/families.py`
reads and merges them.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from .classifier import AUTO, DataConfig, Long, RunConfig, TaskConfig
from .section import SECTIONS, CharNgrams, NgramRange, RowOf, Section, Written, flag
from .task import (
    DEFAULT_TASK,
    TASKS,
    ClassificationConfig,
    DistillationConfig,
    MaskedConfig,
    MultilabelConfig,
    NextTokenConfig,
    OrdinalConfig,
    TaskKind,
    TaskSection,
    choices,
    sections_of,
    trained_by,
)
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
    from .language import CorpusConfig, LanguageConfig, PretrainConfig
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

# Sections of the other kinds of runs: imported, in this order, when a name of one is asked for.
_LATER = ("language", "translation", "align")


def __getattr__(name: str) -> object:
    if name in __all__:
        for module in _LATER:
            found = import_module(f".{module}", __name__)
            if name in found.__all__:
                return getattr(found, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
