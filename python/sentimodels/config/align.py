"""`AlignConfig` = base + data + task + optim + train of an alignment, written as TOML.

`data` are openings to continue (`ppo`) or pairs of answers (`dpo`).
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from ..errors import ConfigError
from .section import (
    Exclude,
    Header,
    MaxLineBytes,
    Section,
    Separator,
    TableFormat,
    TextEncoding,
    Written,
    flag,
)
from .task import ByKind, TaskSection, choices
from .train import LoopConfig, OptimConfig

__all__ = [
    "ALIGN_OPTIM",
    "AlignConfig",
    "AlignDataConfig",
    "AlignTrainConfig",
    "DPOConfig",
    "JudgedConfig",
    "PPOConfig",
    "reward_weights",
]

# What `[optim]` of an alignment has, unless it is set.
ALIGN_OPTIM: dict[str, Any] = {
    "lr": 1e-4, "betas": [0.9, 0.95], "weight_decay": 0.0, "schedule": "linear", "warmup": 0.05,
    "min_lr_ratio": 0.1, "sparse_embeddings": False,
}  # fmt: skip


class AlignDataConfig(Section):
    """The input, and which part of it judges."""

    panel: ClassVar[str] = "Input"

    train: str = Field(
        default="",
        description="File of openings (lines, or a column of a table), or of pairs: a table, such as JSON "
        "lines, with columns prompt, chosen and rejected.",
    )
    held_out: str | None = Field(
        default=None,
        description="File of openings or pairs to evaluate on, before and after training. [default: a share "
        "of the training rows]",
        json_schema_extra=flag("--held-out", "FILE", panel="Options"),
    )
    text_column: str | None = Field(
        default=None,
        description="Column that holds the openings, if the file is a table. [default: guessed if only one "
        "column fits]",
        json_schema_extra=flag("--text-column", "NAME", panel="Options"),
    )
    prompt_column: str = Field(
        default="prompt",
        description="Column that holds the prompts of pairs.",
        json_schema_extra=flag("--prompt-column", "NAME"),
    )
    chosen_column: str = Field(
        default="chosen",
        description="Column that holds the chosen answers of pairs.",
        json_schema_extra=flag("--chosen-column", "NAME"),
    )
    rejected_column: str = Field(
        default="rejected",
        description="Column that holds the rejected answers of pairs.",
        json_schema_extra=flag("--rejected-column", "NAME"),
    )
    where: str | None = Field(
        default=None,
        description="Train only on rows where a column has this value, such as split=train. [default: all "
        "rows]",
        json_schema_extra=flag("--where", "COLUMN=VALUE"),
    )
    held_out_where: str | None = Field(
        default=None,
        description="Evaluate only on rows where a column has this value, such as split=test; rows of the "
        "training file if --held-out is not given.",
        json_schema_extra=flag("--held-out-where", "COLUMN=VALUE", panel="Validation and test"),
    )
    format: TableFormat = None
    encoding: TextEncoding = None
    separator: Separator = None
    header: Header = None
    max_line_bytes: MaxLineBytes = None
    exclude: Exclude = None
    limit: int | None = Field(
        default=None,
        ge=1,
        description="Maximum number of rows to read from each file. [default: all]",
        json_schema_extra=flag("--limit", "N"),
    )
    clean: bool = Field(
        default=False, description="Replace <br /> tags with a space.", json_schema_extra=flag("--clean")
    )
    opening_tokens: int = Field(
        default=16,
        ge=0,
        description="Number of tokens at the beginning of each text to use as its opening, with ppo; 0 for "
        "the whole text.",
        json_schema_extra=flag("--opening-tokens", "N"),
    )
    begin: bool = Field(
        default=False,
        description="Start each opening or prompt as a new document, with the end-of-document token before "
        "it.",
        json_schema_extra=flag("--begin"),
    )
    held_out_share: float = Field(
        default=0.1,
        gt=0,
        lt=1,
        description="Share of the training rows held out for evaluation if no other rows are given.",
    )
    n_held_out: int = Field(
        default=256,
        ge=2,
        description="Maximum number of openings or pairs to evaluate on.",
        json_schema_extra=flag("--judge", "N", panel="Validation and test"),
    )
    split_seed: int = Field(default=42, ge=0, description="Random seed of the choice of rows to evaluate on.")


class JudgedConfig(TaskSection):
    """Settings of both methods: answers, their rewards, and how far they may go."""

    reward_run: str | None = Field(
        default=None,
        description="Run directory of the classifier whose score is the reward; required by ppo, only "
        "reported by dpo.",
        json_schema_extra=flag("--reward-run", "RUN", panel="Options"),
    )
    reward: str | dict[str, float] | None = Field(
        default=None,
        description="Label whose score is the reward, such as pos, or a weighted sum of labels, such as "
        "3=1,4=2,0=-2; required with --reward-run.",
        json_schema_extra=flag("--reward", "LABEL", panel="Options"),
    )
    reward_value: Literal["log-odds", "probability"] = Field(
        default="log-odds",
        description="Score of a label with probability p: log-odds, which is log p - log (1 - p), or "
        "probability.",
        json_schema_extra=flag("--reward-value", "KIND", panel="Reward"),
    )
    max_new_tokens: int = Field(
        default=32,
        ge=1,
        description="Maximum number of tokens of a sampled answer.",
        json_schema_extra=flag("--max-new-tokens", "N", panel="Reward"),
    )
    max_kl: float = Field(
        default=10.0,
        gt=0,
        description="KL divergence from the base, in nats per answer, above which the report warns.",
        json_schema_extra=flag("--max-kl", "NATS", panel="Reward"),
    )
    min_distinct: float = Field(
        default=0.8,
        ge=0,
        le=1,
        description="Distinct-2 of the answers, as a share of that before alignment, below which the report "
        "warns.",
    )


class PPOConfig(JudgedConfig):
    """Proximal policy optimization of a reward."""

    kind: Literal["ppo"] = Field(
        default="ppo",
        description=f"Method: {choices('align')}.",
        json_schema_extra=flag("--method", "NAME", panel="Options"),
    )
    kl_coefficient: float = Field(
        default=0.2,
        gt=0,
        description="Initial weight of the KL penalty against the reference model, the base, in reward per "
        "nat.",
        json_schema_extra=flag("--kl-coefficient", "BETA", panel="Reward"),
    )
    kl_target: float = Field(
        default=6.0,
        gt=0,
        description="KL divergence that the adaptive penalty aims at, in nats per answer.",
        json_schema_extra=flag("--kl-target", "NATS", panel="Reward"),
    )
    kl_gain: float = Field(
        default=0.1,
        ge=0,
        lt=5,  # as an error counts for 0.2 at most, the weight stays above 0
        description="Gain of the adaptive KL penalty, how fast its weight changes; 0 keeps it constant.",
    )
    normalise: bool = Field(
        default=True,
        description="Shift and scale rewards by the mean and standard deviation of the first step's rewards.",
    )
    passes: int = Field(default=2, ge=1, description="Number of passes over the answers of each step.")
    mini_batch: int = Field(
        default=64, ge=1, description="Number of answers in a mini-batch, one update of the weights."
    )
    clip: float = Field(
        default=0.2,
        gt=0,
        description="Clip range of PPO: the probability ratio of new and old policy counts from 1 - clip to "
        "1 + clip.",
    )
    value_clip: float = Field(
        default=0.2,
        gt=0,
        description="Clip range of the value estimates around those made when the answers were sampled.",
    )
    value_coefficient: float = Field(default=0.5, ge=0, description="Weight of the value loss.")
    gamma: float = Field(default=1.0, ge=0, le=1, description="Discount factor of later tokens' rewards.")
    lam: float = Field(
        default=0.95,
        ge=0,
        le=1,
        description="Lambda of generalized advantage estimation: 0 trusts the value estimates, 1 the rewards "
        "alone.",
    )


class DPOConfig(JudgedConfig):
    """Direct preference optimization of pairs."""

    kind: Literal["dpo"] = Field(
        default="dpo",
        description=f"Method: {choices('align')}.",
        json_schema_extra=flag("--method", "NAME", panel="Options"),
    )
    beta: float = Field(
        default=0.1,
        gt=0,
        description="Weight of the KL penalty against the reference model, the base; larger values keep the "
        "model closer to it.",
        json_schema_extra=flag("--beta", "BETA"),
    )
    ends: bool = Field(
        default=True,
        description="Whether to add the end-of-document token to answers, so that the model learns where "
        "they end.",
    )


class AlignTrainConfig(LoopConfig):
    """The length of training, and its batches."""

    seed: int = Field(
        default=0,
        ge=0,
        lt=1 << 32,  # answers are drawn by it and the step, in 64 bits
        description="Random seed of the order of openings or pairs, and of the sampled answers.",
        json_schema_extra=flag("--seed", "N"),
    )
    epochs: int | None = Field(
        default=None,
        ge=1,
        description="Number of passes over the openings or pairs. [default: 1 with dpo if --steps is not "
        "given, else no limit]",
        json_schema_extra=flag("--epochs", "N", panel="Options"),
    )
    max_steps: int | None = Field(
        default=None,
        ge=1,
        description="Maximum number of steps. [default: 100 with ppo if --epochs is not given, else no "
        "limit]",
        json_schema_extra=flag("--steps", "N", panel="Options"),
    )
    batch_size: int = Field(
        default=256,
        ge=1,
        description="Number of openings or pairs in a batch. [default: 256 with ppo, 32 with dpo]",
        json_schema_extra=flag("--batch-size", "N"),
    )
    ema: float = Field(
        default=0.0,
        ge=0,
        lt=1,
        description="Decay of the exponential moving average of the weights, with dpo only; 0 for none.",
    )
    patience: int = Field(default=0, ge=0, description="Not used: an alignment keeps its last weights.")
    evaluate_every: int = Field(
        default=0, ge=0, description="Not used: an alignment is evaluated when it has ended."
    )
    save_every: int = Field(
        default=10,
        ge=1,
        description="Number of steps between saved training states.",
        json_schema_extra=flag("--save-every", "N"),
    )
    log_every: int = Field(default=1, ge=1, description="Number of steps between lines of metrics.jsonl.")


class AlignConfig(Written):
    """An alignment."""

    base: str = Field(default="", description="Run directory of the language model to align.")
    base_sha256: str | None = Field(
        default=None, description="SHA-256 of the manifest of the run in base; senti align writes it."
    )
    reward_sha256: str | None = Field(
        default=None, description="SHA-256 of the manifest of reward_run; senti align writes it."
    )
    data: AlignDataConfig
    task: Annotated[JudgedConfig, ByKind("aligned-model")]
    optim: OptimConfig
    train: AlignTrainConfig


def reward_weights(reward: str | Mapping[str, float]) -> dict[str, float]:
    """Reads `pos` as a label, and `3=1,4=2` as labels with weights.

    Raises:
        ConfigError: if a weight is not a finite number.
    """
    if isinstance(reward, str):
        if "=" not in reward:
            return {reward: 1.0}
        weights: dict[str, float] = {}
        for part in reward.split(","):
            label, _, number = part.rpartition("=")
            try:
                weights[label.strip()] = float(number)
            except ValueError:
                raise ConfigError(
                    f"task.reward {reward!r}: {number.strip()!r} is not a weight; write LABEL, or "
                    "LABEL=WEIGHT,LABEL=WEIGHT, as in 3=1,4=2"
                ) from None
        reward = weights
    wrong = [label for label, weight in reward.items() if not abs(weight) < float("inf")]
    if wrong or not any(reward.values()):
        said = f"the weight of {wrong[0]!r} is not finite" if wrong else "no label has a weight but 0"
        raise ConfigError(f"task.reward: {said}; write LABEL=WEIGHT, as in 3=1,4=2")
    return dict(reward)
