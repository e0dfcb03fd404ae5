"""`Backbone`: from ids to a state for each token, the same call for every architecture.

A head (the other files of `nn/`) turns states into what a task needs. Attributes say what a backbone can do,
so that a head or a task asks no type.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from ..errors import ConfigError
from .embedding import NgramEmbedding, TokenEmbedding

__all__ = ["Backbone", "Cache", "Entry", "extend", "set_recompute", "through"]

# The cache of a layer: tensors by name, (B, ...) each.
Entry = dict[str, Tensor]
# Tokens that buffers of keys and values have room for at first; they double when they are full.
_ROOM = 64


@dataclass
class Cache:
    """The cached states of a causal backbone, so that the next call reads only new tokens.

    One entry a layer: keys and values of softmax attention, the sums of linear attention, the states of a
    scan or of a recurrent cell. A call changes the cache that it is given, never the module, so each text
    that is generated has its own cache. Texts of unequal length are padded on the left, with `positions`
    that begin at their first token. For inference: no gradient flows through the cache.

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


# Tensors with room for tokens to come.
_GROWING = frozenset({"keys", "values"})


def _taken(value: Tensor, rows: Tensor, length: int | None) -> Tensor:
    """Returns the rows of a tensor; of one with room for more, only the filled part is copied."""
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


def set_recompute(module: nn.Module, on: bool) -> int:
    """Sets whether the stacks of blocks in a module use activation checkpointing; returns how many there are.

    With it, a block keeps its input alone and computes the rest again in the backward pass (`through`). The
    gradients are the same to the bit, dropout included. A stack that can has an attribute `recompute`.
    """
    stacks = [part for part in module.modules() if isinstance(getattr(part, "recompute", None), bool)]
    for part in stacks:
        setattr(part, "recompute", on)  # noqa: B010  # 2026-11-23: torch types attributes as parameters
    return len(stacks)


def through(block: nn.Module, x: Tensor, *given: Any, recompute: bool) -> Tensor:
    """Returns the output of a block for `x` and the rest."""
    if recompute and torch.is_grad_enabled():
        kept: Tensor = checkpoint(block, x, *given, use_reentrant=False)
        return kept
    out: Tensor = block(x, *given)
    return out


class Backbone(nn.Module):
    """The interface of every backbone.

    Attributes:
        embedding: from ids to vectors; a tied head reads its `weight`. `None` where nothing is learned.
        d_out: D, width of a state.
        backward_width: how many of the D features, the last ones, read from right to left.
        n_prefix: places that are put before each text; states are that much longer than ids.
        causal: whether a state depends on its token and those before it alone.
        n_cached: entries that a cache needs.
        has_positions: whether it takes positions; one without knows the order of tokens alone, and
            keeps a state of one size however long the text is.
        pads_left: whether cached texts may be padded on the left.
    """

    embedding: TokenEmbedding | None
    d_out: int
    backward_width: int = 0
    n_prefix: int = 0
    causal: bool = False
    n_cached: int = 0
    has_positions: bool = True
    pads_left: bool = True

    def forward(
        self,
        input_ids: Tensor,
        mask: Tensor | None = None,
        segments: Tensor | None = None,
        positions: Tensor | None = None,
        cache: Cache | None = None,
        **ngrams: Tensor,
    ) -> Tensor:
        """Returns states (B, T, D).

        Args:
            input_ids: (B, T).
            mask: (B, T), True at real tokens; `None`: all are, and the fastest kernels run.
            segments: (B, T), which segment a token is of, where a backbone has segments.
            positions: (T,) or (B, T), where positions are not simply 0, 1, 2, ...
            cache: from `new_cache`; ids are then the tokens that follow those read with it.
            ngrams: what `NgramEmbedding` reads, from a batch.
        """
        raise NotImplementedError

    def new_cache(self) -> Cache:
        """Returns an empty cache for one batch of texts.

        Raises:
            ConfigError: if a state depends on tokens to come, so that none can be kept.
        """
        if not self.causal:
            raise ConfigError(
                f"{type(self).__name__} reads tokens to come: nothing can be cached; "
                "gpt with model.causal = true, mamba and lstm with model.bidirectional = false have a cache"
            )
        return Cache.of(self.n_cached)

    def token_table(self) -> Tensor:
        """Returns the learned vectors (V, D) of the tokens, which a tied head reads.

        Raises:
            ConfigError: if this backbone learns none, or composes them of n-grams.
        """
        embedding = self.embedding
        if embedding is None or isinstance(embedding, NgramEmbedding):
            raise ConfigError(
                f"{type(self).__name__} has no vector for each token alone, which a tied head would read: "
                "set model.char_ngrams = [0, 0]"
            )
        return embedding.weight

    def tie(self) -> None:
        """Tells the embedding that a head reads its table whole."""
        self.token_table()
        assert self.embedding is not None
        self.embedding.tied = True

    def _no(self, **given: object) -> None:
        """Refuses inputs that this backbone does not read.

        Raises:
            ValueError: naming it.
        """
        for name, value in given.items():
            if value is not None:
                raise ValueError(f"{type(self).__name__} takes no {name}")
