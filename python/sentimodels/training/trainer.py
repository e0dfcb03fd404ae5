"""`Trainer.fit`: the one loop that trains every model for every task; and `Task`, what it asks of a task.

The task brings batches, losses and scores. The loop gives back the best weights, and reports its progress
through `on_record`, in the fields of `metrics.jsonl`. A task's batches are a function of the epoch, so a
stopped run continues from its state at any step; on a CPU it ends with the same weights bit for bit.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np
import torch
from torch import Tensor, nn

from ..config import LoopConfig, OptimConfig, TrainingPlan
from ..errors import CheckpointError, TrainingError
from .device import use_bfloat16
from .distributed import Distributed, world_of
from .history import Fit, History, Progress, Record
from .optimizer import EMA, OPTIMIZERS, Optimizers, clip, divide, make_sparse, norm_of, rate, validate_optim
from .state import load_state, load_weights, random_state, restore_random, save_state, weights_of

__all__ = [
    "Batch",
    "Counted",
    "Cuts",
    "Evaluation",
    "HasBatchScores",
    "NotFiniteError",
    "Record",
    "Task",
    "Trainer",
    "counted",
]


class NotFiniteError(Exception):
    """A loss or weights that are not finite; the trainer ends the run and keeps the best weights so far."""


class Batch(Protocol):
    """The arguments of a model: `model(**batch.inputs())`."""

    def inputs(self) -> dict[str, Tensor]:
        """Returns the tensors of a batch by the name of the model's argument."""


@dataclass(frozen=True)
class Evaluation:
    """A task's evaluation of the weights.

    Attributes:
        scores: by name, as lines of `metrics.jsonl` have them.
        monitor: name of the score that stopping follows.
        higher_is_better: whether a higher score is better, or a lower one.
    """

    scores: Mapping[str, float]
    monitor: str
    higher_is_better: bool

    def better_than(self, best: float | None) -> bool:
        """Whether this is a gain; equal scores are none, so the earliest weights stay."""
        if best is None:
            return True
        return self.value > best if self.higher_is_better else self.value < best

    @property
    def value(self) -> float:
        """The score that stopping follows."""
        return float(self.scores[self.monitor])


class Task(Protocol):
    """A training objective."""

    def plan(self, world: int) -> TrainingPlan:
        """Returns how many batches an epoch has, and steps the run, on `world` processes."""

    def batches(self, epoch: int, position: int, rank: int, world: int) -> Iterator[Any]:
        """Yields the batches of an epoch for one process; see `Batch`.

        The same arguments give the same batches, so that a stopped run can resume. Every process
        gets as many; together, those at one place are a batch of `world` times the rows.

        Args:
            epoch: counts from 0.
            position: batches of this epoch that are done.
            rank: which process, from 0 to `world` - 1.
            world: how many there are.
        """

    def loss(self, model: nn.Module, batch: Any) -> tuple[Tensor, int]:
        """Returns the loss of a batch as a sum, and how many terms (rows, tokens) it has.

        Losses are summed over the batches of a step and over processes, then divided by the sum of
        the counts: a token weighs the same in every batch. A count of 0 adds nothing.
        """

    def evaluate(self, model: nn.Module) -> Evaluation | None:
        """Scores a model; `None` where there is nothing to score it on, so the last weights stay.

        Raises:
            NotFiniteError: if an answer is not a finite number.
        """


@runtime_checkable
class Counted(Protocol):
    """A batch that counts its tokens itself, since they are more than its first tensor's."""

    def counted(self) -> tuple[int, int]:
        """Returns what `counted` returns."""


@runtime_checkable
class Cuts(Protocol):
    """A task whose batches go through the model in pieces; the step is that of the batch."""

    def pieces(self, batch: Any, device: torch.device) -> Iterator[Any]:
        """Yields the pieces of a batch, each a batch itself."""


@runtime_checkable
class HasBatchScores(Protocol):
    """A task that says more of its batches than their loss; not of several processes."""

    def batch_scores(self) -> dict[str, float]:
        """Returns scores of the last batch, by name, for the line of `metrics.jsonl` that follows it."""


def counted(batch: Batch) -> tuple[int, int]:
    """Returns how many places of a batch hold a token, and how many there are."""
    if isinstance(batch, Counted):
        return batch.counted()
    inputs = batch.inputs()
    mask = inputs.get("mask")
    if mask is not None:
        return int(mask.sum()), mask.numel()
    first = next(iter(inputs.values()))
    return first.numel(), first.numel()


class Trainer:
    """Trains a module.

    Args:
        optim: `[optim]`.
        train: `[train]`.
        distributed: this process in the group that trains together; without it, it trains alone.
        on_record: called with each record of `metrics.jsonl`, and with `total_steps`.
        should_stop: asked after each step; True leaves a state to resume from.
    """

    def __init__(
        self,
        optim: OptimConfig,
        train: LoopConfig,
        *,
        distributed: Distributed | None = None,
        on_record: Callable[[Record], None] | None = None,
        should_stop: Callable[[], bool] | None = None,
    ) -> None:
        self.optim = optim
        self.config = train
        self.on_record = on_record
        self.should_stop = should_stop or (lambda: False)
        self.distributed = distributed or Distributed.start(train.device)
        self.device = self.distributed.device
        self.bfloat16 = use_bfloat16(train, self.device)

    def fit(self, module: nn.Module, task: Task, *, folder: Path | None = None, resume: bool = False) -> Fit:
        """Trains, and leaves the best weights in the module.

        Args:
            module: the model; it is moved to the device.
            task: the training objective.
            folder: where `metrics.jsonl` and the state go, or `None`. The state stays there until
                the caller has scored and written the weights; `runs.directory.finish_run` removes it.
            resume: whether to continue from the state in `folder`.

        Raises:
            TrainingError: if the loss is not finite; the module has the best weights so far
                if there are any, and the error's `fit` describes them.
            CheckpointError: if there is no state to resume from.
        """
        run = _Run(self, module, task, folder)
        if resume and folder is not None:
            run.load(folder)
        try:
            return run.go()
        except NotFiniteError as error:
            raise run.ended_by(error) from None


class _Run:
    """One call of `fit`, with all that changes in it."""

    def __init__(self, trainer: Trainer, module: nn.Module, task: Task, folder: Path | None) -> None:
        self.trainer, self.config, self.optim = trainer, trainer.config, trainer.optim
        self.all, self.device = trainer.distributed, trainer.device
        self.task, self.folder = task, folder
        validate_optim(module, self.optim)
        self.module = module.to(self.device)
        # A compiled model would be compiled again for each number of rows.
        sparse = (
            self.optim.sparse_embeddings
            and OPTIMIZERS[self.optim.name].takes_sparse
            and not self.config.compile
        )
        tables = make_sparse(module, sparse)
        self.forward: nn.Module = module
        if self.config.compile:
            self.forward = cast("nn.Module", torch.compile(module))
        named = dict(module.named_parameters())
        self.parameters = list(named.values())
        self.tables = [value for name, value in named.items() if name in tables]
        self.frozen = [value for name, value in named.items() if name.startswith(self.optim.freeze)]
        if self.all.world > 1:
            self.all.share_weights(module)
            torch.manual_seed(self.config.seed + self.all.rank)  # each rank has its own dropout
        self.optimizers = Optimizers(module, self.optim, sparse=tables)
        self.ema = EMA(module, self.config.ema, tables) if self.config.ema and self.all.main else None
        self.best: dict[str, Tensor] = {}
        self.progress = Progress()
        self.pending: list[tuple[int, Progress, Tensor]] = []
        self.plan = task.plan(self.all.world)
        self.total = self.plan.steps
        self.history = History(folder, trainer.on_record, self.all, self.plan, self.progress)

    def load(self, folder: Path) -> None:
        """Goes back to a saved state."""
        path = folder / "state.safetensors"
        parts, progress = load_state(path)
        self.progress = self.history.progress = Progress(**progress)
        if self._goes_on() and (then := world_of(parts["random"])) != self.all.world:
            how = f"with torchrun --nproc-per-node {then} -m sentimodels ..."
            raise CheckpointError(
                f"{path}: the number of processes was {then} and is {self.all.world}, so batches would "
                f"differ; resume {how if then > 1 else 'without torchrun'}"
            )
        if not self.all.main:  # the saved counts are those of all processes
            self.progress.tokens = self.progress.places = 0
        load_weights(self.module, parts["weights"])
        self.optimizers.load(parts.get("optimizers", {}))
        if self.ema is not None:
            self.ema.load(parts["ema"])
        self.best = parts.get("best", {})
        restore_random(self.all.own(parts["random"]))
        self.history.rewind()

    def save(self) -> None:
        """Saves the state, if there is a place for it."""
        if self.folder is None:
            return
        random = self.all.gather(random_state())
        progress = asdict(self.progress)
        progress["tokens"], progress["places"] = self.history.counts()
        if not self.all.main:
            return
        parts: dict[str, Mapping[str, Tensor]] = {
            "weights": weights_of(self.module),
            "optimizers": self.optimizers.tensors(),
            "best": self.best,
            "random": random,
        }
        if self.ema is not None:
            parts["ema"] = self.ema.tensors()
        save_state(self.folder / "state.safetensors", parts, progress)

    def go(self) -> Fit:
        """Takes the steps that are left, or those up to where it is stopped."""
        at = self.progress
        self.began = time.perf_counter() - at.seconds
        self.history.begin(self.module, self.trainer.bfloat16)
        while self._goes_on():
            for window in self._windows():
                self._freeze()
                self._step(window)
                at.position += len(window)
                if at.position >= self.plan.n_batches:
                    at.epoch, at.position = at.epoch + 1, 0
                at.seconds = time.perf_counter() - self.began
                end = at.step == self.total
                every = self.config.evaluate_every
                due = at.step % every == 0 if every else at.position == 0
                if at.step % self.config.log_every == 0 or end:
                    self._log()
                if due or end:
                    self._evaluate()
                ended = end or self._out_of_patience()
                stopped = not ended and self._stop_asked()
                saving = self.config.save_every
                # At the end too: the work on the final weights takes a while, and may be interrupted.
                if ended or stopped or (at.step % saving == 0 if saving else due):
                    self.save()
                if stopped:
                    return self._finish("stopped")
                if ended:
                    break
        if self._out_of_patience():
            return self._finish("patience")
        return self._finish("max_steps" if self.total == self.config.max_steps else "epochs")

    def _goes_on(self) -> bool:
        """Whether steps are left."""
        return self.progress.step < self.total and not self._out_of_patience()

    def _out_of_patience(self) -> bool:
        return 0 < self.config.patience <= self.progress.without_gain

    def _stop_asked(self) -> bool:
        """Whether to stop; of several processes each is asked, but not at each step."""
        if self.all.world == 1:
            return self.trainer.should_stop()
        if self.progress.step % self.config.log_every:
            return False
        return self.all.any(self.trainer.should_stop())

    def _finish(self, stop: str) -> Fit:
        at = self.progress
        if stop == "stopped" and at.best is None:
            self._evaluate()  # so that the weights are usable, and their score known
        if not self.best and self.ema is not None and at.step:
            with self._averaged():
                self._keep()
            at.best_step = at.step
        self.module.eval()
        with torch.no_grad():
            for name, parameter in self.module.named_parameters():
                parameter.requires_grad_(True)
                if name in self.best:
                    parameter.copy_(self.best[name])
        self.all.share_weights(self.module)
        at.seconds = time.perf_counter() - self.began
        best_step = at.best_step if self.best else at.step
        tokens, padding = self.history.counts()[0], self.history.padding()
        return Fit(stop, at.step, best_step, at.best, at.monitor, at.seconds, tokens, padding)

    def ended_by(self, error: NotFiniteError) -> TrainingError:
        """Puts the best weights back, and says what remains of the run.

        Where nothing is left, the saved state goes: from it the same steps would end the same way.
        """
        at = self.progress
        remedy = f"lower optim.lr ({self.optim.lr:g}) or set optim.clip ({self.optim.clip:g})"
        if not self.all.share(float(bool(self.best)))[0]:
            if self.folder is not None:
                (self.folder / "state.safetensors").unlink(missing_ok=True)
            return TrainingError(f"{error}: {remedy}; it was before any evaluation, so no weights are kept")
        self.pending.clear()
        fit = self._finish("not finite")
        kept = f"the weights of step {fit.best_step} ({at.monitor} {at.best or 0.0:.4f}) are kept"
        return TrainingError(f"{error}: {remedy}; {kept}", fit)

    def _windows(self) -> Iterator[list[Any]]:
        """Yields the batches of each step of the epoch."""
        at = self.progress
        batches = self.task.batches(at.epoch, at.position, self.all.rank, self.all.world)
        while window := list(islice(batches, self.config.accumulate)):
            yield window

    def _freeze(self) -> None:
        until = self.optim.unfreeze_at
        moves = until is not None and self.progress.step >= until
        for parameter in self.frozen:
            parameter.requires_grad_(moves)

    def _step(self, window: list[Any]) -> None:
        """Takes one step over a window of batches."""
        at = self.progress
        self.module.train()
        self.lr = self.optimizers.set_rate(rate(at.step, self.total, self.optim))
        mean = self._gradients(window)
        self.pending.append((at.step + 1, Progress(epoch=at.epoch, position=at.position), mean))
        if self.device.type == "cpu" or len(self.pending) >= self.config.log_every:
            self._settle()
        logged = (at.step + 1) % self.config.log_every == 0 or at.step + 1 == self.total
        if self.optim.clip:
            self.norm = clip(self.parameters, self.optim.clip)
        elif logged:
            self.norm = norm_of(self.parameters)
        if self.ema is not None:
            self.ema.before_step()
        self.optimizers.step()
        if self.ema is not None:
            self.ema.after_step()
        at.step += 1

    def _gradients(self, window: list[Any]) -> Tensor:
        """Puts the gradient of the mean loss of a window on the parameters; returns that mean.

        The terms of a window are known once its last batch, of the last process, is through: then
        the sum is divided. One batch alone is divided at once.
        """
        at = self.progress
        if isinstance(self.task, Cuts):
            window = [piece for batch in window for piece in self.task.pieces(batch, self.device)]
        alone = len(window) == 1 and self.all.world == 1
        total = torch.zeros((), device=self.device)
        terms = 0
        for batch in window:
            autocast: AbstractContextManager[Any] = nullcontext()
            if self.trainer.bfloat16:
                autocast = torch.autocast(self.device.type, torch.bfloat16)
            with autocast:
                loss, n = self.task.loss(self.forward, batch)
                if alone and n:
                    loss = loss / n
            if n:
                loss.backward()
                total += loss.detach()
                terms += n
                tokens, places = counted(batch)
                at.tokens, at.places = at.tokens + tokens, at.places + places
        if alone:
            return total
        sums = self.all.sum(torch.stack([total, torch.tensor(float(terms), device=self.device)]))
        self.all.sum_gradients(self.parameters, self.tables)
        divide(self.parameters, sums[1].clamp(min=1))
        return sums[0] / sums[1].clamp(min=1)

    def _settle(self) -> None:
        """Reads the losses of past steps; a GPU is not waited for at each."""
        for step, where, loss in self.pending:
            value = float(loss)
            if not np.isfinite(value):
                place = f"step {step} (epoch {where.epoch + 1}, batch {where.position + 1})"
                raise NotFiniteError(f"the loss is {value} at {place}")
            self.progress.losses.append(value)
        self.pending.clear()

    def _log(self) -> None:
        self._settle()
        at = self.progress
        values = {"loss": float(np.mean(at.losses)), "lr": self.lr, "grad_norm": float(self.norm)}
        if isinstance(self.task, HasBatchScores):
            values |= self.task.batch_scores()
        self.history.add(values | self.history.speed())
        at.losses.clear()

    def _evaluate(self) -> None:
        """Scores the (averaged) weights, and keeps them if they are the best so far."""
        self._settle()  # weights after a loss that is not finite are not to be kept
        at = self.progress
        evaluation, failed = self._scores() if self.all.main else (None, None)
        evaluated, finite, value, higher = self.all.share(
            float(evaluation is not None or failed is not None),
            float(failed is None),
            evaluation.value if evaluation else 0.0,
            float(evaluation.higher_is_better) if evaluation else 0.0,
        )
        if not evaluated:
            return
        if not finite:
            raise failed or NotFiniteError("the first process has a score that is not finite")
        heard = evaluation or Evaluation({"score": value}, "score", bool(higher))
        if heard.better_than(at.best):
            at.best, at.best_step, at.without_gain = heard.value, at.step, 0
            at.monitor = heard.monitor
        else:
            at.without_gain += 1
        at.seconds = time.perf_counter() - self.began
        self.history.add({**heard.scores, "monitor": heard.monitor})

    def _scores(self) -> tuple[Evaluation | None, NotFiniteError | None]:
        """Returns the task's evaluation of the weights, or which values are not finite; keeps the best."""
        at = self.progress
        with self._averaged():
            try:
                evaluation = self.task.evaluate(self.module)
            except NotFiniteError as error:
                return None, NotFiniteError(f"{error} after step {at.step}")
            if evaluation is not None and not np.isfinite(evaluation.value):
                return None, NotFiniteError(
                    f"{evaluation.monitor} is {evaluation.value} after step {at.step}"
                )
            if evaluation is not None and evaluation.better_than(at.best):
                self._keep()
        return evaluation, None

    def _averaged(self) -> AbstractContextManager[None]:
        return self.ema.applied() if self.ema is not None else nullcontext()

    def _keep(self) -> None:
        self.best = {name: value.detach().clone() for name, value in self.module.named_parameters()}
