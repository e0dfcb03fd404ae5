"""`CausalModel`: a backbone that reads from left to right, and the head that says what comes next."""

from torch import Tensor, nn

from ..heads.next_token import NextTokenHead
from ..layers.backbone import Backbone
from ..layers.cache import Cache

__all__ = ["CausalModel"]


class CausalModel(nn.Module):
    """A language model from left to right."""

    def __init__(self, backbone: Backbone, head: NextTokenHead) -> None:
        super().__init__()
        self.backbone = backbone
        self.head = head

    def forward(
        self,
        input_ids: Tensor,
        mask: Tensor | None = None,
        positions: Tensor | None = None,
        cache: Cache | None = None,
    ) -> Tensor:
        """Returns states (B, T, D)."""
        states: Tensor = self.backbone(input_ids, mask, positions=positions, cache=cache)
        return states

    def logits(self, states: Tensor) -> Tensor:
        """Returns logits (..., V) of states (..., D)."""
        logits: Tensor = self.head(states, self.backbone)
        return logits

    def new_cache(self) -> Cache:
        """Returns an empty cache."""
        return self.backbone.new_cache()
