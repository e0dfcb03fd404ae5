"""`DataConfig`, the section `[data]`: what is read, and how texts become ids."""

from typing import Literal

from pydantic import Field

from .section import Section

__all__ = ["DataConfig", "Leaks", "Long"]

Long = Literal["truncate", "head-tail", "windows"]
Leaks = Literal["tell", "drop", "fail"]


class DataConfig(Section):
    """What is read, and how texts become ids."""

    train: str = Field(default="", description="File or folder of the training texts.")
    valid: str | None = Field(
        default=None, description="File to stop on; without it a share of train is held out."
    )
    test: str | None = Field(default=None, description="File to report on at the end.")
    format: str | None = Field(
        default=None, description="Reader, when the name does not tell: csv, jsonl, phrases, ..."
    )
    text_column: str | None = Field(default=None, description="Column of the text; guessed when unambiguous.")
    label_column: str | None = Field(
        default=None, description="Column of the label; guessed when unambiguous."
    )
    group_column: str | None = Field(
        default=None, description="Column whose rows must not be split, as a sentence id."
    )
    where: str | None = Field(default=None, description="Training rows kept, as in split=train.")
    valid_where: str | None = Field(
        default=None, description="Validation rows kept, as in split=dev; of train without a valid file."
    )
    test_where: str | None = Field(
        default=None, description="Test rows kept, as in split=test; of train without a test file."
    )
    encoding: str | None = Field(default=None, description="Encoding of the files; UTF-8 without it.")
    max_line_bytes: int | None = Field(
        default=None, ge=1, description="Longest line or row; 2^28 without it."
    )
    limit: int | None = Field(default=None, ge=1, description="Training rows read at most.")
    skip: int = Field(default=0, ge=0, description="Training rows left out at the beginning.")
    clean: bool = Field(default=False, description="Write <br /> as a space.")
    unescape: bool = Field(default=False, description="Undo the escapes of treebanks, as in -LRB-.")
    valid_share: float = Field(
        default=0.1, ge=0, lt=1, description="Share held out when there is no valid file."
    )
    leaks: Leaks = Field(
        default="tell",
        description="Training texts that are in valid or test too, but for case and spacing: tell of them, "
        "drop them from training, or fail.",
    )
    split_seed: int = Field(default=42, ge=0, description="Seed of that split.")
    tokenizer: str | None = Field(
        default=None, description="Tokenizer file; without it one is trained from train."
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
    max_tokens: int = Field(default=256, ge=1, description="Longest row a model sees, in tokens.")
    long: Long = Field(default="truncate", description="Longer texts: truncate, head-tail or windows.")
    stride: int = Field(default=0, ge=0, description="Tokens that neighbouring windows share.")
    vectors: str | None = Field(
        default=None, description="Word vectors (GloVe text) that embeddings start from."
    )
