"""BERT's layout (Devlin et al. 2019): our `bert`, with its heads for masked tokens and next sentences."""

from collections.abc import Mapping
from typing import Any

from ...models.bert import BertConfig
from .settings import activation_of, check_fixed, check_theirs, named_activation
from .tensors import Pair, weight_and_bias

__all__ = ["ARCH", "KIND", "from_theirs", "pairs", "to_theirs"]

ARCH, KIND = "bert", "masked"
_LAYOUT = "BERT"
# What BERT is, by our settings.
_FIXED: dict[str, tuple[Any, ...]] = {
    "causal": (False,),
    "positions": ("learned",),
    "norm": ("layer",),
    "norm_order": ("post",),
    "biases": (True,),
    "attention": ("softmax", "plain"),
    "qk_norm": (False,),
    "char_ngrams": ((0, 0),),
}
_THEIRS = {"is_decoder": False, "add_cross_attention": False, "position_embedding_type": "absolute"}


def to_theirs(model: BertConfig, vocab_size: int, *, next_sentence: bool) -> dict[str, Any]:
    """Returns `config.json` of a model.

    Raises:
        ConfigError: if the layout has no place for it.
    """
    check_fixed(model, _FIXED, _LAYOUT)
    check_fixed(model, {"n_kv_heads": (None, model.n_heads)}, _LAYOUT)
    return {
        "architectures": ["BertForPreTraining" if next_sentence else "BertForMaskedLM"],
        "model_type": "bert",
        "vocab_size": vocab_size,
        "max_position_embeddings": model.max_len,
        "hidden_size": model.d_model,
        "num_hidden_layers": model.n_layers,
        "num_attention_heads": model.n_heads,
        "intermediate_size": model.inner,
        "type_vocab_size": model.n_segments,
        "hidden_act": named_activation(model.activation, _LAYOUT),
        "layer_norm_eps": model.norm_eps,
        "initializer_range": model.init_std,
        "hidden_dropout_prob": model.dropout,
        "attention_probs_dropout_prob": model.attention_dropout,
        "tie_word_embeddings": True,
    }


def from_theirs(given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns `[model]` of a `config.json`.

    Raises:
        ConfigError: if it has something that we do not.
    """
    check_theirs(given, _THEIRS, _LAYOUT)
    return {
        **{name: list(v[0]) if isinstance(v[0], tuple) else v[0] for name, v in _FIXED.items()},
        "max_len": int(given.get("max_position_embeddings", 512)),
        "d_model": int(given.get("hidden_size", 768)),
        "n_layers": int(given.get("num_hidden_layers", 12)),
        "n_heads": int(given.get("num_attention_heads", 12)),
        "d_ff": int(given.get("intermediate_size", 3072)),
        "n_segments": int(given.get("type_vocab_size", 2)),
        "activation": activation_of(given.get("hidden_act", "gelu")),
        "norm_eps": float(given.get("layer_norm_eps", 1e-12)),
        "init_std": float(given.get("initializer_range", 0.02)),
        "dropout": float(given.get("hidden_dropout_prob", 0.1)),
        "attention_dropout": float(given.get("attention_probs_dropout_prob", 0.1)),
        "embedding_dropout": 0.0,
    }


def pairs(n_layers: int, *, next_sentence: str | None) -> list[Pair]:
    """Returns which tensor is which.

    Args:
        n_layers: blocks.
        next_sentence: the name of our head of next sentences, if there is one.
    """
    table = "bert.embeddings.word_embeddings.weight"
    found = [
        Pair("backbone.embedding.weight", (table,)),
        Pair("backbone.transformer.positions.weight", ("bert.embeddings.position_embeddings.weight",)),
        Pair("backbone.segments.weight", ("bert.embeddings.token_type_embeddings.weight",)),
        *weight_and_bias("backbone.transformer.entry.0", "bert.embeddings.LayerNorm"),
        *weight_and_bias("head.layer", "cls.predictions.transform.dense"),
        *weight_and_bias("head.norm", "cls.predictions.transform.LayerNorm"),
        Pair("head.bias", ("cls.predictions.bias",)),
    ]
    for layer in range(n_layers):
        ours, theirs = f"backbone.transformer.blocks.{layer}.", f"bert.encoder.layer.{layer}."
        attention = [f"{theirs}attention.self.{name}" for name in ("query", "key", "value")]
        found += weight_and_bias(f"{ours}attention.qkv_proj", *attention)
        for a, b in (
            ("attention.project_out", "attention.output.dense"),
            ("attention_norm", "attention.output.LayerNorm"),
            ("feed_forward.project_in", "intermediate.dense"),
            ("feed_forward.project_out", "output.dense"),
            ("feed_forward_norm", "output.LayerNorm"),
        ):
            found += weight_and_bias(ours + a, theirs + b)
    if next_sentence is not None:
        found += weight_and_bias(f"{next_sentence}.pooler", "bert.pooler.dense")
        found += weight_and_bias(f"{next_sentence}.output", "cls.seq_relationship")
    return found
