"""Chats to ids: `Tokenizer.apply_chat_template`.

A template writes the messages as one text, special tokens included; jinja2 runs it, in its sandbox. What a
message holds stays text: a special token that it spells, or begins, is none.

Source of what templates may use: transformers 5, `utils/chat_template_utils.py`.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from .._sentitok import EncodeError, Encoding, Tokenizer
from ..messages import shown
from .conversation import END, conversation, open_text
from .guarding import Guard
from .templates import render

__all__ = ["apply"]


# What transformers' call takes in addition to the template's variables, and what to do here.
_OF_TRANSFORMERS = {
    "padding": "pad what encode_batch gives: pad(), to_torch()",
    "truncation": "cut the ids: .ids[:n]",
    "max_length": "cut the ids: .ids[:n]",
    "return_tensors": "take the array: .ids, torch.from_numpy(.ids)",
    "return_dict": "take .ids; nothing is padded, so the mask is all ones",
    "return_assistant_tokens_mask": "transformers gives that",
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
    variables: Mapping[str, Any] | None = None,
) -> Encoding | str:
    """Returns the ids of a chat, or with `tokenize=False` its text.

    Args:
        tokenizer: its settings hold the template and the texts of special tokens.
        messages: one conversation: objects with `role` and `content`.
        tools: JSON schemas of functions.
        documents: objects with `title` and `text`.
        chat_template: a template, or the name of one of the settings'.
        add_generation_prompt: whether what begins an answer is written at the end.
        continue_final_message: whether the last message is left open, for the model to go on.
        specials: `"none"`, or `"all"`: special tokens that a message spells are tokens too.
        tokenize: whether ids are wanted.
        variables: what else the template may use.

    Raises:
        ValueError: for arguments that do not go together.
        TypeError: for messages, tools or documents of another kind.
        EncodeError: for a template that cannot be run, or refuses the chat.
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
    settings = tokenizer.settings
    template = _template(settings.chat_templates, chat_template, tools is not None)
    given = conversation(messages, tools, documents, variables, continues=continue_final_message)
    values = {**settings.special_tokens, **given, "add_generation_prompt": add_generation_prompt}
    text = _written(template, values, continue_final_message)
    if not tokenize:
        return text
    guard = Guard([token.content for token in tokenizer.added_tokens if token.special])
    if specials == "all" or not guard.finds(given):
        return tokenizer.encode(text, add_special_tokens=False, specials="all")
    mark = guard.mark(template, given)
    guarded = {**settings.special_tokens, **guard.marked(given, mark)}
    guarded["add_generation_prompt"] = add_generation_prompt
    written = _written(template, guarded, continue_final_message)
    if written.replace(mark, "") != text:
        raise EncodeError(
            "the chat template reads special tokens out of the messages, so that their text cannot be kept "
            'as text; leave such tokens out of messages, or pass specials="all" where you trust them'
        )
    return tokenizer.encode_segments(guard.segments(written, mark))


def _template(templates: Mapping[str, str], given: str | None, with_tools: bool) -> str:
    """The template that a call means."""
    if given is not None:
        return templates.get(given, given)
    if with_tools and "tool_use" in templates:
        return templates["tool_use"]
    if "default" in templates:
        return templates["default"]
    if templates:
        raise ValueError(
            f"none of the chat templates is the default one; name one of {', '.join(sorted(templates))} "
            "as chat_template="
        )
    raise ValueError(
        "this tokenizer has no chat template; pass chat_template=, or give it one by "
        "tokenizer.with_settings(tokenizer.settings.replace(chat_template=...))"
    )


def _written(template: str, values: dict[str, Any], continues: bool) -> str:
    text = render(template, values)
    if not continues:
        return text
    place = text.rfind(END)
    if place < 0 or open_text(values["messages"][-1]).strip() not in text[:place]:
        raise ValueError(
            "the chat template does not write the last message as it is, so it cannot be continued; leave "
            "continue_final_message out"
        )
    # A template that trims messages takes the space behind the mark along: so it would that before it.
    keeps_space = text.startswith(f"{END} ", place)
    return text[:place] if keeps_space else text[:place].rstrip()
