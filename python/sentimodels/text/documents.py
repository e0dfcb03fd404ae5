"""The documents of text files, one by one, without excluded lines.

A document is a text of any format of the table of readers (`data/readers.py`): a line, a paragraph, a whole
file, or a cell of a table. A corpus that a tokenizer is trained on is read twice.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sentitok import Tokenizer
from sentitok.datasets import TokenDataset
from sentitok.shards import is_dataset

from ..config import CorpusConfig
from ..data.exclusion import Exclusion
from ..data.opening import plain_suffix
from ..data.readers import READERS, open_texts
from ..data.separated import separator_of
from ..errors import ConfigError, DataError

__all__ = ["DOCUMENTS", "Block", "Documents", "files_of", "kind_of", "of_shards", "of_texts"]


def files_of(corpus: Iterable[str]) -> list[Path]:
    """Returns the files of a corpus; of a folder all that are not hidden, in the order of their names.

    Raises:
        DataError: if there are none, one is given twice, or an encoded corpus is among them.
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
    """Refuses a folder of texts that has an encoded corpus in it, whose files are not texts.

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
        say: called once with the columns that were guessed.

    Attributes:
        sources: of each file that was read to its end: its name, hash and documents.
        n_left_out: documents that lost lines because `--exclude` has their texts.
    """

    def __init__(self, config: CorpusConfig, say: Callable[[str], None] | None = None) -> None:
        self.config = config
        self.files = files_of(config.corpus)
        for path in self.files:
            kind_of(path, config)  # a format that no file has is an error before any is read
        self.sources: list[dict[str, object]] = []
        self.n_left_out = 0
        self._exclusion = Exclusion.read(config.exclude)
        self._say, self._said = say, set[str]()

    def __iter__(self) -> Iterator[str]:
        """Yields the documents that hold text; those of each call are the same.

        Raises:
            DataError: if a file cannot be read.
        """
        self.sources, self.n_left_out = [], 0
        data, left = self.config, self.config.limit
        for path in self.files:
            n_documents = 0
            kind, column = kind_of(path, data)
            with open_texts(
                path, column, kind, encoding=data.encoding, max_line_bytes=data.max_line_bytes,
                separator=data.separator, header=data.header,
            ) as file:  # fmt: skip
                self._tell(f"{path}: {note}" for note in file.notes)
                for document in self._kept(file.texts):
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

    def _tell(self, notes: Iterable[str]) -> None:
        for note in notes:
            if self._say is not None and note not in self._said:
                self._say(note)
            self._said.add(note)

    def _kept(self, documents: Iterable[str]) -> Iterator[str]:
        """Yields documents without excluded lines."""
        for text in documents:
            kept = self._exclusion.without(text)
            self.n_left_out += kept is not text
            yield kept


def kind_of(path: Path, data: CorpusConfig) -> tuple[str, str | None]:
    """Returns the format of a file, and the column of its texts if it is named.

    A table is known by its suffix; every other file has a text in each line, unless a format is named.

    Raises:
        ConfigError: if two columns are named, or a format that no file has.
    """
    suffix = plain_suffix(path)
    # A folder of texts may have a .json file of anything in it, which `--format jsonl` reads as rows.
    suffixes = {one: name for name, row in READERS.items() if row.has_columns for one in row.suffixes}
    del suffixes[".json"]
    by_name = "tsv" if suffix in (".tsv", ".tab") else suffixes.get(suffix, "lines")
    if by_name == "lines" and data.separator is not None:
        by_name = "tsv" if separator_of(data.separator) == "\t" else "csv"
    kind, _, column = (data.format or by_name).partition(":")
    if kind not in READERS or READERS[kind].of_folders:
        formats = [
            f"{name}:COLUMN" if reader.has_columns else name
            for name, reader in READERS.items()
            if not reader.of_folders
        ]
        raise ConfigError(f"data.format: {data.format!r}: expected one of {', '.join(formats)}")
    if column and data.text_column not in (None, column):
        raise ConfigError(
            f"data.format: {data.format!r} and data.text_column: {data.text_column!r} name two columns; "
            "leave one out"
        )
    return kind, column or data.text_column


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
