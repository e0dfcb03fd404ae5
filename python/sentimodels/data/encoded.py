"""`Encoded`: all texts of a table as ids in one flat array, encoded once; and batches of them by length.

Encoding happens in the parent process, before
any loader starts, on all cores. A row is what the model sees at once: a whole
text, a cut one, or one window of a long one; `text_of_row` leads back. A text
without tokens becomes one token `pad_id`, so that every row has something to
attend to and an empty text has one defined answer.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ConfigError, DataError

if TYPE_CHECKING:
    import torch

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
        pad_id: fills up a batch; the mask, not this id, says which tokens are real.
        fingerprint: of the tokenizer, so that ids never meet another's embeddings.
        unknown: words that only these texts have; their ids are the last of all.
        n_known: ids below this have a row in the model; the remaining ids are those of `unknown`.
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
    def unread(self) -> NDArray[np.float32]:
        """The share of each text that the model does not read: of those longer than `max_tokens`.

        Windows leave nothing unread.
        """
        rows = np.bincount(self.text_of_row, minlength=self.n_texts)
        share = 1 - self.max_tokens / np.maximum(self.text_lengths, self.max_tokens)
        return np.where(rows > 1, 0.0, share).astype(np.float32)

    @property
    def cut(self) -> NDArray[np.bool_]:
        """Which texts the model reads in part."""
        cut: NDArray[np.bool_] = self.unread > 0
        return cut

    def row(self, row: int) -> NDArray[Any]:
        """The ids of one row, as a view."""
        return self.ids[self.row_offsets[row] : self.row_offsets[row + 1]]


@dataclass(frozen=True)
class Cut:
    """How many texts a model reads in part, and how much of these it does not read.

    Attributes:
        n: texts.
        n_cut: those of them that are longer than the model reads.
        unread: the shares of their tokens that are not read, added up.
    """

    n: int = 0
    n_cut: int = 0
    unread: float = 0.0

    @classmethod
    def of(cls, unread: NDArray[Any]) -> "Cut":
        """Counts texts by the share of each that is not read, `(n,)`; infinite where it is not known."""
        return cls(len(unread), int((unread > 0).sum()), float(unread.sum(dtype=np.float64)))

    def __add__(self, other: "Cut") -> "Cut":
        return Cut(self.n + other.n, self.n_cut + other.n_cut, self.unread + other.unread)

    @property
    def share(self) -> float | None:
        """The share of a cut text that is not read, on average; 0 without such texts."""
        share = self.unread / max(1, self.n_cut)
        return share if np.isfinite(share) else None

    def said(self, max_tokens: int | None, texts: str = "texts") -> str:
        """Returns a sentence on them; empty if no text was cut."""
        if not self.n_cut:
            return ""
        are, were = ("is", "was") if self.n_cut == 1 else ("are", "were")
        them = "it" if self.n_cut == 1 else "them, on average,"
        much = "" if self.share is None else f"; {100 * self.share:.0f} % of {them} is not read"
        which = "the text" if self.n == 1 else f"{self.n_cut:,} of {self.n:,} {texts}"
        return f"{which} {are} longer than {max_tokens or 0:,} tokens and {were} cut{much}"

    def tree(self) -> dict[str, Any]:
        """Returns the keys of a report in JSON."""
        return {"n_cut": self.n_cut, "unread": None if self.share is None else round(self.share, 6)}


def said_windows(n_long: int, n: int, max_tokens: int, texts: str = "texts") -> str:
    """Returns a sentence on how many of `n` texts are read in windows."""
    are = "is" if n_long == 1 else "are"
    which = "the text" if n == 1 else f"{n_long:,} of {n:,} {texts}"
    return f"{which} {are} longer than {max_tokens:,} tokens and {are} read in windows"


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
        long: the treatment of a longer text: its beginning; its first and last half;
            or windows, one row each, whose answers are pooled.
        stride: tokens that neighbouring windows share.
        pad_id: fills up batches and represents a text without tokens.
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
        # The template's tokens are at the ends, and both ends are kept.
        tail = limit // 2
        return [np.concatenate([ids[: limit - tail], ids[len(ids) - tail :]])]
    return [tokenizer.encode(text, max_tokens=limit).ids]


def _gather(
    ids: NDArray[np.uint32],
    offsets: NDArray[np.int64],
    replaced: dict[int, list[NDArray[Any]]],
    dtype: type,
) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64]]:
    """Puts the replaced texts' rows in their places; the rest is copied in runs."""
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


# A pool of this many batches leaves 3 to 7 % padding on sentences and on reviews.
POOL_BATCHES = 100


@dataclass(frozen=True)
class Batch:
    """Some rows, padded to the longest of them.

    Attributes:
        input_ids: `(B, T)` int64, `pad_id` after the end of a row.
        mask: `(B, T)` bool, true where a token is real.
        labels: `(B,)` int64; -1 where the text has no label.
        index: `(B,)` int64, the rows of `Encoded` that these are.
        ngrams: what `NgramEmbedding` reads in addition to the ids; empty for a model without n-grams.
        full: whether no place is padding.
    """

    input_ids: "torch.Tensor"
    mask: "torch.Tensor"
    labels: "torch.Tensor"
    index: "torch.Tensor"
    ngrams: "Mapping[str, torch.Tensor]"
    full: bool = False

    def inputs(self, device: "torch.device | str | None" = None) -> "dict[str, torch.Tensor]":
        """Returns the arguments of a model: `model(**batch.inputs())`.

        Without padding there is no `mask` among them, so that the fastest kernels run.

        Args:
            device: where to; `None`: as they are.
        """
        given = {"input_ids": self.input_ids, **self.ngrams}
        if not self.full:
            given["mask"] = self.mask
        return given if device is None else {name: value.to(device) for name, value in given.items()}


def plan(
    lengths: NDArray[np.int64],
    *,
    batch_size: int | None = None,
    max_tokens: int | None = None,
    shuffle_seed: int | None = None,
    epoch: int = 0,
    weights: NDArray[np.float64] | None = None,
    pool_batches: int = POOL_BATCHES,
) -> list[NDArray[np.int64]]:
    """Returns the rows of each batch of one epoch.

    A batch is what a model is called with, and what a loss needs in addition; its distinct tokens are
    found here, once, for models that compose tokens from n-grams. Rows are shuffled, cut into pools of
    some dozen batches, sorted by length inside a pool, cut into batches, and the pool's batches
    shuffled: little padding, and no batch order that repeats. There is no sampler state to save: the
    plan is computed again and reading begins at `position` (C1).

    Args:
        lengths: tokens of each row.
        batch_size: rows a batch.
        max_tokens: tokens a batch, padding included; instead of `batch_size`. A row
            longer than that is a separate batch.
        shuffle_seed: without it rows come sorted by length, longest first, for
            evaluation: the same answers with the least padding.
        epoch: counts from 0; another epoch is another order.
        weights: of each row, for balanced sampling with replacement.
        pool_batches: batches sorted together.

    Raises:
        ConfigError: if not exactly one of the two sizes is given, or one is below 1.
    """
    _check_sizes(batch_size, max_tokens, pool_batches)
    n_rows = len(lengths)
    if n_rows == 0:
        return []
    if shuffle_seed is None:
        return _cut(np.argsort(-lengths, kind="stable"), lengths, batch_size, max_tokens)
    rng = np.random.Generator(np.random.PCG64([shuffle_seed, epoch]))
    if weights is None:
        order = rng.permutation(n_rows)
    else:
        order = rng.choice(n_rows, size=n_rows, p=weights / weights.sum())
    if batch_size is None:
        rows_a_batch = max(1.0, (max_tokens or 1) / max(1.0, float(lengths.mean())))
    else:
        rows_a_batch = batch_size
    pool = max(1, int(rows_a_batch * pool_batches))
    batches: list[NDArray[np.int64]] = []
    for start in range(0, n_rows, pool):
        rows = order[start : start + pool]
        # Equal lengths stay in their shuffled order: the sort is stable.
        rows = rows[np.argsort(lengths[rows], kind="stable")]
        cut = _cut(rows, lengths, batch_size, max_tokens)
        batches += [cut[place] for place in rng.permutation(len(cut))]
    return batches


def _check_sizes(batch_size: int | None, max_tokens: int | None, pool_batches: int) -> None:
    if (batch_size is None) == (max_tokens is None):
        raise ConfigError("give batch_size or max_tokens, one of the two")
    for name, value in (("batch_size", batch_size), ("max_tokens", max_tokens), ("pool", pool_batches)):
        if value is not None and value < 1:
            raise ConfigError(f"{name} {value}: at least 1")


def _cut(
    rows: NDArray[np.int64], lengths: NDArray[np.int64], batch_size: int | None, max_tokens: int | None
) -> list[NDArray[np.int64]]:
    """Cuts rows sorted by length into batches."""
    if batch_size is not None:
        return [rows[start : start + batch_size] for start in range(0, len(rows), batch_size)]
    limit = max_tokens or 1
    batches = []
    start = longest = 0
    for place, length in enumerate(lengths[rows].tolist()):
        if place > start and max(longest, length) * (place - start + 1) > limit:
            batches.append(rows[start:place])
            start, longest = place, 0
        longest = max(longest, length)
    batches.append(rows[start:])
    return batches


def batches(
    encoded: Encoded,
    labels: Sequence[int] | NDArray[np.int64] | None = None,
    *,
    batch_size: int | None = None,
    max_tokens: int | None = None,
    shuffle_seed: int | None = None,
    epoch: int = 0,
    position: int = 0,
    weights: NDArray[np.float64] | None = None,
    pool_batches: int = POOL_BATCHES,
    multiple_of: int = 1,
) -> Iterator[Batch]:
    """Yields the batches of one epoch, from `position` on; see `plan`.

    Args:
        encoded: the rows.
        labels: class index of each *text* (not row), or `None`.
        batch_size: rows a batch.
        max_tokens: tokens a batch, instead of `batch_size`.
        shuffle_seed: see `plan`.
        epoch: see `plan`.
        position: batches of this epoch already done.
        weights: see `plan`; one for each row.
        pool_batches: see `plan`.
        multiple_of: pads lengths up to a multiple, for compiled models.

    Raises:
        DataError: if the labels do not fit the texts.
        ConfigError: as `plan`.
    """
    if labels is not None and len(labels) != encoded.n_texts:
        raise DataError(f"{encoded.n_texts} texts, but {len(labels)} labels")
    of_texts = np.full(encoded.n_texts, -1) if labels is None else np.asarray(labels, dtype=np.int64)
    of_rows = of_texts[encoded.text_of_row]
    chosen = plan(
        encoded.lengths,
        batch_size=batch_size,
        max_tokens=max_tokens,
        shuffle_seed=shuffle_seed,
        epoch=epoch,
        weights=weights,
        pool_batches=pool_batches,
    )
    return (batch_of(encoded, of_rows, rows, multiple_of) for rows in chosen[position:])


def batch_of(
    encoded: Encoded, labels: NDArray[np.int64], rows: NDArray[np.int64], multiple_of: int = 1
) -> Batch:
    """Returns some rows as a batch.

    Args:
        encoded: all rows.
        labels: of each row of `encoded`.
        rows: which of them.
        multiple_of: see `batches`.
    """
    import torch

    starts = encoded.row_offsets[rows]
    lengths = encoded.row_offsets[rows + 1] - starts
    width = -(-int(lengths.max()) // multiple_of) * multiple_of
    columns = np.arange(width)
    mask = columns < lengths[:, None]  # (B, T)
    # Beyond a row's end any place will do: it is overwritten by padding.
    places = np.minimum(starts[:, None] + columns, len(encoded.ids) - 1)
    ids = np.where(mask, encoded.ids[places].astype(np.int64), encoded.pad_id)
    ngrams = {} if encoded.ngrams is None else _ngrams(encoded, ids)
    if encoded.unknown:
        ids = np.where(ids < encoded.n_known, ids, encoded.pad_id)
    return Batch(
        input_ids=torch.from_numpy(ids),
        mask=torch.from_numpy(mask),
        labels=torch.from_numpy(labels[rows]),
        index=torch.from_numpy(rows),
        ngrams={name: torch.from_numpy(value) for name, value in ngrams.items()},
        full=bool(lengths.min() == width),
    )


def _ngrams(encoded: Encoded, ids: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
    """Returns each id once, where in the batch it is, and the rows of its n-grams."""
    table = encoded.ngrams
    assert table is not None
    distinct, index = np.unique(ids, return_inverse=True)
    begin = table.starts[distinct]
    count = table.starts[distinct + 1] - begin
    offsets = np.cumsum(count) - count
    places = np.repeat(begin - offsets, count) + np.arange(int(count.sum()))
    return {
        "distinct_ids": np.where(distinct < encoded.n_known, distinct, encoded.pad_id),
        "distinct_index": index.reshape(ids.shape),
        "ngram_ids": table.rows[places],
        "ngram_offsets": offsets,
    }


def padding_share(lengths: NDArray[np.int64], chosen: Sequence[NDArray[np.int64]]) -> float:
    """Returns the share of places in the batches that hold no token."""
    real = padded = 0
    for rows in chosen:
        of_rows = lengths[rows]
        real += int(of_rows.sum())
        padded += int(of_rows.max()) * len(rows)
    return 1 - real / padded if padded else 0.0
