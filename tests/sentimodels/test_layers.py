"""The bricks against what they are defined by: explicit formulas, plain loops, torch.nn."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from sentimodels.models import build
from sentimodels.models.encoder import EncoderConfig
from sentimodels.nn.attention import ATTENTION, attention_mask, causal_sum, nystrom, pseudo_inverse
from sentimodels.nn.class_head import Pooling, PoolingKind
from sentimodels.nn.embedding import alibi
from sentimodels.nn.recurrent import Recurrent, reversal, turn
from sentimodels.nn.ssm import scan_chunked, scan_sequential
from sentimodels.nn.transformer import Block, FeedForward, Reading, TransformerConfig
from sentimodels.text.vocabulary import Inputs

B, H, T, K = 3, 2, 150, 8
LENGTHS = torch.tensor([150, 97, 1])
MASK = torch.arange(T) < LENGTHS[:, None]


@pytest.fixture(autouse=True)
def _seeded_torch() -> None:
    torch.manual_seed(5)


def qkv(n_tokens: int = T) -> tuple[Tensor, Tensor, Tensor]:
    q, k, v = (torch.randn(B, H, n_tokens, K, dtype=torch.float64) for _ in range(3))
    return q, k, v


def real(x: Tensor) -> Tensor:
    """The places of (B, H, T, K) where a token is."""
    return x.transpose(1, 2)[MASK[:, : x.shape[2]]]


def elu_formula(q: Tensor, k: Tensor, v: Tensor, seen: Tensor) -> Tensor:
    """The O(n²) form: each weight phi(q).phi(k) alone, rows normalised."""
    q, k = nn.functional.elu(q) + 1, nn.functional.elu(k) + 1
    weight = (q @ k.transpose(-1, -2)) * seen
    return weight / weight.sum(-1, keepdim=True) @ v


def softmax_formula(q: Tensor, k: Tensor, v: Tensor, seen: Tensor) -> Tensor:
    """The O(n²) form: for each query, k normalised over the positions it sees."""
    out = torch.zeros_like(q)
    for t in range(q.shape[2]):
        visible = seen[:, :, t if seen.shape[2] > 1 else 0, :, None]
        keys = k.masked_fill(~visible, float("-inf")).softmax(2)  # (B, H, T, K)
        weight = (q[:, :, t : t + 1].softmax(-1) * keys).sum(-1)  # (B, H, T)
        out[:, :, t] = (weight[..., None] * v.masked_fill(~visible, 0)).sum(2)
    return out


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    ("kind", "formula"), [("linear-elu", elu_formula), ("linear-softmax", softmax_formula)]
)
def test_linear_attention_is_its_quadratic_formula(kind: str, formula: Any, causal: bool) -> None:
    q, k, v = qkv()
    found = ATTENTION[kind](q, k, v, MASK, causal=causal)
    seen = MASK[:, None, None, :].expand(B, 1, T, T)
    if causal:
        seen = seen & torch.ones(T, T, dtype=torch.bool).tril()
    expected = formula(q, k, v, seen)
    torch.testing.assert_close(real(found), real(expected), atol=1e-9, rtol=1e-7)


def test_linear_attention_is_linear_in_memory() -> None:
    """No T x T matrix: at 200,000 tokens one would need 160 GB."""
    q = torch.randn(1, 1, 200_000, 4)
    for kind in ("linear-elu", "linear-softmax", "nystrom"):
        out = ATTENTION[kind](q, q, q)
        assert out.isfinite().all()


def test_causal_sum_is_the_sum_so_far() -> None:
    q, k, v = qkv()
    expected = (q @ k.transpose(-1, -2)).tril() @ v
    torch.testing.assert_close(causal_sum(q, k, v)[0], expected, atol=1e-9, rtol=1e-7)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("biased", [False, True])
def test_softmax_is_plain(causal: bool, biased: bool) -> None:
    q, k, v = qkv()
    places = torch.arange(T)
    bias = alibi(places, places, H).double() if biased else None
    seen = attention_mask(MASK, T, T, causal=causal, bias=bias)
    torch.testing.assert_close(
        real(ATTENTION["softmax"](q, k, v, seen)), real(ATTENTION["plain"](q, k, v, seen))
    )


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("kind", ["softmax", "plain"])
def test_without_a_mask_all_is_visible(kind: str, causal: bool) -> None:
    q, k, v = qkv()
    full = attention_mask(torch.ones(B, T, dtype=torch.bool), T, T, causal=causal)
    assert full is not None
    expected = ATTENTION["plain"](q, k, v, full)
    torch.testing.assert_close(ATTENTION[kind](q, k, v, causal=causal), expected)


@pytest.mark.parametrize("kind", sorted(ATTENTION))
def test_shared_keys_are_repeated_keys(kind: str) -> None:
    q = torch.randn(B, 6, T, K, dtype=torch.float64)
    k, v = (torch.randn(B, 2, T, K, dtype=torch.float64) for _ in range(2))
    expected = ATTENTION[kind](q, k.repeat_interleave(3, 1), v.repeat_interleave(3, 1))
    torch.testing.assert_close(ATTENTION[kind](q, k, v), expected)


@pytest.mark.parametrize("kind", ["linear-elu", "linear-softmax"])
def test_sums_are_formed_in_float32_under_autocast(kind: str) -> None:
    """A sum of 4,000 terms in bfloat16 stops growing at 256 times a term."""
    q, k, v = (torch.randn(1, 1, 4000, K).bfloat16() for _ in range(3))
    with torch.autocast("cpu", torch.bfloat16):
        found = ATTENTION[kind](q, k, v, causal=True)
    assert found.dtype == torch.bfloat16
    expected = ATTENTION[kind](q.double(), k.double(), v.double(), causal=True)
    assert (found.double() - expected).abs().max() < 0.02


def test_the_inverse_is_formed_in_float32_under_autocast() -> None:
    q, k, v = (torch.randn(1, 1, 64, K).bfloat16() for _ in range(3))
    with torch.autocast("cpu", torch.bfloat16):
        found = nystrom(q, k, v, landmarks=8)
    expected = nystrom(q.double(), k.double(), v.double(), landmarks=8)
    assert (found.double() - expected).abs().max() < 0.02


def test_nystrom_is_exact_with_a_landmark_for_each_token() -> None:
    q, k, v = (0.5 * x for x in qkv(12))
    mask = torch.arange(12) < torch.tensor([12, 7, 1])[:, None]
    expected = ATTENTION["plain"](q, k, v, attention_mask(mask, 12, 12, causal=False))
    found = nystrom(q, k, v, mask, landmarks=12)
    difference = (found - expected).transpose(1, 2)[mask].abs().max()
    # The rest is the pseudo-inverse, which is iterated.
    assert difference < 0.02


def nystrom_formula(q: Tensor, k: Tensor, v: Tensor, m: int) -> Tensor:
    """One text without padding, (T, K): segments by a loop, the inverse of its landmarks alone."""
    n = len(q)
    segments = [[i for i in range(n) if i * m // n == s] for s in range(m)]
    q_mean = torch.stack([q[s].mean(0) for s in segments])
    k_mean = torch.stack([k[s].mean(0) for s in segments])
    root = q.shape[-1] ** 0.5
    first, between = (q @ k_mean.T / root).softmax(-1), (q_mean @ k_mean.T / root).softmax(-1)
    out: Tensor = first @ pseudo_inverse(between) @ ((q_mean @ k.T / root).softmax(-1) @ v)
    return out


def test_nystrom_is_its_formula_under_padding() -> None:
    q, k, v = qkv()
    found = nystrom(q, k, v, MASK, landmarks=6)
    for row, length in enumerate(LENGTHS.tolist()):
        for head in range(H):
            one, two, three = (x[row, head, :length] for x in (q, k, v))
            expected = nystrom_formula(one, two, three, min(6, length))
            torch.testing.assert_close(found[row, head, :length], expected)


def test_pseudo_inverse_is_numpys() -> None:
    a = (2 * torch.randn(4, 6, 6, dtype=torch.float64)).softmax(-1)
    expected = torch.from_numpy(np.linalg.pinv(a.numpy()))
    torch.testing.assert_close(pseudo_inverse(a, steps=20), expected, atol=1e-6, rtol=1e-5)
    a[:, 4:] = 0
    a[:, :, 4:] = 0
    z = pseudo_inverse(a, steps=20)
    assert (z[:, 4:] == 0).all()
    assert (z[:, :, 4:] == 0).all()


def test_block_is_torchs_encoder_layer() -> None:
    """Copied weights, pre- and post-norm, with padding."""
    for first in (True, False):
        config = TransformerConfig(
            d_model=16, n_heads=4, activation="gelu", dropout=0, norm_order="pre" if first else "post"
        )
        ours = Block(config).eval()
        for norm in (ours.attention_norm, ours.feed_forward_norm):
            assert isinstance(norm.weight, torch.Tensor)
            nn.init.normal_(norm.weight)
        theirs = nn.TransformerEncoderLayer(16, 4, 64, 0.0, "gelu", batch_first=True, norm_first=first).eval()
        theirs.load_state_dict(
            {
                "self_attn.in_proj_weight": ours.attention.qkv_proj.weight,
                "self_attn.in_proj_bias": ours.attention.qkv_proj.bias,
                "self_attn.out_proj.weight": ours.attention.project_out.weight,
                "self_attn.out_proj.bias": ours.attention.project_out.bias,
                "linear1.weight": ours.feed_forward.project_in.weight,
                "linear1.bias": ours.feed_forward.project_in.bias,
                "linear2.weight": ours.feed_forward.project_out.weight,
                "linear2.bias": ours.feed_forward.project_out.bias,
                "norm1.weight": ours.attention_norm.weight,
                "norm1.bias": ours.attention_norm.bias,
                "norm2.weight": ours.feed_forward_norm.weight,
                "norm2.bias": ours.feed_forward_norm.bias,
            }
        )
        x = torch.randn(B, T, 16)
        found = ours(x, Reading(attention_mask(MASK, T, T, causal=False)))
        expected = theirs(x, src_key_padding_mask=~MASK)
        torch.testing.assert_close(found[MASK], expected[MASK], atol=1e-5, rtol=1e-5)


# (activation, the same by torch or written out)
ACTIVATIONS = [
    ("relu", lambda x: x.clamp(min=0)),
    ("gelu", lambda x: x * 0.5 * (1 + torch.erf(x / 2**0.5))),
    ("gelu-tanh", lambda x: x / 2 * (1 + torch.tanh((2 / np.pi) ** 0.5 * (x + 0.044715 * x**3)))),
    ("gelu-quick", lambda x: x / (1 + torch.exp(-1.702 * x))),
    ("silu", lambda x: x / (1 + torch.exp(-x))),
    ("relu2", lambda x: x.clamp(min=0) ** 2),
]


@pytest.mark.parametrize(("name", "formula"), ACTIVATIONS)
def test_activations(name: Any, formula: Any) -> None:
    part = FeedForward(TransformerConfig(d_model=8, n_heads=2, activation=name))
    x = torch.randn(5, 8)
    expected = part.project_out(formula(part.project_in(x)))
    torch.testing.assert_close(part(x), expected)


def test_swiglu() -> None:
    part = FeedForward(TransformerConfig(d_model=48, n_heads=2, activation="swiglu", biases=False))
    assert part.project_out.weight.shape == (48, 128)  # floor(8 * 48 / 3 / 64) * 64
    x = torch.randn(5, 48)
    gate, value = part.project_in.weight.chunk(2)
    expected = (nn.functional.silu(x @ gate.T) * (x @ value.T)) @ part.project_out.weight.T
    torch.testing.assert_close(part(x), expected)


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize(("kind", "theirs"), [("rnn", nn.RNN), ("gru", nn.GRU), ("lstm", nn.LSTM)])
def test_recurrent_is_torchs_on_packed_texts(kind: Any, theirs: type, bidirectional: bool) -> None:
    ours = Recurrent(kind, 5, 8, 2, bidirectional, 0.0)
    packed = theirs(5, 4 if bidirectional else 8, 2, batch_first=True, bidirectional=bidirectional)
    weights: dict[str, Tensor] = {}
    for layer, cells in enumerate(ours.layers):
        assert isinstance(cells, nn.ModuleList)
        for way, cell in enumerate(cells):
            end = f"l{layer}" + ("_reverse" if way else "")
            weights |= {key.replace("l0", end): value for key, value in cell.state_dict().items()}
    packed.load_state_dict(weights)
    x = torch.randn(B, T, 5)
    states, last = packed(pack_padded_sequence(x, LENGTHS, batch_first=True, enforce_sorted=False))
    expected, _ = pad_packed_sequence(states, batch_first=True, total_length=T)
    found = ours(x, MASK)
    torch.testing.assert_close(found[MASK], expected[MASK], atol=1e-5, rtol=1e-5)
    # `last` is the final state of each direction.
    final = last[0] if kind == "lstm" else last
    final = torch.cat((final[-2], final[-1]), -1) if bidirectional else final[-1]
    pooled = Pooling("last", 8, ours.backward_width)(found, MASK)
    torch.testing.assert_close(pooled, final, atol=1e-5, rtol=1e-5)


def test_turning_twice_is_nothing() -> None:
    x = torch.randn(B, T, 2)
    places = reversal(MASK)
    once = turn(x, places)
    assert torch.equal(once[1, 0], x[1, 96])
    assert torch.equal(once[1, 97:], x[1, 97:])
    assert torch.equal(turn(once, places), x)


@pytest.mark.parametrize("chunk", [1, 7, 64, 1000])
def test_chunked_scan_is_the_recurrence(chunk: int) -> None:
    x = torch.randn(B, T, H, K, dtype=torch.float64)
    a = -torch.rand(B, T, H, dtype=torch.float64) * 3
    b, c = (torch.randn(B, T, 5, dtype=torch.float64) for _ in range(2))
    torch.testing.assert_close(scan_chunked(x, a, b, c, chunk)[0], scan_sequential(x, a, b, c))


def test_scan_of_strong_decay_stays_finite() -> None:
    x, b, c = torch.randn(1, 200, 1, 2), torch.randn(1, 200, 3), torch.randn(1, 200, 3)
    a = torch.full((1, 200, 1), -80.0, requires_grad=True)
    out, _ = scan_chunked(x, a, b, c)
    out.sum().backward()
    assert out.isfinite().all()
    assert a.grad is not None
    assert a.grad.isfinite().all()


STATES = torch.tensor([[[1.0, 8.0], [3.0, 2.0], [99.0, 99.0]], [[4.0, 5.0], [-1.0, -2.0], [0.0, -3.0]]])
SEEN = torch.tensor([[True, True, False], [True, True, True]])
# (kind, backward features, pooled)
POOLED: list[tuple[PoolingKind, int, list[list[float]]]] = [
    ("first", 0, [[1, 8], [4, 5]]),
    ("last", 0, [[3, 2], [0, -3]]),
    ("last", 1, [[3, 8], [0, 5]]),
    ("mean", 0, [[2, 5], [1, 0]]),
    ("max", 0, [[3, 8], [4, 5]]),
    ("mean-max", 0, [[2, 5, 3, 8], [1, 0, 4, 5]]),
    ("cls", 0, [[1, 8], [4, 5]]),
]


@pytest.mark.parametrize(("kind", "backward", "expected"), POOLED)
def test_pooling(kind: PoolingKind, backward: int, expected: list[list[float]]) -> None:
    found = Pooling(kind, 2, backward)(STATES, SEEN)
    torch.testing.assert_close(found, torch.tensor(expected).float())


def test_attention_pooling_weighs_real_tokens() -> None:
    pooling = Pooling("attention", 2)
    found = pooling(STATES, SEEN)
    weight = pooling.score(STATES[0, :2]).softmax(0)
    torch.testing.assert_close(found[0], (weight * STATES[0, :2]).sum(0))


def test_pooling_of_nothing_is_zero() -> None:
    nothing = torch.zeros(2, 3, dtype=torch.bool)
    kinds: list[PoolingKind] = ["first", "last", "mean", "max", "mean-max", "attention"]
    for kind in kinds:
        assert (Pooling(kind, 2)(STATES, nothing) == 0).all(), kind


def test_an_encoder_of_one_text_is_that_of_a_batch_in_double() -> None:
    """The same contract at double precision: what differs is not rounding."""
    config = EncoderConfig(d_model=16, n_heads=2, n_layers=1, embedding_dropout=0, dropout=0)
    model = build("encoder", config, Inputs(20, 3, 0)).double().eval()
    ids = torch.randint(0, 20, (B, T)) * MASK
    together = model(ids, MASK)
    alone = torch.cat([model(ids[i : i + 1, :n], MASK[i : i + 1, :n]) for i, n in enumerate(LENGTHS)])
    torch.testing.assert_close(together, alone, atol=1e-12, rtol=0)
