"""`encoder`: a transformer encoder (Vaswani et al. 2017) that reads both ways.

The plain choice: learned positions, LayerNorm, GELU; every other one by option. For
segments see `bert`; for RMSNorm and SwiGLU `gpt`.
"""

from ..nn.class_head import HeadConfig
from ..nn.transformer import TransformerBackbone, TransformerConfig

__all__ = ["Encoder", "EncoderConfig"]


class EncoderConfig(TransformerConfig, HeadConfig):
    """A transformer encoder."""


class Encoder(TransformerBackbone):
    """Embeddings and transformer."""
