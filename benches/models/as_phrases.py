"""Rewrites reviews in the style of the Kaggle phrases, so that models trained on reviews suit phrases.

The phrases have the tokens of the Penn Treebank (Marcus et al. 1993): `do n't`, `it 's`, a space before each
mark, and most begin within a sentence. To byte-level BPE a word that begins a text is another token than the
same word after a space, and a mark after a space another than one after a word: of reviews as they are it
little of either. Lower-cased words and single marks are the same in both. Only for these phrases.
"""

import re
from collections.abc import Iterable

from sentitok import Tokenizer, train_wordpiece

__all__ = ["as_phrases", "tokenizer_of"]

_TAG = re.compile(r"<br\s*/?>", re.IGNORECASE)
# What the treebank takes from the word before.
_CLITIC = re.compile(r"(?<=\w)(n't|'(?:s|re|ve|ll|d|m))\b", re.IGNORECASE)


def as_phrases(text: str) -> str:
    """Returns a review without tags, `n't` and `'s` being separate words, in one line."""
    plain = _TAG.sub(" ", text.replace("\u2019", "'"))
    return " ".join(_CLITIC.sub(r" \1", plain).split())


def tokenizer_of(texts: Iterable[str], vocab_size: int, *, masked: bool = False) -> Tokenizer:
    """Returns a tokenizer of words and single marks, lower-cased.

    For models of masked tokens it puts `[CLS]` and `[SEP]` around a text, for other models nothing.
    """
    special = ("[PAD]", "[UNK]", *(("[CLS]", "[SEP]", "[MASK]") if masked else ("<|endoftext|>",)))
    return train_wordpiece(texts=texts, vocab_size=vocab_size, lowercase=True, special_tokens=special)
