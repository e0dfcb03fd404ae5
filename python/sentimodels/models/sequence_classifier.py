"""`SequenceClassifier`: a backbone and a head of classes; what every architecture with states trains as.

Not for bags of features (`bow`, `nb`, `tfidf`), which classify without states.
"""

from torch import Tensor, nn

from ..nn.backbone import Backbone
from ..nn.class_head import ClassHead

__all__ = ["SequenceClassifier"]


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
