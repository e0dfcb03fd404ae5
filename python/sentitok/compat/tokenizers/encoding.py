"""`Encoding`: tokenizers' lists over what sentitok made of a text, filled when they are asked for.

Source of what the calls mean: tokenizers 0.23, `Encoding`.
"""

import warnings
from collections.abc import Callable, Iterable
from typing import Any

from ...numbers import whole

__all__ = ["FIELDS", "Encoding", "Ranges"]

_Lists = dict[str, list[Any]]
#: Of each text the first of its tokens, and the one behind its last.
Ranges = dict[int, tuple[int, int]]
#: The lists of an encoding, one entry a token each, and what a pad has in it where it is always the same.
FIELDS: dict[str, Any] = {
    "ids": None, "type_ids": None, "tokens": None, "offsets": (0, 0), "words": None, "special": 1,
    "attention": 0,
}  # fmt: skip


class Encoding:
    """The tokens of a text, or of a pair: lists of one entry a token."""

    def __init__(self) -> None:
        self._lists: _Lists = {name: [] for name in FIELDS}
        self._make: Callable[[str], list[Any]] | None = None
        self._n = 0
        self._pads: list[tuple[bool, int, dict[str, Any]]] = []
        self._ranges: Ranges | Callable[[], Ranges] = {}
        self.parts: list[Encoding] = []

    @classmethod
    def of(
        cls, n: int, make: Callable[[str], list[Any]], ranges: Callable[[], Ranges] | Ranges
    ) -> "Encoding":
        """Returns an encoding whose lists are made by name when they are asked for."""
        made = cls.__new__(cls)
        made._lists, made._make, made._n, made._ranges = {}, make, n, ranges
        made._pads, made.parts = [], []
        return made

    @classmethod
    def made(cls, lists: _Lists, ranges: Ranges | None = None) -> "Encoding":
        """Returns an encoding of lists."""
        made = cls.of(len(lists["ids"]), lists.__getitem__, dict(ranges or {}))
        made._lists = lists
        return made

    @property
    def ranges(self) -> Ranges:
        """Of each text the first of its tokens, and the one behind its last; empty where all are one's."""
        if callable(self._ranges):
            self._ranges = self._ranges()
            self._shift(sum(count for left, count, _ in self._pads if left))
        return self._ranges

    def _shift(self, count: int) -> None:
        self._ranges = {number: (a + count, b + count) for number, (a, b) in self.ranges.items()}

    def field(self, name: str) -> list[Any]:
        """Returns a list by its name in `FIELDS`, which is not to be changed: encodings may share it."""
        values = self._lists.get(name)
        if values is None:
            values = self._make(name) if self._make else []
            for left, count, fill in self._pads:
                pads = [fill.get(name, FIELDS[name])] * count
                values = pads + values if left else values + pads
            self._lists[name] = values
        return values

    def put(self, name: str, values: list[Any]) -> None:
        """Sets a list by its name in `FIELDS`."""
        self._lists[name] = values

    def put_later(self, name: str, make: Callable[["Encoding"], list[Any]]) -> None:
        """Sets a list that is made of the encoding as it is now, when it is asked for."""
        now = self.copy()
        self._lists, self._pads = {}, []
        self._make = lambda asked: make(now) if asked == name else now.field(asked)

    def lists(self) -> _Lists:
        """Returns all lists."""
        return {name: self.field(name) for name in FIELDS}

    def copy(self) -> "Encoding":
        """Returns an independent copy."""
        made = Encoding.of(
            self._n, self.field, self._ranges if callable(self._ranges) else dict(self._ranges)
        )
        made._lists, made._make, made._pads = dict(self._lists), self._make, list(self._pads)
        made.parts = [part.copy() for part in self.parts]
        return made

    def _stretch(self, start: int, stop: int) -> "Encoding":
        return Encoding.of(stop - start, lambda name: self.field(name)[start:stop], {})

    def _become(self, other: "Encoding") -> None:
        self.__dict__.update(vars(other))

    # The lists

    @property
    def ids(self) -> list[int]:
        """The ids."""
        return list(self.field("ids"))

    @property
    def type_ids(self) -> list[int]:
        """The segment of each token."""
        return list(self.field("type_ids"))

    @property
    def tokens(self) -> list[str]:
        """The tokens as they are spelled."""
        return list(self.field("tokens"))

    @property
    def offsets(self) -> list[tuple[int, int]]:
        """Where each token begins and ends in its text, in characters."""
        return list(self.field("offsets"))

    @property
    def word_ids(self) -> list[int | None]:
        """The word of each token; `None` for special tokens."""
        return list(self.field("words"))

    @property
    def words(self) -> list[int | None]:
        """What `word_ids` is."""
        warnings.warn(
            "Encoding.words is deprecated, please use Encoding.word_ids instead.",
            DeprecationWarning,
            stacklevel=2,
        )
        return self.word_ids

    @property
    def special_tokens_mask(self) -> list[int]:
        """1 for what the template or padding put in."""
        return list(self.field("special"))

    @property
    def attention_mask(self) -> list[int]:
        """0 for pads."""
        return list(self.field("attention"))

    @property
    def overflowing(self) -> list["Encoding"]:
        """The parts that truncation cut off, in stretches of the same length."""
        return [part.copy() for part in self.parts]

    @property
    def sequence_ids(self) -> list[int | None]:
        """The text of each token, 0 or 1; `None` for special tokens."""
        ids: list[int | None] = [None] * len(self)
        for number in range(self.n_sequences):
            start, stop = self._range(number)
            ids[start:stop] = [number] * (stop - start)
        return ids

    @property
    def n_sequences(self) -> int:
        """How many texts there are."""
        return len(self.ranges) or 1

    def set_sequence_id(self, sequence_id: int) -> None:
        """Makes all tokens those of one text."""
        self.ranges[_checked("sequence_id", sequence_id)] = (0, len(self))

    # From one to the other

    def _range(self, sequence: int) -> tuple[int, int]:
        return self.ranges.get(sequence, (0, len(self)))

    def token_to_sequence(self, token_index: int) -> int | None:
        """Returns the text of a token."""
        if _checked("token_index", token_index) > len(self):
            return None
        if not self.ranges:
            return 0
        inside = (n for n, (start, stop) in self.ranges.items() if start <= token_index < stop)
        return next(inside, None)

    def token_to_chars(self, token_index: int) -> tuple[int, int] | None:
        """Returns where a token is in its text."""
        if self.token_to_sequence(token_index) is None or token_index >= len(self):
            return None
        place: tuple[int, int] = self.field("offsets")[token_index]
        return place

    def token_to_word(self, token_index: int) -> int | None:
        """Returns the word of a token."""
        if self.token_to_sequence(token_index) is None or token_index >= len(self):
            return None
        word: int | None = self.field("words")[token_index]
        return word

    def word_to_tokens(self, word_index: int, sequence_index: int = 0) -> tuple[int, int] | None:
        """Returns the first token of a word, and the one behind its last."""
        _checked("word_index", word_index, bits=32)
        start, stop = self._range(_checked("sequence_index", sequence_index))
        places = []
        for place, word in enumerate(self.field("words")[start:stop], start):
            if word is not None and word > word_index:
                break
            if word == word_index:
                places.append(place)
        return (places[0], places[-1] + 1) if places else None

    def word_to_chars(self, word_index: int, sequence_index: int = 0) -> tuple[int, int] | None:
        """Returns where a word is in its text."""
        span = self.word_to_tokens(word_index, sequence_index)
        if span is None:
            return None
        offsets = self.field("offsets")
        return offsets[span[0]][0], offsets[span[1] - 1][1]

    def char_to_token(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """Returns the token in which a character is."""
        _checked("char_pos", char_pos)
        start, stop = self._range(_checked("sequence_index", sequence_index))
        places = enumerate(self.field("offsets")[start:stop], start)
        return next((place for place, (begin, end) in places if begin <= char_pos < end), None)

    def char_to_word(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """Returns the word in which a character is."""
        token = self.char_to_token(char_pos, sequence_index)
        return None if token is None else self.token_to_word(token)

    # Methods that change it

    def truncate(self, max_length: int, stride: int = 0, direction: str = "right") -> None:
        """Cuts to a length; the rest goes to `overflowing`.

        Args:
            max_length: how many tokens stay.
            stride: how many tokens a stretch shares with the one before.
            direction: the end at which is cut, `"right"` or `"left"`.

        Raises:
            ValueError: for another direction, or a stride that is not below the length.
        """
        if direction not in ("left", "right"):
            raise ValueError(f"Invalid truncation direction value : {direction}")
        n = len(self)
        if _checked("max_length", max_length) >= n:
            return
        if max_length == 0:
            whole = self.copy()
            self._become(Encoding())
            self.parts = [whole]
            return
        if _checked("stride", stride) >= max_length:
            raise ValueError(
                f"stride={stride} must be strictly less than max_length={max_length} (which may be less than "
                "was asked for, by the special tokens that are added)"
            )
        step = max_length - stride
        count = -(-(n - max_length) // step) + 1  # stretches, the last one at the end of the text
        if direction == "right":
            spans = [(i * step, min(i * step + max_length, n)) for i in range(count)]
        else:
            spans = [(max(n - i * step - max_length, 0), n - i * step) for i in range(count)]
        whole = self.copy()
        stretches = [whole._stretch(*span) for span in spans]
        self._become(stretches[0])
        self.parts = stretches[1:]

    def pad(
        self,
        length: int,
        direction: str = "right",
        pad_id: int = 0,
        pad_type_id: int = 0,
        pad_token: str = "[PAD]",
    ) -> None:
        """Fills up to a length; longer encodings stay as they are.

        Raises:
            ValueError: for another direction than `"right"` and `"left"`.
        """
        if direction not in ("left", "right"):
            raise ValueError(f"Unknown `direction`: `{direction}`. Use one of `left` or `right`")
        pad_id = _checked("pad_id", pad_id, bits=32)
        pad_type_id = _checked("pad_type_id", pad_type_id, bits=32)
        for part in self.parts:
            part.pad(length, direction, pad_id, pad_type_id, pad_token)
        count = _checked("length", length) - len(self)
        if count <= 0:
            return
        left, fill = direction == "left", {"ids": pad_id, "type_ids": pad_type_id, "tokens": pad_token}
        for name, values in self._lists.items():
            pads = [fill.get(name, FIELDS[name])] * count
            self._lists[name] = pads + values if left else values + pads
        self._pads.append((left, count, fill))
        self._n += count
        if left and not callable(self._ranges):
            self._shift(count)

    @staticmethod
    def merge(encodings: Iterable["Encoding"], growing_offsets: bool = True) -> "Encoding":
        """Returns encodings as one; each of the parts cut off is merged with each."""
        whole: list[Encoding] = []
        parts: list[list[Encoding]] = []
        for encoding in (given.copy() for given in encodings):
            own = (encoding, *encoding.parts)
            parts = [[*part, one] for part in parts for one in own] + [[*whole, one] for one in own[1:]]
            whole = [*whole, encoding]
        merged = _joined(whole, growing_offsets)
        merged.parts = [_joined(part, growing_offsets) for part in parts]
        return merged

    def __len__(self) -> int:
        return self._n

    def __repr__(self) -> str:
        return (
            f"Encoding(num_tokens={len(self)}, attributes=[ids, type_ids, tokens, offsets, attention_mask, "
            "special_tokens_mask, overflowing])"
        )

    def __getstate__(self) -> dict[str, Any]:
        return {"lists": self.lists(), "ranges": self.ranges, "parts": self.parts}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._become(Encoding.made(state["lists"], state["ranges"]))
        self.parts = state["parts"]


def _joined(encodings: list[Encoding], growing: bool) -> Encoding:
    """Encodings one after the other."""

    def make(name: str) -> list[Any]:
        if name != "offsets" or not growing:
            return [value for encoding in encodings for value in encoding.field(name)]
        offsets: list[tuple[int, int]] = []
        for encoding in encodings:
            shift = offsets[-1][1] if offsets else 0
            offsets += [(start + shift, end + shift) for start, end in encoding.field(name)]
        return offsets

    ranges: Ranges = {}
    n = 0
    for encoding in encodings:
        ranges.update({number: (n + a, n + b) for number, (a, b) in encoding.ranges.items()})
        n += len(encoding)
    return Encoding.of(n, make, ranges)


def _checked(name: str, value: int, bits: int = 64) -> int:
    return whole(name, value, error=OverflowError, bits=bits)
