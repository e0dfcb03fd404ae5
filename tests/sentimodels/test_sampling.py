"""Sampling against a plain oracle and transformers' processors of logits."""

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from sentimodels.errors import CheckpointError, ConfigError
from sentimodels.generation.sampling import Draws, Sampling

V = 40
RULES: list[dict[str, Any]] = [
    {},
    {"temperature": 0.4},
    {"temperature": 3.0, "top_k": 5},
    {"top_k": 1},
    {"top_k": 1000},
    {"top_p": 0.5},
    {"top_p": 1e-9},
    {"top_p": 1.0, "min_p": 0.2},
    {"min_p": 1.0},
    {"repetition_penalty": 1.7},
    {"repetition_penalty": 0.6, "temperature": 0.8, "top_k": 12, "top_p": 0.8, "min_p": 0.1},
]


def oracle(rule: Sampling, logits: list[float], seen: set[int]) -> list[float]:
    """The probability of each token, one token at a time."""
    scores = []
    for id, logit in enumerate(logits):
        if id in seen:
            logit = logit / rule.repetition_penalty if logit > 0 else logit * rule.repetition_penalty
        scores.append(logit / rule.temperature)
    kept = sorted(range(len(scores)), key=lambda one: -scores[one])[: rule.top_k]
    if rule.top_p is not None:
        total, mass, some = sum(math.exp(scores[id]) for id in kept), 0.0, []
        for id in kept:
            if mass < rule.top_p * total:
                some.append(id)
            mass += math.exp(scores[id])
        kept = some
    if rule.min_p is not None:
        kept = [id for id in kept if math.exp(scores[id] - scores[kept[0]]) >= rule.min_p]
    total = sum(math.exp(scores[id]) for id in kept)
    return [math.exp(score) / total if id in kept else 0.0 for id, score in enumerate(scores)]


def rows(seed: int, n: int = 3, size: int = V) -> tuple[Tensor, Tensor]:
    drawn = torch.Generator().manual_seed(seed)
    return 2 * torch.randn(n, size, generator=drawn), torch.rand(n, size, generator=drawn) < 0.3


def distribution(rule: Sampling, logits: Tensor, seen: Tensor) -> Tensor:
    """The probabilities of the draw, in the order of ids."""
    scores, ids = rule.candidates(rule.penalized(logits, seen))
    shares = scores.softmax(-1)
    return shares if ids is None else torch.zeros(logits.shape, dtype=torch.float64).scatter(1, ids, shares)


@pytest.mark.parametrize("given", RULES, ids=str)
def test_distributions_are_the_oracles(given: dict[str, Any]) -> None:
    rule = Sampling(**given)
    logits, seen = rows(1)
    expected = [
        oracle(rule, row.tolist(), set(there.nonzero()[:, 0].tolist()))
        for row, there in zip(logits.double(), seen, strict=True)
    ]
    torch.testing.assert_close(
        distribution(rule, logits, seen), torch.tensor(expected, dtype=torch.float64), atol=1e-6, rtol=0
    )


@pytest.mark.parametrize("given", RULES, ids=str)
def test_distributions_are_transformers(given: dict[str, Any]) -> None:
    made = pytest.importorskip("transformers.generation.logits_process", reason="no transformers")
    rule = Sampling(**given)
    logits, _ = rows(2)
    ids = torch.tensor([[3, 3, 5, 30], [1, 2, 3, 4], [39, 0, 0, 0]])
    steps = [made.RepetitionPenaltyLogitsProcessor(rule.repetition_penalty)]
    steps.append(made.TemperatureLogitsWarper(rule.temperature))
    steps += [made.TopKLogitsWarper(rule.top_k)] if rule.top_k else []
    steps += [made.TopPLogitsWarper(rule.top_p)] if rule.top_p else []
    steps += [made.MinPLogitsWarper(rule.min_p)] if rule.min_p else []
    scores = logits.clone()
    for step in steps:
        scores = step(ids, scores)
    seen = torch.zeros(3, V, dtype=torch.bool).scatter(1, ids, True)
    found = distribution(rule, logits, seen)
    torch.testing.assert_close(found.float(), scores.softmax(-1), atol=1e-6, rtol=0)


@pytest.mark.parametrize("flat", [False, True])
def test_the_likeliest_of_a_large_vocabulary(flat: bool) -> None:
    """Near the top or, where the distribution is flat, far below: the same rule."""
    logits, seen = rows(3, 2, 3000)
    logits = logits * (0.01 if flat else 3)
    rule = Sampling(top_p=0.7)
    expected = [oracle(rule, row.tolist(), set()) for row in logits.double()]
    assert (sum(share > 0 for share in expected[0]) > 1024) == flat
    torch.testing.assert_close(
        distribution(rule, logits, seen), torch.tensor(expected, dtype=torch.float64), atol=1e-9, rtol=0
    )


@pytest.mark.parametrize("given", RULES, ids=str)
def test_tokens_are_drawn_as_often_as_they_should(given: dict[str, Any]) -> None:
    """By numbers that are spread evenly, so that each count is off by two at most."""
    rule, n = Sampling(**given), 4000
    logits, seen = (x[:1].expand(n, -1) for x in rows(4))
    uniform = (torch.arange(n, dtype=torch.float64) + 0.5) / n
    found = Counter(rule.take(logits, uniform, seen).tolist())
    for id, share in enumerate(distribution(rule, logits[:1], seen[:1])[0].tolist()):
        assert abs(found[id] - n * share) <= 2, id


def test_the_ends_of_the_range_draw_tokens_that_can_be() -> None:
    logits = torch.full((2, V), float("-inf"))
    logits[:, [4, 9]] = torch.tensor([0.0, 0.1])
    for uniform in (0.0, math.nextafter(1.0, 0.0)):
        given = torch.full((2,), uniform, dtype=torch.float64)
        assert set(Sampling().take(logits, given).tolist()) <= {4, 9}
        assert set(Sampling(top_p=0.99).take(logits, given).tolist()) <= {4, 9}


def test_temperature_zero_takes_the_likeliest() -> None:
    logits, seen = rows(5)
    assert Sampling(temperature=0).take(logits).tolist() == logits.argmax(-1).tolist()
    tiny = Sampling(temperature=1e-310).take(logits, torch.full((3,), 0.999, dtype=torch.float64))
    assert tiny.tolist() == logits.argmax(-1).tolist()
    best = logits.argmax(-1)
    seen = torch.zeros_like(seen).scatter(1, best[:, None], True)
    assert (Sampling(temperature=0, repetition_penalty=1e9).take(logits, seen=seen) != best).all()


@pytest.mark.parametrize(
    "rule", [{"temperature": 0}, {}, {"top_k": 3}, {"top_p": 0.5}, {"min_p": 0.1}], ids=str
)
def test_logits_that_are_no_numbers_are_refused(rule: dict[str, Any]) -> None:
    logits, _ = rows(5)
    logits[1, 7] = math.nan
    uniform = torch.full((3,), 0.5, dtype=torch.float64)
    with pytest.raises(CheckpointError, match=r"logits are not numbers: its weights are not finite; take"):
        Sampling(**rule).take(logits, uniform)
    far = Sampling(**rule, repetition_penalty=1e-300)
    with pytest.raises(CheckpointError, match=r"or the repetition penalty 1e-300 is too far from 1; take"):
        far.take(logits, uniform, torch.ones_like(logits, dtype=torch.bool))


def test_a_row_draws_the_same_alone() -> None:
    prompts = [[1, 2], [3], [1, 2], [4, 5, 6]]
    together = Draws(7, prompts)
    first = [together.draw(range(4)).tolist() for _ in range(5)]
    for row in (0, 1, 3):
        alone = Draws(7, [prompts[row]])
        assert [alone.draw([0]).item() for _ in range(5)] == [numbers[row] for numbers in first]
    assert first[0][0] != first[0][2]  # copies of a prompt are not the same text
    assert Draws(7, prompts).draw([2, 3]).tolist() == first[0][2:]
    assert Draws(8, prompts).draw([0]).item() != first[0][0]
    assert Draws(None, prompts).draw([0]).item() != Draws(None, prompts).draw([0]).item()


def test_tokens_do_not_depend_on_neighbours() -> None:
    logits, seen = rows(6, 5)
    uniform = torch.rand(5, dtype=torch.float64)
    for given in RULES:
        rule = Sampling(**given)
        together = rule.take(logits, uniform, seen)
        for row in range(5):
            part = slice(row, row + 1)
            assert rule.take(logits[part], uniform[part], seen[part]).item() == together[row].item()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"temperature": -1}, "temperature -1: expected a number from 0"),
        ({"temperature": math.nan}, "temperature nan"),
        ({"temperature": -(10**400)}, "temperature -1000"),
        ({"top_p": 1.0000001}, "top_p 1.0000001: expected a share above 0 and up to 1"),
        ({"top_k": 0}, "top_k 0: expected a whole number from 1"),
        ({"top_p": 0}, "top_p 0: expected a share above 0"),
        ({"top_p": 1.5}, "top_p 1.5"),
        ({"min_p": -0.1}, "min_p -0.1: expected a share from 0 to 1"),
        ({"repetition_penalty": 0}, "repetition_penalty 0: expected a number above 0"),
    ],
)
def test_what_is_out_of_range(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        Sampling(**given)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"temperature": "hot"}, "temperature 'hot': expected a number from 0"),
        ({"temperature": None}, "temperature None: expected"),
        ({"top_k": 2.5}, "top_k 2.5: expected a whole number from 1 on"),
        ({"top_k": True}, "top_k True: expected"),
        ({"top_p": "0.5"}, "top_p '0.5': expected"),
        ({"min_p": True}, "min_p True: expected"),
        ({"repetition_penalty": None}, "repetition_penalty None: expected"),
    ],
)
def test_what_is_no_number(given: dict[str, Any], said: str) -> None:
    with pytest.raises(TypeError, match=said):
        Sampling(**given)


def test_numbers_of_numpy_are_numbers() -> None:
    logits, uniform = torch.randn(4, 9), torch.rand(4, dtype=torch.float64)
    given: Any = (np.float32(0.5), np.int64(3), Fraction(1, 2), np.float64(0.25), 10**30)
    assert Sampling(*given) == Sampling(0.5, 3, 0.5, 0.25, 1e30)
    found = Sampling(*given).take(logits, uniform, torch.ones(4, 9, dtype=torch.bool))
    assert 0 <= int(found.min()) <= int(found.max()) < 9
    assert Sampling(*given[:3]).take(logits, uniform).equal(Sampling(0.5, 3, 0.5).take(logits, uniform))


def test_seeds_are_whole_numbers_from_0_on() -> None:
    with pytest.raises(ConfigError, match="seed -1"):
        Draws(-1, [[1]])
    for wrong in (1.5, True, "1"):
        with pytest.raises(TypeError, match=f"seed {wrong!r}: expected"):
            Draws(wrong, [[1]])  # type: ignore[arg-type]  # 2026-11-26: what it refuses
    Draws((1 << 64) - 1, [[1]])
    with pytest.raises(ConfigError, match=r"seed 18446744073709551616: expected less than 2\*\*64"):
        Draws(1 << 64, [[1]])
    with pytest.raises(ConfigError, match="too long to show"):
        Draws(-(10**5000), [[1]])
