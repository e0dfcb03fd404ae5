"""The section `[task]` of a classifier: what it is trained for; and `TASKS`, the table of these tasks.

To add one, write a file of `tasks/` with its section, a `TaskSection`, and a function that makes the task of
a run, and add a row to `TASKS`. How long a task trains is in `train.py`.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, Any, Literal, cast

from pydantic import Field, GetCoreSchemaHandler, field_validator
from pydantic_core import CoreSchema, core_schema

from .section import RowOf, Section, flag

__all__ = [
    "DEFAULT_TASK",
    "TASKS",
    "ClassificationConfig",
    "ClassifierTask",
    "DistillationConfig",
    "TaskConfig",
    "TaskSection",
]

_EXPECTED = "expected none, balanced, or a positive number for each class, as in [1, 2]"


class TaskSection(Section):
    """The section of a task; `kind` is the name of its row in `TASKS`."""

    kind: str


class ClassificationConfig(TaskSection):
    """One of several classes for each text."""

    kind: Literal["classification"] = Field(
        default="classification",
        description="Task to train for: classification, or distillation, which senti distill sets.",
        json_schema_extra=flag("--task", "KIND"),
    )
    loss: Annotated[str, RowOf("tasks.classification", "LOSSES", "cross-entropy")] = Field(
        default="cross-entropy",
        description="Loss of a row: cross-entropy, or focal, which focal_gamma above 0 means as well.",
    )
    label_smoothing: float = Field(
        default=0.0,
        ge=0,
        lt=1,
        description="Label smoothing: share of each label's probability that is spread evenly over all "
        "classes; 0 for none.",
    )
    focal_gamma: float = Field(
        default=0.0,
        ge=0,
        description="Gamma of the focal loss, which weights each row by (1 - p)^gamma; 0 for cross entropy, "
        "or for 2 where loss is focal.",
    )
    focal_alpha: float = Field(
        default=1.0,
        gt=0,
        description="Alpha of the focal loss, a factor on the loss of every row; for one factor per class "
        "use class_weights.",
    )
    class_weights: Literal["none", "balanced"] | tuple[float, ...] | dict[str, float] = Field(
        default="none",
        description="Class weights in the loss: none, balanced (classes count equally) or numbers, in the "
        "order of the labels (1,2) or by label; the option also takes a file of them (JSON, TOML, CSV).",
        json_schema_extra=flag("--class-weights", "KIND"),
    )
    sampler: Literal["shuffle", "balanced"] = Field(
        default="shuffle",
        description="How training rows are drawn: shuffle (each once an epoch) or balanced (every class "
        "equally often).",
    )
    r_drop: float = Field(
        default=0.0,
        ge=0,
        description="Weight of the R-Drop loss, the distance between two passes with different dropout; "
        "0 for none.",
    )
    mixup: float = Field(
        default=0.0, ge=0, description="Alpha of the Beta distribution of mixup; 0 for no mixup."
    )

    @field_validator("class_weights", mode="before")
    @classmethod
    def _positive(cls, weights: Any) -> Any:
        return _positive_weights(weights)


class DistillationConfig(TaskSection):
    """The answers of another model, a teacher, for each text."""

    kind: Literal["distillation"] = Field(default="distillation", description="Task to train for.")
    teacher: str = Field(default="", description="Run directory or ensemble that is the teacher.")
    teacher_sha256: str | None = Field(
        default=None, description="SHA-256 of the teacher's manifest; senti distill writes it."
    )
    loss: Annotated[str, RowOf("tasks.distillation", "DISTANCES", "kl")] = Field(
        default="kl",
        description="Loss against the teacher: kl (divergence of the probabilities at the temperature) or "
        "logits (mean squared difference of the logits).",
        json_schema_extra=flag("--loss", "KIND"),
    )
    temperature: float = Field(
        default=2.0,
        gt=0,
        le=100,
        description="Softmax temperature of teacher and student in the kl loss; higher values give unlikely "
        "labels more weight.",
        json_schema_extra=flag("--temperature", "T"),
    )
    label_weight: float = Field(
        default=0.1,
        ge=0,
        le=1,
        description="Weight of the true label in the loss, from 0 to 1, on rows that have one; the teacher "
        "gets the rest.",
        json_schema_extra=flag("--label-weight", "SHARE"),
    )


@dataclass(frozen=True)
class ClassifierTask:
    """One row of the table of tasks; modules are named, and imported when they are needed.

    Attributes:
        section: module below `sentimodels` and class of its section.
        maker: module and function that makes the task of a run from its `RunConfig` and `TaskRows`
            (`tasks/classification.py`).
        recipe: module of `recipes/` and class of the recipe that runs it.
        command: of `senti`, which trains it.
    """

    section: str
    maker: str
    recipe: tuple[str, str] = ("classification", "ClassificationRecipe")
    command: str = "train"

    @property
    def config(self) -> type[TaskSection]:
        """The class of its section."""
        return cast("type[TaskSection]", _named(self.section))

    @property
    def make(self) -> Callable[[Any, Any], Any]:
        """Makes the task of a run."""
        return cast("Callable[[Any, Any], Any]", _named(self.maker))


def _named(place: str) -> object:
    module, _, name = place.partition(":")
    return getattr(import_module(f"sentimodels.{module}"), name)


# By `task.kind`; the first is what `senti train` does unless told otherwise.
TASKS: dict[str, ClassifierTask] = {
    "classification": ClassifierTask("config.task:ClassificationConfig", "tasks.classification:of_rows"),
    "distillation": ClassifierTask(
        "config.task:DistillationConfig", "tasks.distillation:of_rows",
        ("distillation", "DistillationRecipe"), "distill",
    ),
}  # fmt: skip
DEFAULT_TASK = next(iter(TASKS))


class _ByKind:
    """Reads a section by its `kind`: a union with tags, of the sections of `TASKS`."""

    def __get_pydantic_core_schema__(self, _: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        choices = {kind: handler.generate_schema(row.config) for kind, row in TASKS.items()}
        return core_schema.tagged_union_schema(choices, discriminator="kind")


TaskConfig = Annotated[TaskSection, _ByKind()]


def _positive_weights(weights: Any) -> Any:
    if isinstance(weights, str) and weights not in ("none", "balanced"):
        try:
            weights = tuple(float(part) for part in weights.strip().strip("[]()").split(","))
        except ValueError:
            raise ValueError(_EXPECTED) from None
    values = list(weights.values()) if isinstance(weights, Mapping) else weights
    if isinstance(values, (list, tuple)):
        good = [isinstance(v, (int, float)) and not isinstance(v, bool) and 0 < v < math.inf for v in values]
        if not good or not all(good):
            raise ValueError(f"class_weights {list(values)}: expected one positive number for each class")
        return weights if isinstance(weights, Mapping) else tuple(weights)
    if not isinstance(weights, str):
        raise ValueError(_EXPECTED)
    return weights
