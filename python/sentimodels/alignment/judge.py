"""`judge`: scores a policy's answers to openings, and compares them with those of its base.

Divergence and distinct n-grams are reported with every reward: a reward can be had by texts that nobody would
want, which is called reward hacking, and these two show it first. `warnings` says it in words.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..config import JudgedConfig
from ..models.language import CausalModel
from .ppo_loss import at_answers, kl_divergence
from .rollout import Answers, Drawing

__all__ = ["Judged", "compare", "distinct_n", "judge", "samples_of", "summary_of", "warnings"]

# Half the width of a 95 % interval, in standard errors.
_Z = 1.96
# Answers that are read together.
_AT_ONCE = 32


@dataclass(frozen=True)
class Judged:
    """Answers and their scores.

    Attributes:
        answers: the texts.
        rewards: (n,) the reward of each; `None` without a reward.
        kl: (n,) nats of divergence from the base along each answer.
    """

    answers: Answers
    rewards: NDArray[np.float64] | None
    kl: NDArray[np.float64]


def judge(
    policy: CausalModel,
    reference: CausalModel | None,
    openings: Sequence[Sequence[int]],
    drawing: Drawing,
    reward: Callable[[list[str]], NDArray[np.float64]] | None,
    seed: int,
) -> Judged:
    """Draws answers to openings and judges them.

    Args:
        policy: the model that answers.
        reference: the policy before training; `None`: the policy is that.
        openings: ids of each.
        drawing: how answers are drawn.
        reward: gives the rewards of whole texts, or `None`.
        seed: random seed.
    """
    answers = drawing.draw(policy, openings, seed)
    kl = np.zeros(len(answers))
    if reference is not None:
        kl = divergence(policy, reference, answers)
    return Judged(answers, None if reward is None else reward(answers.whole), kl)


@torch.no_grad()
def divergence(policy: CausalModel, reference: CausalModel, answers: Answers) -> NDArray[np.float64]:
    """Returns the divergence of each answer (n,), in nats: the sum over its tokens of the exact one."""
    out = []
    for rows in torch.arange(len(answers)).split(_AT_ONCE):
        some = answers.take(rows)
        logits, of_reference = (
            model.logits(model(some.ids[:, :-1])[some.mask]) for model in (policy, reference)
        )
        out.append(at_answers(kl_divergence(logits, of_reference).double(), some.mask).sum(1))
    kl: NDArray[np.float64] = torch.cat(out).cpu().numpy()
    return kl


def summary_of(judged: Judged) -> dict[str, float]:
    """Returns the numbers of one set of answers."""
    texts, rewards = judged.answers.texts, judged.rewards
    of_rewards = {} if rewards is None else spread(rewards)
    return {
        **of_rewards,
        "kl": float(judged.kl.mean()),
        "distinct_1": distinct_n(texts, 1),
        "distinct_2": distinct_n(texts, 2),
        "length": float(judged.answers.lengths.double().mean()),
    }


def spread(rewards: NDArray[np.float64]) -> dict[str, float]:
    """Returns mean, median and standard deviation of rewards."""
    return {
        "reward_mean": float(rewards.mean()),
        "reward_median": float(np.median(rewards)),
        "reward_std": float(rewards.std(ddof=1)) if len(rewards) > 1 else 0.0,
    }


def samples_of(before: Judged, after: Judged) -> bytes:
    """Returns every opening with both answers, as JSON lines."""
    lines = []
    for row in range(len(before.answers)):
        record: dict[str, Any] = {"opening": before.answers.openings[row]}
        for name, judged in (("before", before), ("after", after)):
            record[name] = judged.answers.texts[row]
            if judged.rewards is not None:
                record[f"reward_{name}"] = round(float(judged.rewards[row]), 6)
        record["kl"] = round(float(after.kl[row]), 6)
        lines.append(json.dumps(record, ensure_ascii=False) + "\n")
    return "".join(lines).encode("utf-8", "surrogatepass")


def compare(before: Judged, after: Judged, task: JudgedConfig) -> dict[str, Any]:
    """Returns the changes: `before` and `after`, `gain` with its 95 % interval, `warnings`.

    The interval is that of the mean difference of answers to the same opening, by the normal
    distribution; `gain_in_std` is the gain in standard deviations of the rewards before.
    """
    comparison: dict[str, Any] = {
        "openings": len(before.kl), "before": summary_of(before), "after": summary_of(after)
    }  # fmt: skip
    if before.rewards is not None and after.rewards is not None:
        won = after.rewards - before.rewards
        half = _Z * float(won.std(ddof=1)) / len(won) ** 0.5 if len(won) > 1 else 0.0
        mean, deviation = float(won.mean()), comparison["before"]["reward_std"]
        comparison["gain"] = mean
        comparison["interval"] = [mean - half, mean + half]
        comparison["gain_in_std"] = mean / deviation if deviation else None
        comparison["better"] = int((won > 0).sum())
    comparison["warnings"] = warnings(comparison["before"], comparison["after"], task)
    return comparison


def warnings(before: dict[str, float], after: dict[str, float], task: JudgedConfig) -> list[str]:
    """Returns warnings about a reward that was won, one sentence each."""
    said = []
    if after["distinct_2"] < task.min_distinct * before["distinct_2"]:
        said.append(
            f"distinct-2 fell from {before['distinct_2']:.3f} to {after['distinct_2']:.3f}, below "
            f"{task.min_distinct:g} of the start: answers repeat themselves or each other; read them, and "
            "raise the penalty or take fewer steps"
        )
    if after["kl"] > task.max_kl:
        said.append(
            f"the divergence is {after['kl']:.1f} nats an answer, above {task.max_kl:g}: the policy is far "
            "from its base, so the reward may be hacked; raise the penalty (--kl-coefficient, --beta) or "
            "take fewer steps"
        )
    return said


def distinct_n(texts: Iterable[str], n: int) -> float:
    """Returns the share of different n-grams among all of them, 0 to 1; 0 where there is none.

    The share falls as texts are added, so compare sets with the same number of texts. Words are separated
    by white space.

    Args:
        texts: the texts; no n-gram goes across two.
        n: words of an n-gram, from 1 on.
    """
    seen: set[tuple[str, ...]] = set()
    total = 0
    for text in texts:
        words = text.split()
        for start in range(len(words) - n + 1):
            seen.add(tuple(words[start : start + n]))
            total += 1
    return len(seen) / total if total else 0.0
