"""What the assistant wrote of a chat, and rows packed of chats, written out one thing after the other."""

from collections.abc import Callable, Sequence
from typing import Any

# Renders messages, with or without a generation prompt.
Render = Callable[[list[Any], bool], str]


def places(render: Render, messages: list[Any]) -> list[tuple[int, int]]:
    """Where each message of the assistant is, of a template that writes one message after the other.

    From the end of what asks for it to the end of what is there when it is the last one, less white space.
    """
    found = []
    for number, message in enumerate(messages):
        if message["role"] == "assistant":
            asked, written = render(messages[:number], True), render(messages[: number + 1], False)
            assert written.startswith(asked)
            assert render(messages, False).startswith(written)
            found.append((len(asked), len(written.rstrip())))
    return found


def mask(offsets: Sequence[tuple[int, int]], spans: Sequence[tuple[int, int]]) -> list[bool]:
    """Of each token: whether a character of it lies in a span."""
    inside = {char for start, end in spans for char in range(start, end)}
    return [any(char in inside for char in range(start, end)) for start, end in offsets]
