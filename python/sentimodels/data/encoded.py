"""`Encoded`: all texts of a table as ids in one flat array, encoded once.

Not for batches (`batches.py`). Encoding happens in the parent process, before
any loader starts, on all cores. A row is what the model sees at once: a whole
text, a cut one, or one window of a long one; `text_of_row` leads back. A text
without tokens becomes one token `pad_id`, so that every row has something to
attend to and an empty text has one defined answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ConfigError

if TYPE_CHECKING:
    from sentitok import Tokenizer

    from ..config import Long
    from ..text.ngrams import NgramTable
    from ..text.vocabulary import TextReader


@dataclass(frozen=True)
class Encoded:
    """Ids of many texts.

    Attributes:
        ids: all ids, one row after the other; uint16 where the vocabulary allows, else int32.
        row_offsets: row i is `ids[row_offsets[i]:row_offsets[i + 1]]`; int64, n_rows + 1.
        text_of_row: which text a row belongs to; not falling.
        n_texts: how many texts there were.
        text_lengths: tokens of each text before any cut; int64, n_texts.
        max_tokens: the longest row allowed.
        n_cut: how many texts were longer than `max_tokens`.
        pad_id: what fills up a batch; the mask, not this id, says what is real.
        fingerprint: of the tokenizer, so that ids never meet another's embeddings.
        unknown: words that only these texts have; their ids are the last of all.
        n_known: ids below this have a row in the model; those of `unknown` are the others.
        ngrams: rows of the character n-grams of each id, `unknown` ones too, for a model that reads them.
    """

    ids: NDArray[Any]
    row_offsets: NDArray[np.int64]
    text_of_row: NDArray[np.int64]
    n_texts: int
    text_lengths: NDArray[np.int64]
    max_tokens: int
    n_cut: int
    pad_id: int
    fingerprint: str
    unknown: tuple[str, ...] = ()
    n_known: int = 1 << 31
    ngrams: "NgramTable | None" = None

    def __len__(self) -> int:
        return len(self.row_offsets) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Tokens of each row."""
        return np.diff(self.row_offsets)

    @property
    def cut(self) -> NDArray[np.bool_]:
        """Which texts the model reads in part: those longer than `max_tokens` that windows do not cover."""
        rows = np.bincount(self.text_of_row, minlength=self.n_texts)
        whole: NDArray[np.bool_] = (self.text_lengths <= self.max_tokens) | (rows > 1)
        return ~whole

    def row(self, row: int) -> NDArray[Any]:
        """The ids of one row, as a view."""
        return self.ids[self.row_offsets[row] : self.row_offsets[row + 1]]


def said_cut(n_cut: int, n: int, max_tokens: int | None, texts: str = "texts") -> str:
    """Returns a sentence on how many of `n` texts were cut."""
    are, were = ("is", "was") if n_cut == 1 else ("are", "were")
    return f"{n_cut:,} of {n:,} {texts} {are} longer than {max_tokens or 0:,} tokens and {were} cut"


def encode_texts(
    texts: Sequence[str],
    tokenizer: "Tokenizer | TextReader",
    max_tokens: int = 512,
    long: "Long" = "truncate",
    *,
    stride: int = 0,
    pad_id: int = 0,
    threads: int | None = None,
) -> Encoded:
    """Encodes all texts.

    Args:
        texts: the texts.
        tokenizer: the run's tokenizer; its template adds special tokens.
        max_tokens: the longest row, special tokens included.
        long: what becomes of a longer text: its beginning; its first and last half;
            or windows, one row each, whose answers are pooled.
        stride: tokens that neighbouring windows share.
        pad_id: fills up batches and stands for a text without tokens.
        threads: of the tokenizer; by default all.

    Raises:
        ConfigError: if the lengths make no sense.
    """
    if max_tokens < 1:
        raise ConfigError(f"max_tokens {max_tokens}: at least 1")
    if long not in ("truncate", "head-tail", "windows"):
        raise ConfigError(f"long {long!r}: one of truncate, head-tail, windows")
    batch = tokenizer.encode_batch(list(texts), threads=threads)
    lengths = np.diff(batch.row_offsets)
    too_long = np.flatnonzero(lengths > max_tokens)
    dtype = np.uint16 if max(tokenizer.vocab_size, pad_id + 1) <= 1 << 16 else np.int32
    rows: dict[int, list[NDArray[Any]]] = {}
    for text in too_long.tolist():
        own = batch.ids[batch.row_offsets[text] : batch.row_offsets[text + 1]]
        rows[text] = _fit(texts[text], own, tokenizer, max_tokens, long, stride)
    empty = np.array([pad_id], dtype=np.uint32)
    for text in np.flatnonzero(lengths == 0).tolist():
        rows[text] = [empty]
    ids, offsets, text_of_row = _gather(batch.ids, batch.row_offsets, rows, dtype)
    return Encoded(
        ids=ids,
        row_offsets=offsets,
        text_of_row=text_of_row,
        n_texts=len(texts),
        text_lengths=lengths.astype(np.int64),
        max_tokens=max_tokens,
        n_cut=len(too_long),
        pad_id=pad_id,
        fingerprint=tokenizer.fingerprint,
    )


def _fit(
    text: str,
    ids: NDArray[np.uint32],
    tokenizer: "Tokenizer | TextReader",
    limit: int,
    long: "Long",
    stride: int,
) -> list[NDArray[Any]]:
    """The rows of one text that is too long."""
    if long == "windows":
        return [np.asarray(row) for row in tokenizer.windows(text, limit, stride)]
    if long == "head-tail":
        # The template's tokens stand at the ends, and both ends are kept.
        tail = limit // 2
        return [np.concatenate([ids[: limit - tail], ids[len(ids) - tail :]])]
    return [tokenizer.encode(text, max_tokens=limit).ids]


def _gather(
    ids: NDArray[np.uint32],
    offsets: NDArray[np.int64],
    replaced: dict[int, list[NDArray[Any]]],
    dtype: type,
) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64]]:
    """Puts the replaced texts' rows where the texts stood; the rest is copied in runs."""
    n_texts = len(offsets) - 1
    parts: list[NDArray[Any]] = []
    lengths: list[NDArray[np.int64]] = []
    owners: list[NDArray[np.int64]] = []
    start = 0
    for text in [*sorted(replaced), n_texts]:
        if text > start:
            parts.append(ids[offsets[start] : offsets[text]])
            lengths.append(np.diff(offsets[start : text + 1]))
            owners.append(np.arange(start, text))
        if text < n_texts:
            parts += replaced[text]
            lengths.append(np.array([len(row) for row in replaced[text]], dtype=np.int64))
            owners.append(np.full(len(replaced[text]), text))
        start = text + 1
    if not parts:
        return np.zeros(0, dtype), np.zeros(1, np.int64), np.zeros(0, np.int64)
    row_offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.concatenate(lengths), dtype=np.int64)])
    return np.concatenate(parts).astype(dtype), row_offsets, np.concatenate(owners).astype(np.int64)
