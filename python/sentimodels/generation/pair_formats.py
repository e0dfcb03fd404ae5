"""How a model reads pairs, `EncoderDecoder` on two sides, `Prompted` in one row; and the `Writer` of each.

A prompted row is the prompt (the source, then an answer marker, as a template says), the target and the end
marker; the loss is of the target and its end alone. A causal model looks at nothing to come, so padding on
the right needs no mask. Writers write many texts at once, a token of each at a time, as a search asks for it;
they keep what they have read in a cache, so that a step costs one token.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sentitok import Tokenizer

from ..models.language import CausalModel
from ..models.seq2seq import Seq2SeqModel
from ..nn.cross_entropy import IGNORED
from ..nn.embedding import Learned
from ..text.pairs import Pairs, Rows, encode_rows

__all__ = [
    "CausalWriter",
    "EncoderDecoder",
    "PairBatch",
    "PromptBatch",
    "Prompted",
    "Seq2SeqWriter",
    "Writer",
]


class Writer(Protocol):
    """Texts that are being written, one in each row."""

    def begin(self) -> Tensor:
        """Returns the log-probabilities (N, V) of the first token of each text."""

    def step(self, tokens: Tensor) -> Tensor:
        """Returns the log-probabilities (R, V) of the token that follows `tokens` (R,)."""

    def take(self, rows: Tensor) -> None:
        """Keeps only some rows (R,), in the order given; a row may be named more than once."""


class Seq2SeqWriter:
    """The targets of some sources.

    Args:
        model: encoder and decoder.
        input_ids: (N, S), the sources, padded on the right.
        mask: (N, S), True at real tokens; `None`: all are.
        start_id: the first id of a target.
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
    """The continuations of some prompts.

    Where an architecture cannot be padded on the left (`Backbone.pads_left`), they are of one length.

    Args:
        model: a causal model.
        prompts: ids of each, one or more.
        pad_id: any id; it fills shorter prompts on the left and is never read.

    Raises:
        ValueError: if a prompt has no token, or they cannot be read together.
    """

    def __init__(self, model: CausalModel, prompts: Sequence[Tensor], *, pad_id: int = 0) -> None:
        if not all(len(prompt) for prompt in prompts):
            raise ValueError("a prompt without tokens: there is nothing to continue")
        self.model, self.cache = model, model.new_cache()
        lengths = torch.tensor([len(prompt) for prompt in prompts], device=prompts[0].device)
        width = int(lengths.max())
        # Real tokens are at the right, where the next one follows.
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


@dataclass(frozen=True)
class PromptBatch:
    """Some pairs as rows of one text, padded.

    Attributes:
        input_ids: (B, T), prompt and target.
        labels: (B, T), the token that follows each, or `IGNORED` in prompts and padding.
        real: tokens that are read.
    """

    input_ids: Tensor
    labels: Tensor
    real: int

    def inputs(self, device: torch.device | str | None = None) -> dict[str, Tensor]:
        """Returns the arguments of the model."""
        return {"input_ids": self.input_ids if device is None else self.input_ids.to(device)}

    def counted(self) -> tuple[int, int]:
        """Returns how many places hold a token, and how many there are."""
        return self.real, self.input_ids.numel()


@dataclass(frozen=True)
class Prompted:
    """See the module.

    Attributes:
        end_id: the last id of a target.
        before: ids of the template before the source.
        after: those after it.
    """

    end_id: int
    before: tuple[int, ...]
    after: tuple[int, ...]

    @classmethod
    def of(cls, template: str, tokenizer: Tokenizer, end_id: int) -> "Prompted":
        """Returns the format of a template, with `{source}` where the source goes."""
        parts = encode_rows(tokenizer, template.split("{source}"))
        return cls(end_id, tuple(parts[0].tolist()), tuple(parts[1].tolist()))

    def sources(self, rows: Rows) -> Rows:
        """Returns sources as prompts."""
        parts = [
            np.array([*self.before, *rows[at].tolist(), *self.after], np.int64) for at in range(len(rows))
        ]
        lengths = np.array([len(part) for part in parts], np.int64)
        ids = np.concatenate(parts) if parts else np.zeros(0, np.int64)
        return Rows(ids, np.cumsum(lengths) - lengths, lengths)

    def widths(self, pairs: Pairs) -> NDArray[np.int64]:
        """Returns the places (n, 1) of each row: the end is learned, not read."""
        return (pairs.sources.lengths + pairs.targets.lengths)[:, None]

    def batch(self, pairs: Pairs, rows: NDArray[np.int64]) -> PromptBatch:
        """Returns some pairs, whose sources are prompts, as a batch."""
        prompt, target = pairs.sources.lengths[rows][:, None], pairs.targets.lengths[rows][:, None]
        width = int((prompt + target).max())
        column = np.arange(width + 1)
        left = pairs.sources.padded(rows, width + 1, self.end_id)
        right = pairs.targets.padded(rows, width + 1, self.end_id)
        # Past its end a target is filled with the end marker, which ends it.
        shifted = np.take_along_axis(right, np.maximum(column - prompt, 0), 1)
        whole = np.where(column < prompt, left, shifted)
        answered = (column >= prompt) & (column <= prompt + target)
        return PromptBatch(
            input_ids=torch.from_numpy(np.ascontiguousarray(whole[:, :-1])),
            labels=torch.from_numpy(np.where(answered, whole, IGNORED)[:, 1:].copy()),
            real=int((prompt + target).sum()),
        )

    def table(self, model: CausalModel) -> Tensor:
        """Returns the table (V, D) that states are compared with."""
        return model.head.table(model.backbone)

    def room(self, model: CausalModel, sources: Rows) -> NDArray[np.int64] | None:
        """Returns the places that a prompt leaves."""
        for part in model.modules():
            if isinstance(part, Learned):
                return len(part.weight) - sources.lengths + 1  # the end is not read
        return None

    def alike(self, model: CausalModel) -> bool:
        """Returns whether prompts cannot be padded on the left."""
        return not model.backbone.pads_left

    def writer(self, model: CausalModel, sources: Rows, rows: NDArray[np.int64]) -> CausalWriter:
        """Returns an object that writes the targets of some prompts."""
        device = next(model.parameters()).device
        prompts = [torch.from_numpy(sources[row].copy()).to(device) for row in rows.tolist()]
        return CausalWriter(model, prompts, pad_id=self.end_id)


@dataclass(frozen=True)
class PairBatch:
    """Some pairs, padded.

    Attributes:
        input_ids: (B, S), sources with their end.
        target_ids: (B, T), targets from the start marker on.
        mask: (B, S), True at tokens of the source; `None`: everywhere.
        labels: (B, T), the token that follows each of `target_ids`, or `IGNORED`.
        real: tokens in both.
    """

    input_ids: Tensor
    target_ids: Tensor
    mask: Tensor | None
    labels: Tensor
    real: int

    def inputs(self, device: torch.device | str | None = None) -> dict[str, Tensor]:
        """Returns the arguments of the model."""
        given = {"input_ids": self.input_ids, "target_ids": self.target_ids}
        if self.mask is not None:
            given["mask"] = self.mask
        return given if device is None else {name: value.to(device) for name, value in given.items()}

    def counted(self) -> tuple[int, int]:
        """Returns how many places hold a token, and how many there are."""
        return self.real, self.input_ids.numel() + self.target_ids.numel()


@dataclass(frozen=True)
class EncoderDecoder:
    """See the module.

    The encoder reads a source and the end marker; the decoder reads the marker and the target, and learns
    each next token and the marker at the end. A causal model reads
    pairs as `Prompted` says.

    Attributes:
        end_id: the id that begins a target and ends a source and a target.
    """

    end_id: int

    def sources(self, rows: Rows) -> Rows:
        """Returns sources as they are."""
        return rows

    def widths(self, pairs: Pairs) -> NDArray[np.int64]:
        """Returns the places (n, 2) that each side takes."""
        return np.stack((pairs.sources.lengths + 1, pairs.targets.lengths + 1), 1)

    def batch(self, pairs: Pairs, rows: NDArray[np.int64]) -> PairBatch:
        """Returns some pairs as a batch."""
        source, mask = self._padded(pairs.sources, rows)
        target, there = self._padded(pairs.targets, rows)
        starts = np.full((len(rows), 1), self.end_id)
        return PairBatch(
            input_ids=torch.from_numpy(source),
            target_ids=torch.from_numpy(np.concatenate((starts, target[:, :-1]), 1)),
            mask=None if mask.all() else torch.from_numpy(mask),
            labels=torch.from_numpy(np.where(there, target, IGNORED)),
            real=int(mask.sum() + there.sum()),
        )

    def _padded(self, rows: Rows, chosen: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Returns texts with their end, padded with more of it, and where they are."""
        width = int(rows.lengths[chosen].max()) + 1
        there = np.arange(width) <= rows.lengths[chosen][:, None]
        return rows.padded(chosen, width, self.end_id), there

    def table(self, model: Seq2SeqModel) -> Tensor:
        """Returns the table (V, D) that states are compared with."""
        return model.table()

    def room(self, model: Seq2SeqModel, sources: Rows) -> NDArray[np.int64] | None:
        """Returns the places of targets, minus the places by which a source is too long."""
        if model.n_places is None:
            return None
        # A source and its end are read; of a target all but the end.
        beyond = sources.lengths + 1 - model.n_places
        return np.where(beyond > 0, 1 - beyond, model.n_places)

    def alike(self, model: Seq2SeqModel) -> bool:  # noqa: ARG002  # 2026-11-23: sources are masked
        """Returns False: padding is masked."""
        return False

    def writer(self, model: Seq2SeqModel, sources: Rows, rows: NDArray[np.int64]) -> Seq2SeqWriter:
        """Returns an object that writes the targets of some sources."""
        device = next(model.parameters()).device
        ids, mask = self._padded(sources, rows)
        given = None if mask.all() else torch.from_numpy(mask).to(device)
        return Seq2SeqWriter(model, torch.from_numpy(ids).to(device), given, start_id=self.end_id)
