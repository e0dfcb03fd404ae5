"""`Reward`: what texts are worth to a classifier: one of its labels, or a weighted sum of several.

A label counts for its log-odds, log p - log (1 - p), or for its probability p, after the temperature of
the run. Log-odds have no end, so that a text that is already surely of the label can be worth more; the
probability ends at 1. Not for what tokens are worth (`alignment/ppo_loss.py`).
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..config import JudgedConfig
from ..errors import ConfigError
from ..evaluation.predictions import Predictor, answer
from ..predictor import load_predictor

__all__ = ["Reward", "load_reward"]

# Probabilities are kept so far from 0 and 1, where float32 cannot tell them apart.
_LEAST = 1e-6


class Reward:
    """What texts are worth.

    Args:
        predictor: the classifier.
        weights: of its labels; those without one count for nothing.
        kind: `log-odds` or `probability`.
        name: of the classifier, for messages.

    Raises:
        ConfigError: if the classifier has not these labels.
    """

    def __init__(self, predictor: Predictor, weights: Mapping[str, float], kind: str, name: str) -> None:
        labels = predictor.labels
        unknown = [label for label in weights if label not in labels.names]
        if unknown:
            raise ConfigError(
                f"task.reward {unknown[0]!r}: {name} has no such label; it has {', '.join(labels.names)}"
            )
        self._predictor, self._kind = predictor, kind
        self._weights = np.array([weights.get(label, 0.0) for label in labels.names])

    def __call__(self, texts: list[str]) -> NDArray[np.float64]:
        """Returns what each text is worth (n,)."""
        probs = np.asarray(answer(self._predictor, texts)[0], np.float64)
        if self._kind == "log-odds":
            probs = np.clip(probs, _LEAST, 1 - _LEAST)
            probs = np.log(probs) - np.log1p(-probs)
        worth: NDArray[np.float64] = probs @ self._weights
        return worth


def load_reward(task: JudgedConfig, device: str) -> Reward | None:
    """Loads the reward that a configuration names; `None` without one.

    Raises:
        CheckpointError: if its run is none, or altered.
        ConfigError: if no label is named, or the run has it not.
    """
    if task.reward_run is None:
        return None
    predictor = load_predictor(Path(task.reward_run), device)
    if task.reward is None:
        raise ConfigError(
            f"task.reward: which label of {task.reward_run} is worth something? It has "
            f"{', '.join(predictor.labels.names)}; name one, as in --reward {predictor.labels.names[-1]}"
        )
    return Reward(predictor, weights_of(task.reward), task.reward_value, task.reward_run)


def weights_of(reward: str | Mapping[str, float]) -> dict[str, float]:
    """Reads `pos` as a label, and `3=1,4=2` as labels with weights.

    Raises:
        ConfigError: if a weight is no finite number.
    """
    if isinstance(reward, str):
        if "=" not in reward:
            return {reward: 1.0}
        weights: dict[str, float] = {}
        for part in reward.split(","):
            label, _, number = part.rpartition("=")
            try:
                weights[label.strip()] = float(number)
            except ValueError:
                raise ConfigError(
                    f"task.reward {reward!r}: {number.strip()!r} is no weight; write LABEL, or "
                    "LABEL=WEIGHT,LABEL=WEIGHT, as in 3=1,4=2"
                ) from None
        reward = weights
    wrong = [label for label, weight in reward.items() if not abs(weight) < float("inf")]
    if wrong or not any(reward.values()):
        said = f"the weight of {wrong[0]!r} is not finite" if wrong else "no label has a weight but 0"
        raise ConfigError(f"task.reward: {said}; write LABEL=WEIGHT, as in 3=1,4=2")
    return dict(reward)
