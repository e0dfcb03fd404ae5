"""`ClassHead`: logits of classes for a text. Pooling, dropout, then a linear map or a small network.

`HeadConfig` holds the fields of every architecture that classifies by states.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, Self

import torch
import torch.nn.functional as F
from pydantic import Field, model_validator
from torch import Tensor, nn

from ..config import Section
from .backbone import Backbone

if TYPE_CHECKING:
    from .ordinal import CutPoints

__all__ = [
    "HEADS",
    "POOLINGS",
    "ClassHead",
    "HeadConfig",
    "HeadKind",
    "Pooling",
    "PoolingKind",
    "SequenceClassifier",
    "prepend",
]

PoolingKind = Literal["first", "last", "mean", "max", "mean-max", "attention", "cls"]


class Pooling(nn.Module):
    """Pools states (B, T, D) to (B, `d_out`).

    All kinds read real tokens only, and give zeros for a text without any. `cls` is the first place,
    where the model has put a learned vector (`prepend`). For the half of a state that reads from right
    to left, the last state is the one at the first token.

    Args:
        kind: which pooling.
        d_in: D.
        backward: how many of the D features, the last ones, read from right to left.
    """

    def __init__(self, kind: PoolingKind, d_in: int, backward: int = 0) -> None:
        super().__init__()
        self.kind = kind
        self.forward_width = d_in - backward
        self.d_out = 2 * d_in if kind == "mean-max" else d_in
        if kind == "attention":
            self.score = nn.Linear(d_in, 1, bias=False)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Pools `states` (B, T, D) where `mask` (B, T) is True."""
        return POOLINGS[self.kind](self, states, mask)


def _first(_: Pooling, states: Tensor, mask: Tensor) -> Tensor:
    return states[:, 0] * mask[:, :1]


def _last(pooling: Pooling, states: Tensor, mask: Tensor) -> Tensor:
    # The last real position, whether padding is on the left or on the right.
    end = (mask * torch.arange(mask.shape[1], device=mask.device)).amax(1)
    last = states[torch.arange(len(states), device=states.device), end]
    width = pooling.forward_width
    return torch.cat((last[:, :width], states[:, 0, width:]), -1) * mask.any(1, keepdim=True)


def _attended(pooling: Pooling, states: Tensor, mask: Tensor) -> Tensor:
    score: Tensor = pooling.score(states).squeeze(-1)
    score = score.masked_fill(~mask, torch.finfo(score.dtype).min)
    weight = score.softmax(-1) * mask  # all padded: zeros, not an average of padding
    return (weight[:, None, :] @ states).squeeze(1)


def _mean(states: Tensor, mask: Tensor) -> Tensor:
    # As a matrix product: no copy of the states with the padding set to zero.
    weight = mask / mask.sum(1, keepdim=True).clamp(min=1)
    return (weight[:, None, :].to(states.dtype) @ states).squeeze(1)


def _max(states: Tensor, mask: Tensor) -> Tensor:
    hidden = states.masked_fill(~mask[..., None], torch.finfo(states.dtype).min)
    return hidden.amax(1) * mask[:, :1]


# By the value of `model.pooling`: (B, T, D) and a mask (B, T) to (B, `d_out`).
POOLINGS: dict[PoolingKind, Callable[[Pooling, Tensor, Tensor], Tensor]] = {
    "first": _first,
    "last": _last,
    "mean": lambda _, states, mask: _mean(states, mask),
    "max": lambda _, states, mask: _max(states, mask),
    "mean-max": lambda _, states, mask: torch.cat((_mean(states, mask), _max(states, mask)), -1),
    "attention": _attended,
    "cls": _first,  # the model has put a learned vector there
}


def prepend(vector: Tensor, x: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """Puts `vector` (D) before each text of `x` (B, T, D), and widens the mask."""
    first = vector.expand(len(x), 1, -1).to(x.dtype)
    return torch.cat((first, x), 1), None if mask is None else F.pad(mask, (1, 0), value=True)


HeadKind = Literal["linear", "mlp", "tanh"]

# By the value of `model.head`: the layers between the dropped-out features, `width` of them, and the last
# linear map, which reads as many.
HEADS: dict[HeadKind, Callable[[int], list[nn.Module]]] = {
    "linear": lambda _: [],
    "mlp": lambda width: [nn.Linear(width, width), nn.SiLU()],
    "tanh": lambda width: [nn.Linear(width, width), nn.Tanh()],
}


class HeadConfig(Section):
    """How states become logits."""

    pooling: PoolingKind = Field(
        default="mean-max",
        description="Pooling of token states: first, last, mean, max, mean-max, attention or cls (a learned "
        "first token).",
    )
    head: HeadKind = Field(
        default="linear",
        description="Classification head: linear, mlp (one hidden layer as wide as the pooled vector, SiLU) "
        "or tanh (the same with tanh, as in BERT).",
    )
    head_dropout: float = Field(
        default=0.3, ge=0, lt=1, description="Dropout of the pooled features, from 0 to 1."
    )

    @model_validator(mode="after")
    def _sees_the_text(self) -> Self:
        if getattr(self, "causal", False) and self.pooling in ("first", "cls"):
            raise ValueError(f"pooling {self.pooling!r} of a causal model sees one token: use last or mean")
        return self


def _cut_points(n_classes: int) -> "CutPoints":
    from .ordinal import CutPoints  # few models have ordered labels

    return CutPoints(n_classes)


class ClassHead(nn.Module):
    """Pools states (B, T, D) and maps them to logits (B, C).

    Args:
        config: pooling, depth, dropout.
        d_in: D.
        n_classes: C.
        backward: how many of the D features, the last ones, read from right to left.
        ordered: whether the classes have an order, and are cut from one score.
    """

    def __init__(
        self, config: HeadConfig, d_in: int, n_classes: int, backward: int = 0, *, ordered: bool = False
    ) -> None:
        super().__init__()
        self.pooling = Pooling(config.pooling, d_in, backward)
        width = self.pooling.d_out
        last = nn.Linear(width, 1 if ordered else n_classes)
        nn.init.normal_(last.weight, std=0.02)
        nn.init.zeros_(last.bias)
        self.network = nn.Sequential(nn.Dropout(config.head_dropout), *HEADS[config.head](width), last)
        self.cut_points = _cut_points(n_classes) if ordered else None

    def forward(self, states: Tensor, mask: Tensor | None = None) -> Tensor:
        """Returns logits (B, C) of states where `mask` (B, T) is True; without one, of all."""
        if mask is None:
            mask = torch.ones(states.shape[:2], dtype=torch.bool, device=states.device)
        logits: Tensor = self.network(self.pooling(states, mask))
        return logits if self.cut_points is None else self.cut_points(logits)


class SequenceClassifier(nn.Module):
    """Logits of classes for each text.

    Args:
        backbone: from ids to states.
        head: from states to logits.
    """

    def __init__(self, backbone: Backbone, head: ClassHead) -> None:
        super().__init__()
        self.backbone = backbone
        self.head = head

    def forward(
        self,
        input_ids: Tensor,
        mask: Tensor | None = None,
        segments: Tensor | None = None,
        positions: Tensor | None = None,
        **ngrams: Tensor,
    ) -> Tensor:
        """Returns logits (B, C); see `Backbone.forward`."""
        states = self.backbone(input_ids, mask, segments, positions, **ngrams)
        if mask is not None and self.backbone.n_prefix:
            mask = nn.functional.pad(mask, (self.backbone.n_prefix, 0), value=True)
        logits: Tensor = self.head(states, mask)
        return logits
