"""Heads on backbones: a language model, a masked one; cross entropy in chunks."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from sentimodels.config import OptimConfig
from sentimodels.errors import ConfigError
from sentimodels.models import ARCHITECTURES, build_backbone
from sentimodels.nn.backbone import Backbone
from sentimodels.nn.cross_entropy import (
    IGNORED,
    chunked_cross_entropy,
    compiled_slopes,
    slopes_in_place,
    summed_cross_entropy,
)
from sentimodels.nn.token_heads import MaskedTokenHead, NextSentenceHead, NextTokenHead
from sentimodels.text.vocabulary import Inputs
from sentimodels.training.optimizer import EMA, Optimizers, make_sparse

V, MASK_ID = 30, 29
SMALL = {
    "d_model": 32,
    "n_heads": 2,
    "n_layers": 2,
    "char_ngrams": (0, 0),
    "embedding_dropout": 0,
    "dropout": 0,
}
CAUSAL = {"causal": True, "norm_order": "pre", "positions": "rotary"}


@pytest.fixture(autouse=True)
def _seeded_torch() -> None:
    torch.manual_seed(0)


def backbone_of(name: str, **options: Any) -> Backbone:
    fields = ARCHITECTURES[name].config.model_fields
    given = {key: value for key, value in (SMALL | options).items() if key in fields}
    return build_backbone(name, ARCHITECTURES[name].config.model_validate(given), Inputs(V, 2))


def counting(n: int, width: int, most: int = 3) -> Tensor:
    """Texts that count from a random start by a random step: each token follows from the two before."""
    start, step = torch.randint(0, 28, (n, 1)), torch.randint(1, most + 1, (n, 1))
    return (start + step * torch.arange(width)) % 28


class LanguageModel(nn.Module):
    """A causal language model, and how it is trained and continued."""

    def __init__(self, backbone: Backbone, *, tied: bool = True) -> None:
        super().__init__()
        self.backbone = backbone
        self.head = NextTokenHead(backbone, V, tied=tied)

    def forward(self, ids: Tensor) -> Tensor:
        return self.head.loss(self.backbone(ids[:, :-1]), ids[:, 1:], self.backbone, chunk=64).mean()

    @torch.inference_mode()
    def go_on(self, ids: Tensor, n: int) -> Tensor:
        cache = self.backbone.new_cache()
        new = ids
        for _ in range(n):
            states = self.backbone(new, cache=cache)
            new = self.head(states[:, -1:], self.backbone).argmax(-1)
            ids = torch.cat((ids, new), 1)
        return ids


@pytest.mark.parametrize("name", ["gpt", pytest.param("mamba", marks=pytest.mark.slow), "lstm"])
def test_a_causal_language_model(name: str) -> None:
    more = {"bidirectional": False} if name != "gpt" else CAUSAL
    model = LanguageModel(backbone_of(name, **more, d_hidden=32, d_head=8))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=0)
    for _ in range(120):
        optimizer.zero_grad()
        loss = model(counting(32, 12))
        loss.backward()
        optimizer.step()
    # Uniform is 3.3 nats; the second token of a text is a guess of three, 1.1 nats in eleven.
    assert loss < 0.8
    if name == "gpt":
        texts = counting(16, 12)
        right = model.eval().go_on(texts[:, :6], 6) == texts
        assert right.float().mean() > 0.9


def test_a_masked_language_model() -> None:
    backbone = backbone_of("bert", init_std=0.1)
    words, follows = MaskedTokenHead(backbone, V, std=0.1), NextSentenceHead(32, std=0.1)
    parts = nn.ModuleList((backbone, words, follows))
    optimizer = torch.optim.AdamW(parts.parameters(), lr=0.005, weight_decay=0)
    for _ in range(200):
        first, second = counting(64, 12, most=1).chunk(2, 1)
        swapped = torch.rand(64) < 0.5
        second = torch.where(swapped[:, None], second.roll(1, 0), second)
        ids = torch.cat((first, second), 1)
        segments = (torch.arange(12) >= 6).long().expand(64, 12)
        masked = torch.rand(ids.shape) < 0.15
        states = backbone(ids.masked_fill(masked, MASK_ID), segments=segments)
        of_words = words.loss(states, ids.masked_fill(~masked, IGNORED), backbone)
        assert of_words.shape == (int(masked.sum()),)
        of_pairs = F.cross_entropy(follows(states), swapped.long())
        optimizer.zero_grad()
        (of_words.mean() + of_pairs).backward()
        optimizer.step()
    assert of_words.mean() < 1.0  # uniform is 3.3 nats
    assert of_pairs < 0.6  # a guess is 0.69
    assert words(states, backbone).shape == (64, 12, V)


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize(("chunk", "smoothing"), [(4, 0.0), (4, 0.2), (21, 0.0), (1000, 0.2)])
def test_cross_entropy_in_chunks_is_torchs(biased: bool, chunk: int, smoothing: float) -> None:
    given = [torch.randn(3, 7, 5), torch.randn(11, 5), torch.randn(11)]
    states, weight, bias = (x.double().requires_grad_() for x in given)
    targets = torch.randint(0, 11, (3, 7))
    targets[0, :3] = IGNORED
    added = bias if biased else None
    upstream = torch.randn(3, 7, dtype=torch.float64)
    logits = F.linear(states, weight, added)
    expected = F.cross_entropy(logits.transpose(1, 2), targets, reduction="none", label_smoothing=smoothing)
    found = chunked_cross_entropy(states, weight, targets, added, chunk=chunk, label_smoothing=smoothing)
    torch.testing.assert_close(found, expected)
    of = [states, weight, *([bias] if biased else [])]
    for one, two in zip(
        torch.autograd.grad(found, of, upstream), torch.autograd.grad(expected, of, upstream), strict=True
    ):
        torch.testing.assert_close(one, two)
    with pytest.raises(ValueError, match=r"states \(3, 7, 5\), but targets \(3, 6\)"):
        chunked_cross_entropy(states, weight, targets[:, 1:])


class Largest(TorchDispatchMode):
    """The most numbers that a tensor made inside holds."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # 2026-11-24: torch has no types there
        self.numel = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        for one in out if isinstance(out, tuple | list) else (out,):
            if isinstance(one, Tensor):
                self.numel = max(self.numel, one.numel())
        return out


@pytest.mark.parametrize("chunk", [64, 256])
def test_logits_are_never_held_whole(chunk: int) -> None:
    n, width, vocabulary = 1024, 8, 5000
    states = torch.randn(n, width, requires_grad=True)
    weight = torch.randn(vocabulary, width, requires_grad=True)
    targets = torch.randint(0, vocabulary, (n,))
    saved: list[int] = []

    def keep(x: Tensor) -> Tensor:
        saved.append(x.numel())
        return x

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x), Largest() as made:
        chunked_cross_entropy(states, weight, targets, chunk=chunk).sum().backward()
    assert made.numel == chunk * vocabulary
    # Whole, they would be 1,024 times the vocabulary, several times over.
    with Largest() as whole:
        F.cross_entropy(states @ weight.T, targets).backward()
    assert whole.numel == n * vocabulary


def test_a_tied_table_is_saved_once(tmp_path: Path) -> None:
    model = LanguageModel(backbone_of("gpt", **CAUSAL))
    assert [key for key in model.state_dict() if key.startswith("head")] == []
    save_file(model.state_dict(), tmp_path / "model.safetensors")
    torch.manual_seed(1)
    other = LanguageModel(backbone_of("gpt", **CAUSAL))
    other.load_state_dict(load_file(tmp_path / "model.safetensors"))
    ids = counting(2, 8)
    assert torch.equal(model(ids), other(ids))
    untied = LanguageModel(backbone_of("gpt", **CAUSAL), tied=False)
    assert [key for key in untied.state_dict() if key.startswith("head")] == ["head.weight"]


@pytest.mark.parametrize("tied", [False, True])
def test_gradients_of_tied_tables_are_dense_and_whole(tied: bool) -> None:
    """Both uses of a tied table count; with sparse gradients asked for, only an untied one has them."""
    ids, found = counting(4, 8), []
    for sparse in (False, True):
        torch.manual_seed(3)
        model = LanguageModel(backbone_of("gpt", **CAUSAL), tied=tied)
        embedding = model.backbone.embedding
        assert embedding is not None
        tables = make_sparse(model, sparse)
        model(ids).backward()
        grad = embedding.weight.grad
        assert grad is not None
        assert grad.is_sparse == (sparse and not tied)
        assert ("backbone.embedding.weight" in tables) == (sparse and not tied)
        found.append(grad.to_dense())
        optimizers = Optimizers(model, OptimConfig(), sparse=tables)
        assert ("rows" in optimizers.all) == (sparse and not tied)
        average = EMA(model, 0.9, {"backbone.embedding.weight"} if sparse and not tied else set())
        average.before_step()
        optimizers.step()
        average.after_step()
    torch.testing.assert_close(*found)
    # A token that is in no text gets a gradient through the head alone.
    assert found[0][MASK_ID].any() == tied


def test_what_cannot_be_tied() -> None:
    lstm = backbone_of("lstm", bidirectional=False, d_hidden=16)
    with pytest.raises(ValueError, match=r"an embedding \(30, 32\) cannot be tied to states of width 16"):
        NextTokenHead(lstm, V)
    config = ARCHITECTURES["gpt"].config.model_validate({"d_model": 32, "n_heads": 2})
    with pytest.raises(ConfigError, match=r"set model\.char_ngrams = \[0, 0\]"):
        NextTokenHead(build_backbone("gpt", config, Inputs(V, 2, n_ngrams=5)), V)


def test_positions_and_segments_have_no_weight_decay() -> None:
    optimizers = Optimizers(backbone_of("bert"), OptimConfig(weight_decay=0.3), sparse=set())
    decays: dict[str, float] = {}
    for optimizer in optimizers.all.values():
        for group in optimizer.param_groups:
            decays |= {optimizers.names[id(p)]: group["weight_decay"] for p in group["params"]}
    for name in ("transformer.positions.weight", "segments.weight", "embedding.weight"):
        assert decays[name] == 0, name
    assert decays["transformer.blocks.0.attention.qkv_proj.weight"] == 0.3


@pytest.mark.parametrize("chunk", [1, 3, 100])
@pytest.mark.parametrize("with_bias", [False, True])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_the_sum_has_the_gradients_of_the_parts(chunk: int, with_bias: bool, smoothing: float) -> None:
    """`summed_cross_entropy` against torch's own, some tokens without a loss, scaled after it."""
    torch.manual_seed(0)
    states, weight, bias = torch.randn(2, 5, 4), torch.randn(7, 4), torch.randn(7)
    targets = torch.randint(7, (2, 5))
    targets[0, 1] = targets[1, 4] = IGNORED
    found = []
    for summed in (True, False):
        given = [value.clone().requires_grad_() for value in (states, weight, bias)]
        extra = given[2] if with_bias else None
        if summed:
            loss = summed_cross_entropy(
                given[0], given[1], targets, extra, chunk=chunk, label_smoothing=smoothing
            )
        else:
            logits = F.linear(given[0], given[1], extra).flatten(0, 1)
            loss = F.cross_entropy(logits, targets.flatten(), reduction="sum", label_smoothing=smoothing)
        (loss / 3).backward()
        found.append([loss.detach(), *(value.grad for value in given)])
    for one, other in zip(*found, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            torch.testing.assert_close(one, other)
    frozen = summed_cross_entropy(states, weight.clone().requires_grad_(), targets, chunk=chunk)
    frozen.backward()  # only what is wanted is made
    with torch.no_grad():
        assert torch.equal(summed_cross_entropy(states, weight, targets, chunk=chunk), frozen)
    # A word that is next to impossible has a loss all the same.
    far = summed_cross_entropy(torch.tensor([[1.0]]), torch.tensor([[0.0], [500.0]]), torch.tensor([0]))
    assert far.item() == 500.0
    with pytest.raises(ValueError, match=r"states \(2, 5, 4\), but targets \(5, 2\)"):
        summed_cross_entropy(states, weight, targets.T)


# Traced into one graph, which torch runs as it is; a kernel that its compiler makes of it takes 20 s.
COMPILERS = ["aot_eager", pytest.param("inductor", marks=pytest.mark.slow)]


@pytest.fixture
def compiler(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str | None]:
    """Has `compiled_slopes` compile by this backend of torch."""
    if request.param is not None:
        monkeypatch.setattr(torch, "compile", partial(torch.compile, backend=request.param, fullgraph=True))
    compiled_slopes.cache_clear()
    yield request.param
    compiled_slopes.cache_clear()


@pytest.mark.parametrize("compiler", [None, *COMPILERS], indirect=True)
@pytest.mark.parametrize("with_bias", [False, True])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_logits_wider_than_the_vocabulary_have_the_loss_of_its_words(
    compiler: str | None, with_bias: bool, smoothing: float
) -> None:
    """The passes over the logits, written out and as one kernel, against torch's own."""
    torch.manual_seed(0)
    logits, bias = 3 * torch.randn(6, 16), torch.randn(13)
    targets = torch.tensor([0, 12, IGNORED, 5, 5, IGNORED])
    words = (logits[:, :13] + (bias if with_bias else 0)).requires_grad_()
    expected = F.cross_entropy(words, targets, reduction="sum", label_smoothing=smoothing)
    expected.backward()
    given = bias if with_bias else None
    if compiler is not None:
        loss, slopes = compiled_slopes()(logits, given, targets, 13, smoothing)
    else:
        loss, slopes = slopes_in_place(logits, given, targets, 13, smoothing, wanted=True), logits
    torch.testing.assert_close(loss, expected.detach())
    torch.testing.assert_close(slopes[:, :13], words.grad)
    assert not slopes[:, 13:].any()


@pytest.mark.parametrize("compiler", COMPILERS, indirect=True)
@pytest.mark.usefixtures("compiler")
def test_a_compiled_sum_is_that_of_one_that_is_not() -> None:
    torch.manual_seed(0)
    states, weight, targets = torch.randn(40, 16), torch.randn(50, 16), torch.randint(50, (40,))
    found = []
    for compiled in (False, True):
        given = [value.clone().requires_grad_() for value in (states, weight)]
        with torch.autocast("cpu", torch.bfloat16):
            summed_cross_entropy(given[0], given[1], targets, chunk=16, compiled=compiled).backward()
        found.append([value.grad for value in given])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, atol=1e-3, rtol=1e-2)


def test_the_sum_in_bfloat16_is_near_that_in_float32() -> None:
    """Under autocast products are bfloat16; the softmax, the sum and the weights' gradient stay float32."""
    torch.manual_seed(0)
    states, weight = torch.randn(40, 16), torch.randn(50, 16)
    targets = torch.randint(50, (40,))
    targets[3] = IGNORED
    found = []
    for narrow in (False, True):
        given = [value.clone().requires_grad_() for value in (states, weight)]
        with torch.autocast("cpu", torch.bfloat16, enabled=narrow):
            loss = summed_cross_entropy(given[0], given[1], targets, chunk=16)
        (loss / 40).backward()
        assert loss.dtype == torch.float32
        found.append([loss.detach(), *(value.grad for value in given)])
    for one, other in zip(*found, strict=True):
        assert other.dtype == torch.float32
        assert not torch.equal(one, other)
        torch.testing.assert_close(one, other, atol=2e-3, rtol=2e-2)


def test_the_sum_of_float64_has_true_gradients() -> None:
    states = torch.randn(5, 4, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(7, 4, dtype=torch.float64, requires_grad=True)
    bias = torch.randn(7, dtype=torch.float64, requires_grad=True)
    targets = torch.tensor([0, 6, IGNORED, 2, 2])
    assert torch.autograd.gradcheck(
        lambda *given: summed_cross_entropy(given[0], given[1], targets, given[2], chunk=2,
                                            label_smoothing=0.1),
        (states, weight, bias),
    )  # fmt: skip
