"""`lines`: the lines of a text file, none of them without an end.

A line may be as long as the file, or have no end at all, as a device has; here it is an error that names
the limit.
"""

from collections.abc import Iterator
from typing import IO

from ._sentitok import FormatError

__all__ = ["MAX_LINE", "lines"]

# The longest line in bytes of UTF-8 when no limit is named.
MAX_LINE = 1 << 28
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
        # A character takes four bytes at most.
        if len(line) * 4 > limit and (len(line) > limit or len(line.encode("utf-8", "replace")) > limit):
            raise FormatError(
                f"{name}, line {number}: the line is longer than {limit} bytes, the most that is held at "
                f"once; {_REMEDY}"
            )
        yield line
        number += 1
