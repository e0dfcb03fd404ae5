"""`linear`: a `gpt` whose attention is linear in the length of a text (Katharopoulos et al. 2020).

Queries and keys pass through elu + 1 and meet in a sum that grows token by token, so a causal one writes with
a state of one size. Not for the other kinds of attention, which every transformer has as `model.attention`.
"""

from pydantic import Field

from ..layers.transformer import AttentionKind
from .gpt import Gpt, GptConfig

__all__ = ["Linear", "LinearConfig"]


class LinearConfig(GptConfig):
    """A decoder-style transformer with linear attention."""

    attention: AttentionKind = Field(
        default="linear-elu",
        description="linear-elu, linear-softmax, softmax, plain (its oracle) or nystrom.",
    )


class Linear(Gpt):
    """Embeddings and transformer."""
