"""PPO, GAE, KL and DPO against plain oracles, and on bandits whose answer is known."""

import itertools
import math

import pytest
import torch
from torch import Tensor

from oracles import alignment as oracle
from sentimodels.alignment.dpo import dpo_loss, dpo_rewards
from sentimodels.alignment.ppo_loss import (
    AdaptiveKL,
    clipped_policy_loss,
    clipped_value_loss,
    gae,
    kl_divergence,
    text_rewards,
    token_log_probs,
    whiten,
)


def drawn(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


# The places of the answers of five texts in rows of six places; the last has no answer.
SPANS = [(0, 6), (2, 6), (0, 1), (3, 5), (6, 6)]
MASK = torch.tensor([[start <= place < end for place in range(6)] for start, end in SPANS])


def spans(values: Tensor) -> list[list[float]]:
    return [values[row, start:end].tolist() for row, (start, end) in enumerate(SPANS)]


def expect(found: Tensor, expected: list[list[float]]) -> None:
    assert spans(found) == [pytest.approx(row, rel=1e-6, abs=1e-9) for row in expected]
    assert (found[~MASK] == 0).all()


def test_rewards_of_tokens() -> None:
    scores, log_probs, ref = drawn(5, seed=1), drawn(5, 6, seed=2), drawn(5, 6, seed=3)
    found = text_rewards(scores, log_probs, ref, MASK, 0.3)
    given = zip(scores.tolist(), spans(log_probs), spans(ref), strict=True)
    expect(found, [oracle.rewards(s, p, q, 0.3) if p else [] for s, p, q in given])


@pytest.mark.parametrize(("gamma", "lam"), [(1.0, 0.95), (0.9, 0.5), (0.99, 0.0), (1.0, 1.0), (0.0, 0.7)])
def test_advantages_are_the_sums_of_the_paper(gamma: float, lam: float) -> None:
    rewards, values = drawn(5, 6, seed=4), drawn(5, 6, seed=5)
    advantages, returns = gae(rewards, values, MASK, gamma=gamma, lam=lam)
    expected = [
        oracle.advantages(r, v, gamma, lam) for r, v in zip(spans(rewards), spans(values), strict=True)
    ]
    expect(advantages, expected)
    expect(
        returns,
        [[a + v for a, v in zip(*row, strict=True)] for row in zip(expected, spans(values), strict=True)],
    )
    # Tokens next to an answer are not read.
    noise = 100 * drawn(5, 6, seed=6)
    again = gae(
        torch.where(MASK, rewards, noise), torch.where(MASK, values, noise), MASK, gamma=gamma, lam=lam
    )
    assert torch.equal(again[0], advantages)
    assert torch.equal(again[1], returns)


def test_with_exact_values_and_no_noise_nothing_is_an_advantage() -> None:
    rewards = drawn(5, 6, seed=7).masked_fill(~MASK, 0)
    values = rewards.flip(1).cumsum(1).flip(1)  # what is still to come
    advantages, _ = gae(rewards, values, MASK, lam=0.95)
    torch.testing.assert_close(advantages, torch.zeros_like(advantages), atol=1e-12, rtol=0)


def test_advantages_are_refused_where_they_make_no_sense() -> None:
    values = torch.zeros(1, 3)
    with pytest.raises(ValueError, match="without a gap"):
        gae(values, values, torch.tensor([[True, False, True]]))
    with pytest.raises(ValueError, match=r"lam 1\.5: expected a number from 0 to 1"):
        gae(values, values, torch.ones(1, 3, dtype=torch.bool), lam=1.5)


def test_clipped_losses() -> None:
    log_probs, old = (0.5 * drawn(5, 6, seed=seed) for seed in (8, 9))
    advantages, values, old_values, returns = (drawn(5, 6, seed=seed) for seed in (10, 11, 12, 13))
    for loss, plain, given in (
        (clipped_policy_loss, oracle.policy_loss, (log_probs, old, advantages)),
        (clipped_value_loss, oracle.value_loss, (values, old_values, returns)),
    ):
        rows = zip(*map(spans, given), strict=True)
        expected = [[plain(a, b, c, 0.2) for a, b, c in zip(*row, strict=True)] for row in rows]
        expect(loss(*given, MASK, clip=0.2), expected)


def test_gradients_are_those_of_the_oracle() -> None:
    """By central differences; and none where a ratio has moved as far as it may."""
    given = [(-1.0, -1.1, 0.7), (-0.5, -1.5, 0.7), (-2.0, -1.0, 0.7), (-2.0, -1.0, -0.7), (-0.5, -1.5, -0.7)]
    log_probs = torch.tensor([[one[0] for one in given]], dtype=torch.float64, requires_grad=True)
    old, advantages = (torch.tensor([[one[i] for one in given]], dtype=torch.float64) for i in (1, 2))
    clipped_policy_loss(log_probs, old, advantages, torch.ones(1, 5, dtype=torch.bool)).sum().backward()
    assert log_probs.grad is not None
    h = 1e-6
    for slope, (p, q, a) in zip(log_probs.grad[0].tolist(), given, strict=True):
        expected = (oracle.policy_loss(p + h, q, a, 0.2) - oracle.policy_loss(p - h, q, a, 0.2)) / (2 * h)
        assert slope == pytest.approx(expected, abs=1e-6)
    assert [slope == 0 for slope in log_probs.grad[0].tolist()] == [False, True, False, True, False]


def test_masked_places_send_no_gradient_even_where_they_are_infinite() -> None:
    log_probs = drawn(5, 6, seed=14).masked_fill(~MASK, float("-inf")).requires_grad_()
    clipped_policy_loss(log_probs, torch.zeros(5, 6), torch.ones(5, 6), MASK).sum().backward()
    assert log_probs.grad is not None
    assert log_probs.grad.isfinite().all()


def test_whitened_values() -> None:
    found = whiten(3 + 5 * drawn(5, 6, seed=15), MASK)
    assert float(found[MASK].mean()) == pytest.approx(0, abs=1e-9)
    assert float(found[MASK].std(correction=0)) == pytest.approx(1)
    assert (found[~MASK] == 0).all()
    assert (whiten(torch.ones(2, 3), torch.ones(2, 3, dtype=torch.bool)) == 0).all()
    assert (whiten(torch.ones(2, 3), torch.zeros(2, 3, dtype=torch.bool)) == 0).all()


def test_log_probabilities_of_tokens() -> None:
    logits, tokens = drawn(2, 3, 4, seed=16), torch.tensor([[0, 3, 1], [2, 2, 0]])
    found = token_log_probs(logits, tokens)
    for row, place in itertools.product(range(2), range(3)):
        expected = logits[row, place].softmax(0)[tokens[row, place]].log()
        assert float(found[row, place]) == pytest.approx(float(expected), rel=1e-6)


def test_divergence_is_exact() -> None:
    logits, ref = drawn(7, seed=17), drawn(7, seed=18)
    p, q = logits.softmax(0), ref.softmax(0)
    expected = oracle.kl(p.tolist(), q.tolist())
    assert float(kl_divergence(logits, ref)) == pytest.approx(expected, rel=1e-5)
    assert float(kl_divergence(logits, logits + 3)) == pytest.approx(0, abs=1e-6)


def test_the_penalty_follows_its_target() -> None:
    observed = [0.1, 3.0, 6.0, 6.5, 20.0, 5.9]
    control = AdaptiveKL(0.2, target=6.0, gain=0.1)
    assert [control.update(one) for one in observed] == pytest.approx(
        oracle.controller(0.2, 6.0, 0.1, observed)
    )
    for wrong in ({"coefficient": 0.0}, {"target": -1.0}, {"gain": math.nan}):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))} .*: expected a number above 0"):
            AdaptiveKL(**wrong)


def test_preferences() -> None:
    given = [5 * drawn(6, seed=seed) for seed in range(20, 24)]
    found = dpo_loss(*given, beta=0.5)
    rows = zip(*(one.tolist() for one in given), strict=True)
    assert found.tolist() == pytest.approx([oracle.dpo(a, b, c, d, 0.5) for a, b, c, d in rows])
    assert dpo_loss(*(torch.zeros(1) for _ in range(4))).item() == pytest.approx(math.log(2))
    assert dpo_rewards(given[0], given[1], beta=2.0).tolist() == pytest.approx(
        (2 * (given[0] - given[1])).tolist()
    )
    far = torch.tensor([1e4])
    assert dpo_loss(-far, far, far, -far, beta=1.0).item() == pytest.approx(4e4)  # no overflow
    with pytest.raises(ValueError, match="beta 0: expected a number above 0"):
        dpo_loss(*given, beta=0.0)


T, V, BETA = 3, 4, 0.5
REFERENCE, WORTH = drawn(T, V, seed=30).float(), drawn(T, V, seed=31).float()
BEST = torch.tensor(
    [oracle.best_policy(REFERENCE[t].softmax(0).tolist(), WORTH[t].tolist(), BETA) for t in range(T)]
)


def test_ppo_finds_the_best_policy_of_a_bandit() -> None:
    """Texts of three tokens, each with a reward: the best policy is q exp(r / beta) at every place."""
    torch.manual_seed(0)
    logits, values = REFERENCE.clone().requires_grad_(), torch.zeros(T, requires_grad=True)
    optimizer = torch.optim.Adam([logits, values], lr=0.03)
    n, mask = 256, torch.ones(256, T, dtype=torch.bool)
    before = (logits.softmax(-1) - BEST).abs().max()
    for round_ in range(120):
        for group in optimizer.param_groups:
            group["lr"] = 0.03 * (1 - round_ / 120)
        with torch.no_grad():
            tokens = torch.multinomial(logits.softmax(-1), n, replacement=True).T  # (n, T)
            old = token_log_probs(logits.expand(n, T, V), tokens)
            ref = token_log_probs(REFERENCE.expand(n, T, V), tokens)
            scores = WORTH[torch.arange(T), tokens].sum(1)
            old_values = values.expand(n, T).clone()
            advantages, returns = gae(text_rewards(scores, old, ref, mask, BETA), old_values, mask)
            advantages = whiten(advantages, mask)
        for _ in range(4):
            now = token_log_probs(logits.expand(n, T, V), tokens)
            loss = clipped_policy_loss(now, old, advantages, mask).mean()
            loss = loss + clipped_value_loss(values.expand(n, T), old_values, returns, mask).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    found = logits.detach().softmax(-1)
    assert before > 0.3
    torch.testing.assert_close(found, BEST, atol=0.05, rtol=0)
    # The score comes at the end: a value is all of it, less the penalties still to pay.
    penalties = BETA * (found * (found / REFERENCE.softmax(-1)).log()).sum(-1)
    expected = (found * WORTH).sum() - penalties.flip(0).cumsum(0).flip(0)
    torch.testing.assert_close(values.detach(), expected, atol=0.15, rtol=0)


def test_dpo_finds_the_best_policy_from_preferences() -> None:
    """Every pair of tokens, as often as Bradley and Terry prefer it."""
    reference, worth = REFERENCE[0], WORTH[0]
    logits = reference.clone().requires_grad_()
    optimizer = torch.optim.Adam([logits], lr=0.05)
    chosen, rejected = (torch.tensor(side) for side in zip(*itertools.permutations(range(V), 2), strict=True))
    often = (worth[chosen] - worth[rejected]).sigmoid()
    for _ in range(400):
        log_p, log_q = logits.log_softmax(0), reference.log_softmax(0)
        losses = dpo_loss(log_p[chosen], log_p[rejected], log_q[chosen], log_q[rejected], beta=BETA)
        optimizer.zero_grad()
        (often * losses).sum().backward()
        optimizer.step()
    torch.testing.assert_close(logits.detach().softmax(0), BEST[0], atol=1e-3, rtol=0)
