"""Chats to ids: `Tokenizer.apply_chat_template`.

A template writes the messages as one text, special tokens included; jinja2 runs it, in its sandbox. What a
message holds stays text: a special token that it spells, or begins, is none.

Source of what templates may use: transformers 5, `utils/chat_template_utils.py`.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._sentitok import EncodeError, Encoding, Tokenizer
from ..messages import shown
from .encoder import ChatEncoder, RenderedChat
from .masks import MaskedEncoding

__all__ = ["MaskedEncoding", "apply"]


# Arguments of transformers' call in addition to the template's variables, and their replacement here.
_OF_TRANSFORMERS = {
    "padding": "pad what encode_batch gives: pad(), to_torch()",
    "truncation": "cut the ids: .ids[:n]",
    "max_length": "cut the ids: .ids[:n]",
    "return_tensors": 'take the array, as in torch.from_numpy(encoding.ids.astype("int64"))',
    "return_dict": "take .ids; nothing is padded, so the mask is all ones",
    "return_assistant_tokens_mask": 'pass mask="assistant"',
    "tokenizer_kwargs": "special tokens of messages are chosen by specials=",
}


def apply(
    tokenizer: Tokenizer,
    messages: Iterable[Any],
    *,
    tools: Iterable[Any] | None = None,
    documents: Iterable[Any] | None = None,
    chat_template: str | None = None,
    add_generation_prompt: bool = False,
    continue_final_message: bool = False,
    specials: str = "none",
    tokenize: bool = True,
    mask: str | None = None,
    variables: Mapping[str, Any] | None = None,
) -> Any:
    """Returns the ids of a chat, or with `tokenize=False` its text; of several chats, a list.

    Args:
        tokenizer: its settings hold the template and the texts of special tokens.
        messages: one conversation: objects with `role` and `content`; or a list of conversations.
        tools: JSON schemas of functions.
        documents: objects with `title` and `text`.
        chat_template: a template, or the name of one of the settings'.
        add_generation_prompt: whether what begins an answer is written at the end.
        continue_final_message: whether the last message is left open, for the model to continue.
        specials: `"none"`, or `"all"`: special tokens that a message spells are tokens too.
        tokenize: whether ids are wanted.
        mask: `"assistant"` gives a `MaskedEncoding`: the ids, and which of them the assistant wrote.
        variables: further variables of the template.

    Raises:
        ValueError: for arguments that do not go together.
        TypeError: for messages, tools or documents of another kind.
        EncodeError: for a template that cannot be run, refuses the chat, or hides which text the assistant
            wrote.
        ImportError: without jinja2.
    """
    theirs = [name for name in variables or () if name in _OF_TRANSFORMERS]
    if theirs:
        raise TypeError(f"{theirs[0]}= is not of this call: {_OF_TRANSFORMERS[theirs[0]]}")
    if specials not in ("none", "all"):
        raise ValueError(f'specials is "none" or "all" for a chat, not {shown(specials)}')
    if continue_final_message and add_generation_prompt:
        raise ValueError(
            "continue_final_message=True continues the last message, and add_generation_prompt=True "
            "begins another; choose one"
        )
    if mask not in (None, "assistant"):
        raise ValueError(f'mask is "assistant", or left out, not {shown(mask)}')
    if mask is not None and not tokenize:
        raise ValueError("mask= marks ids, and tokenize=False gives the text; choose one")
    if mask is not None and continue_final_message:
        raise ValueError(
            "mask= marks finished messages, and continue_final_message=True leaves the last one open; choose "
            "one"
        )
    encoder = ChatEncoder(tokenizer, chat_template, specials=specials, masked=mask is not None)

    def rendered(chat: Iterable[Any]) -> RenderedChat:
        return encoder.render(
            chat, tools=tools, documents=documents, add_generation_prompt=add_generation_prompt,
            continue_final_message=continue_final_message, variables=variables, segmented=tokenize,
        )  # fmt: skip

    messages = messages if isinstance(messages, (str, bytes, Mapping)) else list(messages)
    if not (
        isinstance(messages, list) and messages and all(isinstance(one, (list, tuple)) for one in messages)
    ):
        one = rendered(messages)
        return _result(*encoder.encode(one)) if tokenize else one.text
    chats = []
    for number, chat in enumerate(messages):
        try:
            chats.append(rendered(chat))
        except (EncodeError, TypeError, ValueError) as error:
            raise type(error)(f"chat {number}, counted from 0: {error}") from error
    if not tokenize:
        return [chat.text for chat in chats]
    return [_result(*found) for found in encoder.encode_many(chats)]


def _result(encoding: Encoding, mask: NDArray[np.bool_] | None) -> Encoding | MaskedEncoding:
    return encoding if mask is None else MaskedEncoding(encoding, mask)
