"""`DecoderBlock`: a block of a transformer that also looks at the states of another text.

Self-attention, then attention over those states, then feed-forward, each with norm, dropout and
a way around (Vaswani et al. 2017, 3.1); everything else is `transformer.py`'s. Keys and values of
the other text are worked out once and kept with the cache. They are looked at by content alone:
rotary angles turn no key here.
"""

from torch import Tensor, nn

from .attention import softmax
from .cache import Entry
from .transformer import Block, Reading, TransformerConfig, norm_layer

__all__ = ["CrossAttention", "DecoderBlock", "memory_mask"]


def memory_mask(mask: Tensor | None) -> Tensor | None:
    """Returns what `Reading` takes of a mask (B, S); a text without a real token is seen whole.

    Args:
        mask: True at real tokens; `None`: all are.
    """
    if mask is None:
        return None
    return (mask | ~mask.any(1, keepdim=True))[:, None, None, :]


class CrossAttention(nn.Module):
    """Multi-head attention of one text's states over another's."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.n_heads, self.dropout = config.n_heads, config.attention_dropout
        self.q_proj = nn.Linear(config.d_model, config.d_model, bias=config.biases)
        self.kv_proj = nn.Linear(config.d_model, 2 * config.d_model, bias=config.biases)
        self.project_out = nn.Linear(config.d_model, config.d_model, bias=config.biases)

    def forward(self, x: Tensor, reading: Reading, entry: Entry | None = None) -> Tensor:
        """Attends from `x` (B, T, D) over `reading.memory`.

        Raises:
            ValueError: if there is no memory.
        """
        q = self.q_proj(x).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)  # (B, H, T, K)
        k, v = self._memory(reading, entry)
        rate = self.dropout if self.training else 0.0
        out = softmax(q, k, v, reading.memory_mask, dropout=rate)
        projected: Tensor = self.project_out(out.transpose(1, 2).flatten(2))
        return projected

    def _memory(self, reading: Reading, entry: Entry | None) -> tuple[Tensor, Tensor]:
        """Returns keys and values (B, H, S, K) of the memory."""
        if entry is not None and "memory_keys" in entry:
            return entry["memory_keys"], entry["memory_values"]
        if reading.memory is None:
            raise ValueError("a decoder looks at the states of another text, and none are given: pass memory")
        heads = self.kv_proj(reading.memory).unflatten(-1, (2 * self.n_heads, -1)).transpose(1, 2)
        k, v = heads.chunk(2, 1)
        if entry is not None:
            entry |= {"memory_keys": k, "memory_values": v}
        return k, v


class DecoderBlock(Block):
    """Self-attention, attention over a memory, and feed-forward."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        self.cross_attention_norm = norm_layer(config)
        self.cross_attention = CrossAttention(config)

    def forward(self, x: Tensor, reading: Reading, entry: Entry | None = None) -> Tensor:
        """Runs the block on `x` (B, T, D)."""
        if self.before:
            x = x + self._drop(self.attention(self.attention_norm(x), reading, entry))
            x = x + self._drop(self.cross_attention(self.cross_attention_norm(x), reading, entry))
            return x + self._drop(self.feed_forward(self.feed_forward_norm(x)))
        x = self.attention_norm(x + self._drop(self.attention(x, reading, entry)))
        x = self.cross_attention_norm(x + self._drop(self.cross_attention(x, reading, entry)))
        out: Tensor = self.feed_forward_norm(x + self._drop(self.feed_forward(x)))
        return out
