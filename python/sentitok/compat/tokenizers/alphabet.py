"""The 256 characters by which byte-level tokenizers spell bytes.

Source: GPT-2's encoder: printable Latin-1 is spelled as itself, the rest as U+0100 and on.
"""

__all__ = ["ALPHABET", "as_bytes", "spelled"]

_PLAIN = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
_OTHERS = [byte for byte in range(256) if byte not in _PLAIN]
#: The character of each byte.
ALPHABET = [chr(byte) if byte in _PLAIN else chr(0x100 + _OTHERS.index(byte)) for byte in range(256)]
_BYTES = {char: byte for byte, char in enumerate(ALPHABET)}


def spelled(data: bytes) -> str:
    """Returns a character for each byte."""
    return "".join(ALPHABET[byte] for byte in data)


def as_bytes(token: str) -> bytes:
    """Returns the bytes that a token spells; one with any other character is text."""
    try:
        return bytes(_BYTES[char] for char in token)
    except KeyError:
        return token.encode()
