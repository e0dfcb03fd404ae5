"""`PPO`: the loop that has a policy follow a reward, answer by answer.

A step draws answers to a batch of openings, computes their rewards, estimates advantages, and goes over the
answers some times in mini-batches (Schulman et al. 2017; Ziegler et al. 2019). The penalty for leaving the
reference follows its target. The openings and the draws of a step depend on seed and step alone, so a run
that was stopped continues from its state, on a CPU to the same bytes.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..config import AlignTrainConfig, OptimConfig, PPOConfig, TrainingPlan
from ..errors import CheckpointError, TrainingError
from ..models.language import CausalModel
from ..training.device import use_bfloat16
from ..training.distributed import Distributed
from ..training.history import Fit, History, Progress, Record
from ..training.optimizer import Optimizers, clip, make_sparse, norm_of, rate, validate_optim
from ..training.state import load_state, load_weights, save_state, weights_of
from .judge import distinct_n, spread
from .ppo_loss import (
    ActorCritic,
    AdaptiveKL,
    PolicyOutput,
    clipped_policy_loss,
    clipped_value_loss,
    gae,
    text_rewards,
    whiten,
)
from .rollout import Answers, Drawing

__all__ = ["PPO"]

Score = Callable[[list[str]], NDArray[np.float64]]
# Rewards of the first step that differ by no more than this share are the same, except for rounding.
_EQUAL = 1e-6


@dataclass(frozen=True)
class _Rollout:
    """Answers, with the outputs of the policy that drew them."""

    answers: Answers
    rewards: NDArray[np.float64]
    output: PolicyOutput
    ref_log_probs: Tensor


class PPO:
    """See the module.

    Args:
        policy: the model to train, on its device; in place.
        reference: the policy before training; it never moves.
        openings: ids of those to train on.
        drawing: how answers are drawn.
        score: gives the rewards of whole texts.
        task: `[task]`.
        optim: `[optim]`.
        train: `[train]`.
        folder: where `metrics.jsonl` and the state go, or `None`.
        on_record: called with each record.
        should_stop: asked after each step.
    """

    def __init__(
        self,
        policy: CausalModel,
        reference: CausalModel,
        openings: Sequence[Sequence[int]],
        drawing: Drawing,
        score: Score,
        task: PPOConfig,
        optim: OptimConfig,
        train: AlignTrainConfig,
        *,
        folder: Path | None = None,
        on_record: Callable[[Record], None] | None = None,
        should_stop: Callable[[], bool] | None = None,
    ) -> None:
        self.openings, self.drawing, self.score = openings, drawing, score
        self.task, self.optim, self.config, self.folder = task, optim, train, folder
        self.should_stop = should_stop or (lambda: False)
        self.model, self.reference = ActorCritic(policy), ActorCritic(reference)
        device = next(policy.parameters()).device
        self.model.value.to(device)
        self.reference.value.to(device)
        validate_optim(self.model, optim)
        make_sparse(self.model, False)
        # Without dropout: a ratio is of the policy that drew, and begins at 1.
        self.model.eval()
        self.reference.eval().requires_grad_(False)
        self.optimizers = Optimizers(self.model, optim, sparse=())
        self.parameters = list(self.model.parameters())
        named = dict(self.model.named_parameters())
        self.frozen = [value for name, value in named.items() if name.startswith(optim.freeze)]
        self.penalty = AdaptiveKL(task.kl_coefficient, task.kl_target, task.kl_gain or 1.0)
        self.shift, self.scale = 0.0, 1.0
        self.progress = Progress()
        n_batches = -(-len(openings) // train.batch_size)
        steps = n_batches * train.epochs if train.epochs is not None else train.max_steps or 0
        self.plan = TrainingPlan(train.batch_size, n_batches, min(steps, train.max_steps or steps))
        self.bfloat16 = use_bfloat16(train, device)
        self.history = History(folder, on_record, Distributed(device), self.plan, self.progress)

    def fit(self, *, resume: bool = False) -> Fit:
        """Trains, and leaves the last weights in the policy.

        Args:
            resume: whether to continue from the state in the folder.

        Raises:
            TrainingError: if the loss is not finite.
            CheckpointError: if there is no state to resume from.
        """
        if resume and self.folder is not None:
            self._load(self.folder / "state.safetensors")
        at, total = self.progress, self.plan.steps
        began = time.perf_counter() - at.seconds
        self.history.begin(self.model, self.bfloat16)
        stop = "max_steps" if total == self.config.max_steps else "epochs"
        while at.step < total:
            record = self._step()
            at.step += 1
            at.epoch, at.position = divmod(at.step, self.plan.n_batches)
            at.seconds = time.perf_counter() - began
            if at.step % self.config.log_every == 0 or at.step == total:
                self.history.add(record | self.history.speed())
            asked = at.step < total and self.should_stop()
            # At the end too: judging takes a while, and may be broken off.
            if asked or at.step == total or at.step % self.config.save_every == 0:
                self._save()
            if asked:
                stop = "stopped"
                break
        for parameter in self.parameters:
            parameter.requires_grad_(True)
        return Fit(stop, at.step, at.step, None, None, at.seconds, at.tokens, self.history.padding())

    def _load(self, path: Path) -> None:
        parts, saved = load_state(path)
        self.progress = self.history.progress = Progress(**saved["progress"])
        self.penalty.coefficient, self.shift, self.scale = saved["penalty"], saved["shift"], saved["scale"]
        load_weights(self.model, parts["weights"])
        self.optimizers.load(parts.get("optimizers", {}))
        self.history.rewind()

    def _save(self) -> None:
        if self.folder is None:
            return
        saved = {
            "progress": asdict(self.progress), "penalty": self.penalty.coefficient,
            "shift": self.shift, "scale": self.scale,
        }  # fmt: skip
        parts = {"weights": weights_of(self.model), "optimizers": self.optimizers.tensors()}
        save_state(self.folder / "state.safetensors", parts, saved)

    def _step(self) -> Record:
        """Takes a step; returns its record."""
        at = self.progress
        rate_now = self.optimizers.set_rate(rate(at.step, self.plan.steps, self.optim))
        until = self.optim.unfreeze_at
        for parameter in self.frozen:
            parameter.requires_grad_(until is not None and at.step >= until)
        rollout = self._draw()
        losses = self._learn(rollout)
        mask, output = rollout.answers.mask, rollout.output
        kl = float((output.log_probs - rollout.ref_log_probs).double().sum(1).mean())
        coefficient = self.penalty.coefficient
        if self.task.kl_gain:
            self.penalty.update(kl)
        assert output.kl is not None
        texts = rollout.answers.texts
        n_tokens = int(mask.sum())
        return {
            **losses, "lr": rate_now, **spread(rollout.rewards),
            "kl": float(output.kl.double().sum(1).mean()), "kl_sampled": kl, "kl_coefficient": coefficient,
            "entropy": float(output.entropy.double().sum() / n_tokens),
            "distinct_1": distinct_n(texts, 1), "distinct_2": distinct_n(texts, 2),
            "length": n_tokens / len(texts),
        }  # fmt: skip

    def _draw(self) -> _Rollout:
        """Draws the answers of a step and computes their rewards."""
        at = self.progress
        batch = [self.openings[row] for row in self._rows(at.step)]
        seed = (self.config.seed << 32) + at.step
        try:
            answers = self.drawing.draw(self.model.policy, batch, seed)
        except CheckpointError as error:  # the logits are not numbers
            raise self._not_finite("a logit is nan") from error
        rewards = self.score(answers.whole)
        if at.step == 0 and self.task.normalise:
            self.shift, self.scale = float(rewards.mean()), float(rewards.std())
            if self.scale <= _EQUAL * float(np.abs(rewards).max()):
                self.scale = 1.0
        at.tokens += sum(map(len, batch)) + int(answers.mask.sum())
        at.places += answers.ids.numel()
        output, ref = self._ask(answers)
        return _Rollout(answers, rewards, output, ref)

    def _not_finite(self, what: str) -> TrainingError:
        """Returns the error of a lost policy, and removes the state, which would end the same way again."""
        if self.folder is not None:
            (self.folder / "state.safetensors").unlink(missing_ok=True)
        return TrainingError(
            f"{what} at step {self.progress.step + 1}: lower optim.lr ({self.optim.lr:g}) or set optim.clip "
            f"({self.optim.clip:g})"
        )

    def _rows(self, step: int) -> list[int]:
        """Returns the openings of a step: each comes once in each pass over all of them."""
        n = len(self.openings)
        places = np.arange(step * self.plan.batch_size, (step + 1) * self.plan.batch_size)
        passes = {
            int(epoch): np.random.default_rng([self.config.seed, int(epoch)]).permutation(n)
            for epoch in np.unique(places // n)
        }
        return [int(passes[int(place) // n][int(place) % n]) for place in places]

    @torch.no_grad()
    def _ask(self, answers: Answers) -> tuple[PolicyOutput, Tensor]:
        """Returns the outputs of the policy, and of the reference, for answers."""
        parts: list[PolicyOutput] = []
        references = []
        for rows in torch.arange(len(answers)).split(self.task.mini_batch):
            ids, mask = answers.ids[rows], answers.mask[rows]
            with self._precision(ids):
                states = self.reference.backbone(ids[:, :-1])[mask]
                reference = self.reference.head(states, self.reference.backbone).float().log_softmax(-1)
                parts.append(self.model(ids, mask, reference))
            taken = reference.gather(-1, ids[:, 1:][mask][:, None])[:, 0]
            references.append(torch.zeros_like(parts[-1].log_probs).masked_scatter(mask, taken))
        kls = [part.kl for part in parts if part.kl is not None]
        output = PolicyOutput(
            torch.cat([part.log_probs for part in parts]), torch.cat([part.values for part in parts]),
            torch.cat([part.entropy for part in parts]), torch.cat(kls),
        )  # fmt: skip
        return output, torch.cat(references)

    def _precision(self, ids: Tensor) -> torch.autocast:
        return torch.autocast(ids.device.type, torch.bfloat16, enabled=self.bfloat16)

    def _learn(self, rollout: _Rollout) -> dict[str, float]:
        """Goes over the answers; returns the means of losses and clips."""
        mask, old = rollout.answers.mask, rollout.output
        scores = torch.from_numpy((rollout.rewards - self.shift) / self.scale).to(old.log_probs)
        rewards = text_rewards(scores, old.log_probs, rollout.ref_log_probs, mask, self.penalty.coefficient)
        advantages, returns = gae(rewards, old.values, mask, gamma=self.task.gamma, lam=self.task.lam)
        advantages = whiten(advantages, mask)
        sums = torch.zeros(5, dtype=torch.float64)
        for pass_ in range(self.task.passes):
            drawn = np.random.default_rng([self.config.seed, self.progress.step, pass_])
            order = torch.from_numpy(drawn.permutation(len(rollout.answers)))
            for rows in order.split(self.task.mini_batch):
                sums += self._update(rollout, advantages, returns, rows.to(mask.device))
        policy, value, clipped, norm, n = sums.tolist()
        return {
            "loss": (policy + self.task.value_coefficient * value) / n, "policy_loss": policy / n,
            "value_loss": value / n, "clip_share": clipped / n, "grad_norm": norm / n,
        }  # fmt: skip

    def _update(self, rollout: _Rollout, advantages: Tensor, returns: Tensor, rows: Tensor) -> Tensor:
        """Moves the weights by one mini-batch; returns losses, clip share and norm, and a count of 1."""
        answers, old = rollout.answers, rollout.output
        # As wide as these answers are: padding costs as much as tokens.
        width = int(answers.mask[rows].any(0).nonzero().max()) + 1
        mask = answers.mask[rows, :width]
        with self._precision(mask):
            output = self.model(answers.ids[rows, : width + 1], mask)
        before = old.log_probs[rows, :width]
        n = mask.sum()
        policy = clipped_policy_loss(
            output.log_probs, before, advantages[rows, :width], mask, clip=self.task.clip
        ).sum() / n  # fmt: skip
        value = clipped_value_loss(
            output.values, old.values[rows, :width], returns[rows, :width], mask, clip=self.task.value_clip
        ).sum() / n  # fmt: skip
        loss = policy + self.task.value_coefficient * value
        if not torch.isfinite(loss):
            raise self._not_finite(f"the loss is {loss.item()}")
        loss.backward()
        most = self.optim.clip
        norm = clip(self.parameters, most) if most else norm_of(self.parameters)
        self.optimizers.step()
        moved = (output.log_probs.detach() - before).exp()
        clipped = (((moved - 1).abs() > self.task.clip) & mask).sum() / n
        return torch.tensor(
            [policy.item(), value.item(), clipped.item(), float(norm), 1.0], dtype=torch.float64
        )
