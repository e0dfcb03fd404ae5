"""Proximal policy optimization: `ActorCritic`, rewards of tokens, advantages, and the clipped losses.

A text is an episode, each of its tokens an action. Its score comes at the last token; at every token the
policy pays for leaving its reference (Ziegler et al. 2019, eq. 2). Advantages are generalized estimates
(GAE, Schulman et al. 2016, eq. 16), losses those of Schulman et al. 2017: the policy's (eq. 7) and the
value's, clipped alike as in its implementations. Losses are of each token, (B, T), so that the caller sums
them over tokens and counts. `mask` is True at the tokens of the answer, which are adjacent; results are 0
elsewhere. Texts are drawn by `generation/decoding.py`.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..models.language import CausalModel

__all__ = [
    "ActorCritic",
    "AdaptiveKL",
    "PolicyOutput",
    "at_answers",
    "clipped_policy_loss",
    "clipped_value_loss",
    "gae",
    "kl_divergence",
    "text_rewards",
    "token_log_probs",
    "whiten",
]


def token_log_probs(logits: Tensor, tokens: Tensor) -> Tensor:
    """Returns the log-probability (...) of each token by logits (..., V) that foretell it."""
    return logits.float().log_softmax(-1).gather(-1, tokens[..., None])[..., 0]


def text_rewards(
    scores: Tensor, log_probs: Tensor, ref_log_probs: Tensor, mask: Tensor, coefficient: float
) -> Tensor:
    """Returns the reward (B, T) of each token: the penalty, and at the last one the text's score.

    Args:
        scores: (B,) of whole texts.
        log_probs: (B, T) of the drawn tokens, by the policy that drew them.
        ref_log_probs: (B, T), by the reference.
        mask: (B, T), True at tokens of the answer.
        coefficient: beta, nats to rewards.
    """
    rewards = -coefficient * (log_probs - ref_log_probs)
    after = mask.flip(1).cumsum(1).flip(1)  # tokens of the answer from here on
    last = mask & (after == 1)
    return torch.where(last, rewards + scores[:, None], rewards).masked_fill(~mask, 0.0)


@torch.no_grad()
def gae(
    rewards: Tensor, values: Tensor, mask: Tensor, *, gamma: float = 1.0, lam: float = 0.95
) -> tuple[Tensor, Tensor]:
    """Returns advantages and returns (B, T) of texts that have ended.

    delta_t = r_t + gamma V_{t+1} - V_t; A_t = delta_t + gamma lam A_{t+1}; nothing follows the last
    token of an answer. The return is A_t + V_t, the target of a value.

    Args:
        rewards: (B, T).
        values: (B, T), of the state before each token.
        mask: (B, T), True at tokens of the answer.
        gamma: discount of later rewards.
        lam: 0 trusts the values, 1 the rewards alone.

    Raises:
        ValueError: if the tokens of an answer are not adjacent, or a factor is out of [0, 1].
    """
    for name, factor in (("gamma", gamma), ("lam", lam)):
        if not 0 <= factor <= 1:
            raise ValueError(f"{name} {factor:g}: expected a number from 0 to 1")
    begins = mask & ~torch.nn.functional.pad(mask, (1, 0))[:, :-1]
    if bool((begins.sum(1) > 1).any()):
        raise ValueError("mask: the tokens of an answer follow each other without a gap; these have one")
    advantages = torch.zeros_like(values)
    following = torch.zeros_like(values[:, 0])
    value = torch.zeros_like(following)
    for t in range(values.shape[1] - 1, -1, -1):
        here = mask[:, t]
        delta = rewards[:, t] + gamma * value - values[:, t]
        following = torch.where(here, delta + gamma * lam * following, 0.0)
        value = torch.where(here, values[:, t], 0.0)
        advantages[:, t] = following
    return advantages, (advantages + values).masked_fill(~mask, 0.0)


def whiten(values: Tensor, mask: Tensor, *, eps: float = 1e-8) -> Tensor:
    """Returns values shifted and scaled to mean 0 and standard deviation 1 over the mask; 0 elsewhere."""
    there = values[mask]
    if not len(there):
        return torch.zeros_like(values)
    spread = there.std(correction=0) + eps
    return ((values - there.mean()) / spread).masked_fill(~mask, 0.0)


def clipped_policy_loss(
    log_probs: Tensor, old_log_probs: Tensor, advantages: Tensor, mask: Tensor, *, clip: float = 0.2
) -> Tensor:
    """Returns max(-r A, -clip(r, 1 - c, 1 + c) A) of each token (B, T), r the ratio of probabilities.

    Args:
        log_probs: of the tokens, by the policy that learns.
        old_log_probs: by the policy that drew them.
        advantages: from `gae`.
        mask: True at tokens of the answer.
        clip: c, how far a ratio moves before nothing more is gained.
    """
    ratio = (log_probs - old_log_probs).masked_fill(~mask, 0.0).exp()
    plain = -advantages * ratio
    clipped = -advantages * ratio.clamp(1 - clip, 1 + clip)
    return torch.maximum(plain, clipped).masked_fill(~mask, 0.0)


def clipped_value_loss(
    values: Tensor, old_values: Tensor, returns: Tensor, mask: Tensor, *, clip: float = 0.2
) -> Tensor:
    """Returns half the larger of (V - R)² and (V' - R)² of each token (B, T), V' within c of the old value.

    Args:
        values: by the head that learns.
        old_values: by the head when the texts were drawn.
        returns: from `gae`.
        mask: True at tokens of the answer.
        clip: c.
    """
    near = old_values + (values - old_values).clamp(-clip, clip)
    worse = torch.maximum((values - returns).square(), (near - returns).square())
    return (worse / 2).masked_fill(~mask, 0.0)


# The greatest error that counts, as a share of the target.
_MOST = 0.2


def kl_divergence(logits: Tensor, ref_logits: Tensor) -> Tensor:
    """Returns KL(policy || reference) (...) of logits (..., V), in nats, exact."""
    log_p, log_q = logits.float().log_softmax(-1), ref_logits.float().log_softmax(-1)
    return (log_p.exp() * (log_p - log_q)).sum(-1)


@dataclass
class AdaptiveKL:
    """The coefficient of the KL penalty, which rises while the divergence is above its target.

    After Ziegler et al. 2019, 2.2.

    Attributes:
        coefficient: beta, the factor of the penalty.
        target: the divergence to hold, in nats a text.
        gain: K, the most that beta moves at an update, as a share of an error of 1.

    Raises:
        ValueError: if one is not above 0.
    """

    coefficient: float = 0.2
    target: float = 6.0
    gain: float = 0.1

    def __post_init__(self) -> None:
        for name in ("coefficient", "target", "gain"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} {getattr(self, name):g}: expected a number above 0")

    def update(self, divergence: float) -> float:
        """Moves beta by the observed divergence; returns it.

        e = clip(divergence / target - 1, -0.2, 0.2), then beta (1 + K e).
        """
        error = min(max(divergence / self.target - 1, -_MOST), _MOST)
        self.coefficient *= 1 + self.gain * error
        return self.coefficient


@dataclass(frozen=True)
class PolicyOutput:
    """Outputs of a policy at the tokens of answers, (B, T) each, 0 elsewhere.

    Attributes:
        log_probs: of each token.
        values: of the state before it.
        entropy: of the distribution that it was drawn from, in nats; without gradient.
        kl: its exact divergence from the reference's, in nats, without gradient; `None` without a
            reference.
    """

    log_probs: Tensor
    values: Tensor
    entropy: Tensor
    kl: Tensor | None


class ActorCritic(nn.Module):
    """See the module.

    The value head reads the states of the policy's backbone; it begins with 0 everywhere and is not part of
    the run that is left. Rows are padded on the right: a causal model looks at nothing to come, so padding
    needs no mask.

    Args:
        policy: the model; its parameters keep their names.
    """

    def __init__(self, policy: CausalModel) -> None:
        super().__init__()
        self.backbone = policy.backbone
        self.head = policy.head
        self.value = nn.Linear(policy.backbone.d_out, 1)
        nn.init.zeros_(self.value.weight)
        nn.init.zeros_(self.value.bias)

    @property
    def policy(self) -> CausalModel:
        """The policy alone, of the same parameters."""
        return CausalModel(self.backbone, self.head).train(self.training)

    def forward(self, ids: Tensor, mask: Tensor, reference: Tensor | None = None) -> PolicyOutput:
        """Reads texts.

        Args:
            ids: (B, T + 1), prompts and answers, padded on the right with any id.
            mask: (B, T), True where `ids[:, 1:]` is a token of an answer.
            reference: (N, V) log-probabilities of the reference at the N tokens of answers, row by row.
        """
        states = self.backbone(ids[:, :-1])[mask]
        log_probs = self.head(states, self.backbone).float().log_softmax(-1)
        taken = log_probs.gather(-1, ids[:, 1:][mask][:, None])[:, 0]
        with torch.no_grad():
            probs = log_probs.exp()
            entropy = -(probs * log_probs).sum(-1)
            kl = None if reference is None else (probs * (log_probs - reference)).sum(-1)
        values = self.value(states).float()[:, 0]
        return PolicyOutput(
            at_answers(taken, mask), at_answers(values, mask), at_answers(entropy, mask),
            None if kl is None else at_answers(kl, mask),
        )  # fmt: skip


def at_answers(values: Tensor, mask: Tensor) -> Tensor:
    """Returns values (N,) of the tokens of answers at their places (B, T), 0 elsewhere."""
    return torch.zeros(mask.shape, dtype=values.dtype, device=values.device).masked_scatter(mask, values)
