"""Which parts of a chat the assistant wrote: `assistant_spans`, and the mask of ids that it gives.

A template with `{% generation %}` blocks says so itself, and the mask is that of transformers. For any other
template the spans are found by rendering the chat again, with numbered marks at the edges of the assistant's
texts. The span of a message

- begins where the generation prompt ends: what the template adds to the messages before it when an answer is
  asked for (`<|im_start|>assistant` and a line feed, say). A message that follows another header, or none,
  begins with its text;
- ends where that ends which the template writes for the message when it is the last one, so the end-of-turn
  token and the end of a tool call are in it. White space behind it is not.

A message of which no mark is left (an empty one, or a tool call without texts) is placed by the renderings of
the messages before it and up to it, which have to be beginnings of the whole. Where that fails too, the
template cannot say, which is an error.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._sentitok import EncodeError, Encoding
from ..messages import shown
from .guarding import Guard, free_marks, texts_of
from .templates import GENERATION, has_generation

__all__ = ["MaskedEncoding", "Spans", "assistant_spans", "ids_in_spans"]

_WAY_OUT = (
    "put {% generation %} and {% endgeneration %} around what the assistant writes and give that template "
    "(chat_template=, --chat-template), or leave the mask out"
)
# The texts of a message, in addition to its content.
_REASONING = ("reasoning_content", "thinking", "reasoning")

# Renders the first messages of a chat: how many of them (all if `None`), as they are or with other values for
# some variables, and with or without a generation prompt (as the call says if `None`).
Render = Callable[[list[dict[str, Any]], bool | None, dict[str, str]], str]


class MaskedEncoding(NamedTuple):
    """A chat with what the assistant wrote of it.

    Attributes:
        encoding: the ids of the chat.
        mask: whether the assistant wrote each id, an array of bool.
    """

    encoding: Encoding
    mask: NDArray[np.bool_]


class Spans(NamedTuple):
    """Places in the text of a chat that the assistant wrote.

    Attributes:
        places: start and end of each, in characters, in order.
        trims: whether a token's place is taken without the white space that the tokenizer's file leaves out.
    """

    places: list[tuple[int, int]]
    trims: bool


class _Edge(NamedTuple):
    """One edge of a text of the assistant."""

    message: int
    is_content: bool
    is_end: bool


def ids_in_spans(offsets: NDArray[np.int64], places: Sequence[tuple[int, int]]) -> NDArray[np.bool_]:
    """Returns which tokens lie in a span, if only in part.

    Args:
        offsets: start and end of each token.
        places: start and end of each span, in order.
    """
    spans = np.array(places, np.int64).reshape(-1, 2)
    spans = spans[spans[:, 0] < spans[:, 1]]
    if not len(spans):
        return np.zeros(len(offsets), np.bool_)
    # The first span that ends behind the start of the token.
    nearest = np.searchsorted(spans[:, 1], offsets[:, 0], side="right")
    starts = np.append(spans[:, 0], np.iinfo(np.int64).max)
    mask: NDArray[np.bool_] = offsets[:, 1] > starts[nearest]
    return mask


def assistant_spans(
    template: str, given: dict[str, Any], text: str, render: Render, guard: Guard, *, prompts: bool
) -> Spans:
    """Returns the places of a chat that the assistant wrote.

    Args:
        template: the template.
        given: its variables, `messages` among them.
        text: its output.
        render: runs it.
        guard: finds special tokens.
        prompts: whether `text` ends with a generation prompt.

    Raises:
        ValueError: for a chat without a message of the assistant.
        EncodeError: for a template that does not say what the assistant wrote.
    """
    messages: list[dict[str, Any]] = given["messages"]
    roles = [message.get("role") for message in messages]
    if "assistant" not in roles:
        raise ValueError(
            f"the chat has messages of {', '.join(map(shown, dict.fromkeys(roles)))}, and none of the "
            "assistant, which a mask needs; leave the chat or the mask out"
        )
    if has_generation(template):
        places = _of_blocks(template, given, text, render)
    else:
        places = _Finder(template, given, text, render, guard, prompts).places()
    said = f"the chat template {shown(template)} marks"
    if not any(text[start:end].strip() for start, end in places):
        raise EncodeError(f"{said} nothing of this chat as written by the assistant; {_WAY_OUT}")
    others = [
        message for message in messages if message.get("role") != "assistant" and message.get("content")
    ]
    between = zip([0, *(end for _, end in places)], [*(start for start, _ in places), len(text)], strict=True)
    if others and not any(text[start:end].strip() for start, end in between):
        raise EncodeError(f"{said} all of this chat as written by the assistant; {_WAY_OUT}")
    return Spans(places, has_generation(template))


def _of_blocks(template: str, given: dict[str, Any], text: str, render: Render) -> list[tuple[int, int]]:
    """The places of `{% generation %}` blocks."""
    begin, end = marks = free_marks(2, template, given)
    marked = render(given["messages"], None, dict(zip(GENERATION, marks, strict=True)))
    parts = re.split(f"([{begin}{end}])", marked)
    if "".join(parts[::2]) != text:
        raise EncodeError(
            f"the chat template {shown(template)} changes what its generation blocks have written, so that "
            "their place is unknown; filter the text inside of them"
        )
    places: list[tuple[int, int]] = []
    opened: list[int] = []
    place = 0
    for number, part in enumerate(parts):
        if number % 2 == 0:
            place += len(part)
        elif part == begin:
            opened.append(place)
        elif opened:
            start = opened.pop()
            if not opened:  # a block in a block is a part of it
                places.append((start, place))
    return places


class _Finder:
    """Finds the assistant's places by marks at the edges of its texts."""

    def __init__(
        self, template: str, given: dict[str, Any], text: str, render: Render, guard: Guard, prompts: bool
    ) -> None:
        self.template, self.text = template, text
        self.render, self.guard, self.prompts = render, guard, prompts
        self.messages: list[dict[str, Any]] = given["messages"]
        self.writers = [n for n, message in enumerate(self.messages) if message.get("role") == "assistant"]
        self.open, self.close = free_marks(2, template, given)
        self.edges: list[_Edge] = []
        self.marked: list[dict[str, Any]] = []
        self.marks: dict[int, int] = {}
        self.in_empty = self.in_names = True
        # How a message of content alone ended last; most end alike.
        self.ending: str | None = None

    def places(self) -> list[tuple[int, int]]:
        """The spans of the messages, in order.

        Raises:
            EncodeError: if one cannot be found.
        """
        self._mark()
        prompt = self._generation_prompt()
        places: list[tuple[int, int]] = []
        last_end = 0
        for number in self.writers:
            place = self._by_marks(number, last_end, prompt) or self._by_beginnings(number)
            if place is None or place[0] < last_end:
                raise EncodeError(
                    f"the chat template {shown(self.template)} does not show where message {number + 1} of "
                    f"the chat, which the assistant wrote, begins and ends; {_WAY_OUT}"
                )
            last_end = place[1]
            places.append(place)
        return places

    def _mark(self) -> None:
        """Renders the chat with marks; in fewer places where they change the text."""
        for self.in_empty, self.in_names in ((True, True), (False, True), (False, False)):
            self.edges = []
            self.marked = [
                self._with_marks(number, message) if number in self.writers else message
                for number, message in enumerate(self.messages)
            ]
            marks = self._marks_of(self._rendered(self.marked, None), self.text)
            if marks is not None:
                self.marks = marks
                return
        self.edges = []

    def _rendered(self, messages: list[dict[str, Any]], prompts: bool | None) -> str | None:
        try:
            return self.render(messages, prompts, {})
        except (EncodeError, ValueError):  # a template that wants more messages, or refuses marks
            return None

    def _marks_of(self, written: str | None, text: str | None = None) -> dict[int, int] | None:
        """Returns where marks are, by their numbers; `None` if the text changed, or one is there twice."""
        if written is None:
            return None
        parts = re.split(f"{self.open}([0-9]+){self.close}", written)
        if text is not None and "".join(parts[::2]) != text:
            return None
        places: dict[int, int] = {}
        place = 0
        for part, number in zip(parts[::2], [*parts[1::2], None], strict=True):
            place += len(part)
            if number is not None and int(number) in places:
                return None
            if number is not None:
                places[int(number)] = place
        return places

    def _without_marks(self, written: str) -> str:
        return re.sub(f"{self.open}[0-9]+{self.close}", "", written)

    def _with_marks(self, number: int, message: dict[str, Any]) -> dict[str, Any]:
        """A message with marks around its texts."""

        def edge(is_content: bool, is_end: bool) -> str:
            self.edges.append(_Edge(number, is_content, is_end))
            return f"{self.open}{len(self.edges) - 1}{self.close}"

        def around(text: str, is_content: bool) -> str:
            inner = text.strip()
            if not inner:
                return edge(is_content, False) + edge(is_content, True) + text if self.in_empty else text
            start = len(text) - len(text.lstrip())
            # Inside of white space, which a template may trim.
            begin, end = edge(is_content, False), edge(is_content, True)
            return f"{text[:start]}{begin}{inner}{end}{text[start + len(inner) :]}"

        def every(value: Any) -> Any:
            if isinstance(value, str):
                return around(value, False)
            if isinstance(value, dict):
                return {name: every(item) for name, item in value.items()}
            return [every(item) for item in value] if isinstance(value, (list, tuple)) else value

        def call(value: Any) -> Any:
            function = value.get("function", value) if isinstance(value, dict) else None
            if not isinstance(function, dict) or "arguments" not in function:
                return value
            new = {**function, "arguments": every(function["arguments"])}
            if self.in_names and isinstance(function.get("name"), str):
                new["name"] = around(function["name"], False)
            return {**value, "function": new} if "function" in value else new

        new = dict(message)
        for name in _REASONING:
            if isinstance(new.get(name), str):
                new[name] = around(new[name], False)
        content = new.get("content")
        if isinstance(content, str):
            new["content"] = around(content, True)
        elif isinstance(content, list):
            new["content"] = [
                {**part, "text": around(part["text"], True)}
                if isinstance(part, dict) and isinstance(part.get("text"), str)
                else part
                for part in content
            ]
        if isinstance(new.get("tool_calls"), list):
            new["tool_calls"] = [call(one) for one in new["tool_calls"]]
        return new

    def _generation_prompt(self) -> str:
        """The text that the template adds where an answer is asked for; empty if nothing but white space."""
        asked = [self.messages[:number] for number in self.writers if number]
        for messages in (*asked[:1], *asked[-1:], self.messages):
            with_prompt, without = self._rendered(messages, True), self._rendered(messages, False)
            if with_prompt is not None and without is not None:
                prompt = with_prompt[len(self._common(with_prompt, without)) :]
                return prompt if prompt.strip() else ""
        return ""

    def _common(self, first: str, second: str) -> str:
        """The common beginning of two texts: whole special tokens and the text between, or a whole text."""
        if first.startswith(second):
            return second
        if second.startswith(first):
            return first
        length = 0
        for one, other in zip(self.guard.pieces(first), self.guard.pieces(second), strict=False):
            if one != other:
                break
            length += len(one)
        return first[:length]

    def _of_message(self, number: int, marks: dict[int, int]) -> dict[int, int]:
        return {mark: place for mark, place in marks.items() if self.edges[mark].message == number}

    def _by_marks(self, number: int, last_end: int, prompt: str) -> tuple[int, int] | None:
        marks = self._of_message(number, self.marks)
        if not marks:
            return None
        first = min(marks, key=lambda mark: (marks[mark], mark))
        last = max(marks, key=lambda mark: (marks[mark], mark))
        start = self._start(number, marks[first], self.edges[first], last_end, prompt)
        end = None if start is None else self._end(number, last, marks[last])
        return None if start is None or end is None else (start, max(start, end))

    def _start(self, number: int, first: int, edge: _Edge, last_end: int, prompt: str) -> int | None:
        """Where a message begins whose first mark is at `first`."""
        if first < last_end:
            return None
        place = self.text.rfind(prompt, last_end, first) + len(prompt) if prompt else -1
        if place >= len(prompt) and (
            not self._is_spelled(number, prompt) or self._is_prompted(number, place)
        ):
            return place
        if self._is_plain(number) and edge.is_content and not edge.is_end:
            return first
        before = self._rendered(self.messages[:number], False) if number else None
        if before is None or not self.text.startswith(before) or not last_end <= len(before) <= first:
            return None
        # The part of the prompt that is there, or what the template writes in front of any answer.
        own = self.text[len(before) : first]
        header = self._common(prompt, own) if prompt else self._header(number, before)
        if header is None or (prompt and not header) or not own.startswith(header):
            return None
        return len(before) + len(header)

    def _header(self, number: int, before: str) -> str | None:
        """The text that a template without a generation prompt writes before an answer of content alone."""
        probe = {"role": "assistant", "content": f"{self.open}0{self.close}"}
        written = self._rendered([*self.messages[:number], probe], False)
        if written is None or not written.startswith(before) or 0 not in (self._marks_of(written) or {}):
            return None
        header = written[len(before) : written.index(self.open)]
        return header if header.strip() else ""

    def _is_plain(self, number: int) -> bool:
        """Whether the template writes a message as its content alone."""
        is_shown = self.in_names or not self.messages[number].get("tool_calls")
        return is_shown and all(self.edges[mark].is_content for mark in self._of_message(number, self.marks))

    def _is_spelled(self, number: int, prompt: str) -> bool:
        """Whether a message in front of one holds the generation prompt as text."""
        spelled = (text for message in self.messages[:number] for text in texts_of(message))
        return any(prompt.strip() in text for text in spelled)

    def _is_prompted(self, number: int, place: int) -> bool:
        """Whether the text up to `place` is what the template writes to ask for a message."""
        return self._rendered(self.messages[:number], True) == self.text[:place]

    def _end(self, number: int, last: int, place: int) -> int | None:
        """Where a message ends whose last mark is at `place`."""
        edge = self.edges[last]
        is_text = edge.is_content and edge.is_end
        if is_text and self._is_plain(number) and self.ending and self.text.startswith(self.ending, place):
            return len(self.text[: place + len(self.ending)].rstrip())
        if number == len(self.messages) - 1 and not self.prompts:
            behind = self.text[place:]
        else:
            written = self._rendered(self.marked[: number + 1], False)
            marks = self._of_message(number, self._marks_of(written) or {})
            if written is None or last not in marks or any(there > marks[last] for there in marks.values()):
                return None
            behind = self._common(self._without_marks(written)[marks[last] :], self.text[place:])
        if is_text and self._is_plain(number):
            # The first special token ends the turn, and further ones the chat.
            for piece in self.guard.pieces(behind):
                if self.guard.is_special(piece):
                    behind = behind[: behind.index(piece) + len(piece)]
                if piece.strip():
                    break
            self.ending = behind
        return len(self.text[: place + len(behind)].rstrip())

    def _by_beginnings(self, number: int) -> tuple[int, int] | None:
        """The place of a message by the renderings of those in front of it, and of those up to it."""
        if not number:
            return None
        before, prompted = (self._rendered(self.messages[:number], prompts) for prompts in (False, True))
        written = self._rendered(self.messages[: number + 1], False)
        if before is None or prompted is None or written is None or not prompted[len(before) :].strip():
            return None
        if not (
            prompted.startswith(before) and written.startswith(prompted) and self.text.startswith(prompted)
        ):
            return None
        common = self._common(written, self.text)
        rest = self.guard.pieces(written[len(common) :])
        if len(common) <= len(prompted) or not all(
            piece.isspace() or self.guard.is_special(piece) for piece in rest
        ):
            return None
        return len(prompted), len(common.rstrip())
