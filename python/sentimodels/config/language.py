"""`LanguageConfig` = data + model + task + optim + train of a language model, written as TOML.

The sections `[model]` and `[optim]` are those of classifiers; the corpus, the objective and the length of
training have sections here.
"""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, SerializeAsAny

from .section import (
    Exclude,
    Header,
    MaxLineBytes,
    Section,
    Separator,
    TextColumn,
    TextEncoding,
    Written,
    flag,
)
from .task import ByKind, TaskSection
from .train import LoopConfig, OptimConfig, StartConfig

__all__ = [
    "CorpusConfig",
    "LanguageConfig",
    "PretrainConfig",
]


class CorpusConfig(Section):
    """The input, and how it becomes rows of ids."""

    panel: ClassVar[str] = "Input"

    corpus: tuple[str, ...] = Field(
        default=(), description="Files and folders of texts, or directories that sentitok encode wrote."
    )
    format: str | None = Field(
        default=None,
        description="What counts as a document: lines, paragraphs (ended by blank lines), text (the whole "
        "file), jsonl:FIELD, csv:COLUMN, tsv:COLUMN, parquet:COLUMN, or a format of labelled files. "
        "[default: by file name; lines for .txt]",
        json_schema_extra=flag("--format", "NAME"),
    )
    text_column: TextColumn = None
    encoding: TextEncoding = None
    separator: Separator = None
    header: Header = None
    max_line_bytes: MaxLineBytes = None
    exclude: Exclude = None
    limit: int | None = Field(
        default=None,
        ge=1,
        description="Maximum number of documents to read. [default: all]",
        json_schema_extra=flag("--limit", "N"),
    )
    tokenizer: str | None = Field(
        default=None,
        description="Tokenizer file; for an encoded corpus, the one it was encoded with. [default: train one "
        "on the corpus]",
        json_schema_extra=flag("--tokenizer", "FILE", panel="Options"),
    )
    vocab_size: int = Field(
        default=8_000,
        ge=257,
        description="Vocabulary size of a tokenizer trained here, in tokens.",
        json_schema_extra=flag("--vocab", "N", panel="Model"),
    )
    tokenizer_model: Literal["bpe", "wordpiece", "unigram"] | None = Field(
        default=None,
        description="Kind of tokenizer to train if no file is given: bpe, wordpiece or unigram. [default: "
        "bpe; wordpiece for masked tokens]",
        json_schema_extra=flag("--tokenizer-model", "NAME", panel="Model"),
    )
    end: str | None = Field(
        default=None,
        description="Special token that ends a document. [default: <|endoftext|>, </s>, [SEP], ... if the "
        "tokenizer has one; else <|endoftext|> is added]",
        json_schema_extra=flag("--end", "TOKEN", panel="Model"),
    )
    context: int = Field(
        default=256,
        ge=8,
        description="Tokens per training row, the context length.",
        json_schema_extra=flag("--context", "N", panel="Options"),
    )
    valid_share: float = Field(
        default=0.05,
        gt=0,
        lt=1,
        description="Share of the documents held out for validation, between 0 and 1.",
        json_schema_extra=flag("--valid-share", "SHARE", panel="Validation and test"),
    )
    valid_tokens: int = Field(
        default=200_000,
        ge=1,
        description="Number of validation tokens to score, from the beginning of the validation part; the "
        "last document is scored whole.",
        json_schema_extra=flag("--valid-tokens", "N", panel="Validation and test"),
    )
    split_seed: int = Field(default=42, ge=0, lt=1 << 63, description="Random seed of the split into parts.")


class PretrainConfig(LoopConfig, StartConfig):
    """How long and on what: the first budget that is reached ends the run."""

    tokens: int | None = Field(
        default=None,
        ge=1,
        description="Number of tokens to train on; the first of --tokens, --steps and --epochs to be reached "
        "ends the run. [default: that of the preset if none of the three is given]",
        json_schema_extra=flag("--tokens", "COUNT", panel="Options"),
    )
    max_steps: int | None = Field(
        default=None,
        ge=1,
        description="Number of optimizer steps. [default: no limit; see --tokens]",
        json_schema_extra=flag("--steps", "N", panel="Options"),
    )
    epochs: int | None = Field(
        default=None,
        ge=1,
        description="Number of passes over the training part. [default: no limit; see --tokens]",
        json_schema_extra=flag("--epochs", "N", panel="Options"),
    )
    batch_size: int | None = Field(
        default=None,
        ge=1,
        description="Number of rows in a batch. [default: that of the preset]",
        json_schema_extra=flag("--batch-size", "N"),
    )
    accumulate: int = Field(
        default=1,
        ge=1,
        description="Number of batches whose gradients are added up for one step.",
        json_schema_extra=flag("--accumulate", "N"),
    )
    ema: float = Field(
        default=0.0,
        ge=0,
        lt=1,
        description="Decay of the exponential moving average of the weights; 0 for none.",
    )
    evaluate_every: int = Field(
        default=500,
        ge=0,
        description="Number of steps between evaluations; 0 for once an epoch.",
        json_schema_extra=flag("--evaluate-every", "N"),
    )
    patience: int = Field(
        default=0,
        ge=0,
        description="Stop after N evaluations without improvement; 0 for never.",
        json_schema_extra=flag("--patience", "N"),
    )
    save_every: int = Field(
        default=0,
        ge=0,
        description="Number of steps between saved training states; 0 to save at each evaluation.",
        json_schema_extra=flag("--save-every", "N"),
    )
    parallel: Literal["ddp", "fsdp"] = Field(
        default="ddp",
        description="Training in several processes: ddp (each holds the whole model) or fsdp (each holds a "
        "part of its parameters, gradients and optimizer state, for models too large for one device).",
        json_schema_extra=flag("--parallel", "KIND", panel="Parallel work"),
    )
    compile: bool = Field(
        default=False,
        description="Compile the model with torch.compile. [default: no-compile]",
        json_schema_extra=flag("--compile/--no-compile"),
    )
    recompute: bool = Field(
        default=False,
        description="Activation checkpointing: recompute the activations inside blocks in the backward pass; "
        "less memory, a third more time. [default: no-recompute]",
        json_schema_extra=flag("--recompute/--no-recompute"),
    )

    def budget_of(self, stop: str) -> str:
        """Returns the budget that ended a completed run, or why a run stopped early."""
        return "tokens" if stop == "epochs" and self.tokens is not None else stop


class LanguageConfig(Written):
    """A run of a language model."""

    arch: str = Field(
        default="gpt",
        description="Architecture: gpt, linear, mamba, bert, encoder, lstm, ...; senti archs lists them.",
        json_schema_extra=flag("--arch", "NAME"),
    )
    preset: str | None = Field(
        default=None,
        description="Size of the model, with its batch size, learning rate and number of tokens: nano, "
        "micro, tiny, small, medium, large, x-large ... 5x-large; settings of a configuration file "
        "override it. [default: tiny]",
        json_schema_extra=flag("--preset", "SIZE"),
    )
    data: CorpusConfig
    model: SerializeAsAny[Section]
    task: Annotated[TaskSection, ByKind("language-model")]
    optim: OptimConfig
    train: PretrainConfig
