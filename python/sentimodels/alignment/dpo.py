"""`Preferences`: the task of preferring the chosen answer of a pair; see `training.trainer.Task`.

What the reference says of each pair is asked once, before training. Scores are of pairs that are not
trained on, once training has ended: the loss, how often the chosen answer has the greater implicit reward
(beta (log p - log q)), and by how much. The last two are
reported for each batch as well.
"""

from collections.abc import Iterator

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..config import AlignTrainConfig, DPOConfig, TrainingPlan
from ..models.language import CausalModel
from .ppo_loss import at_answers, token_log_probs
from .preferences import PairBatch, PairRows

__all__ = ["Preferences", "answer_log_probs", "dpo_loss", "dpo_rewards", "plan_of"]


class Preferences:
    """See the module.

    Args:
        task: `[task]`.
        train: `[train]`.
        pairs: to train on.
        judge: pairs that judge.
        reference: the policy before training, on the device of training.
    """

    def __init__(
        self,
        task: DPOConfig,
        train: AlignTrainConfig,
        pairs: PairRows,
        judge: PairRows,
        reference: CausalModel,
    ) -> None:
        self.task, self.train, self.pairs, self.judge = task, train, pairs, judge
        size = train.batch_size
        # (2, n): of the chosen and of the rejected answers.
        self._reference, self._of_judge = (_all(reference, rows, size) for rows in (pairs, judge))
        # The same of the last batch, of the policy and of the reference.
        self._last = (torch.zeros(2, 0), torch.zeros(2, 0))

    def plan(self, world: int) -> TrainingPlan:
        """Returns the batches of an epoch and the steps in all."""
        return plan_of(self.train, len(self.pairs), world)

    def batches(self, epoch: int, position: int, rank: int, world: int) -> Iterator[PairBatch]:
        """Yields this process's pairs of each batch: every `world`-th of the batch of all."""
        order = np.random.default_rng([self.train.seed, epoch]).permutation(len(self.pairs))
        size = self.train.batch_size * world
        for start in range(position * size, len(self.pairs), size):
            yield self.pairs.batch(order[start : start + size][rank::world].tolist())

    def loss(self, model: nn.Module, batch: PairBatch) -> tuple[Tensor, int]:
        """Returns the loss summed over pairs, and how many there are."""
        chosen, rejected = answer_log_probs(model, batch)
        ref = self._reference[:, batch.rows].to(chosen.device)
        self._last = torch.stack((chosen.detach(), rejected.detach())), ref
        return dpo_loss(chosen, rejected, ref[0], ref[1], beta=self.task.beta).sum(), len(batch.rows)

    def batch_scores(self) -> dict[str, float]:
        """Returns the share of the last batch's pairs whose chosen answer is preferred, and the margin."""
        rewards = dpo_rewards(*self._last, beta=self.task.beta)
        return _preferred(rewards[0], rewards[1])

    def evaluate(self, model: nn.Module) -> None:
        """Returns nothing: the last weights are kept, as pairs that judge choose none."""

    def scores(self, model: nn.Module) -> dict[str, float]:
        """Returns loss, accuracy, margin, and the implicit rewards of both answers of pairs that judge."""
        policy = _all(model.eval(), self.judge, self.train.batch_size)
        ref = self._of_judge
        losses = dpo_loss(policy[0], policy[1], ref[0], ref[1], beta=self.task.beta)
        chosen, rejected = (dpo_rewards(policy[side], ref[side], beta=self.task.beta) for side in (0, 1))
        return {
            "loss": float(losses.mean()), **_preferred(chosen, rejected),
            "reward_chosen": float(chosen.mean()), "reward_rejected": float(rejected.mean()),
        }  # fmt: skip


def _preferred(chosen: Tensor, rejected: Tensor) -> dict[str, float]:
    """Returns how often the chosen answer has the greater of two implicit rewards (n,), and by how much."""
    margins = chosen - rejected
    # Equal rewards, as before the first step, are a coin's answer.
    right = (margins > 0).double() + (margins == 0).double() / 2
    return {"accuracy": float(right.mean()), "margin": float(margins.mean())}


def plan_of(train: AlignTrainConfig, n_pairs: int, world: int) -> TrainingPlan:
    """Returns the batches of an epoch of so many pairs, and the steps in all."""
    n_batches = -(-n_pairs // (train.batch_size * world))
    most = train.max_steps
    steps = -(-n_batches // train.accumulate) * train.epochs if train.epochs else most or 0
    return TrainingPlan(train.batch_size, n_batches, min(steps, most or steps))


def answer_log_probs(model: nn.Module, batch: PairBatch) -> tuple[Tensor, Tensor]:
    """Returns the log-probabilities (n,) of the chosen and of the rejected answers, summed over tokens."""
    assert isinstance(model, CausalModel)
    device = next(model.parameters()).device
    ids, mask = batch.ids.to(device), batch.mask.to(device)
    logits = model.logits(model(ids[:, :-1])[mask])
    log_probs = token_log_probs(logits, ids[:, 1:][mask])
    rows = at_answers(log_probs, mask).sum(1)
    chosen, rejected = rows.chunk(2)
    return chosen, rejected


@torch.no_grad()
def _all(model: nn.Module, pairs: PairRows, size: int) -> Tensor:
    """Returns the log-probabilities (2, n) of all answers."""
    log_probs = [torch.stack(answer_log_probs(model, batch)) for batch in pairs.batches(size)]
    return torch.cat(log_probs, 1).cpu()


def dpo_rewards(log_probs: Tensor, ref_log_probs: Tensor, *, beta: float = 0.1) -> Tensor:
    """Returns the implicit reward (B,) of whole answers, beta (log p - log q).

    Direct preference optimization (Rafailov et al. 2023, eq. 7): learning from pairs, without a reward
    model.

    For a prompt with a chosen and a rejected answer the loss is

        -log sigmoid(beta ((log p(chosen) - log q(chosen)) - (log p(rejected) - log q(rejected))))

    p the policy that learns, q its frozen reference. Where preferences follow a reward r (Bradley and Terry
    1952), its minimum is p ∝ q exp(r / beta), which PPO with the penalty beta seeks too.
    """
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
