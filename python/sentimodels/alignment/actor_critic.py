"""`ActorCritic`: the policy, a causal model, with a value of each state beside its logits.

The value head reads the states of the policy's backbone; it begins with 0 everywhere and is no part of
the run that is left. Rows are padded on the right: a causal model looks at nothing to come, so padding
needs no mask. Not for drawing answers (`rollout.py`).
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..models.language import CausalModel

__all__ = ["ActorCritic", "PolicyOutput", "at_answers"]


@dataclass(frozen=True)
class PolicyOutput:
    """What a policy says of the tokens of answers, (B, T) each, 0 elsewhere.

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
