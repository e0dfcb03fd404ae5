"""`Call`: the texts and all settings of a call, as they were at that time."""

from dataclasses import dataclass
from typing import Any

__all__ = ["Call"]


@dataclass(frozen=True, slots=True)
class Call:
    """The arguments of a call, and the settings of the tokenizer at that time.

    Attributes:
        texts: each a `str`, or a list of words.
        pairs: the second texts, if there are any.
        are_words: whether texts are lists of words.
        adds_special_tokens: whether the template is applied.
        has_windows: whether what truncation cuts off makes rows too.
        truncation: the arguments of `enable_truncation`; `None` where nothing is cut.
        padding: the arguments of `enable_padding`; `None` where nothing is padded.
    """

    texts: list[Any]
    pairs: list[Any] | None
    are_words: bool
    adds_special_tokens: bool
    has_windows: bool
    truncation: dict[str, Any] | None
    padding: dict[str, Any] | None

    def encodings(self, backend: Any) -> list[Any]:
        """Returns the encodings of tokenizers, one for each row of the batch; sets the backend for that."""
        rows = self.texts if self.pairs is None else [*zip(self.texts, self.pairs, strict=True)]
        backend.no_truncation() if self.truncation is None else backend.enable_truncation(**self.truncation)
        backend.no_padding() if self.padding is None else backend.enable_padding(**self.padding)
        made = backend.encode_batch(
            rows, add_special_tokens=self.adds_special_tokens, is_pretokenized=self.are_words
        )
        if not self.has_windows:
            return list(made)
        return [row for first in made for row in (first, *first.overflowing)]
