"""`Codec`: texts through sentitok's tokenizer, and what it made as tokenizers' lists.

Also ids to text: sentitok's own decoder where both give the same, and else what the decoder says
of tokens (`decoders`).
"""

import random
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any, SupportsIndex, cast

import numpy as np

from ... import _sentitok
from ...numbers import whole
from .added import AddedTokens
from .alphabet import as_bytes
from .decoders import Decoder
from .encoding import Encoding, Ranges
from .inputs import Row
from .models import Model, Unigram
from .normalizers import Normalizer
from .processors import PostProcessor

__all__ = ["Codec"]

_Make = Callable[[_sentitok.Encoding], list[Any]]


def _signs(row: _sentitok.Encoding) -> list[Any]:
    return list(row.special_tokens_mask.astype("int64").tolist())


def _words(row: _sentitok.Encoding) -> list[int | None]:
    return [None if word < 0 else word for word in row.word_ids.tolist()]


def _trimmed(row: _sentitok.Encoding, keeps_prefix: bool) -> list[Any]:
    """Where tokens are without blanks.

    tokenizers trims a space that was put in as if it were one of the text, except where the post-processor
    keeps the space that begins a text.
    """
    places = row.offsets()
    raw, texts = row.offsets(trim=False), row.sequence_ids
    put_in = (raw[:, 0] == raw[:, 1]) & (texts >= 0)
    if keeps_prefix:
        begins = np.diff(texts, prepend=-1) != 0
        put_in &= ~begins & (raw[:, 0] > 0)
    if put_in.any():
        places = places.copy()
        places[put_in] = raw[put_in] + 1
    return list(map(tuple, places.tolist()))


def _untrimmed(row: _sentitok.Encoding) -> list[Any]:
    """The offsets of tokens. Strings put in front of a text or a word have the place of the next token."""
    places = row.offsets(trim=False)
    empty = (places[:, 0] == places[:, 1]) & (row.sequence_ids >= 0)
    if empty.any():
        places = places.copy()
        places[empty] += (0, 1)
    return list(map(tuple, places.tolist()))


_MAKERS: dict[str, _Make] = {
    "ids": lambda row: cast("list[Any]", row.ids.tolist()),
    "type_ids": lambda row: cast("list[Any]", row.type_ids.tolist()),
    "words": _words,
    "special": _signs,
    "attention": lambda row: [1] * len(row),
}
# Where nobody asks for places, an unknown token is spelled as it is.
_WITHOUT_PLACES: dict[str, _Make] = {
    "offsets": lambda row: [(0, 0)] * len(row),
    "words": lambda row: [None] * len(row),
    "tokens": lambda row: row.tokens,
}


class Codec:
    """A tokenizer of sentitok with what its lists and texts need of the stages.

    Args:
        tokenizer: made of the stages.
        model: the model.
        stages: the other stages by their names, `None` where there is none.
        added: the added tokens.
    """

    def __init__(
        self, tokenizer: _sentitok.Tokenizer, model: Model, stages: Mapping[str, Any], added: AddedTokens
    ) -> None:
        self.tokenizer = tokenizer
        self._model = model
        self._decoder: Decoder | None = stages["decoder"]
        processor: PostProcessor | None = stages["post_processor"]
        self._has_processor = processor is not None
        self._places: _Make = _untrimmed
        if processor is not None and processor.trims():
            self._places = partial(_trimmed, keeps_prefix=processor.keeps_prefix())
        self._is_random = bool(model.fields.get("dropout"))
        normalizer: Normalizer | None = stages["normalizer"]
        normalize = _normalizing(normalizer, tokenizer)
        self._spellings = {
            id: normalize(token.content) if token.normalized else token.content
            for id, token in added.tokens.items()
        }
        self._special = {token.content for token in added.tokens.values() if token.special}
        # Added tokens that decode otherwise than by their own text.
        self._odd = frozenset(
            id
            for id, token in added.tokens.items()
            if self._spellings[id] != token.content or as_bytes(token.content) != token.content.encode()
        )
        # Added tokens that may be found in another spelling.
        self._found_otherwise = frozenset(
            id
            for id, token in added.tokens.items()
            if token.lstrip or token.rstrip or self._spellings[id] != token.content
        )
        # An unknown word has the spelling of its token, wherever the token is found in another one.
        self._unknown = model.vocab.get(model.fields.get("unk_token") or "")

    def _tokens(self, row: _sentitok.Encoding, words: Row | None, specials: str) -> list[str]:
        """The spelling of each token, and the text of tokens that are matched in another way."""
        ids, is_unigram = row.ids.tolist(), isinstance(self._model, Unigram)
        if not is_unigram and self._found_otherwise.isdisjoint(ids):
            return row.tokens
        surfaces = row.surfaces if words is None else self._surfaces(row, words, specials)
        if is_unigram:
            return surfaces
        several = zip(ids, row.tokens, surfaces, strict=True)
        return [surface if self._is_found_otherwise(id, surface) else token for id, token, surface in several]

    def _is_found_otherwise(self, id: int, surface: str) -> bool:
        if id not in self._found_otherwise:
            return False
        return id != self._unknown or surface.strip() == self._spellings[id].strip()

    def _surfaces(self, row: _sentitok.Encoding, words: Row, specials: str) -> list[str]:
        """The source text of each token, for texts given as words: each word separately."""
        surfaces, numbers = row.tokens, row.sequence_ids.tolist()
        for number, text in enumerate(words):
            encode = partial(self.tokenizer.encode, add_special_tokens=False, specials=cast("Any", specials))
            of_words = [surface for word in text or () for surface in encode(word).surfaces]
            places = [place for place, own in enumerate(numbers) if own == number]
            if len(places) == len(of_words):
                for place, surface in zip(places, of_words, strict=True):
                    surfaces[place] = surface
        return surfaces

    # Text to ids

    def encode(
        self, rows: list[Row], is_split: bool, add: bool, specials: str, places: bool
    ) -> list[Encoding]:
        """Returns the tokens of texts and pairs.

        Args:
            rows: the texts.
            is_split: whether they are lists of words.
            add: whether tokens are put around them.
            specials: whether special tokens are found in texts: `"all"` or `"none"`.
            places: whether offsets and words are wanted.
        """
        options: dict[str, Any] = {
            "add_special_tokens": add,
            "specials": specials,
            "is_split_into_words": is_split,
        }
        if len(rows) == 1:  # whose places are found when they are asked for
            (row,) = rows
            encoding = self.tokenizer.encode(*row, seed=self._seed(), **options)
            makers = self._makers(row if is_split else None, specials, places)
            return [self._wrapped(encoding, makers, row[1] is not None)]
        made: dict[int, Encoding] = {}
        shared = None if is_split else self._makers(None, specials, places)
        for has_pair in (False, True):
            numbers = [number for number, (_, pair) in enumerate(rows) if (pair is not None) == has_pair]
            texts = [rows[number][0] for number in numbers]
            pairs = [rows[number][1] for number in numbers] if has_pair else None
            batch = self.tokenizer.encode_batch(texts, pairs, offsets=places, seed=self._seed(), **options)
            for number, row_found in zip(numbers, batch, strict=True):
                makers = shared or self._makers(rows[number], specials, places)
                made[number] = self._wrapped(row_found, makers, has_pair)
        return [made[number] for number in range(len(rows))]

    def _seed(self) -> int:
        return random.getrandbits(63) if self._is_random else 0

    def raw(self, text: Any, number: int, is_split: bool, specials: str, places: bool) -> Encoding:
        """Returns the tokens of a text, 0 or 1, with nothing around them, and blanks where they are."""
        row = self.tokenizer.encode(
            text,
            add_special_tokens=False,
            specials=cast("Any", specials),
            is_split_into_words=is_split,
            seed=self._seed(),
        )
        words = (text, None) if is_split else None
        makers = {**self._makers(words, specials, True), "offsets": _untrimmed}
        if not places:
            makers.update(_WITHOUT_PLACES)
        makers["type_ids"] = lambda row: [number] * len(row)
        return Encoding.of(len(row), lambda name: makers[name](row), {})

    def _makers(self, words: Row | None, specials: str, places: bool) -> dict[str, _Make]:
        """Functions that make each list of a row; `words` are its texts, if they are words."""
        makers = {
            **_MAKERS,
            "offsets": self._places,
            "tokens": lambda row: self._tokens(row, words, specials),
        }
        return makers if places else {**makers, **_WITHOUT_PLACES}

    def _wrapped(self, row: _sentitok.Encoding, makers: dict[str, _Make], has_pair: bool) -> Encoding:
        def ranges() -> Ranges:
            if not (has_pair or self._has_processor):
                return {}
            numbers = row.sequence_ids.tolist()
            return {number: _run(numbers, number) for number in range(1 + has_pair)}

        return Encoding.of(len(row), lambda name: makers[name](row), ranges)

    # Ids to text

    def decode(self, ids: Sequence[int], skip_special: bool) -> str:
        """Returns the text of ids; those without a token are left out."""
        ids = [_id(id) for id in ids]
        if self._decoder is None:
            return " ".join(self._spelled(ids, skip_special))
        if self._odd.isdisjoint(ids):
            text = self.tokenizer.decode(ids, skip_special_tokens=skip_special, errors="ignore")
            if "\ufffd" not in text:
                return text
        return self._decoder.decode(self._spelled(ids, skip_special))

    def _spelled(self, ids: list[int], skip_special: bool) -> list[str]:
        tokens = (self._spellings.get(id, self._model.id_to_token(id)) for id in ids)
        return [
            token for token in tokens if token is not None and not (skip_special and token in self._special)
        ]


def _normalizing(normalizer: Normalizer | None, tokenizer: _sentitok.Tokenizer) -> Callable[[str], str]:
    """Changes a text as a normalizer does; without making its JSON for every text."""
    if normalizer is None:
        return str
    own = tokenizer.normalizer
    return normalizer.normalize_str if own is None or normalizer.spells_bytes() else own.normalize


def _run(numbers: list[int], number: int) -> tuple[int, int]:
    """Where the tokens of a text are."""
    if number not in numbers:
        return 0, 0
    start = numbers.index(number)
    end = next(place for place in count(start) if place == len(numbers) or numbers[place] != number)
    return start, end


def _id(id: SupportsIndex) -> int:
    return whole("id", id, error=OverflowError, bits=32)
