"""PPO, GAE, KL and DPO written out for one text at a time, in plain numbers, from their papers."""

import math
from collections.abc import Sequence

Numbers = Sequence[float]


def rewards(score: float, log_probs: Numbers, ref: Numbers, coefficient: float) -> list[float]:
    """Of each token: the penalty, and the score at the last (Ziegler et al. 2019, eq. 2)."""
    found = [-coefficient * (p - q) for p, q in zip(log_probs, ref, strict=True)]
    found[-1] += score
    return found


def advantages(rewards: Numbers, values: Numbers, gamma: float, lam: float) -> list[float]:
    """The sum of (gamma lam)^k delta_{t+k} (Schulman et al. 2016, eq. 16), term by term."""
    n = len(rewards)
    after = [*values[1:], 0.0]
    delta = [rewards[t] + gamma * after[t] - values[t] for t in range(n)]
    return [math.fsum((gamma * lam) ** k * delta[t + k] for k in range(n - t)) for t in range(n)]


def policy_loss(log_prob: float, old: float, advantage: float, clip: float) -> float:
    """The negative of min(r A, clip(r) A) (Schulman et al. 2017, eq. 7)."""
    ratio = math.exp(log_prob - old)
    return -min(ratio * advantage, min(max(ratio, 1 - clip), 1 + clip) * advantage)


def value_loss(value: float, old: float, target: float, clip: float) -> float:
    near = min(max(value, old - clip), old + clip)
    return max((value - target) ** 2, (near - target) ** 2) / 2


def kl(p: Numbers, q: Numbers) -> float:
    """Of two distributions."""
    return math.fsum(a * math.log(a / b) for a, b in zip(p, q, strict=True) if a)


def controller(beta: float, target: float, gain: float, observed: Numbers) -> list[float]:
    """The coefficients after each divergence (Ziegler et al. 2019, 2.2)."""
    found = []
    for one in observed:
        error = (one - target) / target
        error = -0.2 if error < -0.2 else 0.2 if error > 0.2 else error
        beta = beta * (1 + gain * error)
        found.append(beta)
    return found


def dpo(chosen: float, rejected: float, ref_chosen: float, ref_rejected: float, beta: float) -> float:
    """The loss of a pair (Rafailov et al. 2023, eq. 7)."""
    margin = beta * ((chosen - ref_chosen) - (rejected - ref_rejected))
    return math.log1p(math.exp(-margin)) if margin > 0 else -margin + math.log1p(math.exp(margin))


def best_policy(reference: Numbers, rewards: Numbers, beta: float) -> list[float]:
    """The policy that reward minus beta KL is greatest for: q exp(r / beta), normalised."""
    weights = [q * math.exp(r / beta) for q, r in zip(reference, rewards, strict=True)]
    return [weight / math.fsum(weights) for weight in weights]
