"""`DataConfig`, the section `[data]`: what is read, and how texts become ids."""

from typing import Literal

from pydantic import Field

from .section import Section, flag

__all__ = ["DataConfig", "Leaks", "Long"]

Long = Literal["truncate", "head-tail", "windows"]
Leaks = Literal["tell", "drop", "fail"]


class DataConfig(Section):
    """What is read, and how texts become ids."""

    train: str = Field(default="", description="File or folder of the training texts.")
    valid: str | None = Field(
        default=None,
        description="File of validation texts, to stop on; without it a share of train is held out.",
        json_schema_extra=flag("--valid", "FILE"),
    )
    test: str | None = Field(
        default=None,
        description="File of test texts, scored at the end.",
        json_schema_extra=flag("--test", "FILE"),
    )
    format: str | None = Field(
        default=None,
        description="Reader, when the name does not tell: csv, jsonl, phrases, ...",
        json_schema_extra=flag("--format", "NAME"),
    )
    text_column: str | None = Field(
        default=None,
        description="Column of the text; guessed when unambiguous.",
        json_schema_extra=flag("--text-column", "NAME"),
    )
    label_column: str | None = Field(
        default=None,
        description="Column of the label; guessed when unambiguous.",
        json_schema_extra=flag("--label-column", "NAME"),
    )
    group_column: str | None = Field(
        default=None,
        description="Column whose rows must not be split, as a sentence id.",
        json_schema_extra=flag("--group-column", "NAME"),
    )
    where: str | None = Field(
        default=None,
        description="Keep training rows where a column has a value, as in split=train.",
        json_schema_extra=flag("--where", "COLUMN=VALUE"),
    )
    valid_where: str | None = Field(
        default=None,
        description="Validation rows kept, as in split=dev; of train without a valid file.",
        json_schema_extra=flag("--valid-where", "COLUMN=VALUE"),
    )
    test_where: str | None = Field(
        default=None,
        description="Test rows kept, as in split=test; of train without a test file.",
        json_schema_extra=flag("--test-where", "COLUMN=VALUE"),
    )
    encoding: str | None = Field(
        default=None,
        description="Encoding of the files; UTF-8 without it.",
        json_schema_extra=flag("--encoding", "NAME"),
    )
    max_line_bytes: int | None = Field(
        default=None,
        ge=1,
        description="Longest line or row; 256M without it.",
        json_schema_extra=flag("--max-line-bytes", "SIZE"),
    )
    limit: int | None = Field(
        default=None, ge=1, description="Training rows read at most.", json_schema_extra=flag("--limit")
    )
    skip: int = Field(
        default=0,
        ge=0,
        description="Training rows left out at the beginning.",
        json_schema_extra=flag("--skip"),
    )
    clean: bool = Field(
        default=False, description="Write <br /> as a space.", json_schema_extra=flag("--clean")
    )
    unescape: bool = Field(
        default=False,
        description="Undo the escapes of treebanks, as in -LRB-.",
        json_schema_extra=flag("--unescape"),
    )
    valid_share: float = Field(
        default=0.1, ge=0, lt=1, description="Share held out when there is no valid file."
    )
    test_share: float | None = Field(
        default=None,
        ge=0,
        lt=1,
        description="Share held out to judge on when there is no test file; without it 0.1 of 10,000 rows "
        "or more, and none of fewer rows or with a valid file, whose halves then judge each other.",
        json_schema_extra=flag("--test-share", "SHARE"),
    )
    folds: int | None = Field(
        default=None,
        ge=2,
        description="Cross-validation: train N runs, each tested on the rows that it leaves out.",
        json_schema_extra=flag("--folds", "N"),
    )
    fold: int | None = Field(
        default=None, ge=0, description="Fold, from 0, that is the test part of this run."
    )
    leaks: Leaks = Field(
        default="tell",
        description="Training texts that are in valid or test too, but for case and spacing: tell of them, "
        "drop them from training, or fail.",
        json_schema_extra=flag("--leaks", "tell|drop|fail"),
    )
    split_seed: int = Field(default=42, ge=0, description="Seed of that split, and of the folds.")
    tokenizer: str | None = Field(
        default=None,
        description="Tokenizer file; without it one is trained from train.",
        json_schema_extra=flag("--tokenizer", "FILE"),
    )
    vocab_size: int = Field(
        default=16_000,
        ge=257,
        description="Size of a tokenizer trained here, at most; of words, the most frequent.",
    )
    tokenizer_model: Literal["words", "bpe", "wordpiece", "unigram"] = Field(
        default="words",
        description="What is made here without a tokenizer: words, whole ones, any other by its character "
        "n-grams; or a tokenizer of subwords: bpe, wordpiece, unigram.",
    )
    pre_tokenizer: str | None = Field(
        default=None, description="Where a tokenizer trained here cuts text; without it as suits its model."
    )
    lowercase: bool | None = Field(
        default=None,
        description="Whether texts are lower-cased; by default only for a tokenizer trained here.",
    )
    max_tokens: int = Field(
        default=256,
        ge=1,
        description="Longest row a model sees, in tokens.",
        json_schema_extra=flag("--max-len"),
    )
    long: Long = Field(default="truncate", description="Longer texts: truncate, head-tail or windows.")
    stride: int = Field(default=0, ge=0, description="Tokens that neighbouring windows share.")
    vectors: str | None = Field(
        default=None,
        description="Word vectors (GloVe text) that embeddings start from.",
        json_schema_extra=flag("--vectors", "FILE"),
    )
