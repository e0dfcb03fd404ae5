"""`Vocabulary`: the properties of an encoder that a model needs.

Subword tokenizers (`Subwords`), whole words (`OpenVocabulary`) and bags of n-grams (`words.py`) all
answer the same questions: how many ids there are, which one is padding, which are special, what each token
reads. Lengths and lower case are for `encoder.py`.
"""

import hashlib
import json
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from sentitok import PreTokenizer, Tokenizer

from ..errors import ConfigError
from .ngrams import NgramTable
from .words import WORD, IdBatch, IdRow, reading, saved

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

__all__ = ["Inputs", "OpenVocabulary", "Reader", "Subwords", "TextReader", "Vocabulary", "as_saved"]

# Names of the padding token: BERT's, SentencePiece's and Llama's, GPT-NeoX's.
_PADDING = ("[PAD]", "<pad>", "<PAD>", "<|pad|>", "<|padding|>")


class TextReader(Protocol):
    """Encodes the texts of one call."""

    @property
    def unknown(self) -> Sequence[str]:
        """Words without an id that were met; their ids are the highest."""

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
    """Ids and their texts."""

    @property
    def vocab_size(self) -> int:
        """Ids run below this, that of padding included."""

    @property
    def pad_id(self) -> int:
        """The id of padding, and of a text without tokens."""

    @property
    def special_ids(self) -> frozenset[int]:
        """Ids without text: padding, and tokens such as [CLS] and [MASK]."""

    @property
    def in_order(self) -> bool:
        """Whether ids are tokens in the order of the text, and not a bag of features."""

    @property
    def token_texts(self) -> list[str] | None:
        """The text of each id, "" for special ones; `None` for a bag."""

    def reader(self) -> TextReader:
        """Returns the encoder for the texts of one call."""


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
        """The text of each token, without spaces around it; "" for special tokens and padding."""
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
    """The inputs and outputs that a model is built for.

    They are not the texts themselves: an encoder (`encoder.py`) gives these facts once, before the first
    step.

    Attributes:
        vocab_size: ids run below this.
        n_classes: classes, for a head of classes.
        pad_id: the id of padding, whose vector is zero; `None`: none.
        n_ngrams: rows of the table of character n-grams; 0: there is no table.
        vectors: a vector for each id (V, D) to start from, rows of zeros where there is none.
        grams: for a bag of n-grams, the ids that each id is also made of.
        n_words: for a bag of n-grams, where words end: ids from here on are n-grams.
        ordered: whether the classes have an order: a text then has one score, cut into classes.
    """

    vocab_size: int
    n_classes: int
    pad_id: int | None = None
    n_ngrams: int = 0
    vectors: "Tensor | None" = None
    grams: NgramTable | None = None
    n_words: int | None = None
    ordered: bool = False

    @property
    def n_scores(self) -> int:
        """Scores that a text has: one for each class, or one alone where classes are cut from it."""
        return 1 if self.ordered else self.n_classes


_FORMAT = "sentimodels.open-vocabulary/1"


class OpenVocabulary:
    """The words that have ids, and how texts are cut.

    It is used where a run may have a subword tokenizer. `sentitok` cuts the texts; the most frequent words
    get ids, and one more is padding. A word without an id gets a temporary one, above the known ids,
    and `Encoded.unknown` holds its spelling, from whose character n-grams `NgramEmbedding` composes a
    vector (Bojanowski et al. 2017). So no word is broken into pieces that training never met. Not lossless.

    Words come first; the id after the last is that of padding.

    Args:
        words: the words; the place of one is its id.
        pre_tokenizer: the name of one of sentitok's, or `None` for `pattern`.
        pattern: regular expression of a word.
    """

    in_order = True

    def __init__(self, words: Sequence[str], pre_tokenizer: str | None = None, pattern: str = WORD) -> None:
        self.words = list(words)
        self.pre_tokenizer = pre_tokenizer
        self.pattern = pattern
        self._cut = PreTokenizer(pattern=pattern) if pre_tokenizer is None else PreTokenizer(pre_tokenizer)
        self.ids = {word: place for place, word in enumerate(self.words)}

    @classmethod
    def fit(cls, texts: Sequence[str], *, vocab_size: int, pre_tokenizer: str | None = None) -> Self:
        """Chooses the most frequent words of the texts; ties by spelling."""
        reader = cls([], pre_tokenizer)
        seen = Counter(word for text in texts for word in reader.cut(text))
        kept = sorted(seen, key=lambda word: (-seen[word], word))[:vocab_size]
        return cls(sorted(kept), pre_tokenizer)

    def places(self, text: str) -> list[tuple[int, int]]:
        """Returns where the words of a text begin and end, in characters."""
        spans = []
        for start, end in self._cut.split(text):
            piece = text[start:end]
            begin = start + len(piece) - len(piece.lstrip())
            if begin < end:
                spans.append((begin, start + len(piece.rstrip())))
        return spans

    def cut(self, text: str) -> list[str]:
        """Returns the words of a text."""
        pieces = (piece.strip() for piece in self._cut.pieces(text))
        return [word for word in pieces if word]

    @property
    def vocab_size(self) -> int:
        """Ids run below this, that of padding included."""
        return len(self.words) + 1

    @property
    def pad_id(self) -> int:
        """The id of padding, and of a text without words."""
        return len(self.words)

    @property
    def special_ids(self) -> frozenset[int]:
        """The id of padding alone."""
        return frozenset({self.pad_id})

    @property
    def token_texts(self) -> list[str]:
        """The word of each id; "" for padding."""
        return [*self.words, ""]

    def reader(self) -> "Reader":
        """Returns the encoder for the texts of one call, which notes words without an id."""
        return Reader(self)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the saved files."""
        return hashlib.sha256(self.to_bytes()).hexdigest()

    def to_bytes(self) -> bytes:
        """Returns the words as JSON."""
        tree = {
            "format": _FORMAT,
            "pre_tokenizer": self.pre_tokenizer,
            "pattern": self.pattern,
            "words": self.words,
        }
        return json.dumps(tree, ensure_ascii=False, indent=0).encode("utf-8", "surrogatepass")

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Reads what `to_bytes` wrote.

        Raises:
            CheckpointError: if it is something else.
        """
        with reading("table of words"):
            tree = saved(data, _FORMAT)
            return cls(tree["words"], tree["pre_tokenizer"], tree["pattern"])


class Reader:
    """Encodes texts as a tokenizer does, and notes the words that have no id.

    Args:
        of: the words with ids.

    Attributes:
        unknown: the unknown words so far; the first one's id is that of padding plus 1.
    """

    def __init__(self, of: OpenVocabulary) -> None:
        self.of = of
        self.fingerprint = of.fingerprint
        self.unknown: list[str] = []
        self._ids = dict(of.ids)

    @property
    def vocab_size(self) -> int:
        """Ids run below this: words, padding, and the unknown words so far."""
        return self.of.vocab_size + len(self.unknown)

    def _id(self, word: str) -> int:
        word_id = self._ids.get(word)
        if word_id is None:
            word_id = self._ids[word] = self.vocab_size
            self.unknown.append(word)
        return word_id

    def encode_batch(self, texts: Sequence[str], *, threads: int | None = None) -> IdBatch:
        """Encodes many texts; `threads` is there for the tokenizer's signature."""
        rows = [[self._id(word) for word in self.of.cut(text)] for text in texts]
        offsets = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum([len(row) for row in rows], out=offsets[1:])
        ids = np.fromiter((id for row in rows for id in row), dtype=np.uint32, count=int(offsets[-1]))
        return IdBatch(ids, offsets)

    def encode(self, text: str, *, max_tokens: int | None = None) -> IdRow:
        """Returns the ids of one text."""
        return IdRow(self.encode_batch([text]).ids[:max_tokens])

    def windows(self, text: str, size: int, stride: int = 0) -> list[NDArray[np.uint32]]:
        """Cuts the ids of a text into rows of at most `size`, neighbours sharing `stride`.

        Raises:
            ConfigError: if they would not get on.
        """
        if not 0 <= stride < size:
            raise ConfigError(f"data.stride {stride}: from 0 to below data.max_tokens {size}")
        ids = self.encode(text).ids
        last = max(0, len(ids) - stride)
        return [ids[start : start + size] for start in range(0, max(1, last), size - stride)]
