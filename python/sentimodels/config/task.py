"""The section `[task]`: what a model is trained for, one kind of section for each kind of task.

`kind` says which it is. A new task is a section here, in `TASKS` and in `TaskConfig`; the tasks themselves
are in `tasks/`, and how long they train in `train.py`.
"""

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, GetCoreSchemaHandler, field_validator
from pydantic_core import CoreSchema, core_schema

from .section import Section, flag

__all__ = ["DEFAULT_TASK", "TASKS", "ClassificationConfig", "DistillationConfig", "TaskConfig"]

_EXPECTED = "expected none, balanced, or a positive number for each class, as in [1, 2]"


class ClassificationConfig(Section):
    """One of several classes for each text."""

    kind: Literal["classification"] = Field(
        default="classification",
        description="Task to train for: classification, or distillation, which senti distill sets.",
        json_schema_extra=flag("--task", "KIND"),
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
        description="Gamma of the focal loss, which weights each row by (1 - p)^gamma; 0 for cross entropy.",
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


class DistillationConfig(Section):
    """The answers of another model, a teacher, for each text."""

    kind: Literal["distillation"] = Field(default="distillation", description="Task to train for.")
    teacher: str = Field(default="", description="Run directory or ensemble that is the teacher.")
    teacher_sha256: str | None = Field(
        default=None, description="SHA-256 of the teacher's manifest; senti distill writes it."
    )
    loss: Literal["kl", "logits"] = Field(
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


# By kind; the first is what `senti train` does unless told otherwise.
TASKS: dict[str, type[Section]] = {
    get_args(section.model_fields["kind"].annotation)[0]: section
    for section in (ClassificationConfig, DistillationConfig)
}
DEFAULT_TASK = next(iter(TASKS))


class _ByKind:
    """Reads a section by its `kind`: a union with tags, of the members of `TASKS`."""

    def __get_pydantic_core_schema__(self, _: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        choices = {kind: handler.generate_schema(section) for kind, section in TASKS.items()}
        return core_schema.tagged_union_schema(choices, discriminator="kind")


TaskConfig = Annotated[ClassificationConfig | DistillationConfig, _ByKind()]


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
