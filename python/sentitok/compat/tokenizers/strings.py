"""`NormalizedString` and `PreTokenizedString`: what stages that are written in Python change and split.

Source of what the calls mean: tokenizers 0.23.
"""

from collections.abc import Callable, Iterable
from typing import NoReturn

from ... import missing_attribute

__all__ = ["NormalizedString", "PreTokenizedString"]

_RULES = {
    **{
        name: f"normalizers.{name.upper()}().normalize_str(text) gives it"
        for name in ("nfc", "nfd", "nfkc", "nfkd")
    },
    "slice": "take normalized[1:3]",
    "split": "pre_tokenizers.Split(pattern, behavior).pre_tokenize_str(text) gives the pieces",
}
_PIECES = "pre_tokenizer.pre_tokenize_str(text) gives the pieces and their places"
_OF_PIECES = {
    "getsplits": _PIECES,
    "tokenize": f"{_PIECES}, and tokenizer.encode(words, is_pretokenized=True) their tokens",
    "toencoding": "tokenizer.encode(words, is_pretokenized=True) gives it",
}
_Char = tuple[str, tuple[int, int]]


class NormalizedString:
    """A text that is changed, and where each of its characters was in the original.

    Args:
        sequence: the original text.
    """

    def __init__(self, sequence: str) -> None:
        if not isinstance(sequence, str):
            raise TypeError(f"sequence is {type(sequence).__name__}; it is a str")
        self._original = sequence
        self._chars: list[_Char] = [(char, (n, n + 1)) for n, char in enumerate(sequence)]
        self._is_open = True

    def _check(self) -> None:
        if not self._is_open:
            raise RuntimeError("Cannot use a NormalizedStringRefMut outside `normalize`")

    def close(self) -> None:
        """Ends the time in which the text may be changed."""
        self._is_open = False

    @property
    def original(self) -> str:
        """The original text."""
        return self._original

    @property
    def normalized(self) -> str:
        """The text as it is now."""
        return "".join(char for char, _ in self._chars)

    @property
    def span(self) -> tuple[int, int]:
        """Where it is in the original."""
        return (self._chars[0][1][0], self._chars[-1][1][1]) if self._chars else (0, 0)

    def replace(self, pattern: str, content: str) -> None:
        """Puts a text in the place of another; for a regular expression see `normalizers.Replace`."""
        self._check()
        if not isinstance(pattern, str):
            raise TypeError("pattern is a str here; normalizers.Replace takes a Regex")
        if not pattern:
            return
        made: list[_Char] = []
        text, done = self.normalized, 0
        while (start := text.find(pattern, done)) >= 0:
            stop = start + len(pattern)
            place = self._chars[start][1][0], self._chars[stop - 1][1][1]
            made += self._chars[done:start] + [(char, place) for char in content]
            done = stop
        self._chars = made + self._chars[done:]

    def map(self, func: Callable[[str], str]) -> None:
        """Puts a character in the place of each."""
        self._check()
        self._chars = [(new, place) for char, place in self._chars for new in func(char)]

    def filter(self, func: Callable[[str], bool]) -> None:
        """Keeps the characters for which a function says so."""
        self._check()
        self._chars = [(char, place) for char, place in self._chars if func(char)]

    def for_each(self, func: Callable[[str], object]) -> None:
        """Calls a function with each character."""
        for char, _ in self._chars:
            func(char)

    def lowercase(self) -> None:
        """Lower case."""
        self.map(str.lower)

    def uppercase(self) -> None:
        """Upper case."""
        self.map(str.upper)

    def prepend(self, s: str) -> None:
        """Puts a text in front."""
        self._check()
        start = self._chars[0][1] if self._chars else (0, 0)
        self._chars = [(char, start) for char in s] + self._chars

    def append(self, s: str) -> None:
        """Puts a text behind."""
        self._check()
        end = self._chars[-1][1] if self._chars else (0, 0)
        self._chars = self._chars + [(char, end) for char in s]

    def clear(self) -> None:
        """Leaves nothing."""
        self._check()
        self._chars = []

    def lstrip(self) -> None:
        """Leaves out white space in front."""
        self._check()
        self._chars = self._chars[len(self) - len(self.normalized.lstrip()) :]

    def rstrip(self) -> None:
        """Leaves out white space behind."""
        self._check()
        self._chars = self._chars[: len(self.normalized.rstrip())]

    def strip(self) -> None:
        """Leaves out white space at both ends."""
        self.lstrip()
        self.rstrip()

    def __getitem__(self, index: int | slice) -> "NormalizedString":
        made = NormalizedString(self._original)
        made._chars = self._chars[index] if isinstance(index, slice) else [self._chars[index]]
        return made

    def __len__(self) -> int:
        return len(self._chars)

    def __str__(self) -> str:
        return self.normalized

    def __repr__(self) -> str:
        return f'NormalizedString(original="{self._original}", normalized="{self.normalized}")'

    def __getattr__(self, name: str) -> NoReturn:
        raise missing_attribute.error(f"{type(self).__name__!r} object", name, _RULES)


class PreTokenizedString:
    """A text that is split into pieces.

    Args:
        sequence: the text.
    """

    def __init__(self, sequence: str) -> None:
        self.pieces = [NormalizedString(sequence)]

    def split(self, func: Callable[[int, NormalizedString], Iterable[NormalizedString]]) -> None:
        """Puts several pieces in the place of each; empty ones are left out."""
        self.pieces = [
            piece for number, old in enumerate(self.pieces) for piece in func(number, old) if len(piece)
        ]

    def normalize(self, func: Callable[[NormalizedString], object]) -> None:
        """Calls a function with each piece, which it may change."""
        for piece in self.pieces:
            func(piece)

    def __getattr__(self, name: str) -> NoReturn:
        raise missing_attribute.error(f"{type(self).__name__!r} object", name, _OF_PIECES)
