"""`LocalOutput`: files written to a URL, brought to its store whole or not at all; moving and removing."""

import contextlib
import errno
import os
import secrets
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from ..atomic import PREFIX
from .copies import LocalCopy, fetch_all, names_in
from .inputs import fetch
from .stores import exists, locate, retrying
from .urls import is_url, join, local_name, real_url, shown, text_of

# Seconds between two looks at what a running job has finished.
_SYNC_EVERY = 0.5
# Stores that make an object visible when all of it has arrived.
_OBJECT_STORES = {"s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "adl", "hf", "oss", "oci", "r2"}


def check_writable(url: str | os.PathLike[str]) -> None:
    """Finds out before long work that nothing can be written to a place, as far as that costs no writing.

    Raises:
        ModuleNotFoundError: if a package is missing.
        OSError: if the place takes no files.
    """
    place = locate(url)
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
    place = locate(url)

    def put() -> None:
        if place.scheme in _OBJECT_STORES:
            place.fs.put_file(str(local), place.path)
            return
        folder, slash, name = place.path.rpartition("/")
        temporary = f"{folder}{slash}{PREFIX}{name[:100]}-{secrets.token_hex(3)}"
        with contextlib.suppress(Exception):  # made with the file, where the store needs none
            place.fs.makedirs(folder, exist_ok=True)
        try:
            place.fs.put_file(str(local), temporary)
            place.fs.mv(temporary, place.path)
        except BaseException:
            with contextlib.suppress(Exception):
                place.fs.rm_file(temporary)
            raise

    retrying(put, place.url, "cannot be written")


def write_bytes(url: str, data: bytes) -> None:
    """Writes a small file, whole or not at all.

    Raises:
        ModuleNotFoundError, OSError: as `upload`.
    """
    with tempfile.TemporaryDirectory(prefix="sentitok-remote-") as folder:
        local = Path(folder) / "file"
        local.write_bytes(data)
        upload(local, url)


def move(url: str, to: str) -> None:
    """Moves a file within a store.

    Raises:
        OSError: if it is not there, or the store does not move it.
    """
    old, new = locate(url), locate(to)
    retrying(lambda: old.fs.mv(old.path, new.path), old.url, "cannot be moved")


def remove(url: str, *, is_folder: bool = False) -> None:
    """Removes a file, or a folder with all that is in it, if it is there.

    Raises:
        OSError: if the store does not remove it.
    """
    place = locate(url)

    def work() -> None:
        with contextlib.suppress(FileNotFoundError):
            if is_folder:
                place.fs.rm(place.path, recursive=True)
            else:
                place.fs.rm_file(place.path)

    retrying(work, place.url, "cannot be removed")


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
        """Copies the existing file or folder.

        Args:
            url: a file or a folder, which need not exist.
            only: which files of a folder are copied; the rest become sparse files of the same size.

        Raises:
            ModuleNotFoundError, OSError: as `Input` and `check_writable`.
        """
        check_writable(url)
        self._copy = LocalCopy(real_url(text_of(url)))
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
        names = names_in(url)
        if names is None:
            if not url.endswith("/") and exists(url):
                fetch(url, self.path)
            return
        fetch_all(url, self.path, only)
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
        """The URL of a file next to `path` or in it."""
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
        # The manifest may now list more files than there are.
        held = self.path.parent / f"{PREFIX}manifest"
        held.write_bytes(data)
        upload(held, join(self._copy.url, "manifest.json"))

    def finish(self) -> None:
        """Uploads changed files to the store, and removes there the files that were removed here.

        Raises:
            OSError: if the store does not take it.
        """
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()
        gone = self._before.keys() - self._files().keys()
        self.sync()
        for name in sorted(gone):
            remove(self._url_of(name))
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
        remove(join(output.url, "manifest.json"))
    output.sync_shards()
    return output


# Files that mark a folder as complete; they are written last.
_LAST = ("manifest.json", "MANIFEST", "run.json")


def _state(path: Path) -> tuple[int, int, int]:
    about = path.stat()
    return about.st_size, about.st_mtime_ns, about.st_ino
