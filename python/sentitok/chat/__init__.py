"""Chats to ids: `Tokenizer.apply_chat_template`.

A template writes the messages as one text, special tokens included; jinja2 runs it, in its sandbox. What a
message holds stays text: a special token that it spells, or begins, is none.

Source of what templates may use: transformers 5, `utils/chat_template_utils.py`.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from .._sentitok import EncodeError, Encoding, Tokenizer
from ..messages import shown
from .encoder import ChatEncoder
from .masks import MaskedEncoding, mask_of

__all__ = ["MaskedEncoding", "apply"]


# What transformers' call takes in addition to the template's variables, and what to do here.
_OF_TRANSFORMERS = {
    "padding": "pad what encode_batch gives: pad(), to_torch()",
    "truncation": "cut the ids: .ids[:n]",
    "max_length": "cut the ids: .ids[:n]",
    "return_tensors": "take the array: .ids, torch.from_numpy(.ids)",
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
        variables: what else the template may use.

    Raises:
        ValueError: for arguments that do not go together.
        TypeError: for messages, tools or documents of another kind.
        EncodeError: for a template that cannot be run, refuses the chat, or cannot tell what the assistant
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

    def applied(chat: Iterable[Any]) -> Encoding | MaskedEncoding | str:
        rendered = encoder.render(
            chat, tools=tools, documents=documents, add_generation_prompt=add_generation_prompt,
            continue_final_message=continue_final_message, variables=variables, segmented=tokenize,
        )  # fmt: skip
        if not tokenize:
            return rendered.text
        encoding = encoder.encode(rendered)
        return (
            encoding
            if rendered.spans is None
            else MaskedEncoding(encoding, mask_of(encoding, rendered.spans))
        )

    if isinstance(messages, (str, bytes, Mapping)):
        return applied(messages)
    messages = list(messages)
    if not messages or not all(isinstance(chat, (list, tuple)) for chat in messages):
        return applied(messages)
    found = []
    for number, chat in enumerate(messages):
        try:
            found.append(applied(chat))
        except (EncodeError, TypeError, ValueError) as error:
            raise type(error)(f"chat {number}, counted from 0: {error}") from error
    return found
