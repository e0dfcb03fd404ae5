"""`AlignConfig` = base + data + task + optim + train of an alignment, written as TOML.

Not for pre-training (`language.py`), whose configuration an aligned model keeps: it says what the model
is, this one how it was aligned. `data` are openings to go on from (`ppo`) or pairs of answers (`dpo`).
"""

from typing import Annotated, Any, Literal, get_args

from pydantic import Field, SerializeAsAny

from .optim import OptimConfig
from .run import Written
from .section import MaxLineBytes, Section, TextEncoding, flag
from .train import LoopConfig

__all__ = [
    "ALIGN_OPTIM",
    "ALIGN_TASKS",
    "AlignConfig",
    "AlignDataConfig",
    "AlignTrainConfig",
    "DPOConfig",
    "JudgedConfig",
    "PPOConfig",
]

# What `[optim]` of an alignment has, unless it is set.
ALIGN_OPTIM: dict[str, Any] = {
    "lr": 1e-4, "betas": [0.9, 0.95], "weight_decay": 0.0, "schedule": "linear", "warmup": 0.05,
    "min_lr_ratio": 0.1, "sparse_embeddings": False,
}  # fmt: skip


class AlignDataConfig(Section):
    """What is read, and which part of it judges."""

    train: str = Field(
        default="",
        description="File of openings (lines, or a column of a table), or of pairs: JSON lines with prompt, "
        "chosen and rejected.",
    )
    held_out: str | None = Field(
        default=None,
        description="File of openings or pairs that judge, before and after. [default: a share of those to "
        "train on]",
        json_schema_extra=flag("--held-out", "FILE"),
    )
    text_column: str | None = Field(
        default=None,
        description="Column of the openings, in a table. [default: guessed if only one column fits]",
        json_schema_extra=flag("--text-column", "NAME"),
    )
    where: str | None = Field(
        default=None,
        description="Train only on rows where a column has this value, such as split=train.",
        json_schema_extra=flag("--where", "COLUMN=VALUE"),
    )
    held_out_where: str | None = Field(
        default=None,
        description="Judge on rows where a column has this value, such as split=test; of the training "
        "file if --held-out is not given.",
        json_schema_extra=flag("--held-out-where", "COLUMN=VALUE"),
    )
    encoding: TextEncoding = None
    max_line_bytes: MaxLineBytes = None
    limit: int | None = Field(
        default=None,
        ge=1,
        description="Maximum number of rows to read of each file. [default: all]",
        json_schema_extra=flag("--limit", "N"),
    )
    clean: bool = Field(
        default=False, description="Replace <br /> with a space.", json_schema_extra=flag("--clean")
    )
    opening_tokens: int = Field(
        default=16,
        ge=0,
        description="Number of tokens, the first of each text, that are its opening; 0 for the whole text.",
        json_schema_extra=flag("--opening-tokens", "N"),
    )
    begin: bool = Field(
        default=False,
        description="Put the token that documents begin after before each opening or prompt.",
        json_schema_extra=flag("--begin"),
    )
    held_out_share: float = Field(
        default=0.1, gt=0, lt=1, description="Share of the rows that judge, where no others are given."
    )
    n_held_out: int = Field(
        default=256,
        ge=2,
        description="Maximum number of openings or pairs to judge on.",
        json_schema_extra=flag("--judge", "N"),
    )
    split_seed: int = Field(default=42, ge=0, description="Seed of the choice of rows that judge.")


class JudgedConfig(Section):
    """What both methods have: answers, what they are worth, and how far they may go."""

    reward_run: str | None = Field(
        default=None,
        description="Run directory of the classifier that says what a text is worth; dpo only reports it.",
        json_schema_extra=flag("--reward-run", "RUN"),
    )
    reward: str | dict[str, float] | None = Field(
        default=None,
        description="Label that is worth something, or weights of several: pos, or 3=1,4=2,0=-2.",
        json_schema_extra=flag("--reward", "LABEL"),
    )
    reward_value: Literal["log-odds", "probability"] = Field(
        default="log-odds",
        description="What a label counts for: log-odds, log p - log (1 - p), or probability.",
        json_schema_extra=flag("--reward-value", "KIND"),
    )
    max_new_tokens: int = Field(
        default=32,
        ge=1,
        description="Maximum number of tokens of an answer that is drawn.",
        json_schema_extra=flag("--max-new-tokens", "N"),
    )
    max_kl: float = Field(
        default=10.0,
        gt=0,
        description="Divergence from the base, in nats an answer, above which the report warns.",
        json_schema_extra=flag("--max-kl", "NATS"),
    )
    min_distinct: float = Field(
        default=0.8,
        ge=0,
        le=1,
        description="Share of the base's distinct-2 below which the report warns.",
    )


class PPOConfig(JudgedConfig):
    """Proximal policy optimization of a reward."""

    kind: Literal["ppo"] = Field(
        default="ppo",
        description="Method: ppo, which draws answers and follows a reward, or dpo, which learns from pairs.",
        json_schema_extra=flag("--method", "NAME"),
    )
    kl_coefficient: float = Field(
        default=0.2,
        gt=0,
        description="Penalty of a nat of divergence from the base, at the start.",
        json_schema_extra=flag("--kl-coefficient", "BETA"),
    )
    kl_target: float = Field(
        default=6.0,
        gt=0,
        description="Divergence that the penalty is adapted to, in nats an answer.",
        json_schema_extra=flag("--kl-target", "NATS"),
    )
    kl_gain: float = Field(
        default=0.1, ge=0, description="How fast the penalty is adapted; 0 keeps it as it is."
    )
    normalise: bool = Field(
        default=True,
        description="Shift and scale rewards to mean 0 and standard deviation 1 of the first answers.",
    )
    passes: int = Field(default=2, ge=1, description="Passes over the answers of a step.")
    mini_batch: int = Field(default=64, ge=1, description="Answers of an update.")
    clip: float = Field(default=0.2, gt=0, description="How far a ratio of probabilities may move, from 1.")
    value_clip: float = Field(default=0.2, gt=0, description="How far a value may move, of the value before.")
    value_coefficient: float = Field(default=0.5, ge=0, description="Weight of the loss of the values.")
    gamma: float = Field(default=1.0, ge=0, le=1, description="Discount of a later token's reward.")
    lam: float = Field(
        default=0.95, ge=0, le=1, description="Advantages: 0 trusts the values, 1 the rewards alone."
    )


class DPOConfig(JudgedConfig):
    """Direct preference optimization of pairs."""

    kind: Literal["dpo"] = Field(
        default="dpo",
        description="Method: ppo, which draws answers and follows a reward, or dpo, which learns from pairs.",
        json_schema_extra=flag("--method", "NAME"),
    )
    beta: float = Field(
        default=0.1,
        gt=0,
        description="How dear it is to leave the base.",
        json_schema_extra=flag("--beta", "BETA"),
    )
    ends: bool = Field(
        default=True, description="Whether an answer ends its document, so that its end is learned as well."
    )


class AlignTrainConfig(LoopConfig):
    """How long, and in what pieces."""

    seed: int = Field(
        default=0,
        ge=0,
        description="Random seed of the order of openings or pairs, and of the answers that are drawn.",
        json_schema_extra=flag("--seed", "N"),
    )
    epochs: int | None = Field(
        default=None,
        ge=1,
        description="Number of passes over the openings or pairs. [default: 1 of dpo]",
        json_schema_extra=flag("--epochs", "N"),
    )
    max_steps: int | None = Field(
        default=None,
        ge=1,
        description="Number of steps. [default: 100 of ppo]",
        json_schema_extra=flag("--steps", "N"),
    )
    batch_size: int = Field(
        default=256,
        ge=1,
        description="Number of openings or pairs of a step. [default: 256 of ppo, 32 of dpo]",
        json_schema_extra=flag("--batch-size", "N"),
    )
    ema: float = Field(
        default=0.0,
        ge=0,
        lt=1,
        description="Decay of the exponential moving average of the weights; 0 for none; of dpo alone.",
    )
    patience: int = Field(default=0, ge=0, description="Not of an alignment, which keeps its last weights.")
    evaluate_every: int = Field(
        default=0, ge=0, description="Not of an alignment, which is judged when it has ended."
    )
    save_every: int = Field(
        default=10,
        ge=1,
        description="Number of steps between saved states.",
        json_schema_extra=flag("--save-every", "N"),
    )
    log_every: int = Field(default=1, ge=1, description="Number of steps between lines of metrics.jsonl.")


# By method.
ALIGN_TASKS: dict[str, type[JudgedConfig]] = {
    get_args(section.model_fields["kind"].annotation)[0]: section for section in (PPOConfig, DPOConfig)
}


class AlignConfig(Written):
    """An alignment."""

    base: str = Field(default="", description="Run directory of the language model to align.")
    base_sha256: str | None = Field(
        default=None, description="Hash of that run's manifest; senti align writes it."
    )
    reward_sha256: str | None = Field(
        default=None, description="Hash of the manifest of the reward's run; senti align writes it."
    )
    data: AlignDataConfig
    task: Annotated[SerializeAsAny[PPOConfig | DPOConfig], Field(discriminator="kind")]
    optim: OptimConfig
    train: AlignTrainConfig
