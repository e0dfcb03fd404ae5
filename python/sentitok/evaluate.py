"""Measures of a tokenizer on text: how short, how even, how much of it is used.

Not a judgement: a downstream task gives that. The definitions are in
`docs/reference/eval.md`; sources are Rust et al. 2021 (fertility, continued words),
Zouhar et al. 2023 (Rényi efficiency, alpha 2.5), Nayeem et al. 2025
(single-token retention). Memory follows the distinct words and the vocabulary,
plus some 64 MiB a thread for text that waits to be encoded.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from . import distributed
from ._sentitok import DistinctWords, DocumentBatch, EncodingBatch, Fertility, FertilityCounter, Tokenizer
from .documents import Documents
from .messages import shown
from .numbers import real, whole
from .shard_tasks import Sums

if TYPE_CHECKING:
    from ._sentitok import _Executor

__all__ = ["Evaluation", "bits_deviation", "evaluate", "evaluate_all", "renyi_efficiency"]

# The order at which Zouhar et al. found the efficiency to go best with BLEU.
RENYI_ALPHA = 2.5

# Documents, and characters, encoded at a time.
_BATCH = 4096
_BATCH_CHARS = 1 << 22

# Gets a batch of texts and its encoding.
_Listener = Callable[[list[str], EncodingBatch], None]


@dataclass(frozen=True)
class Evaluation:
    """What `evaluate` measured; a measure without anything to measure is `nan`."""

    documents: int
    bytes: int
    tokens: int
    words: int
    bytes_per_token: float
    tokens_per_word: float
    continued_words: float
    single_token_retention: float
    unknown_rate: float
    renyi_efficiency: float
    bits_deviation: float
    superword_share: float
    vocabulary_use: float
    vocab_size: int

    def as_dict(self) -> dict[str, float | int]:
        """Returns the measures by name."""
        return asdict(self)


def evaluate(
    tokenizer: Tokenizer,
    texts: Iterable[str],
    *,
    threads: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    seen: _Listener | None = None,
    executor: "_Executor | None" = None,
    on_error: Literal["stop", "skip"] = "stop",
    shard_bytes: int | None = None,
    parts: str | os.PathLike[str] | None = None,
) -> Evaluation:
    """Measures a tokenizer on texts.

    Args:
        tokenizer: the tokenizer.
        texts: documents; read once, in batches. Those of files are quickest as
            `sentitok.documents.Documents`.
        threads: threads that encode; the result is the same for any number.
        progress: called as `progress("encode", bytes, 0)` after each batch.
        seen: called with each batch of texts and its encoding, which has offsets.
        executor: a `concurrent.futures.Executor`, whose workers measure parts of the files of a
            `sentitok.documents.Documents`, with one thread each if `threads` is not given; the result is
            the same. `seen` is not called then.
        on_error: the treatment of a part that fails again and again: raise its error (`"stop"`), or leave it
            out with a warning (`"skip"`).
        shard_bytes: how many bytes of the files a worker reads at a time, about; 64 MiB if not given.
        parts: with an executor, a folder that all machines see, or a URL: finished parts are kept in it until
            all is done, so the same call continues after a failure. Without it workers write to the folder
            for temporary files (`TMPDIR`), which all machines must see then.

    Raises:
        TypeError: for an executor without `Documents`, or with `seen`.
        sentitok.distributed.ShardError: if a part failed each time it was tried.
    """
    listeners = [] if seen is None else [seen]
    return evaluate_all(
        [tokenizer],
        texts,
        threads=threads,
        progress=progress,
        seen=listeners,
        executor=executor,
        on_error=on_error,
        shard_bytes=shard_bytes,
        parts=parts,
    )[0]


def evaluate_all(
    tokenizers: Sequence[Tokenizer],
    texts: Iterable[str],
    *,
    threads: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    seen: Sequence[_Listener] = (),
    executor: "_Executor | None" = None,
    on_error: Literal["stop", "skip"] = "stop",
    shard_bytes: int | None = None,
    parts: str | os.PathLike[str] | None = None,
) -> list[Evaluation]:
    """Measures several tokenizers on the same texts, which are read once.

    Args:
        tokenizers: the tokenizers.
        texts: as for `evaluate`.
        threads: as for `evaluate`.
        progress: as for `evaluate`; the bytes of a text count once for each tokenizer.
        seen: as for `evaluate`, one for each tokenizer; or none.
        executor: as for `evaluate`.
        on_error: as for `evaluate`.
        shard_bytes: as for `evaluate`.
        parts: as for `evaluate`.

    Returns:
        What `evaluate` gives for each.

    Raises:
        TypeError, sentitok.distributed.ShardError: as `evaluate`.
    """
    if executor is not None:
        if not isinstance(texts, Documents) or seen:
            raise TypeError(
                "an executor measures the files of a sentitok.documents.Documents, and calls no `seen`"
            )
        measured, retained = distributed.measure(
            tokenizers,
            texts.paths,
            executor=executor,
            on_error=on_error,
            threads=threads,
            progress=progress,
            shard_bytes=shard_bytes,
            parts=parts,
            **texts.reading,
        )
        texts.add_replaced(measured[0].replaced if measured else 0)
        return [
            _evaluation(tokenizer, sums, share, sums.documents, sums.bytes)
            for tokenizer, sums, share in zip(tokenizers, measured, retained, strict=True)
        ]
    distinct = DistinctWords()
    # The words are the same for all.
    counters = [
        FertilityCounter(tokenizer, None if number else distinct)
        for number, tokenizer in enumerate(tokenizers)
    ]
    listeners: Sequence[_Listener | None] = seen or [None] * len(counters)
    documents = n_bytes = 0
    for batch in _batches(texts):
        documents += len(batch)
        batch_bytes = 0
        for number, (counter, tokenizer, listener) in enumerate(
            zip(counters, tokenizers, listeners, strict=True), 1
        ):
            batch_bytes = counter.add(batch, threads)
            if listener is not None:
                listener(list(batch), _encoded(tokenizer, batch, threads))
            if progress is not None:
                progress("encode", n_bytes * len(counters) + batch_bytes * number, 0)
        n_bytes += batch_bytes
    return [
        _evaluation(
            tokenizer,
            counter.sums(),
            _ratio(distinct.single(tokenizer, threads), len(distinct)),
            documents,
            n_bytes,
        )
        for tokenizer, counter in zip(tokenizers, counters, strict=True)
    ]


def _encoded(tokenizer: Tokenizer, texts: DocumentBatch | list[str], threads: int | None) -> EncodingBatch:
    return tokenizer.encode_batch(texts, threads=threads, add_special_tokens=False, offsets=True)


def _evaluation(
    tokenizer: Tokenizer, sums: "Fertility | Sums", retention: float, documents: int, n_bytes: int
) -> Evaluation:
    """The measures from sums over words, and the one over distinct words."""
    frequency = sums.frequency
    tokens = int(frequency.sum())
    unknown = unknown_id(tokenizer)
    return Evaluation(
        documents=documents,
        bytes=n_bytes,
        tokens=tokens,
        words=sums.words,
        bytes_per_token=_ratio(n_bytes, tokens),
        tokens_per_word=_ratio(sums.tokens, sums.words),
        continued_words=_ratio(sums.continued, sums.words),
        single_token_retention=retention,
        unknown_rate=_ratio(0 if unknown is None else int(frequency[unknown]), tokens),
        renyi_efficiency=renyi_efficiency(frequency, tokenizer.n_tokens),
        bits_deviation=bits_deviation(frequency),
        superword_share=_ratio(_superwords(tokenizer, frequency), tokens),
        vocabulary_use=_ratio(int((frequency > 0).sum()), tokenizer.n_tokens),
        vocab_size=tokenizer.vocab_size,
    )


def renyi_efficiency(frequency: NDArray[np.int64], vocab_size: int, alpha: float = RENYI_ALPHA) -> float:
    """Returns the Rényi entropy of a distribution of tokens over its maximum.

    H_alpha(p) = log(sum p**alpha) / (1 - alpha), divided by log(vocab_size):
    1 where all tokens are equally frequent, near 0 where one is everything.

    Raises:
        ValueError: for an order `alpha` below 0, or of 1, where the formula has no value.
    """
    order = "0 or more, but 1: 2.5 is usual"
    if real("alpha", alpha, order, 0) == 1:
        raise ValueError(f"alpha={shown(alpha)}: it is {order}")
    vocab_size = whole("vocab_size", vocab_size, "a number of tokens")
    used = frequency[frequency > 0]
    if len(used) == 0 or vocab_size < 2:
        return float("nan")
    p = used / used.sum()
    return float(np.log((p**alpha).sum()) / (1 - alpha) / np.log(vocab_size))


def bits_deviation(frequency: NDArray[np.int64]) -> float:
    """Returns the standard deviation of the bits of tokens under a unigram model.

    A token of share p has -log2(p) bits. 0 where all tokens are equally frequent.
    """
    used = frequency[frequency > 0]
    if len(used) == 0:
        return float("nan")
    p = used / used.sum()
    bits = -np.log2(p)
    return float(np.sqrt((p * (bits - (p * bits).sum()) ** 2).sum()))


def _superwords(tokenizer: Tokenizer, frequency: NDArray[np.int64]) -> int:
    """Counts the tokens of a text that hold white space between other characters."""
    total = 0
    for id in np.flatnonzero(frequency).tolist():
        text = (tokenizer.id_to_bytes(id) or b"").decode("utf-8", "replace").replace("▁", " ")
        if len(text.split()) > 1:
            total += int(frequency[id])
    return total


def _batches(texts: Iterable[str]) -> Iterator[DocumentBatch | list[str]]:
    if isinstance(texts, Documents):
        yield from texts.batches()
        return
    batch: list[str] = []
    n_chars = 0
    for text in texts:
        batch.append(text)
        n_chars += len(text)
        if len(batch) == _BATCH or n_chars >= _BATCH_CHARS:
            yield batch
            batch, n_chars = [], 0
    if batch:
        yield batch


def unknown_id(tokenizer: Tokenizer) -> int | None:
    """Returns the id of what a tokenizer does not know, if it has one."""
    token = tokenizer.info().get("unk_token")
    return None if token is None else tokenizer.token_to_id(token)


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else float("nan")
