"""Optimisers: which parameter is moved by which, at what rate; and `EMA`, the average of the weights.

Sparse gradients (embedding rows) go to `RowAdam`; matrices between layers to `Muon` if asked; all else to
torch's fused AdamW or SGD. Decay applies to matrices between layers, never to embeddings, learned
positions, norms or biases. `layer_decay` lowers the rate of each layer further from the head (Howard and
Ruder 2018). `validate_optim` refuses settings that cannot be.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ..config import SCHEDULES, OptimConfig
from ..errors import ConfigError

__all__ = [
    "EMA",
    "Muon",
    "Optimizers",
    "RowAdam",
    "clip",
    "depth_of",
    "divide",
    "is_added",
    "is_table",
    "make_sparse",
    "norm_of",
    "orthogonal",
    "put",
    "rate",
    "take",
    "validate_optim",
]

# Names in our models and in models of transformers (`hf:`).
_TABLE = re.compile(r"(embeddings?|embed_tokens|embed_positions|embed_in|wte|wpe)\.(weight|gram_weight)$")
_LAYER = re.compile(r"(?:^|\.)(?:blocks|layers?|h)\.(\d+)\.")
_AFTER_LAYERS = re.compile(
    r"head\.|(?:backbone\.)?(?:(?:transformer|model|decoder)\.)*"
    r"(?:norm|norm_f|ln_f|final_norm|final_layer_norm)\."
)


def is_table(name: str) -> bool:
    """Whether a parameter is a table of rows that ids choose."""
    return _TABLE.search(name) is not None


def is_added(name: str) -> bool:
    """Whether a parameter is a table of vectors that are added to tokens: positions, segments."""
    return re.search(r"\b(positions|segments)\.weight$", name) is not None


def make_sparse(module: nn.Module, sparse: bool) -> set[str]:
    """Has tables give sparse gradients, or dense ones; returns the names of the sparse parameters.

    A table that another part of the model uses as well (tied weights) has gradients in every row,
    so it stays dense.
    """
    uses = Counter(id(value) for _, value in module.named_parameters(remove_duplicate=False))
    sparse_names: set[str] = set()
    for name, part in module.named_modules():
        own = {f"{name}.{key}".lstrip("."): value for key, value in part.named_parameters(recurse=False)}
        if isinstance(getattr(part, "sparse", None), bool) and any(map(is_table, own)):
            alone = all(uses[id(value)] == 1 for value in own.values())
            part.sparse = sparse and alone and not getattr(part, "tied", False)
            sparse_names |= {key for key in own if part.sparse and is_table(key)}
    return sparse_names


def depth_of(name: str, n_layers: int) -> int:
    """Returns how far a parameter is from the input: 0 for embeddings, `n_layers` + 1 for the head."""
    layer = _LAYER.search(name)
    if layer:
        return int(layer[1]) + 1
    return n_layers + 1 if _AFTER_LAYERS.match(name) else 0


def _count_layers(names: Iterable[str]) -> int:
    """Returns how many layers parameters of these names are in."""
    return max((int(layer[1]) + 1 for layer in map(_LAYER.search, names) if layer), default=0)


class RowAdam(torch.optim.Optimizer):
    """Adam for sparse gradients, without weight decay: only rows with a gradient move, each by its own clock.

    A row's moments are corrected for the steps that the row has seen, not for all steps, so a
    rare row's first step is as long as any other's. Rows without a gradient cost nothing.
    """

    def __init__(self, params: Iterable[Any], lr: float, betas: tuple[float, float], eps: float) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps})

    @torch.no_grad()
    def step(self, _: Any = None) -> None:  # type: ignore[override]  # 2026-11-23: no closure is ever given
        """Moves the rows that have a gradient."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._move(parameter, parameter.grad.coalesce(), group)

    def _move(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        state = self.state[parameter]
        if not state:
            state["exp_avg"] = torch.zeros_like(parameter)
            state["exp_avg_sq"] = torch.zeros_like(parameter)
            state["step"] = parameter.new_zeros(len(parameter), 1)
        rows, slope = gradient.indices()[0], gradient.values()
        first, second = group["betas"]
        mean = take(state["exp_avg"], rows).lerp_(slope, 1 - first)
        square = take(state["exp_avg_sq"], rows).mul_(second).addcmul_(slope, slope, value=1 - second)
        step = take(state["step"], rows).add_(1)
        put(state["exp_avg"], rows, mean)
        put(state["exp_avg_sq"], rows, square)
        put(state["step"], rows, step)
        root = square.div_(1 - second**step).sqrt_().add_(group["eps"])
        move = mean.div_(1 - first**step).div_(root)
        put(parameter, rows, take(parameter, rows).sub_(move, alpha=group["lr"]))


class _Groups:
    """Parameters with the same settings in one group each: torch moves a group by one call."""

    def __init__(self) -> None:
        self.all: list[dict[str, Any]] = []

    def add(self, parameter: nn.Parameter, **settings: float) -> None:
        for group in self.all:
            if settings.items() <= group.items():
                group["params"].append(parameter)
                return
        self.all.append({"params": [parameter], **settings})


# By the name that the state of a run gives them: torch's optimizers, and ours.
_MADE: dict[str, Callable[[list[Any], OptimConfig], torch.optim.Optimizer]] = {
    "rows": lambda groups, config: RowAdam(groups, config.lr, config.betas, config.eps),
    "muon": lambda groups, config: Muon(groups, lr=config.muon_lr),
    "sgd": lambda groups, config: torch.optim.SGD(groups, lr=config.lr, momentum=config.momentum),
    "adamw": lambda groups, config: torch.optim.AdamW(
        groups, lr=config.lr, betas=config.betas, eps=config.eps, fused=True
    ),
}


@dataclass(frozen=True)
class Moved:
    """One row of the table of optimizers: which of `_MADE` moves what.

    Attributes:
        others: the optimizer of all parameters that no other field covers.
        matrices: the optimizer of the matrices between layers; `None`: the same.
        takes_sparse: whether embedding rows with sparse gradients may be moved by `RowAdam`.
        moments: copies of most weights that it keeps.
    """

    others: str
    matrices: str | None = None
    takes_sparse: bool = True
    moments: int = 2


# By the value of `optim.name`.
OPTIMIZERS = {
    "adamw": Moved("adamw"),
    "muon": Moved("adamw", matrices="muon", moments=1),
    "sgd": Moved("sgd", takes_sparse=False, moments=1),
}


class Optimizers:
    """The optimisers of a model as one.

    Args:
        module: the model.
        config: `[optim]`.
        sparse: names of the parameters whose gradients are sparse.
    """

    def __init__(self, module: nn.Module, config: OptimConfig, *, sparse: Collection[str]) -> None:
        self.config = config
        self.names = {id(parameter): name for name, parameter in module.named_parameters()}
        n_layers = _count_layers(self.names.values())
        rows, matrices, others = _Groups(), _Groups(), _Groups()
        row = OPTIMIZERS[config.name]
        for name, parameter in module.named_parameters():
            factor = config.layer_decay ** (n_layers + 1 - depth_of(name, n_layers))
            between = parameter.ndim == 2 and not is_table(name) and not is_added(name)
            if name in sparse:
                rows.add(parameter, factor=factor, base=config.lr * config.embedding_lr_scale)
            elif row.matrices and between and not name.startswith("head."):
                decay = config.weight_decay
                matrices.add(parameter, factor=factor, base=config.muon_lr, weight_decay=decay)
            else:
                decay = config.weight_decay if between else 0.0
                others.add(parameter, factor=factor, base=config.lr, weight_decay=decay)
        groups = [("rows", rows), (row.matrices, matrices), (row.others, others)]
        self.all = {name: _MADE[name](group.all, config) for name, group in groups if name and group.all}

    def set_rate(self, factor: float) -> float:
        """Sets the rate of the next step; returns that of the head."""
        for optimizer in self.all.values():
            for group in optimizer.param_groups:
                group["lr"] = group["base"] * group["factor"] * factor
        return self.config.lr * factor

    def step(self) -> None:
        """Moves the parameters, and forgets their gradients."""
        for optimizer in self.all.values():
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

    def zero_grad(self) -> None:
        """Forgets the gradients."""
        for optimizer in self.all.values():
            optimizer.zero_grad(set_to_none=True)

    def tensors(self) -> dict[str, Tensor]:
        """Returns the state as tensors, by optimiser, parameter and key."""
        out = {}
        for kind, optimizer in self.all.items():
            for parameter, state in optimizer.state.items():
                for key, value in state.items():
                    if value is not None:
                        out[f"{kind}/{self.names[id(parameter)]}/{key}"] = torch.as_tensor(value)
        return out

    def load(self, tensors: dict[str, Tensor]) -> None:
        """Takes over the state that `tensors` returned."""
        for kind, optimizer in self.all.items():
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    prefix = f"{kind}/{self.names[id(parameter)]}/"
                    state = {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}
                    if state:
                        on = parameter.device
                        # torch keeps the step of fused AdamW on the parameter's device.
                        optimizer.state[parameter] = {k: v.clone().to(on) for k, v in state.items()}


def _gradients(parameters: Iterable[nn.Parameter]) -> list[Tensor]:
    """Returns the numbers of all gradients, to be changed in place; of sparse ones the stored numbers."""
    gradients = []
    for parameter in parameters:
        if parameter.grad is not None:
            if parameter.grad.is_sparse:
                parameter.grad = parameter.grad.coalesce()
                gradients.append(parameter.grad.values())
            else:
                gradients.append(parameter.grad)
    return gradients


def divide(parameters: Iterable[nn.Parameter], by: Tensor) -> None:
    """Divides all gradients by a number."""
    gradients = _gradients(parameters)
    if gradients:
        torch._foreach_div_(gradients, by)


def norm_of(parameters: Iterable[nn.Parameter]) -> Tensor:
    """Returns the norm of all gradients together."""
    return _norm(_gradients(parameters))


def _norm(gradients: list[Tensor]) -> Tensor:
    if not gradients:
        return torch.zeros(())
    return torch.as_tensor(torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients))))


def clip(parameters: Iterable[nn.Parameter], most: float) -> Tensor:
    """Scales all gradients together to a norm of `most`; returns the norm they had."""
    gradients = _gradients(parameters)
    norm = _norm(gradients)
    factor = (most / (norm + 1e-6)).clamp(max=1.0)
    if gradients:
        torch._foreach_mul_(gradients, factor)
    return norm


# Indexing with brackets is several times slower than `index_select`, and on a CPU numpy writes rows twice as
# fast as torch; a step of training does both for thousands of rows.
def take(table: Tensor, rows: Tensor) -> Tensor:
    """Returns a copy of some rows."""
    return table.detach().index_select(0, rows)


def put(table: Tensor, rows: Tensor, values: Tensor) -> None:
    """Writes over some rows, all of them different."""
    if table.device.type == "cpu":
        table.detach().numpy()[rows.numpy()] = values.numpy()
    else:
        table.detach().index_copy_(0, rows, values)


def rate(step: int, total: int, config: OptimConfig) -> float:
    """Returns the factor of the highest rate for step 0, 1, ..., total - 1.

    It rises over the warm-up, then is constant or falls, linearly or as a cosine, to `min_lr_ratio` at the
    last step of the run.
    """
    n_warmup = round(config.warmup * total)
    if step < n_warmup:
        return (step + 1) / n_warmup
    done = min(1.0, (step - n_warmup) / max(1, total - 1 - n_warmup))
    return SCHEDULES[config.schedule](done, config.min_lr_ratio)


def validate_optim(module: nn.Module, optim: OptimConfig) -> None:
    """Refuses impossible settings.

    Raises:
        ConfigError: naming the key.
    """
    names = [name for name, _ in module.named_parameters()]
    for prefix in optim.freeze:
        if not any(name.startswith(prefix) for name in names):
            raise ConfigError(f"optim.freeze {prefix!r}: no parameter begins so; there is {names[0]}")
    if names and all(name.startswith(optim.freeze) for name in names):
        raise ConfigError(
            f"optim.freeze {list(optim.freeze)}: covers every parameter, so nothing would learn; "
            f"leave out one, such as {names[-1]}"
        )


# An odd polynomial of degree five, and how often it is applied (Jordan et al. 2024): singular values of at
# least 0.002 of the norm end between 0.68 and 1.21.
_POLYNOMIAL = (3.4445, -4.7750, 2.0315)
_TIMES = 5
_LEAST_NORM = 1e-7
_MOMENTUM = 0.95


class Muon(torch.optim.Optimizer):
    """Muon with Nesterov's momentum, for parameters of two dimensions with dense gradients.

    The same as `torch.optim.Muon`, which multiplies in bfloat16 everywhere: CPUs without products of
    bfloat16 take many times as long for that as in float32. Here only a GPU that has them multiplies so.

    A matrix of more rows than columns moves further, by the root of their ratio.

    Args:
        params: matrices, or groups of them with `lr` and `weight_decay`.
        lr: the rate.
        weight_decay: the share of itself, times the rate, that a matrix loses each step.
    """

    def __init__(self, params: Iterable[Any], lr: float, weight_decay: float = 0.1) -> None:
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, _: Any = None) -> None:  # type: ignore[override]  # 2026-11-28: no closure is ever given
        """Moves the matrices that have a gradient."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._move(parameter, parameter.grad, group["lr"], group["weight_decay"])

    def _move(self, parameter: Tensor, gradient: Tensor, rate: float, decay: float) -> None:
        state = self.state[parameter]
        if not state:
            state["momentum_buffer"] = torch.zeros_like(gradient)
        mean = state["momentum_buffer"].lerp_(gradient, 1 - _MOMENTUM)
        direction = orthogonal(gradient.lerp(mean, _MOMENTUM), _precision(parameter.device))
        n_rows, n_columns = parameter.shape
        parameter.mul_(1 - rate * decay)
        parameter.add_(direction, alpha=-rate * max(1, n_rows / n_columns) ** 0.5)


def orthogonal(matrix: Tensor, precision: torch.dtype) -> Tensor:
    """Returns a matrix with the same singular vectors, and singular values near 1 where they are not near 0.

    By products alone (Newton-Schulz), so they are not 1: see `_POLYNOMIAL`.

    Args:
        matrix: of any shape of two dimensions; left as it is.
        precision: the type to multiply in, and of the result.
    """
    tall = matrix.size(0) > matrix.size(1)
    a, b, c = _POLYNOMIAL
    wide = matrix.to(precision, copy=True)
    if tall:
        wide = wide.T
    wide.div_(wide.norm().clamp(min=_LEAST_NORM))
    for _ in range(_TIMES):
        gram = wide @ wide.T
        wide = torch.addmm(wide, torch.addmm(gram, gram, gram, beta=b, alpha=c), wide, beta=a)
    return wide.T if tall else wide


def _precision(device: torch.device) -> torch.dtype:
    """Returns the type in which matrices are multiplied: half the bytes where they are as fast or faster."""
    fast = device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
    return torch.bfloat16 if fast else torch.float32


class EMA:
    """The average of a model's parameters.

    The decay rises with the steps, min(decay, t / (9 + t)) at step t, so that the start is forgotten. A row
    of a table that no step has moved is the same as before, so its average needs no work until the row
    moves or the average is asked for: then all missed decays are applied at once. The result is that of
    averaging every row at every step (tests), up to rounding.

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
