"""Scripts that write words without spaces: there each character stands alone.

Chinese, Japanese, Thai, Lao, Burmese and Khmer. What a text is cut into, for models that
read words and for lengths in words, is the same everywhere: `WORD`. Not for finding the
words of such a script, which takes a dictionary: n-grams of characters do as well for
classification (Zhang and LeCun 2017, arXiv 1708.02657).
"""

import re
from collections.abc import Callable

__all__ = ["ALONE", "PLAIN_WORD", "WORD", "finder", "n_words", "stands_alone"]

# Ranges of code points for a character class; marks of Thai and its like are among them.
ALONE = "".join(
    f"{chr(first)}-{chr(last)}"
    for first, last in (
        (0x0E00, 0x0EFF),  # Thai, Lao
        (0x1000, 0x109F),  # Burmese
        (0x1780, 0x17FF),  # Khmer
        (0x3040, 0x30FF),  # kana
        (0x31F0, 0x31FF),  # small kana
        (0x3400, 0x4DBF),  # ideographs
        (0x4E00, 0x9FFF),
        (0xF900, 0xFAFF),
        (0xFF66, 0xFF9F),  # kana of half width
        (0x20000, 0x3FFFF),
    )
)
# A quote within a word or before one belongs to it (n't, 's).
PLAIN_WORD = r"'?\w+(?:'\w+)*|[^\w\s]"
WORD = rf"[{ALONE}]|'?[^\W{ALONE}]+(?:'[^\W{ALONE}]+)*|[^\w\s]"

_ALONE = re.compile(f"[{ALONE}]")


def stands_alone(text: str) -> bool:
    """Whether a text has a character of such a script."""
    return _ALONE.search(text) is not None


def finder(pattern: str) -> Callable[[str], list[str]]:
    """Returns what finds the matches of a pattern; for `WORD` a quicker one where it does as well.

    Raises:
        re.error: if it is not a valid regular expression.
    """
    whole = re.compile(pattern)
    if WORD not in pattern:
        return whole.findall
    plain = re.compile(pattern.replace(WORD, PLAIN_WORD))
    return lambda text: (whole if stands_alone(text) else plain).findall(text)


def n_words(text: str) -> int:
    """Returns how many words a text has: those between spaces, of such a script its characters."""
    if not stands_alone(text):
        return len(text.split())
    # Spaces around each character; what is left between spaces is words.
    return len(_ALONE.sub(r" \g<0> ", text).split())
