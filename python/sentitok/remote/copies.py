"""`local_copy`: files and folders behind URLs as temporary local copies, for code that needs a path."""

import atexit
import contextlib
import errno
import hashlib
import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

from ..atomic import PREFIX
from ..messages import local_names
from .inputs import fetch
from .stores import FIRST_PAUSES, locate, retrying
from .urls import is_url, join, local_name, named, real_url, shown, text_of


def _base_name(url: str) -> str:
    """Returns the last part of a URL's path, as a name that every file system takes."""
    path = url.partition("://")[2].partition("#")[0].partition("?")[0]
    name = re.sub(r'[<>:"|?*\\\x00-\x1f]', "_", path.rstrip("/").rpartition("/")[2] or "file")
    data = name.encode()
    return name if len(data) <= 200 else f"{hashlib.sha256(data).hexdigest()[:16]}{Path(name).suffix}"


class LocalCopy:
    """A temporary folder, and the copy in it of a URL; removed at the end."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.name = named(url)
        self._folder = tempfile.TemporaryDirectory(prefix="sentitok-remote-")
        folder = Path(self._folder.name).resolve()
        self.path = folder / _base_name(url)
        # Messages of commands name the URL; files next to it lie next to the URL.
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


def local_copy(url: str | os.PathLike[str]) -> LocalCopy:
    """Copies a file, or all files of a folder, to a temporary place; the caller closes it.

    Raises:
        ModuleNotFoundError, OSError: as `Input`.
    """
    copy = LocalCopy(real_url(text_of(url)))
    try:
        if not fetch_all(copy.url, copy.path):
            fetch(copy.url, copy.path)
    except BaseException:
        copy.close()
        raise
    return copy


# Copies that are there until the process ends.
_staged: dict[str, LocalCopy] = {}


def staged(url: str | os.PathLike[str]) -> Path:
    """Returns a local copy of a file or folder, which is there until the process ends.

    Raises:
        ModuleNotFoundError, OSError: as `Input`.
    """
    name = text_of(url)
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


def fetch_all(url: str, to: Path, wanted: Callable[[str], bool] = lambda _: True) -> bool:
    """Copies the files of a folder; whether there is such a folder."""
    names = names_in(url)
    if names is None:
        return False
    to.mkdir(parents=True, exist_ok=True)
    for name in names:
        if wanted(name):
            if ".." in name.split("/"):
                raise OSError(errno.EINVAL, "it holds a file whose name leaves the folder", shown(url))
            fetch(join(url, name), to / name)
    return True


def names_in(url: str) -> dict[str, int] | None:
    """Returns the files of a folder by their path from there, with sizes; `None` if it is none."""
    place = locate(url)
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

    return retrying(find, place.url, "cannot be listed", FIRST_PAUSES)


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
        except TypeError:  # a type with different arguments
            return error
    made.__cause__ = error.__cause__
    return made
