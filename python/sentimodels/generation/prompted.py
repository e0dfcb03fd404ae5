"""`Prompted`: how a causal model reads pairs: the source in a prompt, then the target as what follows.

A row is the prompt (the source, then an answer marker, as a template says), the target and the end
marker; the loss is of the target and its end alone. A causal model looks at nothing to come, so padding
on the right needs no mask. Not for an encoder-decoder (`encoder_decoder.py`).
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sentitok import Tokenizer

from ..models.language import CausalModel
from ..nn.cross_entropy import IGNORED
from ..nn.embedding import Learned
from ..text.pairs import Pairs, Rows, encode_rows
from .writers import CausalWriter

__all__ = ["PromptBatch", "Prompted"]


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
        """Returns what the model is called with."""
        return {"input_ids": self.input_ids if device is None else self.input_ids.to(device)}

    def counted(self) -> tuple[int, int]:
        """Returns how many places hold a token, and how many there are."""
        return self.real, self.input_ids.numel()


@dataclass(frozen=True)
class Prompted:
    """See the module.

    Attributes:
        end_id: what ends a target.
        before: ids of the template before the source.
        after: those after it.
    """

    end_id: int
    before: tuple[int, ...]
    after: tuple[int, ...]

    @classmethod
    def of(cls, template: str, tokenizer: Tokenizer, end_id: int) -> "Prompted":
        """Returns the format of a template, in which `{source}` stands for the source."""
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
        """Returns what writes the targets of some prompts."""
        device = next(model.parameters()).device
        prompts = [torch.from_numpy(sources[row].copy()).to(device) for row in rows.tolist()]
        return CausalWriter(model, prompts, pad_id=self.end_id)
