"""`expand`: the files that paths, folders, globs and URLs name."""

import errno
import glob
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..atomic import PREFIX
from .inputs import Input, at_once
from .stores import FIRST_PAUSES, Location, locate, retrying
from .urls import HTTP, is_url, local_name, real_url, real_urls, scheme_of, shown, text_of

# The sizes in the last listing, so that each of many files is not asked for its size.
_sizes: dict[str, int] = {}


def expand(sources: Iterable[str | os.PathLike[str]]) -> list[str]:
    """Returns the files that sources name: a folder and a glob mean the files in them, sorted.

    `-` stays. A file whose name has a `*` is found by its name. Hidden files and files that are being
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
    return any(char in name for char in ("*[" if scheme in HTTP else "*?["))


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
    is_glob = _has_glob(url, scheme_of(url))
    if url in real_urls or not (is_glob or _may_be_folder(url)):
        return [url]
    place = locate(url)
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

    found = retrying(find, url, "cannot be listed", FIRST_PAUSES)
    if found is None:
        return [url]
    # A name is hidden if a part of it is that was not spelled out.
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
    if scheme_of(url) in HTTP:
        return url.endswith("/")
    return not re.search(r"\.[a-z0-9]{1,8}$", url, re.IGNORECASE) or url.endswith("/")


def _full(url: str, place: Location, path: str) -> str:
    """Returns the URL of a path in the same store."""
    if place.is_http:
        return path
    chain, double, last = url.rpartition("::")
    scheme = last.partition("://")[0]
    return f"{chain}{double}{scheme}://{path.lstrip('/')}"


def size(url: str | os.PathLike[str]) -> int | None:
    """Returns the size of a file behind a URL in bytes; `None` where the server does not send it.

    Raises:
        ModuleNotFoundError, OSError: as `Input`.
    """
    if (known := _sizes.get(real_url(text_of(url)))) is not None:
        return known
    file = Input(url, first_bytes=1)
    file.close()
    return file.size


def sizes(urls: list[str]) -> list[int | None]:
    """Returns the sizes of files, several of which are asked for at a time.

    Raises:
        ModuleNotFoundError, OSError: as `Input`.
    """
    return at_once(size, urls)
