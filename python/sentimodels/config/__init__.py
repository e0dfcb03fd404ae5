"""The sections of a run's configuration: which keys there are, their defaults and limits.

On the ground: they know values, neither files nor architectures nor training. `runs/families.py`
reads and merges them.
"""

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
from .language import (
    CorpusConfig,
    LanguageConfig,
    MaskedConfig,
    NextTokenConfig,
    PretrainConfig,
)
from .section import SECTIONS, CharNgrams, NgramRange, RowOf, Section, Written, flag
from .task import DEFAULT_TASK, TASKS, TaskKind, TaskSection, choices, sections_of, trained_by
from .train import RULES, SCHEDULES, LoopConfig, OptimConfig, ThresholdRule, TrainConfig, TrainingPlan
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
