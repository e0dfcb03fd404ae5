"""`TrainConfig`, the section `[train]`: how long, with which loss, on what; and the `Course` it gives."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field, field_validator

from .section import Section

__all__ = ["Course", "TrainConfig"]

_EXPECTED = "expected none, balanced, or a positive number for each class, as in [1, 2]"


class TrainConfig(Section):
    """How long, with which loss, on what."""

    seed: int = Field(default=0, ge=0, description="Seed of weights, order and dropout.")
    epochs: int | None = Field(
        default=None, ge=0, description="Passes over the texts; without it 2, and more where texts are few."
    )
    max_steps: int | None = Field(default=None, ge=1, description="Steps at most, whatever the epochs.")
    batch_size: int | None = Field(
        default=None, ge=1, description="Rows a batch; without it 128, and fewer where texts are few."
    )
    accumulate: int = Field(default=1, ge=1, description="Batches a step.")
    label_smoothing: float = Field(
        default=0.0, ge=0, lt=1, description="Share of each label spread over all."
    )
    focal_gamma: float = Field(default=0.0, ge=0, description="Focal loss: weight (1 - p)^gamma of each row.")
    focal_alpha: float = Field(
        default=1.0,
        gt=0,
        description="Factor of the loss of every row, the alpha of the focal loss; by class: class_weights.",
    )
    class_weights: Literal["none", "balanced"] | tuple[float, ...] | dict[str, float] = Field(
        default="none", description="none, balanced, a weight for each class in order, or by label."
    )
    sampler: Literal["shuffle", "balanced"] = Field(
        default="shuffle", description="balanced: classes equally often."
    )
    ema: float = Field(default=0.999, ge=0, lt=1, description="Decay of the averaged weights; 0 for none.")
    r_drop: float = Field(default=0.0, ge=0, description="Weight of the distance between two dropout passes.")
    mixup: float = Field(
        default=0.0, ge=0, description="Alpha of the Beta that mixes embeddings; 0 for none."
    )
    evaluate_every: int = Field(default=0, ge=0, description="Steps between evaluations; 0: once an epoch.")
    patience: int = Field(default=3, ge=0, description="Evaluations without gain before stopping; 0: never.")
    save_every: int = Field(default=0, ge=0, description="Steps between saved states; 0: at each evaluation.")
    log_every: int = Field(default=20, ge=1, description="Steps between lines of metrics.jsonl.")
    track: Literal["none", "tensorboard", "wandb"] = Field(
        default="none",
        description="Also told of the run: none, tensorboard or wandb (the extra track); "
        "metrics.jsonl is always written.",
    )
    device: str = Field(default="auto", description="auto, cpu, cuda, cuda:1, mps, ...")
    precision: Literal["auto", "float32", "bfloat16"] = Field(
        default="auto", description="auto: bfloat16 on GPUs that have it, else float32."
    )
    compile: bool = Field(default=False, description="torch.compile, with lengths padded to a multiple of 8.")
    threads: int | None = Field(
        default=None, ge=1, description="Threads of torch; by default its own choice."
    )
    deterministic: bool = Field(default=False, description="Refuse kernels whose result may vary (GPU).")

    def course(self, n_rows: int) -> "Course":
        """Returns how many rows make a batch, and batches a run, for so many rows in all.

        A thousand rows in batches of 128 would be 8 steps a pass: too few to learn from.
        """
        epochs, size = self.epochs, self.batch_size
        if epochs is None:
            epochs = min(20, max(2, -(-100_000 // max(1, n_rows))))
        if size is None:
            size = min(128, max(16, n_rows // 64))
        n_batches = -(-n_rows // size)
        steps = epochs * -(-n_batches // self.accumulate)
        return Course(size, n_batches, min(steps, self.max_steps or steps))

    @field_validator("class_weights", mode="before")
    @classmethod
    def _positive(cls, weights: Any) -> Any:
        return _positive_weights(weights)


@dataclass(frozen=True)
class Course:
    """Rows a batch, batches a pass over the rows, and steps in all."""

    batch_size: int
    n_batches: int
    steps: int


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
            raise ValueError(f"class_weights {list(values)}: one positive number for each class")
        return weights if isinstance(weights, Mapping) else tuple(weights)
    if not isinstance(weights, str):
        raise ValueError(_EXPECTED)
    return weights
