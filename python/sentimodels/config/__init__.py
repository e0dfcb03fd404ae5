"""The sections of a run's configuration: which keys there are, their defaults and limits.

On the ground: they know values, neither files nor architectures nor training. `runs/families.py`
reads and merges them.
"""

from .align import (
    ALIGN_OPTIM,
    ALIGN_TASKS,
    AlignConfig,
    AlignDataConfig,
    AlignTrainConfig,
    DPOConfig,
    JudgedConfig,
    PPOConfig,
)
from .data import DataConfig, Long
from .language import (
    LANGUAGE_TASKS,
    CorpusConfig,
    LanguageConfig,
    MaskedConfig,
    NextTokenConfig,
    PretrainConfig,
)
from .run import AUTO, SECTIONS, RunConfig, Written
from .section import CharNgrams, NgramRange, RowOf, Section, flag
from .task import (
    DEFAULT_TASK,
    TASKS,
    ClassificationConfig,
    ClassifierTask,
    DistillationConfig,
    TaskConfig,
    TaskSection,
)
from .train import SCHEDULES, LoopConfig, OptimConfig, TrainConfig, TrainingPlan
from .translation import ParallelConfig, Seq2SeqConfig, TranslationConfig, TranslationTrainConfig

__all__ = [
    "ALIGN_OPTIM",
    "ALIGN_TASKS",
    "AUTO",
    "DEFAULT_TASK",
    "LANGUAGE_TASKS",
    "SCHEDULES",
    "SECTIONS",
    "TASKS",
    "AlignConfig",
    "AlignDataConfig",
    "AlignTrainConfig",
    "CharNgrams",
    "ClassificationConfig",
    "ClassifierTask",
    "CorpusConfig",
    "DPOConfig",
    "DataConfig",
    "DistillationConfig",
    "JudgedConfig",
    "LanguageConfig",
    "Long",
    "LoopConfig",
    "MaskedConfig",
    "NextTokenConfig",
    "NgramRange",
    "OptimConfig",
    "PPOConfig",
    "ParallelConfig",
    "PretrainConfig",
    "RowOf",
    "RunConfig",
    "Section",
    "Seq2SeqConfig",
    "TaskConfig",
    "TaskSection",
    "TrainConfig",
    "TrainingPlan",
    "TranslationConfig",
    "TranslationTrainConfig",
    "Written",
    "flag",
]
