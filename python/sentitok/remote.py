"""Files behind URLs (`s3://`, `gs://`, `hf://`, `https://`, `memory://`, ...), folders and globs as inputs.

fsspec knows the stores; it is imported for the first URL, so without one no package is imported and no socket
is opened. `file://` is a local path. Commands and functions use the same few parts:

- `expand`: the files that paths, folders, globs and URLs name, in order;
- `Input`: a file read in large blocks, the next one fetched while the last is used;
- `local_copy`, `LocalOutput`: small files and folders as temporary local copies, for code that needs a path.

Rules: a read that fails for a while is tried again, with growing pauses; a file that changes while it is read
is an error; a file appears in a store whole or not at all; no message holds a credential (`shown`).
"""

import atexit
import contextlib
import errno
import glob
import hashlib
import io
import os
import re
import secrets
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar

from .atomic import PREFIX
from .messages import local_names

__all__ = [
    "BLOCK_BYTES",
    "Input",
    "InputStream",
    "LocalOutput",
    "expand",
    "is_url",
    "join",
    "local_copy",
    "local_name",
    "local_path",
    "named",
    "open_bytes",
    "open_input",
    "read_bytes",
    "renamed",
    "shards_output",
    "shown",
    "size",
    "staged",
    "upload",
    "version",
    "written",
]

# What is fetched at a time: large enough that a round trip does not matter.
BLOCK_BYTES = 8 << 20
# Seconds before each further try. A first contact gives up sooner: the address may be wrong.
_PAUSES = (0.1, 0.4, 1.6, 6.4)
_FIRST_PAUSES = (0.1, 0.4)
# Seconds after which a file that is being read is looked at again.
_LOOK_AGAIN = 1.0
# Seconds between two looks at what a running job has finished.
_SYNC_EVERY = 0.5

# At least two letters before the colon: `C://` is a drive. `simplecache::s3://` is a chain of fsspec.
_URL = re.compile(r"(?:[a-z0-9]+::)*([a-z][a-z0-9+.-]+)://", re.IGNORECASE)
# `pathlib` makes one slash of two.
_COLLAPSED = re.compile(r"((?:[a-z0-9]+::)*(?!file\b|local\b)[a-z][a-z0-9+.-]+):/(?!/)", re.IGNORECASE)
_LOCAL = ("file", "local")
_HTTP = ("http", "https")
# Stores that make an object visible when all of it has arrived.
_OBJECT_STORES = {"s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "adl", "hf", "oss", "oci", "r2"}
# The package that fsspec needs for a scheme.
_PACKAGES = {
    "s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "hf": "huggingface_hub", "http": "aiohttp",
    "https": "aiohttp", "az": "adlfs", "abfs": "adlfs", "abfss": "adlfs", "adl": "adlfs",
}  # fmt: skip
# How to give credentials, by scheme.
_CREDENTIALS = {
    "s3": "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or FSSPEC_S3_ANON=true for a "
    "public bucket",
    "gs": "run gcloud auth application-default login, or set FSSPEC_GS_TOKEN=anon for a public bucket",
    "hf": "run hf auth login, or set HF_TOKEN",
}
_CREDENTIALS["s3a"], _CREDENTIALS["gcs"] = _CREDENTIALS["s3"], _CREDENTIALS["gs"]
_OTHER_CREDENTIALS = "check the address and the credentials that fsspec is configured with"

# Parameters of a query that give access; their values are never shown.
_SECRET_KEY = re.compile(
    r"sig|token|key|secret|credential|passw|pwd|auth|session|jwt|policy|expires|^x-(amz|goog)-|^s[a-z]{1,2}$|"
    r"^sk[a-z]+$",
    re.IGNORECASE,
)
# A value as long as this may be a credential, whatever its name.
_SECRET_LENGTH = 24
_HIDDEN = "***"
# Settings of the environment whose values are never shown.
_SECRET_SETTING = re.compile(r"SECRET|TOKEN|PASSWORD|_KEY$|ACCESS_KEY|CREDENTIAL", re.IGNORECASE)

_Result = TypeVar("_Result")

# The URL behind each name that is shown without its credentials.
_urls: dict[str, str] = {}
# The sizes that the last listing told, so that each of many files is not asked for its size.
_sizes: dict[str, int] = {}


def is_url(path: object) -> bool:
    """Whether a path names a file that only fsspec reads; `file://` does not."""
    found = _URL.match(_text(path))
    return found is not None and found[1].lower() not in _LOCAL


def local_name(path: str | os.PathLike[str]) -> str:
    """Returns a path as a string: a URL as it is, the path of a `file://` URL."""
    text = _text(path)
    found = _URL.match(text)
    if found is None or found[1].lower() not in _LOCAL:
        return text
    rest = text[found.end() :].removeprefix("localhost")
    rest = rest if rest.startswith("/") else f"/{rest}"
    if os.name == "nt":
        rest = rest.removeprefix("/")
    if "%" in rest and not os.path.lexists(rest):
        data = re.sub(rb"%([0-9a-fA-F]{2})", lambda found: bytes([int(found[1], 16)]), os.fsencode(rest))
        return os.fsdecode(data)
    return rest


def _text(path: object) -> str:
    """Returns a path as a string, with both slashes of a URL that went through `pathlib`."""
    text = os.fsdecode(path) if isinstance(path, (str, bytes, os.PathLike)) else str(path)
    if isinstance(path, os.PathLike) and (found := _COLLAPSED.match(text)) and not os.path.lexists(text):
        return f"{found[1]}://{text[found.end() :]}"
    return text


def join(folder: str, name: str) -> str:
    """Returns the URL of a file in a folder."""
    return f"{folder.rstrip('/')}/{name}"


def shown(path: object) -> str:
    """Returns a path as messages, manifests and errors show it: without credentials.

    A user's password and the values of a query that give access become `***`.
    """
    text = _text(path)
    found = _URL.match(text)
    if found is None:
        return text
    start, rest = text[: found.end()], text[found.end() :]
    rest, hash_, fragment = rest.partition("#")
    rest, mark, query = rest.partition("?")
    host, slash, name = rest.partition("/")
    if "@" in host:
        host = f"{_HIDDEN}@{host.rpartition('@')[2]}"
    pairs = [_shown_pair(pair) for pair in query.split("&")] if query else []
    return f"{start}{host}{slash}{name}{mark}{'&'.join(pairs)}{hash_}{fragment}"


def _shown_pair(pair: str) -> str:
    key, equals, value = pair.partition("=")
    hidden = len(value or key) >= _SECRET_LENGTH or (equals and _SECRET_KEY.search(key))
    return pair if not hidden else f"{key}={_HIDDEN}" if equals else _HIDDEN


def named(path: str | os.PathLike[str]) -> str:
    """Returns a name of a path without credentials, by which this process opens it all the same."""
    text = _text(path)
    name = shown(text)
    if name != text:
        _urls[name] = text
        local_names[text] = name
    return name


def _real(name: str) -> str:
    return _urls.get(name, name)


def _redacted(text: str, url: str) -> str:
    """Returns what a library says of a failure, on one line and without credentials."""
    text = " ".join(text.split()).replace(url, shown(url))
    secrets_ = [value for key, value in os.environ.items() if _SECRET_SETTING.search(key)]
    secrets_ += _configured_secrets()
    query = url.partition("?")[2]
    secrets_ += [
        part for pair in query.split("&") if shown_differs(pair) for part in [pair.partition("=")[2]]
    ]
    for value in secrets_:
        if len(value) >= 4:
            text = text.replace(value, _HIDDEN)
    text = re.sub(r"://[^/\s@]+@", f"://{_HIDDEN}@", text)
    text = re.sub(r"([?&][^=&\s]+=)([^&\s'\")]+)", lambda m: m[0] if _shown_pair(m[0][1:]) == m[0][1:]
                  else m[1] + _HIDDEN, text)  # fmt: skip
    return text if len(text) <= 300 else f"{text[:297]}..."


def shown_differs(pair: str) -> bool:
    """Whether a part of a query holds a credential."""
    return _shown_pair(pair) != pair


def _configured_secrets() -> list[str]:
    """The secret values of fsspec's configuration."""
    import fsspec

    found: list[str] = []

    def visit(value: object, is_secret: bool) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                visit(inner, is_secret or bool(_SECRET_KEY.search(str(key))))
        elif isinstance(value, str) and is_secret:
            found.append(value)

    visit(fsspec.config.conf, False)
    return found


class _Place(NamedTuple):
    """A file or folder in a store."""

    url: str
    scheme: str
    fs: Any
    path: str

    @property
    def is_http(self) -> bool:
        return self.scheme in _HTTP


def _scheme(url: str) -> str:
    found = _URL.match(url.rpartition("::")[2])
    return found[1].lower() if found is not None else ""


def _place(url: str | os.PathLike[str]) -> _Place:
    """Finds the store of a URL; connects to nothing.

    Raises:
        ModuleNotFoundError: if a package is missing.
        ValueError: if no store has this scheme.
    """
    real = _real(_text(url))
    scheme = _scheme(real)
    try:
        import fsspec
    except ModuleNotFoundError:
        raise _missing(real, "fsspec") from None
    # Encodings would change sizes and ranges.
    more = {"headers": {"Accept-Encoding": "identity"}} if scheme in _HTTP else {}
    try:
        fs, path = fsspec.core.url_to_fs(real, **more)
    except ImportError:
        raise _missing(real, _PACKAGES.get(scheme, f"the package of fsspec for {scheme}://")) from None
    except ValueError as error:
        if "rotocol not known" not in str(error):
            raise ValueError(f"{shown(real)}: {_redacted(str(error), real)}") from None
        raise ValueError(
            f"{shown(real)}: no store has the scheme {scheme}://; give a path, s3://, gs://, hf:// or https://"
        ) from None
    except Exception as error:
        raise _failure(error, real, "cannot be opened") from None
    return _Place(real, scheme, fs, path)


def _missing(url: str, package: str) -> ModuleNotFoundError:
    extra = package if package in ("gcsfs", "huggingface_hub", "adlfs") else '"sentitok[remote]"'
    return ModuleNotFoundError(
        f"{shown(url)}: it needs {package}; install it: pip install {extra}", name=package
    )


def _status(error: BaseException) -> int | None:
    """Returns the status of an answer over HTTP that an error tells of."""
    value = getattr(error, "status", None)
    if isinstance(value, int):
        return value
    answer = getattr(error, "response", None)
    if isinstance(answer, dict):
        value = answer.get("ResponseMetadata", {}).get("HTTPStatusCode")
        return value if isinstance(value, int) else None
    value = getattr(answer, "status_code", None)
    return value if isinstance(value, int) else None


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _is_transient(error: BaseException) -> bool:
    """Whether the same request may succeed later."""
    causes = list(_causes(error))
    if any(isinstance(one, _ChangedError) for one in causes):
        return False
    status = next(filter(None, map(_status, causes)), None)
    if status is not None:
        return status in (408, 425, 429) or status >= 500
    if any(map(_is_connection, causes)):
        return True
    if isinstance(error, (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError)):
        return False
    name = type(error).__name__
    words = ("Payload", "Disconnected", "ClientError", "IncompleteRead")
    return isinstance(error, (OSError, EOFError)) or any(word in name for word in words)


class _ChangedError(Exception):
    """A file is another one than when reading began."""


def _failure(error: BaseException, url: str, what: str) -> Exception:
    """Returns the error that callers see: its type, what is wrong and what to do; without credentials."""
    name = shown(url)
    if isinstance(error, _ChangedError):
        return OSError(
            errno.EIO, "the file changed while it was read; read it again when nobody writes to it", name
        )
    if isinstance(error, (KeyboardInterrupt, MemoryError, SystemExit)):
        return error  # type: ignore[return-value]  # 2026-11-30: raised as it is
    said = _redacted(str(error), url)
    kind = type(error).__name__
    causes = list(_causes(error))
    status = next(filter(None, map(_status, causes)), None)
    if any(_is_connection(one) for one in causes):
        reason = (
            f"the server cannot be reached ({said or kind}); check the address and the network, and try again"
        )
        return OSError(errno.EHOSTUNREACH, reason, name)
    if (
        any(isinstance(one, PermissionError) for one in causes)
        or status in (401, 403)
        or "credential" in str(error).lower()
    ):
        credentials = _CREDENTIALS.get(_scheme(url), _OTHER_CREDENTIALS)
        return PermissionError(errno.EACCES, f"access denied ({said}); {credentials}", name)
    if isinstance(error, FileNotFoundError) or status in (404, 410):
        return FileNotFoundError(errno.ENOENT, "there is no such file, folder or bucket", name)
    if isinstance(error, (IsADirectoryError, NotADirectoryError)):
        return type(error)(
            error.errno or errno.EISDIR, "it is a folder; end it in / to name the files in it", name
        )
    return OSError(errno.EIO, f"it {what} ({kind}: {said}); try again later", name)


def _is_connection(error: BaseException) -> bool:
    """Whether a server was not reached, or did not answer."""
    name = type(error).__name__
    return (
        isinstance(error, (ConnectionError, TimeoutError))
        or "Timeout" in name
        or ("Connect" in name and not isinstance(error, (FileNotFoundError, PermissionError)))
    )


def _retrying(
    work: Callable[[], _Result], url: str, what: str, pauses: tuple[float, ...] | None = None
) -> _Result:
    """Runs a request, again after each pause while the failure may pass.

    Raises:
        OSError: naming the URL.
    """
    for pause in (*(_PAUSES if pauses is None else pauses), None):
        try:
            return work()
        except Exception as error:
            if pause is None or not _is_transient(error):
                raise _failure(error, url, what) from None
            time.sleep(pause * (0.75 + secrets.randbelow(500) / 1000))
    raise AssertionError("unreachable")


def expand(sources: Iterable[str | os.PathLike[str]]) -> list[str]:
    """Returns the files that sources name: a folder and a glob stand for the files in them, sorted.

    `-` stays. A file whose name has a `*` is found by its name. Hidden files and those that are being
    written (`.sentitok-*`) are left out. A file that is named twice is given twice, as it was asked for.

    Args:
        sources: paths, folders, globs and URLs of these.

    Raises:
        FileNotFoundError: if a glob or a folder has no file.
        OSError: if a store cannot be read.
    """
    files: list[str] = []
    for source in sources:
        name = local_name(source)
        files += _expand_url(name) if is_url(name) else _expand_local(name)
    return files


def _has_glob(name: str, scheme: str = "") -> bool:
    # In a URL of the web, `?` begins the query.
    return any(char in name for char in ("*[" if scheme in _HTTP else "*?["))


def _is_wanted(name: str) -> bool:
    """Whether a file of a folder is taken, by its path from there."""
    return not any(part.startswith(".") for part in name.split("/"))


def _expand_local(name: str) -> list[str]:
    if name == "-":
        return [name]
    try:
        is_folder = Path(name).is_dir()
    except (OSError, ValueError):  # longer than a name can be; opening it says so
        return [name]
    if is_folder:
        return _files_of(name)
    if os.path.lexists(name) or not _has_glob(name):
        return [name]
    found: dict[str, None] = {}
    for one in sorted(glob.glob(name, recursive=True)):  # noqa: PTH207  # 2026-11-30: the pattern may be absolute
        if PREFIX in Path(one).name:
            continue
        found.update(dict.fromkeys(_files_of(one, may_be_empty=True) if Path(one).is_dir() else [one]))
    if not found:
        raise FileNotFoundError(errno.ENOENT, "no file matches this glob", name)
    return list(found)


def _files_of(folder: str, *, may_be_empty: bool = False) -> list[str]:
    files = []
    for root, folders, names in os.walk(folder):
        folders[:] = [one for one in folders if not one.startswith(".")]
        files += [str(Path(root) / one) for one in names if _is_wanted(one)]
    if not files and not may_be_empty:
        raise FileNotFoundError(errno.ENOENT, "the folder has no file to read", folder)
    return sorted(files)


def _expand_url(url: str) -> list[str]:
    _sizes.pop(url, None)
    is_glob = _has_glob(url, _scheme(url))
    if url in _urls or not (is_glob or _may_be_folder(url)):
        return [url]
    place = _place(url)
    fs, path = place.fs, place.path
    # Listings of stores are kept by fsspec; files may have come since.
    fs.invalidate_cache()

    def inside(folder: str) -> dict[str, Any]:
        found: dict[str, Any] = fs.find(folder, detail=True)
        return found

    def find() -> dict[str, Any] | None:
        if not is_glob:
            return inside(path) if place.is_http or fs.isdir(path) else None
        if not place.is_http and fs.exists(path):
            return None
        files: dict[str, Any] = {}
        for name, about in sorted(fs.glob(path, detail=True).items()):
            files.update(
                sorted(inside(name).items()) if about.get("type") == "directory" else [(name, about)]
            )
        return files

    found = _retrying(find, url, "cannot be listed", _FIRST_PAUSES)
    if found is None:
        return [url]
    # Hidden is what a name hides that was not spelled out.
    spelled = re.split(r"[*?\[]", path, maxsplit=1)[0].rpartition("/")[0] if is_glob else path.rstrip("/")
    files = []
    for name, about in found.items() if is_glob else sorted(found.items()):
        if _is_wanted(name[len(spelled) + 1 :]):
            files.append(_full(url, place, name))
            if isinstance(about.get("size"), int) and not place.is_http:
                _sizes[files[-1]] = about["size"]
    if not files:
        what = "no file matches this glob" if is_glob else "the folder has no file to read"
        raise FileNotFoundError(errno.ENOENT, what, shown(url))
    return files


def _may_be_folder(url: str) -> bool:
    """Whether a URL may name a folder. On the web only one that ends in a slash does."""
    if _scheme(url) in _HTTP:
        return url.endswith("/")
    return not re.search(r"\.[a-z0-9]{1,8}$", url, re.IGNORECASE) or url.endswith("/")


def _full(url: str, place: _Place, path: str) -> str:
    """Returns the URL of a path in the same store."""
    if place.is_http:
        return path
    chain, double, last = url.rpartition("::")
    scheme = last.partition("://")[0]
    return f"{chain}{double}{scheme}://{path.lstrip('/')}"


class _Ranges:
    """Reads ranges of a file through fsspec, and finds out whether it changed."""

    def __init__(self, place: _Place) -> None:
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
        """What changes with a file: its size, and what the store says of its version."""
        keys = ("ETag", "etag", "LastModified", "last_modified", "mtime", "updated", "generation", "created")
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
            raise _ChangedError from None
        if self._mark_of(about) != self.mark:
            raise _ChangedError

    def close(self) -> None:
        """Nothing is held open."""


class _Web:
    """Reads a file of a web server: by ranges, or as one stream where the server sends no ranges.

    Each answer carries the mark of the file (ETag or Last-Modified), so that no further request is needed to
    find out that it changed.
    """

    def __init__(self, place: _Place, first_bytes: int) -> None:
        self._place = place
        self.size: int | None = None
        self.mark: tuple[str | None, ...] | None = None
        self._stream: Any = None
        self._at = 0
        self.is_ranged = True
        self._first = b""
        # The first bytes tell of size, mark and ranges in one request.
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
            raise _ChangedError
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
        self._stream, self._at = answer, 0
        return await self._streamed(offset, length)

    def _has_size(self, size: int | None) -> None:
        if size is not None and self.size not in (None, size):
            raise _ChangedError
        self.size = size if size is not None else self.size

    async def _streamed(self, offset: int, length: int) -> bytes:
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
        first, self._first = self._first, b""
        if offset == 0 and first:
            return first[:length] if len(first) > length else first
        if self.size is not None and offset >= self.size:
            return b""
        data: bytes = self._sync((self._range if self.is_ranged else self._streamed)(offset, length))
        return data

    def check(self) -> None:
        """Each answer was checked when it came."""

    def close(self) -> None:
        if self._stream is not None:
            self._place.fs.loop.call_soon_threadsafe(self._drop)


class Input:
    """A file behind a URL, read in blocks; the next block is fetched while the last is used.

    Attributes:
        name: the URL without credentials.
        size: in bytes; `None` where the server does not tell.
    """

    def __init__(
        self, url: str | os.PathLike[str], *, first_bytes: int = BLOCK_BYTES, read_ahead: bool = True
    ) -> None:
        """Finds the file.

        Args:
            url: where it is.
            first_bytes: how many of them a web server is asked for at once.
            read_ahead: fetch the next block while one is used; not for reading here and there.

        Raises:
            ModuleNotFoundError: if a package is missing.
            OSError: if it is not there, or may not be read.
        """
        place = _place(url)
        self.name = shown(place.url)
        self._url = place.url

        def opened() -> _Ranges | _Web:
            return _Web(place, first_bytes) if place.is_http else _Ranges(place)

        self._reader = _retrying(opened, place.url, "cannot be opened", _FIRST_PAUSES)
        self._looked = time.monotonic()
        self._reads_ahead = read_ahead
        self._ahead: tuple[int, int, Future[bytes]] | None = None

    @property
    def size(self) -> int | None:
        """The size in bytes; `None` where the server does not tell."""
        return self._reader.size

    @property
    def has_ranges(self) -> bool:
        """Whether a part can be read alone: some web servers send whole files only."""
        return not isinstance(self._reader, _Web) or self._reader.is_ranged

    @property
    def mark(self) -> str:
        """What the store says of the file's version, such as its ETag."""
        return " ".join(str(part) for part in self._reader.mark or () if part is not None)

    def read_at(self, offset: int, length: int, wait: float | None = None) -> bytes | None:
        """Reads up to `length` bytes; fewer only at the end of the file.

        Args:
            offset: where.
            length: how many.
            wait: seconds after which `None` is returned; ask for the same again. Without it, as long as it
                takes.

        Raises:
            OSError: if the file changed, or cannot be read.
        """
        if self._ahead is None or self._ahead[0] != offset or self._ahead[1] < length:
            if self._ahead is not None:  # one request at a time
                self._ahead[2].exception()
            self._ahead = (offset, length, self._fetch(offset, length))
        future = self._ahead[2]
        if wait is not None:
            deadline = time.monotonic() + wait
            while not future.done():
                left = deadline - time.monotonic()
                if left <= 0:
                    return None
                with contextlib.suppress(TimeoutError):
                    future.exception(left)
        self._ahead = None
        data = future.result()
        if len(data) > length:  # of a range that ends before the block that was fetched
            return data[:length]
        if self._reads_ahead and len(data) == length and (self.size is None or offset + length < self.size):
            self._ahead = (offset + length, length, self._fetch(offset + length, length))
        return data

    def check(self) -> None:
        """Finds out whether the file is still the one that was opened.

        Raises:
            OSError: if it changed.
        """
        if self._ahead is not None:
            self._ahead[2].exception()
        _retrying(self._reader.check, self._url, "cannot be read")

    def close(self) -> None:
        """Ends the connection, if one is open."""
        self._reader.close()

    def _fetch(self, offset: int, length: int) -> "Future[bytes]":
        """Reads in the background. The thread does not hold up the end of the process."""
        future: Future[bytes] = Future()

        def work() -> None:
            try:
                data = _retrying(lambda: self._reader.read(offset, length), self._url, "cannot be read")
                if time.monotonic() - self._looked > _LOOK_AGAIN:
                    _retrying(self._reader.check, self._url, "cannot be read")
                    self._looked = time.monotonic()
                future.set_result(data)
            # 2026-11-30: whoever waits for the block gets it
            except BaseException as error:
                future.set_exception(error)

        threading.Thread(target=work, name="sentitok-remote", daemon=True).start()
        return future


class InputStream(io.RawIOBase):
    """An `Input` as a file of Python that can seek, for readers such as pyarrow's."""

    def __init__(self, url: str | os.PathLike[str]) -> None:
        """Finds the file.

        Raises:
            ModuleNotFoundError, OSError: as `Input`; OSError too if its size is not known.
        """
        self._input = Input(url)
        if self._input.size is None:
            reason = "the server does not tell the size of the file; download it and name the local file"
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


def open_input(url: str) -> Input:
    """Opens a file for the extension, which reads it in blocks.

    Raises:
        ModuleNotFoundError, OSError: as `Input`.
    """
    return Input(url)


def size(url: str | os.PathLike[str]) -> int | None:
    """Returns the size of a file behind a URL in bytes; `None` where the server does not tell.

    Raises:
        ModuleNotFoundError, OSError: as `Input`.
    """
    if (known := _sizes.get(_real(_text(url)))) is not None:
        return known
    file = Input(url, first_bytes=1)
    file.close()
    return file.size


def version(url: str | os.PathLike[str]) -> tuple[int, str]:
    """Returns the size of a file behind a URL, and what its store says of its version.

    Raises:
        ModuleNotFoundError, OSError: as `Input`; OSError too if the size is not known.
    """
    file = Input(url, first_bytes=1)
    file.close()
    if file.size is None:
        reason = "the server does not tell the size of the file; download it and name the local file"
        raise OSError(errno.ESPIPE, reason, file.name)
    return file.size, file.mark


def read_bytes(url: str | os.PathLike[str]) -> bytes:
    """Returns all of a small file.

    Raises:
        ModuleNotFoundError, OSError: as `Input`.
    """
    return b"".join(_blocks(Input(url)))


def _blocks(file: Input) -> Iterator[bytes]:
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
        for block in _blocks(file):
            local.write(block)


def _base_name(url: str) -> str:
    """Returns the last part of a URL's path, as a name that every file system takes."""
    path = url.partition("://")[2].partition("#")[0].partition("?")[0]
    name = re.sub(r'[<>:"|?*\\\x00-\x1f]', "_", path.rstrip("/").rpartition("/")[2] or "file")
    data = name.encode()
    return name if len(data) <= 200 else f"{hashlib.sha256(data).hexdigest()[:16]}{Path(name).suffix}"


class _Copy:
    """A temporary folder, and what is in it for a URL; removed at the end."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.name = named(url)
        self._folder = tempfile.TemporaryDirectory(prefix="sentitok-remote-")
        folder = Path(self._folder.name).resolve()
        self.path = folder / _base_name(url)
        # Messages of commands name the URL; files beside it lie beside the URL.
        local_names[str(self.path)] = self.name
        local_names[f"{folder}/"] = f"{self.name.rstrip('/').rpartition('/')[0]}/"

    def close(self, *, keeps_name: bool = False) -> None:
        """Removes the copy; with `keeps_name` messages still call its path by the URL."""
        if not keeps_name:
            local_names.pop(str(self.path), None)
            local_names.pop(f"{self.path.parent}/", None)
        with contextlib.suppress(OSError):
            self._folder.cleanup()

    def renamed(self, error: Exception) -> Exception:
        """Returns an error of the copy as one of the URL."""
        return renamed(error, str(self.path), self.name)


def local_copy(url: str | os.PathLike[str]) -> _Copy:
    """Copies a file, or all files of a folder, to a temporary place; the caller closes it.

    Raises:
        ModuleNotFoundError, OSError: as `Input`.
    """
    copy = _Copy(_real(_text(url)))
    try:
        if not _fetch_all(copy.url, copy.path):
            fetch(copy.url, copy.path)
    except BaseException:
        copy.close()
        raise
    return copy


# Copies that are there until the process ends.
_staged: dict[str, _Copy] = {}


def staged(url: str | os.PathLike[str]) -> Path:
    """Returns a local copy of a file or folder, which is there until the process ends.

    Raises:
        ModuleNotFoundError, OSError: as `Input`.
    """
    name = _text(url)
    if name not in _staged:
        _staged[name] = local_copy(name)
        atexit.register(_staged[name].close)
    return _staged[name].path


def local_path(path: str | os.PathLike[str]) -> Path:
    """Returns a path as it is, or that of a local copy of a URL, which is there until the process ends.

    Raises:
        ModuleNotFoundError, OSError: as `Input`.
    """
    name = local_name(path)
    return staged(name) if is_url(name) else Path(name)


def _fetch_all(url: str, to: Path, wanted: Callable[[str], bool] = lambda _: True) -> bool:
    """Copies the files of a folder; whether there is such a folder."""
    names = _names_in(url)
    if names is None:
        return False
    to.mkdir(parents=True, exist_ok=True)
    for name in names:
        if wanted(name):
            if ".." in name.split("/"):
                raise OSError(errno.EINVAL, "it holds a file whose name leaves the folder", shown(url))
            fetch(join(url, name), to / name)
    return True


def _names_in(url: str) -> dict[str, int] | None:
    """Returns the files of a folder by their path from there, with sizes; `None` if it is none."""
    place = _place(url)
    if place.is_http:
        return None
    place.fs.invalidate_cache()

    def find() -> dict[str, int] | None:
        try:
            if not place.fs.isdir(place.path):
                return None
        except FileNotFoundError:
            return None
        start = len(place.path.rstrip("/")) + 1
        found = place.fs.find(place.path, detail=True)
        return {
            path[start:]: int(about.get("size") or 0)
            for path, about in sorted(found.items())
            if path[start:] and PREFIX not in path[start:]
        }

    return _retrying(find, place.url, "cannot be listed", _FIRST_PAUSES)


def exists(url: str | os.PathLike[str]) -> bool:
    """Whether there is a file or a folder of this name.

    Raises:
        ModuleNotFoundError, OSError: if the store cannot be asked.
    """
    place = _place(url)
    place.fs.invalidate_cache()

    def ask() -> bool:
        try:
            place.fs.info(place.path)
        except FileNotFoundError:
            return False
        return True

    return _retrying(ask, place.url, "cannot be looked for", _FIRST_PAUSES)


def check_writable(url: str | os.PathLike[str]) -> None:
    """Finds out before long work that nothing can be written to a place, as far as that costs no writing.

    Raises:
        ModuleNotFoundError: if a package is missing.
        OSError: if the place takes no files.
    """
    place = _place(url)
    if place.is_http:
        raise OSError(
            errno.EROFS,
            "a web server takes no files; name a local file, s3://, gs:// or hf://",
            shown(place.url),
        )


def upload(local: Path, url: str | os.PathLike[str]) -> None:
    """Copies a local file to a store, where it appears whole or not at all.

    Raises:
        ModuleNotFoundError, OSError: as `check_writable`, and if the store does not take it.
    """
    check_writable(url)
    place = _place(url)

    def put() -> None:
        if place.scheme in _OBJECT_STORES:
            place.fs.put_file(str(local), place.path)
            return
        folder, slash, name = place.path.rpartition("/")
        beside = f"{folder}{slash}{PREFIX}{name[:100]}-{secrets.token_hex(3)}"
        with contextlib.suppress(Exception):  # made with the file, where the store needs none
            place.fs.makedirs(folder, exist_ok=True)
        try:
            place.fs.put_file(str(local), beside)
            place.fs.mv(beside, place.path)
        except BaseException:
            with contextlib.suppress(Exception):
                place.fs.rm_file(beside)
            raise

    _retrying(put, place.url, "cannot be written")


def _remove(url: str) -> None:
    place = _place(url)

    def remove() -> None:
        with contextlib.suppress(FileNotFoundError):
            place.fs.rm_file(place.path)

    _retrying(remove, place.url, "cannot be removed")


class LocalOutput:
    """A temporary local place for what a command or a function writes to a URL.

    It begins with what the store has, so that rules for files that exist hold there too. `finish` brings what
    changed to the store: whole files only, a manifest after the files that it names.

    Attributes:
        path: the local place.
        name: the URL without credentials.
        url: the URL.
    """

    def __init__(self, url: str | os.PathLike[str], *, only: Callable[[str], bool] = lambda _: True) -> None:
        """Copies what is there.

        Args:
            url: a file or a folder, which need not exist.
            only: which files of a folder are copied; of others there is a file of the same size.

        Raises:
            ModuleNotFoundError, OSError: as `Input` and `check_writable`.
        """
        check_writable(url)
        self._copy = _Copy(_real(_text(url)))
        self.path, self.name, self.url = self._copy.path, self._copy.name, self._copy.url
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        try:
            self._restore(only)
        except BaseException:
            self._copy.close()
            raise
        self._before = self._states()

    def _restore(self, only: Callable[[str], bool]) -> None:
        url = self._copy.url
        names = _names_in(url)
        if names is None:
            if not url.endswith("/") and exists(url):
                fetch(url, self.path)
            return
        _fetch_all(url, self.path, only)
        for name, n_bytes in names.items():
            if not only(name):
                # Takes no room on the disk.
                (self.path / name).parent.mkdir(parents=True, exist_ok=True)
                with open(self.path / name, "wb") as file:
                    file.truncate(n_bytes)

    def _files(self) -> dict[str, Path]:
        """The whole files in the temporary folder, by their path from there."""
        root = self.path.parent
        return {
            path.relative_to(root).as_posix(): path
            for path in sorted(root.rglob("*"))
            if path.is_file() and not any(part.startswith(PREFIX) for part in path.relative_to(root).parts)
        }

    def _states(self) -> dict[str, tuple[int, int, int]]:
        return {name: _state(path) for name, path in self._files().items()}

    def _url_of(self, name: str) -> str:
        """The URL of a file that lies beside `path` or in it."""
        first, _, rest = name.partition("/")
        url = self._copy.url.rstrip("/")
        if first == self.path.name:
            return join(url, rest) if rest else url
        return join(url.rpartition("/")[0], name)

    def sync(self, names: Iterable[str] | None = None) -> None:
        """Brings what changed to the store, manifests last.

        Raises:
            OSError: if the store does not take it.
        """
        with self._lock:
            files = self._files()
            chosen = files if names is None else [name for name in names if name in files]
            for name in sorted(chosen, key=lambda name: (name.rpartition("/")[2] in _LAST, name)):
                state = _state(files[name])
                if self._before.get(name) != state:
                    upload(files[name], self._url_of(name))
                    self._before[name] = state

    def sync_shards(self) -> None:
        """Brings finished token shards to the store while more are written, and frees their room.

        Call `finish` at the end.
        """

        def watch() -> None:
            while not self._stopped.wait(_SYNC_EVERY):
                with contextlib.suppress(OSError):  # `finish` tries again, and says so
                    self._sync_finished()

        self._thread = threading.Thread(target=watch, name="sentitok-upload", daemon=True)
        self._thread.start()

    def _sync_finished(self) -> None:
        import json

        manifest = self.path / "manifest.json"
        try:
            data = manifest.read_bytes()
            about = json.loads(data)
        except (OSError, ValueError):
            return
        if about.get("layout") == "nanogpt" or about.get("complete"):  # one file, which grows; or the end
            return
        names = [
            f"{self.path.name}/{shard[key]}"
            for shard in about["shards"]
            for key in ("file", "index")
            if shard.get(key)
        ]
        if not [name for name in names if name not in self._before]:
            return
        self.sync(names)
        for name in names:
            path = self.path.parent / name
            n_bytes = path.stat().st_size
            os.truncate(path, 0)
            os.truncate(path, n_bytes)
            self._before[name] = _state(path)
        # What it says now may be more than what is there.
        held = self.path.parent / f"{PREFIX}manifest"
        held.write_bytes(data)
        upload(held, join(self._copy.url, "manifest.json"))

    def finish(self) -> None:
        """Brings what changed to the store, and removes there what was removed here.

        Raises:
            OSError: if the store does not take it.
        """
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()
        gone = self._before.keys() - self._files().keys()
        self.sync()
        for name in sorted(gone):
            _remove(self._url_of(name))
            del self._before[name]

    def close(self, *, keeps_name: bool = False) -> None:
        """Removes the temporary place; nothing more is brought to the store.

        Args:
            keeps_name: whether messages still call the place by its URL.
        """
        self._stopped.set()
        self._copy.close(keeps_name=keeps_name)

    def renamed(self, error: Exception) -> Exception:
        """Returns an error of the temporary place as one of the URL."""
        return self._copy.renamed(error)


@contextlib.contextmanager
def written(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Gives a local path to write a file or a folder to; at the end it is brought to the store of a URL.

    Whole files are brought there after a failure too, so that the same call can resume.

    Raises:
        ModuleNotFoundError, OSError: as `LocalOutput`.
    """
    name = local_name(path)
    if not is_url(name):
        yield Path(name)
        return
    output = LocalOutput(name)
    try:
        yield output.path
        output.finish()
    except BaseException as error:
        with contextlib.suppress(OSError):
            output.finish()
        if not isinstance(error, Exception):
            raise
        raise output.renamed(error) from error.__cause__
    finally:
        output.close()


def shards_output(url: str, resume: bool) -> LocalOutput:
    """Returns a place for token shards, each of which is brought to the store when it is whole.

    Of shards that are there only the sizes are fetched, which is what resuming checks.

    Args:
        url: the folder.
        resume: whether shards that are there stay; else their manifest is removed before they are.

    Raises:
        ModuleNotFoundError, OSError: as `LocalOutput`.
    """
    output = LocalOutput(url, only=lambda name: name == "manifest.json")
    if not resume and (output.path / "manifest.json").exists():
        # Before any shard is replaced: the old manifest says that all are whole.
        _remove(join(output.url, "manifest.json"))
    output.sync_shards()
    return output


# Files that say that others are whole.
_LAST = ("manifest.json", "MANIFEST", "run.json")


def _state(path: Path) -> tuple[int, int, int]:
    about = path.stat()
    return about.st_size, about.st_mtime_ns, about.st_ino


def renamed(error: Exception, local: str, name: str) -> Exception:
    """Returns an error of a local copy as one of the file that was named."""

    def with_name(value: object) -> object:
        return value.replace(local, name) if isinstance(value, str) else value

    if isinstance(error, OSError) and error.filename is not None:
        made: Exception = type(error)(
            error.errno, with_name(error.strerror), with_name(os.fsdecode(error.filename))
        )
    else:
        try:
            made = type(error)(*map(with_name, error.args))
        except TypeError:  # a type with arguments of its own
            return error
    made.__cause__ = error.__cause__
    return made
