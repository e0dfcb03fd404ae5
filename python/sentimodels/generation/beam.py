"""`beam_search`: the most probable texts that a writer can write, of all rows at once.

K texts of each row are live. At a step each is followed by every token; of all these the K best that
have not ended continue, and the ended ones of the K best are kept. A text's score is its
log-probability over a norm of its length L, the end marker counted:

    wu      ((5 + L) / 6) ** alpha      Wu et al. 2016, eq. 14
    mean    L ** alpha                  with alpha 1 the mean log-probability of a token

A row is done once K texts have ended (`early_stop`: the best so far are taken), or once no live text can
still be among the best: as log-probabilities are at most 0 and norms grow, one with log-probability p ends
with a score of at most p over the norm of the greatest length. With as many beams as there are texts the
search is exhaustive; with one it is greedy.
"""

from bisect import insort
from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor

from .pair_formats import Writer

__all__ = ["BeamOptions", "Hypothesis", "LengthNorm", "beam_search", "length_norm"]

LengthNorm = Literal["wu", "mean"]
# A greater power of a length may overflow.
_MOST_ALPHA = 10.0


@dataclass(frozen=True)
class BeamOptions:
    """How to search.

    Attributes:
        beam: K, live texts of each row.
        n_best: how many to give back, at most K; fewer where fewer have ended.
        norm: the divisor of log-probabilities.
        alpha: its power, from 0 to 10; 0: log-probabilities are compared as they are.
        early_stop: whether a row is done once K texts have ended.

    Raises:
        ValueError: if one is out of its range.
    """

    beam: int = 5
    n_best: int = 1
    norm: LengthNorm = "wu"
    alpha: float = 1.0
    early_stop: bool = True

    def __post_init__(self) -> None:
        if self.beam < 1:
            raise ValueError(f"beam {self.beam}: at least 1; 1 is greedy")
        if not 1 <= self.n_best <= self.beam:
            raise ValueError(
                f"n_best {self.n_best}: from 1 to the {self.beam} of beam; raise beam, or lower n_best"
            )
        if not 0 <= self.alpha <= _MOST_ALPHA:
            raise ValueError(f"alpha {self.alpha:g}: from 0 to {_MOST_ALPHA:g}; more favours longer texts")


@dataclass(frozen=True)
class Hypothesis:
    """A text that has ended.

    Attributes:
        tokens: ids without the end marker.
        log_prob: of the text and its end, in nats.
        score: `log_prob` over the norm of its length.
    """

    tokens: tuple[int, ...]
    log_prob: float
    score: float


@dataclass
class _Best:
    """The best texts of a row that have ended, best first; of equal scores the earlier one."""

    most: int
    kept: list[Hypothesis] = field(default_factory=list)
    ended: int = 0

    def add(self, hypothesis: Hypothesis) -> None:
        self.ended += 1
        insort(self.kept, hypothesis, key=lambda one: -one.score)
        del self.kept[self.most :]

    def beats(self, score: float) -> bool:
        """Whether a text with this score would not be kept."""
        return len(self.kept) == self.most and self.kept[-1].score >= score


def length_norm(length: int, norm: LengthNorm, alpha: float) -> float:
    """Returns the divisor of the log-probability of a text of some length; see the module."""
    return float(((5 + length) / 6) ** alpha if norm == "wu" else length**alpha)


@torch.inference_mode()
def beam_search(
    writer: Writer, limits: list[int], *, end_id: int, options: BeamOptions | None = None
) -> list[list[Hypothesis]]:
    """Returns the best texts of each row, best first.

    Args:
        writer: writes the texts; its rows are used up.
        limits: the most tokens of each row, the end marker included, at least 1: the last one allowed
            is the end marker, whatever its probability.
        end_id: the end marker.
        options: how to search.

    Raises:
        ValueError: if a limit is below 1, or a log-probability is not a number.
    """
    options = options or BeamOptions()
    if limits and min(limits) < 1:
        raise ValueError(f"limits: {min(limits)} tokens for a text, at least 1 for its end")
    by_row = [_Best(options.n_best) for _ in limits]
    if not limits:
        return []
    beam = options.beam
    log_probs = writer.begin()
    rows = torch.arange(len(limits), device=log_probs.device).repeat_interleave(beam)
    writer.take(rows)
    log_probs = log_probs[rows]
    live = list(range(len(limits)))  # rows of the caller that are not done
    tokens = rows.new_empty(len(rows), 0)
    # Of the K equal texts that a row begins with, one is alive.
    scores = torch.full((len(limits), beam), float("-inf"), dtype=torch.float64, device=rows.device)
    scores[:, 0] = 0
    length = 0
    while True:
        length += 1
        last = [place for place, row in enumerate(live) if limits[row] == length]
        values, origins, chosen = _candidates(scores, log_probs, last, end_id)
        ended = chosen == end_id
        kept = (ended[:, :beam] & values[:, :beam].isfinite()).nonzero().tolist()
        for place, rank in kept:
            text = tokens[place * beam + int(origins[place, rank])].tolist()
            log_prob = float(values[place, rank])
            score = log_prob / length_norm(length, options.norm, options.alpha)
            by_row[live[place]].add(Hypothesis(tuple(text), log_prob, score))
        # The first K that continue: ends are put last, all else stays in order.
        order = ended.to(torch.int8).argsort(dim=1, stable=True)[:, :beam]
        scores, origins, chosen = (one.gather(1, order) for one in (values, origins, chosen))
        best = scores[:, 0].tolist()
        open_ = [
            place for place, row in enumerate(live)
            if not _done(by_row[row], best[place], length, limits[row], options)
        ]  # fmt: skip
        if not open_:
            return [one.kept for one in by_row]
        stay = torch.tensor(open_, device=rows.device)
        rows = (stay[:, None] * beam + origins[stay]).flatten()
        scores, added = scores[stay], chosen[stay].flatten()
        live = [live[place] for place in open_]
        tokens = torch.cat((tokens[rows], added[:, None]), 1)
        writer.take(rows)
        log_probs = writer.step(added)


def _candidates(
    scores: Tensor, log_probs: Tensor, last: list[int], end_id: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Returns the 2K best texts of each row, one token longer, best first.

    A text ends in one way, so at least K of them continue.

    Args:
        scores: (M, K) log-probabilities of the live texts.
        log_probs: (M K, V) of the next token.
        last: rows where only the end may follow.
        end_id: the end marker.

    Returns:
        Log-probability, which live text it was, and its new token, each (M, 2K).
    """
    n_rows, beam = scores.shape
    n_words = log_probs.shape[-1]
    if n_words < 2:
        raise ValueError("a vocabulary of one token: there is nothing to choose")
    if last:
        only = torch.full_like(log_probs[:1], float("-inf"))
        only[:, end_id] = 0
        log_probs.view(n_rows, beam, n_words)[last] += only
    # No text has more than 2K of the 2K best.
    few, words = log_probs.topk(min(2 * beam, n_words), 1)
    total = (scores.view(-1, 1) + few).view(n_rows, -1)
    values, places = total.topk(2 * beam, 1)
    if bool(values.isnan().any()):
        raise ValueError("a log-probability is not a number: the weights are not finite")
    return values, places // few.shape[1], words.view(n_rows, -1).gather(1, places)


def _done(row: _Best, best: float, length: int, limit: int, options: BeamOptions) -> bool:
    """Whether a row is done, its best live text having the log-probability `best`."""
    if length == limit or best == float("-inf"):
        return True
    if options.early_stop:
        return row.ended >= options.beam
    return row.beats(best / length_norm(limit, options.norm, options.alpha))
