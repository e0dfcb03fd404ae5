"""`encode_chats`: chats as token shards, with masks of what the assistant wrote, and packed into rows.

Chats are rendered and encoded some hundred at a time, here or by other processes, and written in order, so
the files depend on the chats and the options alone. Memory has the chats that are packed together and the
bounds of documents in one shard.
"""

import errno
import hashlib
import os
import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import remote
from .._sentitok import EncodeError, FormatError, Tokenizer
from ..adapters.processes import begin
from ..atomic import new_folder, writing
from ..documents import Documents, n_bytes
from ..messages import shown
from ..numbers import whole
from ..shards import Shard, manifest_json, type_of_ids, write_ends, write_manifest
from .encoder import ChatEncoder, RenderedChat
from .packing import BUFFER_TOKENS, Piece, cut_rows, packed_rows
from .records import ChatRecord, RecordError, chat_of, chat_of_line

__all__ = ["SHARD_TOKENS", "TRUNCATIONS", "encode_chats"]

#: Ids of a shard, at most; a row or chat that is longer is a shard alone.
SHARD_TOKENS = 1 << 27
#: Treatments of a chat that is longer than a row.
TRUNCATIONS = ("error", "drop", "left", "right")
# Chats rendered and encoded at a time, and characters of their lines.
_CHUNK_CHATS = 512
_CHUNK_CHARS = 1 << 20
# Chunks in the hands of each process.
_CHUNKS_AHEAD = 3
_FILES = re.compile(r"shard-\d{5,}\.(bin|idx\.npy|idx|mask\.bin|rows\.npy|txt)")

Progress = Callable[[str, int, int], object]


class _Chunk(NamedTuple):
    """Neighbouring chats: lines of a file, or objects.

    Attributes:
        name: of the file; `None` for objects.
        numbers: of the lines or objects.
        chats: the lines or objects.
    """

    name: str | None
    numbers: list[int]
    chats: list[Any]

    def where(self, place: int) -> str:
        """Says which chat it is."""
        if self.name is None:
            return f"chat {self.numbers[place]}, counted from 0"
        return f"{self.name}, line {self.numbers[place]}"


class _Encoded(NamedTuple):
    """A chunk as ids.

    Attributes:
        ids: of all its chats, end to end.
        mask: whether the assistant wrote each, if that was asked for.
        lengths: of the chats.
        kinds: how many chats there are of each kind.
        where: which each is.
    """

    ids: NDArray[np.uint32]
    mask: NDArray[np.bool_] | None
    lengths: list[int]
    kinds: Counter[str]
    where: _Chunk


@dataclass
class _Taken:
    """Counts of the chats."""

    chats: int = 0
    truncated: int = 0
    dropped: int = 0
    assistant_tokens: int = 0
    kinds: Counter[str] = field(default_factory=Counter)


def encode_chats(
    source: str | os.PathLike[str] | Iterable[Any],
    out_dir: str | os.PathLike[str],
    tokenizer: Tokenizer,
    *,
    chat_template: str | None = None,
    mask: str | None = None,
    pack: int | None = None,
    cut: bool = False,
    truncate: str = "error",
    pad: str | None = None,
    specials: str = "none",
    shard_tokens: int = SHARD_TOKENS,
    buffer_tokens: int = BUFFER_TOKENS,
    max_line_bytes: int | None = None,
    resume: bool = True,
    threads: int | None = None,
    processes: int = 1,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Writes chats as token shards, which `sentitok.datasets.TokenDataset` reads.

    A chat is an object with `messages` or `conversations`, and perhaps `tools` and `documents`.

    Args:
        source: a file of JSON Lines, or several; or chats: objects, or lists of messages.
        out_dir: the directory to write.
        tokenizer: its settings hold the template and the special tokens.
        chat_template: a template, or the name of one of the settings'.
        mask: `"assistant"` writes which ids the assistant wrote.
        pack: ids of a row; without it a document is a chat, of any length.
        cut: cut chats where a row ends, instead of packing whole ones by best fit.
        truncate: the treatment of a chat that is longer than a row: `"error"`; `"drop"`; `"left"`, which
            keeps its end; or `"right"`, which keeps its beginning.
        pad: the token that readers fill rows with; the padding token of the settings, or the one that ends a
            text, if not given.
        specials: `"none"`, or `"all"`: special tokens that a message spells are tokens too.
        shard_tokens: the most ids of a shard; a longer row or chat is a shard alone.
        buffer_tokens: how many ids are packed together.
        max_line_bytes: the longest line; 2^28 if not given.
        resume: leave a directory as it is that has these chats; otherwise it is written again.
        threads: how many threads encode texts; as many as there are cores if not given.
        processes: how many run the template; more than one are spawned, so a script needs
            `if __name__ == "__main__":`.
        progress: called with the stage `encode`, and bytes read and in all.

    Returns:
        The manifest.

    Raises:
        FileExistsError: if `out_dir` holds another data set.
        FormatError: for a line that is not a chat, with its line and column.
        EncodeError: for a template that cannot be run, refuses a chat, or hides which text the assistant
            wrote; and for a chat that is longer than a row. The line or the number of the chat is named.
        ValueError: for options that do not act together.
    """
    given = _Options.of(tokenizer, chat_template, mask, pack, cut, truncate, pad, specials)
    whole("shard_tokens", shard_tokens, "at least 1", 1)
    whole("buffer_tokens", buffer_tokens, "at least 1", 1)
    whole("processes", processes, "at least 1", 1)
    paths = _paths(source)
    settings = given.manifest(shard_tokens, buffer_tokens, paths)
    with remote.written(out_dir) as out:
        there = _there(out, settings, tokenizer, is_known=paths is not None) if resume else None
        if there is not None:
            return there
        _clear(out)
        chunks = _of_files(paths, max_line_bytes, progress) if paths is not None else _of_objects(source)
        encoder = ChatEncoder(tokenizer, chat_template, specials=specials, masked=mask is not None)
        taken = _Taken()
        pieces = _pieces(_encoded(encoder, chunks, threads, processes), given, taken)
        shards = _write(out, tokenizer, pieces, given, shard_tokens, buffer_tokens)
        settings["chats"] |= {
            "read": taken.chats, "truncated": taken.truncated, "dropped": taken.dropped,
            "assistant_tokens": taken.assistant_tokens if mask else None,
            "kinds": dict(sorted(taken.kinds.items())),
        }  # fmt: skip
        return write_manifest(out, tokenizer, None, shards, **settings)


@dataclass(frozen=True)
class _Options:
    """The options that decide the output, checked."""

    tokenizer: Tokenizer
    templates: dict[str, str]
    mask: str | None
    pack: int | None
    cut: bool
    truncate: str
    pad_id: int | None
    specials: str

    @classmethod
    def of(
        cls,
        tokenizer: Tokenizer,
        chat_template: str | None,
        mask: str | None,
        pack: int | None,
        cut: bool,
        truncate: str,
        pad: str | None,
        specials: str,
    ) -> "_Options":
        if mask not in (None, "assistant"):
            raise ValueError(f'mask is "assistant", or left out, not {shown(mask)}')
        if specials not in ("none", "all"):
            raise ValueError(f'specials is "none" or "all" for chats, not {shown(specials)}')
        if truncate not in TRUNCATIONS:
            raise ValueError(f"truncate is one of {', '.join(TRUNCATIONS)}, not {shown(truncate)}")
        for name, is_given in (("cut", cut), ("truncate", truncate != "error"), ("pad", pad is not None)):
            if is_given and pack is None:
                raise ValueError(f"{name}= is about rows; give their length too, as in pack=4096")
        if cut and truncate != "error":
            raise ValueError(
                f"cut=True cuts every chat at the end of a row; leave out truncate={shown(truncate)}"
            )
        if pack is not None:
            whole("pack", pack, "at least 1", 1, bits=31)
        settings = tokenizer.settings
        templates = (
            dict(settings.chat_templates)
            if chat_template is None
            else {"default": settings.chat_templates.get(chat_template, chat_template)}
        )
        if not templates:
            raise ValueError("this tokenizer has no chat template; give one as chat_template=")
        pad_id = None if pack is None else _pad_id(tokenizer, pad)
        return cls(tokenizer, templates, mask, pack, cut, truncate, pad_id, specials)

    def manifest(self, shard_tokens: int, buffer_tokens: int, paths: list[str] | None) -> dict[str, Any]:
        """The manifest's entry on them."""
        pack = None
        if self.pack is not None:
            rule = {} if self.cut else {"truncate": self.truncate, "buffer_tokens": buffer_tokens}
            pack = {"length": self.pack, "cut": self.cut, "pad_id": self.pad_id, **rule}
        templates = "\0".join(f"{name}\0{text}" for name, text in sorted(self.templates.items()))
        return {
            "chats": {
                "template_sha256": hashlib.sha256(templates.encode("utf-8", "surrogatepass")).hexdigest(),
                "specials": self.specials,
                "mask": self.mask,
            },
            "pack": pack,
            "shard_tokens": shard_tokens,
            "sources": [{"name": "<iterable>", "bytes": None}]
            if paths is None
            else [{"name": remote.shown(path), "bytes": _size(path)} for path in paths],
        }


def _pad_id(tokenizer: Tokenizer, pad: str | None) -> int:
    roles = tokenizer.settings.special_tokens
    token = pad or roles.get("pad_token") or roles.get("eos_token")
    if token is None:
        raise ValueError(
            "the tokenizer names no token to fill rows with, neither for padding nor for the end of a text; "
            "give one as pad="
        )
    id = tokenizer.token_to_id(token)
    if id is None:
        raise ValueError(f"pad={shown(token)} is not a token of this tokenizer; name one of its tokens")
    return id


def _paths(source: Any) -> list[str] | None:
    """The files of a source; `None` for chats in memory."""
    if isinstance(source, (str, os.PathLike)):
        return remote.expand([source])
    if isinstance(source, Sequence) and source and all(isinstance(one, (str, os.PathLike)) for one in source):
        return remote.expand(source)
    if not isinstance(source, Iterable):
        raise TypeError(f"source is {shown(source)}; it is a file, several, or chats")
    return None


def _size(path: str) -> int | None:
    """The bytes of a file; `None` of a pipe."""
    if remote.is_url(path):
        return remote.size(path)
    return Path(path).stat().st_size if path != "-" and Path(path).is_file() else None


def _there(
    out: Path, settings: dict[str, Any], tokenizer: Tokenizer, *, is_known: bool
) -> dict[str, Any] | None:
    """The manifest of a directory that has these chats.

    Args:
        out: the directory.
        settings: the expected settings of its manifest.
        tokenizer: the expected tokenizer of its ids.
        is_known: whether the chats can be recognised: files are, by name and size.

    Raises:
        FileExistsError: if it holds another data set, or perhaps another.
        FormatError: if its manifest cannot be read.
    """
    path = out / "manifest.json"
    if not path.exists():
        return None
    manifest = manifest_json(path)
    manifest = manifest if isinstance(manifest, dict) else {}
    wanted = {**settings, "tokenizer_sha256": tokenizer.fingerprint}
    chats = manifest.get("chats")
    there = {name: manifest.get(name) for name in wanted}
    there["chats"] = (
        {name: chats.get(name) for name in settings["chats"]} if isinstance(chats, dict) else None
    )
    for name, value in wanted.items():
        if there[name] != value or not is_known:
            said = (
                f"holds another data set: {name} is {shown(there[name])} there and {shown(value)} here"
                if there[name] != value
                else "holds a data set, and whether it is of the same chats is not known"
            )
            remedy = "choose another directory, or start again with resume=False"
            raise FileExistsError(errno.EEXIST, f"{said}; {remedy}", str(out))
    return manifest


@contextmanager
def _cleared_on_error(out: Path) -> Iterator[None]:
    """Removes finished shards if the body raises, because no later call continues after them."""
    try:
        yield
    except BaseException:
        _clear(out)
        raise


def _clear(out: Path) -> None:
    """Removes a data set, or what a run left that was stopped; the manifest first."""
    if out.is_dir():
        (out / "manifest.json").unlink(missing_ok=True)
        for one in out.iterdir():
            if _FILES.fullmatch(one.name):
                one.unlink()


def _of_objects(source: Any) -> Iterator[_Chunk]:
    chunk = _Chunk(None, [], [])
    for number, chat in enumerate(source):
        chunk.numbers.append(number)
        chunk.chats.append(chat)
        if len(chunk.chats) == _CHUNK_CHATS:
            yield chunk
            chunk = _Chunk(None, [], [])
    if chunk.chats:
        yield chunk


def _of_files(paths: list[str], max_line_bytes: int | None, progress: Progress | None) -> Iterator[_Chunk]:
    total, done = n_bytes(paths, "lines"), 0
    for path in paths:
        name = remote.shown(path)
        chunk, n_chars = _Chunk(name, [], []), 0
        lines = Documents([path], "lines", max_line_bytes=max_line_bytes, invalid_utf8="error")
        for number, line in enumerate(lines, 1):
            done += len(line)
            if not line.strip():
                continue
            chunk.numbers.append(number)
            chunk.chats.append(line)
            n_chars += len(line)
            if len(chunk.chats) == _CHUNK_CHATS or n_chars >= _CHUNK_CHARS:
                yield chunk
                chunk, n_chars = _Chunk(name, [], []), 0
                if progress is not None:
                    progress("encode", min(done, total), total)
        if chunk.chats:
            yield chunk
    if progress is not None:
        progress("encode", total, total)


def _encoded(
    encoder: ChatEncoder, chunks: Iterator[_Chunk], threads: int | None, processes: int
) -> Iterator[_Encoded]:
    """Encodes chunks, and yields them in order."""
    if processes == 1:
        for chunk in chunks:
            yield _encode(encoder, chunk, threads)
        return
    arguments = (encoder.tokenizer, encoder.chat_template, encoder.specials, encoder.masked)
    with ProcessPoolExecutor(
        processes, mp_context=get_context("spawn"), initializer=_begin, initargs=arguments
    ) as pool:
        running: deque[Future[_Encoded]] = deque()
        try:
            for chunk in chunks:
                running.append(pool.submit(_encode_here, chunk))
                if len(running) > processes * _CHUNKS_AHEAD:
                    yield running.popleft().result()
            while running:
                yield running.popleft().result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


# The encoder of a process.
_of_process: list[ChatEncoder] = []


def _begin(tokenizer: Tokenizer, chat_template: str | None, specials: str, masked: bool) -> None:
    begin()
    _of_process.append(ChatEncoder(tokenizer, chat_template, specials=specials, masked=masked))


def _encode_here(chunk: _Chunk) -> _Encoded:
    return _encode(_of_process[0], chunk, 1)


def _encode(encoder: ChatEncoder, chunk: _Chunk, threads: int | None) -> _Encoded:
    """Encodes the chats of a chunk.

    Raises:
        EncodeError, FormatError: naming the line or the chat.
    """
    kinds: Counter[str] = Counter()
    rendered: list[RenderedChat] = []
    for place, chat in enumerate(chunk.chats):
        record = _record(chunk, place, chat)
        kinds[record.kind] += 1
        try:
            one = encoder.render(record.messages, tools=record.tools, documents=record.documents)
            if not one.text:
                raise EncodeError("the chat template writes nothing for this chat; leave the chat out")
        except (EncodeError, TypeError, ValueError) as error:
            raise EncodeError(f"{chunk.where(place)}: {error}") from error
        rendered.append(one)
    ids: list[NDArray[np.uint32]] = []
    masks: list[NDArray[np.bool_]] = []
    for encoding, mask in encoder.encode_many(rendered, threads):
        ids.append(encoding.ids)
        if mask is not None:
            masks.append(mask)
    return _Encoded(
        np.concatenate(ids),
        np.concatenate(masks) if masks else None,
        list(map(len, ids)),
        kinds,
        chunk._replace(chats=[]),
    )


def _record(chunk: _Chunk, place: int, chat: Any) -> ChatRecord:
    if chunk.name is not None:
        return chat_of_line(chat, chunk.where(place))
    try:
        return chat_of(chat)
    except RecordError as error:
        path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.path)
        raise FormatError(f"{chunk.where(place)}, ${path}: {error}") from None


def _pieces(encoded: Iterator[_Encoded], given: _Options, taken: _Taken) -> Iterator[Piece]:
    """The chats as they are packed, by the rule for chats that are too long."""
    for ids, mask, lengths, kinds, where in encoded:
        taken.kinds += kinds
        start = 0
        for place, n_ids in enumerate(lengths):
            taken.chats += 1
            piece = Piece(ids[start : start + n_ids], None if mask is None else mask[start : start + n_ids])
            start += n_ids
            kept = _kept(piece, given, where, place)
            if kept is None:
                taken.dropped += 1
                continue
            taken.truncated += len(kept.ids) < n_ids
            if kept.mask is not None:
                taken.assistant_tokens += int(kept.mask.sum())
            yield kept


def _kept(piece: Piece, given: _Options, where: _Chunk, place: int) -> Piece | None:
    """The kept part of a chat; `None` if it is left out."""
    n_ids = len(piece.ids)
    if given.pack is None or given.cut or n_ids <= given.pack:
        return piece
    if given.truncate == "error":
        raise EncodeError(
            f"{where.where(place)}: the chat has {n_ids} ids, and a row {given.pack}; choose longer rows, "
            "truncate='left', 'right' or 'drop', or cut=True"
        )
    if given.truncate == "drop":
        return None
    part = slice(-given.pack, None) if given.truncate == "left" else slice(given.pack)
    kept = Piece(piece.ids[part], None if piece.mask is None else piece.mask[part])
    # A part without ids of the assistant trains nothing.
    return kept if kept.mask is None or kept.mask.any() else None


def _write(
    out: Path,
    tokenizer: Tokenizer,
    pieces: Iterator[Piece],
    given: _Options,
    shard_tokens: int,
    buffer_tokens: int,
) -> list[Shard]:
    """Writes pieces, or rows of them, into shards."""
    if given.pack is None:
        rows: Iterator[list[Piece]] = ([piece] for piece in pieces)
    elif given.cut:
        rows = cut_rows(pieces, given.pack)
    else:
        rows = packed_rows(pieces, given.pack, buffer_tokens)
    shards: list[Shard] = []
    writer: _ShardWriter | None = None
    with new_folder(out), _cleared_on_error(out), ExitStack() as stack:
        for row in rows:
            n_ids = sum(len(piece.ids) for piece in row)
            if writer is not None and writer.tokens + n_ids > shard_tokens:
                shards.append(writer.finish())
                stack.pop_all().close()
                writer = None
            if writer is None:
                writer = _ShardWriter(out, len(shards), tokenizer, given, stack)
            writer.push(row)
        if writer is not None:
            shards.append(writer.finish())
            stack.pop_all().close()
    return shards


class _ShardWriter:
    """The files of one shard while it is written."""

    def __init__(
        self, out: Path, number: int, tokenizer: Tokenizer, given: _Options, stack: ExitStack
    ) -> None:
        self._out, self._stem, self._stack, self._given = out, f"shard-{number:05}", stack, given
        self._dtype = type_of_ids(tokenizer).newbyteorder("<")
        self._ids = self._opened(f"{self._stem}.bin")
        self._mask = None if given.mask is None else self._opened(f"{self._stem}.mask.bin")
        self._ends: list[int] = []
        self._row_ends: list[int] = []
        self.tokens = 0

    def _opened(self, name: str) -> tuple[Any, Any]:
        temporary = self._stack.enter_context(writing(self._out / name))
        return self._stack.enter_context(open(temporary, "wb")), hashlib.sha256()

    def push(self, row: list[Piece]) -> None:
        """Appends a row."""
        for ids, mask in row:
            self._put(self._ids, ids.astype(self._dtype))
            if self._mask is not None and mask is not None:
                self._put(self._mask, mask.astype(np.uint8))
            self.tokens += len(ids)
            self._ends.append(self.tokens)
        self._row_ends.append(len(self._ends))

    @staticmethod
    def _put(opened: tuple[Any, Any], values: NDArray[Any]) -> None:
        file, digest = opened
        data = values.tobytes()
        file.write(data)
        digest.update(data)

    def finish(self) -> Shard:
        """Writes the bounds; returns what the manifest says of the shard."""
        index, rows = f"{self._stem}.idx.npy", f"{self._stem}.rows.npy"
        is_packed, is_masked = self._given.pack is not None, self._mask is not None
        return Shard(
            f"{self._stem}.bin", index, len(self._ends), self.tokens, self._ids[1].hexdigest(),
            write_ends(self._out / index, self._ends),
            mask_file=f"{self._stem}.mask.bin" if is_masked else None,
            mask_sha256=self._mask[1].hexdigest() if self._mask is not None else None,
            rows=len(self._row_ends) if is_packed else 0,
            rows_file=rows if is_packed else None,
            rows_sha256=write_ends(self._out / rows, self._row_ends) if is_packed else None,
        )  # fmt: skip
