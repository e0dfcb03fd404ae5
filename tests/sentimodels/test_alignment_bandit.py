"""PPO on a bandit whose answer is known: one opening, one token to draw, and its reward."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from alignment_runs import tokenizer
from sentimodels.alignment.ppo import PPO
from sentimodels.alignment.rollout import Drawing
from sentimodels.config import AlignTrainConfig, OptimConfig, PPOConfig
from sentimodels.generation.generate import Limits
from sentimodels.models.language import CausalModel, build_language_model
from sentimodels.runs.families import LANGUAGE_MODEL


def loop_of(worth: Callable[[str], float], steps: int, **task: Any) -> PPO:
    words = tokenizer()
    model = {"d_model": 16, "n_layers": 1, "n_heads": 2}
    config = LANGUAGE_MODEL.resolve({"arch": "gpt", "data": {"context": 8}, "model": model})
    torch.manual_seed(0)
    policy = build_language_model(config, words.vocab_size)
    reference = build_language_model(config, words.vocab_size)
    reference.load_state_dict(policy.state_dict())
    assert isinstance(policy, CausalModel)
    assert isinstance(reference, CausalModel)
    opening = words.encode("film").ids.tolist()
    drawing = Drawing(words, Limits(1), batch_size=256)
    return PPO(
        policy, reference, [opening], drawing,
        lambda some: np.array([worth(text.removeprefix("film")) for text in some]),
        PPOConfig(max_new_tokens=1, mini_batch=128, kl_gain=0, **task),
        OptimConfig(lr=2e-2, weight_decay=0.0, sparse_embeddings=False, schedule="linear", warmup=0.0),
        AlignTrainConfig(max_steps=steps, batch_size=256, precision="float32"),
    )  # fmt: skip


def bandit(
    worth: Callable[[str], float], steps: int, **task: Any
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Returns the probabilities of the first token before and after."""
    loop = loop_of(worth, steps, **task)
    loop.fit()
    models, opening = (loop.reference.policy, loop.model.policy), torch.tensor([loop.openings[0]])
    with torch.no_grad():
        logits = [model.logits(model(opening))[0, -1] for model in models]
    before, after = (one.double().softmax(-1).numpy() for one in logits)
    return before, after


def test_a_policy_finds_the_token_that_is_rewarded() -> None:
    before, after = bandit(lambda text: float(text == "b"), 40, kl_coefficient=1e-3)
    (token,) = tokenizer().encode("b").ids.tolist()
    assert before[token] < 0.01
    assert after[token] > 0.95


def test_first_rewards_that_are_all_the_same_are_not_stretched() -> None:
    sure = math.log(1 - 1e-6) - math.log(1e-6)  # the mean of 256 of it is another number, by rounding
    assert 0 < np.full(256, sure).std() < 1e-14
    loop = loop_of(lambda _: sure, 1, kl_coefficient=1e-3)
    loop.fit()
    assert loop.shift == pytest.approx(sure)
    assert loop.scale == 1.0


def test_with_a_penalty_it_finds_the_optimum_in_closed_form() -> None:
    """Of the policies p, reward - beta KL(p, q) is greatest for q exp(reward / beta), normalised."""
    beta = 0.4

    def worth(text: str) -> float:
        return float(text.strip().isalpha() and text.isascii())

    before, after = bandit(worth, 50, kl_coefficient=beta, normalise=False)
    words = tokenizer()
    rewards = np.array([worth(words.decode([id])) for id in range(words.vocab_size)])
    best = before * np.exp(rewards / beta)
    best /= best.sum()
    value = (best * (rewards - beta * np.log(best / before))).sum()
    assert value == pytest.approx(beta * math.log((before * np.exp(rewards / beta)).sum()))
    share = rewards > 0
    assert before[share].sum() < 0.5 < best[share].sum() - 0.2
    assert after[share].sum() == pytest.approx(best[share].sum(), abs=0.04)
    found = (after * (rewards - beta * np.log(after / before))).sum()
    at_start = (before * rewards).sum()
    assert value - found < 0.1 * (value - at_start)
