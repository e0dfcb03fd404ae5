"""Chats as data sets write them: objects of JSON with `messages` or, as ShareGPT does, `conversations`.

In `messages` each message has `role` and `content`, and what else templates read. In `conversations` each
has `from` and `value` (`human` asks and `gpt` answers), or `role` and `content`. The object may also have
`tools`, a list or JSON of one, and `documents`. Other keys are not read.
"""

import json
from collections.abc import Mapping, Sequence
from json.decoder import JSONDecodeError, JSONDecoder
from typing import Any, NamedTuple

from .._sentitok import FormatError
from ..messages import shown

__all__ = ["KINDS", "ChatRecord", "RecordError", "chat_of", "chat_of_line"]

#: Keys of an object that hold a chat, by what messages and people call them.
KINDS = {"messages": "messages", "conversations": "conversations (ShareGPT)"}
_SHAREGPT_ROLES = {
    "human": "user", "user": "user", "gpt": "assistant", "chatgpt": "assistant", "assistant": "assistant",
    "bing": "assistant", "bard": "assistant", "system": "system", "tool": "tool", "observation": "tool",
}  # fmt: skip
_SPACE = " \t\r\n"
_DECODER = JSONDecoder()

Path = tuple[str | int, ...]


class ChatRecord(NamedTuple):
    """A chat that was read.

    Attributes:
        kind: the key that held it.
        messages: its messages, with `role`.
        tools: JSON schemas of functions, if there are any.
        documents: further texts, if there are any.
    """

    kind: str
    messages: list[Any]
    tools: list[Any] | None
    documents: list[Any] | None


class RecordError(ValueError):
    """An object that is not a chat.

    Attributes:
        path: the keys that lead to the fault.
    """

    def __init__(self, reason: str, *path: str | int) -> None:
        super().__init__(reason)
        self.path = path


def chat_of_line(line: str, at: str) -> ChatRecord:
    """Reads a chat from a line of JSON.

    Args:
        line: the line.
        at: where it is, as in `chats.jsonl, line 3`.

    Raises:
        FormatError: for a line that is not JSON, or not a chat, with line and column.
    """
    line = line.rstrip()
    try:
        value = json.loads(line)
    except JSONDecodeError as error:
        said = f"{at}, column {error.pos + 1}: no JSON: {error.msg}; write one object a line"
        raise FormatError(said) from None
    except (ValueError, RecursionError) as error:  # a number of too many digits, lists in lists
        raise FormatError(f"{at}, column 1: no JSON that can be read: {error}") from None
    try:
        return chat_of(value)
    except RecordError as error:
        raise FormatError(f"{at}, column {_column(line, error.path)}: {error}") from None


def chat_of(value: Any) -> ChatRecord:
    """Returns the chat of an object, or of a list of messages.

    Raises:
        RecordError: for anything else.
    """
    if isinstance(value, list):
        value = {"messages": value}
    if not isinstance(value, Mapping):
        raise RecordError(f"{shown(value)} is not a chat; a chat is an object with messages or conversations")
    kinds = [kind for kind in KINDS if value.get(kind) is not None]
    if len(kinds) != 1:
        keys = ", ".join(map(shown, list(value)[:10])) or "none"
        raise RecordError(
            "the object has both messages and conversations; leave one of them out"
            if kinds
            else f"no chat: the object has neither messages nor conversations; its keys are {keys}"
        )
    kind = kinds[0]
    messages = value[kind]
    if not isinstance(messages, Sequence) or isinstance(messages, str) or not messages:
        raise RecordError(f"{kind} is {shown(messages)}; it is a list of at least one message", kind)
    read = _sharegpt if kind == "conversations" else _message
    return ChatRecord(
        kind,
        [read(message, (kind, number)) for number, message in enumerate(messages)],
        _list(value, "tools"),
        _list(value, "documents"),
    )


def _message(message: Any, path: Path) -> Any:
    if not isinstance(message, Mapping):
        raise RecordError(f"a message is {shown(message)}; it is an object with role and content", *path)
    if not isinstance(message.get("role"), str):
        raise RecordError(
            f"the role of a message is {shown(message.get('role'))}; it is a text such as user or assistant",
            *path,
            *(["role"] if "role" in message else []),
        )
    return message


def _sharegpt(message: Any, path: Path) -> Any:
    if isinstance(message, Mapping) and "from" not in message and "role" in message:
        return _message(message, path)
    if not isinstance(message, Mapping) or "from" not in message:
        raise RecordError(f"a message is {shown(message)}; it is an object with from and value", *path)
    role = message["from"]
    known = _SHAREGPT_ROLES.get(role) if isinstance(role, str) else None
    if known is None:
        raise RecordError(
            f"from is {shown(role)}; known are {', '.join(_SHAREGPT_ROLES)}: write the chat with messages, "
            "whose roles are free",
            *path,
            "from",
        )
    if not isinstance(message.get("value"), str):
        there = ["value"] if "value" in message else []
        raise RecordError(f"value is {shown(message.get('value'))}; it is a text", *path, *there)
    more = {name: item for name, item in message.items() if name not in ("from", "value")}
    return {**more, "role": known, "content": message["value"]}


def _list(value: Mapping[str, Any], name: str) -> list[Any] | None:
    """The tools or documents of an object; data sets with a schema write tools as JSON."""
    found = value.get(name)
    if isinstance(found, str):
        try:
            found = json.loads(found) if found.strip() else None
        except (ValueError, RecursionError):
            raise RecordError(f"{name} is a text that is not JSON: {shown(found)}", name) from None
    if found is None:
        return None
    if not isinstance(found, list) or not all(isinstance(item, Mapping) for item in found):
        raise RecordError(f"{name} is {shown(found)}; it is a list of objects", name)
    return found or None


def _column(line: str, path: Path) -> int:
    """Returns where a value of a line of JSON begins, counted from 1."""
    place = _next(line, 0)
    for step in path:
        end = "}" if isinstance(step, str) else "]"
        place, number = _next(line, place + 1), 0
        while line[place] != end:
            key: str | int = number
            if isinstance(step, str):
                key, place = _DECODER.raw_decode(line, place)
                place = _next(line, _next(line, place) + 1)
            if key == step:
                break
            _, place = _DECODER.raw_decode(line, place)
            place, number = _next(line, place), number + 1
            place = _next(line, place + 1) if line[place] == "," else place
    return place + 1


def _next(line: str, place: int) -> int:
    while place < len(line) and line[place] in _SPACE:
        place += 1
    return place
