"""How a value becomes the text of a cell, and how a cell becomes a label: the same in every format.

`docs/senti-data.md` shows the table of both.
"""

import re
import unicodedata
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import numpy as np

__all__ = ["CellError", "as_label", "as_text", "as_texts"]

# A decimal number with digits on both sides of the point. "01.5" and "1e3" may be codes.
_DECIMAL = re.compile(r"(-?)(0|[1-9][0-9]*)\.([0-9]+)")
_TRUTH = {"True": "true", "TRUE": "true", "False": "false", "FALSE": "false"}


class CellError(ValueError):
    """A value that is not one text; `place` is its place among others."""

    place = 0

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(f"{what}; {remedy}")


def as_text(value: Any) -> str:
    """Returns a value as text: 5.0 as "5", true as "true", nothing (null, NaN) as "".

    Raises:
        CellError: if it is a list or an object, or bytes that are not UTF-8.
    """
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, np.integer)):
        return str(value)
    if isinstance(value, (float, np.floating)):
        # A number of 32 bits is written with the digits of 32 bits: 0.1, not 0.10000000149.
        return "" if np.isnan(value) else _decimal(np.format_float_positional(value, trim="-"))
    if isinstance(value, Decimal):
        return "" if value.is_nan() else _decimal(f"{value:f}")
    if isinstance(value, (bytes, bytearray, memoryview)):
        try:
            return bytes(value).decode("utf-8")
        except UnicodeDecodeError as error:
            raise CellError(
                f"its bytes are not UTF-8 (byte {error.start})", "write the column as UTF-8 text"
            ) from None
    if isinstance(value, (list, tuple, set, frozenset, dict, np.ndarray)):
        kind = "an object" if isinstance(value, dict) else "a list"
        raise CellError(
            f"{kind}, not one value ({str(value)[:60]})",
            "a text has one class here: write one value a row, or name another column",
        )
    # pandas writes a missing value as NA or NaT, which equal nothing, themselves included.
    return "" if type(value).__name__ in ("NAType", "NaTType") else str(value)


def as_texts(values: Iterable[Any]) -> list[str]:
    """Returns values as texts.

    Raises:
        CellError: as `as_text`, with the place of the value as `place`.
    """
    texts = list(values)
    kinds = set(map(type, texts))
    if kinds <= {str}:
        return texts
    if kinds == {int}:
        return list(map(str, texts))
    for place, value in enumerate(texts):
        if type(value) is not str:
            try:
                texts[place] = as_text(value)
            except CellError as error:
                error.place = place
                raise
    return texts


def _decimal(digits: str) -> str:
    """Writes a decimal number without zeros behind its last digit."""
    if "." in digits:
        digits = digits.rstrip("0").removesuffix(".")
    return "0" if digits == "-0" else digits


def as_label(text: str) -> str:
    """Returns the label that a cell holds: trimmed and composed; 1.0 is 1, and True is true.

    >>> [as_label(text) for text in (" pos ", "1.0", "TRUE", "01", "N/A")]
    ['pos', '1', 'true', '01', 'N/A']
    """
    text = unicodedata.normalize("NFC", text.strip())
    if _DECIMAL.fullmatch(text):
        return _decimal(text)
    return _TRUTH.get(text, text)
