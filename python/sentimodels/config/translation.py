"""`TranslationConfig` = data + model + task + optim + train of a translation model, written as TOML.

The architecture is `seq2seq`, an encoder and a decoder, or a causal one, which learns to continue a source
and a marker with the target.
"""

from typing import ClassVar, Literal

from pydantic import Field, SerializeAsAny, field_validator

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
from .train import LoopConfig, OptimConfig, TrainingPlan

__all__ = [
    "BleuTokenizer", "ParallelConfig", "Seq2SeqConfig", "TranslationConfig", "TranslationTrainConfig",
]  # fmt: skip

# Sacrebleu's tokenizers that need no download.
BleuTokenizer = Literal["auto", "13a", "intl", "zh", "ja-mecab", "ko-mecab", "char", "none"]


class ParallelConfig(Section):
    """The input, and how it becomes ids."""

    panel: ClassVar[str] = "Input"

    train: tuple[str, ...] = Field(
        default=(),
        description="Training pairs: a file of sources and one of targets, line by line, or one table.",
    )
    valid: tuple[str, ...] = Field(
        default=(), description="Validation pairs, in the same form. [default: a part of the training pairs]"
    )
    source_column: str | None = Field(
        default=None,
        description="Column that holds the sources; required if the pairs are one table.",
        json_schema_extra=flag("--source-column", "NAME", panel="Options"),
    )
    target_column: str | None = Field(
        default=None,
        description="Column that holds the targets; required if the pairs are one table.",
        json_schema_extra=flag("--target-column", "NAME", panel="Options"),
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
        description="Maximum number of training pairs to read. [default: all]",
        json_schema_extra=flag("--limit", "N"),
    )
    tokenizer: str | None = Field(
        default=None,
        description="Tokenizer file. [default: train one on both sides]",
        json_schema_extra=flag("--tokenizer", "FILE", panel="Model"),
    )
    tokenizer_model: Literal["bpe", "unigram"] = Field(
        default="bpe", description="Tokenizer to train if no file is given: bpe or unigram."
    )
    vocab_size: int = Field(
        default=8_000,
        ge=257,
        description="Vocabulary size of a tokenizer trained here, in tokens.",
        json_schema_extra=flag("--vocab", "N", panel="Model"),
    )
    end: str | None = Field(
        default=None,
        description="Special token that begins and ends a text. [default: <|endoftext|>, </s>, [SEP], ... "
        "if the tokenizer has one; else </s> is added]",
    )
    max_tokens: int = Field(
        default=128,
        ge=1,
        description="Maximum length of either side of a training pair, in tokens; longer pairs are left out.",
        json_schema_extra=flag("--max-tokens", "N", panel="Model"),
    )
    valid_share: float = Field(
        default=0.05,
        gt=0,
        lt=1,
        description="Share of the pairs held out for validation if no validation pairs are given.",
    )


class Seq2SeqConfig(Section):
    """A target for each source."""

    kind: Literal["seq2seq"] = Field(default="seq2seq", description="Task to train for.")
    label_smoothing: float = Field(
        default=0.1,
        ge=0,
        lt=1,
        description="Label smoothing: share of each token's probability that is spread evenly over all "
        "tokens in training; 0 for none.",
        json_schema_extra=flag("--label-smoothing", "SHARE"),
    )
    prompt: str = Field(
        default="{source}\nanswer:",
        description="Prompt that a causal model continues with the target; the source replaces {source}.",
    )
    tied: bool = Field(
        default=True,
        description="Whether embedding and output head of a causal model share one weight matrix.",
    )
    monitor: Literal["loss", "bleu"] = Field(
        default="loss",
        description="Validation score that decides which weights are kept: loss or bleu (of greedy "
        "translations).",
        json_schema_extra=flag("--monitor", "NAME", panel="Validation and test"),
    )
    bleu_tokenizer: BleuTokenizer = Field(
        default="auto",
        description="Tokenizer of sacrebleu that cuts texts into words for BLEU: auto (zh, ja-mecab, "
        "ko-mecab or char for Korean and scripts without spaces, else 13a), or its name.",
        json_schema_extra=flag("--bleu-tokenizer", "NAME", panel="Validation and test"),
    )
    beam: int = Field(
        default=5,
        ge=1,
        description="Beam width: number of partial translations kept at each step of the search; 1 for "
        "greedy search.",
    )
    norm: Literal["wu", "mean"] = Field(
        default="wu",
        description="Length norm that log-probabilities are divided by: wu, ((5 + L) / 6)^alpha, or mean, "
        "L^alpha, for L tokens.",
    )
    alpha: float = Field(
        default=1.0,
        ge=0,
        le=10,
        description="Exponent of the length norm; larger values favour longer translations.",
    )
    length_ratio: float = Field(
        default=2.0,
        gt=0,
        description="Maximum number of tokens of a translation for each token of its source; length_extra is "
        "added.",
    )
    length_extra: int = Field(
        default=10,
        ge=1,
        description="Number of tokens that a translation may have beyond length_ratio times its source.",
    )

    @field_validator("prompt")
    @classmethod
    def _with_source(cls, prompt: str) -> str:
        if prompt.count("{source}") != 1:
            raise ValueError("expected {source} once, where the source goes")
        return prompt


class TranslationTrainConfig(LoopConfig):
    """How long and on what."""

    init_from: str | None = Field(
        default=None,
        description="Run directory of a causal language model or a translation model to start from, with its "
        "size and tokenizer. [default: random weights]",
        json_schema_extra=flag("--init", "RUN", panel="Model"),
    )
    epochs: int = Field(
        default=20,
        ge=1,
        description="Number of passes over the training pairs.",
        json_schema_extra=flag("--epochs", "N", panel="Options"),
    )
    max_steps: int | None = Field(
        default=None,
        ge=1,
        description="Maximum number of steps. [default: no limit]",
        json_schema_extra=flag("--steps", "N", panel="Options"),
    )
    batch_tokens: int = Field(
        default=4_096,
        ge=1,
        description="Number of tokens in a batch, of sources and targets together, padding included.",
        json_schema_extra=flag("--batch-tokens", "N"),
    )
    batch_size: int | None = Field(
        default=None, description="Not used: batch_tokens says how much a batch holds."
    )
    patience: int = Field(
        default=0,
        ge=0,
        description="Stop after N evaluations without improvement; 0 for never.",
        json_schema_extra=flag("--patience", "N"),
    )

    @field_validator("batch_size")
    @classmethod
    def _by_tokens(cls, size: int | None) -> int | None:
        if size is not None:
            raise ValueError("batches of pairs are by tokens: set batch_tokens")
        return size

    def plan(self, n_batches: int) -> TrainingPlan:
        """Returns the steps of a run whose epochs have so many batches."""
        steps = self.epochs * -(-n_batches // self.accumulate)
        return TrainingPlan(self.batch_tokens, n_batches, min(steps, self.max_steps or steps))


class TranslationConfig(Written):
    """A run of a translation model."""

    arch: str = Field(
        default="seq2seq",
        description="Architecture: seq2seq (encoder and decoder) or a causal model that continues a prompt, "
        "such as gpt, mamba or lstm.",
        json_schema_extra=flag("--arch", "NAME"),
    )
    preset: str | None = Field(
        default=None,
        description="Size of a causal model, not of seq2seq: nano, micro, tiny, ... [default: tiny]",
        json_schema_extra=flag("--preset", "SIZE"),
    )
    data: ParallelConfig
    model: SerializeAsAny[Section]
    task: Seq2SeqConfig
    optim: OptimConfig
    train: TranslationTrainConfig
