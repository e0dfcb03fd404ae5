"""`Body`: the content of a request, read within limits and checked field by field.

A refusal names the field, its value and the expected values; a text is never repeated. Only
`application/json` is read: no other page can make a browser send that here.
"""

import asyncio
import json
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request

from .limits import Limits

__all__ = ["Body", "read_body"]


class Body:
    """The fields of a JSON object, each taken once; `end` refuses what nobody took.

    Args:
        fields: the object.
    """

    def __init__(self, fields: dict[str, Any]) -> None:
        self._fields = dict(fields)

    def text(self, name: str = "text") -> str:
        """Takes a text that must be there."""
        value = self._take(name)
        if not isinstance(value, str):
            raise HTTPException(400, f'{name}: expected a text, as in {{"{name}": "great fun"}}')
        return value

    def texts(self, most: int, name: str = "texts") -> list[str]:
        """Takes a list of at most so many texts."""
        value = self._take(name)
        if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
            raise HTTPException(400, f'{name}: expected a list of texts, as in {{"{name}": ["great fun"]}}')
        if len(value) > most:
            raise HTTPException(413, f"{name}: {len(value)} texts, but {most} at once; send several requests")
        return value

    def name(self, name: str) -> str | None:
        """Takes a name that may be left out."""
        value = self._take(name)
        if value is not None and not isinstance(value, str):
            raise HTTPException(400, f"{name}: expected a name, or nothing")
        return value

    def whole(self, name: str, default: int | None, low: int, high: int) -> int | None:
        """Takes a whole number from `low` to `high`."""
        value = self._take(name)
        if value is None:
            return default
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise HTTPException(400, f"{name}: expected a whole number from {low} to {high}")
        return value

    def number(self, name: str, default: float | None, low: float, high: float) -> float | None:
        """Takes a number from `low` to `high`."""
        value = self._take(name)
        if value is None:
            return default
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not is_number or not low <= value <= high:
            raise HTTPException(400, f"{name}: expected a number from {low:g} to {high:g}")
        return float(value)

    def flag(self, name: str) -> bool:
        """Takes true or false; false where it is left out."""
        value = self._take(name)
        if value is not None and not isinstance(value, bool):
            raise HTTPException(400, f"{name}: expected true or false")
        return bool(value)

    def ids(self, most: int, name: str = "ids") -> list[int]:
        """Takes a list of at most so many token ids."""
        value = self._take(name)
        if not isinstance(value, list) or not all(type(id) is int and 0 <= id < 1 << 32 for id in value):
            raise HTTPException(400, f'{name}: expected a list of ids, as in {{"{name}": [72, 101]}}')
        if len(value) > most:
            raise HTTPException(413, f"{name}: {len(value)} ids, but {most} at once; send several requests")
        return value

    def end(self) -> None:
        """Refuses fields that nobody took."""
        if self._fields:
            name = next(iter(self._fields))
            raise HTTPException(400, f"{name[:80]!r}: no such field")

    def _take(self, name: str) -> Any:
        return self._fields.pop(name, None)


async def read_body(request: Request, limits: Limits) -> Body:
    """Reads the JSON object of a request.

    Raises:
        HTTPException: if it is none, or too long.
    """
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind != "application/json":
        raise HTTPException(415, "expected Content-Type: application/json")
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length[:20]) > limits.max_bytes:
        raise too_long(limits)
    data = bytearray()
    try:
        async with asyncio.timeout(limits.seconds):
            async for part in request.stream():
                data += part
                if len(data) > limits.max_bytes:
                    raise too_long(limits)
    except TimeoutError:
        raise HTTPException(408, f"the request did not come within {limits.seconds:g} s") from None
    try:
        fields = json.loads(data)
    except (ValueError, RecursionError):
        raise HTTPException(400, "expected a JSON object in UTF-8") from None
    if not isinstance(fields, dict):
        raise HTTPException(400, 'expected a JSON object, as in {"text": "great fun"}')
    return Body(fields)


def too_long(limits: Limits) -> HTTPException:
    """Returns the refusal of a body that is too long."""
    return HTTPException(
        413, f"the request is longer than {limits.max_bytes:,} bytes; send less, or raise --max-bytes"
    )
