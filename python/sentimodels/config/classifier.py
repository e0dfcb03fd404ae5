"""The configuration of a classifier: `RunConfig` = data + model + task + optim + train, written as TOML.

`DataConfig` has the input and how texts become ids. The section `[model]` sits in the file of the
architecture, `[task]` in `task.py`, `[optim]` and `[train]` in `train.py`.
"""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, SerializeAsAny

from .section import (
    Exclude,
    Header,
    MaxLineBytes,
    Section,
    Separator,
    TableFormat,
    TextColumn,
    TextEncoding,
    Written,
    flag,
)
from .task import ByKind, TaskSection
from .train import OptimConfig, TrainConfig

__all__ = [
    "AUTO",
    "DataConfig",
    "Leaks",
    "Long",
    "RunConfig",
    "TaskConfig",
]

Long = Literal["truncate", "head-tail", "windows"]
Leaks = Literal["tell", "drop", "fail"]
Unlabelled = Literal["error", "drop"]
Empty = Literal["keep", "drop"]


class DataConfig(Section):
    """The input, and how texts become ids."""

    panel: ClassVar[str] = "Input"

    train: str = Field(default="", description="File or folder of training texts.")
    valid: str | None = Field(
        default=None,
        description="File of validation texts, which decide when to stop. [default: hold out a share of "
        "the training rows]",
        json_schema_extra=flag("--valid", "FILE", panel="Options"),
    )
    test: str | None = Field(
        default=None,
        description="File of test texts, scored once training has ended.",
        json_schema_extra=flag("--test", "FILE", panel="Options"),
    )
    format: TableFormat = None
    text_column: TextColumn = None
    label_column: str | None = Field(
        default=None,
        description="Column that holds the labels. [default: guessed if only one column fits]",
        json_schema_extra=flag("--label-column", "NAME", panel="Options"),
    )
    label_separator: str | None = Field(
        default=None,
        description="Separator between the labels of a cell, such as '|', for texts with several labels "
        "(task multilabel); json for lists, none if a cell is one label, whatever it holds. [default: "
        "recognised with --task multilabel]",
        json_schema_extra=flag("--label-separator", "CHAR"),
    )
    label_columns: tuple[str, ...] | None = Field(
        default=None,
        description="Columns of 0 and 1, one for each label, as in joy,anger, for texts with several labels "
        "(task multilabel).",
        json_schema_extra=flag("--label-columns", "NAMES"),
    )
    label_order: tuple[str, ...] | None = Field(
        default=None,
        min_length=2,
        description="Order of the labels, the lowest first, as in bad,fair,good (task ordinal); a label with "
        "a comma in double quotes. [default: that of numbers]",
        json_schema_extra=flag("--label-order", "NAMES"),
    )
    group_column: str | None = Field(
        default=None,
        description="Column that names the group of a row, such as a sentence id; groups are never split "
        "between parts. [default: SentenceId, group or group_id, if there is one]",
        json_schema_extra=flag("--group-column", "NAME", panel="Validation and test"),
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
        json_schema_extra=flag("--valid-where", "COLUMN=VALUE", panel="Validation and test"),
    )
    test_where: str | None = Field(
        default=None,
        description="Test only on rows where a column has this value, such as split=test; rows of the "
        "training file if --test is not given.",
        json_schema_extra=flag("--test-where", "COLUMN=VALUE", panel="Validation and test"),
    )
    encoding: TextEncoding = None
    separator: Separator = None
    header: Header = None
    max_line_bytes: MaxLineBytes = None
    exclude: Exclude = None
    drop_suspects: str | None = Field(
        default=None,
        description="Train without the rows of this file, which senti data suspects -o writes. Test rows "
        "stay; "
        "and where they judge, a run on all rows is trained as well, to print what dropping changes on clean "
        "ones.",
        json_schema_extra=flag("--drop-suspects", "FILE"),
    )
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
        json_schema_extra=flag("--valid-share", "SHARE", panel="Validation and test"),
    )
    test_share: float | None = Field(
        default=None,
        ge=0,
        lt=1,
        description="Share of the training rows held out for testing if there is no test file. [default: "
        "0.1 of 10,000 rows or more; 0 of fewer rows or with a validation file]",
        json_schema_extra=flag("--test-share", "SHARE", panel="Validation and test"),
    )
    folds: int | None = Field(
        default=None,
        ge=2,
        description="Cross-validation: train N runs, each tested on the fold that it leaves out. [default: "
        "one run, no folds]",
        json_schema_extra=flag("--folds", "N", panel="Validation and test"),
    )
    fold: int | None = Field(
        default=None, ge=0, description="Index of the fold that this run is tested on, counted from 0."
    )
    unlabelled: Unlabelled = Field(
        default="error",
        description="What to do with rows without label: stop with an error, or drop them.",
        json_schema_extra=flag("--unlabelled", "error|drop"),
    )
    empty: Empty = Field(
        default="keep",
        description="What to do with rows whose text is empty: keep them, or drop them.",
        json_schema_extra=flag("--empty", "keep|drop"),
    )
    leaks: Leaks = Field(
        default="tell",
        description="What to do with training texts that also occur in the validation or test part, ignoring "
        "case and spacing: tell (report them), drop (remove them from training) or fail (stop).",
        json_schema_extra=flag("--leaks", "tell|drop|fail", panel="Validation and test"),
    )
    split_seed: int = Field(
        default=42, ge=0, description="Random seed of the split into parts, and of the folds."
    )
    tokenizer: str | None = Field(
        default=None,
        description="Tokenizer file. [default: build a vocabulary from the training texts]",
        json_schema_extra=flag("--tokenizer", "FILE", panel="Model"),
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
        json_schema_extra=flag("--max-len", "N", panel="Model"),
    )
    long: Long = Field(
        default="truncate",
        description="How to cut texts longer than max_tokens: truncate (keep the beginning), head-tail (keep "
        "the beginning and the end) or windows (keep all, as several rows whose answers are averaged).",
        json_schema_extra=flag(
            "--windows",
            panel="Model",
            sets="windows",
            text="Read texts longer than --max-len in windows and average their answers. [default: only the "
            "beginning of such a text is read]",
        ),
    )
    stride: int = Field(
        default=0, ge=0, description="Number of tokens that neighbouring windows share, if long is windows."
    )
    vectors: str | None = Field(
        default=None,
        description="File of word vectors, in the text format of GloVe, word2vec or fastText, to initialise "
        "the embeddings with; the model is as wide as they are, unless model.d_model is given.",
        json_schema_extra=flag("--vectors", "FILE", panel="Model"),
    )


TaskConfig = Annotated[TaskSection, ByKind("classifier")]


# The architecture that is chosen by the texts.
AUTO = "auto"


class RunConfig(Written):
    """A run."""

    arch: str = Field(
        default=AUTO,
        description="Architecture: one that senti archs lists, auto (the one expected to do best within the "
        "budget) or hf:PATH (a model folder of Hugging Face transformers).",
        json_schema_extra=flag("--arch", "NAME"),
    )
    preset: str | None = Field(
        default=None,
        description="Size of the model, such as nano; settings of [model] override it. [default: that of the "
        "architecture]",
        json_schema_extra=flag("--preset", "SIZE"),
    )
    budget: float | None = Field(
        default=None,
        gt=0,
        description="CPU time for --arch auto, in seconds: it compares architectures by cross-validation and "
        "trains the best; the option also takes 5m or 2h. [default: 60s]",
        json_schema_extra=flag("--budget", "TIME"),
    )
    estimates: dict[str, float] = Field(
        default={},
        description="CPU time in seconds that --arch auto estimated for the architectures it tried; "
        "senti train writes it.",
    )
    accuracies: dict[str, float] = Field(
        default={},
        description="Accuracy in cross-validation on the training rows of the architectures that --arch auto "
        "compared; senti train writes it.",
    )
    data: DataConfig
    model: SerializeAsAny[Section]
    task: TaskConfig
    optim: OptimConfig
    train: TrainConfig

    def _top(self, *, comments: bool = False) -> dict[str, Any]:
        """Returns the keys above the sections; what arch auto settled only where it did."""
        top = super()._top(comments=comments)
        return top if self.estimates else {name: top[name] for name in ("arch", "preset") if name in top}
