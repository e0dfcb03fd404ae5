"""`gpt`, `bert` and `mamba` against transformers: the same weights give the same states.

The maps of names define the meaning of each of our matrices; every weight of theirs
is filled, and every one of ours is used.
"""

from typing import TypeVar

import pytest
import torch
from torch import Tensor, nn

from sentimodels.models import build_backbone
from sentimodels.models.bert import Bert
from sentimodels.models.gpt import Gpt
from sentimodels.nn.ssm import SelectiveMixer
from sentimodels.nn.token_heads import MaskedTokenHead, NextSentenceHead, NextTokenHead
from sentimodels.nn.transformer import Block
from sentimodels.runs.families import resolve
from sentimodels.text.vocabulary import Inputs

transformers = pytest.importorskip("transformers", reason="transformers is not installed")

M = TypeVar("M", bound=nn.Module)

V, D, HEADS, LAYERS, T = 50, 32, 4, 2, 9
# No n-grams: theirs has tokens alone.
SIZE = {"d_model": D, "n_heads": HEADS, "n_layers": LAYERS, "char_ngrams": [0, 0]}


@pytest.fixture(autouse=True)
def _seeded_torch() -> None:
    torch.manual_seed(0)


def moved(module: M) -> M:
    """Moves every weight: zeros and ones of the start would hide a wrong place."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape))
    return module.eval()


def fill(theirs: nn.Module, ours: dict[str, Tensor]) -> nn.Module:
    """Loads our weights under their names; none may be missing or too many."""
    found = theirs.load_state_dict(ours, strict=False)
    assert not found.unexpected_keys
    assert not set(found.missing_keys) & {name for name, _ in theirs.named_parameters()}
    return theirs.eval()


def states_of(model: Gpt | Bert, *given: Tensor) -> Tensor:
    """The states that a head is given."""
    with torch.no_grad():
        states: Tensor = model(*given)
    return states


def blocks_of(model: Gpt | Bert) -> list[Block]:
    return [block for block in model.transformer.blocks if isinstance(block, Block)]


def ids_and_mask() -> tuple[Tensor, Tensor]:
    """Two texts, the second of them padded on the right."""
    mask = torch.ones(2, T, dtype=torch.bool)
    mask[1, 6:] = False
    return torch.randint(1, V, (2, T)) * mask, mask


def test_a_causal_gpt_is_llama() -> None:
    of_llama = {"causal": True, "pooling": "last", "norm_order": "pre", "positions": "rotary"}
    config = resolve({"arch": "gpt", "model": {**SIZE, **of_llama}}).model
    built = build_backbone("gpt", config, Inputs(V, 3))
    assert isinstance(built, Gpt)
    ours = moved(built)
    weights: dict[str, Tensor] = {
        "embed_tokens.weight": ours.embedding.weight,
        "norm.weight": ours.transformer.norm.get_parameter("weight"),
    }
    for i, block in enumerate(blocks_of(ours)):
        at = f"layers.{i}."
        q, k, v = block.attention.qkv_proj.weight.chunk(3)
        gate, up = block.feed_forward.project_in.weight.chunk(2)
        weights |= {
            f"{at}self_attn.q_proj.weight": q,
            f"{at}self_attn.k_proj.weight": k,
            f"{at}self_attn.v_proj.weight": v,
            f"{at}self_attn.o_proj.weight": block.attention.project_out.weight,
            f"{at}mlp.gate_proj.weight": gate,
            f"{at}mlp.up_proj.weight": up,
            f"{at}mlp.down_proj.weight": block.feed_forward.project_out.weight,
            f"{at}input_layernorm.weight": block.attention_norm.get_parameter("weight"),
            f"{at}post_attention_layernorm.weight": block.feed_forward_norm.get_parameter("weight"),
        }
    theirs = transformers.LlamaModel(
        transformers.LlamaConfig(
            vocab_size=V,
            hidden_size=D,
            intermediate_size=ours.transformer.config.inner,
            num_hidden_layers=LAYERS,
            num_attention_heads=HEADS,
            rms_norm_eps=1e-5,
            max_position_embeddings=64,
        )
    )
    ids, mask = ids_and_mask()
    with torch.no_grad():
        expected = fill(theirs, weights)(ids, attention_mask=mask.long()).last_hidden_state
    torch.testing.assert_close(states_of(ours, ids, mask)[mask], expected[mask], atol=1e-5, rtol=0)


def linear(name: str, layer: nn.Module) -> dict[str, Tensor]:
    return {f"{name}.{kind}": layer.get_parameter(kind) for kind in ("weight", "bias")}


def bert_of() -> Bert:
    config = resolve({"arch": "bert", "model": {**SIZE, "pooling": "first"}}).model
    built = build_backbone("bert", config, Inputs(V, 3))
    assert isinstance(built, Bert)
    return moved(built)


def bert_weights(ours: Bert) -> dict[str, Tensor]:
    """Our weights by transformers' names."""
    norm = ours.transformer.entry.get_submodule("0")
    weights = {
        "embeddings.word_embeddings.weight": ours.embedding.weight,
        "embeddings.position_embeddings.weight": ours.transformer.positions.get_parameter("weight"),
        "embeddings.token_type_embeddings.weight": ours.segments.weight,
    }
    pairs = {"embeddings.LayerNorm": norm}
    for i, block in enumerate(blocks_of(ours)):
        at = f"encoder.layer.{i}."
        for name, weight, bias in zip(
            ("query", "key", "value"),
            block.attention.qkv_proj.weight.chunk(3),
            block.attention.qkv_proj.bias.chunk(3),
            strict=True,
        ):
            weights |= {
                f"{at}attention.self.{name}.weight": weight,
                f"{at}attention.self.{name}.bias": bias,
            }
        pairs |= {
            f"{at}attention.output.dense": block.attention.project_out,
            f"{at}attention.output.LayerNorm": block.attention_norm,
            f"{at}intermediate.dense": block.feed_forward.project_in,
            f"{at}output.dense": block.feed_forward.project_out,
            f"{at}output.LayerNorm": block.feed_forward_norm,
        }
    for name, module in pairs.items():
        weights |= {f"{name}.{kind}": module.get_parameter(kind) for kind in ("weight", "bias")}
    return weights


BERT = {
    "vocab_size": V,
    "hidden_size": D,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "intermediate_size": 4 * D,
    "max_position_embeddings": 512,
}


def test_bert_is_bert() -> None:
    """With segments and padding."""
    ours = bert_of()
    theirs = transformers.BertModel(transformers.BertConfig(**BERT), add_pooling_layer=False)
    ids, mask = ids_and_mask()
    segments = (torch.arange(T) > 4).long().expand(2, T)
    with torch.no_grad():
        answer = fill(theirs, bert_weights(ours))(ids, attention_mask=mask.long(), token_type_ids=segments)
    found = states_of(ours, ids, mask, segments)
    torch.testing.assert_close(found[mask], answer.last_hidden_state[mask], atol=1e-5, rtol=0)


def test_heads_of_masked_tokens_and_next_sentences_are_berts() -> None:
    ours = bert_of()
    words, follows = moved(MaskedTokenHead(ours, V)), moved(NextSentenceHead(D))
    weights = {f"bert.{name}": weight for name, weight in bert_weights(ours).items()}
    weights |= linear("bert.pooler.dense", follows.pooler) | linear("cls.seq_relationship", follows.output)
    weights |= linear("cls.predictions.transform.dense", words.layer)
    weights |= linear("cls.predictions.transform.LayerNorm", words.norm)
    weights |= {"cls.predictions.decoder.weight": ours.embedding.weight}
    weights |= {"cls.predictions.decoder.bias": words.bias, "cls.predictions.bias": words.bias}
    theirs = fill(transformers.BertForPreTraining(transformers.BertConfig(**BERT)), weights)
    ids, mask = ids_and_mask()
    with torch.no_grad():
        expected = theirs(ids, attention_mask=mask.long())
        states = ours(ids, mask)
        found = words(states, ours)
        torch.testing.assert_close(found[mask], expected.prediction_logits[mask], atol=1e-5, rtol=0)
        torch.testing.assert_close(follows(states), expected.seq_relationship_logits, atol=1e-5, rtol=0)


def test_a_causal_gpt_with_its_head_is_gpt_2() -> None:
    """Learned positions, tanh-GELU, biases, tied logits."""
    given = {"norm": "layer", "activation": "gelu-tanh", "biases": True, "causal": True, "pooling": "last"}
    config = resolve({"arch": "gpt", "model": {**SIZE, **given, "norm_order": "pre"}}).model
    built = build_backbone("gpt", config, Inputs(V, 3))
    assert isinstance(built, Gpt)
    head, ours = NextTokenHead(built, V), moved(built)
    weights: dict[str, Tensor] = {
        "transformer.wte.weight": ours.embedding.weight,
        "transformer.wpe.weight": ours.transformer.positions.get_parameter("weight"),
    }
    pairs: dict[str, nn.Module] = {"ln_f": ours.transformer.norm}
    for i, block in enumerate(blocks_of(ours)):
        pairs |= {
            f"h.{i}.ln_1": block.attention_norm,
            f"h.{i}.ln_2": block.feed_forward_norm,
            f"h.{i}.attn.c_attn": block.attention.qkv_proj,
            f"h.{i}.attn.c_proj": block.attention.project_out,
            f"h.{i}.mlp.c_fc": block.feed_forward.project_in,
            f"h.{i}.mlp.c_proj": block.feed_forward.project_out,
        }
    for name, module in pairs.items():
        matrix = module.get_parameter("weight")
        weights[f"transformer.{name}.weight"] = matrix.T if matrix.ndim == 2 else matrix  # theirs are turned
        weights[f"transformer.{name}.bias"] = module.get_parameter("bias")
    weights["lm_head.weight"] = weights["transformer.wte.weight"]
    size = {"n_embd": D, "n_layer": LAYERS, "n_head": HEADS, "n_positions": 512}
    theirs = fill(transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=V, **size)), weights)
    ids, mask = ids_and_mask()
    with torch.no_grad():
        expected = theirs(ids, attention_mask=mask.long()).logits
        found = head(ours(ids, mask), ours)
    torch.testing.assert_close(found[mask], expected[mask], atol=1e-5, rtol=0)


def test_a_mixer_is_mamba_2() -> None:
    """Over more than one of our chunks, and several of theirs."""
    from transformers.models.mamba2.modeling_mamba2 import Mamba2Mixer

    state, expand, width = 8, 2, 16
    ours = moved(SelectiveMixer(D, state, 4, expand, width))
    weights: dict[str, Tensor] = {
        "in_proj.weight": ours.project_in.weight,
        "conv1d.weight": ours.convolution.weight,
        "conv1d.bias": ours.convolution.get_parameter("bias"),
        "dt_bias": ours.dt_bias,
        "A_log": ours.log_decay,
        "D": ours.skip,
        "norm.weight": ours.norm.get_parameter("weight"),
        "out_proj.weight": ours.project_out.weight,
    }
    theirs = Mamba2Mixer(
        transformers.Mamba2Config(
            hidden_size=D,
            state_size=state,
            expand=expand,
            head_dim=width,
            num_heads=expand * D // width,
            n_groups=1,
            conv_kernel=4,
            chunk_size=8,
            use_conv_bias=True,
            use_bias=False,
            layer_norm_epsilon=1e-5,
            time_step_limit=(0.0, float("inf")),
        ),
        layer_idx=0,
    )
    x = torch.randn(2, 70, D)
    with torch.no_grad():
        expected = fill(theirs, weights)(x)
        torch.testing.assert_close(ours(x), expected, atol=1e-5, rtol=0)
