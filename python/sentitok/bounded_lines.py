"""`lines` and `blocks`: the lines of a text file, none of them without an end.

A line may be as long as the file, or have no end at all, as a device has; here it is an error that names
the limit.
"""

from collections.abc import Iterator
from typing import IO

from ._sentitok import FormatError

__all__ = ["MAX_LINE", "blocks", "lines"]

# The longest line in bytes of UTF-8 when no limit is named.
MAX_LINE = 1 << 28
# Characters read at a time.
_CHARS = 1 << 20
_REMEDY = "divide it, check the format, or raise max_line_bytes (--max-line-bytes)"


def lines(file: IO[str], name: str, limit: int = MAX_LINE) -> Iterator[str]:
    """Yields lines as the file ends them, with their ends.

    Args:
        file: the text.
        name: of the file, for messages.
        limit: the longest line, in bytes of UTF-8.

    Raises:
        FormatError: naming the first line that is longer than `limit`.
    """
    number = 1
    while line := file.readline(limit + 1):
        _check(line, name, number, limit)
        yield line
        number += 1


def blocks(file: IO[str], name: str, limit: int = MAX_LINE) -> Iterator[list[str]]:
    r"""Yields the same lines without their ends, many at a time: for files, because pipes are waited for.

    Args:
        file: the text, opened so that only LF and CRLF end a line (`newline="\n"`).
        name: of the file, for messages.
        limit: the longest line, in bytes of UTF-8.

    Raises:
        FormatError: as `lines`.
    """
    # The beginning of a line whose end is not read yet, in parts, and its bytes.
    parts: list[str] = []
    n_bytes, number = 0, 1
    while text := file.read(_CHARS):
        if "\n" not in text:
            parts.append(text)
            n_bytes += _n_bytes(text)
            if n_bytes > limit:
                raise _too_long(name, number, limit)
            continue
        text = "".join([*parts, text])
        block = text.split("\n")
        # A character takes four bytes at most.
        if len(text) * 4 > limit:
            for place, line in enumerate(block[:-1]):
                _check(f"{line}\n", name, number + place, limit)
            _check(block[-1], name, number + len(block) - 1, limit)
        parts = [block.pop()]
        n_bytes = _n_bytes(parts[0])
        if "\r\n" in text:
            block = [line.removesuffix("\r") for line in block]
        yield block
        number += len(block)
    if rest := "".join(parts):
        yield [rest.removesuffix("\r")]


def _n_bytes(text: str) -> int:
    """Returns the length of a text in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def _check(line: str, name: str, number: int, limit: int) -> None:
    """Refuses a line that is too long."""
    if len(line) * 4 > limit and _n_bytes(line) > limit:
        raise _too_long(name, number, limit)


def _too_long(name: str, number: int, limit: int) -> FormatError:
    return FormatError(
        f"{name}, line {number}: the line is longer than {limit} bytes, the most that is held at "
        f"once; {_REMEDY}"
    )
