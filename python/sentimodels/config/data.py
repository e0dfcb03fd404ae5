"""`DataConfig`, the section `[data]`: what is read, and how texts become ids."""

from typing import Literal

from pydantic import Field

from .section import (
    Exclude,
    Header,
    MaxLineBytes,
    Section,
    Separator,
    TableFormat,
    TextColumn,
    TextEncoding,
    flag,
)

__all__ = ["DataConfig", "Leaks", "Long"]

Long = Literal["truncate", "head-tail", "windows"]
Leaks = Literal["tell", "drop", "fail"]
Unlabelled = Literal["error", "drop"]
Empty = Literal["keep", "drop"]


class DataConfig(Section):
    """What is read, and how texts become ids."""

    train: str = Field(default="", description="File or folder of training texts.")
    valid: str | None = Field(
        default=None,
        description="File of validation texts, which decide when to stop. [default: hold out a share of "
        "the training rows]",
        json_schema_extra=flag("--valid", "FILE"),
    )
    test: str | None = Field(
        default=None,
        description="File of test texts, scored once training has ended.",
        json_schema_extra=flag("--test", "FILE"),
    )
    format: TableFormat = None
    text_column: TextColumn = None
    label_column: str | None = Field(
        default=None,
        description="Column that holds the labels. [default: guessed if only one column fits]",
        json_schema_extra=flag("--label-column", "NAME"),
    )
    group_column: str | None = Field(
        default=None,
        description="Column that names the group of a row, such as a sentence id; groups are never split "
        "between parts. [default: SentenceId, group or group_id, if there is one]",
        json_schema_extra=flag("--group-column", "NAME"),
    )
    where: str | None = Field(
        default=None,
        description="Train only on rows where a column has this value, such as split=train. [default: all "
        "rows that --valid-where and --test-where do not choose]",
        json_schema_extra=flag("--where", "COLUMN=VALUE"),
    )
    valid_where: str | None = Field(
        default=None,
        description="Validate only on rows where a column has this value, such as split=dev; rows of the "
        "training file if --valid is not given.",
        json_schema_extra=flag("--valid-where", "COLUMN=VALUE"),
    )
    test_where: str | None = Field(
        default=None,
        description="Test only on rows where a column has this value, such as split=test; rows of the "
        "training file if --test is not given.",
        json_schema_extra=flag("--test-where", "COLUMN=VALUE"),
    )
    encoding: TextEncoding = None
    separator: Separator = None
    header: Header = None
    max_line_bytes: MaxLineBytes = None
    exclude: Exclude = None
    limit: int | None = Field(
        default=None,
        ge=1,
        description="Maximum number of training rows, drawn from the whole file, each label with its share. "
        "[default: all]",
        json_schema_extra=flag("--limit", "N"),
    )
    skip: int = Field(
        default=0,
        ge=0,
        description="Number of training rows to skip at the beginning of the file.",
        json_schema_extra=flag("--skip", "N"),
    )
    clean: bool = Field(
        default=False, description="Replace <br /> tags with a space.", json_schema_extra=flag("--clean")
    )
    unescape: bool = Field(
        default=False,
        description="Undo treebank escapes: -LRB- becomes (, \\/ becomes /.",
        json_schema_extra=flag("--unescape"),
    )
    valid_share: float = Field(
        default=0.1,
        ge=0,
        lt=1,
        description="Share of the training rows held out for validation if there is no validation file.",
        json_schema_extra=flag("--valid-share", "SHARE"),
    )
    test_share: float | None = Field(
        default=None,
        ge=0,
        lt=1,
        description="Share of the training rows held out for testing if there is no test file. [default: "
        "0.1 of 10,000 rows or more; 0 of fewer rows or with a validation file]",
        json_schema_extra=flag("--test-share", "SHARE"),
    )
    folds: int | None = Field(
        default=None,
        ge=2,
        description="Cross-validation: train N runs, each tested on the fold that it leaves out. [default: "
        "one run, no folds]",
        json_schema_extra=flag("--folds", "N"),
    )
    fold: int | None = Field(
        default=None, ge=0, description="Index of the fold that this run is tested on, counted from 0."
    )
    unlabelled: Unlabelled = Field(
        default="error",
        description="What is done with rows without label: they are an error, or left out.",
        json_schema_extra=flag("--unlabelled", "error|drop"),
    )
    empty: Empty = Field(
        default="keep",
        description="What is done with rows whose text is empty: they are kept, or left out.",
        json_schema_extra=flag("--empty", "keep|drop"),
    )
    leaks: Leaks = Field(
        default="tell",
        description="What to do with training texts that also occur in the validation or test part, ignoring "
        "case and spacing: tell (report them), drop (remove them from training) or fail (stop).",
        json_schema_extra=flag("--leaks", "tell|drop|fail"),
    )
    split_seed: int = Field(
        default=42, ge=0, description="Random seed of the split into parts, and of the folds."
    )
    tokenizer: str | None = Field(
        default=None,
        description="Tokenizer file. [default: build a vocabulary from the training texts]",
        json_schema_extra=flag("--tokenizer", "FILE"),
    )
    vocab_size: int = Field(
        default=16_000,
        ge=257,
        description="Maximum size of the vocabulary built from the training texts, in tokens.",
    )
    tokenizer_model: Literal["words", "bpe", "wordpiece", "unigram"] = Field(
        default="words",
        description="Vocabulary to build if there is no tokenizer file: words (unknown words are "
        "composed from character n-grams), or the subwords of bpe, wordpiece or unigram.",
    )
    pre_tokenizer: str | None = Field(
        default=None,
        description="Pre-tokenizer of a tokenizer trained here. [default: the usual one of its model]",
    )
    normalize: bool | None = Field(
        default=None,
        description="Read texts that look the same as the same: compose accents, leave out invisible "
        "characters, read typographic apostrophes, quotes and blanks as those of the keyboard. [default: "
        "true for a vocabulary built here, false for a tokenizer file]",
    )
    lowercase: bool | None = Field(
        default=None,
        description="Lowercase the texts. [default: true for a vocabulary built here, false for a "
        "tokenizer file]",
    )
    max_tokens: int = Field(
        default=256,
        ge=1,
        description="Maximum length of a text, in tokens; data.long says how longer texts are cut.",
        json_schema_extra=flag("--max-len", "N"),
    )
    long: Long = Field(
        default="truncate",
        description="How to cut texts longer than max_tokens: truncate (keep the beginning), head-tail (keep "
        "the beginning and the end) or windows (keep all, as several rows).",
    )
    stride: int = Field(
        default=0, ge=0, description="Number of tokens that neighbouring windows share, if long is windows."
    )
    vectors: str | None = Field(
        default=None,
        description="File of word vectors, in the text format of GloVe, word2vec or fastText, to initialise "
        "the embeddings with; the model is as wide as they are, unless model.d_model is given.",
        json_schema_extra=flag("--vectors", "FILE"),
    )
