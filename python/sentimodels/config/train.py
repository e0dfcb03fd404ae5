"""`TrainConfig`, the section `[train]`: how long and on what; and the `Course` it gives.

Not for the loss or the order of rows: those are the task's (`task.py`).
"""

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from .section import Section

__all__ = ["Course", "TrainConfig"]


class TrainConfig(Section):
    """How long and on what."""

    seed: int = Field(default=0, ge=0, description="Seed of weights, order and dropout.")
    epochs: int | None = Field(
        default=None, ge=0, description="Passes over the texts; without it 2, and more where texts are few."
    )
    max_steps: int | None = Field(default=None, ge=1, description="Steps at most, whatever the epochs.")
    batch_size: int | None = Field(
        default=None, ge=1, description="Rows a batch; without it 128, and fewer where texts are few."
    )
    accumulate: int = Field(default=1, ge=1, description="Batches a step.")
    ema: float = Field(default=0.999, ge=0, lt=1, description="Decay of the averaged weights; 0 for none.")
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

    def course(self, n_rows: int, world: int = 1) -> "Course":
        """Returns how many rows make a batch, and batches a run, for so many rows in all.

        A thousand rows in batches of 128 would be 8 steps a pass: too few to learn from.

        Args:
            n_rows: rows of one epoch.
            world: processes that train together; each has batches of its own.
        """
        epochs, size = self.epochs, self.batch_size
        if epochs is None:
            epochs = min(20, max(2, -(-100_000 // max(1, n_rows))))
        if size is None:
            size = min(128, max(16, n_rows // 64))
        n_batches = -(-n_rows // (size * world))
        steps = epochs * -(-n_batches // self.accumulate)
        return Course(size, n_batches, min(steps, self.max_steps or steps))


@dataclass(frozen=True)
class Course:
    """Rows of a batch of one process, batches of an epoch, and steps in all."""

    batch_size: int
    n_batches: int
    steps: int
