"""Every text that a writer could write, with its score: what a beam search must not miss."""

import itertools
import math
from collections.abc import Callable, Sequence

LogProbs = Callable[[tuple[int, ...]], Sequence[float]]


def all_texts(
    log_probs: LogProbs, limit: int, end_id: int, norm: Callable[[int], float]
) -> list[tuple[float, tuple[int, ...]]]:
    """Returns (score, tokens) of all texts of fewer than `limit` tokens and their end, best first."""
    words = [word for word in range(len(log_probs(()))) if word != end_id]
    found = []
    for length in range(limit):
        for text in itertools.product(words, repeat=length):
            whole = (*text, end_id)
            log_prob = math.fsum(log_probs(whole[:at])[word] for at, word in enumerate(whole))
            found.append((log_prob / norm(length + 1), text))
    return sorted(found, key=lambda one: -one[0])


def greedy(log_probs: LogProbs, limit: int, end_id: int) -> tuple[int, ...]:
    """Returns the text whose every token is the most probable one."""
    text: tuple[int, ...] = ()
    while len(text) < limit - 1:
        given = log_probs(text)
        best = max(range(len(given)), key=lambda word: given[word])
        if best == end_id:
            break
        text = (*text, best)
    return text
