"""Scores of an aligned model before and after, as `senti align` and `senti card` tell them.

Not for what is said around them, which differs: a terminal has short lines, a card has sentences.
"""

from collections.abc import Mapping
from typing import Any

__all__ = ["SCORES", "preferred", "score_rows"]

SCORES = {
    "reward_mean": "reward, mean", "reward_median": "reward, median", "reward_std": "reward, deviation",
    "kl": "KL from the base, nats an answer", "distinct_1": "distinct-1", "distinct_2": "distinct-2",
    "length": "tokens of an answer",
}  # fmt: skip


def score_rows(outcome: Mapping[str, Any]) -> list[list[str]]:
    """Returns name, value before and value after of each score that there is."""
    before, after = outcome["before"], outcome["after"]
    return [
        [name, f"{before[key]:.3f}", f"{after[key]:.3f}"] for key, name in SCORES.items() if key in before
    ]


def preferred(preferences: Mapping[str, float]) -> str:
    """Returns how often, and by how much, chosen answers are preferred to rejected ones."""
    return (
        f"{100 * preferences['accuracy']:.1f} %, margin {preferences['margin']:.3f} (implicit rewards "
        f"{preferences['reward_chosen']:.3f} and {preferences['reward_rejected']:.3f}), "
        f"loss {preferences['loss']:.4f}"
    )
