"""Positions: sinusoidal, learned, rotary and ALiBi, against the formulas of their papers."""

import numpy as np
import pytest
import torch

from sentimodels.models.encoder import EncoderConfig
from sentimodels.nn.embedding import Learned, Sinusoidal, alibi, rotary_angles, rotate
from sentimodels.nn.transformer import Block, Reading


@pytest.fixture(autouse=True)
def _seeded_torch() -> None:
    torch.manual_seed(5)


def test_sinusoidal_is_its_formula() -> None:
    found = Sinusoidal(6)(torch.zeros(1, 9, 6), torch.arange(9))[0]
    for place in range(9):
        for i in range(3):
            angle = place / 10_000 ** (2 * i / 6)
            assert found[place, 2 * i].item() == pytest.approx(np.sin(angle), abs=1e-6)
            assert found[place, 2 * i + 1].item() == pytest.approx(np.cos(angle), abs=1e-6)


def test_rotary_depends_on_distance_alone() -> None:
    q, k = torch.randn(8, dtype=torch.float64), torch.randn(8, dtype=torch.float64)
    cos, sin = rotary_angles(torch.arange(30), 8, 10_000.0)
    turned_q = rotate(q.expand(1, 1, 30, 8), cos.double(), sin.double())[0, 0]
    turned_k = rotate(k.expand(1, 1, 30, 8), cos.double(), sin.double())[0, 0]
    for distance in (0, 3, 11):
        products = [turned_q[i + distance] @ turned_k[i] for i in range(10)]
        assert max(products) - min(products) < 1e-5  # the angles are float32
    assert abs(turned_q[5] @ turned_k[0] - turned_q[6] @ turned_k[0]) > 1e-3


# Traced into one graph, which torch runs as it is, or made a kernel by its compiler, which takes seconds.
@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=pytest.mark.slow)])
@pytest.mark.filterwarnings("default")  # the compiler's own
def test_compiled_angles_are_the_same(backend: str) -> None:
    """Of positions of all texts and of each; under the compiler a custom operator makes them."""
    compiled = torch.compile(
        lambda positions: rotary_angles(positions, 6, 100.0), fullgraph=True, backend=backend
    )
    for positions in (torch.arange(5), torch.arange(10).view(2, 5) + 3):
        for one, other in zip(compiled(positions), rotary_angles(positions, 6, 100.0), strict=True):
            torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-6)
    torch.library.opcheck(torch.ops.sentimodels.rotary_angles, (torch.arange(5), 6, 100.0))


def test_a_model_turns_its_heads_alike_in_training_and_after_it() -> None:
    config = EncoderConfig(
        d_model=24, n_layers=1, n_heads=4, n_kv_heads=2, positions="rotary", dropout=0.0, causal=True
    )
    block, x = Block(config).double(), torch.randn(2, 5, 24, dtype=torch.float64)
    cosines, sines = rotary_angles(torch.arange(5), 6, 10_000.0)
    reading = Reading(angles=(cosines.double(), sines.double()))
    trained = block(x, reading)
    with torch.no_grad():  # torch takes other kernels here, whose last bits differ on some processors
        torch.testing.assert_close(block(x, reading), trained, atol=1e-14, rtol=1e-13)


def test_alibi_is_the_papers() -> None:
    bias = alibi(torch.arange(4), torch.arange(4), 8)
    assert bias.shape == (1, 8, 4, 4)
    assert bias[0, 0, 3, 1] == -2 * 0.5
    assert bias[0, 7, 0, 3] == -3 * 2.0**-8
    # Six heads: the four slopes of four heads, then every other one of eight.
    assert (-alibi(torch.arange(2), torch.arange(2), 6)[0, :, 0, 1]).tolist() == [
        *(2.0**-e for e in (2, 4, 6, 8)),
        *(2.0**-e for e in (1, 3)),
    ]


def test_learned_positions_end_with_an_error() -> None:
    with pytest.raises(ValueError, match=r"9 tokens, but positions are learned for 8: raise model\.max_len"):
        Learned(8, 4, 0.1)(torch.zeros(1, 9, 4), 0)
