"""Tokens as people read them: white space as signs, parts of characters as their bytes.

Nothing here prints; the command `show` and the page do. No spelling has a character that could steer a
terminal, nor U+FFFD.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sentitok import Encoding, Tokenizer

__all__ = ["readable", "spelled_tokens", "token_bytes"]

_SIGNS = {" ": "⋅", "\t": "→", "\n": "↵", "\r": "␍"}


def readable(token: bytes) -> str:
    r"""Spells the bytes of a token for people: `⋅film`, `\xe2\x80`, `↵`."""
    return "".join(_spell(char) for char in token.decode("utf-8", "backslashreplace"))


def _spell(char: str) -> str:
    if char in _SIGNS:
        return _SIGNS[char]
    if char.isprintable():
        return char
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{{{code:x}}}"


def token_bytes(tokenizer: "Tokenizer", ids: list[int]) -> list[bytes]:
    """Returns the texts of tokens: `▁` is a space where tokens are characters."""
    tokens = [_bytes_of(tokenizer, id) for id in ids]
    if tokenizer.info()["unit"] != "chars":
        return tokens
    return [token.replace("▁".encode(), b" ") for token in tokens]


def _bytes_of(tokenizer: "Tokenizer", id: int) -> bytes:
    data = tokenizer.id_to_bytes(id)
    if data is None:
        data = (tokenizer.id_to_token(id) or "").encode()
    return data


def spelled_tokens(
    tokenizer: "Tokenizer", encoding: "Encoding", most: int | None = None
) -> list[dict[str, Any]]:
    """Returns the tokens of a text as plain values.

    Args:
        tokenizer: encoded it.
        encoding: the text, encoded.
        most: tokens to return at most, the first ones; `None`: all.

    Returns:
        Of each its `id`, its spelling (`text`), its `bytes` in hexadecimal, where it is in the text
        in characters (`start`, `end`), and whether it is `special`.
    """
    ids = encoding.ids[:most].tolist()
    offsets = encoding.offsets("chars", trim=False)[:most].tolist()
    special = encoding.special_tokens_mask[:most].tolist()
    return [
        {"id": id, "text": readable(token), "bytes": token.hex(), "start": start, "end": end, "special": s}
        for id, token, (start, end), s in zip(ids, token_bytes(tokenizer, ids), offsets, special, strict=True)
    ]
