"""`states`: the encodings of a call as `tokenizers.Encoding` pickles them, without running tokenizers.

Every worker of a DataLoader pickles what a tokenizer gives, so this is as quick as the call itself. What
cannot be equal gives `None`, and tokenizers makes the encodings.

Source: the JSON of `tokenizers.Encoding.__getstate__`, tokenizers 0.23.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import tokenizers

from .._sentitok import EncodingBatch, SentitokError
from .call import Call
from .known import Known, MarkShift

__all__ = ["Pickled", "states", "states_agree"]

_TEXTS = ["It's 3.14 o'clock, don't", "naïve 日本語 x", "a b a b a b", "\nx", " a", "日本", "\u3000 ☃", ""]
_WORDS = [["a", "b c"], ["x"], ["don't", "a"]]
_CUT: dict[str, Any] = {"max_length": 5, "stride": 1, "strategy": "longest_first", "direction": "right"}
_PADDED: dict[str, Any] = {
    "length": None, "direction": "left", "pad_id": 0, "pad_token": "a", "pad_type_id": 0,
    "pad_to_multiple_of": 4,
}  # fmt: skip


# Characters of which each is a grapheme, whatever is next to it: no marks, joiners, jamo or `\r\n`.
_GRAPHEMES = re.compile(
    "[\0-\f\x0e-\u02ff\u0370-\u0482\u048a-\u058f\u1e00-\u1fff\u2010-\u2027\u2030-\u205e\u20a0-\u20cf\u2100-\u2bff"
    "\u3000-\u3029\u3041-\u3096\u309b-\u30ff\u4e00-\u9fff\uac00-\ud7a3\ufb00-\ufb06\uff01-\uff9d]*"
).fullmatch


class Pickled:
    """An object that pickles as a `tokenizers.Encoding` with a state."""

    def __init__(self, state: bytes) -> None:
        self._state = state

    def __reduce__(self) -> tuple[Any, ...]:
        return tokenizers.Encoding, (), self._state


def states(call: Call, known: Known) -> list[bytes] | None:
    """Returns the state of each encoding of a call, or `None` where tokenizers must say."""
    if known.states_shift is None or not _has_places_as_types(call, known):
        return None
    # tokenizers replaces a grapheme as a whole, and gives it the place of its first character.
    if known.replaces_graphemes and not all(map(_GRAPHEMES, _texts(call))):
        return None
    batch = _rows(call, known)
    if batch is None:
        return None
    odd = np.isin(batch.ids, [*known.odd_ids]) & ~batch.special_tokens_mask
    if odd.any() and call.are_words:  # which have no surfaces
        return None
    groups = _groups(batch, len(call.texts))
    length = _length(call, [rows[0][1] - rows[0][0] for rows in groups])
    write = _Writer(call, known, batch, odd, length)
    made: list[str] = []
    try:
        for rows in groups:
            rest = [write.row(start, stop, "") for start, stop in rows[1:]]
            made.append(write.row(*rows[0], ",".join(rest)))
            if call.has_windows:
                made += rest
    except ValueError:  # also for an odd token in what truncation cuts off, which has no surface
        return None
    return [state.encode() for state in made]


def states_agree(known: Known, backend: Any) -> bool:
    """Whether the states of a few calls are those of tokenizers; sets the backend."""
    for adds in (False, True):
        calls = [
            Call(_TEXTS, None, False, adds, False, None, None),
            Call(_TEXTS, None, False, adds, False, _CUT, _PADDED),
            Call(_TEXTS, _TEXTS[::-1], False, adds, False, None, _PADDED),
            Call(_WORDS, None, True, adds, False, None, None),
        ]
        for call in calls:
            if call.truncation is not None and backend.num_special_tokens_to_add(False) > 3:
                continue
            made = states(call, known)
            expected = [encoding.__getstate__() for encoding in call.encodings(backend)]
            if made is not None and [*map(json.loads, made)] != [*map(json.loads, expected)]:
                return False
    return True


def _has_places_as_types(call: Call, known: Known) -> bool:
    """Whether what truncation cuts off has the types that tokenizers gives it."""
    return call.truncation is None or known.types_are_places[call.pairs is not None]


def _texts(call: Call) -> Iterator[str]:
    rows = chain(call.texts, call.pairs or ())
    return chain.from_iterable(rows) if call.are_words else rows


def _rows(call: Call, known: Known) -> EncodingBatch | None:
    """The texts with their offsets, and what truncation cuts off; `None` for pairs that are cut."""
    ours: Any = known.tokenizer
    options: dict[str, Any] = {
        "add_special_tokens": call.adds_special_tokens,
        "specials": "all",
        "is_split_into_words": call.are_words,
        "errors": "strict",
    }
    cuts = call.truncation
    try:
        if cuts is not None and call.pairs is None:
            limit, side = cuts["max_length"], cuts["direction"]
            options |= {"truncation": cuts["strategy"], "truncation_side": side}
            return cast(EncodingBatch, ours.windows_batch(call.texts, limit, cuts["stride"], None, **options))
        batch = cast(EncodingBatch, ours.encode_batch(call.texts, call.pairs, offsets=True, **options))
    except (SentitokError, TypeError, ValueError, OverflowError):
        return None
    is_cut = cuts is not None and int(np.diff(batch.row_offsets).max()) > cuts["max_length"]
    return None if is_cut else batch


def _groups(batch: EncodingBatch, n_texts: int) -> list[list[tuple[int, int]]]:
    """Where the rows of each text begin and end."""
    ends = batch.row_offsets.tolist()
    sources = batch.source_rows.tolist()
    groups: list[list[tuple[int, int]]] = [[] for _ in range(n_texts)]
    for source, start, stop in zip(sources, ends[:-1], ends[1:], strict=True):
        groups[source].append((start, stop))
    return groups


def _length(call: Call, lengths: list[int]) -> int:
    """To how many tokens rows are padded."""
    if call.padding is None:
        return 0
    length = call.padding["length"]
    length = max(lengths, default=0) if length is None else length
    multiple = call.padding["pad_to_multiple_of"]
    return length + -length % multiple if multiple else length


class _Writer:
    """Writes rows of a batch as JSON, padded to a length."""

    def __init__(
        self, call: Call, known: Known, batch: EncodingBatch, odd: npt.NDArray[np.bool_], length: int
    ) -> None:
        self._batch = batch
        self._odd = odd
        self._has_odd = bool(odd.any())
        self._spelled = _spelled(known, batch)
        self._ids: list[int] = batch.ids.tolist()
        self._ends: list[int] = batch.row_offsets.tolist()
        self._types = batch.type_ids
        self._words: list[int] = batch.word_ids.tolist()
        self._offsets: list[int] = (
            _places(batch, known.states_shift or MarkShift((0, 0), (0, 0))).ravel().tolist()
        )
        self._special = batch.special_tokens_mask.view(np.uint8)
        self._sources = batch.sequence_ids
        self._padding = call.padding or {}
        self._length = length
        self._n_texts = 1 if call.pairs is None else 2
        self._has_ranges = known.has_processor or call.pairs is not None
        self._gaps = known.gaps.get((call.adds_special_tokens, call.pairs is not None))

    def row(self, start: int, stop: int, overflowing: str) -> str:
        """Returns the JSON of the row from a token to another."""
        n = stop - start
        pads = max(self._length - n, 0)
        padding, is_left = self._padding, self._padding.get("direction") == "left"

        def filled(values: str, filler: Any) -> str:
            """A list of JSON, from its entries with a comma behind each."""
            fillers = f"{filler}," * pads
            return f"[{(fillers + values if is_left else values + fillers)[:-1]}]"

        ids = self._ids[start:stop]
        tokens = "".join(self._tokens(start, stop))
        words = str(self._words[start:stop])[1:-1].replace("-1", "null") + "," * bool(n)
        offsets = "[%d,%d]," * n % tuple(self._offsets[2 * start : 2 * stop])
        return (
            f'{{"ids":{filled("%d," * n % tuple(ids), padding.get("pad_id"))},'
            f'"type_ids":{filled(_few(self._types[start:stop]), padding.get("pad_type_id"))},'
            f'"tokens":{filled(tokens, json.dumps(padding.get("pad_token")))},'
            f'"words":{filled(words, "null")},"offsets":{filled(offsets, "[0,0]")},'
            f'"special_tokens_mask":{filled(_few(self._special[start:stop]), 1)},'
            f'"attention_mask":{filled("1," * n, 0)},"overflowing":[{overflowing}],'
            f'"sequence_ranges":{{{self._ranges(start, stop, pads if is_left else 0)}}}}}'
        )

    def _ranges(self, start: int, stop: int, shift: int) -> str:
        if not self._has_ranges:
            return ""
        if self._gaps is None:
            raise ValueError("a template that puts texts in another order")
        sources = self._sources[start:stop]
        ranges = []
        last = shift
        for number, gap in enumerate(self._gaps[: self._n_texts]):
            places = np.flatnonzero(sources == number)
            # A text without a token is between the tokens that the template puts around it.
            first = places[0] + shift if len(places) else last + gap
            last = places[-1] + 1 + shift if len(places) else first
            ranges.append(f'"{number}":{{"start":{first},"end":{last}}}')
        return ",".join(ranges)

    def _tokens(self, start: int, stop: int) -> Iterable[str]:
        """The tokens of a row as JSON: odd ones are spelled as they are in the text."""
        tokens = map(self._spelled.__getitem__, self._ids[start:stop])
        if not self._has_odd or not self._odd[start:stop].any():
            return tokens
        surfaces = self._batch[bisect_right(self._ends, start) - 1].surfaces
        odd = self._odd[start:stop].tolist()
        return (
            f"{json.dumps(surface)}," if is_odd else token
            for token, surface, is_odd in zip(tokens, surfaces, odd, strict=True)
        )


def _few(values: npt.NDArray[Any]) -> str:
    """Numbers with a comma behind each; most often all are 0."""
    if not values.any():
        return "0," * len(values)
    return "%d," * len(values) % tuple(values.tolist())


def _places(batch: EncodingBatch, shift: MarkShift) -> npt.NDArray[np.int64]:
    """Where tokens are. A mark that was put in front has an empty place here, and another in tokenizers."""
    places = batch.offsets()
    if shift == MarkShift((0, 0), (0, 0)):
        return places
    raw = batch.offsets(trim=False)
    sources = batch.sequence_ids
    empty = (raw[:, 0] == raw[:, 1]) & (sources >= 0)
    is_first = np.empty(len(sources), bool)
    is_first[1:] = sources[1:] != sources[:-1]
    is_first[batch.row_offsets[:-1][np.diff(batch.row_offsets) > 0]] = True
    is_first |= raw[:, 0] == 0
    places = places.copy()
    for mask, added in ((empty & is_first, shift.first), (empty & ~is_first, shift.later)):
        places[mask] = raw[mask] + added
    return places


def _spelled(known: Known, batch: EncodingBatch) -> dict[int, str]:
    """The tokens of a batch as JSON with a comma behind each, by id."""
    spelled = known.spelled
    for id in np.unique(batch.ids).tolist():
        if id not in spelled:
            spelled[id] = json.dumps(cast(Any, known.tokenizer).id_to_token(id)) + ","
    return spelled
