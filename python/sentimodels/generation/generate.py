"""`generate`: prompts in, pieces of text out, until each text ends.

A text ends with an end token, before a stop string, after so many tokens, or where the context is full. Texts
that have ended leave their batch. `TextStream` says when text is certain: `sentitok` decodes token by token
and holds back bytes that are not a character yet; what may still become a stop string is held back as well.
The next token is for `decoding.py`.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from sentitok import Tokenizer

from ..arguments import flag, strings, whole
from ..errors import ConfigError, DataError
from ..models.language import CausalModel
from ..text.special_tokens import special_ids
from .decoding import Decoding, Watch
from .sampling import Draws, Sampling

__all__ = [
    "Ending",
    "Limits",
    "Piece",
    "Reason",
    "StopStrings",
    "TextStream",
    "check_prompts",
    "decoded",
    "generate",
]

Reason = Literal["end", "stop", "length", "context"]


@dataclass(frozen=True)
class Limits:
    """When texts end.

    Attributes:
        max_new_tokens: tokens of a text at most, from 1 on.
        stops: strings before which a text ends; a special token that is spelled so ends it too.
        end_ids: tokens that end a text, and are not part of it.
        context: tokens that the model reads at most; `None`: any number.
        window: whether a text may be longer than the context, the oldest tokens being forgotten.

    Raises:
        TypeError: if a value is of the wrong type.
        ConfigError: if it is out of range.
    """

    max_new_tokens: int = 128
    stops: tuple[str, ...] = ()
    end_ids: AbstractSet[int] = frozenset()
    context: int | None = None
    window: bool = False

    def __post_init__(self) -> None:
        whole("max_new_tokens", self.max_new_tokens, "a whole number from 1 on", 1)
        object.__setattr__(self, "stops", strings("stop", self.stops))
        if self.context is not None:
            whole("context", self.context, "a whole number from 1 on", 1)
        flag("window", self.window)
        StopStrings(self.stops)


@dataclass(frozen=True)
class Ending:
    """How a text ended.

    Attributes:
        reason: `end`: by an end token; `stop`: before a stop string; `length`: with the last
            of `max_new_tokens`; `context`: where the context was full.
        ids: the tokens that were taken, an end token included.
    """

    reason: Reason
    ids: tuple[int, ...]


@dataclass(frozen=True)
class Piece:
    """Yields the continuation of a text: never half a character, nor a part of a stop string.

    Attributes:
        row: which prompt it belongs to.
        text: the continuation.
        ending: how the text ended, with its last piece; `None` before.
    """

    row: int
    text: str
    ending: Ending | None = None


def check_prompts(
    prompts: Sequence[Sequence[int]], vocab_size: int, limits: Limits, begin: str | None, first: int = 1
) -> None:
    """Refuses unreadable prompts.

    Args:
        prompts: the ids of each.
        vocab_size: ids run below this.
        limits: the context.
        begin: a token that texts begin with, if the tokenizer has one.
        first: number of the first prompt, for messages.

    Raises:
        DataError: if a prompt has no tokens, unknown ones, or too many.
    """
    for number, prompt in enumerate(prompts, first):
        if not len(prompt):
            raise DataError(
                f"prompt {number} is empty: there is nothing to continue; give some text"
                + ("" if begin is None else f", or begin=True (--begin) to continue {begin}")
            )
        unknown = next((id for id in prompt if not 0 <= id < vocab_size), None)
        if unknown is not None:
            raise DataError(
                f"prompt {number}: token id {unknown} is unknown to the model, which has {vocab_size}; "
                "encode it with the tokenizer of the run"
            )
        if limits.context is not None and len(prompt) > limits.context and not limits.window:
            raise DataError(
                f"prompt {number} has {len(prompt)} tokens, but the model reads {limits.context}; "
                "shorten it, or use window=True (--window), which forgets the oldest tokens"
            )


def generate(
    model: CausalModel,
    tokenizer: Tokenizer,
    prompts: Sequence[Sequence[int]],
    limits: Limits,
    sampling: Sampling,
    *,
    seed: int | None = None,
    batch_size: int = 32,
    begin: str | None = None,
    watch: Watch | None = None,
    copies: Counter[bytes] | None = None,
) -> Iterator[Piece]:
    """Continues prompts; returns each text piece by piece, those of one batch at the same time.

    Args:
        model: a causal model in evaluation mode.
        tokenizer: of the ids.
        prompts: the ids of each.
        limits: when texts end.
        sampling: how a token is taken.
        seed: random seed; the same seed gives the same texts. `None`: another one each time.
        batch_size: prompts that are continued together at most.
        begin: for messages: a token that texts begin with.
        watch: called with each step, or `None`.
        copies: how often each prompt has been continued before, where several calls continue them.

    Raises:
        DataError: as `check_prompts` raises it.
        TypeError: if a value is of the wrong type.
        ConfigError: if the model reads both ways, or a value is out of range.
    """
    table = model.head.table(model.backbone)
    check_prompts(prompts, len(table), limits, begin)
    model.new_cache()  # refuses a model that reads both ways
    whole("batch_size", batch_size, "a whole number from 1 on", 1)
    draws = Draws(seed, prompts, copies)
    # Ids above those of the tokenizer, such as padding, are not text.
    above = torch.arange(tokenizer.vocab_size, len(table), device=table.device)
    banned = above if len(above) else None
    return _pieces(model, tokenizer, prompts, limits, sampling, draws, batch_size, banned, watch)


def _pieces(
    model: CausalModel,
    tokenizer: Tokenizer,
    prompts: Sequence[Sequence[int]],
    limits: Limits,
    sampling: Sampling,
    draws: Draws,
    batch_size: int,
    banned: Tensor | None,
    watch: Watch | None,
) -> Iterator[Piece]:
    for rows in _batches(prompts, batch_size, equal=not model.backbone.pads_left):
        texts = [prompts[row] for row in rows]
        decoding = Decoding(
            model, texts, sampling, draws, rows, context=limits.context, banned=banned, watch=watch
        )
        yield from _continued(decoding, tokenizer, prompts, limits)


def _batches(prompts: Sequence[Sequence[int]], most: int, *, equal: bool) -> Iterator[list[int]]:
    """Yields which prompts are continued together: of near lengths, or of equal ones."""
    batch: list[int] = []
    for row in sorted(range(len(prompts)), key=lambda row: len(prompts[row])):
        if batch and (len(batch) == most or (equal and len(prompts[row]) != len(prompts[batch[0]]))):
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


def _continued(
    decoding: Decoding, tokenizer: Tokenizer, prompts: Sequence[Sequence[int]], limits: Limits
) -> Iterator[Piece]:
    """Yields the pieces of one batch, until all its texts have ended."""
    texts = {row: TextStream(tokenizer, prompts[row], limits.stops) for row in decoding.rows}
    special = special_ids(tokenizer)
    stop_ids = {special[stop] for stop in limits.stops if stop in special} - limits.end_ids
    while decoding.rows:
        going = []
        for place, id in enumerate(decoding.step()):
            row, text = decoding.rows[place], texts[decoding.rows[place]]
            piece = "" if id in limits.end_ids or id in stop_ids else text.push(id)
            n_read, n_new = len(decoding.texts[place]), len(decoding.texts[place]) - len(prompts[row])
            reason: Reason | None = None
            if id in limits.end_ids:
                reason = "end"
            elif text.stopped or id in stop_ids:
                reason = "stop"
            elif n_new >= limits.max_new_tokens:
                reason = "length"
            elif limits.context is not None and not limits.window and n_read > limits.context:
                reason = "context"
            if reason is None:
                going.append(place)
                if piece:
                    yield Piece(row, piece)
            else:
                ids = tuple(decoding.texts[place][len(prompts[row]) :])
                yield Piece(row, piece + text.finish(), Ending(reason, ids))
        if len(going) < len(decoding.rows):
            decoding.keep(going)


class StopStrings:
    """Finds the first of some strings in a text that comes in parts.

    The text ends before the string that is complete first; of those complete at the same
    character, before the longest. Each character costs a step or two for each string, whatever the
    parts are (Knuth, Morris and Pratt 1977).

    Args:
        stops: the strings.

    Attributes:
        stop: the string that ended the text, or `None`.

    Raises:
        TypeError: if one is not text.
        ConfigError: if one is empty.
    """

    def __init__(self, stops: Sequence[str]) -> None:
        stops = strings("stop", stops)
        if "" in stops:
            raise ConfigError('stop "": an empty string is everywhere; leave it out')
        self.stop: str | None = None
        self._stops = sorted(set(stops), key=lambda stop: (-len(stop), stop))
        self._borders = [_borders(stop) for stop in self._stops]
        self._matched = [0] * len(self._stops)
        self._held = ""

    def push(self, text: str) -> str:
        """Returns the text that no stop string can remove any more, once `text` follows the text so far."""
        if not self._stops or self.stop is not None:
            return text if self.stop is None else ""
        whole, begun = self._held + text, len(self._held)
        for place in range(begun, len(whole)):
            stop = self._completed_by(whole[place])
            if stop is not None:
                self.stop, self._held = stop, ""
                return whole[: place + 1 - len(stop)]
        sure = len(whole) - max(self._matched)
        self._held = whole[sure:]
        return whole[:sure]

    def finish(self) -> str:
        """Returns the text that was held back, once nothing follows."""
        held, self._held = self._held, ""
        return held

    def _completed_by(self, character: str) -> str | None:
        """Takes in one character; returns the longest string that it completes."""
        for number, (stop, borders) in enumerate(zip(self._stops, self._borders, strict=True)):
            matched = self._matched[number]
            while matched and stop[matched] != character:
                matched = borders[matched - 1]
            matched += stop[matched] == character
            self._matched[number] = matched
            if matched == len(stop):
                return stop
        return None


def _borders(word: str) -> list[int]:
    """Returns, for each beginning of a word, the length of its longest proper end that begins the word."""
    borders = [0] * len(word)
    length = 0
    for place in range(1, len(word)):
        while length and word[length] != word[place]:
            length = borders[length - 1]
        length += word[length] == word[place]
        borders[place] = length
    return borders


def decoded(tokenizer: Tokenizer, ids: Sequence[int]) -> str:
    """Returns the text of ids that were generated, without special tokens and without a mark in front."""
    text = tokenizer.decode(ids, skip_special_tokens=True)
    first = next((id for id in ids if tokenizer.decode([id], skip_special_tokens=True)), None)
    return text if first is None else text[_mark_length(tokenizer, first) :]


def _mark_length(tokenizer: Tokenizer, id: int) -> int:
    """Returns the length of the mark (`##`) that a token shows where no token comes before it.

    A token that continues a word loses its mark after another token: `##ing` twice is `##inging`.
    """
    alone = tokenizer.decode([id])
    added = tokenizer.decode([id, id])[len(alone) :]
    return len(alone) - len(added) if added and alone.endswith(added) else 0


class TextStream:
    """The text of one row, as its tokens come.

    Args:
        tokenizer: of the ids.
        prompt: ids that come before; they are read, since a tokenizer may join what follows to
            them, but are not part of the text.
        stops: strings that end the text, and are not part of it.
    """

    def __init__(self, tokenizer: Tokenizer, prompt: Sequence[int], stops: Sequence[str] = ()) -> None:
        self._tokenizer = tokenizer
        self._decoder = tokenizer.stream_decoder(skip_special_tokens=True)
        self._stops = StopStrings(stops)
        said = sum(len(self._decoder.push(id)) for id in prompt)
        # Text that the prompt's tokens hold back comes with the first new ones, and is cut off there.
        before = tokenizer.decode(prompt, skip_special_tokens=True)
        self._to_skip = len(before) - said
        self._begun = before != ""

    @property
    def stopped(self) -> bool:
        """Whether a stop string has come."""
        return self._stops.stop is not None

    def push(self, id: int) -> str:
        """Returns the text that the next token makes certain."""
        if not self._begun and self._tokenizer.decode([id], skip_special_tokens=True):
            self._begun = True
            self._to_skip += _mark_length(self._tokenizer, id)
        return self._stops.push(self._new(self._decoder.push(id)))

    def finish(self) -> str:
        """Returns the remaining text once no token follows; bytes that are not a character are U+FFFD."""
        if self.stopped:
            return ""
        return self._stops.push(self._new(self._decoder.finish())) + self._stops.finish()

    def _new(self, text: str) -> str:
        """Returns a text without the prompt's part, and without a mark in front."""
        skipped = min(self._to_skip, len(text)) if self._to_skip > 0 else 0
        self._to_skip -= skipped
        return text[skipped:]
