"""Normalizers and pre-tokenizers that are written in Python: they run on their own.

A tokenizer does not take them, for sentitok runs texts without Python. Use what they return:
`tokenizer.encode(custom.normalize_str(text))`, and `is_pretokenized=True` for pieces.
"""

from collections.abc import Callable
from typing import Any

from .fields import Json
from .normalizers import Normalizer
from .pre_tokenizers import PreTokenizer
from .strings import NormalizedString, PreTokenizedString

__all__ = ["CustomNormalizer", "CustomPreTokenizer"]


def _called(method: Callable[[Any], object], given: object) -> None:
    try:
        method(given)
    except Exception as error:
        raise RuntimeError(f"{type(error).__name__}: {error}") from error


class CustomNormalizer(Normalizer):
    """A normalizer that is an object with `normalize(normalized)`."""

    def __init__(self, custom: Any) -> None:
        super().__init__()
        self._custom = custom

    def spec(self) -> Json:
        """Raises: it has no JSON."""
        raise NotImplementedError(
            "a normalizer written in Python has no place in a tokenizer here: encode what its "
            "normalize_str(text) returns"
        )

    def normalize(self, normalized: NormalizedString) -> None:
        """Changes a text."""
        given = normalized[:]
        _called(self._custom.normalize, given)
        normalized._chars = given._chars
        given.close()

    def normalize_str(self, sequence: str) -> str:
        """Returns what becomes of a text."""
        text = NormalizedString(sequence)
        self.normalize(text)
        return text.normalized


class CustomPreTokenizer(PreTokenizer):
    """A pre-tokenizer that is an object with `pre_tokenize(pretok)`."""

    def __init__(self, custom: Any) -> None:
        super().__init__()
        self._custom = custom

    def spec(self) -> Json:
        """Raises: it has no JSON."""
        raise NotImplementedError(
            "a pre-tokenizer written in Python has no place in a tokenizer here: encode the pieces that its "
            "pre_tokenize_str(text) returns, with is_pretokenized=True"
        )

    def pre_tokenize(self, pretok: PreTokenizedString) -> None:
        """Splits a text."""
        _called(self._custom.pre_tokenize, pretok)

    def pre_tokenize_str(self, sequence: str) -> list[tuple[str, tuple[int, int]]]:
        """Returns the pieces of a text, and where each is in it, in characters."""
        text = PreTokenizedString(sequence)
        self.pre_tokenize(text)
        return [(piece.normalized, piece.span) for piece in text.pieces]
