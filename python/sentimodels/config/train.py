"""`TrainConfig`, the section `[train]`: how long and on what; and the `TrainingPlan` it gives.

`LoopConfig` is the part of it that the trainer reads, whatever the task; `StartConfig` says where the weights
start; `ThresholdRule` is what `train.threshold` names.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from .section import RowOf, Section, flag

__all__ = [
    "RULES", "SCHEDULES", "LoopConfig", "OptimConfig", "StartConfig", "ThresholdRule", "TrainConfig",
    "TrainingPlan",
]  # fmt: skip


class LoopConfig(Section):
    """How the loop runs: settings of every task."""

    seed: int = Field(
        default=0,
        ge=0,
        lt=1 << 63,
        description="Random seed of the initial weights, the order of the rows and dropout.",
        json_schema_extra=flag("--seed", "N"),
    )
    epochs: int | None = Field(
        default=None,
        ge=0,
        description="Number of passes over the training rows. [default: 2 to 20, more for fewer rows; 0 "
        "for tfidf, nb and bow]",
        json_schema_extra=flag("--epochs", "N", panel="Options"),
    )
    max_steps: int | None = Field(
        default=None,
        ge=1,
        description="Maximum number of optimizer steps, whatever the number of epochs. [default: no limit]",
    )
    batch_size: int | None = Field(
        default=None,
        ge=1,
        description="Number of rows in a batch. [default: 16 to 128, fewer for fewer rows]",
        json_schema_extra=flag("--batch-size", "N"),
    )
    accumulate: int = Field(
        default=1, ge=1, description="Number of batches whose gradients are added up for one step."
    )
    ema: float = Field(
        default=0.999,
        ge=0,
        lt=1,
        description="Decay of the exponential moving average of the weights; 0 for none.",
    )
    evaluate_every: int = Field(
        default=0, ge=0, description="Number of steps between evaluations; 0 for once an epoch."
    )
    patience: int = Field(
        default=3,
        ge=0,
        description="Stop after N evaluations without improvement; 0 for never.",
        json_schema_extra=flag("--patience", "N"),
    )
    save_every: int = Field(
        default=0,
        ge=0,
        description="Number of steps between saved training states; 0 to save at each evaluation.",
    )
    log_every: int = Field(default=20, ge=1, description="Number of steps between lines of metrics.jsonl.")
    track: Literal["none", "tensorboard", "wandb"] = Field(
        default="none",
        description="Tracker to send metrics to as well: none, tensorboard or wandb (both need the extra "
        "track).",
        json_schema_extra=flag("--track", "NAME"),
    )
    device: str = Field(
        default="auto",
        description="Device to train on: auto (a GPU with CUDA, else the CPU), cpu, cuda, cuda:1, mps, ...",
        json_schema_extra=flag("--device", "NAME"),
    )
    precision: Literal["auto", "float32", "bfloat16"] = Field(
        default="auto",
        description="Floating-point format: float32, bfloat16, or auto (bfloat16 on GPUs that support it).",
        json_schema_extra=flag("--precision", "KIND"),
    )
    compile: bool = Field(
        default=False,
        description="Compile the model with torch.compile; batches are padded to a multiple of 8 tokens.",
    )
    threads: int | None = Field(
        default=None,
        ge=1,
        description="Number of CPU threads that torch uses. [default: chosen by torch]",
        json_schema_extra=flag("--threads", "N", panel="Parallel work"),
    )
    deterministic: bool = Field(
        default=False, description="Refuse GPU kernels whose results can differ from run to run."
    )


class StartConfig(Section):
    """Where the weights start: those of another run, or of a file; `runs/init_weights.py` reads them."""

    init_from: str | None = Field(
        default=None,
        description="Run directory or safetensors file to initialise the weights from, where tensor names "
        "match. [default: random weights]",
        json_schema_extra=flag("--init", "RUN", panel="Model"),
    )
    init_map: dict[str, str] = Field(
        default={},
        description="How to rename the tensors of init_from: prefixes of their names and replacements, as in "
        '{"encoder." = "transformer."}.',
    )


class TrainConfig(LoopConfig, StartConfig):
    """How long and on what."""

    baseline: bool = Field(
        default=True,
        description="Train TF-IDF with logistic regression on the same rows, as a baseline. [default: "
        "baseline]",
        json_schema_extra=flag("--baseline/--no-baseline", panel="Validation and test"),
    )
    refit: bool = Field(
        default=False,
        description="Train again on training and validation rows together, with the number of passes and "
        "the temperature chosen on the validation rows.",
        json_schema_extra=flag("--refit", panel="Validation and test"),
    )
    threshold: str | None = Field(
        default=None,
        description="Choose thresholds on the validation rows, for senti predict to answer by: macro_f1, "
        "precision=P, recall=P, confidence=P, mae or cost=FILE. [default: the likeliest label; with several "
        "labels a text, those from 0.5 on]",
        json_schema_extra=flag("--threshold", "RULE", panel="Validation and test"),
    )

    @field_validator("threshold")
    @classmethod
    def _is_a_rule(cls, threshold: str | None) -> str | None:
        return None if threshold is None else str(ThresholdRule.of(threshold))

    def plan(self, n_rows: int, world: int = 1) -> "TrainingPlan":
        """Returns how many rows make a batch, and batches a run, for so many rows in all.

        A thousand rows in batches of 128 would be 8 steps a pass: too few to learn from.

        Args:
            n_rows: rows of one epoch.
            world: number of processes that train together; each has its own batches.
        """
        epochs, size = self.epochs, self.batch_size
        if epochs is None:
            epochs = min(20, max(2, -(-100_000 // max(1, n_rows))))
        if size is None:
            size = min(128, max(16, n_rows // 64))
        n_batches = -(-n_rows // (size * world))
        steps = epochs * -(-n_batches // self.accumulate)
        return TrainingPlan(size, n_batches, min(steps, self.max_steps or steps))


@dataclass(frozen=True)
class TrainingPlan:
    """Rows of a batch of one process, batches of an epoch, and steps in all."""

    batch_size: int
    n_batches: int
    steps: int


# By the name of `optim.schedule`: the factor of the highest rate, given the share of the steps after warm-up
# that are done, and the factor of the last step (`min_lr_ratio`).
SCHEDULES: dict[str, Callable[[float, float], float]] = {
    "constant": lambda _, __: 1.0,
    "linear": lambda done, last: last + (1 - last) * (1 - done),
    "cosine": lambda done, last: last + (1 - last) * ((1 + math.cos(math.pi * done)) / 2),
}


class OptimConfig(Section):
    """How weights move."""

    name: Annotated[str, RowOf("training.optimizer", "OPTIMIZERS", "adamw")] = Field(
        default="adamw",
        description="Optimizer: adamw, sgd or muon (muon for the matrices between layers, adamw for all "
        "else).",
    )
    lr: float = Field(
        default=1.5e-3,
        gt=0,
        description="Peak learning rate, reached at the end of warmup.",
        json_schema_extra=flag("--lr", "RATE"),
    )
    muon_lr: float = Field(
        default=0.02, gt=0, description="Peak learning rate of the matrices that muon updates."
    )
    weight_decay: float = Field(
        default=0.01,
        ge=0,
        description="Weight decay of weight matrices, not of embeddings, convolutions, norms and biases.",
    )
    betas: tuple[float, float] = Field(
        default=(0.9, 0.98), description="Decay rates of the two moment estimates of adamw."
    )
    eps: float = Field(default=1e-8, gt=0, description="Epsilon added to the denominator of adamw.")
    momentum: float = Field(default=0.9, ge=0, lt=1, description="Momentum of sgd.")
    schedule: Annotated[str, RowOf("config.train", "SCHEDULES", "cosine")] = Field(
        default="cosine", description="Learning-rate schedule after warmup: constant, linear or cosine."
    )
    warmup: float = Field(
        default=0.06,
        ge=0,
        lt=1,
        description="Share of the steps, from 0 to 1, over which the learning rate rises to its peak.",
    )
    min_lr_ratio: float = Field(
        default=0.05,
        ge=0,
        le=1,
        description="Final learning rate of the linear and cosine schedules, as a share of the peak.",
    )
    clip: float = Field(
        default=1.0,
        ge=0,
        description="Maximum norm of all gradients together; larger ones are scaled down. 0 for no clipping.",
    )
    sparse_embeddings: bool = Field(
        default=True, description="Update only the embedding rows that occur in the batches of a step."
    )
    embedding_lr_scale: float = Field(
        default=4.0,
        gt=0,
        description="Learning-rate factor of the rows that sparse_embeddings updates, as they are updated "
        "less often than other weights.",
    )
    layer_decay: float = Field(
        default=1.0,
        gt=0,
        le=1,
        description="Learning-rate factor from each layer to the one below it; 1 for the same rate in all "
        "layers.",
        json_schema_extra=flag("--layer-lr-decay", "FACTOR"),
    )
    freeze: tuple[str, ...] = Field(
        default=(),
        description="Freeze parameters whose names begin with PREFIX; repeatable.",
        json_schema_extra=flag("--freeze", "PREFIX"),
    )
    unfreeze_at: int | None = Field(
        default=None,
        ge=1,
        description="Step at which frozen parameters are unfrozen. [default: never]",
        json_schema_extra=flag("--unfreeze-at", "STEP"),
    )

    @model_validator(mode="after")
    def _something_is_frozen(self) -> "OptimConfig":
        if self.unfreeze_at is not None and not self.freeze:
            raise ValueError(
                f"unfreeze_at {self.unfreeze_at}: nothing is frozen; say what, as with --freeze backbone., "
                "or leave it out"
            )
        return self

    @field_validator("betas")
    @classmethod
    def _below_one(cls, betas: tuple[float, float]) -> tuple[float, float]:
        if not all(0 <= beta < 1 for beta in betas):
            raise ValueError(f"betas {list(betas)}: expected two numbers of at least 0 and below 1")
        return betas


# By name: the metavar of its value, and the thresholds it chooses.
RULES = {
    "macro_f1": ("", "the highest macro F1"),
    "precision": ("P", "as many answers as have this precision"),
    "recall": ("P", "the most precise answers that have this recall"),
    "confidence": ("P", "this probability for every label"),
    "mae": ("", "the least expected absolute error, of labels in an order"),
    "cost": ("FILE", "the least expected cost, by a file of what mistakes cost"),
}
_EXPECTED = ", ".join(f"{name}={value}" if value else name for name, (value, _) in RULES.items())


@dataclass(frozen=True)
class ThresholdRule:
    """A rule.

    Attributes:
        name: one of `RULES`.
        target: the share that `precision`, `recall` or `confidence` names.
        file: the file of costs.
    """

    name: str
    target: float = 0.0
    file: str = ""

    @classmethod
    def of(cls, written: str) -> "ThresholdRule":
        """Reads a rule, such as `precision=0.9`.

        Raises:
            ValueError: if it is not a rule.
        """
        name, equals, value = written.partition("=")
        if name not in RULES or bool(equals) != bool(RULES[name][0]):
            raise ValueError(f"threshold {written}: expected one of {_EXPECTED}")
        if name == "cost":
            if not value:
                raise ValueError(f"threshold {written}: name the file of costs, as in cost=costs.csv")
            return cls(name, file=value)
        if not equals:
            return cls(name)
        try:
            target = float(value)
        except ValueError:
            target = -1.0
        if not 0 < target <= 1:
            raise ValueError(f"threshold {written}: expected a number above 0 and up to 1, as in {name}=0.9")
        return cls(name, target)

    def __str__(self) -> str:
        """Writes it as it is read."""
        if self.name == "cost":
            return f"cost={self.file}"
        return f"{self.name}={self.target:g}" if self.target else self.name
