"""Language models against transformers: the same weights give the same logits, loss and gradients.

Theirs are loaded by name from ours, and their gradients read back by the same names, so that a
matrix in a wrong place shows twice. Logits, of the order of 1, agree within 2e-5, losses within
1e-5, and gradients within 1e-4 of the largest of their tensor, or within 1e-7: that of the biases
of keys is nothing but rounding, as a number added to all scores of a query changes no share.
"""

from collections.abc import Mapping
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from language_runs import GPT_2, moved
from sentimodels.export.transformers import BERT as BERT_LAYOUT
from sentimodels.export.transformers import GPT_2 as GPT_2_LAYOUT
from sentimodels.export.transformers.layout import of_ours
from sentimodels.models.language import CausalModel, MaskedModel, build_language_model
from sentimodels.nn.cross_entropy import IGNORED
from sentimodels.runs.families import LANGUAGE_MODEL

transformers = pytest.importorskip("transformers", reason="transformers is not installed")

V, D, HEADS, LAYERS, B, T = 60, 32, 4, 2, 3, 19
SIZE = {"d_model": D, "n_layers": LAYERS}
Tensors = Mapping[str, Tensor]


@pytest.fixture(autouse=True)
def _seeded_torch() -> None:
    torch.manual_seed(0)


def ours_of(arch: str, model: dict[str, Any], **task: Any) -> tuple[Any, Any]:
    config = LANGUAGE_MODEL.resolve(
        {"arch": arch, "model": {**SIZE, **model}, "data": {"context": 40}, "task": task}
    )
    return config, moved(build_language_model(config, V))


def filled(theirs: Any, weights: Tensors) -> Any:
    """Theirs with our weights; none may be missing or too many."""
    found = theirs.load_state_dict(weights, strict=False)
    assert not found.unexpected_keys
    tied = {name for name in found.missing_keys if name in dict(theirs.named_parameters())}
    assert not tied, tied
    return theirs.eval()


def ids_and_labels() -> tuple[Tensor, Tensor, Tensor]:
    """Texts of unequal length, padded on the right; padding has no label."""
    ids = torch.randint(0, V, (B, T))
    mask = torch.arange(T) < torch.tensor([T, 11, 4])[:, None]
    return ids, mask, ids.masked_fill(~mask, IGNORED)


def gradients(module: nn.Module) -> dict[str, Tensor]:
    """The gradient of each of our weights, in the place of the weight."""
    found = {}
    for name, parameter in module.named_parameters():
        assert parameter.grad is not None, name
        found[name] = parameter.grad
    return found


def check_gradients(theirs: Any, expected: Tensors) -> None:
    of_theirs = dict(theirs.named_parameters())
    for name, ours in expected.items():
        if name in of_theirs:  # of two names of one tensor they list one
            found = of_theirs[name].grad
            assert found is not None, name
            assert found.abs().max() > 0, name
            most = float(found.abs().max())
            torch.testing.assert_close(ours, found, atol=max(1e-7, 1e-4 * most), rtol=0)
    assert set(of_theirs) <= set(expected)


def check_causal(ours: CausalModel, theirs: Any, named: Any, **more: Any) -> None:
    """Compares logits, the mean loss of the next token, and its gradients."""
    ids, mask, labels = ids_and_labels()
    answer = theirs(ids, attention_mask=mask.long(), labels=labels, **more)
    states = ours(ids, mask)
    torch.testing.assert_close(ours.logits(states)[mask], answer.logits[mask], atol=2e-5, rtol=0)
    aims = labels[:, 1:]
    loss = ours.head.loss(states[:, :-1], aims, ours.backbone).sum() / (aims != IGNORED).sum()
    torch.testing.assert_close(loss, answer.loss, atol=1e-5, rtol=0)
    loss.backward()
    answer.loss.backward()
    check_gradients(theirs, named(gradients(ours)))


@pytest.mark.parametrize("tied", [True, False])
def test_gpt_2(tied: bool) -> None:
    config, ours = ours_of("gpt", {**GPT_2, "n_heads": HEADS}, tied=tied)
    pairs = GPT_2_LAYOUT.pairs(config)

    def named(tensors: Tensors) -> dict[str, Tensor]:
        found = of_ours(pairs, tensors)
        return {"lm_head.weight": found["transformer.wte.weight"], **found}

    settings = GPT_2_LAYOUT.to_theirs(config, V)
    theirs = transformers.GPT2LMHeadModel(transformers.GPT2Config(**settings))
    check_causal(ours, filled(theirs, named(ours.state_dict())), named)


@pytest.mark.parametrize("n_shared", [HEADS, 2, 1])
def test_llama(n_shared: int) -> None:
    """RMSNorm, rotary positions, SwiGLU; queries that share keys."""
    _, ours = ours_of("gpt", {"n_heads": HEADS, "n_kv_heads": n_shared}, tied=False)
    inner = ours.backbone.transformer.config.inner
    width = D // HEADS

    def named(tensors: Tensors) -> dict[str, Tensor]:
        found = {
            "model.embed_tokens.weight": tensors["backbone.embedding.weight"],
            "model.norm.weight": tensors["backbone.transformer.norm.weight"],
            "lm_head.weight": tensors["head.weight"],
        }
        for layer in range(LAYERS):
            at, of = f"model.layers.{layer}.", f"backbone.transformer.blocks.{layer}."
            qkv = tensors[f"{of}attention.qkv_proj.weight"].split([D, n_shared * width, n_shared * width])
            gate, up = tensors[f"{of}feed_forward.project_in.weight"].chunk(2)
            found |= {f"{at}self_attn.{n}_proj.weight": x for n, x in zip("qkv", qkv, strict=True)}
            found |= {
                f"{at}self_attn.o_proj.weight": tensors[f"{of}attention.project_out.weight"],
                f"{at}mlp.gate_proj.weight": gate,
                f"{at}mlp.up_proj.weight": up,
                f"{at}mlp.down_proj.weight": tensors[f"{of}feed_forward.project_out.weight"],
                f"{at}input_layernorm.weight": tensors[f"{of}attention_norm.weight"],
                f"{at}post_attention_layernorm.weight": tensors[f"{of}feed_forward_norm.weight"],
            }
        return found

    theirs = transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=V,
            hidden_size=D,
            intermediate_size=inner,
            num_hidden_layers=LAYERS,
            num_attention_heads=HEADS,
            num_key_value_heads=n_shared,
            rms_norm_eps=1e-5,
            max_position_embeddings=64,
            tie_word_embeddings=False,
        )
    )
    check_causal(ours, filled(theirs, named(ours.state_dict())), named)


def test_mamba_2() -> None:
    """The whole model; texts of one length, since theirs lets padding into its convolution."""
    state, width = 8, 16
    _, ours = ours_of("mamba", {"d_head": width, "d_state": state}, tied=True)
    parts = {
        "in_proj.weight": "project_in.weight",
        "conv1d.weight": "convolution.weight",
        "conv1d.bias": "convolution.bias",
        "dt_bias": "dt_bias",
        "A_log": "log_decay",
        "D": "skip",
        "norm.weight": "norm.weight",
        "out_proj.weight": "project_out.weight",
    }

    def named(tensors: Tensors) -> dict[str, Tensor]:
        table = tensors["backbone.embedding.weight"]
        found = {"backbone.embeddings.weight": table, "lm_head.weight": table}
        found["backbone.norm_f.weight"] = tensors["backbone.norm.weight"]
        for layer in range(LAYERS):
            at, of = f"backbone.layers.{layer}.", f"backbone.layers.{layer}."
            found[f"{at}norm.weight"] = tensors[f"{of}norm.weight"]
            found |= {f"{at}mixer.{a}": tensors[f"{of}mixers.0.{b}"] for a, b in parts.items()}
        return found

    theirs = transformers.Mamba2ForCausalLM(
        transformers.Mamba2Config(
            vocab_size=V,
            hidden_size=D,
            num_hidden_layers=LAYERS,
            state_size=state,
            expand=2,
            head_dim=width,
            num_heads=2 * D // width,
            n_groups=1,
            conv_kernel=4,
            chunk_size=8,
            use_conv_bias=True,
            use_bias=False,
            layer_norm_epsilon=1e-5,
            time_step_limit=(0.0, float("inf")),
            residual_in_fp32=False,
            tie_word_embeddings=True,
        )
    )
    theirs = filled(theirs, named(ours.state_dict()))
    ids = torch.randint(0, V, (B, T))
    answer, states = theirs(ids, labels=ids), ours(ids)
    torch.testing.assert_close(ours.logits(states), answer.logits, atol=2e-5, rtol=0)
    loss = ours.head.loss(states[:, :-1], ids[:, 1:], ours.backbone).mean()
    torch.testing.assert_close(loss, answer.loss, atol=1e-5, rtol=0)
    loss.backward()
    answer.loss.backward()
    check_gradients(theirs, named(gradients(ours)))


@pytest.mark.parametrize("next_sentence", [True, False])
def test_bert(next_sentence: bool) -> None:
    """The loss of masked tokens, with that of next sentences."""
    config, ours = ours_of("bert", {"n_heads": HEADS}, next_sentence=next_sentence)
    assert isinstance(ours, MaskedModel)
    pairs = BERT_LAYOUT.pairs(config)

    def named(tensors: Tensors) -> dict[str, Tensor]:
        found = of_ours(pairs, tensors)
        table, bias = found["bert.embeddings.word_embeddings.weight"], found["cls.predictions.bias"]
        return {"cls.predictions.decoder.weight": table, "cls.predictions.decoder.bias": bias, **found}

    settings = transformers.BertConfig(**BERT_LAYOUT.to_theirs(config, V))
    kind = transformers.BertForPreTraining if next_sentence else transformers.BertForMaskedLM
    theirs = filled(kind(settings), named(ours.state_dict()))
    ids, mask, _ = ids_and_labels()
    segments = (torch.arange(T) > 7).long().expand(B, T)
    labels = ids.masked_fill(~(mask & (torch.rand(B, T) < 0.4)), IGNORED)
    follows = torch.tensor([0, 1, 1])
    more = {"next_sentence_label": follows} if next_sentence else {}
    answer = theirs(ids, attention_mask=mask.long(), token_type_ids=segments, labels=labels, **more)
    logits = answer.prediction_logits if next_sentence else answer.logits
    states = ours(ids, mask, segments)
    torch.testing.assert_close(ours.logits(states)[mask], logits[mask], atol=2e-5, rtol=0)
    loss = ours.head.loss(states, labels, ours.backbone).mean()
    if ours.next_sentence is not None:
        found = ours.next_sentence(states)
        torch.testing.assert_close(found, answer.seq_relationship_logits, atol=2e-5, rtol=0)
        loss = loss + nn.functional.cross_entropy(found, follows)
    torch.testing.assert_close(loss, answer.loss, atol=1e-5, rtol=0)
    loss.backward()
    answer.loss.backward()
    check_gradients(theirs, named(gradients(ours)))
