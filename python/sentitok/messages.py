"""Shortens values and texts in messages.

One rule, that of `rust/error.rs`: the beginning, how long it is, and the end, which has the remedy; a test
holds the two together.
"""

__all__ = ["local_names", "shortened", "shown", "with_names"]

# Characters that are shown of a value, and of a message.
_SHOWN = 200
_LONGEST_MESSAGE = 1200


# The URL of each local copy (`remote.py`), which messages and files name.
local_names: dict[str, str] = {}


def with_names(text: str) -> str:
    """Returns a text in which local copies are called by their URLs."""
    for path, name in list(local_names.items()):
        text = text.replace(path, name)
    return text


def shortened(text: str) -> str:
    """Returns a message, cut if it is long."""
    return _cut(text, _LONGEST_MESSAGE)


def shown(value: object) -> str:
    """Writes a value for a message, cut if it is long."""
    if isinstance(value, str):
        return repr(_cut(value, _SHOWN))
    try:
        return _cut(repr(value), _SHOWN)
    except (ValueError, RecursionError):  # a number of more digits than Python writes, or lists in lists
        return f"(of type {type(value).__name__}, too long to show)"


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    head, tail = text[: most * 3 // 4], text[len(text) - most // 4 :]
    return f"{head} […, {len(text)} characters in all, …] {tail}"
