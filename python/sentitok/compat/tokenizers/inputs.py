"""Inputs of encoding: texts, pairs, and the same as words, checked as tokenizers checks them.

Source of the rules: tokenizers 0.23, what it takes and which errors it raises.
"""

from typing import Any

__all__ = ["Row", "row_of", "rows_of"]

#: A text and, of a pair, the other one; each a `str` or a list of words.
Row = tuple[Any, Any]

_WORDS = "PreTokenizedInputSequence must be Union[List[str], Tuple[str]]"


def row_of(sequence: object, pair: object, is_pretokenized: bool) -> Row:
    """Returns the texts of `encode`.

    Raises:
        TypeError: if it is not text.
    """
    one = _words if is_pretokenized else _text
    return one(sequence), None if pair is None else one(pair)


def rows_of(given: object, is_pretokenized: bool) -> list[Row]:
    """Returns the texts of `encode_batch`.

    Raises:
        TypeError: if it is not a list of texts.
    """
    rows = _several(given)
    if rows is None:
        raise TypeError(f"{type(given).__name__!r} object is not an instance of 'Sequence'")
    return [_row(row, is_pretokenized) for row in rows]


def _row(given: object, is_pretokenized: bool) -> Row:
    if not is_pretokenized:
        if isinstance(given, str):
            return given, None
        parts = _several(given)
        if parts is not None and len(parts) == 2:
            return _text(parts[0]), _text(parts[1])
        raise TypeError(
            "TextEncodeInput must be Union[TextInputSequence, Tuple[InputSequence, InputSequence]]"
        )
    parts = _several(given)
    if parts is not None:
        if all(isinstance(part, str) for part in parts):
            return parts, None
        if len(parts) == 2:
            return _words(parts[0]), _words(parts[1])
    raise TypeError(
        "PreTokenizedEncodeInput must be Union[PreTokenizedInputSequence, Tuple[PreTokenizedInputSequence, "
        "PreTokenizedInputSequence]]"
    )


def _text(given: object) -> str:
    if not isinstance(given, str):
        raise TypeError(f"TextInputSequence must be str, and is {type(given).__name__}")
    return given


def _words(given: object) -> list[str]:
    parts = _several(given)
    if parts is None or not all(isinstance(part, str) for part in parts):
        raise TypeError(f"{_WORDS}: InputSequence must be Union[List[str], Tuple[str]]")
    return parts


def _several(given: object) -> list[Any] | None:
    """The parts of a list, a tuple or an array."""
    if isinstance(given, (list, tuple)):
        return list(given)
    if hasattr(given, "__array__") and hasattr(given, "tolist"):
        parts = given.tolist()
        return parts if isinstance(parts, list) else None
    return None
