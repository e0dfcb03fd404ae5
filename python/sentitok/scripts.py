"""Scripts of characters, by the first word of their Unicode name: Latin, Greek, Arabic, CJK, ...

Not the property `Script` of Unicode, which splitting uses (`rust/text/unicode`): this one is for tables and
figures that people read.
"""

import unicodedata
from functools import lru_cache

__all__ = ["script_of"]

# Scripts that one language mixes, and forms that are named before their script.
_TOGETHER = {"HIRAGANA": "Japanese", "KATAKANA": "Japanese", "CJK": "CJK", "IDEOGRAPHIC": "CJK"}
_FORMS = ("FULLWIDTH", "HALFWIDTH")


@lru_cache(maxsize=1 << 16)
def script_of(char: str) -> str:
    """Returns the script of a letter; of a character without a name `other`.

    >>> script_of("ж"), script_of("中"), script_of("カ")
    ('Cyrillic', 'CJK', 'Japanese')
    """
    name = [word for word in unicodedata.name(char, "").split() if word not in _FORMS]
    return _TOGETHER.get(name[0], name[0].capitalize()) if name else "other"
