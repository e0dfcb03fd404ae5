"""Existing output files: they are replaced only with `--force`, or stay if they would not change.

Whether a file would change is known only when its successor is there. So the successor is written under a
free name next to it and compared: a long training loses nothing, and the same command may run again.
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

Force = Annotated[
    bool, typer.Option("--force", help="Replace files that exist and would change.", rich_help_panel="Output")
]

# Writes a file or a folder of that name; returns the files.
Write = Callable[[Path], Iterable[str | PathLike[str]]]


def _spare_names(path: Path) -> Iterator[Path]:
    """Yields names next to `path`: `tokenizer-new.json`, `tokenizer-new2.json`, ..."""
    yield path.with_name(f"{path.stem}-new{path.suffix}")
    for number in count(2):
        yield path.with_name(f"{path.stem}-new{number}{path.suffix}")


def _free_name(path: Path) -> Path:
    """Returns a name next to `path` that nothing has."""
    return next(name for name in _spare_names(path) if not (name.exists() or name.is_symlink()))


def _kept_before(out: Path, spare: Path) -> Path:
    """Returns the file next to `out` that an equal result was kept in before; else the new one."""
    before = takewhile(lambda name: name != spare, _spare_names(out))
    equal = (name for name in before if name.is_file() and filecmp.cmp(name, spare, shallow=False))
    return next(equal, spare) if spare.is_file() else spare


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
    """Checks a file that is kept next to another that it may not replace, and says so before long work.

    Raises:
        IsADirectoryError, UsageError: as `check_file`.
    """
    check_file(out, force=force, option=option)
    if out is not None and out.is_file() and not force:
        output.note(f"{out} exists, and stays if the result differs")


def _check_kind(out: Path) -> None:
    if out.exists() and not (out.is_file() or out.is_dir()):
        raise UsageError(f"{out} is a device or a pipe, which a file would replace; name a file")


def put(*outs: tuple[Path, Write], force: bool, keep: bool = False) -> tuple[list[str], list[str]]:
    """Writes files, unless one exists and would change.

    Args:
        outs: a name, and what writes a file or a folder of that name.
        force: replace what exists.
        keep: leave new files that cannot replace old ones next to them, because they took long to make.

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
            out if file == spare else out / file.relative_to(spare): file
            for out, spare, write in made
            for file in map(Path, write(spare))
        }
        there = [file for file in new if file.exists()]
        if changed := [file for file in there if not filecmp.cmp(file, new[file], shallow=False)]:
            kept = [_kept_before(out, spare) for out, spare, _ in made] if keep else []
            raise UsageError(_refusal(changed, kept))
        for file in new.keys() - set(there):
            file.parent.mkdir(parents=True, exist_ok=True)
            new[file].replace(file)
        return list(map(str, new)), list(map(str, there))
    finally:
        for _, spare, _ in made:
            if spare.is_dir() and spare not in kept:
                shutil.rmtree(spare)
            elif spare not in kept:
                spare.unlink(missing_ok=True)


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
    if kept:  # that it exists, `announce` has said
        new = ", ".join(map(str, kept))
        return f"the result differs from {names} and is in {new}; --force replaces {names}"
    be, it = ("exists", "it") if len(changed) == 1 else ("exist", "them")
    return f"{names} {be} and would change; name another file, or replace {it} with --force"
