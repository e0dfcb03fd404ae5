"""`Writer`: what writes many texts at once, a token of each at a time, as a search asks for it.

`Seq2SeqWriter` writes targets of sources, `CausalWriter` what follows prompts of unequal length.
Both keep what they have read in a cache, so that a step costs one token. Not for choosing tokens
(`beam.py`).
"""

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from ..models.language import CausalModel
from ..models.seq2seq import Seq2SeqModel

__all__ = ["CausalWriter", "Seq2SeqWriter", "Writer"]


class Writer(Protocol):
    """Texts that are being written, one in each row."""

    def begin(self) -> Tensor:
        """Returns the log-probabilities (N, V) of the first token of each text."""

    def step(self, tokens: Tensor) -> Tensor:
        """Returns the log-probabilities (R, V) of the token that follows `tokens` (R,)."""

    def take(self, rows: Tensor) -> None:
        """Goes on with some rows (R,), in the order given; a row may be named more than once."""


class Seq2SeqWriter:
    """The targets of some sources.

    Args:
        model: encoder and decoder.
        input_ids: (N, S), the sources, padded on the right.
        mask: (N, S), True at real tokens; `None`: all are.
        start_id: what a target begins with.
    """

    def __init__(
        self, model: Seq2SeqModel, input_ids: Tensor, mask: Tensor | None = None, *, start_id: int
    ) -> None:
        self.model, self.input_ids, self.mask, self.start_id = model, input_ids, mask, start_id
        self.cache = model.new_cache()
        self.sources = torch.arange(len(input_ids), device=input_ids.device)

    def begin(self) -> Tensor:
        """Reads the sources; see `Writer`."""
        memory = self.model.encode(self.input_ids, self.mask)
        starts = torch.full_like(self.sources, self.start_id)[:, None]
        return self._log_probs(self.model.decode(starts, memory, self.mask, self.cache))

    def step(self, tokens: Tensor) -> Tensor:
        """Writes a token in each row; see `Writer`."""
        return self._log_probs(self.model.decode(tokens[:, None], None, self.mask, self.cache))

    def _log_probs(self, states: Tensor) -> Tensor:
        return self.model.logits(states[:, -1]).float().log_softmax(-1)

    def take(self, rows: Tensor) -> None:
        """See `Writer`. Rows of one source look at the same states, which are copied only where they move."""
        sources = self.sources[rows]
        same = torch.equal(sources, self.sources)
        self.cache.take(rows, but=("memory_keys", "memory_values") if same else ())
        if self.mask is not None and not same:
            self.mask = self.mask[rows]
        self.sources = sources


class CausalWriter:
    """What follows some prompts.

    Where an architecture cannot be padded on the left (`Backbone.pads_left`), they are of one length.

    Args:
        model: a causal model.
        prompts: ids of each, one or more.
        pad_id: any id; it stands before shorter prompts and is never read.

    Raises:
        ValueError: if a prompt has no token, or they cannot be read together.
    """

    def __init__(self, model: CausalModel, prompts: Sequence[Tensor], *, pad_id: int = 0) -> None:
        if not all(len(prompt) for prompt in prompts):
            raise ValueError("a prompt without tokens: there is nothing to go on from")
        self.model, self.cache = model, model.new_cache()
        lengths = torch.tensor([len(prompt) for prompt in prompts], device=prompts[0].device)
        width = int(lengths.max())
        # Real tokens stand at the right, where the next one follows.
        places = torch.arange(width, device=lengths.device) - (width - lengths)[:, None]
        self.mask: Tensor | None = places >= 0
        self.input_ids = lengths.new_full((len(prompts), width), pad_id)
        self.input_ids[self.mask] = torch.cat(list(prompts)).to(lengths)
        if bool((lengths == width).all()):
            self.mask = None
        elif not model.backbone.pads_left:
            raise ValueError("prompts of unequal length, which this architecture cannot read together")
        self.positions = places.clamp(min=0) if model.backbone.has_positions else None

    def begin(self) -> Tensor:
        """Reads the prompts; see `Writer`."""
        states = self.model(self.input_ids, self.mask, self.positions, self.cache)
        if self.positions is not None:
            self.positions = self.positions[:, -1:]
        return self._log_probs(states)

    def step(self, tokens: Tensor) -> Tensor:
        """Writes a token in each row; see `Writer`."""
        if self.positions is not None:
            self.positions = self.positions + 1
        return self._log_probs(self.model(tokens[:, None], None, self.positions, self.cache))

    def _log_probs(self, states: Tensor) -> Tensor:
        return self.model.logits(states[:, -1]).float().log_softmax(-1)

    def take(self, rows: Tensor) -> None:
        """See `Writer`."""
        self.cache.take(rows)
        if self.positions is not None:
            self.positions = self.positions[rows]
