"""`Sampling`: from the logits of the next token to the token that is taken.

In this order, as in transformers: repetition penalty (Keskar et al. 2019), temperature, top-k (Fan et al.
2018), top-p (Holtzman et al. 2020), min-p (Nguyen et al. 2024). Each row draws from a separate stream of
numbers (`Draws`), which the seed and its prompt give, so that a text does not depend on the batch it is in.
"""

import hashlib
import secrets
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..arguments import ABOVE_0, number, whole
from ..errors import not_numbers

__all__ = ["Draws", "Sampling"]

# Likeliest tokens that top-p looks at before it sorts the whole vocabulary.
_NEAR = 1024


@dataclass(frozen=True)
class Sampling:
    """How a token is taken.

    Attributes:
        temperature: the divisor of logits, at least 0; 0 takes the likeliest token.
        top_k: how many tokens may be drawn, the likeliest ones; `None`: all.
        top_p: share of the probability, above 0 and up to 1, that the likeliest tokens must reach
            to be drawn from; `None`: all.
        min_p: least probability of a token, from 0 to 1, as a share of the likeliest one's; `None`: any.
        repetition_penalty: the divisor of positive logits of tokens in the text so far, and
            the factor of negative ones; above 0, 1 for none.

    Raises:
        TypeError: if a value is not a number.
        ConfigError: if it is out of range.
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    repetition_penalty: float = 1.0

    def __post_init__(self) -> None:
        values: dict[str, float] = {
            "temperature": number(
                "temperature", self.temperature, "a number from 0 (the likeliest token) on"
            ),
            "repetition_penalty": number(
                "repetition_penalty", self.repetition_penalty, "a number above 0; 1 for none", ABOVE_0
            ),
        }
        if self.top_k is not None:
            values["top_k"] = whole("top_k", self.top_k, "a whole number from 1 on, or None for all", 1)
        if self.top_p is not None:
            values["top_p"] = number("top_p", self.top_p, "a share above 0 and up to 1", ABOVE_0, 1)
        if self.min_p is not None:
            values["min_p"] = number("min_p", self.min_p, "a share from 0 to 1", most=1)
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def greedy(self) -> bool:
        """Whether the likeliest token is taken, and nothing drawn."""
        return self.temperature == 0

    @property
    def penalizes(self) -> bool:
        """Whether the tokens so far make a difference."""
        return self.repetition_penalty != 1

    def penalized(self, logits: Tensor, seen: Tensor) -> Tensor:
        """Returns logits (B, V) with those of tokens `seen` (B, V) made smaller."""
        penalty = self.repetition_penalty
        return torch.where(seen, torch.where(logits > 0, logits / penalty, logits * penalty), logits)

    def candidates(self, logits: Tensor) -> tuple[Tensor, Tensor | None]:
        """Returns the tokens that may be drawn.

        Args:
            logits: (B, V).

        Returns:
            Scores (B, K), whose softmax is the distribution, -inf for a token that is not drawn,
            and their ids (B, K); `None`: score j is that of id j.
        """
        # In float64, and below the largest: a temperature near 0 overflows to -inf, never to NaN.
        wide = logits.double()
        scores = (wide - wide.amax(-1, keepdim=True)) / self.temperature
        ids: Tensor | None = None
        if self.top_k is not None and self.top_k < scores.shape[-1]:
            scores, ids = scores.topk(self.top_k)
        if self.top_p is not None and self.top_p < 1:
            scores, ids = _nucleus(scores, ids, self.top_p)
        if self.min_p:
            scores = scores.masked_fill(scores.exp() < self.min_p, float("-inf"))
        return scores, ids

    def take(self, logits: Tensor, uniform: Tensor | None = None, seen: Tensor | None = None) -> Tensor:
        """Returns the token (B,) of each row.

        Args:
            logits: (B, V).
            uniform: (B,) float64 from 0 to below 1, the draws of each row; unused by `greedy`.
            seen: (B, V), True at tokens of the text so far, if the rule `penalizes`.

        Raises:
            CheckpointError: if a logit is not a number.
        """
        if self.penalizes:
            assert seen is not None
            logits = self.penalized(logits, seen)
        if self.greedy:
            best, place = logits.max(-1)
            self._check(best)
            return place
        assert uniform is not None
        scores, ids = self.candidates(logits)
        reached = scores.exp().cumsum(-1)
        total = reached[:, -1:]
        self._check(total)
        place = (reached <= uniform[:, None] * total).sum(-1)
        # Where a product rounds up to the total: the last token that has a probability.
        place = torch.minimum(place, (reached < total).sum(-1))
        return place if ids is None else ids.gather(1, place[:, None])[:, 0]

    def _check(self, reached: Tensor) -> None:
        """Refuses logits that are not numbers."""
        if bool(reached.isnan().any()):
            penalty = f", or the repetition penalty {self.repetition_penalty:g} is too far from 1"
            raise not_numbers("logits", penalty * self.penalizes)


def _nucleus(scores: Tensor, ids: Tensor | None, top_p: float) -> tuple[Tensor, Tensor]:
    """Returns the likeliest tokens that reach `top_p`, likeliest first, and their ids."""
    if ids is None:
        total = scores.logsumexp(-1, keepdim=True)
        near, ids = scores.topk(min(_NEAR, scores.shape[-1]))
        if bool(((near - total).exp().sum(-1) < top_p).any()):
            near, ids = scores.sort(dim=-1, descending=True)
    else:
        near, total = scores, scores.logsumexp(-1, keepdim=True)
    shares = (near - total).exp()
    before = shares.cumsum(-1) - shares
    return near.masked_fill(before >= top_p, float("-inf")), ids


class Draws:
    """A stream of numbers for each row: the draws of one call.

    The stream of a row is that of the seed, its prompt, and how many rows before have the same
    prompt: neither its place nor its neighbours change it, and copies of a prompt differ.

    Args:
        seed: a whole number from 0 on of at most 64 bits; `None`: one that nobody knows.
        prompts: the ids of each row.
        copies: how often each prompt came in earlier calls with this seed, at first an empty counter; those
            of this call are added.

    Raises:
        TypeError: if the seed is not a whole number.
        ConfigError: if it is negative, or has more bits.
    """

    def __init__(
        self, seed: int | None, prompts: Sequence[Sequence[int]], copies: Counter[bytes] | None = None
    ) -> None:
        if seed is not None:
            seed = whole("seed", seed, "a whole number from 0 on")
        start = str(secrets.randbits(128) if seed is None else seed).encode()
        before: Counter[bytes] = Counter() if copies is None or seed is None else copies
        self._streams = []
        for prompt in prompts:
            text = np.asarray(prompt, dtype=np.int64).tobytes()
            name = hashlib.blake2b(text, digest_size=16).digest()
            key_text = b"%s,%d,%s" % (start, before[name], text)
            before[name] += 1
            key = int.from_bytes(hashlib.sha256(key_text).digest()[:16], "little")
            self._streams.append(np.random.Generator(np.random.Philox(key=key)))

    def draw(self, rows: Sequence[int]) -> Tensor:
        """Returns the next number of each of these rows, float64 from 0 to below 1."""
        return torch.tensor([self._streams[row].random() for row in rows], dtype=torch.float64)
