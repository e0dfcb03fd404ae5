"""What a SentencePiece `.model` says, read field by field: no library of ours."""

from collections.abc import Iterator
from typing import Any


def fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a protocol buffer."""
    at = 0

    def varint() -> int:
        nonlocal at
        number = shift = 0
        while True:
            byte = message[at]
            at += 1
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return number

    while at < len(message):
        tag = varint()
        if tag & 7 == 0:
            yield tag >> 3, varint()
            continue
        size = varint() if tag & 7 == 2 else {1: 8, 5: 4}[tag & 7]
        yield tag >> 3, message[at : at + size]
        at += size


def charsmap(model: bytes) -> bytes:
    """The rules of a `.model` file."""
    normalizer = next(value for number, value in fields(model) if number == 3)
    return bytes(next(value for number, value in fields(normalizer) if number == 2))
