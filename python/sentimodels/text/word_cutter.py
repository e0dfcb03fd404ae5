"""`WordCutter`: cuts texts into words, by Unicode's rules or by a regular expression.

A word is letters, digits and underscores with all marks on them and the apostrophes inside or before
(don't, n't, 's), or one emoji with its skin tone and all that is joined to it, or one other sign with its
marks. After Unicode's word boundaries (UAX #29), with two differences: numbers are cut at commas and
points, and scripts without spaces between words (`data/scripts.py`) are cut into characters, with their
marks.
"""

import re

from sentitok import PreTokenizer

from ..data.scripts import ALONE
from ..errors import ConfigError

__all__ = ["WORD", "WordCutter"]

_MARK = r"\p{M}\x{200C}\x{200D}"
_LETTER = rf"[\p{{L}}\p{{N}}_{_MARK}&&[^{ALONE}]]"
_HEBREW = r"[\x{5D0}-\x{5EA}\p{M}]"
_EMOJI = r"\p{Extended_Pictographic}\p{Emoji_Modifier}?[\p{M}\x{E0020}-\x{E007F}]*"
# The default, in the syntax of `PreTokenizer`. Inside a word may also be a middle dot (Catalan), and in
# Hebrew the sign of abbreviations, or the quote that is typed for it.
WORD = "|".join(
    (
        rf"[{ALONE}][{_MARK}]*",
        r"[0-9#*]\x{20E3}",  # keycaps
        r"\p{Regional_Indicator}\p{Regional_Indicator}",  # flags
        rf"{_EMOJI}(?:\x{{200D}}{_EMOJI})*",
        rf'{_HEBREW}+"{_HEBREW}+',
        rf"'?{_LETTER}+(?:['\x{{B7}}\x{{5F4}}]{_LETTER}+)*",
        rf"[^\s\p{{L}}\p{{N}}_{_MARK}][{_MARK}]*",
    )
)
_RULE = PreTokenizer(pattern=WORD)


class WordCutter:
    """Cuts texts into words.

    Args:
        pattern: regular expression of a word, Python's; `None`: `WORD`.

    Raises:
        ConfigError: if the pattern is not valid.
    """

    def __init__(self, pattern: str | None) -> None:
        try:
            self._own = None if pattern is None else re.compile(pattern)
        except re.error as error:
            raise ConfigError(f"model.token_pattern {pattern!r} is not a valid pattern: {error}") from error

    def cut(self, text: str) -> list[str]:
        """Returns the words of a text."""
        if self._own is not None:
            words: list[str] = self._own.findall(text)
            return words
        return [piece for piece in _RULE.pieces(text) if not piece.isspace()]

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Returns where the words that `cut` returns begin and end."""
        if self._own is not None:
            group = 1 if self._own.groups else 0
            return [match.span(group) for match in self._own.finditer(text)]
        return [(start, end) for start, end in _RULE.split(text) if not text[start:end].isspace()]
