"""`Cache`: what a causal backbone keeps of the tokens it has read, so that the next call reads only new ones.

One entry a layer: keys and values of softmax attention, the sums of linear attention, the
states of a scan or of a recurrent cell. A call changes the cache that it is given, never the
module, so each text that is generated has a cache of its own. Texts of unequal length are
padded on the left, with `positions` that begin at their first token. For inference: no
gradient flows through what is cached. Not for what a backbone reads (`backbone.py`).
"""

from collections.abc import Collection
from dataclasses import dataclass

import torch
from torch import Tensor

__all__ = ["Cache", "Entry", "extend"]

Entry = dict[str, Tensor]
# Tokens that buffers of keys and values have room for at first; they double when they are full.
_ROOM = 64


@dataclass
class Cache:
    """What the layers keep.

    Attributes:
        entries: of each layer, tensors by name, (B, ...) each.
        length: tokens read so far, padding included.
        mask: (B, S), which of them are real; `None`: all.
        positions: (B or 1, S) of each of them.
    """

    entries: list[Entry]
    length: int = 0
    mask: Tensor | None = None
    positions: Tensor | None = None

    @classmethod
    def of(cls, n_layers: int) -> "Cache":
        """Returns an empty cache."""
        return cls([{} for _ in range(n_layers)])

    def advance(self, n_tokens: int) -> None:
        """Counts the next tokens.

        Raises:
            ValueError: if gradients are recorded.
        """
        if torch.is_grad_enabled():
            raise ValueError("a cache is for inference: call the model under torch.inference_mode()")
        self.length += n_tokens

    def admit(self, n_rows: int, mask: Tensor | None, positions: Tensor) -> tuple[Tensor | None, Tensor]:
        """Takes in the next tokens.

        Args:
            n_rows: B.
            mask: (B, T), which of the new tokens are real; `None`: all.
            positions: (T,) or (B, T) of the new tokens.

        Returns:
            Mask (B, S) and positions (B or 1, S) of all tokens so far, the new ones last.

        Raises:
            ValueError: as `advance`, or if the rows are not those of the calls before.
        """
        new, length = positions.shape[-1], self.length
        self.advance(new)
        positions = positions.expand(n_rows, -1)
        if self.positions is not None:
            if len(self.positions) != n_rows:
                raise ValueError(f"{n_rows} rows, but the cache holds {len(self.positions)}: use a new cache")
            positions = torch.cat((self.positions, positions), 1)
        if mask is not None or self.mask is not None:
            before = self.mask
            if before is None:
                before = torch.ones(n_rows, length, dtype=torch.bool, device=positions.device)
            mask = before.new_ones(n_rows, new) if mask is None else mask
            self.mask = torch.cat((before, mask), 1)
        self.positions = positions
        return self.mask, positions

    def take(self, rows: Tensor, *, but: Collection[str] = ()) -> None:
        """Keeps some rows, in the order given; a row may be named more than once, as beams are.

        For caches whose tensors have the texts first: those of attention and of scans.

        Args:
            rows: (R,), rows of this cache.
            but: names of tensors that stay as they are, since their rows stay the same.
        """
        for entry in self.entries:
            for name, value in entry.items():
                if name not in but:
                    entry[name] = _taken(value, rows, self.length if name in _GROWING else None)
        if self.mask is not None:
            self.mask = self.mask[rows]
        if self.positions is not None:
            self.positions = self.positions[rows]


# What has room for tokens to come.
_GROWING = frozenset({"keys", "values"})


def _taken(value: Tensor, rows: Tensor, length: int | None) -> Tensor:
    """Returns the rows of a tensor; of one with room for more, only what is filled is copied."""
    if length is None:
        return value[rows]
    out = value.new_empty(len(rows), *value.shape[1:])
    out[:, :, :length] = value[rows, :, :length]
    return out


def extend(entry: Entry, start: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """Adds keys and values (B, G, T, K) to the `start` ones of an entry; returns all, the new ones last."""
    end = start + k.shape[2]
    for name, new in (("keys", k), ("values", v)):
        room = entry.get(name)
        if room is None or end > room.shape[2]:
            wider = new.new_empty(*new.shape[:2], max(_ROOM, 2 * end), new.shape[3])
            if room is not None:
                wider[:, :, :start] = room[:, :, :start]
            entry[name] = room = wider
        room[:, :, start:end] = new
    return entry["keys"][:, :, :end], entry["values"][:, :, :end]
