"""Counting, encoding and measuring files by the workers of a `concurrent.futures.Executor`.

The files are cut into parts by their sizes, so parts and results do not depend on the number of workers. A
task of `shard_tasks` reads one part and writes one file next to the result, in a folder that all machines see
or in a store; this driver only submits tasks, and adds up files. A file's name carries what it was made of:
path, size and time of modification of each input, the range, the settings and the version. So a driver that
was stopped or killed continues, when it is started again, from the files that are there.

Processes, Dask (`client.get_executor()`), MPI (`mpi4py.futures`) and Slurm (`submitit`) are executors as they
are; `sentitok.adapters` opens some, and has one for Ray.
"""

import errno
import hashlib
import json
import os
import shutil
import tempfile
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass, field
from fnmatch import fnmatch
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _sentitok, atomic, remote, shard_tasks
from ._sentitok import FormatError, SentitokError, Tokenizer, WordCounts, __version__
from .adapters import finished, is_visible, workers_of
from .corpus_shards import CorpusShard, plan_shards
from .file_versions import file_versions
from .messages import shown
from .remote_shards import RemotePath
from .shard_tasks import Sums
from .shards import Place, manifest_json

__all__ = ["ShardError", "count", "encode_files", "measure"]

Progress = Callable[[str, int, int], None]

# Bytes of files that one task reads, about.
_SHARD_BYTES = 64 << 20
# Counts files that one task merges: few, so that most are merged while others are counted. The last merge is
# the work of one worker.
_FAN_IN = 8
# How often a task is tried.
_ATTEMPTS = 4
# Tasks given to an executor of unknown size at a time: a queue of jobs should know of many.
_IN_FLIGHT = 64
# Requests to a store that are under way at a time.
_REQUESTS = 8
# How a call of `measure` names the place where workers write.
_PARTS = "with parts="
# Seconds after which progress is reported though no task has ended.
_LOOK_S = 1.0


class ShardError(SentitokError, RuntimeError):
    """A part could not be finished: its worker died each time, or the system failed it."""


@dataclass(eq=False)
class _Task:
    """A call of a function of `shard_tasks`; `whole` is there when it is done."""

    name: str
    function: Callable[..., None]
    arguments: tuple[Any, ...]
    whole: Place
    n_bytes: int = 0
    is_part: bool = True
    attempts: int = 0


# Gets a task that is done, or was left out, and gives the tasks that can begin now.
_Done = Callable[[_Task, bool], Iterable[_Task]]


@dataclass
class _Driver:
    """Runs tasks on an executor.

    Attributes:
        kept: the folder in which finished parts outlive a failure, if any.
        shared: how the call names the place where workers write, for messages.
    """

    executor: Any
    on_error: str
    kept: Place | None
    shared: str
    progress: Progress | None
    stage: str
    total: int = 0
    done: int = 0
    skipped: list[_Task] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.on_error not in ("stop", "skip"):
            raise ValueError(f"on_error={shown(self.on_error)}: it is 'stop' or 'skip'")
        if not callable(getattr(self.executor, "submit", None)):
            raise TypeError(
                f"executor is {shown(self.executor)}; it is a concurrent.futures.Executor, such as "
                "ProcessPoolExecutor() or dask.distributed.Client().get_executor()"
            )

    def report(self, n_bytes: int = 0) -> None:
        """Counts bytes as done, and calls the callback."""
        self.done += n_bytes
        if self.progress is not None:
            self.progress(self.stage, self.done, self.total)

    def run(self, tasks: Iterable[_Task], done: _Done) -> None:
        """Runs tasks, and the tasks that follow from them.

        Raises:
            ShardError: if a task failed for good, unless such tasks are skipped.
            SentitokError, ValueError: if the text or the call was wrong, likewise.
        """
        waiting = deque(tasks)
        running: dict[Any, _Task] = {}
        try:
            while waiting or running:
                self.report()
                room = _in_flight(self.executor) - len(running) if waiting else 0
                for _ in range(min(room, len(waiting))):
                    task = waiting.popleft()
                    running[self._submit(task)] = task
                for future in finished(running, _LOOK_S):
                    task = running.pop(future)
                    error = _error_of(future) or self._missing(task)
                    if error is None:
                        waiting.extend(done(task, True))
                    elif task.attempts < _ATTEMPTS and _may_pass(error):
                        waiting.append(task)
                    else:
                        self._give_up(task, error)
                        waiting.extend(done(task, False))
        finally:
            for future in running:
                future.cancel()

    def _submit(self, task: _Task) -> Any:
        task.attempts += 1
        try:
            return self.executor.submit(task.function, __version__, *task.arguments)
        except (BrokenExecutor, RuntimeError) as error:
            raise ShardError(
                f"{task.name}: the executor takes no more tasks ({error or type(error).__name__}); pass "
                'a new one (sentitok.adapters.open_executor("processes") replaces processes that die)'
                f"{self._remedy()}"
            ) from error

    def _missing(self, task: _Task) -> BaseException | None:
        """The error of a task that is done without its file."""
        if is_visible(task.whole):
            return None
        return FileNotFoundError(2, "a worker wrote it, and the driver cannot see it", str(task.whole))

    def _remedy(self) -> str:
        """The remedy after a failure, where finished parts are kept."""
        if self.kept is None:
            return ""
        with suppress(OSError):  # a store that does not answer must not hide what failed before
            if not _has_results(self.kept):
                return ""
        return f"; finished parts are kept in {self.kept}, and the same call continues"

    def _give_up(self, task: _Task, error: BaseException) -> None:
        if isinstance(error, (ImportError, AttributeError)):
            what = (
                f"a worker cannot import its task ({error}); install sentitok {__version__} on all machines"
            )
        elif _may_pass(error):
            what = f"failed {task.attempts} times, at last with {type(error).__name__}: {error}"
            if isinstance(error, BrokenExecutor):
                what += (
                    "; a process dies if memory runs out, or as it starts if the script has no "
                    '`if __name__ == "__main__":` before the code that opens the executor'
                )
            if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
                what += "; make room there"
            if isinstance(error, FileNotFoundError):
                what += (
                    "; all machines must see this path: keep texts in a folder that they share, or in a "
                    f"store, and name such a folder or a URL {self.shared}"
                )
        else:
            what = str(error)
        if task.is_part and self.on_error == "skip":
            self.skipped.append(task)
            warnings.warn(f"{task.name}: left out: {what}", stacklevel=2)
            return
        if not task.is_part and isinstance(error, FormatError):
            raise FormatError(f"{what}; remove it, and the same call counts its part again") from error
        if isinstance(error, (SentitokError, ValueError, TypeError)):
            raise error
        raise ShardError(f"{task.name}: {what}{self._remedy()}") from error


def _in_flight(executor: Any) -> int:
    """How many tasks an executor gets at a time: two for each worker, so that none waits for the driver."""
    n_workers = workers_of(executor, threads=True)
    return 2 * n_workers if n_workers else _IN_FLIGHT


def _error_of(future: Any) -> BaseException | None:
    try:
        future.result()
    except (Exception, SystemExit) as error:
        return error
    return None


def _may_pass(error: BaseException) -> bool:
    """Whether trying again may help: not where the text, the call or the installation is wrong."""
    return not isinstance(error, (SentitokError, ValueError, TypeError, ImportError, AttributeError))


def _paths(source: Any, texts: Any) -> list[str]:
    """The files that a call names.

    Raises:
        TypeError: for anything that has no path.
        ValueError: for a pipe.
    """
    is_path = isinstance(source, (str, os.PathLike))
    if texts is not None or not (is_path or isinstance(source, (list, tuple))):
        raise TypeError(
            "an executor takes paths as source, as its workers read the files; write texts in memory to files"
        )
    paths = remote.expand([source] if is_path else source)
    for path in paths:
        if path == "-" or (not remote.is_url(path) and Path(path).exists() and not Path(path).is_file()):
            raise ValueError(f"{path}: an executor reads files, and this is none; write it to a file")
    return paths


def _plan(
    paths: Sequence[str], settings: dict[str, Any], shard_bytes: int | None, progress: Progress | None
) -> list[CorpusShard]:
    """Cuts files into parts, in order; workers may have another working directory, so paths are absolute."""
    whole = [path if remote.is_url(path) else str(Path(path).absolute()) for path in paths]
    size = _SHARD_BYTES if shard_bytes is None else shard_bytes
    return plan_shards(whole, size, format=settings.get("format"), progress=progress)


def _name_of(part: CorpusShard) -> str:
    """Names the files of a part and the byte from which they are read."""
    more = f" and {len(part.paths) - 1} more files" if len(part.paths) > 1 else ""
    return f"{remote.shown(part.paths[0])}{more}, from byte {part.start}"


def _hash(value: Any) -> str:
    """Returns a name for the result that is made from a value."""
    text = json.dumps([__version__, value], sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:24]


def _names(parts: Sequence[CorpusShard], about: Any) -> list[str]:
    """Returns a name for the result of each part; a part that comes again has another."""
    seen: Counter[CorpusShard] = Counter()
    names = []
    for part in parts:
        names.append(_hash([astuple(part), about, seen[part]]))
        seen[part] += 1
    return names


def _place(path: str | os.PathLike[str]) -> Place:
    """Returns where a result goes, as all machines name it.

    Raises:
        OSError: for a URL of the web, which takes no files.
    """
    if remote.is_url(path):
        remote.check_writable(path)
        return RemotePath(remote.real_url(remote.text_of(path)))
    return Path(remote.local_name(path)).absolute()


def _write(path: Place, data: bytes) -> None:
    """Writes a file, whole or not at all."""
    if isinstance(path, RemotePath):
        path.write_bytes(data)
    else:
        atomic.write(path, data)


def _files(folder: Place) -> set[str]:
    """Returns the files in a folder, by their path from there; one listing, however many parts there are."""
    if isinstance(folder, RemotePath):
        return set(folder.files())
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def _unlink(path: Place) -> None:
    """Removes a file, if it is there."""
    if isinstance(path, RemotePath):
        path.remove()
    else:
        path.unlink(missing_ok=True)


def _remove_folder(folder: Place) -> None:
    if isinstance(folder, RemotePath):
        folder.remove(is_folder=True)
    elif folder.is_dir():
        shutil.rmtree(folder)


def _move(old: Place, new: Place) -> None:
    if isinstance(old, RemotePath) and isinstance(new, RemotePath):
        old.replace(new)
    else:
        Path(old).replace(new)


def _refuse_shard(shard: object) -> None:
    if shard is not None:
        raise ValueError(f"shard={shown(shard)}: an executor takes all shards; leave it out")


@contextmanager
def _folder(kept: Place | None, *files: Place) -> Iterator[Place]:
    """Gives the folder of finished parts: a named one, or a temporary one that is removed at the end.

    A named one that holds no finished part after a failure is removed, and with it the files that are new.

    Args:
        kept: the named one.
        files: descriptions of the output, such as its manifest.
    """
    if kept is None:
        with tempfile.TemporaryDirectory(prefix="sentitok-") as temporary:
            yield Path(temporary)
        return
    new_files = [file for file in files if not file.exists()]
    new_folders = []
    if isinstance(kept, Path):
        new_folders = [folder for folder in kept.parents if not folder.exists()]
        kept.mkdir(parents=True, exist_ok=True)
    try:
        yield kept
    except BaseException:
        with suppress(OSError):
            if not _has_results(kept):
                _remove_folder(kept)
                for file in new_files:
                    _unlink(file)
                for folder in new_folders:
                    folder.rmdir()  # fails if it holds anything
        raise


def _has_results(kept: Place) -> bool:
    """Whether a folder holds a finished part, or finished shards of one."""
    names = [name for name in _files(kept) if atomic.PREFIX not in name]
    return any(name.endswith((".counts", ".npy")) or "/shard-" in name for name in names)


def _check_same(kept: Place, settings: dict[str, Any]) -> None:
    """Refuses finished parts that were made with other settings; else they would never be removed.

    Raises:
        FormatError: naming what differs.
    """
    path = kept / "settings.json"
    try:
        there = manifest_json(path)
    except FileNotFoundError:
        _write(path, json.dumps(settings, indent=2, sort_keys=True).encode())
        return
    except FormatError:
        there = {}
    for name, value in settings.items():
        if not isinstance(there, dict) or there.get(name) != value:
            found = there.get(name) if isinstance(there, dict) else there
            raise FormatError(
                f"{kept} holds finished parts of another run: {name} is {shown(found)} there and "
                f"{shown(value)} here; name another output, or remove that folder"
            )


@dataclass(eq=False)
class _Node:
    """A counts file: of a part, or merged from several."""

    path: Place
    part: CorpusShard | None = None
    children: "list[_Node]" = field(default_factory=list)
    parent: "_Node | None" = None
    pending: int = 0
    is_skipped: bool = False

    @property
    def n_bytes(self) -> int:
        """Bytes of files that are counted in it."""
        return (
            self.part.stop - self.part.start if self.part else sum(child.n_bytes for child in self.children)
        )


def _merged(children: list[_Node], kept: Place) -> _Node:
    name = _hash([child.path.name for child in children])
    node = _Node(kept / f"merged-{name}.counts", children=children)
    for child in children:
        child.parent = node
    return node


def _share(paths: list[str], settings: dict[str, Any]) -> float:
    """Returns the share that a sample in bytes has of all files; a worker sees only some of them."""
    # The second of so many shards is empty, so only the sizes of files are read.
    empty = _sentitok.count(paths, shard=(1, 1 << 62), **settings)
    return empty.samples[0]["share"] if empty is not None and empty.samples else 1.0


def count(
    source: Any,
    *,
    texts: Any = None,
    executor: Any,
    on_error: str = "stop",
    shard_bytes: int | None = None,
    out: str | os.PathLike[str] | None = None,
    normalizer: Any = None,
    pre_tokenizer: Any = None,
    shard: object = None,
    threads: int | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> WordCounts | None:
    """Counts files as `sentitok.count` does, on the workers of an executor.

    Args:
        source: a path, or a list of paths, that all workers see.
        texts: refused, because they have no path.
        executor: a `concurrent.futures.Executor`.
        on_error: `"stop"`, or `"skip"` to leave out parts that fail, with a warning.
        shard_bytes: bytes of the files that one task reads, about; 64 MiB if not given.
        out: the counts file, a path that all workers see or a URL; finished parts are kept in `<out>.parts`
            until all is done. Without it counts are returned, and parts go to a folder of `tempfile`
            (`TMPDIR`), which all workers must see.
        normalizer: as for `sentitok.count`.
        pre_tokenizer: as for `sentitok.count`.
        shard: refused.
        threads: threads of one task; 1 if not given.
        progress: as for `sentitok.count`.
        settings: further arguments of `sentitok.count`.

    Raises:
        ShardError: if a part failed each time it was tried.
        SentitokError, OSError, ValueError: as `sentitok.count`.
    """
    _refuse_shard(shard)
    paths = _paths(source, texts)
    settings |= {
        "normalizer": normalizer,
        "pre_tokenizer": pre_tokenizer,
        "threads": 1 if threads is None else threads,
    }
    target = None if out is None else _place(out)
    with _folder(target and target.with_name(f"{target.name}.parts")) as kept:
        with tempfile.TemporaryDirectory(prefix="sentitok-") as unused:
            # Nothing is counted here; wrong arguments are found before any worker is asked.
            _sentitok.count([], out=Path(unused) / "nothing.counts", **settings)
        pipeline = WordCounts({}, normalizer=normalizer, pre_tokenizer=pre_tokenizer).pipeline_hash
        others = ("normalizer", "pre_tokenizer", "threads", "max_memory")  # the last two change no count
        about = {"pipeline": pipeline, **{name: settings[name] for name in settings if name not in others}}
        if target is not None:
            _check_same(kept, about)
        if isinstance(settings.get("sample"), int):
            settings["sample"] = _share(paths, settings)
        parts = _plan(paths, settings, shard_bytes, progress)
        names = _names(parts, about)
        leaves = [_Node(kept / f"{name}.counts", part) for name, part in zip(names, parts, strict=True)]
        driver = _Driver(executor, on_error, kept if target else None, "as output", progress, "count")
        root = _count_tree(driver, leaves, kept, settings)
        if root is None:
            _sentitok.count([], out=kept / "none.counts", **settings)
            root = kept / "none.counts"
        if target is None:
            return WordCounts.load(root)
        _move(root, target)
        _remove_folder(kept)
    return None


def _count_tree(driver: _Driver, leaves: list[_Node], kept: Place, settings: dict[str, Any]) -> Place | None:
    """Counts parts and merges the counts, a few at a time; returns the file of all, or none."""
    level = leaves
    while len(level) > 1:
        level = [_merged(level[at : at + _FAN_IN], kept) for at in range(0, len(level), _FAN_IN)]
    driver.total = sum(leaf.n_bytes for leaf in leaves)
    if not level:
        return None
    nodes: dict[_Task, _Node] = {}
    there = _files(kept)

    def task_of(node: _Node) -> _Task:
        if node.part is not None:
            arguments: tuple[Any, ...] = (node.part, os.fspath(node.path), settings)
            task = _Task(_name_of(node.part), shard_tasks.count_part, arguments, node.path, node.n_bytes)
        else:
            whole = [child for child in node.children if not child.is_skipped]
            if len(whole) < len(node.children):  # another file than that of all
                node.path = _merged(whole, kept).path
            files = [os.fspath(child.path) for child in whole]
            name = f"{whole[0].path} and {len(files) - 1} more counts files"
            call = (files, os.fspath(node.path))
            task = _Task(name, shard_tasks.merge_parts, call, node.path, is_part=False)
        nodes[task] = node
        return task

    def begin(node: _Node) -> list[_Task]:
        """The tasks that a file needs, if it is not there."""
        if node.path.name in there:
            driver.done += node.n_bytes
            return []
        if node.part is not None:
            return [task_of(node)]
        tasks = [begin(child) for child in node.children]
        node.pending = sum(map(bool, tasks))
        return [task for some in tasks for task in some] or [task_of(node)]

    def done(task: _Task, is_whole: bool) -> list[_Task]:
        node = nodes.pop(task)
        node.is_skipped = not is_whole
        driver.report(task.n_bytes)
        if is_whole:
            for child in node.children:
                _unlink(child.path)
        while (parent := node.parent) is not None:
            parent.pending -= 1
            if parent.pending:
                return []
            if not all(child.is_skipped for child in parent.children):
                return [task_of(parent)]
            parent.is_skipped = True
            node = parent
        return []

    driver.run(begin(level[0]), done)
    return None if level[0].is_skipped else level[0].path


def encode_files(
    source: Any,
    out_dir: str | os.PathLike[str],
    tokenizer: Tokenizer,
    *,
    texts: Any = None,
    executor: Any,
    on_error: str = "stop",
    shard_bytes: int | None = None,
    shard: object = None,
    resume: bool | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> dict[str, Any]:
    """Encodes files as `sentitok.encode_files` does, on the workers of an executor.

    Args:
        source: a path, or a list of paths, that all workers see.
        out_dir: the folder to write, a path that all workers see or a URL; finished parts are kept in `parts`
            in it.
        tokenizer: the tokenizer; workers read it from a file in that folder.
        texts: refused, because they have no path.
        executor: a `concurrent.futures.Executor`.
        on_error: `"stop"`, or `"skip"` to leave out parts that fail, with a warning; the manifest names them.
        shard_bytes: bytes of the files that one task reads, about; 64 MiB if not given.
        shard: refused.
        resume: as for `sentitok.encode_files`.
        threads: threads of one task; 1 if not given.
        progress: as for `sentitok.encode_files`.
        settings: further arguments of `sentitok.encode_files`.

    Returns:
        The manifest.

    Raises:
        ShardError: if a part failed each time it was tried.
        SentitokError, OSError, ValueError: as `sentitok.encode_files`.
    """
    _refuse_shard(shard)
    _refuse_dropout(tokenizer)
    paths = _paths(source, texts)
    if settings.get("layout") == "nanogpt":
        raise ValueError("layout='nanogpt': it is one file, and an executor writes several; take 'sentitok'")
    folder = _place(out_dir)
    if isinstance(names := settings.get("specials"), (list, tuple, set, frozenset)):
        settings["specials"] = sorted(names)
    parts = _plan(paths, settings, shard_bytes, progress)
    wanted = _header(tokenizer, settings)
    wanted["sources"] = [
        *(
            {"name": _unicode(remote.named(path)), "bytes": version[0]}
            for path, version in zip(paths, file_versions(paths), strict=True)
        ),
        *wanted["sources"],
    ]
    path = folder / "manifest.json"
    if resume is False:
        _remove(folder)
    if path.exists():
        there = manifest_json(path)
        if isinstance(there, dict) and there.get("complete") is True:
            # It says whether this is the data set that is asked for.
            return _sentitok.encode_files(source, folder, tokenizer, **settings)
        _check_manifest(folder, there, wanted)
    settings["threads"] = 1 if threads is None else threads
    with _folder(folder / "parts", path) as kept:
        _write_manifest(path, wanted | {"complete": False})
        about = {name: value for name, value in settings.items() if name != "threads"}
        about |= {"tokenizer": tokenizer.fingerprint}
        file = kept / "tokenizer.sentitok"
        _write(file, tokenizer.to_bytes())
        files = _files(kept)
        names = _names(parts, about)
        tasks, are_whole = [], []
        for name, part in zip(names, parts, strict=True):
            arguments = (part, os.fspath(kept / name), (os.fspath(file), tokenizer.fingerprint), settings)
            whole = kept / name / shard_tasks.COMPLETE
            are_whole.append(f"{name}/{shard_tasks.COMPLETE}" in files)
            tasks.append(
                _Task(_name_of(part), shard_tasks.encode_part, arguments, whole, part.stop - part.start)
            )
        n_bytes = sum(task.n_bytes for task in tasks)
        driver = _Driver(executor, on_error, kept, "as output", progress, "encode", n_bytes)
        driver.done = sum(task.n_bytes for task, is_whole in zip(tasks, are_whole, strict=True) if is_whole)

        def done(task: _Task, _: bool) -> list[_Task]:
            driver.report(task.n_bytes)
            return []

        driver.run([task for task, is_whole in zip(tasks, are_whole, strict=True) if not is_whole], done)
        wanted["sources"] += [
            {"name": f"left out: {_unicode(task.name)}", "bytes": None} for task in driver.skipped
        ]
        parts_left = [name for name, task in zip(names, tasks, strict=True) if task not in driver.skipped]
        _join(folder, wanted, kept, parts_left)
        _remove_folder(kept)
    return wanted


def _unicode(path: str) -> str:
    """Returns a path as the extension writes it into a manifest."""
    return os.fsencode(path).decode("utf-8", "replace")


def _refuse_dropout(tokenizer: Tokenizer) -> None:
    if tokenizer.info().get("dropout"):
        raise ValueError(
            "tokenizer has dropout, whose draws depend on the number of a document, which a part does not "
            "know; encode without an executor, or with_dropout(None)"
        )


def _header(tokenizer: Tokenizer, settings: dict[str, Any]) -> dict[str, Any]:
    """The manifest of no documents; wrong arguments are found before any worker is asked."""
    with tempfile.TemporaryDirectory(prefix="sentitok-") as folder:
        return _sentitok.encode_files([], folder, tokenizer, **settings)


def _write_manifest(path: Place, manifest: dict[str, Any]) -> None:
    _write(path, f"{json.dumps(manifest, indent=2, ensure_ascii=False)}\n".encode())


def _check_manifest(out_dir: Place, there: Any, wanted: dict[str, Any]) -> None:
    """Refuses a folder that another data set was begun in.

    Raises:
        FormatError: naming what differs.
    """
    for name, value in wanted.items():
        found = there.get(name) if isinstance(there, dict) else None
        if name not in ("complete", "documents", "tokens", "shards") and found != value:
            raise FormatError(
                f"{out_dir} holds another data set: {name} is {shown(found)} there and {shown(value)} here; "
                "name another folder, or start again with resume=False"
            )


def _remove(out_dir: Place) -> None:
    """Removes a data set, the manifest first; other files of the folder stay."""
    _unlink(out_dir / "manifest.json")
    if isinstance(out_dir, RemotePath) or out_dir.is_dir():
        for name in _files(out_dir):
            if "/" not in name and (fnmatch(name, "shard-[0-9]*") or fnmatch(name, "tokens.bin*")):
                _unlink(out_dir / name)
    _remove_folder(out_dir / "parts")


def _join(out_dir: Place, manifest: dict[str, Any], kept: Place, names: Sequence[str]) -> None:
    """Moves the shards of parts to their places, in order, and writes the manifest.

    After a kill it continues: a file missing from its part has already been moved.
    """
    shards = manifest["shards"]
    documents = tokens = 0
    there = _files(kept)
    moves: dict[Place, Place] = {}
    with ThreadPoolExecutor(_REQUESTS) as requests:
        parts = list(requests.map(lambda name: manifest_json(kept / name / "manifest.json"), names))
    for part_name, part in zip(names, parts, strict=True):
        for number, shard in enumerate(part["shards"]):
            old, new = f"shard-{number:05}", f"shard-{len(shards):05}"
            for key in ("file", "index"):
                if (name := shard[key]) is not None:
                    shard[key] = new + name.removeprefix(old)
                    if f"{part_name}/{name}" in there:
                        moves[kept / part_name / name] = out_dir / shard[key]
            shard["first_document"] = documents
            documents, tokens = documents + shard["documents"], tokens + shard["tokens"]
            shards.append(shard)
    with ThreadPoolExecutor(_REQUESTS) as requests:
        list(requests.map(_move, moves.keys(), moves.values()))
    manifest |= {"documents": documents, "tokens": tokens, "complete": True}
    _write_manifest(out_dir / "manifest.json", manifest)


def measure(
    tokenizers: Sequence[Tokenizer],
    paths: Sequence[str],
    *,
    executor: Any,
    on_error: str = "stop",
    threads: int | None = None,
    progress: Progress | None = None,
    shard_bytes: int | None = None,
    parts: str | os.PathLike[str] | None = None,
    **settings: Any,
) -> tuple[list[Sums], list[float]]:
    """Measures tokenizers on files, for `sentitok.evaluate`.

    Args:
        tokenizers: the tokenizers.
        paths: the files, that all workers see.
        executor: a `concurrent.futures.Executor`.
        on_error: as for `count`.
        threads: as for `count`.
        progress: as for `count`; bytes count once for each tokenizer.
        shard_bytes: as for `count`.
        parts: a folder that all workers see, or a URL, in which finished parts are kept until all is done.
            Without it they go to a folder of `tempfile` (`TMPDIR`), which all workers must see.
        settings: how the files are read: further arguments of `sentitok.documents.Documents`.

    Returns:
        For each tokenizer the sums, and the share of distinct words that are one token (`nan` without words).

    Raises:
        ShardError, SentitokError, OSError, ValueError: as `count`.
    """
    for tokenizer in tokenizers:
        _refuse_dropout(tokenizer)
    n_threads = 1 if threads is None else threads
    shards = _plan(paths, settings, shard_bytes, progress)
    about = {"tokenizers": [one.fingerprint for one in tokenizers], "reading": settings}
    names = _names(shards, about)
    named = None if parts is None else _place(parts) / f"eval-{_hash(names)}"
    with _folder(named) as kept:
        there = _files(kept)
        files = []
        for tokenizer in tokenizers:
            file = kept / f"{tokenizer.fingerprint}.sentitok"
            _write(file, tokenizer.to_bytes())
            files.append((os.fspath(file), tokenizer.fingerprint))
        total = sum(shard.stop - shard.start for shard in shards) * len(tokenizers)
        driver = _Driver(executor, on_error, named, _PARTS, progress, "encode", total)
        sums = [np.zeros(Sums.n_numbers() + one.vocab_size, np.int64) for one in tokenizers]

        def add(task: _Task, is_whole: bool) -> list[_Task]:
            if is_whole:
                numbers = _numbers(task.whole)
                for own in sums:
                    own += numbers[: len(own)]
                    numbers = numbers[len(own) :]
            driver.report(task.n_bytes)
            return []

        tasks = []
        for name, shard in zip(names, shards, strict=True):
            out = kept / f"{name}.npy"
            arguments = (shard, os.fspath(out), files, settings, n_threads)
            n_bytes = (shard.stop - shard.start) * len(tokenizers)
            tasks.append(_Task(_name_of(shard), shard_tasks.measure_part, arguments, out, n_bytes))
        for task in tasks:
            if task.whole.name in there:
                add(task, True)
        driver.run([task for task in tasks if task.whole.name not in there], add)
        leaves = [
            _Node(kept / f"{name}.counts", shard)
            for name, shard, task in zip(names, shards, tasks, strict=True)
            if task not in driver.skipped
        ]
        words = {
            **settings,
            "normalizer": None,
            "pre_tokenizer": "whitespace-split",
            "threads": n_threads,
        }
        driver = _Driver(executor, on_error, named, _PARTS, None, "count")
        counted = _count_tree(driver, leaves, kept, words)
        n_words, single = 0, [0] * len(tokenizers)
        if counted is not None:
            out = kept / "single.npy"
            call = (os.fspath(counted), os.fspath(out), files)
            task = _Task(f"distinct words of {paths[0]}", shard_tasks.single_tokens, call, out, is_part=False)
            _Driver(executor, on_error, named, _PARTS, None, "encode").run([task], lambda *_: [])
            n_words, *single = _numbers(out).tolist()
        if named is not None:
            _remove_folder(named)
    shares = [one / n_words if n_words else float("nan") for one in single]
    return [Sums.from_array(own) for own in sums], shares


def _numbers(path: Place) -> NDArray[np.int64]:
    """Reads an array that a task wrote."""
    file = BytesIO(remote.read_bytes(path)) if isinstance(path, RemotePath) else path
    numbers: NDArray[np.int64] = np.load(file)
    return numbers
