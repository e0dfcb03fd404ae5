"""BERT's layout (Devlin et al. 2019): our `bert`, with its heads for masked tokens and next sentences."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from ...config import LanguageConfig, MaskedConfig
from ...errors import ConfigError
from ...models.bert import BertConfig
from .layout import Layout, Pair, check_fixed, check_theirs, share_of, size_of, weight_and_bias

__all__ = ["BERT"]

_LAYOUT = "BERT"
_FOLLOWS, _HEAD = "cls.seq_relationship", "cls.predictions"
_TABLE = "bert.embeddings.word_embeddings.weight"
# The settings that make a run BERT; activation and eps are those of its head as well.
_FIXED: dict[str, tuple[Any, ...]] = {
    "causal": (False,),
    "positions": ("learned",),
    "norm": ("layer",),
    "norm_order": ("post",),
    "biases": (True,),
    "activation": ("gelu",),
    "norm_eps": (1e-12,),
    "attention": ("softmax", "plain"),
    "qk_norm": (False,),
    "char_ngrams": ((0, 0),),
}
_THEIRS = {
    "is_decoder": False,
    "add_cross_attention": False,
    "position_embedding_type": "absolute",
    "hidden_act": "gelu",
    "layer_norm_eps": 1e-12,
}


def _next_sentence(config: LanguageConfig) -> bool:
    return isinstance(config.task, MaskedConfig) and config.task.next_sentence


def _to_theirs(config: LanguageConfig, vocab_size: int) -> dict[str, Any]:
    model = config.model
    assert isinstance(model, BertConfig)
    check_fixed(model, {**_FIXED, "n_kv_heads": (model.n_heads, None)}, _LAYOUT)
    return {
        "architectures": ["BertForPreTraining" if _next_sentence(config) else "BertForMaskedLM"],
        "model_type": "bert",
        "vocab_size": vocab_size,
        "max_position_embeddings": model.max_len,
        "hidden_size": model.d_model,
        "num_hidden_layers": model.n_layers,
        "num_attention_heads": model.n_heads,
        "intermediate_size": model.inner,
        "type_vocab_size": model.n_segments,
        "hidden_act": "gelu",
        "layer_norm_eps": model.norm_eps,
        "initializer_range": model.init_std,
        "hidden_dropout_prob": model.dropout,
        "attention_probs_dropout_prob": model.attention_dropout,
        "tie_word_embeddings": True,
    }


def _from_theirs(given: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> dict[str, Any]:
    check_theirs(given, _THEIRS, _LAYOUT)
    _check_head(tensors)
    model = {
        **{name: list(v[0]) if isinstance(v[0], tuple) else v[0] for name, v in _FIXED.items()},
        "max_len": size_of(given, "max_position_embeddings", 512),
        "d_model": size_of(given, "hidden_size", 768),
        "n_layers": size_of(given, "num_hidden_layers", 12),
        "n_heads": size_of(given, "num_attention_heads", 12),
        "d_ff": size_of(given, "intermediate_size", 3072),
        "n_segments": size_of(given, "type_vocab_size", 2),
        "init_std": share_of(given, "initializer_range", 0.02),
        "dropout": share_of(given, "hidden_dropout_prob", 0.1),
        "attention_dropout": share_of(given, "attention_probs_dropout_prob", 0.1),
        "embedding_dropout": 0.0,
    }
    return {"model": model, "task": {"kind": "masked", "next_sentence": f"{_FOLLOWS}.weight" in tensors}}


def _check_head(tensors: Mapping[str, Tensor]) -> None:
    """Refuses a model without a head for masked tokens, or with a table or bias that ours does not read.

    Raises:
        ConfigError: naming the head or the tensor.
    """
    if not any(name.startswith(f"{_HEAD}.") for name in tensors):
        raise ConfigError(
            f"no head for masked tokens ({_HEAD}), which a {_LAYOUT} of senti pretrain has; "
            "senti train --arch hf:PATH fine-tunes the model as it is"
        )
    for own, shared in (("decoder.weight", _TABLE), ("decoder.bias", f"{_HEAD}.bias")):
        head, read = tensors.get(f"{_HEAD}.{own}"), tensors.get(shared)
        if head is not None and read is not None and not torch.equal(head, read):
            raise ConfigError(
                f"{_HEAD}.{own} differs from {shared}: an untied head of {_LAYOUT} is not known here; "
                "senti train --arch hf:PATH fine-tunes the model without it"
            )


def _pairs(config: LanguageConfig) -> list[Pair]:
    assert isinstance(config.model, BertConfig)
    pairs = [
        Pair("backbone.embedding.weight", (_TABLE,)),
        Pair("backbone.transformer.positions.weight", ("bert.embeddings.position_embeddings.weight",)),
        Pair("backbone.segments.weight", ("bert.embeddings.token_type_embeddings.weight",)),
        *weight_and_bias("backbone.transformer.entry.0", "bert.embeddings.LayerNorm"),
        *weight_and_bias("head.layer", "cls.predictions.transform.dense"),
        *weight_and_bias("head.norm", "cls.predictions.transform.LayerNorm"),
        Pair("head.bias", (f"{_HEAD}.bias",)),
    ]
    for layer in range(config.model.n_layers):
        ours, theirs = f"backbone.transformer.blocks.{layer}.", f"bert.encoder.layer.{layer}."
        attention = [f"{theirs}attention.self.{name}" for name in ("query", "key", "value")]
        pairs += weight_and_bias(f"{ours}attention.qkv_proj", *attention)
        for a, b in (
            ("attention.project_out", "attention.output.dense"),
            ("attention_norm", "attention.output.LayerNorm"),
            ("feed_forward.project_in", "intermediate.dense"),
            ("feed_forward.project_out", "output.dense"),
            ("feed_forward_norm", "output.LayerNorm"),
        ):
            pairs += weight_and_bias(ours + a, theirs + b)
    if _next_sentence(config):
        pairs += weight_and_bias("next_sentence.pooler", "bert.pooler.dense")
        pairs += weight_and_bias("next_sentence.output", _FOLLOWS)
    return pairs


BERT = Layout(
    name=_LAYOUT,
    model_type="bert",
    arch="bert",
    prefix="bert.",
    table="embeddings.word_embeddings.weight",
    layer=r"bert\.encoder\.layer\.(\d+)\.",
    # Numbers of places, and a head that is the table and the bias once more.
    ignored=r"\.position_ids$|^cls\.predictions\.decoder\.(weight|bias)$",
    to_theirs=_to_theirs,
    from_theirs=_from_theirs,
    pairs=_pairs,
    per_token=("backbone.embedding.weight", "head.bias"),
)
