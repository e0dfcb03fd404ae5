"""The documents of text files, one by one, without excluded lines.

A document is a line, a paragraph, a whole file, a field of a JSON line or a column of CSV or TSV. Files are
read through the one opener of the package, so gz, xz, bz2 and zst are unpacked and bytes that are not text
are an error with their place; a corpus that a tokenizer is trained on is read twice.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sentitok import Tokenizer
from sentitok.datasets import TokenDataset
from sentitok.shards import is_dataset

from ..config import CorpusConfig
from ..data.exclusion import Exclusion
from ..data.opening import TextFile, open_text, plain_suffix, whole_characters
from ..data.separated import parsed, recognised
from ..errors import DataError

__all__ = ["DOCUMENTS", "Block", "Documents", "files_of", "kind_of", "of_shards", "of_texts"]

# Characters of a document, where no limit is given.
_MOST = 1 << 28
_KINDS = "lines, paragraphs, text, jsonl:FIELD, csv:COLUMN or tsv:COLUMN"


def files_of(corpus: Iterable[str]) -> list[Path]:
    """Returns the files of a corpus; of a folder all that are not hidden, in the order of their names.

    Raises:
        DataError: if there are none, one is given twice, or an encoded corpus stands among them.
        FileNotFoundError: if one is not there.
    """
    paths: list[Path] = []
    places: dict[Path, int] = {}
    for name in corpus:
        path = Path(name)
        if path.is_dir():
            inside = sorted(
                one
                for one in path.rglob("*")
                if one.is_file() and not any(part.startswith(".") for part in one.relative_to(path).parts)
            )
            if not inside:
                raise DataError(f"{path}: a folder without files; give files of texts")
            _refuse_encoded(path, inside)
            paths += inside
        else:
            if not path.exists():
                raise FileNotFoundError(2, "No such file or directory", name)
            paths.append(path)
    for n, path in enumerate(paths):
        first = places.setdefault(path.resolve(), n)
        if first != n:
            # Documents are held out by their number, so a copy would be trained on.
            raise DataError(f"{path}: given twice, as {paths[first]} too; name each file once")
    if not paths:
        raise DataError("no corpus: name files of texts, or directories that sentitok encode wrote")
    return paths


def _refuse_encoded(folder: Path, inside: Iterable[Path]) -> None:
    """Refuses a folder of texts that has an encoded corpus in it, whose files are no texts.

    Raises:
        DataError: naming both.
    """
    for path in inside:
        if path.name == "manifest.json" and is_dataset(path.parent):
            raise DataError(
                f"{folder}: an encoded corpus is in it, {path.parent}; name that folder, or files of texts"
            )


class Documents:
    """The documents of a corpus of texts.

    Args:
        config: `[data]`.

    Attributes:
        sources: of each file that was read to its end: its name, hash and documents.
        n_left_out: documents that lost lines because `--exclude` has their texts.
    """

    def __init__(self, config: CorpusConfig) -> None:
        self.config = config
        self.files = files_of(config.corpus)
        self.sources: list[dict[str, object]] = []
        self.n_left_out = 0
        self._exclusion = Exclusion.read(config.exclude)

    def __iter__(self) -> Iterator[str]:
        """Yields the documents that hold text; those of each call are the same.

        Raises:
            DataError: if a file cannot be read.
        """
        self.sources, self.n_left_out = [], 0
        left = self.config.limit
        for path in self.files:
            n_documents = 0
            encoding = self.config.encoding or "utf-8"
            with open_text(path, encoding, self.config.max_line_bytes) as file:
                for document in self._kept(
                    _read(file, self.config.format, encoding, self.config.max_line_bytes)
                ):
                    if left is not None and n_documents >= left:
                        break
                    if document.strip():
                        n_documents += 1
                        yield document
                sha256 = file.sha256()
            self.sources.append({"source": str(path), "sha256": sha256, "documents": n_documents})
            if left is not None:
                left -= n_documents
                if left <= 0:
                    return

    def _kept(self, documents: Iterable[str]) -> Iterator[str]:
        """Yields documents without excluded lines."""
        for text in documents:
            kept = self._exclusion.without(text)
            self.n_left_out += kept is not text
            yield kept


def _read(file: TextFile, format: str | None, encoding: str, limit: int | None) -> Iterator[str]:
    kind, field = kind_of(file.path, format)
    if kind == "lines":
        yield from file.lines()
    elif kind == "paragraphs":
        yield from _paragraphs(file, limit)
    elif kind == "text":
        yield _whole(file, limit)
    elif kind == "jsonl":
        yield from _fields(file, field)
    elif kind in ("csv", "tsv"):
        yield from _column(file, kind, field, encoding, limit)
    else:
        raise DataError(f"format {format!r}: unknown; expected {_KINDS}")


def kind_of(path: Path, format: str | None) -> tuple[str, str]:
    """Returns what a document of a file is, by the format or else by the file's name, and its field."""
    suffix = plain_suffix(path)
    of_name = {".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl"}.get(suffix, "lines")
    kind, _, field = (format or of_name).partition(":")
    return kind, field or ("text" if kind == "jsonl" else "")


def _paragraphs(file: TextFile, limit: int | None) -> Iterator[str]:
    most = _MOST if limit is None else limit
    block: list[str] = []
    size = 0
    for number, line in enumerate(file.lines(), 1):
        if line.strip():
            block.append(line)
            size += len(line) + 1
            if size > most:
                raise DataError(
                    f"{file.path}, line {number}: a paragraph of more than {most} characters, the most that "
                    "one document has; take --format lines, or raise --max-line-bytes"
                )
        elif block:
            yield "\n".join(block)
            block, size = [], 0
    if block:
        yield "\n".join(block)


def _whole(file: TextFile, limit: int | None) -> str:
    most = _MOST if limit is None else limit
    text = file.stream().read(most + 1)
    if len(text) > most:
        raise DataError(
            f"{file.path}: longer than {most} characters, the most that one document has; "
            "take --format paragraphs, or raise --max-line-bytes"
        )
    return text


def _fields(file: TextFile, field: str) -> Iterator[str]:
    for number, line in enumerate(file.lines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{file.path}, line {number}: not JSON: {error}") from None
        value = row.get(field) if isinstance(row, dict) else None
        if not isinstance(value, str):
            there = ", ".join(map(str, row)) if isinstance(row, dict) else "no fields"
            raise DataError(
                f"{file.path}, line {number}: no text in the field {field!r}; it has {there}; "
                "name it, as in --format jsonl:FIELD"
            )
        yield whole_characters(value)


def _column(file: TextFile, kind: str, name: str, encoding: str, limit: int | None) -> Iterator[str]:
    """Yields the cells of a column of CSV or TSV, read as tables of labelled texts are."""

    @contextmanager
    def opened() -> Iterator[IO[str]]:
        with open_text(file.path, encoding, limit) as again:
            yield again.stream()

    dialect = recognised(
        opened, file.path, tabs=kind == "tsv", separator="\t" if kind == "tsv" else ",", header=True,
        limit=file.longest, asked=[name], known=lambda column: column == name,
    )  # fmt: skip
    if name not in dialect.names:
        raise DataError(
            f"{file.path}: which column is the text? It has {', '.join(dialect.names)}; "
            f"name it, as in --format {kind}:COLUMN"
        )
    place = dialect.names.index(name)
    for block in dialect.blocks(file.stream(), file.path, file.longest):
        yield from parsed(file.path, block, len(dialect.names), [place])[place]


# Some documents as ids, from texts or from token shards, a few at a time.
#
# So a corpus goes by in memory that does not grow with it.

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
    for texts in _in_blocks(documents, _CHARACTERS):
        batch = tokenizer.encode_batch(texts, add_special_tokens=False)
        lengths = np.diff(batch.row_offsets)
        ends = np.cumsum(lengths + 1)
        ids = np.full(int(ends[-1]), end, np.int64)
        is_text = np.ones(len(ids), np.bool_)
        is_text[ends - 1] = False
        ids[is_text] = batch.ids
        yield Block(ids, ends, [text.encode() for text in texts], np.ones(len(texts), np.bool_))


def _in_blocks(documents: Iterable[str], characters: int) -> Iterator[list[str]]:
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
    dataset: TokenDataset, tokenizer: Tokenizer, limit: int | None, exclusion: Exclusion
) -> Iterator[Block]:
    """Yields the documents of token shards, those with excluded lines marked."""
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
        kept = np.array([not exclusion.holds(text.decode("utf-8", "replace")) for text in texts], np.bool_)
        yield Block(ids, here, texts, kept)
        done, token = done + len(ends), int(ends[-1])
