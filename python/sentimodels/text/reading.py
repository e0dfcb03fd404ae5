"""`read_tokens`: the tokens of one text as a run reads them, and where they are in the text.

A subword tokenizer shows its tokens; what reads words, in order or as a bag of n-grams, shows the words.
Places are in the text as it was given, in characters, whatever lower case does to its length.
"""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sentitok import Tokenizer
from sentitok.spelling import readable, spelled_tokens

from ..data.normalization import Aligned, align
from .encoder import TextEncoder
from .vocabulary import OpenVocabulary
from .words import HashedNgrams, WordCutter, WordNgrams

__all__ = ["ReadToken", "places_read", "plain_words", "read_tokens", "unknown_parts"]


@dataclass(frozen=True)
class ReadToken:
    """A token of a text.

    Attributes:
        id: its id; `None` for a word without one, and in a bag of n-grams.
        text: its text, white space as signs, parts of characters as bytes.
        start: where it begins in the text.
        end: where it ends.
        special: whether it is a special token, without text.
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
    lowercase = encoder.lowercase or (isinstance(own, WordNgrams | HashedNgrams) and own.lowercase)
    aligned = align(text, normalized=encoder.normalized, lowercase=lowercase)
    if isinstance(own, Tokenizer):
        encoding = own.encode(aligned.text)
        tokens = [
            ReadToken(one["id"], one["text"], *aligned.original(one["start"], one["end"]), one["special"])
            for one in spelled_tokens(own, encoding, most)
        ]
        return tokens, len(encoding)
    if isinstance(own, OpenVocabulary):
        return _words(aligned, own.places(aligned.text), own.ids, most)
    return _words(aligned, own.cutter.spans(aligned.text), {}, most)


def places_read(encoder: TextEncoder, text: str, tokens: Sequence[ReadToken]) -> list[NDArray[np.int64]]:
    """Returns, of each row that a text is read in, which of its tokens each place holds.

    A text that is longer than `max_tokens` has several rows if it is read in windows. The special tokens that
    a window has itself are -1.

    Args:
        encoder: of the run, whose ids are in the order of the text.
        text: the text.
        tokens: all that `read_tokens` finds in it.
    """
    data = encoder.data
    if data.long != "windows" or len(tokens) <= data.max_tokens:
        return [np.arange(len(tokens))]
    prepared, own = encoder.prepare(text), encoder.encoder
    if isinstance(own, Tokenizer):
        cut = own.windows(prepared, data.max_tokens, data.stride)
        special = [np.asarray(row.special_tokens_mask, bool) for row in cut]
    else:
        rows = encoder.vocabulary.reader().windows(prepared, data.max_tokens, data.stride)
        special = [np.zeros(len(row), bool) for row in rows]
    words = np.array([place for place, token in enumerate(tokens) if not token.special])
    step = int((~special[0]).sum()) - data.stride
    places = [np.full(len(row), -1) for row in special]
    for number, (row, template) in enumerate(zip(places, special, strict=True)):
        start = number * step
        row[~template] = words[start : start + int((~template).sum())]
    return places


def plain_words(text: str, most: int | None = None) -> tuple[list[ReadToken], int]:
    """Returns the first words of a text, for what reads it in more than one way, and how many it has."""
    aligned = align(text, normalized=True, lowercase=False)
    return _words(aligned, WordCutter(None).spans(aligned.text), {}, most)


def _words(
    aligned: Aligned, spans: Sequence[tuple[int, int]], ids: Mapping[str, int], most: int | None
) -> tuple[list[ReadToken], int]:
    """Returns the first words, and how many there are."""
    words = [(aligned.text[start:end], start, end) for start, end in spans[:most]]
    tokens = [
        ReadToken(ids.get(word), _spelled(word), *aligned.original(start, end)) for word, start, end in words
    ]
    return tokens, len(spans)


def _spelled(word: str) -> str:
    return readable(word.encode("utf-8", "surrogatepass"))


def unknown_parts(tokenizer: Tokenizer, text: str) -> list[str]:
    """Returns the parts of a text that become the unknown token, or no token; each once.

    A model reads them as the unknown token, or does not read them at all.

    White space, marks and invisible characters do not count: normalizers drop them.
    """
    unknown = tokenizer.info().get("unk_token")
    encoding = tokenizer.encode(text, add_special_tokens=False)
    unknown_id = None if unknown is None else tokenizer.token_to_id(unknown)
    read = [False] * len(text)
    for id, (start, end) in zip(encoding.ids.tolist(), encoding.offsets("chars").tolist(), strict=True):
        if id != unknown_id:
            read[start:end] = [True] * (end - start)
    parts, part = dict[str, None](), ""
    for known, char in zip([*read, True], [*text, ""], strict=True):
        if not known and _is_seen(char):
            part += char
        elif part and (known or char.isspace()):
            parts[part], part = None, ""
    return list(parts)


def _is_seen(char: str) -> bool:
    return not char.isspace() and unicodedata.category(char)[0] not in "MC"
