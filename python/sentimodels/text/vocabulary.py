"""`Vocabulary`: what a model needs to know of whatever turns texts into ids.

Subword tokenizers (`Subwords`, here), whole words (`open_vocabulary.py`) and bags of n-grams
(`words.py`, `hashed_ngrams.py`) all answer the same questions: how many ids there are, which
one is padding, which are special, what each token reads. Not for lengths and lower case
(`encoder.py`).
"""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from sentitok import Tokenizer

from .ngrams import NgramTable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

__all__ = ["Inputs", "Subwords", "TextReader", "Vocabulary", "as_saved"]

# What padding is called: BERT's, SentencePiece's and Llama's, GPT-NeoX's.
_PADDING = ("[PAD]", "<pad>", "<PAD>", "<|pad|>", "<|padding|>")


class TextReader(Protocol):
    """Encodes the texts of one call."""

    @property
    def unknown(self) -> Sequence[str]:
        """Words without an id of their own that were met; their ids come after all others."""

    @property
    def vocab_size(self) -> int:
        """Ids so far run below this."""

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the vocabulary."""

    def encode_batch(self, texts: Sequence[str], *, threads: int | None = None) -> Any:
        """Encodes many texts: `ids`, `row_offsets`, and the ids of a row by index."""

    def encode(self, text: str, *, max_tokens: int | None = None) -> Any:
        """Encodes one text: `ids`."""

    def windows(self, text: str, size: int, stride: int = 0) -> "Sequence[NDArray[np.uint32]]":
        """Cuts the ids of a text into rows."""


class Vocabulary(Protocol):
    """Ids and what they stand for."""

    @property
    def vocab_size(self) -> int:
        """Ids run below this, that of padding included."""

    @property
    def pad_id(self) -> int:
        """The id of padding, and of a text without tokens."""

    @property
    def special_ids(self) -> frozenset[int]:
        """Ids that stand for no text: padding, and tokens such as [CLS] and [MASK]."""

    @property
    def in_order(self) -> bool:
        """Whether ids are tokens in the order of the text, and not a bag of features."""

    @property
    def token_texts(self) -> list[str] | None:
        """What each id reads, "" for special ones; `None` for a bag."""

    def reader(self) -> TextReader:
        """Returns what encodes the texts of one call."""


class Subwords:
    """A `sentitok` tokenizer as a vocabulary.

    Its own padding token is used where it has one; else one more id follows its last.

    Args:
        tokenizer: the tokenizer.
    """

    in_order = True
    unknown: tuple[str, ...] = ()

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        special = {token.content: token.id for token in tokenizer.added_tokens if token.special}
        own = next((special[name] for name in _PADDING if name in special), None)
        self.pad_id = tokenizer.vocab_size if own is None else own
        self.vocab_size = tokenizer.vocab_size + (own is None)
        self.special_ids = frozenset({*special.values(), self.pad_id})
        self.fingerprint = tokenizer.fingerprint

    @cached_property
    def token_texts(self) -> list[str]:
        """What each token reads, without spaces around it; "" for special tokens and padding."""
        out = []
        for id in range(self.vocab_size):
            data = b"" if id in self.special_ids else self.tokenizer.id_to_bytes(id) or b""
            text = data.decode("utf-8", "replace")
            out.append(text.removeprefix("##").removesuffix("</w>").strip().strip("▁"))
        return out

    def reader(self) -> "Subwords":
        """Returns itself: no text has a word without an id."""
        return self

    def encode_batch(self, texts: Sequence[str], *, threads: int | None = None) -> Any:
        """Encodes many texts."""
        return self.tokenizer.encode_batch(list(texts), threads=threads)

    def encode(self, text: str, *, max_tokens: int | None = None) -> Any:
        """Encodes one text."""
        return self.tokenizer.encode(text, max_tokens=max_tokens)

    def windows(self, text: str, size: int, stride: int = 0) -> "Sequence[NDArray[np.uint32]]":
        """Cuts the ids of a text into rows of at most `size`, neighbours sharing `stride`."""
        return [row.ids for row in self.tokenizer.windows(text, size, stride)]


def as_saved(tokenizer: Tokenizer) -> Tokenizer:
    """Returns the tokenizer, saved and loaded again; warns of what may differ, as saving does.

    `tokenizer.json` has no room for some of what a tokenizer may know, such as the kinds of a Unigram's
    pieces. A model must read in training what it will read when it is loaded, so this is left out
    before, not after.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.json"
        tokenizer.save(path)
        return Tokenizer.from_file(path)


@dataclass(frozen=True)
class Inputs:
    """What a model is built for.

    They are not the texts themselves: an encoder (`encoder.py`) gives these facts once, before the first
    step.

    Attributes:
        vocab_size: ids run below this.
        n_classes: classes, for a head of classes.
        pad_id: the id of padding, whose vector is zero; `None`: none.
        n_ngrams: rows of the table of character n-grams; 0: tokens have none.
        vectors: a vector for each id (V, D) to start from, rows of zeros where there is none.
        grams: for a bag of n-grams, the ids that each id is also made of.
        n_words: for a bag of n-grams, where words end: ids from here on are n-grams.
    """

    vocab_size: int
    n_classes: int
    pad_id: int | None = None
    n_ngrams: int = 0
    vectors: "Tensor | None" = None
    grams: NgramTable | None = None
    n_words: int | None = None
