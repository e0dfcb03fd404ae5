"""`ChatEncoder`: chats to ids by one template, one at a time or many.

What a message holds stays text: a special token that it spells, or begins, is none.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._sentitok import EncodeError, Encoding, EncodingBatch, Special, Tokenizer
from .conversation import END, conversation, open_text
from .guarding import Guard, free_marks
from .masks import Spans, assistant_spans, ids_in_spans
from .templates import render

__all__ = ["ChatEncoder", "RenderedChat"]


class RenderedChat(NamedTuple):
    """A template's output for a chat.

    Attributes:
        text: the chat.
        segments: the same in parts, where a message spells a special token or may be taken for a part of one.
        spans: the texts of the assistant, if asked for.
    """

    text: str
    segments: list[str | Special] | None
    spans: Spans | None


class ChatEncoder:
    """Encodes chats by a template.

    Args:
        tokenizer: its settings hold the template and the texts of special tokens.
        chat_template: a template, or the name of one of the settings'.
        specials: `"none"`, or `"all"`: special tokens that a message spells are tokens too.
        masked: whether it is wanted what the assistant wrote.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        chat_template: str | None = None,
        *,
        specials: str = "none",
        masked: bool = False,
    ) -> None:
        self.tokenizer, self.chat_template = tokenizer, chat_template
        self.specials, self.masked = specials, masked
        settings = tokenizer.settings
        self._templates, self._special_tokens = settings.chat_templates, settings.special_tokens
        self._guard = _guard(tuple(token.content for token in tokenizer.added_tokens if token.special))

    def render(
        self,
        messages: Iterable[Any],
        *,
        tools: Iterable[Any] | None = None,
        documents: Iterable[Any] | None = None,
        add_generation_prompt: bool = False,
        continue_final_message: bool = False,
        variables: Mapping[str, Any] | None = None,
        segmented: bool = True,
    ) -> RenderedChat:
        """Runs the template on a chat.

        Args:
            messages: one conversation: objects with `role` and `content`.
            tools: JSON schemas of functions.
            documents: objects with `title` and `text`.
            add_generation_prompt: whether what begins an answer is written at the end.
            continue_final_message: whether the last message is left open, for the model to continue.
            variables: further variables of the template.
            segmented: whether the chat is to be encoded.

        Raises:
            ValueError: for a chat that is empty, or whose last message cannot be continued.
            TypeError: for messages, tools or documents of another kind.
            EncodeError: for a template that cannot be run, refuses the chat, or hides which text the
                assistant wrote.
            ImportError: without jinja2.
        """
        template = template_of(self._templates, self.chat_template, tools is not None)
        given = conversation(messages, tools, documents, variables, continues=continue_final_message)
        # All renderings of a chat have one time, so that they can be compared.
        now = datetime.now()

        def written(values: dict[str, Any], prompts: bool) -> str:
            fixed = {"strftime_now": lambda form: now.strftime(form), "add_generation_prompt": prompts}
            return _written(template, {**self._special_tokens, **values, **fixed}, continue_final_message)

        text = written(given, add_generation_prompt)
        if not segmented:
            return RenderedChat(text, None, None)
        spans = None
        if self.masked:

            def again(messages: list[dict[str, Any]], prompts: bool | None, more: dict[str, str]) -> str:
                prompts = add_generation_prompt if prompts is None else prompts
                return written({**given, **more, "messages": messages}, prompts)

            spans = assistant_spans(template, given, text, again, self._guard, prompts=add_generation_prompt)
        if self.specials == "all" or not self._guard.finds(given):
            return RenderedChat(text, None, spans)
        (mark,) = free_marks(1, template, given)
        guarded = written(self._guard.marked(given, mark), add_generation_prompt)
        if guarded.replace(mark, "") != text:
            raise EncodeError(
                "the chat template reads special tokens out of the messages, so that their text cannot be "
                'kept as text; leave such tokens out of messages, or pass specials="all" where you trust them'
            )
        return RenderedChat(text, self._guard.segments(guarded, mark), spans)

    def encode(self, chat: RenderedChat) -> tuple[Encoding, NDArray[np.bool_] | None]:
        """Returns the ids of a chat, and which of them the assistant wrote, if that was asked for.

        Raises:
            EncodeError: for a text that the tokenizer cannot encode.
        """
        if chat.segments is None:
            encoding = self.tokenizer.encode(chat.text, add_special_tokens=False, specials="all")
        else:
            encoding = self.tokenizer.encode_segments(chat.segments)
        spans = chat.spans
        mask = None if spans is None else ids_in_spans(_offsets(encoding, spans), spans.places)
        return encoding, mask

    def encode_many(
        self, chats: Sequence[RenderedChat], threads: int | None = None
    ) -> Iterator[tuple[Encoding, NDArray[np.bool_] | None]]:
        """Yields the same of several chats, encoded together.

        Args:
            chats: in order.
            threads: how many encode; as many as there are cores if not given.

        Raises:
            EncodeError: as `encode`.
        """
        plain = [chat for chat in chats if chat.segments is None]
        batch = self.tokenizer.encode_batch(
            [chat.text for chat in plain],
            add_special_tokens=False,
            specials="all",
            threads=threads,
            offsets=self.masked,
        )
        # The template for tools may have blocks where the plain template has none.
        kinds = {chat.spans.trims: chat.spans for chat in plain if chat.spans is not None}
        offsets = {trims: _offsets(batch, spans) for trims, spans in kinds.items()}
        bounds, row = batch.row_offsets.tolist(), 0
        for chat in chats:
            if chat.segments is not None:
                yield self.encode(chat)
                continue
            mask = None
            if chat.spans is not None:
                places = offsets[chat.spans.trims][bounds[row] : bounds[row + 1]]
                mask = ids_in_spans(places, chat.spans.places)
            yield batch[row], mask
            row += 1


def _offsets(encoded: Encoding | EncodingBatch, spans: Spans) -> NDArray[np.int64]:
    """The place of each token in the text of its chat, as spans are compared with it."""
    return encoded.offsets(trim=None if spans.trims else False)


@lru_cache(maxsize=8)
def _guard(specials: tuple[str, ...]) -> Guard:
    return Guard(list(specials))


def template_of(templates: Mapping[str, str], given: str | None, with_tools: bool) -> str:
    """Returns the template that a call means.

    Args:
        templates: those of the settings, by name.
        given: a template, or a name.
        with_tools: whether there are tools.

    Raises:
        ValueError: if there is none, or none is the default one.
    """
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
