"""The sections of a run's configuration: which keys there are, their defaults and limits.

On the ground: they know values, neither files nor architectures nor training. `runs/config.py`
reads and merges them.
"""

from .data import DataConfig, Long
from .optim import OptimConfig
from .run import SECTIONS, RunConfig
from .section import CharNgrams, NgramRange, Section, flag
from .task import DEFAULT_TASK, TASKS, ClassificationConfig, TaskConfig
from .train import Course, TrainConfig

__all__ = [
    "DEFAULT_TASK",
    "SECTIONS",
    "TASKS",
    "CharNgrams",
    "ClassificationConfig",
    "Course",
    "DataConfig",
    "Long",
    "NgramRange",
    "OptimConfig",
    "RunConfig",
    "Section",
    "TaskConfig",
    "TrainConfig",
    "flag",
]
