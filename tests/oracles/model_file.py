"""SentencePiece's `.model`, read and written field by field: no library of ours."""

import struct
from collections.abc import Iterable, Iterator
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


def field(number: int, value: float | str | bytes) -> bytes:
    """A field of a protocol buffer: an integer, a 32-bit float, text or a message."""
    match value:
        case int():
            return varint(number << 3) + varint(value)
        case float():
            return varint(number << 3 | 5) + struct.pack("<f", value)
        case str():
            return field(number, value.encode())
        case _:
            return varint(number << 3 | 2) + varint(len(value)) + value


def varint(number: int) -> bytes:
    """A number in groups of seven bits."""
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def bpe_model(
    pieces: Iterable[tuple[str, float, int]],
    byte_fallback: bool = False,
    normalizer: tuple[int, int, int] = (0, 0, 0),
) -> bytes:
    """A BPE model of pieces with scores and types, which takes text as it is.

    The three of the normalizer: a space in front, repeated spaces go, spaces become marks.
    """
    message = b"".join(
        field(1, field(1, text) + field(2, float(score)) + field(3, kind)) for text, score, kind in pieces
    )
    trainer = field(3, 2) + field(35, int(byte_fallback))
    return (
        message
        + field(2, trainer)
        + field(3, b"".join(field(3 + n, value) for n, value in enumerate(normalizer)))
    )
