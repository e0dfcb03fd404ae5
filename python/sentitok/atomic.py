"""Files that appear whole or not at all, for what Python writes.

The extension writes its files by the same rules (`docs/reference/formats.md`): a temporary
name next to the file, `.sentitok-NAME-XXXXXX`, locked while its writer lives, then
renamed. A lock ends with its process, so a temporary file that can be locked was
left behind by a writer that was killed, and the next writer of NAME removes it.
"""

import errno
import hashlib
import json
import os
import secrets
import shutil
import string
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from .messages import local_names

__all__ = ["PREFIX", "json_bytes", "naming", "new_folder", "write", "writing", "writing_folder"]

PREFIX = ".sentitok-"
# Files that may name other files; a local copy of a URL is called by the URL there.
_TEXTS = (".html", ".json", ".jsonl", ".md", ".toml")
_LETTERS = string.ascii_letters + string.digits
_N_LETTERS = 6
# Suffix of the name of a folder, after that of the file whose lock says that its writer lives.
_FOLDER = ".d"
# Names are at most 255 bytes; a longer one goes by its hash.
_MOST_NAME_BYTES = 200


def write(path: str | os.PathLike[str], data: bytes) -> None:
    """Writes a whole file; missing folders are made.

    Raises:
        OSError: naming the file.
    """
    if local_names and Path(path).suffix in _TEXTS:
        for local, name in list(local_names.items()):
            data = data.replace(os.fsencode(local), os.fsencode(name))
    with writing(path) as temporary, open(temporary, "wb") as file:
        file.write(data)


def json_bytes(value: Mapping[str, Any]) -> bytes:
    """Returns an object as a JSON file, as transformers writes them.

    If a text has half of a surrogate pair, which UTF-8 cannot hold, all characters beyond ASCII are escaped.
    """
    try:
        return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()
    except UnicodeEncodeError:
        return (json.dumps(value, indent=2) + "\n").encode()


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Gives the name of an empty file to write to; at the end it becomes `path`.

    If the body raises, `path` stays as it was and nothing is left.

    Raises:
        OSError: naming the file; at once where it is a folder, or a link to one.
    """
    path = Path(path)
    if path.is_dir():  # found before the body has worked for hours
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    with naming(path), new_folder(path.parent):
        prefix = _prefix(path.name)
        _remove_leftovers(path.parent, prefix)
        temporary, lock = _locked(path.parent, prefix)
        try:
            yield temporary
            with open(temporary, "rb") as file:
                os.fsync(file.fileno())
            temporary.replace(path)
            _sync_directory(path.parent)
        finally:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            os.close(lock)


@contextmanager
def writing_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Gives an empty folder to write files to; at the end it becomes `path`.

    A folder that is there already keeps its other files, and gets the new ones one by one, in the order of
    their names. If the body raises, `path` stays as it was and nothing is left.

    Raises:
        OSError: naming the folder; at once where it is a file.
    """
    path = Path(path)
    if path.exists() and not path.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
    with naming(path), new_folder(path.parent):
        prefix = _prefix(path.name)
        _remove_leftovers(path.parent, prefix)
        mark, lock = _locked(path.parent, prefix)
        temporary = mark.with_name(mark.name + _FOLDER)
        try:
            temporary.mkdir()
            yield temporary
            for file in temporary.iterdir():
                with open(file, "rb") as written:
                    os.fsync(written.fileno())
            if path.is_dir():
                for file in sorted(temporary.iterdir()):
                    file.replace(path / file.name)
                _sync_directory(path)
            else:
                temporary.replace(path)
            _sync_directory(path.parent)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
            with suppress(OSError):
                mark.unlink(missing_ok=True)
            os.close(lock)


@contextmanager
def new_folder(path: Path) -> Iterator[None]:
    """Makes a folder and its parents, unless they exist.

    If the body raises, the new ones are removed again, unless they hold files.
    """
    made = [] if path.is_dir() else [folder for folder in (path, *path.parents) if not folder.exists()]
    path.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        with suppress(OSError):  # not empty
            for folder in made:
                folder.rmdir()
        raise


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Lets an error of the system name `path`: a full disk does not say of which file.

    Raises:
        OSError: naming the file.
    """
    try:
        yield
    except OSError as error:
        if error.filename is not None and PREFIX not in os.fsdecode(error.filename):
            raise
        number = error.errno or errno.EIO
        raise OSError(number, error.strerror or os.strerror(number), str(path)) from error


def _prefix(name: str) -> str:
    data = os.fsencode(name)
    return f"{PREFIX}{name if len(data) <= _MOST_NAME_BYTES else hashlib.sha256(data).hexdigest()}-"


def _locked(folder: Path, prefix: str) -> tuple[Path, int]:
    """Makes an empty file and locks it."""
    while True:
        temporary = folder / (prefix + "".join(secrets.choice(_LETTERS) for _ in range(_N_LETTERS)))
        try:
            file = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        except FileExistsError:
            continue
        # Before the lock is there, another writer may take the file for one left behind.
        if _lock(file) is not False and temporary.exists():
            return temporary, file
        os.close(file)
        temporary.unlink(missing_ok=True)


def _lock(file: int) -> bool | None:
    """Whether the lock could be taken; `None` where there are none."""
    try:
        import fcntl
    except ImportError:  # Windows: nothing is locked, so nothing is removed
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _remove_leftovers(folder: Path, prefix: str) -> None:
    """Removes what killed writers left; what cannot be removed stays."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            end = entry.name.removeprefix(prefix)
            ours = entry.name.startswith(prefix) and len(end) == _N_LETTERS and set(end) <= set(_LETTERS)
            if not (ours and entry.is_file(follow_symlinks=False)):
                continue
            with suppress(OSError):
                file = os.open(entry.path, os.O_RDWR)
                try:
                    if _lock(file):
                        shutil.rmtree(entry.path + _FOLDER, ignore_errors=True)
                        Path(entry.path).unlink()
                finally:
                    os.close(file)


def _sync_directory(folder: Path) -> None:
    """Brings the names in a folder to the disk, where the system can."""
    with suppress(OSError):
        file = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(file)
        finally:
            os.close(file)
