"""`EncodingsOnDemand`: the encodings of tokenizers that belong to a batch, made when one is asked for.

Few callers ask (`word_ids`, `char_to_token`, `batch.encodings`, `batch[0]`). Those who do get what the
untouched tokenizer gave at the time of the call: `Call` keeps the texts and all settings.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .backend import Known

__all__ = ["Call", "EncodingsOnDemand"]


@dataclass(frozen=True, slots=True)
class Call:
    """What a call was given, and how the tokenizer was set at that time.

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

    def encodings(self, known: Known) -> list[Any]:
        """Returns the encodings of tokenizers, one for each row of the batch."""
        rows = self.texts if self.pairs is None else [*zip(self.texts, self.pairs, strict=True)]
        with known.copy_of_backend() as backend:
            backend.no_truncation() if self.truncation is None else backend.enable_truncation(
                **self.truncation
            )
            backend.no_padding() if self.padding is None else backend.enable_padding(**self.padding)
            made = backend.encode_batch(
                rows, add_special_tokens=self.adds_special_tokens, is_pretokenized=self.are_words
            )
        if not self.has_windows:
            return list(made)
        return [row for first in made for row in (first, *first.overflowing)]


class EncodingsOnDemand(Sequence[Any]):
    """A list of `tokenizers.Encoding` that is made when it is first read.

    Args:
        call: what they are the encodings of.
        known: the backend as it was at the call.
        n_rows: how many there are.
    """

    def __init__(self, call: Call, known: Known, n_rows: int) -> None:
        self._call = call
        self._known = known
        self._n_rows = n_rows
        self._made: list[Any] | None = None

    def _all(self) -> list[Any]:
        if self._made is None:
            self._made = self._call.encodings(self._known)
        return self._made

    def __getitem__(self, place: Any) -> Any:
        return self._all()[place]

    def __len__(self) -> int:
        return self._n_rows

    def __repr__(self) -> str:
        return repr(self._all())

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (self._all(),)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if self._made is None:
            return EncodingsOnDemand(self._call, self._known, self._n_rows)
        return copy.deepcopy(self._made, memo)
