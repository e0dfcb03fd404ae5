"""`EMA`: the exponential moving average of the weights, which is what is kept and served.

The decay rises with the steps, min(decay, t / (9 + t)) at step t, so that the start is forgotten.
A row of a table that no step has moved is the same as before, so its average needs no work
until the row moves or the average is asked for: then all missed decays are applied at once.
The result is that of averaging every row at every step (tests), up to rounding.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from .optimizer import put, take

__all__ = ["EMA"]


class EMA:
    """The average of a model's parameters.

    Args:
        module: the model.
        decay: share of the past.
        lazy: names of parameters whose gradients are sparse.
    """

    def __init__(self, module: nn.Module, decay: float, lazy: set[str]) -> None:
        self.module, self.decay = module, decay
        self.parameters = dict(module.named_parameters())
        self.values = {name: value.detach().clone() for name, value in self.parameters.items()}
        self.lazy = lazy
        # The logarithm of all decays so far, and how much of it each lazy row has had.
        self.log_decay = 0.0
        self.caught_up_to = {
            name: torch.zeros(len(self.parameters[name]), dtype=torch.float64, device=value.device)
            for name, value in self.values.items()
            if name in lazy
        }
        self.step = 0

    @torch.no_grad()
    def before_step(self) -> None:
        """Catches up the rows that the next step will move; call it once gradients are there."""
        for name in self.lazy:
            gradient = self.parameters[name].grad
            if gradient is not None:
                self._catch_up(name, gradient.coalesce().indices()[0] if gradient.is_sparse else None)

    @torch.no_grad()
    def after_step(self) -> None:
        """Takes in the weights after a step."""
        self.step += 1
        decay = min(self.decay, self.step / (9 + self.step))
        self.log_decay += float(torch.tensor(decay, dtype=torch.float64).log())
        dense = [name for name in self.values if name not in self.lazy]
        averages = [self.values[name] for name in dense]
        torch._foreach_lerp_(averages, [self.parameters[name].data for name in dense], 1 - decay)

    def _catch_up(self, name: str, rows: Tensor | None) -> None:
        rows = (
            torch.arange(len(self.caught_up_to[name]), device=self.caught_up_to[name].device)
            if rows is None
            else rows
        )
        missed = self.log_decay - take(self.caught_up_to[name], rows)
        kept = missed.exp().to(self.values[name].dtype)[:, None]
        now = take(self.parameters[name], rows)
        put(self.values[name], rows, take(self.values[name], rows).sub_(now).mul_(kept).add_(now))
        put(self.caught_up_to[name], rows, torch.full_like(missed, self.log_decay))

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Puts the average in the model's place for a while."""
        with torch.no_grad():
            for name in self.lazy:
                self._catch_up(name, None)
        own = {name: parameter.data for name, parameter in self.parameters.items()}
        try:
            for name, parameter in self.parameters.items():
                parameter.data = self.values[name]
            for part in self.module.modules():
                if isinstance(part, nn.RNNBase):  # a GPU wants its weights in one piece, and says so
                    part.flatten_parameters()
            yield
        finally:
            for name, parameter in self.parameters.items():
                parameter.data = own[name]

    def tensors(self) -> dict[str, Tensor]:
        """Returns the state as tensors."""
        out = {f"value/{name}": value for name, value in self.values.items()}
        out |= {f"stands/{name}": value for name, value in self.caught_up_to.items()}
        out["log_decay"] = torch.tensor(self.log_decay, dtype=torch.float64)
        out["step"] = torch.tensor(self.step)
        return out

    def load(self, tensors: dict[str, Tensor]) -> None:
        """Takes over the state that `tensors` returned."""
        for name, value in self.values.items():
            value.copy_(tensors[f"value/{name}"])
        for name, value in self.caught_up_to.items():
            value.copy_(tensors[f"stands/{name}"])
        self.log_decay = float(tensors["log_decay"])
        self.step = int(tensors["step"])
