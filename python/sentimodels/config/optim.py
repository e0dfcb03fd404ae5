"""`OptimConfig`, the section `[optim]`: how weights move."""

from typing import Literal

from pydantic import Field, field_validator, model_validator

from .section import Section, flag

__all__ = ["OptimConfig"]


class OptimConfig(Section):
    """How weights move."""

    name: Literal["adamw", "muon", "sgd"] = Field(
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
        description="Weight decay of weight matrices; embeddings, norms and biases have none.",
    )
    betas: tuple[float, float] = Field(
        default=(0.9, 0.98), description="Decay rates of the two moment estimates of adamw."
    )
    eps: float = Field(default=1e-8, gt=0, description="Epsilon added to the denominator of adamw.")
    momentum: float = Field(default=0.9, ge=0, lt=1, description="Momentum of sgd.")
    schedule: Literal["constant", "linear", "cosine"] = Field(
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
