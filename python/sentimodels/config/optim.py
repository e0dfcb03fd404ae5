"""`OptimConfig`, the section `[optim]`: how weights move."""

from typing import Literal

from pydantic import Field, field_validator

from .section import Section, flag

__all__ = ["OptimConfig"]


class OptimConfig(Section):
    """How weights move."""

    name: Literal["adamw", "muon", "sgd"] = Field(
        default="adamw", description="adamw; muon: for matrices between layers, adamw for the rest; sgd."
    )
    lr: float = Field(
        default=1.5e-3, gt=0, description="Learning rate, peak.", json_schema_extra=flag("--lr")
    )
    muon_lr: float = Field(
        default=0.02, gt=0, description="Learning rate, peak, of the matrices that muon moves."
    )
    weight_decay: float = Field(
        default=0.01, ge=0, description="Decay of matrices; embeddings and biases have none."
    )
    betas: tuple[float, float] = Field(default=(0.9, 0.98), description="Decay of the two moments.")
    eps: float = Field(default=1e-8, gt=0, description="Added to the root of the second moment.")
    momentum: float = Field(default=0.9, ge=0, lt=1, description="Momentum of sgd.")
    schedule: Literal["constant", "linear", "cosine"] = Field(
        default="cosine", description="Course of the rate."
    )
    warmup: float = Field(default=0.06, ge=0, lt=1, description="Share of all steps in which the rate rises.")
    min_lr_ratio: float = Field(
        default=0.05, ge=0, le=1, description="Rate at the end, as a share of the highest."
    )
    clip: float = Field(default=1.0, ge=0, description="Largest norm of all gradients together; 0 for none.")
    sparse_embeddings: bool = Field(
        default=True, description="Move only the embedding rows that a step has met."
    )
    embedding_lr_scale: float = Field(
        default=4.0,
        gt=0,
        description="Rate of the rows that sparse_embeddings moves, as a multiple: they move only when met.",
    )
    layer_decay: float = Field(
        default=1.0, gt=0, le=1, description="Factor of the rate for each layer further down."
    )
    freeze: tuple[str, ...] = Field(
        default=(),
        description="Parameters whose names begin so are not trained.",
        json_schema_extra=flag("--freeze", "PREFIX"),
    )
    unfreeze_at: int | None = Field(
        default=None,
        ge=1,
        description="Step at which frozen parameters are unfrozen.",
        json_schema_extra=flag("--unfreeze-at", "STEP"),
    )

    @field_validator("betas")
    @classmethod
    def _below_one(cls, betas: tuple[float, float]) -> tuple[float, float]:
        if not all(0 <= beta < 1 for beta in betas):
            raise ValueError(f"betas {list(betas)}: from 0 to below 1")
        return betas
