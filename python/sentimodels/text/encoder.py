"""From texts to ids: the tokenizer of a run, what its tokens read, and vectors for them.

A run's encoder is a `sentitok` tokenizer, given or trained here, or what an architecture
brings itself (`words.py`), or whole words (`vocabulary.py`); all are
asked through one interface (`vocabulary.py`). For a model that composes tokens from character
n-grams, their rows are found here too, so that the model itself looks nothing up by text.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch

from sentitok import Tokenizer, train_bpe, train_unigram, train_wordpiece
from sentitok.atomic import write as write_atomically

from ..config import DataConfig, RunConfig
from ..data.encoded import Encoded, encode_texts
from ..data.normalization import prepared
from ..data.opening import open_text
from ..errors import CheckpointError, ConfigError, DataError
from .ngrams import NgramIndex
from .vocabulary import Inputs, OpenVocabulary, Subwords, Vocabulary, as_saved
from .words import HashedNgrams, WordNgrams

__all__ = [
    "Encoder",
    "HasCharNgrams",
    "HasFeatures",
    "TextEncoder",
    "encoder_for",
    "load_encoder",
    "vectors_for",
]

Encoder = Tokenizer | OpenVocabulary | WordNgrams | HashedNgrams
# The file of each kind in a run directory.
_FILES: dict[str, type[Any]] = {
    "tokenizer.json": Tokenizer,
    "open-vocabulary.json": OpenVocabulary,
    "words.json": WordNgrams,
    "hashed-ngrams.json": HashedNgrams,
}
# A bag reads a text whole.
_WHOLE = 1 << 40


@runtime_checkable
class HasFeatures(Protocol):
    """A config that encodes texts its own way."""

    def features(self, texts: Sequence[str]) -> Any:
        """Returns the encoder of these training texts."""


@runtime_checkable
class HasCharNgrams(Protocol):
    """A config of a model that composes tokens from character n-grams."""

    @property
    def ngram_range(self) -> tuple[int, int] | None:
        """Shortest and longest n-gram; `None`: none."""

    @property
    def char_buckets(self) -> int:
        """Buckets that n-grams are hashed into."""


@dataclass(frozen=True)
class TextEncoder:
    """An encoder with what a run settled about it.

    Attributes:
        encoder: the tokenizer, or what replaces it.
        data: the `[data]` section: lower case, lengths and what becomes of long texts.
        char_ngrams: the config of a model that reads character n-grams of tokens, or `None`.
    """

    encoder: Encoder
    data: DataConfig
    char_ngrams: HasCharNgrams | None = None

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The encoder, as a model sees it."""
        return Subwords(self.encoder) if isinstance(self.encoder, Tokenizer) else self.encoder

    @cached_property
    def ngrams(self) -> NgramIndex | None:
        """The character n-grams of the tokens, where the model reads any."""
        given, texts = self.char_ngrams, self.vocabulary.token_texts
        if given is None or given.ngram_range is None or texts is None:
            return None
        return NgramIndex.of(texts, given.ngram_range, given.char_buckets)

    @property
    def normalized(self) -> bool:
        """Whether texts are normalized first; not in runs of versions without this setting."""
        return bool(self.data.normalize)

    @property
    def lowercase(self) -> bool:
        """Whether texts are lower-cased first."""
        return bool(self.data.lowercase)

    def prepare(self, text: str) -> str:
        """Returns a text as it is cut into tokens."""
        return prepared(text, normalized=self.normalized, lowercase=self.lowercase)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the encoder."""
        return self.encoder.fingerprint

    @property
    def pad_id(self) -> int:
        """The id of padding, and of a text without tokens."""
        return self.vocabulary.pad_id

    @property
    def vocab_size(self) -> int:
        """Ids run below this, that of padding included."""
        return self.vocabulary.vocab_size

    @property
    def token_texts(self) -> list[str] | None:
        """The text of each id, "" for special ones; `None` for a bag of features."""
        return self.vocabulary.token_texts

    def encode(self, texts: Sequence[str]) -> Encoded:
        """Encodes texts as the model reads them."""
        vocabulary = self.vocabulary
        reader = vocabulary.reader()
        encoded = encode_texts(
            [self.prepare(text) for text in texts],
            reader,
            self.data.max_tokens if vocabulary.in_order else _WHOLE,
            self.data.long,
            stride=self.data.stride,
            pad_id=vocabulary.pad_id,
        )
        unknown = tuple(reader.unknown)
        table = None if self.ngrams is None else self.ngrams.extended(unknown)
        return replace(encoded, unknown=unknown, n_known=vocabulary.vocab_size, ngrams=table)

    def in_windows(self) -> "TextEncoder":
        """Returns an encoder that cuts long texts into windows, whatever the run was trained with."""
        return replace(self, data=self.data.model_copy(update={"long": "windows"}))

    def inputs(self, n_classes: int, vectors: torch.Tensor | None = None, *, ordered: bool = False) -> Inputs:
        """Returns the properties of an encoder that a model needs."""
        if isinstance(self.encoder, HashedNgrams):
            n_words = len(self.encoder.words) + 1
            return Inputs(
                self.vocab_size, n_classes, grams=self.encoder.grams, n_words=n_words, ordered=ordered
            )
        n_ngrams = 0 if self.ngrams is None else self.ngrams.n_rows
        return Inputs(self.vocab_size, n_classes, self.pad_id, n_ngrams, vectors, ordered=ordered)

    @property
    def file_name(self) -> str:
        """The file of a run directory that keeps the encoder."""
        return next(name for name, kind in _FILES.items() if isinstance(self.encoder, kind))

    def save(self, folder: Path) -> None:
        """Writes that file."""
        if isinstance(self.encoder, Tokenizer):
            self.encoder.save(folder / self.file_name)
        else:
            write_atomically(folder / self.file_name, self.encoder.to_bytes())


def encoder_for(config: RunConfig, texts: Sequence[str]) -> TextEncoder:
    """Returns the encoder of a run: the architecture's own, the one given, or one trained here."""
    data = config.data
    if isinstance(config.model, HasFeatures):
        if data.tokenizer is not None:
            raise ConfigError(f"{config.arch} splits words without a tokenizer: leave out data.tokenizer")
        normalized = data.normalize is not False
        settled = data.model_copy(update={"normalize": normalized, "lowercase": None})  # it has its own
        read = [prepared(text, normalized=normalized, lowercase=False) for text in texts]
        return TextEncoder(config.model.features(read), settled)
    if data.tokenizer is not None:
        update = {"normalize": bool(data.normalize), "lowercase": bool(data.lowercase)}
        settled = data.model_copy(update=update)
        return TextEncoder(as_saved(Tokenizer.from_file(data.tokenizer)), settled, _char_ngrams(config))
    normalized, lowercase = data.normalize is not False, data.lowercase is not False
    read = [prepared(text, normalized=normalized, lowercase=lowercase) for text in texts]
    trained: Encoder
    if data.tokenizer_model == "words":
        trained = OpenVocabulary.fit(read, vocab_size=data.vocab_size, pre_tokenizer=data.pre_tokenizer)
    else:
        trained = as_saved(_trained(read, data))
    settled = data.model_copy(update={"normalize": normalized, "lowercase": lowercase})
    return TextEncoder(trained, settled, _char_ngrams(config))


def _char_ngrams(config: RunConfig) -> HasCharNgrams | None:
    return config.model if isinstance(config.model, HasCharNgrams) else None


def _trained(texts: Sequence[str], data: DataConfig) -> Tokenizer:
    """Trains the tokenizer of a run."""
    size, splitter = data.vocab_size, data.pre_tokenizer
    match data.tokenizer_model:
        case "bpe":
            splitter = splitter or "gpt2-prefix-space"
            return train_bpe(texts=texts, vocab_size=size, pre_tokenizer=splitter, min_frequency=2)
        case "wordpiece":
            # Texts are lower-cased already; BERT's lower case would also strip the vowel signs of Hindi.
            return train_wordpiece(
                texts=texts, vocab_size=size, pre_tokenizer=splitter, min_frequency=2, lowercase=False
            )
        case _:
            return train_unigram(texts=texts, vocab_size=size, pre_tokenizer=splitter)


def load_encoder(folder: Path, config: RunConfig) -> TextEncoder:
    """Reads the encoder of a run directory.

    Args:
        folder: the directory.
        config: of the run.

    Raises:
        CheckpointError: if there is none.
    """
    for name, kind in _FILES.items():
        path = folder / name
        if path.is_file():
            encoder: Encoder = (
                Tokenizer.from_file(path) if kind is Tokenizer else kind.from_bytes(path.read_bytes())
            )
            return TextEncoder(encoder, config.data, _char_ngrams(config))
    raise CheckpointError(f"{folder}: no tokenizer; expected one of {', '.join(_FILES)}")


def word_vectors(config: RunConfig, encoder: TextEncoder) -> tuple[torch.Tensor | None, list[str]]:
    """Returns the rows of the embedding table that word vectors give, if any do, and what to say of them.

    Raises:
        ConfigError: if vectors are named that the model cannot use, or needed and not named.
    """
    path = config.data.vectors
    if path is None:
        if getattr(config.model, "channels", "tuned") != "tuned":
            raise ConfigError("model.channels static or both need data.vectors, a file of word vectors")
        return None, []
    texts = encoder.token_texts
    if texts is None:
        raise ConfigError(f"data.vectors: {config.arch} has no token embeddings")
    vectors, n_found = vectors_for(Path(path), texts)
    return vectors, [f"{n_found:,} of {len(texts):,} tokens have a vector in {path}"]


def vectors_for(path: Path, texts: Sequence[str]) -> tuple[torch.Tensor, int]:
    """Reads word vectors (a line has a word, then its numbers) for the tokens that are words.

    The text formats of GloVe, word2vec and fastText; the last two begin with a line of two counts.

    Returns:
        Vectors (V, D), zeros where there is none, and how many tokens have one.

    Raises:
        DataError: if a line is not as the first.
    """
    wanted: dict[str, list[int]] = {}
    for id, text in enumerate(texts):
        if text:
            wanted.setdefault(text, []).append(id)
    width = 0
    rows: dict[int, np.ndarray[Any, np.dtype[np.float32]]] = {}
    with open_text(path) as file:
        for number, line in enumerate(file.lines(), 1):
            word, _, rest = line.rstrip().partition(" ")
            if number == 1 and word.isdecimal() and rest.isdecimal():
                continue  # how many words, how many numbers
            if not width:
                width = len(rest.split())
                if width < 2:
                    raise DataError(f"{path}: line {number}: expected a word and its numbers")
            for id in wanted.get(word, ()):
                row = np.fromstring(rest, dtype=np.float32, sep=" ")
                if len(row) != width:
                    raise DataError(f"{path}: line {number} has {len(row)} numbers, the first {width}")
                rows[id] = row
    if not width:
        raise DataError(f"{path}: no vectors")
    table = np.zeros((len(texts), width), np.float32)
    for id, row in rows.items():
        table[id] = row
    return torch.from_numpy(table), len(rows)
