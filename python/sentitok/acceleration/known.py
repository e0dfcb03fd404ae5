"""`Known`: facts of a backend of tokenizers, from its last inspection.

`backend` finds it out, and `states` and `calls` read it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import tokenizers

from .._sentitok import Tokenizer

__all__ = ["Known", "MarkShift", "Seal"]

#: The parts of a backend that may change.
Seal: TypeAlias = tuple[object, ...]


class MarkShift(NamedTuple):
    """How tokenizers shifts the start and end of the empty place of a mark that was put in front.

    Attributes:
        first: for the first token of a text, and at the first character.
        later: for other tokens.
    """

    first: tuple[int, int]
    later: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Known:
    """Facts of a backend, from its last inspection; never changed, so that threads may share it.

    Attributes:
        seen: how often the backend was handed out then; -1 where somebody held it.
        backend_id: the `id` of the backend.
        seal: the parts it was made of; `None` where that is unknown.
        tokenizer: the tokenizer that runs; `None` where the original path is taken.
        decodes: whether ids become text here too.
        joins_bytes: whether bytes that are not a character become a different text than there.
        is_bpe: whether the backend's model is BPE.
        is_of_type_0: whether all ids of a text without a pair have type id 0.
        has_offsets: whether offsets are the same here.
        types_are_places: whether a text has type 0, and whether those of a pair have 0 and 1. Where not,
            tokenizers gives these to windows all the same, except for the first of a text.
        n_sequences: how many texts an encoding has as tokenizers counts them, by whether the template is
            applied and whether there is a pair. A template before another post-processor counts more.
        tokens: the tokens of the ids that were asked for, as the backend spells them.
        states_shift: where tokenizers places a mark that was put in front, so that `states` gives its
            encodings; `None` where `states` does not.
        replaces_graphemes: whether a normalizer replaces graphemes, by a table of SentencePiece.
        has_processor: whether the backend has a post-processor.
        gaps: how many tokens the template puts before the first text, and between both, by whether it is
            applied and whether there is a pair; without templates that put texts in another order.
        odd_ids: the ids of tokens that are spelled as they are in the text.
        spelled: the tokens that `states` wrote, as JSON.
        file: the backend as JSON.
        copies: copies of the backend that no thread uses at the moment.
    """

    seen: int
    backend_id: int
    seal: Seal | None
    tokenizer: Tokenizer | None = None
    decodes: bool = False
    joins_bytes: bool = False
    is_bpe: bool = False
    is_of_type_0: bool = False
    has_offsets: bool = False
    types_are_places: tuple[bool, bool] = (False, False)
    n_sequences: dict[tuple[bool, bool], int] = field(default_factory=dict)
    tokens: dict[int, str] = field(default_factory=dict)
    states_shift: MarkShift | None = None
    replaces_graphemes: bool = False
    has_processor: bool = False
    gaps: dict[tuple[bool, bool], tuple[int, int]] = field(default_factory=dict)
    odd_ids: frozenset[int] = frozenset()
    spelled: dict[int, str] = field(default_factory=dict)
    file: str = ""
    copies: list[Any] = field(default_factory=list)

    @contextmanager
    def copy_of_backend(self) -> Iterator[Any]:
        """Lends a copy of the backend as it was, which the caller may set as it likes.

        A list of free copies is enough, because taking from it and adding to it are atomic.
        """
        try:
            backend = self.copies.pop()
        except IndexError:
            backend = tokenizers.Tokenizer.from_str(self.file)
        try:
            yield backend
        finally:
            self.copies.append(backend)
