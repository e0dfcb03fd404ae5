"""Fields of protocol buffers, read and written: what SentencePiece's messages are made of.

Source: the encoding of protocol buffers, https://protobuf.dev/programming-guides/encoding.
"""

import struct
from collections.abc import Iterator

from ..._sentitok import FormatError

__all__ = ["field", "fields", "joined"]

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def field(number: int, value: int | float | str | bytes) -> bytes:
    """Returns a field: a whole number as a varint, another as 32 bits, a text or message with its length."""
    if isinstance(value, float):
        return _varint(number << 3 | _FIXED32) + struct.pack("<f", value)
    if isinstance(value, int):
        return _varint(number << 3 | _VARINT) + _varint(value & (1 << 64) - 1)
    data = value.encode("utf-8") if isinstance(value, str) else value
    return _varint(number << 3 | _BYTES) + _varint(len(data)) + data


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yields the number of each field with its value; numbers of fixed size stay bytes.

    Raises:
        FormatError: if it is not a message.
    """
    at = 0
    while at < len(data):
        key, at = _read_varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == _VARINT:
            value, at = _read_varint(data, at)
            yield number, value
            continue
        if kind == _BYTES:
            size, at = _read_varint(data, at)
        elif kind in (_FIXED32, _FIXED64):
            size = 4 if kind == _FIXED32 else 8
        else:
            raise FormatError(f"field {number} at byte {at} is of kind {kind}; known are 0, 1, 2 and 5")
        if size > len(data) - at:
            raise FormatError(f"field {number} has {size} bytes, and {len(data) - at} are left; get it again")
        yield number, data[at : at + size]
        at += size


def joined(data: bytes, number: int) -> bytes:
    """Returns the nested message of a field; one that occurs twice is the two joined."""
    return b"".join(value for at, value in fields(data) if at == number and isinstance(value, bytes))


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at == len(data):
            raise FormatError(f"a number has no end after {len(data)} bytes; get the message again")
        byte, at = data[at], at + 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise FormatError(f"a number before byte {at} has more than 10 bytes; get the message again")
