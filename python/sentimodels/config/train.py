"""`TrainConfig`, the section `[train]`: how long and on what; and the `Course` it gives.

Not for the loss or the order of rows: those are the task's (`task.py`).
"""

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from .section import Section, flag

__all__ = ["Course", "TrainConfig"]


class TrainConfig(Section):
    """How long and on what."""

    init_from: str | None = Field(
        default=None,
        description="Run directory or safetensors file whose weights the model starts from, where they fit.",
        json_schema_extra=flag("--init", "RUN"),
    )
    init_map: dict[str, str] = Field(
        default={},
        description="Beginnings of names in init_from, and what they are called here; "
        'as in {"encoder." = "transformer."}.',
    )
    baseline: bool = Field(
        default=True,
        description="Train TF-IDF on the same rows, as a baseline.",
        json_schema_extra=flag("--baseline/--no-baseline"),
    )
    refit: bool = Field(
        default=False,
        description="Train again on training and validation rows, with the number of steps and the "
        "temperature that the validation rows chose.",
        json_schema_extra=flag("--refit"),
    )
    seed: int = Field(
        default=0,
        ge=0,
        description="Seed of weights, order of rows and dropout.",
        json_schema_extra=flag("--seed"),
    )
    epochs: int | None = Field(
        default=None,
        ge=0,
        description="Passes over the training rows; without it 2, and more where rows are few.",
        json_schema_extra=flag("--epochs"),
    )
    max_steps: int | None = Field(default=None, ge=1, description="Steps at most, whatever the epochs.")
    batch_size: int | None = Field(
        default=None,
        ge=1,
        description="Rows of a batch; without it 128, and fewer where rows are few.",
        json_schema_extra=flag("--batch-size"),
    )
    accumulate: int = Field(default=1, ge=1, description="Batches a step.")
    ema: float = Field(default=0.999, ge=0, lt=1, description="Decay of the averaged weights; 0 for none.")
    evaluate_every: int = Field(default=0, ge=0, description="Steps between evaluations; 0: once an epoch.")
    patience: int = Field(
        default=3,
        ge=0,
        description="Stop after N evaluations without improvement; 0: never.",
        json_schema_extra=flag("--patience", "N"),
    )
    save_every: int = Field(default=0, ge=0, description="Steps between saved states; 0: at each evaluation.")
    log_every: int = Field(default=20, ge=1, description="Steps between lines of metrics.jsonl.")
    track: Literal["none", "tensorboard", "wandb"] = Field(
        default="none",
        description="Also told of the run: none, tensorboard or wandb (the extra track); "
        "metrics.jsonl is always written.",
        json_schema_extra=flag("--track", "NAME"),
    )
    device: str = Field(
        default="auto",
        description="auto, cpu, cuda, cuda:1, mps, ...",
        json_schema_extra=flag("--device", "NAME"),
    )
    precision: Literal["auto", "float32", "bfloat16"] = Field(
        default="auto",
        description="auto: bfloat16 on GPUs that have it, else float32.",
        json_schema_extra=flag("--precision", "KIND"),
    )
    compile: bool = Field(default=False, description="torch.compile, with lengths padded to a multiple of 8.")
    threads: int | None = Field(
        default=None,
        ge=1,
        description="Threads of torch; by default its own choice.",
        json_schema_extra=flag("--threads"),
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
