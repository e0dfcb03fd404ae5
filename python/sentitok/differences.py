"""`differences`: where two tokenizers give different ids for the same texts.

Equal ids are found by whole batches of arrays, so it runs about as fast as both tokenizers encode.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Literal

import numpy as np

from ._sentitok import EncodingBatch, Tokenizer
from .documents import Documents
from .spelling import readable

__all__ = ["Difference", "Differences", "differences"]

# Documents compared at a time, and ids shown of the first that differs.
_BATCH = 4096
_SHOWN = 8
# Characters shown from there on.
_AROUND = 40


@dataclass(frozen=True)
class Difference:
    """The first place where ids differ.

    Attributes:
        file: the file.
        document: the number of the document in it, from 1 on; of lines, the line's.
        token: the place among the ids of the document, from 0 on.
        text: the text from there on, readable.
        ids_a: ids of the first tokenizer from there on, eight at most.
        ids_b: ids of the second.
        tokens_a: the tokens of these ids.
        tokens_b: the tokens of those.
    """

    file: str
    document: int
    token: int
    text: str
    ids_a: list[int]
    ids_b: list[int]
    tokens_a: list[str | None]
    tokens_b: list[str | None]


@dataclass(frozen=True)
class Differences:
    """What `differences` found.

    Attributes:
        documents: documents compared.
        differing: documents whose ids differ.
        tokens_a: tokens of the first tokenizer.
        tokens_b: tokens of the second.
        first: the first difference; `None` where all are equal.
        replaced: invalid parts of UTF-8 that were read as U+FFFD.
    """

    documents: int
    differing: int
    tokens_a: int
    tokens_b: int
    first: Difference | None
    replaced: int

    def as_dict(self) -> dict[str, object]:
        """Returns the fields by name."""
        return asdict(self)


def differences(
    one: Tokenizer,
    other: Tokenizer,
    paths: Iterable[str | os.PathLike[str]],
    format: str | None = None,
    *,
    max_line_bytes: int | None = None,
    invalid_utf8: Literal["error", "replace"] = "replace",
    threads: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Differences:
    """Encodes documents with two tokenizers and compares the ids.

    Args:
        one: the first tokenizer.
        other: the second.
        paths: the files, read once; `-` is stdin.
        format: as for `sentitok.count`; `None` goes by the file's name.
        max_line_bytes: the longest line or row; 2^28 if not given.
        invalid_utf8: whether bytes that are not UTF-8 are an error, or become U+FFFD.
        threads: threads that encode.
        progress: called as `progress("encode", bytes, 0)` after each batch.

    Raises:
        FormatError: if a file is damaged, or is not text.
        TrainError: if the format is unknown.
        OSError: if a file cannot be read.
    """
    n_documents = differing = n_one = n_other = n_bytes = replaced = 0
    first: Difference | None = None
    files = [
        (os.fspath(path), Documents([path], format, max_line_bytes=max_line_bytes, invalid_utf8=invalid_utf8))
        for path in paths
    ]  # a file that is missing is found before the first is read
    for path, documents in files:
        before = n_documents
        for texts in _batches(documents):
            a, b = (tokenizer.encode_batch(texts, threads=threads) for tokenizer in (one, other))
            rows = _differing(a, b)
            if rows and first is None:
                place = n_documents - before + rows[0]
                first = _first(one, other, path, place, texts[rows[0]])
            n_documents += len(texts)
            differing += len(rows)
            n_one += len(a.ids)
            n_other += len(b.ids)
            if progress is not None:
                n_bytes += sum(len(text.encode("utf-8", "replace")) for text in texts)
                progress("encode", n_bytes, 0)
        replaced += documents.replaced
    return Differences(n_documents, differing, n_one, n_other, first, replaced)


def _batches(texts: Iterator[str]) -> Iterator[list[str]]:
    while batch := list(islice(texts, _BATCH)):
        yield batch


def _differing(a: EncodingBatch, b: EncodingBatch) -> list[int]:
    """Returns the numbers of rows whose ids differ."""
    if np.array_equal(a.row_offsets, b.row_offsets) and np.array_equal(a.ids, b.ids):
        return []
    ends_a, ends_b = a.row_offsets.tolist(), b.row_offsets.tolist()
    return [
        row
        for row in range(len(a))
        if not np.array_equal(
            a.ids[ends_a[row] : ends_a[row + 1]], b.ids[ends_b[row] : ends_b[row + 1]]
        )
    ]  # fmt: skip


def _first(one: Tokenizer, other: Tokenizer, file: str, row: int, text: str) -> Difference:
    encoding = one.encode(text)
    a, b = encoding.ids.tolist(), other.encode(text).ids.tolist()
    at = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    spans = encoding.offsets("chars", trim=False).tolist()
    begin = int(spans[at][0]) if at < len(spans) else len(text)
    around = text[min(begin, max(0, len(text) - _AROUND)) :][:_AROUND]
    a, b = a[at : at + _SHOWN], b[at : at + _SHOWN]
    return Difference(
        file=file,
        document=row + 1,
        token=at,
        text=readable(around.encode("utf-8", "backslashreplace")),
        ids_a=a,
        ids_b=b,
        tokens_a=[one.id_to_token(id) for id in a],
        tokens_b=[other.id_to_token(id) for id in b],
    )
