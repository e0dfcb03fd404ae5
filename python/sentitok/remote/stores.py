"""Stores behind URLs: fsspec's file systems, requests with retries, and errors that say what to do."""

import errno
import os
import secrets
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

from .urls import HTTP, real_url, redacted, scheme_of, shown, text_of

# Seconds before each further try. A first contact gives up sooner: the address may be wrong.
_PAUSES = (0.1, 0.4, 1.6, 6.4)
FIRST_PAUSES = (0.1, 0.4)
# gcsfs tries a request six times, which takes half a minute where nothing answers.
_RETRIED = ("gs", "gcs")
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
_Result = TypeVar("_Result")


class Location(NamedTuple):
    """A file or folder in a store."""

    url: str
    scheme: str
    fs: Any
    path: str

    @property
    def is_http(self) -> bool:
        """Whether it is on a web server."""
        return self.scheme in HTTP


def locate(url: str | os.PathLike[str]) -> Location:
    """Finds the store of a URL; connects to nothing.

    Raises:
        ModuleNotFoundError: if a package is missing.
        ValueError: if no store has this scheme.
    """
    real = real_url(text_of(url))
    scheme = scheme_of(real)
    try:
        import fsspec
    except ModuleNotFoundError:
        raise _missing(real, "fsspec") from None
    if scheme in ("gs", "gcs"):
        _quiet_gcsfs()
    # Encodings would change sizes and ranges.
    more = {"headers": {"Accept-Encoding": "identity"}} if scheme in HTTP else {}
    try:
        fs, path = fsspec.core.url_to_fs(real, **more)
    except ImportError:
        raise _missing(real, _PACKAGES.get(scheme, f"the package of fsspec for {scheme}://")) from None
    except ValueError as error:
        if "rotocol not known" not in str(error):
            raise ValueError(f"{shown(real)}: {redacted(str(error), real)}") from None
        raise ValueError(
            f"{shown(real)}: no store has the scheme {scheme}://; give a path, s3://, gs://, hf:// or https://"
        ) from None
    except Exception as error:
        raise _failure(error, real, "cannot be opened") from None
    return Location(real, scheme, fs, path)


def _quiet_gcsfs() -> None:
    """Keeps tracebacks off stderr, which gcsfs logs before it raises an error; a level that is set stays."""
    import logging

    logger = logging.getLogger("gcsfs")
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.CRITICAL)


def _missing(url: str, package: str) -> ModuleNotFoundError:
    extra = package if package in ("gcsfs", "huggingface_hub", "adlfs") else '"sentitok[remote]"'
    return ModuleNotFoundError(
        f"{shown(url)}: it needs {package}; install it: pip install {extra}", name=package
    )


def _status(error: BaseException) -> int | None:
    """Returns the HTTP status in an error."""
    value = getattr(error, "status", None)
    if isinstance(value, int):
        return value
    answer = getattr(error, "response", None)
    if isinstance(answer, dict):
        value = answer.get("ResponseMetadata", {}).get("HTTPStatusCode")
        return value if isinstance(value, int) else None
    value = getattr(answer, "status_code", None)
    if isinstance(value, int):
        return value
    # gcsfs gives a refusal no status, and calls that of other answers a code.
    if isinstance(error, OSError) and str(error).startswith("Forbidden: "):
        return 403
    value = error.code if type(error).__module__ == "gcsfs.retry" and hasattr(error, "code") else None
    return value if isinstance(value, int) else None


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _is_transient(error: BaseException) -> bool:
    """Whether the same request may succeed later."""
    causes = list(_causes(error))
    if any(isinstance(one, ChangedError) for one in causes):
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


class ChangedError(Exception):
    """A file is another one than when reading began."""


def _failure(error: BaseException, url: str, what: str) -> Exception:
    """Returns the error that callers see: its type, the failure and the remedy; without credentials."""
    name = shown(url)
    if isinstance(error, ChangedError):
        return OSError(
            errno.EIO, "the file changed while it was read; read it again when nobody writes to it", name
        )
    if isinstance(error, (KeyboardInterrupt, MemoryError, SystemExit)):
        return error  # type: ignore[return-value]  # 2026-11-30: raised as it is
    said = redacted(str(error), url)
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
        credentials = _CREDENTIALS.get(scheme_of(url), _OTHER_CREDENTIALS)
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


def retrying(
    work: Callable[[], _Result], url: str, what: str, pauses: tuple[float, ...] | None = None
) -> _Result:
    """Runs a request, again after each pause while the failure may pass.

    Raises:
        OSError: naming the URL.
    """
    pauses = _PAUSES if pauses is None else pauses
    if scheme_of(url) in _RETRIED:
        pauses = ()
    for pause in (*pauses, None):
        try:
            return work()
        except Exception as error:
            if pause is None or not _is_transient(error):
                raise _failure(error, url, what) from None
            time.sleep(pause * (0.75 + secrets.randbelow(500) / 1000))
    raise AssertionError("unreachable")


def exists(url: str | os.PathLike[str]) -> bool:
    """Whether there is a file or a folder of this name.

    Raises:
        ModuleNotFoundError, OSError: if the store cannot be asked.
    """
    place = locate(url)
    place.fs.invalidate_cache()

    def ask() -> bool:
        try:
            place.fs.info(place.path)
        except FileNotFoundError:
            return False
        return True

    return retrying(ask, place.url, "cannot be looked for", FIRST_PAUSES)
