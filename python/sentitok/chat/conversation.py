"""The input of a template: messages, tools and documents, as plain data.

Templates come with models and may be anybody's: they get copies made of text, numbers, lists and
dicts, never the caller's objects.

Source: transformers 5, `utils/chat_template_utils.py` (`_plain_template_data` and the functions it calls).
"""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from ..messages import shown

__all__ = ["END", "conversation", "open_text"]

# Behind the last message when it is to be continued: a noncharacter, which no text should hold.
END = "\ufdd1"
# The names under which a message's reasoning goes; templates read the first today.
_REASONING = ("reasoning_content", "thinking", "reasoning")
# Lists in lists: deeper than any message, and no deeper than Python goes.
_MOST_DEEP = 100


def conversation(
    messages: Iterable[Any],
    tools: Iterable[Any] | None,
    documents: Iterable[Any] | None,
    variables: Mapping[str, Any] | None,
    *,
    continues: bool,
) -> dict[str, Any]:
    """Returns the variables of a template, except for special tokens.

    Raises:
        TypeError: if one is not a message, tool or document.
        ValueError: for no messages, or a last one that cannot be continued.
    """
    if isinstance(messages, (str, bytes, Mapping)):
        raise TypeError(f"messages is a list of messages, not {shown(messages)}")
    chat = [_message(message) for message in messages]
    if not chat:
        raise ValueError("messages is empty; a chat has at least one message")
    if continues:
        _leave_open(chat[-1])
    return {
        **_plain(dict(variables or {})),
        "messages": chat,
        "tools": None if tools is None else [_tool(tool) for tool in tools],
        "documents": None if documents is None else [_document(document) for document in documents],
    }


def _message(message: Any) -> dict[str, Any]:
    plain = _plain(message)
    if not isinstance(plain, dict):
        hint = "; give one conversation a call" if isinstance(plain, (list, tuple)) else ""
        raise TypeError(f"a message is an object with role and content, not {shown(message)}{hint}")
    plain = {name: value for name, value in plain.items() if value is not None}
    reasoning = next((plain[name] for name in _REASONING if name in plain), None)
    if reasoning is None:
        return plain
    return {"thinking": reasoning, **plain, "reasoning_content": reasoning}


def _leave_open(message: dict[str, Any]) -> None:
    """Puts a mark behind the last text of a message."""
    content = message.get("content")
    if isinstance(content, str):
        message["content"] = f"{content}{END} "
        return
    for block in reversed(content if isinstance(content, list) else []):
        if isinstance(block, dict) and isinstance(block.get("text"), str):
            block["text"] += f"{END} "
            return
    raise ValueError(f"the last message has no text to continue: {shown(message)}")


def open_text(message: dict[str, Any]) -> str:
    """The last text of a message that was left open."""
    content = message["content"]
    blocks = content if isinstance(content, list) else [{"text": content}]
    texts: list[str] = [block["text"] for block in blocks if END in block.get("text", "")]
    return texts[-1].split(END)[0]


def _tool(tool: Any) -> Any:
    if isinstance(tool, Mapping):
        return _plain(tool)
    raise TypeError(
        f"a tool is the JSON schema of a function, as a dict, not {shown(tool)}; "
        "transformers.utils.get_json_schema makes it of a function"
    )


def _document(document: Any) -> Any:
    if isinstance(document, Mapping):
        return _plain(document)
    raise TypeError(f"a document is a dict with title and text, not {shown(document)}")


def _plain(value: Any, depth: int = 0) -> Any:
    if depth > _MOST_DEEP:
        raise ValueError(f"messages nest lists or objects more than {_MOST_DEEP} deep; flatten them")
    if value is None or type(value) in (str, int, float, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, Mapping):
        return {_plain(name, depth + 1): _plain(item, depth + 1) for name, item in value.items()}
    if isinstance(value, list):
        return [_plain(item, depth + 1) for item in value]
    if isinstance(value, tuple):
        return tuple(_plain(item, depth + 1) for item in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = (each.name for each in dataclasses.fields(value))
        return {name: _plain(getattr(value, name), depth + 1) for name in names}
    if callable(getattr(value, "model_dump", None)):
        return _plain(value.model_dump(), depth + 1)
    if hasattr(value, "dtype") and getattr(value, "shape", None) == ():
        return _plain(value.item(), depth + 1)
    return f"<{type(value).__name__}>"
