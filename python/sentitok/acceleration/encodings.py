"""`EncodingsOnDemand`: the encodings of tokenizers that belong to a batch, made when one is asked for.

Few callers ask (`word_ids`, `char_to_token`, `batch.encodings`, `batch[0]`). They get what the
untouched tokenizer gave at the time of the call.
"""

import copy
from collections.abc import Sequence
from typing import Any

from .call import Call
from .known import Known
from .states import Pickled, states

__all__ = ["EncodingsOnDemand"]


class EncodingsOnDemand(Sequence[Any]):
    """A list of `tokenizers.Encoding` that is made when it is first read.

    Args:
        call: the call that made them.
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
            with self._known.copy_of_backend() as backend:
                self._made = self._call.encodings(backend)
        return self._made

    def __getitem__(self, place: Any) -> Any:
        return self._all()[place]

    def __len__(self) -> int:
        return self._n_rows

    def __repr__(self) -> str:
        return repr(self._all())

    def __reduce__(self) -> tuple[Any, ...]:
        if self._made is None and (made := states(self._call, self._known)) is not None:
            return list, ([Pickled(state) for state in made],)
        return list, (self._all(),)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if self._made is None:
            return EncodingsOnDemand(self._call, self._known, self._n_rows)
        return copy.deepcopy(self._made, memo)
