"""The encoder-decoder against torch's and transformers' on copied weights; masks, causality and cache."""

import math
from collections.abc import Mapping
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from sentimodels.models.seq2seq import Seq2SeqModel, Seq2SeqModelConfig
from sentimodels.nn.attention import softmax
from sentimodels.nn.transformer import memory_mask
from sentimodels.text.vocabulary import Inputs

V, PAD = 40, 39


def model(**given: Any) -> Seq2SeqModel:
    torch.manual_seed(0)
    config = {"d_model": 16, "n_heads": 4, "n_layers": 2, "n_decoder_layers": 2, "dropout": 0.0, **given}
    made = Seq2SeqModel(Seq2SeqModelConfig(**config), Inputs(V, 0, PAD)).eval()
    with torch.no_grad():  # biases start at zero, norms at one: as they are they would hide a swap
        for parameter in made.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return made


def ids(*shape: int, seed: int = 0) -> Tensor:
    return torch.randint(0, PAD, shape, generator=torch.Generator().manual_seed(seed))


def close(a: Tensor, b: Tensor) -> None:
    torch.testing.assert_close(a, b, atol=2e-5, rtol=2e-5)


def as_torch(weights: Mapping[str, Tensor], side: str, number: int) -> dict[str, Tensor]:
    """One of our blocks under the names of torch's layer."""
    ours, theirs = f"{side}.blocks.{number}.", f"{side}.layers.{number}."
    crossed = side == "decoder"
    names = {
        "attention.qkv_proj.weight": "self_attn.in_proj_weight",
        "attention.qkv_proj.bias": "self_attn.in_proj_bias",
        "attention.project_out.": "self_attn.out_proj.",
        "cross_attention.project_out.": "multihead_attn.out_proj.",
        "attention_norm.": "norm1.",
        "cross_attention_norm.": "norm2.",
        "feed_forward_norm.": "norm3." if crossed else "norm2.",
        "feed_forward.project_in.": "linear1.",
        "feed_forward.project_out.": "linear2.",
    }
    out = {}
    for name, value in weights.items():
        if name.startswith(ours):
            rest = name.removeprefix(ours)
            for old, new in names.items():
                if rest.startswith(old):
                    out[theirs + new + rest.removeprefix(old)] = value
    if crossed:
        for kind in ("weight", "bias"):
            parts = [weights[f"{ours}cross_attention.{part}_proj.{kind}"] for part in ("q", "kv")]
            out[f"{theirs}multihead_attn.in_proj_{kind}"] = torch.cat(parts)
    return out


@pytest.mark.parametrize("order", ["pre", "post"])
def test_it_equals_torchs_transformer(order: str) -> None:
    ours = model(norm_order=order, positions="none", scale_embeddings=False)
    first = order == "pre"
    shape: dict[str, Any] = {"dim_feedforward": 64, "dropout": 0.0, "batch_first": True, "norm_first": first}
    norms = [nn.LayerNorm(16) if first else None for _ in range(2)]  # post-norm ends with one
    theirs = nn.Transformer(
        16, 4, batch_first=True,
        custom_encoder=nn.TransformerEncoder(
            nn.TransformerEncoderLayer(16, 4, **shape), 2, norms[0], enable_nested_tensor=False
        ),
        custom_decoder=nn.TransformerDecoder(nn.TransformerDecoderLayer(16, 4, **shape), 2, norms[1]),
    )  # fmt: skip
    weights = dict(ours.state_dict())
    renamed: dict[str, Tensor] = {}
    for side in ("encoder", "decoder"):
        renamed |= as_torch(weights, side, 0) | as_torch(weights, side, 1)
        if first:
            renamed |= {f"{side}.norm.{k}": weights[f"{side}.norm.{k}"] for k in ("weight", "bias")}
    theirs.load_state_dict(renamed)  # strict: every weight is copied
    theirs.train()  # not the fused path of evaluation; dropout is 0
    source, target = ids(3, 7), ids(3, 5, seed=1)
    mask = torch.arange(7) < torch.tensor([7, 4, 1])[:, None]
    x, y = ours.embedding(source), ours.embedding(target)
    causal = nn.Transformer.generate_square_subsequent_mask(5)
    expected = theirs(
        x, y, tgt_mask=causal, src_key_padding_mask=(~mask).float().masked_fill(~mask, -math.inf),
        memory_key_padding_mask=(~mask).float().masked_fill(~mask, -math.inf), tgt_is_causal=True,
    )  # fmt: skip
    close(ours(source, target, mask), expected)


def from_marian(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights of transformers' Marian or BART under our names."""
    names = {
        "self_attn_layer_norm.": "attention_norm.",
        "encoder_attn_layer_norm.": "cross_attention_norm.",
        "final_layer_norm.": "feed_forward_norm.",
        "self_attn.out_proj.": "attention.project_out.",
        "encoder_attn.out_proj.": "cross_attention.project_out.",
        "encoder_attn.q_proj.": "cross_attention.q_proj.",
        "fc1.": "feed_forward.project_in.",
        "fc2.": "feed_forward.project_out.",
    }
    out = {"embedding.weight": weights["model.shared.weight"]}
    for side in ("encoder", "decoder"):
        prefix = f"model.{side}."
        table = weights[f"{prefix}embed_positions.weight"]
        has_norm = f"{prefix}layernorm_embedding.weight" in weights
        out[f"{side}.positions.weight"] = table[2:] if has_norm else table  # BART counts from 2
        for kind in ("weight", "bias"):
            if f"{prefix}layernorm_embedding.{kind}" in weights:
                out[f"{side}.entry.0.{kind}"] = weights[f"{prefix}layernorm_embedding.{kind}"]
            for number in range(2):
                layer = f"{prefix}layers.{number}."
                parts = [weights[f"{layer}self_attn.{part}_proj.{kind}"] for part in "qkv"]
                out[f"{side}.blocks.{number}.attention.qkv_proj.{kind}"] = torch.cat(parts)
                if side == "decoder":
                    parts = [weights[f"{layer}encoder_attn.{part}_proj.{kind}"] for part in "kv"]
                    out[f"{side}.blocks.{number}.cross_attention.kv_proj.{kind}"] = torch.cat(parts)
        for name, value in weights.items():
            for old, new in names.items():
                if name.startswith(f"{prefix}layers.") and f".{old}" in name:
                    at = name.removeprefix(f"{prefix}layers.")[0]
                    out[f"{side}.blocks.{at}.{new}{name.rpartition('.')[2]}"] = value
    return out


@pytest.mark.parametrize("kind", ["marian", "bart"])
def test_it_equals_transformers(kind: str) -> None:
    transformers = pytest.importorskip("transformers")
    shape = {
        "vocab_size": V, "d_model": 16, "encoder_layers": 2, "decoder_layers": 2,
        "encoder_attention_heads": 4, "decoder_attention_heads": 4,
        "encoder_ffn_dim": 32, "decoder_ffn_dim": 32, "dropout": 0.0, "max_position_embeddings": 24,
        "pad_token_id": PAD, "eos_token_id": 0,
        "decoder_start_token_id": PAD, "bos_token_id": 1,
    }  # fmt: skip
    torch.manual_seed(1)
    if kind == "marian":
        theirs = transformers.MarianMTModel(
            transformers.MarianConfig(**shape, activation_function="swish", scale_embedding=True)
        )
    else:
        theirs = transformers.BartForConditionalGeneration(
            transformers.BartConfig(**shape, activation_function="gelu", forced_eos_token_id=None)
        )
    theirs = theirs.eval()
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    activation = "silu" if kind == "marian" else "gelu"
    ours = model(
        norm_order="post", positions="learned", max_len=24, d_ff=32, activation=activation,
        scale_embeddings=kind == "marian", embedding_norm=kind == "bart",
    )  # fmt: skip
    ours.load_state_dict(from_marian(theirs.state_dict()))  # strict: nothing is left out
    source, target = ids(3, 7), ids(3, 5, seed=1)
    mask = torch.arange(7) < torch.tensor([7, 4, 2])[:, None]
    with torch.no_grad():
        given = {"input_ids": source, "attention_mask": mask.long(), "decoder_input_ids": target}
        expected = theirs(**given, use_cache=False).logits
        close(ours.logits(ours(source, target, mask)), expected)


@pytest.mark.parametrize("positions", ["none", "sinusoidal", "learned", "rotary"])
def test_cached_decoding_equals_uncached(positions: str) -> None:
    made = model(positions=positions)
    source, target = ids(3, 7), ids(3, 6, seed=1)
    mask = torch.arange(7) < torch.tensor([7, 4, 2])[:, None]
    with torch.inference_mode():
        whole = made(source, target, mask)
        cache, memory = made.new_cache(), made.encode(source, mask)
        parts = [made.decode(target[:, :2], memory, mask, cache)]
        parts += [made.decode(target[:, i : i + 1], None, mask, cache) for i in range(2, 6)]
        close(torch.cat(parts, 1), whole)


def test_a_cache_goes_on_with_the_rows_it_keeps() -> None:
    made = model(positions="rotary")
    source, target = ids(3, 7), ids(3, 80, seed=1)  # more than a cache has room for at first
    mask = torch.arange(7) < torch.tensor([7, 4, 2])[:, None]
    rows = torch.tensor([2, 0, 2, 1])
    with torch.inference_mode():
        cache = made.new_cache()
        made.decode(target[:, :50], made.encode(source, mask), mask, cache)
        cache.take(rows)
        found = made.decode(target[rows, 50:], None, mask[rows], cache)
        close(found, made(source[rows], target[rows], mask[rows])[:, 50:])


@pytest.mark.parametrize("positions", ["sinusoidal", "rotary"])
def test_a_batch_answers_as_each_text_alone(positions: str) -> None:
    made = model(positions=positions)
    sources, targets = [ids(n, seed=n) for n in (7, 3, 1)], [ids(n, seed=20 + n) for n in (2, 6, 4)]
    source = nn.utils.rnn.pad_sequence(sources, batch_first=True, padding_value=PAD)
    target = nn.utils.rnn.pad_sequence(targets, batch_first=True, padding_value=PAD)
    mask = torch.arange(7) < torch.tensor([7, 3, 1])[:, None]
    states = made(source, target, mask)
    for row, (one, other) in enumerate(zip(sources, targets, strict=True)):
        close(states[row, : len(other)], made(one[None], other[None])[0])


def test_padding_is_never_read() -> None:
    made = model()
    source, target = ids(3, 7), ids(3, 6, seed=1)
    mask = torch.arange(7) < torch.tensor([7, 4, 2])[:, None]
    filled = torch.where(mask, source, ids(3, 7, seed=5))
    assert (filled != source).any()
    torch.testing.assert_close(made(filled, target, mask), made(source, target, mask), atol=0, rtol=0)
    assert not torch.allclose(made(filled, target), made(source, target))  # a source is read at all


@pytest.mark.parametrize("causal", [False, True])
def test_attention_in_bfloat16_is_that_of_float32_rounded(causal: bool) -> None:
    q, k, v = (torch.randn(2, 3, 5, 8).bfloat16().requires_grad_() for _ in range(3))
    wide = [one.detach().float().requires_grad_() for one in (q, k, v)]
    with torch.autocast("cpu", torch.bfloat16):
        found = softmax(q, k, v, causal=causal)
    expected = softmax(*wide, causal=causal)
    assert found.dtype == torch.bfloat16
    torch.testing.assert_close(found, expected.bfloat16(), atol=0, rtol=0)
    found.sum().backward()
    expected.bfloat16().sum().backward()
    for one, other in zip((q, k, v), wide, strict=True):
        assert one.grad is not None
        assert other.grad is not None
        torch.testing.assert_close(one.grad, other.grad.bfloat16(), atol=0, rtol=0)


def test_a_target_is_read_from_left_to_right() -> None:
    made = model()
    source, target = ids(2, 7), ids(2, 6, seed=1)
    other = target.clone()
    other[:, 4] = (other[:, 4] + 1) % PAD
    before, after = made(source, target), made(source, other)
    torch.testing.assert_close(before[:, :4], after[:, :4], atol=0, rtol=0)
    assert (before[:, 4:] != after[:, 4:]).any(-1).all()


def test_an_empty_source_is_seen_whole_instead_of_not_at_all() -> None:
    mask = torch.tensor([[False, False], [True, False]])
    seen = memory_mask(mask)
    assert seen is not None
    assert seen[:, 0, 0].tolist() == [[True, True], [True, False]]
    assert model()(ids(2, 2), ids(2, 3), mask).isfinite().all()


@pytest.mark.parametrize(("tied", "tables"), [("all", 1), ("output", 2), ("none", 3)])
def test_tables_are_one_two_or_three(tied: str, tables: int) -> None:
    made = model(tied=tied)
    wide = [name for name, value in made.named_parameters() if value.shape == (V, 16)]
    assert len(wide) == tables
    made.logits(made(ids(1, 3), ids(1, 2))).sum().backward()
    assert all(value.grad is not None for value in made.parameters())


def test_a_decoder_without_a_source_says_so() -> None:
    with pytest.raises(ValueError, match="states of another text"):
        model().decode(ids(1, 2), None)


def test_heads_must_divide_the_width() -> None:
    with pytest.raises(ValueError, match="d_model 16 is not a multiple of n_heads 3"):
        Seq2SeqModelConfig(d_model=16, n_heads=3)
