"""What happens to files that exist: they are replaced only with `--force`, or stay if they would not change.

Whether a file would change is known only when its successor is there. So the successor is written under a
free name beside it and compared: a long training loses nothing, and the same command may run again.
"""

import errno
import filecmp
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from itertools import count, takewhile
from os import PathLike
from pathlib import Path
from typing import Annotated

import typer

from .command import UsageError, refuse
from .output import Output

__all__ = ["Force", "Write", "announce", "check_file", "put", "put_file"]

Force = Annotated[bool, typer.Option("--force", help="Replace files that exist and would change.")]

# Writes a file or a folder of that name; returns the files.
Write = Callable[[Path], Iterable[str | PathLike[str]]]


def _names_beside(path: Path) -> Iterator[Path]:
    """Yields names beside `path`: `tokenizer-new.json`, `tokenizer-new2.json`, ..."""
    yield path.with_name(f"{path.stem}-new{path.suffix}")
    for number in count(2):
        yield path.with_name(f"{path.stem}-new{number}{path.suffix}")


def _free_name(path: Path) -> Path:
    """Returns a name beside `path` that nothing has."""
    return next(name for name in _names_beside(path) if not (name.exists() or name.is_symlink()))


def _kept_before(out: Path, beside: Path) -> Path:
    """Returns the file beside `out` that an equal result was kept in before; else the new one."""
    before = takewhile(lambda name: name != beside, _names_beside(out))
    equal = (name for name in before if name.is_file() and filecmp.cmp(name, beside, shallow=False))
    return next(equal, beside) if beside.is_file() else beside


def check_file(out: Path | None, *, force: bool = False, option: str = "--out") -> None:
    """Refuses before the work what no file can replace.

    Args:
        out: the file; without one, `--force` is refused.
        force: whether `--force` was typed.
        option: names the file.

    Raises:
        IsADirectoryError: if it is a folder.
        UsageError: if it is a device or a pipe, or `--force` has nothing to replace.
    """
    if out is None:
        if force:
            refuse(f"it replaces the file of {option}, which is not given", "force")
        return
    if out.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(out))
    _check_kind(out)


def announce(out: Path | None, output: Output, *, force: bool, option: str = "--out") -> None:
    """Checks a file that is kept beside another that it may not replace, and says so before long work.

    Raises:
        IsADirectoryError, UsageError: as `check_file`.
    """
    check_file(out, force=force, option=option)
    if out is not None and out.is_file() and not force:
        output.note(f"{out} exists; a result that differs goes to {_free_name(out)} (--force replaces {out})")


def _check_kind(out: Path) -> None:
    if out.exists() and not (out.is_file() or out.is_dir()):
        raise UsageError(f"{out} is a device or a pipe, which a file would replace; name a file")


def put(*outs: tuple[Path, Write], force: bool, keep: bool = False) -> tuple[list[str], list[str]]:
    """Writes files, unless one exists and would change.

    Args:
        outs: a name, and what writes a file or a folder of that name.
        force: replace what exists.
        keep: leave new files that cannot replace old ones beside them, because they took long to make.

    Returns:
        The files, and those of them that existed: with `force` they were replaced, else they are equal.

    Raises:
        UsageError: if a file exists and would change; nothing is replaced then.
    """
    for out, _ in outs:
        _check_kind(out)
    if force or not any(out.exists() for out, _ in outs):
        before = {path for out, _ in outs for path in (out, *out.rglob("*")) if path.is_file()}
        files = [Path(file) for out, write in outs for file in write(out)]
        return list(map(str, files)), [str(file) for file in files if file in before]
    made = [(out, _free_name(out), write) for out, write in outs]
    kept: list[Path] = []
    try:
        new = {
            out if file == beside else out / file.relative_to(beside): file
            for out, beside, write in made
            for file in map(Path, write(beside))
        }
        there = [file for file in new if file.exists()]
        if changed := [file for file in there if not filecmp.cmp(file, new[file], shallow=False)]:
            kept = [_kept_before(out, beside) for out, beside, _ in made] if keep else []
            raise UsageError(_refusal(changed, kept))
        for file in new.keys() - set(there):
            file.parent.mkdir(parents=True, exist_ok=True)
            new[file].replace(file)
        return list(map(str, new)), list(map(str, there))
    finally:
        for _, beside, _ in made:
            if beside.is_dir() and beside not in kept:
                shutil.rmtree(beside)
            elif beside not in kept:
                beside.unlink(missing_ok=True)


def put_file(out: Path, write: Callable[[Path], object], *, force: bool, keep: bool = False) -> None:
    """Writes one file as `put` does; `write` writes a file of the name that it gets.

    Raises:
        UsageError: as `put`.
    """

    def files(path: Path) -> list[Path]:
        write(path)
        return [path]

    put((out, files), force=force, keep=keep)


def _refusal(changed: list[Path], kept: list[Path]) -> str:
    names = ", ".join(map(str, changed))
    be, it = ("exists", "it") if len(changed) == 1 else ("exist", "them")
    if kept:
        instead = f"the result is in {', '.join(map(str, kept))}; --force replaces {names}"
    else:
        instead = f"name another file, or replace {it} with --force"
    return f"{names} {be} and would change; {instead}"
