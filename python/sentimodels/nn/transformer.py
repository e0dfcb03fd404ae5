"""The transformer that `encoder`, `bert` and `gpt` share: one block, every choice by option.

Norms: LayerNorm (Ba et al. 2016), RMSNorm (Zhang and Sennrich 2019), before or after the sub-layer (Xiong et
al. 2020). Activations: ReLU, GELU exact, by tanh (GPT-2's) and x sigma(1.702 x), SiLU, ReLU² (So et al.
2021), SwiGLU (Shazeer 2020).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import torch
import torch.nn.functional as F
from pydantic import Field, model_validator
from torch import Tensor, nn

from ..text.vocabulary import Inputs
from .attention import ATTENTION, LINEAR, Kernel, attention_mask, nystrom, softmax
from .backbone import Backbone, Cache, Entry, through
from .class_head import HeadConfig, prepend
from .embedding import (
    EmbeddingConfig,
    Learned,
    PositionKind,
    Sinusoidal,
    TokenEmbedding,
    alibi,
    rotary_angles,
    rotate,
    token_embedding,
)

__all__ = [
    "Block",
    "CrossAttention",
    "DecoderBlock",
    "Reading",
    "Transformer",
    "TransformerBackbone",
    "TransformerConfig",
    "memory_mask",
    "norm_layer",
]

Activation = Literal["relu", "gelu", "gelu-tanh", "gelu-quick", "silu", "relu2", "swiglu"]
AttentionKind = Literal["softmax", "plain", "linear-elu", "linear-softmax", "nystrom"]

_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu-tanh": partial(F.gelu, approximate="tanh"),
    "gelu-quick": lambda x: x * torch.sigmoid(1.702 * x),
    "silu": F.silu,
    "relu2": lambda x: F.relu(x).square(),
    "swiglu": F.silu,  # of the gate; the product follows in `FeedForward`
}


class TransformerConfig(EmbeddingConfig):
    """A transformer over tokens."""

    d_model: int = Field(default=128, ge=1, description="Width of the hidden states.")
    n_layers: int = Field(default=2, ge=1, description="Number of transformer blocks.")
    n_heads: int = Field(default=4, ge=1, description="Number of attention heads; must divide d_model.")
    n_kv_heads: int | None = Field(
        default=None,
        ge=1,
        description="Number of key and value heads; must divide n_heads. [default: n_heads]",
    )
    d_ff: int | None = Field(
        default=None,
        ge=1,
        description="Inner width of the feed-forward layers. [default: 4 d_model; 8/3 d_model with swiglu]",
    )
    norm: Literal["layer", "rms", "none"] = Field(
        default="layer", description="Normalization: layer (LayerNorm), rms (RMSNorm) or none."
    )
    norm_order: Literal["pre", "post"] = Field(
        default="post",
        description="Place of the normalization: pre (before each sub-layer) or post (after it).",
    )
    norm_eps: float = Field(default=1e-5, gt=0, description="Epsilon added to the variance in normalization.")
    activation: Activation = Field(
        default="gelu",
        description="Activation of the feed-forward layers: relu, gelu, gelu-tanh, gelu-quick, silu, relu2 "
        "or swiglu.",
    )
    attention: AttentionKind = Field(
        default="softmax",
        description="Kind of attention: softmax, plain (its test oracle), linear-elu, linear-softmax or "
        "nystrom.",
    )
    landmarks: int = Field(default=32, ge=1, description="Number of landmarks of nystrom attention.")
    positions: PositionKind = Field(
        default="learned", description="Position encoding: none, sinusoidal, learned, rotary or alibi."
    )
    rope_theta: float = Field(
        default=10_000.0, gt=0, description="Base of the rotary angles, with rotary positions."
    )
    max_len: int = Field(
        default=512,
        ge=1,
        description="Number of learned positions; with learned positions a longer data.max_tokens or "
        "data.context is refused.",
    )
    causal: bool = Field(
        default=False, description="Whether a token attends only to itself and the tokens before it."
    )
    qk_norm: bool = Field(
        default=False, description="Whether to apply RMSNorm to the queries and keys of each head."
    )
    biases: bool = Field(default=True, description="Whether linear layers have biases.")
    dropout: float = Field(
        default=0.1, ge=0, lt=1, description="Dropout of each sub-layer's output, from 0 to 1."
    )
    attention_dropout: float = Field(
        default=0.0,
        ge=0,
        lt=1,
        description="Dropout of the attention weights, from 0 to 1, with softmax and plain attention.",
    )

    @model_validator(mode="after")
    def _possible(self) -> "TransformerConfig":
        if self.d_model % self.n_heads:
            raise ValueError(f"d_model {self.d_model} is not a multiple of n_heads {self.n_heads}")
        if self.n_kv_heads is not None and self.n_heads % self.n_kv_heads:
            raise ValueError(f"n_heads {self.n_heads} is not a multiple of n_kv_heads {self.n_kv_heads}")
        if self.positions == "rotary" and self.d_model // self.n_heads % 2:
            raise ValueError(f"rotary positions need an even d_model / n_heads, not {self.d_head}")
        if self.positions == "alibi" and self.attention not in ("softmax", "plain"):
            raise ValueError(f"alibi adds to scores, which attention {self.attention!r} never forms")
        if self.attention_dropout and self.attention not in ("softmax", "plain"):
            raise ValueError(
                f"attention_dropout {self.attention_dropout:g}: attention {self.attention!r} never forms "
                "the weights it drops; set it to 0, or take softmax"
            )
        if self.causal and self.attention == "nystrom":
            raise ValueError("nystrom attention has no causal form: its landmarks mix all places")
        return self

    @property
    def d_head(self) -> int:
        """Width of a head."""
        return self.d_model // self.n_heads

    @property
    def inner(self) -> int:
        """Inner width of the feed-forward part."""
        if self.d_ff is not None:
            return self.d_ff
        if self.activation != "swiglu":
            return 4 * self.d_model
        return max(64, int(8 * self.d_model / 3) // 64 * 64)


class _NoNorm(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x


def norm_layer(config: TransformerConfig) -> nn.Module:
    """Returns a norm of the kind that the configuration names."""
    match config.norm:
        case "layer":
            return nn.LayerNorm(config.d_model, eps=config.norm_eps, bias=config.biases)
        case "rms":
            # A hand-written backward pass made a step 0 to 3 % faster (nano, micro, tiny, one thread).
            return nn.RMSNorm(config.d_model, eps=config.norm_eps)
        case "none":
            return _NoNorm()


@dataclass(frozen=True)
class Reading:
    """The common inputs of the blocks in one pass.

    Attributes:
        mask: of the kind that the attention takes, or `None`.
        angles: cosines and sines of rotary positions, or `None`.
        start: tokens that the cache held before.
        memory: states (B, S, D) of another text, which the blocks of a decoder look at, or `None`.
        memory_mask: (B, 1, 1, S), True where they may be looked at; `None`: everywhere.
    """

    mask: Tensor | None = None
    angles: tuple[Tensor, Tensor] | None = None
    start: int = 0
    memory: Tensor | None = None
    memory_mask: Tensor | None = None


class SelfAttention(nn.Module):
    """Multi-head attention with projections and rotary positions."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.n_heads, self.n_shared = config.n_heads, config.n_kv_heads or config.n_heads
        self.causal, self.dropout = config.causal, config.attention_dropout
        self.kernel: Kernel = ATTENTION[config.attention]
        if config.attention == "nystrom":
            self.kernel = partial(nystrom, landmarks=config.landmarks)
        width = (self.n_heads + 2 * self.n_shared) * config.d_head
        self.qkv_proj = nn.Linear(config.d_model, width, bias=config.biases)
        self.project_out = nn.Linear(config.d_model, config.d_model, bias=config.biases)
        self.norms: nn.ModuleList | None = None
        if config.qk_norm:
            self.norms = nn.ModuleList(nn.RMSNorm(config.d_head, eps=config.norm_eps) for _ in range(2))

    def forward(self, x: Tensor, reading: Reading, entry: Entry | None = None) -> Tensor:
        """Attends over `x` (B, T, D)."""
        q, k, v = self._heads(self.qkv_proj(x), reading)
        out = self.kernel(
            q,
            k,
            v,
            reading.mask,
            causal=self.causal,
            dropout=self.dropout if self.training else 0.0,
            entry=entry,
            start=reading.start,
        )
        projected: Tensor = self.project_out(out.transpose(1, 2).flatten(2))
        return projected

    def _heads(self, x: Tensor, reading: Reading) -> tuple[Tensor, Tensor, Tensor]:
        """Returns queries (B, H, T, K), keys and values (B, G, T, K) of their projection."""
        angles = reading.angles
        heads = x.unflatten(-1, (self.n_heads + 2 * self.n_shared, -1)).transpose(1, 2)
        q, k, v = heads.split((self.n_heads, self.n_shared, self.n_shared), 1)
        if self.norms is not None:
            q, k = self.norms[0](q), self.norms[1](k)
        if angles is not None:
            q, k = rotate(q, *angles), rotate(k, *angles)
        return q, k, v


class FeedForward(nn.Module):
    """The two-layer network of a block; with SwiGLU its first layer also has a gate."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.gated = config.activation == "swiglu"
        self.activation = _ACTIVATIONS[config.activation]
        self.project_in = nn.Linear(config.d_model, (1 + self.gated) * config.inner, bias=config.biases)
        self.project_out = nn.Linear(config.inner, config.d_model, bias=config.biases)

    def forward(self, x: Tensor) -> Tensor:
        """Maps each place of `x` (B, T, D) alone."""
        x = self.project_in(x)
        if self.gated:
            gate, x = x.chunk(2, -1)
            x = self.activation(gate) * x
        else:
            x = self.activation(x)
        out: Tensor = self.project_out(x)
        return out


class Block(nn.Module):
    """Attention and feed-forward, each with norm, dropout and a way around."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.before = config.norm_order == "pre"
        self.dropout = config.dropout
        self.attention_norm = norm_layer(config)
        self.attention = SelfAttention(config)
        self.feed_forward_norm = norm_layer(config)
        self.feed_forward = FeedForward(config)

    def forward(self, x: Tensor, reading: Reading, entry: Entry | None = None) -> Tensor:
        """Runs the block on `x` (B, T, D)."""
        if self.before:
            x = x + self._drop(self.attention(self.attention_norm(x), reading, entry))
            return x + self._drop(self.feed_forward(self.feed_forward_norm(x)))
        x = self.attention_norm(x + self._drop(self.attention(x, reading, entry)))
        out: Tensor = self.feed_forward_norm(x + self._drop(self.feed_forward(x)))
        return out

    def _drop(self, x: Tensor) -> Tensor:
        return F.dropout(x, self.dropout) if self.training else x


class Transformer(nn.Module):
    """Positions and blocks over embedded tokens.

    Args:
        config: every choice.
        std: standard deviation of the truncated normal that linear maps start from; without
            it sqrt(2 / (inputs + outputs)) of each (Glorot and Bengio 2010).
        entry: the layers after positions are added to the embeddings.
        prefix: whether a learned token is put before each text, for pooling `cls`.
        block: makes a block.

    Attributes:
        recompute: whether blocks compute their states again in the backward pass.
    """

    recompute = False

    def __init__(
        self,
        config: TransformerConfig,
        std: float | None = None,
        entry: nn.Module | None = None,
        *,
        prefix: bool = False,
        block: Callable[[TransformerConfig], nn.Module] = Block,
    ) -> None:
        super().__init__()
        self.config = config
        self.cls: nn.Parameter | None = None
        if prefix:
            self.cls = nn.Parameter(torch.empty(config.d_model))
            nn.init.normal_(self.cls, std=0.02)
        self.positions: nn.Module = nn.Identity()
        if config.positions == "sinusoidal":
            self.positions = Sinusoidal(config.d_model)
        elif config.positions == "learned":
            self.positions = Learned(config.max_len + (self.cls is not None), config.d_model, 0.02)
        self.entry = entry or nn.Identity()
        self.blocks = nn.ModuleList(block(config) for _ in range(config.n_layers))
        # A pre-norm stack ends with its own norm; in a post-norm one the last block has applied it.
        self.norm = norm_layer(config) if config.norm_order == "pre" else _NoNorm()
        for module in self.modules():
            if isinstance(module, nn.Linear):
                wide = (2.0 / sum(module.weight.shape)) ** 0.5 if std is None else std
                nn.init.trunc_normal_(module.weight, std=wide, a=-3 * wide, b=3 * wide)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        positions: Tensor | None = None,
        cache: Cache | None = None,
        *,
        memory: Tensor | None = None,
        memory_mask: Tensor | None = None,
    ) -> Tensor:
        """Returns states (B, T, D), with a prefix (B, 1 + T, D).

        Args:
            x: (B, T, D), the embedded tokens.
            mask: (B, T), True at real tokens; `None`: all are.
            positions: (T,) or (B, T); without it tokens count from 0, or on from those cached.
            cache: cached keys and values of the tokens before; this call adds to it.
            memory: see `Reading`.
            memory_mask: see `Reading`.
        """
        config = self.config
        if self.cls is not None:
            x, mask = prepend(self.cls, x, mask)
            if positions is not None:
                positions = nn.functional.pad(positions + 1, (1, 0))
        start = cache.length if cache is not None else 0
        if config.positions == "learned":
            x = self.positions(x, start if positions is None else positions)
        place = positions
        if place is None:
            place = torch.arange(start, start + x.shape[1], device=x.device)
        if config.positions == "sinusoidal":
            x = self.positions(x, place)
        x = self.entry(x)
        angles = None
        if config.positions == "rotary":
            angles = rotary_angles(place, config.d_head, config.rope_theta)
        if config.attention in LINEAR:
            if cache is not None:
                cache.advance(x.shape[1])
        else:
            keys = place
            if cache is not None:
                mask, keys = cache.admit(len(x), mask, place)
            bias = alibi(place, keys, config.n_heads) if config.positions == "alibi" else None
            mask = attention_mask(mask, x.shape[1], keys.shape[-1], causal=config.causal, bias=bias)
        reading = Reading(mask, angles, start, memory, memory_mask)
        for number, block in enumerate(self.blocks):
            entry = cache.entries[number] if cache is not None else None
            x = through(block, x, reading, entry, recompute=self.recompute)
        out: Tensor = self.norm(x)
        return out


class TransformerBackbone(Backbone):
    """Embeddings and a transformer, as most architectures are.

    Args:
        config: of the transformer, the embeddings and the head.
        inputs: facts about the texts.
    """

    embedding: TokenEmbedding

    def __init__(self, config: TransformerConfig, inputs: Inputs) -> None:
        super().__init__()
        assert isinstance(config, HeadConfig)
        self.config = config
        self.d_out, self.causal, self.n_cached = config.d_model, config.causal, config.n_layers
        self.n_prefix = int(config.pooling == "cls")
        self.embedding = token_embedding(config, inputs, config.d_model, std=0.1)
        self.transformer = Transformer(config, prefix=bool(self.n_prefix))

    def forward(
        self,
        input_ids: Tensor,
        mask: Tensor | None = None,
        segments: Tensor | None = None,
        positions: Tensor | None = None,
        cache: Cache | None = None,
        **ngrams: Tensor,
    ) -> Tensor:
        """Returns states (B, T, D), with pooling `cls` (B, 1 + T, D)."""
        self._no(segments=segments)
        x = self.embedding(input_ids, mask, **ngrams)
        states: Tensor = self.transformer(x, mask, positions, cache)
        return states


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
    """Self-attention, attention over a memory, and feed-forward.

    Each has a norm, dropout and a way around it (Vaswani et al. 2017, 3.1). Keys and values of the memory
    are computed once and kept with the cache. They are found by content alone: rotary angles turn none.
    """

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
