"""`TextStream`: from new tokens to text that is whole: no half character, no part of a stop string.

`sentitok` decodes token by token and holds back bytes that are no character yet; here what may
still become a stop string is held back as well. Not for what a token is (`decoding.py`).
"""

from collections.abc import Sequence

from sentitok import Tokenizer

from ..arguments import strings
from ..errors import ConfigError

__all__ = ["StopStrings", "TextStream", "decoded"]


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
        TypeError: if one is no text.
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
        """Returns what is text for certain, once `text` follows what was given before."""
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
        """Returns what was held back, once nothing follows."""
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

    A token that continues a word loses its mark behind another token: `##ing` twice is `##inging`.
    """
    alone = tokenizer.decode([id])
    added = tokenizer.decode([id, id])[len(alone) :]
    return len(alone) - len(added) if added and alone.endswith(added) else 0


class TextStream:
    """The text of one row, as its tokens come.

    Args:
        tokenizer: what the ids are of.
        prompt: ids that come before; they are read, since a tokenizer may join what follows to
            them, but are no part of the text.
        stops: strings that end the text, and are not part of it.
    """

    def __init__(self, tokenizer: Tokenizer, prompt: Sequence[int], stops: Sequence[str] = ()) -> None:
        self._tokenizer = tokenizer
        self._decoder = tokenizer.stream_decoder(skip_special_tokens=True)
        self._stops = StopStrings(stops)
        said = sum(len(self._decoder.push(id)) for id in prompt)
        # What the prompt's tokens hold back comes with the first new ones, and is cut off there.
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
        """Returns what is left once no token follows; bytes that are no character are U+FFFD."""
        if self.stopped:
            return ""
        return self._stops.push(self._new(self._decoder.finish())) + self._stops.finish()

    def _new(self, text: str) -> str:
        """Returns a text without what is the prompt's, and without a mark in front."""
        skipped = min(self._to_skip, len(text)) if self._to_skip > 0 else 0
        self._to_skip -= skipped
        return text[skipped:]
