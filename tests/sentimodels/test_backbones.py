"""Backbones alone: caches, positions, what they refuse; compiled and exported."""

from typing import Any

import pytest
import torch
import torch._dynamo
from torch import Tensor, nn

from sentimodels.errors import ConfigError
from sentimodels.models import ARCHITECTURES, build, build_backbone
from sentimodels.nn.backbone import Backbone
from sentimodels.text.vocabulary import Inputs

V, T = 50, 150  # more than one chunk of a scan or a causal sum
SMALL = {
    "d_model": 32, "d_hidden": 32, "n_heads": 4, "n_layers": 2, "d_head": 8, "filters": 8, "landmarks": 4,
    "char_ngrams": (0, 0),
}  # fmt: skip
GPT = {"causal": True, "norm_order": "pre"}
ONE_WAY = {"bidirectional": False}
# (architecture, options): every kind that reads from left to right.
CAUSAL: list[tuple[str, dict[str, Any]]] = [
    ("gpt", {**GPT, "positions": "rotary"}),
    ("gpt", {**GPT, "positions": "learned"}),
    ("gpt", {**GPT, "positions": "alibi"}),
    ("gpt", {**GPT, "positions": "sinusoidal"}),
    ("gpt", {**GPT, "positions": "rotary", "n_kv_heads": 2, "qk_norm": True}),
    ("gpt", {**GPT, "positions": "alibi", "n_kv_heads": 1}),
    ("gpt", {**GPT, "attention": "plain", "n_kv_heads": 2}),
    ("gpt", {**GPT, "attention": "linear-elu", "positions": "rotary"}),
    ("gpt", {**GPT, "attention": "linear-softmax", "n_kv_heads": 2}),
    ("bert", {"causal": True}),
    ("mamba", ONE_WAY),
    ("rnn", ONE_WAY),
    ("gru", ONE_WAY),
    ("lstm", ONE_WAY),
]
IDS = ["-".join([name, *(str(v) for v in options.values())]) for name, options in CAUSAL]
causal = pytest.mark.parametrize(("name", "options"), CAUSAL, ids=IDS)


def backbone_of(name: str, options: dict[str, Any] | None = None) -> Backbone:
    torch.manual_seed(0)
    fields = ARCHITECTURES[name].config.model_fields
    small = {key: value for key, value in SMALL.items() if key in fields}
    config = ARCHITECTURES[name].config.model_validate(small | (options or {}))
    model = build_backbone(name, config, Inputs(V, 2)).double().eval()
    for parameter in model.parameters():
        parameter.data += 0.1 * torch.randn(parameter.shape)
    return model


def in_parts(model: Backbone, ids: Tensor, sizes: list[int], **more: Tensor) -> Tensor:
    """Reads ids part by part with a cache."""
    cache, start, out = model.new_cache(), 0, []
    for size in sizes:
        part = slice(start, start + size)
        given = {name: value[:, part] for name, value in more.items()}
        out.append(model(ids[:, part], cache=cache, **given))
        start += size
    assert cache.length == start == ids.shape[1]
    return torch.cat(out, 1)


@causal
@pytest.mark.parametrize("sizes", [[70, *[1] * 10, 70], [1] * T], ids=["parts", "singly"])
def test_cached_states_are_uncached_ones(name: str, options: dict[str, Any], sizes: list[int]) -> None:
    model = backbone_of(name, options)
    ids = torch.randint(0, V, (2, T))
    with torch.inference_mode():
        torch.testing.assert_close(in_parts(model, ids, sizes), model(ids), atol=1e-5, rtol=1e-5)


# A recurrent cell reads padding too, and says so (`test_what_a_backbone_does_not_take`).
@pytest.mark.parametrize(("name", "options"), CAUSAL[:-3], ids=IDS[:-3])
def test_texts_padded_on_the_left(name: str, options: dict[str, Any]) -> None:
    """Prompts of unequal length: each row has the states that it has alone."""
    model = backbone_of(name, options)
    ids, lengths, width = torch.randint(0, V, (3, 12)), [12, 7, 9], 12
    mask = torch.arange(width) >= width - torch.tensor(lengths)[:, None]
    more = {"mask": mask}
    if name != "mamba":
        more["positions"] = (mask.cumsum(1) - 1).clamp(min=0)
    with torch.inference_mode():
        found = in_parts(model, ids, [10, 1, 1], **more)
        whole = model(ids, **more)
        for row, length in enumerate(lengths):
            alone = model(ids[row : row + 1, width - length :])[0]
            torch.testing.assert_close(found[row, width - length :], alone, atol=1e-5, rtol=1e-5)
            torch.testing.assert_close(whole[row, width - length :], alone, atol=1e-5, rtol=1e-5)


@causal
def test_without_a_mask_is_a_mask_of_ones(name: str, options: dict[str, Any]) -> None:
    model = backbone_of(name, options)
    ids = torch.randint(0, V, (2, 20))
    expected = model(ids, torch.ones_like(ids, dtype=torch.bool))
    torch.testing.assert_close(model(ids), expected)


@causal
def test_what_comes_later_changes_nothing(name: str, options: dict[str, Any]) -> None:
    model = backbone_of(name, options)
    ids = torch.randint(0, V, (1, 20))
    other = torch.cat((ids[:, :12], (ids[:, 12:] + 1) % V), 1)
    torch.testing.assert_close(model(ids)[:, :12], model(other)[:, :12])
    assert (model(ids)[:, 12:] - model(other)[:, 12:]).abs().max() > 1e-3
    assert model.causal


def test_torchs_causal_kernel_runs_without_a_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mask would rule out the fast kernels of GPUs; the flag does not."""
    model = backbone_of("gpt", {**GPT, "positions": "rotary"})
    seen: list[tuple[Tensor | None, bool]] = []
    kernel = torch.nn.functional.scaled_dot_product_attention

    def watched(*args: Any, **kwargs: Any) -> Tensor:
        seen.append((kwargs["attn_mask"], kwargs["is_causal"]))
        return kernel(*args, **kwargs)

    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", watched)
    ids = torch.randint(0, V, (2, 9))
    model(ids)
    with torch.inference_mode():
        cache = model.new_cache()
        model(ids, cache=cache)
        model(ids[:, :1], cache=cache)
    assert seen == [(None, True)] * 4 + [(None, False)] * 2
    model(ids, torch.ones_like(ids, dtype=torch.bool))
    assert seen[-1][0] is not None


def test_a_scan_is_formed_in_float32_under_autocast() -> None:
    model = backbone_of("mamba", {**ONE_WAY, "n_layers": 1})
    ids = torch.randint(0, V, (1, 600))
    expected = model(ids)
    with torch.autocast("cpu", torch.bfloat16):
        found = model.float()(ids)
    assert (found.double() - expected).abs().max() < 0.15  # projections are bfloat16 still
    assert (found.double() - expected)[:, 500:].abs().mean() < 0.02  # and errors do not grow


def test_positions_may_begin_anywhere() -> None:
    ids = torch.randint(0, V, (2, 9))
    for kind in ("learned", "sinusoidal", "rotary", "alibi"):
        model = backbone_of("gpt", {**GPT, "positions": kind})
        counted = torch.arange(9).expand(2, 9)
        torch.testing.assert_close(model(ids, positions=counted), model(ids))
        moved = model(ids, positions=counted + 5)
        same = kind in ("rotary", "alibi")  # those know distances alone
        assert torch.allclose(moved, model(ids), atol=1e-5) == same, kind


def test_what_reads_ahead_has_no_cache() -> None:
    for name in ("encoder", "bert", "gpt", "mamba", "lstm", "cnn"):
        model = backbone_of(name)
        assert not model.causal
        with pytest.raises(ConfigError, match="reads tokens to come: nothing can be cached"):
            model.new_cache()


def test_what_a_backbone_does_not_take() -> None:
    ids = torch.randint(0, V, (2, 5))
    with pytest.raises(ValueError, match="Mamba takes no positions"):
        backbone_of("mamba")(ids, positions=torch.arange(5))
    with pytest.raises(ValueError, match="Gpt takes no segments"):
        backbone_of("gpt")(ids, segments=ids)
    model = backbone_of("gpt", GPT)
    with pytest.raises(ValueError, match="a cache is for inference"):
        model(ids, cache=model.new_cache())
    with torch.inference_mode():
        cache = model.new_cache()
        model(ids, cache=cache)
        with pytest.raises(ValueError, match="3 rows, but the cache holds 2"):
            model(ids[:1].expand(3, 5), cache=cache)
        lstm = backbone_of("lstm", ONE_WAY)
        with pytest.raises(ValueError, match="give texts of one length, and no mask"):
            lstm(ids, torch.ones_like(ids, dtype=torch.bool), cache=lstm.new_cache())
        learned = backbone_of("gpt", {**GPT, "max_len": 8})
        cache = learned.new_cache()
        learned(ids, cache=cache)
        with pytest.raises(ValueError, match="10 tokens, but positions are learned for 8"):
            learned(ids, cache=cache)
    with pytest.raises(ConfigError, match="bow is a bag of features: it has no states"):
        build_backbone("bow", ARCHITECTURES["bow"].config(), Inputs(V, 2))


def test_heads_of_keys_divide_those_of_queries() -> None:
    with pytest.raises(ValueError, match="n_heads 4 is not a multiple of n_kv_heads 3"):
        ARCHITECTURES["gpt"].config.model_validate({"n_heads": 4, "n_kv_heads": 3})


NAMES = ["encoder", "bert", "gpt", "mamba", "rnn", "gru", "lstm", "cnn"]


@pytest.mark.slow  # minutes of compiling
@pytest.mark.filterwarnings("default")  # the compiler's own
@pytest.mark.parametrize("name", [*NAMES, "linear-elu", "linear-softmax", "nystrom"])
def test_backbones_compile_as_one_graph(name: str) -> None:
    model = backbone_of(*((name,) if name in NAMES else ("encoder", {"attention": name}))).float()
    ids = torch.randint(0, V, (2, 11))
    mask = torch.arange(11) < torch.tensor([11, 6])[:, None]
    compiled = torch.compile(model, fullgraph=True, dynamic=False)
    # torch's compiler takes its own recurrent cells into a graph only where this is set.
    with torch.no_grad(), torch._dynamo.config.patch(allow_rnn=True):
        torch.testing.assert_close(compiled(ids, mask)[mask], model(ids, mask)[mask], atol=1e-4, rtol=1e-4)


@pytest.mark.slow  # a minute of tracing
@pytest.mark.filterwarnings("default")  # the exporter's own
@pytest.mark.parametrize("name", ["encoder", "gpt", "cnn"])
def test_a_classifier_is_exported_with_its_ngrams(name: str) -> None:
    from labelled_reviews import rows
    from sentimodels.data.encoded import batches
    from sentimodels.runs.families import resolve
    from sentimodels.text.encoder import encoder_for

    texts = [text for text, _ in rows(40)]
    config = resolve({"arch": name})
    of = encoder_for(config, texts)
    model: nn.Module = build(name, config.model, of.inputs(2)).eval()
    two = [next(batches(of.encode(some), batch_size=8)) for some in (texts[:8], [*texts[8:15], "filmy zz"])]
    assert not two[0].full
    first, second = (batch.inputs() for batch in two)
    n_rows, n_tokens = torch.export.Dim("rows", min=2), torch.export.Dim("tokens", min=8, max=256)
    of_rows = {0: n_rows, 1: n_tokens}
    ways = {"input_ids": of_rows, "mask": of_rows, "distinct_index": of_rows}
    for key in ("distinct_ids", "ngram_ids", "ngram_offsets"):
        ways[key] = {0: torch.export.Dim.DYNAMIC}
    with torch.no_grad():
        program = torch.export.export(model, (), first, dynamic_shapes=_shapes(first, ways))
        # torch writes guards of inputs in `**ngrams` that name nothing, so they are not asked for.
        exported = program.module(check_guards=False)
        torch.testing.assert_close(exported(**second), model(**second), atol=1e-5, rtol=1e-5)


def _shapes(inputs: dict[str, Tensor], ways: dict[str, Any]) -> dict[str, Any]:
    """Spells the shapes as the exporter wants them: what goes to `**ngrams` in a separate group."""
    own = {key: ways[key] for key in inputs if key in ("input_ids", "mask")}
    return {**own, "ngrams": {key: ways[key] for key in inputs if key not in own}}
