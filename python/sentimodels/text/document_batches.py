"""`Block`: some documents as ids, from texts or from token shards, a few at a time.

So a corpus goes by in memory that does not grow with it. Not for what is done with the documents
(`corpus_stats.py`).
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sentitok import Tokenizer
from sentitok.datasets import TokenDataset

from ..errors import DataError
from .held_out import HeldOutLines

__all__ = ["DOCUMENTS", "Block", "in_blocks", "of_shards", "of_texts"]

# A block of documents: characters, documents, or tokens of it at most.
_CHARACTERS, DOCUMENTS, _TOKENS = 1 << 22, 1 << 15, 1 << 20


class Block(NamedTuple):
    """Some documents: where each ends among the ids of the block, and its text in UTF-8."""

    ids: NDArray[np.int64]
    ends: NDArray[np.int64]
    texts: list[bytes]
    kept: NDArray[np.bool_]


def of_texts(documents: Iterable[str], tokenizer: Tokenizer, end: int) -> Iterator[Block]:
    """Encodes documents, block by block; each is followed by its end."""
    for texts in in_blocks(documents, _CHARACTERS):
        batch = tokenizer.encode_batch(texts, add_special_tokens=False)
        lengths = np.diff(batch.row_offsets)
        ends = np.cumsum(lengths + 1)
        ids = np.full(int(ends[-1]), end, np.int64)
        is_text = np.ones(len(ids), np.bool_)
        is_text[ends - 1] = False
        ids[is_text] = batch.ids
        yield Block(ids, ends, [text.encode() for text in texts], np.ones(len(texts), np.bool_))


def in_blocks(documents: Iterable[str], characters: int) -> Iterator[list[str]]:
    """Yields documents some at a time, of so many characters together or a little more."""
    block: list[str] = []
    size = 0
    for document in documents:
        block.append(document)
        size += len(document)
        if size >= characters or len(block) >= DOCUMENTS:
            yield block
            block, size = [], 0
    if block:
        yield block


def of_shards(
    dataset: TokenDataset, tokenizer: Tokenizer, limit: int | None, watch: HeldOutLines
) -> Iterator[Block]:
    """Yields the documents of token shards, those with held-out lines marked."""
    n_documents = len(dataset) if limit is None else min(limit, len(dataset))
    done = token = 0
    while done < n_documents:
        ends = dataset.ends(done, min(done + DOCUMENTS, n_documents))
        ends = ends[: max(1, int(np.searchsorted(ends, token + _TOKENS)))]
        ids = dataset.stream(token, int(ends[-1])).astype(np.int64)
        if len(ids) and int(ids.max()) >= tokenizer.vocab_size:
            raise DataError(
                f"{dataset.directory}: id {int(ids.max())} in documents {done} to {done + len(ends)}; the "
                f"tokenizer has {tokenizer.vocab_size} tokens: the data set is damaged, encode it again"
            )
        here = ends - token
        rows = np.split(ids, here[:-1])
        texts = [tokenizer.decode_bytes(row[:-1]) for row in rows]
        read = [text.decode("utf-8", "replace") for text in texts]
        searched = zip(read, watch.screened(read), strict=True)
        kept = np.array([not may or _clean(text, watch) for text, may in searched], np.bool_)
        yield Block(ids, here, texts, kept)
        done, token = done + len(ends), int(ends[-1])


def _clean(text: str, watch: HeldOutLines) -> bool:
    """Whether a document has no held-out line; all its lines are counted."""
    return not sum([watch.holds(line) for line in text.split("\n")])
