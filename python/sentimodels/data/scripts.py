"""Scripts that write words without spaces: there each character stands alone.

Chinese, Japanese, Thai, Lao, Burmese and Khmer. To find the words of such a script takes a
dictionary; n-grams of characters do as well for classification (Zhang and LeCun 2017, arXiv
1708.02657).
"""

import re
import unicodedata

__all__ = ["ALONE", "is_character", "n_words", "stands_alone"]

# Ranges of code points for a character class.
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
# Marks that stay with their character, of these scripts.
_MARKS = "".join(
    chr(code)
    for first, last in (
        (0x0300, 0x036F),
        (0x0E00, 0x0EFF),
        (0x1000, 0x109F),
        (0x1780, 0x17FF),
        (0x3099, 0x309A),
    )
    for code in range(first, last + 1)
    if unicodedata.category(chr(code))[0] == "M"
)
_ALONE = re.compile(f"[{ALONE}]")
_CHARACTER = re.compile(f"[{ALONE}][{_MARKS}]*")


def stands_alone(text: str) -> bool:
    """Whether a text has a character of such a script."""
    return _ALONE.search(text) is not None


def is_character(word: str) -> bool:
    """Whether a word is one character of such a script, with its marks."""
    return _ALONE.match(word) is not None and all(unicodedata.category(char)[0] == "M" for char in word[1:])


def n_words(text: str) -> int:
    """Returns how many words a text has: those between spaces, of such a script its characters."""
    if not stands_alone(text):
        return len(text.split())
    # Spaces around each character; what is left between spaces is words.
    return len(_CHARACTER.sub(r" \g<0> ", text).split())
