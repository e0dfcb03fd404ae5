"""GPT-2's layout (Radford et al. 2019): `gpt` with learned positions, LayerNorm first, and biases.

Their linear maps hold their weights the other way round.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from ...config import LanguageConfig, NextTokenConfig
from ...models.gpt import GptConfig
from .layout import (
    ACTIVATIONS,
    Layout,
    Pair,
    activation_of,
    check_fixed,
    check_theirs,
    share_of,
    size_of,
    weight_and_bias,
)

__all__ = ["GPT_2"]

_LAYOUT = "GPT-2"
# The settings that make a run GPT-2.
_FIXED: dict[str, tuple[Any, ...]] = {
    "causal": (True,),
    "positions": ("learned",),
    "norm": ("layer",),
    "norm_order": ("pre",),
    "biases": (True,),
    "attention": ("softmax", "plain"),
    "qk_norm": (False,),
    "char_ngrams": ((0, 0),),
}
_THEIRS = {
    "scale_attn_weights": True,
    "scale_attn_by_inverse_layer_idx": False,
    "add_cross_attention": False,
}


def _to_theirs(config: LanguageConfig, vocab_size: int) -> dict[str, Any]:
    model = config.model
    assert isinstance(model, GptConfig)
    own = {"n_kv_heads": (model.n_heads, None), "activation": ("gelu-tanh", *ACTIVATIONS)}
    check_fixed(model, {**_FIXED, **own}, _LAYOUT)
    return {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        "vocab_size": vocab_size,
        "n_positions": model.max_len,
        "n_embd": model.d_model,
        "n_layer": model.n_layers,
        "n_head": model.n_heads,
        "n_inner": model.inner,
        "activation_function": ACTIVATIONS[model.activation][0],
        "layer_norm_epsilon": model.norm_eps,
        "resid_pdrop": model.dropout,
        "embd_pdrop": model.embedding_dropout,
        "attn_pdrop": model.attention_dropout,
        "tie_word_embeddings": _tied(config),
    }


def _tied(config: LanguageConfig) -> bool:
    return isinstance(config.task, NextTokenConfig) and config.task.tied


def _from_theirs(given: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> dict[str, Any]:
    check_theirs(given, _THEIRS, _LAYOUT)
    width = size_of(given, "n_embd", 768)
    table, own = tensors.get("transformer.wte.weight"), tensors.get("lm_head.weight")
    tied = own is None or table is None or torch.equal(own, table)
    model = {
        **{name: list(v[0]) if isinstance(v[0], tuple) else v[0] for name, v in _FIXED.items()},
        "max_len": size_of(given, "n_positions", 1024),
        "d_model": width,
        "n_layers": size_of(given, "n_layer", 12),
        "n_heads": size_of(given, "n_head", 12),
        "d_ff": 4 * width if given.get("n_inner") is None else size_of(given, "n_inner", 4 * width),
        "activation": activation_of(given.get("activation_function", "gelu_new")),
        "norm_eps": share_of(given, "layer_norm_epsilon", 1e-5),
        "dropout": share_of(given, "resid_pdrop", 0.1),
        "embedding_dropout": share_of(given, "embd_pdrop", 0.1),
        "attention_dropout": share_of(given, "attn_pdrop", 0.1),
    }
    return {"model": model, "task": {"kind": "next-token", "tied": tied}}


def _pairs(config: LanguageConfig) -> list[Pair]:
    assert isinstance(config.model, GptConfig)
    pairs = [
        Pair("backbone.embedding.weight", ("transformer.wte.weight",)),
        Pair("backbone.transformer.positions.weight", ("transformer.wpe.weight",)),
        *weight_and_bias("backbone.transformer.norm", "transformer.ln_f"),
    ]
    for layer in range(config.model.n_layers):
        ours, theirs = f"backbone.transformer.blocks.{layer}.", f"transformer.h.{layer}."
        for a, b, turned in (
            ("attention_norm", "ln_1", False),
            ("attention.qkv_proj", "attn.c_attn", True),
            ("attention.project_out", "attn.c_proj", True),
            ("feed_forward_norm", "ln_2", False),
            ("feed_forward.project_in", "mlp.c_fc", True),
            ("feed_forward.project_out", "mlp.c_proj", True),
        ):
            pairs += weight_and_bias(ours + a, theirs + b, turned=turned)
    return pairs if _tied(config) else [*pairs, Pair("head.weight", ("lm_head.weight",))]


GPT_2 = Layout(
    name=_LAYOUT,
    model_type="gpt2",
    arch="gpt",
    prefix="transformer.",
    table="wte.weight",
    layer=r"transformer\.h\.(\d+)\.",
    # Masks that older files hold, and a head that is the table once more.
    ignored=r"\.attn\.(bias|masked_bias)$|^lm_head\.weight$",
    to_theirs=_to_theirs,
    from_theirs=_from_theirs,
    pairs=_pairs,
    per_token=("backbone.embedding.weight", "head.weight"),
)
