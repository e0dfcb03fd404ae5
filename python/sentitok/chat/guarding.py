"""`Guard`: keeps the text of messages from becoming special tokens.

A message that spells a special token, or begins or ends with a part of one, gets a mark into it
before the template is run, so that the token is not there; where the template wrote one, it is.
Then the marks are taken out. Only whole strings are guarded: not a role or a key out of which a
template builds a token.

Source of the idea: transformers 5, `mark_control_tokens`.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from .._sentitok import Special

__all__ = ["Guard", "free_marks", "texts_of"]

# Noncharacters; the ones absent from a chat are its marks.
_MARKS = tuple(chr(code) for code in range(0xFDD2, 0xFDF0))
# Fields of a message that a template compares rather than writes.
_NAMES = frozenset({"role", "type"})


def free_marks(n: int, template: str, value: Any) -> list[str]:
    """Returns characters that are in neither a template nor the texts of a value.

    Raises:
        ValueError: if too few are free.
    """
    texts = [template, *texts_of(value)]
    free = (mark for mark in _MARKS if not any(mark in text for text in texts))
    found = list(islice(free, n))
    if len(found) < n:
        raise ValueError(
            f"the chat holds {len(_MARKS) - len(found)} of the {len(_MARKS)} noncharacters from U+FDD2 to "
            f"U+FDEF, and {n} must be free; take them out of the messages"
        )
    return found


class Guard:
    """Keeps text apart from special tokens.

    Args:
        specials: the texts of all special tokens.
    """

    def __init__(self, specials: list[str]) -> None:
        longest_first = sorted(filter(None, specials), key=len, reverse=True)
        self._whole = re.compile("|".join(map(re.escape, longest_first)) or "(?!)")
        beginnings = {text[:n] for text in longest_first for n in range(1, len(text))}
        ends = {text[n:] for text in longest_first for n in range(1, len(text))}
        self._beginnings, self._ends = frozenset(beginnings), frozenset(ends)
        self._most = max(map(len, longest_first), default=0)

    def finds(self, value: Any) -> bool:
        """Whether any text in a value spells, begins or ends with a part of a special token."""
        return any(self._is_risky(text) for text in texts_of(value))

    def marked(self, value: Any, mark: str) -> Any:
        """Returns the value with marks in its texts."""
        if isinstance(value, str):
            return self._marked_text(value, mark)
        if isinstance(value, dict):
            return {name: item if name in _NAMES else self.marked(item, mark) for name, item in value.items()}
        if isinstance(value, (list, tuple)):
            return type(value)(self.marked(item, mark) for item in value)
        return value

    def pieces(self, text: str) -> list[str]:
        """Returns the special tokens that a text spells and the text between them; none is empty."""
        pieces = []
        place = 0
        for match in self._whole.finditer(text):
            pieces += [text[place : match.start()], match.group()]
            place = match.end()
        return [piece for piece in (*pieces, text[place:]) if piece]

    def is_special(self, piece: str) -> bool:
        """Whether a piece is a special token."""
        return self._whole.fullmatch(piece) is not None

    def segments(self, text: str, mark: str) -> list[str | Special]:
        """Returns the special tokens of a text and the text between them, without marks."""
        parts = (
            Special(piece) if self.is_special(piece) else piece.replace(mark, "")
            for piece in self.pieces(text)
        )
        return [part for part in parts if part != ""]

    def _is_risky(self, text: str) -> bool:
        return self._whole.search(text) is not None or self._may_begin(text) or self._may_end(text)

    def _may_begin(self, text: str) -> bool:
        """Whether what follows a text could make a special token of its end; templates trim texts."""
        text = text.rstrip()
        return any(text[-n:] in self._beginnings for n in range(1, min(len(text), self._most) + 1))

    def _may_end(self, text: str) -> bool:
        """Whether what precedes a text could make a special token of its start."""
        text = text.lstrip()
        return any(text[:n] in self._ends for n in range(1, min(len(text), self._most) + 1))

    def _marked_text(self, text: str, mark: str) -> str:
        # Any token that a text holds is broken, overlapping ones included.
        broken, place = [], 0
        while match := self._whole.search(text, place):
            broken.append(text[place : match.start() + 1])
            place = match.start() + 1
        broken.append(text[place:])
        marked = mark.join(broken)
        if self._may_begin(text):
            kept = marked.rstrip()
            marked = kept + mark + marked[len(kept) :]
        if self._may_end(text):
            kept = marked.lstrip()
            marked = marked[: len(marked) - len(kept)] + mark + kept
        return marked


def texts_of(value: Any) -> Iterator[str]:
    """All texts in a value that a template writes."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, item in value.items():
            if name not in _NAMES:
                yield from texts_of(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from texts_of(item)
