"""Measures of a tokenizer on text: how short, how even, how much of it is used.

Not a judgement: a downstream task gives that. The definitions are in
`docs/eval.md`; sources are Rust et al. 2021 (fertility, continued words),
Zouhar et al. 2023 (Rényi efficiency, alpha 2.5), Nayeem et al. 2025
(single-token retention). Memory follows the distinct words and the vocabulary.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from ._sentitok import EncodingBatch, Tokenizer
from .messages import shown
from .numbers import real, whole

__all__ = ["Evaluation", "evaluate", "evaluate_all", "renyi_efficiency"]

# The order at which Zouhar et al. found the efficiency to go best with BLEU.
RENYI_ALPHA = 2.5

# Documents, and characters, encoded at a time.
_BATCH = 4096
_BATCH_CHARS = 1 << 22

# A word is what stands between white space, in any script: whether a code point is that, by `str.isspace`.
# The last such is U+3000.
_IS_SPACE = np.array([chr(code).isspace() for code in range(0x3002)])


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
    seen: Callable[[list[str], EncodingBatch], None] | None = None,
) -> Evaluation:
    """Measures a tokenizer on texts.

    Args:
        tokenizer: the tokenizer.
        texts: documents; read once, in batches.
        threads: threads that encode; the result is the same for any number.
        progress: called as `progress("encode", bytes, 0)` after each batch.
        seen: called with each batch of texts and its encoding, which has offsets.
    """
    listeners = [] if seen is None else [seen]
    return evaluate_all([tokenizer], texts, threads=threads, progress=progress, seen=listeners)[0]


def evaluate_all(
    tokenizers: Sequence[Tokenizer],
    texts: Iterable[str],
    *,
    threads: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    seen: Sequence[Callable[[list[str], EncodingBatch], None]] = (),
) -> list[Evaluation]:
    """Measures several tokenizers on the same texts, which are read once.

    Args:
        tokenizers: the tokenizers.
        texts: as for `evaluate`.
        threads: as for `evaluate`.
        progress: as for `evaluate`; the bytes of a text count once for each tokenizer.
        seen: as for `evaluate`, one for each tokenizer; or none.

    Returns:
        What `evaluate` gives for each.
    """
    measures = [_Measure(tokenizer, threads) for tokenizer in tokenizers]
    listeners = seen or [_nobody] * len(measures)
    vocabulary: set[str] = set()
    documents = n_bytes = 0
    for batch in _batches(texts):
        words = _Words(batch)
        vocabulary.update(words.joined.split())
        documents += len(batch)
        batch_bytes = sum(len(text.encode("utf-8", "replace")) for text in batch)
        for number, (measure, listener) in enumerate(zip(measures, listeners, strict=True), 1):
            listener(batch, measure.add(words))
            if progress is not None:
                progress("encode", n_bytes * len(measures) + batch_bytes * number, 0)
        n_bytes += batch_bytes
    distinct = sorted(vocabulary)
    return [measure.result(documents, n_bytes, distinct) for measure in measures]


def _nobody(texts: list[str], encoded: EncodingBatch) -> None:
    """Listens to no batch."""
    del texts, encoded


class _Measure:
    """What one tokenizer makes of the batches so far."""

    def __init__(self, tokenizer: Tokenizer, threads: int | None) -> None:
        self.tokenizer = tokenizer
        self.threads = threads
        self.frequency = np.zeros(tokenizer.vocab_size, dtype=np.int64)
        self.words = self.word_tokens = self.continued = 0

    def encode(self, texts: list[str]) -> EncodingBatch:
        return self.tokenizer.encode_batch(
            texts, threads=self.threads, add_special_tokens=False, offsets=True
        )

    def add(self, words: "_Words") -> EncodingBatch:
        encoded = self.encode(words.texts)
        self.frequency += np.bincount(encoded.ids, minlength=len(self.frequency))
        per_word = words.tokens_per_word(encoded)
        self.words += len(per_word)
        self.word_tokens += int(per_word.sum())
        self.continued += int((per_word > 1).sum())
        return encoded

    def retention(self, distinct: list[str]) -> float:
        """Share of distinct words that are one token inside running text."""
        if not distinct:
            return float("nan")
        # As in running text: behind a space, which may or may not join the word.
        spaced = [f" {word}" for word in distinct]
        per_word = _Words(spaced).tokens_per_word(self.encode(spaced))
        return float((per_word == 1).mean())

    def result(self, documents: int, n_bytes: int, distinct: list[str]) -> Evaluation:
        tokenizer, frequency = self.tokenizer, self.frequency
        tokens = int(frequency.sum())
        unknown = unknown_id(tokenizer)
        return Evaluation(
            documents=documents,
            bytes=n_bytes,
            tokens=tokens,
            words=self.words,
            bytes_per_token=_ratio(n_bytes, tokens),
            tokens_per_word=_ratio(self.word_tokens, self.words),
            continued_words=_ratio(self.continued, self.words),
            single_token_retention=self.retention(distinct),
            unknown_rate=_ratio(0 if unknown is None else int(frequency[unknown]), tokens),
            renyi_efficiency=renyi_efficiency(frequency, tokenizer.n_tokens),
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


def _batches(texts: Iterable[str]) -> Iterator[list[str]]:
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


class _Words:
    """Where the words of texts are; texts are joined by line feeds."""

    def __init__(self, texts: list[str]) -> None:
        self.texts = texts
        self.joined = "\n".join(texts)
        codes = np.frombuffer(self.joined.encode("utf-32-le", "surrogatepass"), dtype="<u4")
        is_space = np.ones(len(codes) + 2, dtype=bool)
        is_space[1:-1] = _IS_SPACE[np.minimum(codes, len(_IS_SPACE) - 1)]
        self.starts = np.flatnonzero(is_space[:-1] & ~is_space[1:])
        self.ends = np.flatnonzero(~is_space[:-1] & is_space[1:])
        self.text_starts = np.zeros(len(texts), dtype=np.int64)  # in characters of what is joined
        self.text_starts[1:] = np.cumsum([len(text) + 1 for text in texts[:-1]])

    def tokens_per_word(self, encoded: EncodingBatch) -> NDArray[np.int64]:
        """Counts, for each word of the texts in order, the tokens that touch it."""
        tokens = encoded.offsets("chars", trim=False)
        tokens = tokens + np.repeat(self.text_starts, np.diff(encoded.row_offsets))[:, None]
        # Spans stand in order, so the tokens that touch a word stand side by side:
        # from the first that ends behind its start to the last that begins before its end.
        first = np.searchsorted(tokens[:, 1], self.starts, side="right")
        behind = np.searchsorted(tokens[:, 0], self.ends, side="left")
        per_word: NDArray[np.int64] = np.maximum(behind - first, 0).astype(np.int64)
        return per_word


def unknown_id(tokenizer: Tokenizer) -> int | None:
    """Returns the id of what a tokenizer does not know, if it has one."""
    token = tokenizer.info().get("unk_token")
    return None if token is None else tokenizer.token_to_id(token)


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else float("nan")
