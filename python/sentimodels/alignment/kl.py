"""How far a policy has moved from its reference: the KL divergence, and the controller that holds it near.

`kl_divergence` sums over the whole vocabulary, so it is exact. `AdaptiveKL` is the controller of Ziegler et
al. 2019, 2.2.
"""

from dataclasses import dataclass

from torch import Tensor

__all__ = ["AdaptiveKL", "kl_divergence"]

# What an error counts for at most, as a share of the target.
_MOST = 0.2


def kl_divergence(logits: Tensor, ref_logits: Tensor) -> Tensor:
    """Returns KL(policy || reference) (...) of logits (..., V), in nats, exact."""
    log_p, log_q = logits.float().log_softmax(-1), ref_logits.float().log_softmax(-1)
    return (log_p.exp() * (log_p - log_q)).sum(-1)


@dataclass
class AdaptiveKL:
    """The coefficient of the KL penalty, which rises while the divergence is above its target.

    Attributes:
        coefficient: beta, what the penalty is multiplied by.
        target: the divergence to hold, in nats a text.
        gain: K, the most that beta moves at an update, as a share of an error of 1.

    Raises:
        ValueError: if one is not above 0.
    """

    coefficient: float = 0.2
    target: float = 6.0
    gain: float = 0.1

    def __post_init__(self) -> None:
        for name in ("coefficient", "target", "gain"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} {getattr(self, name):g}: expected a number above 0")

    def update(self, divergence: float) -> float:
        """Moves beta by what was observed; returns it.

        e = clip(divergence / target - 1, -0.2, 0.2), then beta (1 + K e).
        """
        error = min(max(divergence / self.target - 1, -_MOST), _MOST)
        self.coefficient *= 1 + self.gain * error
        return self.coefficient
