"""`unpacked`: a file's bytes with the compression undone, for all of Python that reads data.

gz, xz, bz2 and zst are recognised by their first bytes, not by the name. Nothing is read twice, so pipes work
too. Python has zstd from 3.14 on; before that, pyarrow unpacks it.
"""

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable
from typing import IO, Any

from ._sentitok import FormatError

__all__ = ["SUFFIXES", "is_damage", "unpacked", "without_suffix"]

# The suffixes of compressed files.
SUFFIXES = (".gz", ".xz", ".bz2", ".zst")


class _From(io.RawIOBase):
    """A stream from its beginning, though its first bytes were read already."""

    def __init__(self, head: bytes, file: Any) -> None:
        self._head = head
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data, self._head = self._head[: len(buffer)], self._head[len(buffer) :]
        data = data or self._file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()


def _zstd(file: IO[bytes], name: str) -> Any:
    try:
        # 2026-11-23: there from Python 3.14 on
        from compression import zstd  # type: ignore[import-not-found, unused-ignore]

        return zstd.open(file, "rb")
    except ImportError:
        pass
    try:
        import pyarrow
    except ImportError:
        raise FormatError(
            f'{name}: zst needs Python 3.14 or pyarrow: pip install "sentitok[arrow]"; '
            "or unpack the file first"
        ) from None
    stream = pyarrow.CompressedInputStream(pyarrow.PythonFile(file, mode="r"), "zstd")
    return io.BufferedReader(_From(b"", stream))


_OPENERS: dict[bytes, Callable[[IO[bytes], str], Any]] = {
    # 2026-11-23, SIM115: they are closed with the returned object.
    b"\x1f\x8b": lambda file, _: gzip.open(file, "rb"),  # noqa: SIM115
    b"\xfd7zXZ\x00": lambda file, _: lzma.open(file, "rb"),  # noqa: SIM115
    b"BZh": lambda file, _: bz2.open(file, "rb"),  # noqa: SIM115
    b"\x28\xb5\x2f\xfd": _zstd,
}


def unpacked(file: IO[bytes], name: str) -> IO[bytes]:
    """Returns the content of a file, unpacked if it is compressed; closing it closes the file.

    Args:
        file: opened for reading bytes, at its beginning.
        name: of the file, for messages.

    Raises:
        FormatError: if it is zst, and nothing here unpacks that.
    """
    head = file.read(max(map(len, _OPENERS)))
    whole: Any = io.BufferedReader(_From(head, file))
    for magic, opener in _OPENERS.items():
        if head.startswith(magic):
            inner = opener(whole, name)
            whole = io.BufferedReader(_Both(inner, whole))
    return whole  # type: ignore[no-any-return]  # 2026-11-23: what the openers return has no type


class _Both(_From):
    """An unpacked stream, closed with the file it is in."""

    def __init__(self, inner: Any, outer: IO[bytes]) -> None:
        super().__init__(b"", inner)
        self._outer = outer

    def close(self) -> None:
        super().close()
        self._outer.close()


def is_damage(error: BaseException) -> bool:
    """Whether an error while reading means that compressed data is damaged or ends early."""
    if isinstance(error, (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error)):
        return True
    # bz2 and zst say so by an error of the system that has no number.
    return type(error) is OSError and not error.errno


def without_suffix(name: str) -> str:
    """Returns a file's name without the suffixes of compression: `a.tsv` of `a.tsv.xz`."""
    while (suffix := next((s for s in SUFFIXES if name.lower().endswith(s)), None)) is not None:
        name = name[: -len(suffix)]
    return name
