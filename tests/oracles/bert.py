"""BERT's tokenization as Google's `tokenization.py` describes it: slow and obvious.

Clean-up, spaces around Chinese characters, then word by word: lower case,
canonical decomposition without nonspacing marks, punctuation apart; then the
longest token first. Everything Unicode comes from `database`, which is
`unicodedata` of the interpreter or of a stated version; lower case from `str`.
"""

import unicodedata
from collections.abc import Mapping
from types import ModuleType

CHINESE = [
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
]  # fmt: skip
ASCII_SYMBOLS = {*range(33, 48), *range(58, 65), *range(91, 97), *range(123, 127)}


def clean(text: str, database: ModuleType = unicodedata) -> str:
    """The text without control characters, with plain spaces."""
    kept = []
    for c in text:
        if c in "\t\n\r" or database.category(c) == "Zs":
            kept.append(" ")
        elif c not in "\0\ufffd" and database.category(c) not in ("Cc", "Cf"):
            kept.append(c)
    return "".join(kept)


def pad_chinese(text: str) -> str:
    """The text with spaces around Chinese characters."""
    return "".join(f" {c} " if any(first <= ord(c) <= last for first, last in CHINESE) else c for c in text)


def is_punctuation(c: str, database: ModuleType) -> bool:
    return ord(c) in ASCII_SYMBOLS or database.category(c).startswith("P")


def words(text: str, lowercase: bool, database: ModuleType = unicodedata) -> list[str]:
    """The words of a text, punctuation apart."""
    result: list[str] = []
    for word in pad_chinese(clean(text, database)).split():
        if lowercase:
            decomposed = database.normalize("NFD", word.lower())
            word = "".join(c for c in decomposed if database.category(c) != "Mn")
        begins_word = True
        for c in word:
            if is_punctuation(c, database):
                result.append(c)
                begins_word = True
            elif begins_word:
                result.append(c)
                begins_word = False
            else:
                result[-1] += c
    # A word may hold what only `str.split` takes for white space.
    return " ".join(result).split()


def pieces(word: str, vocab: Mapping[str, int], unk: str = "[UNK]", max_chars: int = 200) -> list[str]:
    """The longest tokens of a word from its start, or the unknown one."""
    found: list[str] = []
    start = 0
    while start < len(word) <= max_chars:
        prefix = "##" if start else ""
        ends = (end for end in range(len(word), start, -1) if prefix + word[start:end] in vocab)
        end = next(ends, None)
        if end is None:
            return [unk]
        found.append(prefix + word[start:end])
        start = end
    return found if len(word) <= max_chars else [unk]


def encode(
    text: str, vocab: Mapping[str, int], lowercase: bool, database: ModuleType = unicodedata
) -> list[int]:
    """The ids of a text, without special tokens."""
    return [vocab[piece] for word in words(text, lowercase, database) for piece in pieces(word, vocab)]
