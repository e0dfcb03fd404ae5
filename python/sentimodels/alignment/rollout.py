"""Rollouts: answers that a policy draws to openings, and `Reward`, a classifier's rewards of texts.

Tokens are drawn from the policy's own distribution (temperature 1, all tokens), with a cache, in batches;
a seed and an opening give the same answer, whatever the batch.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sentitok import Tokenizer

from ..config import JudgedConfig, reward_weights
from ..errors import ConfigError
from ..evaluation.predictions import Predictor, answer
from ..generation.generate import Limits, generate
from ..generation.sampling import Sampling
from ..models.language import CausalModel
from ..predictor import load_predictor

__all__ = ["Answers", "Drawing", "Reward", "load_reward"]


@dataclass(frozen=True)
class Answers:
    """Drawn answers.

    Attributes:
        ids: (B, T + 1), openings and answers, padded on the right.
        mask: (B, T), True where `ids[:, 1:]` is a token of an answer, an end token included.
        openings: texts.
        texts: of the answers.
    """

    ids: Tensor
    mask: Tensor
    openings: list[str]
    texts: list[str]

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def whole(self) -> list[str]:
        """Openings with their answers: the texts that get rewards."""
        return [opening + text for opening, text in zip(self.openings, self.texts, strict=True)]

    @property
    def lengths(self) -> Tensor:
        """Tokens of each answer (B,)."""
        return self.mask.sum(1)

    def take(self, rows: Tensor) -> "Answers":
        """Returns some of them."""
        chosen: list[int] = rows.tolist()
        openings, texts = ([some[row] for row in chosen] for some in (self.openings, self.texts))
        return Answers(self.ids[rows], self.mask[rows], openings, texts)


@dataclass(frozen=True)
class Drawing:
    """How answers are drawn.

    Attributes:
        tokenizer: of the policy.
        limits: when answers end.
        ahead: tokens at the beginning of openings that are not text.
        batch_size: answers that are drawn together at most.
    """

    tokenizer: Tokenizer
    limits: Limits
    ahead: int = 0
    batch_size: int = 64

    def draw(self, policy: CausalModel, openings: Sequence[Sequence[int]], seed: int) -> Answers:
        """Draws an answer to each opening; copies of an opening get different answers.

        Raises:
            DataError: if an opening is empty, too long, or has unknown ids.
        """
        drawn: list[tuple[int, ...]] = [()] * len(openings)
        pieces = generate(
            policy, self.tokenizer, openings, self.limits, Sampling(), seed=seed, batch_size=self.batch_size
        )
        for piece in pieces:
            if piece.ending is not None:
                drawn[piece.row] = piece.ending.ids
        return self.of(openings, drawn, next(policy.parameters()).device)

    def of(
        self, openings: Sequence[Sequence[int]], answers: Sequence[Sequence[int]], device: torch.device
    ) -> Answers:
        """Returns openings and their answers as rows.

        Args:
            openings: ids of each.
            answers: ids of each; an end token, where there is one, is the last.
            device: where the rows go.
        """
        rows = [[*opening, *answer] for opening, answer in zip(openings, answers, strict=True)]
        width = max(map(len, rows))
        ids = torch.tensor([[*row, *[0] * (width - len(row))] for row in rows], device=device)
        starts = torch.tensor([len(opening) for opening in openings], device=device)[:, None]
        ends = torch.tensor([len(row) for row in rows], device=device)[:, None]
        place = torch.arange(1, width, device=device)
        said = [[id for id in answer if id not in self.limits.end_ids] for answer in answers]
        read = [list(opening)[self.ahead :] for opening in openings]
        # As `senti generate` writes them: other special tokens that are drawn are not text.
        decode = partial(self.tokenizer.decode, skip_special_tokens=True)
        before = [decode(some) for some in read]
        both = [decode(a + b) for a, b in zip(read, said, strict=True)]
        # A character may begin in the opening and end in the answer: then all of it is the answer's.
        texts = [b.removeprefix(a) for a, b in zip(before, both, strict=True)]
        known = [b.removesuffix(text) if text else b for b, text in zip(both, texts, strict=True)]
        return Answers(ids, (place >= starts) & (place < ends), known, texts)


# Probabilities are kept so far from 0 and 1, where float32 cannot tell them apart.
_LEAST = 1e-6


class Reward:
    """Computes rewards of texts by a classifier.

    A label counts for its log-odds, log p - log (1 - p), or for its probability p, after the temperature of
    the run. Log-odds are unbounded, so a text that is already surely of the label can gain more; the
    probability ends at 1.

    Args:
        predictor: the classifier.
        weights: of its labels; those without one count for nothing.
        kind: `log-odds` or `probability`.
        name: of the classifier, for messages.

    Raises:
        ConfigError: if the classifier does not have these labels.
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
        """Returns the reward of each text (n,)."""
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
        ConfigError: if no label is named, or the run lacks it.
    """
    if task.reward_run is None:
        return None
    predictor = load_predictor(Path(task.reward_run), device)
    if task.reward is None:
        raise ConfigError(
            f"task.reward: name the label of {task.reward_run} to reward, as in --reward "
            f"{predictor.labels.names[-1]}; it has {', '.join(predictor.labels.names)}"
        )
    return Reward(predictor, reward_weights(task.reward), task.reward_value, task.reward_run)
