"""Direct preference optimization (Rafailov et al. 2023, eq. 7): learning from pairs, without a reward model.

For a prompt with a chosen and a rejected answer the loss is

    -log sigmoid(beta ((log p(chosen) - log q(chosen)) - (log p(rejected) - log q(rejected))))

p the policy that learns, q its frozen reference. Where preferences follow a reward r (Bradley and Terry
1952), its minimum is p ∝ q exp(r / beta), which PPO with the penalty beta seeks too. Not for reading
pairs, nor for log-probabilities (`ppo.token_log_probs`).
"""

import torch.nn.functional as F
from torch import Tensor

__all__ = ["dpo_loss", "dpo_rewards"]


def dpo_rewards(log_probs: Tensor, ref_log_probs: Tensor, *, beta: float = 0.1) -> Tensor:
    """Returns the implicit reward (B,) of whole answers, beta (log p - log q)."""
    return beta * (log_probs - ref_log_probs)


def dpo_loss(
    chosen: Tensor, rejected: Tensor, ref_chosen: Tensor, ref_rejected: Tensor, *, beta: float = 0.1
) -> Tensor:
    """Returns the loss (B,) of each pair.

    Args:
        chosen: (B,) log-probabilities of the chosen answers, summed over their tokens, by the policy.
        rejected: of the rejected ones.
        ref_chosen: of the chosen ones, by the reference.
        ref_rejected: of the rejected ones.
        beta: how dear it is to leave the reference.

    Raises:
        ValueError: if beta is not above 0.
    """
    if not beta > 0:
        raise ValueError(f"beta {beta:g}: expected a number above 0")
    margin = dpo_rewards(chosen, ref_chosen, beta=beta) - dpo_rewards(rejected, ref_rejected, beta=beta)
    return -F.logsigmoid(margin)
