"""`Input`: a file behind a URL, read in large blocks."""

import contextlib
import errno
import functools
import io
import os
import queue
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import IO, Any, TypeVar

from .stores import FIRST_PAUSES, ChangedError, Location, locate, retrying
from .urls import is_url, local_name, shown

# Bytes that are fetched at a time: large enough that a round trip does not matter.
BLOCK_BYTES = 8 << 20
# How many blocks are fetched while one is used, and by how many threads for all files.
BLOCKS_AHEAD = 4
_THREADS = 8
# Seconds after which a file that is being read is looked at again.
_LOOK_AGAIN = 1.0
_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class _Ranges:
    """Reads ranges of a file through fsspec, and finds out whether it changed."""

    def __init__(self, place: Location) -> None:
        self._place = place
        about = self._about()
        if about.get("type") == "directory":
            raise IsADirectoryError(errno.EISDIR, "", place.url)
        self.size = int(about["size"])
        self.mark = self._mark_of(about)

    def _about(self) -> dict[str, Any]:
        with contextlib.suppress(Exception):
            self._place.fs.invalidate_cache(self._place.fs._parent(self._place.path))
        about: dict[str, Any] = self._place.fs.info(self._place.path)
        return about

    @staticmethod
    def _mark_of(about: dict[str, Any]) -> tuple[Any, ...]:
        """The parts that change with a file: its size, and its version in the store."""
        keys = (
            "ETag", "etag", "LastModified", "last_modified", "mtime", "updated", "generation", "created",
            "blob_id",
        )  # fmt: skip
        return (about.get("size"), *(str(about[key]) for key in keys if about.get(key) is not None))

    def read(self, offset: int, length: int) -> bytes:
        end = min(offset + length, self.size)
        if offset >= end:
            return b""
        data = self._place.fs.cat_file(self._place.path, start=offset, end=end)
        if len(data) != end - offset:
            self.check()
            raise EOFError(f"{len(data)} bytes came, where {end - offset} were asked for")
        return bytes(data)

    def check(self) -> None:
        try:
            about = self._about()
        except FileNotFoundError:
            raise ChangedError from None
        if self._mark_of(about) != self.mark:
            raise ChangedError

    def close(self) -> None:
        """Nothing is held open."""


class _Web:
    """Reads a file of a web server: by ranges, or as one stream where the server sends no ranges.

    Each answer carries the mark of the file (ETag or Last-Modified), so that no further request is needed to
    find out that it changed.
    """

    def __init__(self, place: Location, first_bytes: int) -> None:
        import asyncio  # which imports the module of sockets

        self._place = place
        self.size: int | None = None
        self.mark: tuple[str | None, ...] | None = None
        self._stream: Any = None
        self._at = 0
        self._streaming = asyncio.Lock()
        self.is_ranged = True
        self._first = b""
        # The answer with the first bytes has size, mark and ranges in one request.
        self._first = self._sync(self._range(0, first_bytes))

    def _sync(self, coroutine: Any) -> Any:
        from fsspec.asyn import sync

        loop = self._place.fs.loop

        async def waited() -> Any:
            return await coroutine

        return sync(loop, waited)

    async def _get(self, headers: dict[str, str]) -> Any:
        fs = self._place.fs
        session = await fs.set_session()
        more = dict(fs.kwargs)
        more["headers"] = {**more.get("headers", {}), **headers}
        answer = await session.get(fs.encode_url(self._place.url), **more)
        if answer.status != 416:
            try:
                fs._raise_not_found_for_status(answer, self._place.url)
            except BaseException:
                answer.close()
                raise
        mark = (answer.headers.get("ETag"), answer.headers.get("Last-Modified"))
        if answer.status == 416:  # many servers leave the mark out of this answer
            return answer
        if self.mark is None:
            self.mark = mark
        elif any(old and new and old != new for old, new in zip(self.mark, mark, strict=True)):
            answer.close()
            raise ChangedError
        return answer

    async def _range(self, offset: int, length: int) -> bytes:
        answer = await self._get({"Range": f"bytes={offset}-{offset + length - 1}"})
        if answer.status == 206:
            async with answer:
                where = re.match(r"bytes (\d+)-(\d+)/(\d+|\*)", answer.headers.get("Content-Range", ""))
                if where is None or int(where[1]) != offset:
                    raise OSError(errno.EIO, "the server sent another range than it was asked for")
                self._has_size(None if where[3] == "*" else int(where[3]))
                data: bytes = await answer.read()
                if len(data) != int(where[2]) + 1 - offset:
                    raise EOFError(
                        f"{len(data)} bytes came, where {int(where[2]) + 1 - offset} were announced"
                    )
                return data
        if answer.status == 416:
            answer.close()
            if offset:
                return b""
            self._has_size(0)
            return b""
        # All of the file comes, whatever was asked for.
        self.is_ranged = False
        self._has_size(answer.content_length)
        async with self._streaming:
            self._drop()
            self._stream, self._at = answer, 0
        return await self._streamed(offset, length)

    def _has_size(self, size: int | None) -> None:
        if size is not None and self.size not in (None, size):
            raise ChangedError
        self.size = size if size is not None else self.size

    async def _streamed(self, offset: int, length: int) -> bytes:
        async with self._streaming:
            return await self._read_stream(offset, length)

    async def _read_stream(self, offset: int, length: int) -> bytes:
        if self._stream is None or self._at > offset:
            self._drop()
            self._stream, self._at = await self._get({}), 0
        try:
            while self._at < offset:
                skipped = await self._stream.content.read(min(1 << 20, offset - self._at))
                if not skipped:
                    return b""
                self._at += len(skipped)
            parts, missing = [], length
            while missing and (part := await self._stream.content.read(missing)):
                parts.append(part)
                missing -= len(part)
        except BaseException:
            self._drop()
            raise
        data = b"".join(parts)
        self._at += len(data)
        if self.size is not None and missing and self._at < self.size:
            self._drop()
            raise EOFError(f"it ended after {self._at} of {self.size} bytes")
        return data

    def _drop(self) -> None:
        if self._stream is not None:
            self._stream.close()
        self._stream = None

    def read(self, offset: int, length: int) -> bytes:
        if offset == 0 and self._first:
            first, self._first = self._first, b""
            if len(first) >= length or len(first) == self.size:
                return first[:length]
        if self.size is not None and offset >= self.size:
            return b""
        data: bytes = self._sync((self._range if self.is_ranged else self._streamed)(offset, length))
        return data

    def check(self) -> None:
        """Each answer was checked when it came."""

    def close(self) -> None:
        if self._stream is not None:
            self._place.fs.loop.call_soon_threadsafe(self._drop)


class _Pool:
    """A few threads for requests; they do not hold up the end of the process."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._work: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._free = threading.Semaphore(0)
        self._n_threads = 0

    def submit(self, work: Callable[[], _Result]) -> "Future[_Result]":
        """Runs `work` in a thread."""
        if self._pid != os.getpid():  # threads do not outlive a fork
            self._begin()
        future: Future[_Result] = Future()

        def run() -> None:
            try:
                future.set_result(work())
            # 2026-11-30: the caller that waits for the result gets it
            except BaseException as error:
                future.set_exception(error)

        self._work.put(run)
        if not self._free.acquire(blocking=False) and self._n_threads < _THREADS:
            self._n_threads += 1
            threading.Thread(target=self._run, name="sentitok-remote", daemon=True).start()
        return future

    def _run(self) -> None:
        work = self._work
        while True:
            work.get()()
            self._free.release()


_pool = _Pool()


def at_once(ask: Callable[[_Item], _Result], items: Iterable[_Item]) -> list[_Result]:
    """Returns the result of a request for each item, in order; several are under way at a time."""
    futures = [_pool.submit(functools.partial(ask, item)) for item in items]
    return [future.result() for future in futures]


class Input:
    """A file behind a URL, read in blocks; the next ones are fetched while one is used.

    Up to `BLOCKS_AHEAD` are fetched at a time for a caller that reads from block to block, and one for a
    caller that reads here and there.

    Attributes:
        name: the URL without credentials.
        size: in bytes; `None` where the server does not send it.
    """

    def __init__(
        self, url: str | os.PathLike[str], *, first_bytes: int = BLOCK_BYTES, read_ahead: bool = True
    ) -> None:
        """Finds the file.

        Args:
            url: where it is.
            first_bytes: how many of them a web server is asked for at once.
            read_ahead: fetch the next blocks while one is used; leave it off for reading here and there.

        Raises:
            ModuleNotFoundError: if a package is missing.
            OSError: if it is not there, or may not be read.
        """
        place = locate(url)
        self.name = shown(place.url)
        self._url = place.url

        def opened() -> _Ranges | _Web:
            return _Web(place, first_bytes) if place.is_http else _Ranges(place)

        self._reader = retrying(opened, place.url, "cannot be opened", FIRST_PAUSES)
        self._looked = time.monotonic()
        self._most_ahead = (BLOCKS_AHEAD if self.has_ranges else 1) if read_ahead else 0
        self._n_ahead = 0
        # Where reading continues unless the caller seeks.
        self._next = 0
        # Blocks that are fetched, by their start: how many bytes were asked for, and the bytes.
        self._ahead: dict[int, tuple[int, Future[bytes]]] = {}
        # A check of the file that began when its last block was taken.
        self._last_check: Future[None] | None = None

    @property
    def size(self) -> int | None:
        """The size in bytes; `None` where the server does not send it."""
        return self._reader.size

    @property
    def has_ranges(self) -> bool:
        """Whether a part can be read alone: some web servers send whole files only."""
        return not isinstance(self._reader, _Web) or self._reader.is_ranged

    @property
    def mark(self) -> str:
        """The file's version in the store, such as its ETag."""
        return " ".join(str(part) for part in self._reader.mark or () if part is not None)

    def read_at(
        self, offset: int, length: int, wait: float | None = None, until: int | None = None
    ) -> bytes | None:
        """Reads up to `length` bytes; fewer only at the end of the file.

        Args:
            offset: where.
            length: how many.
            wait: seconds after which `None` is returned; ask for the same again. Without it, as long as it
                takes.
            until: where the caller stops reading; nothing behind it is fetched ahead.

        Raises:
            OSError: if the file changed, or cannot be read.
        """
        if self.size is not None:
            # A block that was fetched ahead ends with the file.
            length = min(length, self.size - offset)
            if length <= 0:
                return b""
        asked, future = self._ahead.get(offset, (0, None))
        if future is None or asked < length:
            self._leave()
            future = self._fetch(offset, length)
            self._ahead[offset] = (length, future)
        if wait is not None:
            deadline = time.monotonic() + wait
            while not future.done():
                left = deadline - time.monotonic()
                if left <= 0:
                    return None
                with contextlib.suppress(TimeoutError):
                    future.exception(left)
        del self._ahead[offset]
        data = future.result()
        if len(data) > length:  # of a range that ends before the block that was fetched
            self._leave()
            return data[:length]
        is_next, self._next = offset == self._next, offset + len(data)
        self._n_ahead = min(2 * self._n_ahead if is_next and self._n_ahead else 1, self._most_ahead)
        if len(data) == length:
            self._fetch_ahead(self._next, length, until)
        if not self._ahead and self._next in (self.size, until):
            self._last_check = _pool.submit(self._check)
        return data

    def fetch_first(self, length: int) -> None:
        """Begins to fetch the first block, for a caller that will read it soon."""
        if self.has_ranges:
            self._ahead[0] = (length, self._fetch(0, length))

    def _fetch_ahead(self, start: int, length: int, until: int | None) -> None:
        """Begins to fetch the blocks from `start` on that are not there yet."""
        if self.size is None:
            end, count = start + length, min(self._n_ahead, 1)
        else:
            end, count = self.size, self._n_ahead
        end = end if until is None else min(end, until)
        for at in range(start, min(end, start + count * length), length):
            if at not in self._ahead:
                part = min(length, end - at)
                self._ahead[at] = (part, self._fetch(at, part))

    def _leave(self) -> None:
        """Gives up the blocks that were fetched ahead."""
        if not self.has_ranges:  # one stream cannot be read at two places at a time
            for _, future in self._ahead.values():
                future.exception()
        self._ahead.clear()
        self._n_ahead = 0

    def check(self) -> None:
        """Finds out whether the file is still the one that was opened.

        Raises:
            OSError: if it changed.
        """
        if self._last_check is not None:
            self._last_check.result()
        else:
            self._leave()
            self._check()

    def _check(self) -> None:
        retrying(self._reader.check, self._url, "cannot be read")

    def close(self) -> None:
        """Ends the connection, if one is open."""
        self._reader.close()

    def _fetch(self, offset: int, length: int) -> "Future[bytes]":
        """Reads in the background."""
        self._last_check = None

        def work() -> bytes:
            data = retrying(lambda: self._reader.read(offset, length), self._url, "cannot be read")
            if time.monotonic() - self._looked > _LOOK_AGAIN:
                self._check()
                self._looked = time.monotonic()
            return data

        return _pool.submit(work)


class InputStream(io.RawIOBase):
    """An `Input` as a file of Python that can seek, for readers such as pyarrow's."""

    def __init__(self, url: str | os.PathLike[str]) -> None:
        """Finds the file.

        Raises:
            ModuleNotFoundError, OSError: as `Input`; OSError too if its size is not known.
        """
        self._input = Input(url)
        if self._input.size is None:
            reason = "the server does not send the size of the file; download it and name the local file"
            raise OSError(errno.ESPIPE, reason, self._input.name)
        self._size = self._input.size
        self._at = 0
        self._block = (0, b"")

    def readable(self) -> bool:
        """Whether it can be read: yes."""
        return True

    def seekable(self) -> bool:
        """Whether it can seek: yes."""
        return True

    def tell(self) -> int:
        """The position."""
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Moves to a position."""
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        return self._at

    def readinto(self, buffer: Any) -> int:
        """Reads up to the end of a block.

        Raises:
            OSError: as `Input.read_at`.
        """
        if self._at >= self._size:
            return 0
        start, block = self._block
        if not start <= self._at < start + len(block):
            start, block = self._at, self._input.read_at(self._at, BLOCK_BYTES) or b""
            self._block = (start, block)
        view = memoryview(block)[self._at - start :][: len(buffer)]
        buffer[: len(view)] = view
        self._at += len(view)
        return len(view)

    def check(self) -> None:
        """Finds out whether the file is still the one that was opened.

        Raises:
            OSError: if it changed.
        """
        self._input.check()

    def close(self) -> None:
        """Ends the connection, if one is open."""
        if not self.closed:
            self._input.close()
        super().close()


def open_bytes(path: str | os.PathLike[str]) -> IO[bytes]:
    """Opens a path or a URL for reading.

    Raises:
        ModuleNotFoundError, OSError: as `InputStream`.
    """
    name = local_name(path)
    return io.BufferedReader(InputStream(name)) if is_url(name) else open(name, "rb")


def open_input(url: str, first_bytes: int) -> "Future[Input]":
    """Begins to open a file for the extension, which reads it in blocks, and to fetch the first bytes.

    The result raises what `Input` raises.
    """

    def work() -> Input:
        file = Input(url, first_bytes=first_bytes)
        file.fetch_first(first_bytes)
        return file

    return _pool.submit(work)


def version(url: str | os.PathLike[str]) -> tuple[int, str]:
    """Returns the size of a file behind a URL, and what its store says of its version.

    Raises:
        ModuleNotFoundError, OSError: as `Input`; OSError too if the size is not known.
    """
    file = Input(url, first_bytes=1)
    file.close()
    if file.size is None:
        reason = "the server does not send the size of the file; download it and name the local file"
        raise OSError(errno.ESPIPE, reason, file.name)
    return file.size, file.mark


def read_bytes(url: str | os.PathLike[str]) -> bytes:
    """Returns all of a small file.

    Raises:
        ModuleNotFoundError, OSError: as `Input`.
    """
    return b"".join(blocks(Input(url)))


def first_bytes(url: str | os.PathLike[str], most: int) -> bytes:
    """Returns the first bytes of a file.

    Raises:
        ModuleNotFoundError, OSError: as `Input`.
    """
    file = Input(url, first_bytes=most, read_ahead=False)
    data = file.read_at(0, most) or b""
    file.close()
    return data


def blocks(file: Input) -> Iterator[bytes]:
    """Yields the blocks of a file, and finds out at the end whether it changed."""
    offset = 0
    while data := file.read_at(offset, BLOCK_BYTES):
        yield data
        offset += len(data)
    file.check()


def fetch(url: str | os.PathLike[str], to: Path) -> None:
    """Copies a file from a store, in constant memory.

    Raises:
        ModuleNotFoundError, OSError: as `Input`.
    """
    file = Input(url)
    to.parent.mkdir(parents=True, exist_ok=True)
    with open(to, "wb") as local:
        for block in blocks(file):
            local.write(block)
