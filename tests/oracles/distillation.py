"""The divergence of a student from its teacher (Hinton et al. 2015), one class after another."""

import math

__all__ = ["by_hand"]


def by_hand(logits: list[float], probs: list[float], temperature: float) -> float:
    """T squared times the divergence, one class after another."""

    def at(values: list[float]) -> list[float]:
        powers = [math.exp(value / temperature) for value in values]
        return [power / sum(powers) for power in powers]

    teacher, learned = at([math.log(p) for p in probs]), at(logits)
    return temperature**2 * sum(
        p * (math.log(p) - math.log(q)) for p, q in zip(teacher, learned, strict=True)
    )
