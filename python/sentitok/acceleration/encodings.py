"""`EncodingsOnDemand`: the encodings of tokenizers beside a batch, made when one is asked for.

Few callers ask (`word_ids`, `char_to_token`, `batch.encodings`, `batch[0]`); who does gets the
objects of the original path, for the same texts and options. Not for ids, which are there.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

__all__ = ["EncodingsOnDemand"]


class EncodingsOnDemand(Sequence[Any]):
    """A list of `tokenizers.Encoding` that is made when it is first read.

    Args:
        original: gives the batch of transformers that holds them.
        n_rows: how many there are.
        quiet: within it the backend is read, not changed.
    """

    def __init__(
        self, original: Callable[[], Any], n_rows: int, quiet: Callable[[], AbstractContextManager[None]]
    ) -> None:
        self._original: Callable[[], Any] | None = original
        self._n_rows = n_rows
        self._quiet = quiet
        self._made: list[Any] = []

    def _all(self) -> list[Any]:
        if (original := self._original) is not None:
            with self._quiet():
                self._made = original().encodings
            self._original = None
        return self._made

    def __getitem__(self, place: Any) -> Any:
        return self._all()[place]

    def __len__(self) -> int:
        return self._n_rows

    def __repr__(self) -> str:
        return repr(self._all())

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (self._all(),)

    def __deepcopy__(self, memo: dict[int, Any]) -> list[Any]:
        return list(self._all())
