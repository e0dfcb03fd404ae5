"""`read_tokens`: the tokens of one text as a run reads them, and where they are in the text.

Not for ids of a model (`encoder.py`): this is for showing and for explaining. A subword tokenizer
shows its tokens; what reads words, in order or as a bag of n-grams, shows the words. Places are
in the text as it was given, in characters, whatever lower case does to its length.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from sentitok import Tokenizer
from sentitok.spelling import readable, spelled_tokens

from ..data.scripts import WORD
from .encoder import TextEncoder
from .open_vocabulary import OpenVocabulary
from .words import WordNgrams

__all__ = ["ReadToken", "plain_words", "read_tokens"]


@dataclass(frozen=True)
class ReadToken:
    """A token of a text.

    Attributes:
        id: its id; `None` for a word without one, and in a bag of n-grams.
        text: what it reads, white space as signs, parts of characters as bytes.
        start: where it begins in the text.
        end: where it ends.
        special: whether it stands for no text.
    """

    id: int | None
    text: str
    start: int
    end: int
    special: bool = False


def read_tokens(encoder: TextEncoder, text: str, most: int | None = None) -> tuple[list[ReadToken], int]:
    """Returns the first tokens of a text, and how many it has.

    Args:
        encoder: of the run.
        text: the text.
        most: tokens to return at most; `None`: all.
    """
    own = encoder.encoder
    if isinstance(own, Tokenizer):
        read = text.lower() if encoder.lowercase else text
        encoding = own.encode(read)
        back = _places_before(text, read)
        tokens = [
            ReadToken(one["id"], one["text"], back(one["start"]), back(one["end"], end=True), one["special"])
            for one in spelled_tokens(own, encoding, most)
        ]
        return tokens, len(encoding)
    lowercase = encoder.lowercase if isinstance(own, OpenVocabulary) else _bag_lowers(own)
    read = text.lower() if lowercase else text
    if isinstance(own, OpenVocabulary):
        places, ids = own.places(read), own.ids
    else:
        pattern = own.config.token_pattern if isinstance(own, WordNgrams) else own.pattern
        places, ids = _matches(pattern, read), {}
    back = _places_before(text, read)
    words = [read[start:end] for start, end in places[:most]]
    tokens = [
        ReadToken(ids.get(word), _spelled(word), back(start), back(end, end=True))
        for word, (start, end) in zip(words, places, strict=False)
    ]
    return tokens, len(places)


def plain_words(text: str, most: int | None = None) -> tuple[list[ReadToken], int]:
    """Returns the first words of a text, for what reads it in more than one way, and how many it has."""
    places = _matches(WORD, text)
    tokens = [ReadToken(None, _spelled(text[start:end]), start, end) for start, end in places[:most]]
    return tokens, len(places)


def _spelled(word: str) -> str:
    return readable(word.encode("utf-8", "surrogatepass"))


def _bag_lowers(own: object) -> bool:
    return bool(own.config.lowercase if isinstance(own, WordNgrams) else getattr(own, "lowercase", False))


def _matches(pattern: str, text: str) -> list[tuple[int, int]]:
    """Returns where `re.findall` finds what it returns."""
    compiled = re.compile(pattern)
    group = 1 if compiled.groups else 0
    return [match.span(group) for match in compiled.finditer(text)]


class _places_before:  # noqa: N801  2026-11-23: it is called like a function
    """Maps places in a text that was lower-cased to places in the text before.

    Lower case is longer only where a character becomes several (`İ`).
    """

    def __init__(self, before: str, after: str) -> None:
        self._starts: list[int] | None = None
        if len(before) != len(after):
            self._starts = list(_owners(before))
            assert len(self._starts) == len(after), "lower case of a text is that of its characters"

    def __call__(self, place: int, *, end: bool = False) -> int:
        if self._starts is None:
            return place
        if end:  # behind the character that the place follows
            return self._starts[place - 1] + 1 if place else 0
        if place < len(self._starts):
            return self._starts[place]
        return self._starts[-1] + 1 if self._starts else 0


def _owners(text: str) -> Iterable[int]:
    """Yields, for each character of a text in lower case, which character it comes from."""
    for place, char in enumerate(text):
        for _ in char.lower():
            yield place
