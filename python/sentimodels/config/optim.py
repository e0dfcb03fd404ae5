"""`OptimConfig`, the section `[optim]`: how weights move."""

from typing import Literal

from pydantic import Field, field_validator

from .section import Section, flag

__all__ = ["OptimConfig"]


class OptimConfig(Section):
    """How weights move."""

    name: Literal["adamw", "muon", "sgd"] = Field(
        default="adamw",
        description="Optimizer: adamw, sgd, or muon (for matrices between layers; adamw for the rest).",
    )
    lr: float = Field(
        default=1.5e-3, gt=0, description="Learning rate, peak.", json_schema_extra=flag("--lr", "RATE")
    )
    muon_lr: float = Field(
        default=0.02, gt=0, description="Learning rate, peak, of the matrices that muon updates."
    )
    weight_decay: float = Field(
        default=0.01, ge=0, description="Weight decay of matrices; embeddings and biases have none."
    )
    betas: tuple[float, float] = Field(
        default=(0.9, 0.98), description="Decay rates of the two moment estimates of adamw."
    )
    eps: float = Field(default=1e-8, gt=0, description="Constant added to the denominator of adamw.")
    momentum: float = Field(default=0.9, ge=0, lt=1, description="Momentum of sgd.")
    schedule: Literal["constant", "linear", "cosine"] = Field(
        default="cosine", description="Learning-rate schedule after warmup: constant, linear or cosine."
    )
    warmup: float = Field(
        default=0.06,
        ge=0,
        lt=1,
        description="Share of the steps in which the learning rate rises to its peak.",
    )
    min_lr_ratio: float = Field(
        default=0.05, ge=0, le=1, description="Learning rate at the end, as a share of the peak."
    )
    clip: float = Field(
        default=1.0,
        ge=0,
        description="Maximum norm of the gradients of all parameters together; 0 for no clipping.",
    )
    sparse_embeddings: bool = Field(
        default=True, description="Update only the embedding rows that occur in the batches of a step."
    )
    embedding_lr_scale: float = Field(
        default=4.0,
        gt=0,
        description="Factor of the learning rate of the rows that sparse_embeddings updates: they are "
        "updated less often than other weights.",
    )
    layer_decay: float = Field(
        default=1.0,
        gt=0,
        le=1,
        description="Factor of the learning rate from each layer to the one below it.",
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

    @field_validator("betas")
    @classmethod
    def _below_one(cls, betas: tuple[float, float]) -> tuple[float, float]:
        if not all(0 <= beta < 1 for beta in betas):
            raise ValueError(f"betas {list(betas)}: expected two numbers of at least 0 and below 1")
        return betas
