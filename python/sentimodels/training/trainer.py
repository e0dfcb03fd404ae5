"""`Trainer.fit`: the one loop that trains every architecture.

Not for reading data, for the run directory or for printing: it gets encoded texts, gives back
the best weights, and tells what happens through `on_record`, in the fields of `metrics.jsonl`.
The order of rows is a function of (seed, epoch), so a stopped run goes on from its state at
any step; on a CPU it ends with the same weights bit by bit.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sentitok.atomic import write

from ..config import OptimConfig, TrainConfig
from ..data.batches import Batch, batches
from ..data.encoded import Encoded
from ..errors import TrainingError
from ..inference import text_logits
from ..layers.embedding import Mixing, TokenEmbedding
from .class_weights import balanced, numbers
from .device import device_of, use_bfloat16
from .ema import EMA
from .loss import distance, mixed, one_hot, summed
from .optimizer import Optimizers, clip, is_sparse
from .possible import check_possible
from .progress import Fit, Progress, write_record
from .schedule import rate
from .state import load_state, random_state, restore_random, save_state
from .validation import validation_scores

__all__ = ["Record", "Trainer"]

Record = dict[str, Any]


class Trainer:
    """Trains a module.

    Args:
        optim: `[optim]`.
        train: `[train]`.
        on_record: called with each record of `metrics.jsonl`, and with `total_steps`.
        should_stop: asked after each step; True leaves a state to resume from.
    """

    def __init__(
        self,
        optim: OptimConfig,
        train: TrainConfig,
        *,
        on_record: Callable[[Record], None] | None = None,
        should_stop: Callable[[], bool] | None = None,
    ) -> None:
        self.optim = optim
        self.config = train
        self.on_record = on_record
        self.should_stop = should_stop or (lambda: False)
        self.device = device_of(train.device)
        self.bfloat16 = use_bfloat16(train, self.device)

    def fit(
        self,
        module: nn.Module,
        train: Encoded,
        labels: NDArray[np.int64],
        valid: Encoded | None,
        valid_labels: NDArray[np.int64] | None,
        *,
        n_classes: int,
        folder: Path | None = None,
        resume: bool = False,
    ) -> Fit:
        """Trains, and leaves the best weights in the module.

        Args:
            module: the model; it is moved to the device.
            train: the training texts.
            labels: class of each training text.
            valid: the texts that decide which weights are best, or `None`.
            valid_labels: class of each of them.
            n_classes: classes.
            folder: where `metrics.jsonl` and the state go, or `None`.
            resume: whether to go on from the state in `folder`.

        Raises:
            TrainingError: if the loss is not finite; the module has the best weights so far
                if there are any, and the error's `fit` tells of them.
            CheckpointError: if there is no state to resume from.
        """
        run = _Run(self, module, train, labels, valid, valid_labels, n_classes, folder)
        if resume and folder is not None:
            run.load(folder)
        try:
            return run.go()
        except _NotFiniteError as error:
            raise run.ended_by(error) from None


class _NotFiniteError(Exception):
    """What is not finite, and where."""


class _Run:
    """One call of `fit`, with all that changes in it."""

    def __init__(
        self,
        trainer: Trainer,
        module: nn.Module,
        train: Encoded,
        labels: NDArray[np.int64],
        valid: Encoded | None,
        valid_labels: NDArray[np.int64] | None,
        n_classes: int,
        folder: Path | None,
    ) -> None:
        self.trainer, self.config, self.optim = trainer, trainer.config, trainer.optim
        self.device, self.bfloat16 = trainer.device, trainer.bfloat16
        self.train, self.labels, self.valid, self.valid_labels = train, labels, valid, valid_labels
        self.n_classes, self.folder = n_classes, folder
        check_possible(module, self.optim, self.config)
        self.module = module.to(self.device)
        self.mixing = [part for part in module.modules() if isinstance(part, Mixing)]
        # A compiled model would be compiled anew for each number of rows.
        sparse = self.optim.sparse_embeddings and self.optim.name != "sgd" and not self.config.compile
        for part in self.mixing:
            if isinstance(part, TokenEmbedding):
                part.sparse = sparse
        self.forward = torch.compile(module) if self.config.compile else module
        self.names = [name for name, _ in module.named_parameters()]
        self.optimizers = Optimizers(module, self.optim, sparse=sparse)
        lazy = {name for name in self.names if sparse and is_sparse(module, name)}
        self.ema = EMA(module, self.config.ema, lazy) if self.config.ema else None
        self.frozen = [
            value for name, value in module.named_parameters() if name.startswith(self.optim.freeze)
        ]
        self.best: dict[str, Tensor] = {}
        self.progress = Progress()
        self.pending: list[tuple[int, Progress, Tensor]] = []
        course = self.config.course(len(train))
        self.batch_size, self.n_batches, self.total = course.batch_size, course.n_batches, course.steps
        self.class_weights, self.row_weights = self._weights()

    def _weights(self) -> tuple[Tensor | None, NDArray[np.float64] | None]:
        """Returns the weights of classes in the loss, and of rows in the sampler."""
        weights = numbers(self.config.class_weights, self.labels, self.n_classes)
        of_classes = None if weights is None else torch.tensor(weights, dtype=torch.float32).to(self.device)
        if self.config.sampler == "shuffle":
            return of_classes, None
        return of_classes, balanced(self.labels, self.n_classes)[self.labels][self.train.text_of_row]

    def load(self, folder: Path) -> None:
        """Goes back to a saved state."""
        parts, progress = load_state(folder / "state.safetensors")
        self.progress = Progress(**progress)
        self.module.load_state_dict(parts["weights"])
        self.optimizers.load(parts.get("optimizers", {}))
        if self.ema is not None:
            self.ema.load(parts["ema"])
        self.best = parts.get("best", {})
        restore_random(parts["random"])
        # Records of steps that will be taken again go.
        path = folder / "metrics.jsonl"
        if path.is_file():
            kept = [
                line for line in path.read_text("utf-8").splitlines() if _step(line) <= self.progress.step
            ]
            write(path, "".join(f"{line}\n" for line in kept).encode())

    def save(self) -> None:
        """Saves the state, if there is a place for it."""
        if self.folder is None:
            return
        parts: dict[str, Mapping[str, Tensor]] = {
            "weights": self.module.state_dict(),
            "optimizers": self.optimizers.tensors(),
            "best": self.best,
            "random": random_state(),
        }
        if self.ema is not None:
            parts["ema"] = self.ema.tensors()
        save_state(self.folder / "state.safetensors", parts, asdict(self.progress))

    def go(self) -> Fit:
        """Runs the loop."""
        at = self.progress
        began = time.perf_counter() - at.seconds
        stop = "max_steps" if self.total == self.config.max_steps else "epochs"
        while at.step < self.total:
            for window in self._windows():
                self._freeze()
                self._step(window)
                at.position += len(window)
                if at.position >= self.n_batches:
                    at.epoch, at.position = at.epoch + 1, 0
                at.seconds = time.perf_counter() - began
                end = at.step == self.total
                every = self.config.evaluate_every
                due = at.step % every == 0 if every else at.position == 0
                if at.step % self.config.log_every == 0 or end:
                    self._log()
                if (due or end) and self.valid is not None:
                    self._evaluate(began)
                saving = self.config.save_every
                if not end and (at.step % saving == 0 if saving else due):
                    self.save()
                if self._out_of_patience():
                    stop = "patience"
                if self.trainer.should_stop() and not end:
                    stop = "stopped"
                    self.save()
                if end or stop in ("patience", "stopped"):
                    return self._finish(stop, began)
        return self._finish(stop, began)

    def _finish(self, stop: str, began: float) -> Fit:
        at = self.progress
        if stop == "stopped" and self.valid is not None and at.best is None:
            self._evaluate(began)  # so that what is left is usable, and its score known
        if not self.best and self.ema is not None and at.step:
            self._keep()
            at.best_step = at.step
        self.module.eval()
        with torch.no_grad():
            for name, parameter in self.module.named_parameters():
                parameter.requires_grad_(True)
                if name in self.best:
                    parameter.copy_(self.best[name])
        if self.folder is not None and stop != "stopped":
            (self.folder / "state.safetensors").unlink(missing_ok=True)
        at.seconds = time.perf_counter() - began
        padding = 1 - at.tokens / at.places if at.places else 0.0
        best_step = at.best_step if self.best else at.step
        return Fit(stop, at.step, best_step, at.best, at.seconds, at.tokens, padding)

    def ended_by(self, error: _NotFiniteError) -> TrainingError:
        """Puts the best weights back, and says what is left of the run.

        The saved state goes: from it the same steps would end the same way.
        """
        at = self.progress
        remedy = f"lower optim.lr ({self.optim.lr:g}) or set optim.clip ({self.optim.clip:g})"
        if not self.best:
            if self.folder is not None:
                (self.folder / "state.safetensors").unlink(missing_ok=True)
            return TrainingError(f"{error}: {remedy}; it was before any evaluation, so no weights are kept")
        self.pending.clear()
        fit = self._finish("not finite", time.perf_counter() - at.seconds)
        kept = f"the weights of step {fit.best_step} (validation macro-F1 {fit.best or 0.0:.4f}) are kept"
        return TrainingError(f"{error}: {remedy}; {kept}", fit)

    def _windows(self) -> Iterator[list[Batch]]:
        """Yields what each step of the epoch reads."""
        found = batches(
            self.train,
            self.labels,
            batch_size=self.batch_size,
            shuffle_seed=self.config.seed,
            epoch=self.progress.epoch,
            position=self.progress.position,
            weights=self.row_weights,
            multiple_of=8 if self.config.compile else 1,
        )
        while window := list(islice(found, self.config.accumulate)):
            yield window

    def _freeze(self) -> None:
        until = self.optim.unfreeze_at
        moves = until is not None and self.progress.step >= until
        for parameter in self.frozen:
            parameter.requires_grad_(moves)

    def _step(self, window: list[Batch]) -> None:
        """Takes one step over a window of batches."""
        at = self.progress
        self.module.train()
        lr = self.optimizers.set_rate(rate(at.step, self.total, self.optim))
        n_rows = sum(len(batch.labels) for batch in window)
        total = torch.zeros((), device=self.device)
        for batch in window:
            with torch.autocast(self.device.type, torch.bfloat16) if self.bfloat16 else nullcontext():
                loss = self._loss(batch) / n_rows
            loss.backward()
            total += loss.detach()
            at.tokens += int(batch.mask.sum())
            at.places += batch.mask.numel()
        self.pending.append((at.step + 1, Progress(epoch=at.epoch, position=at.position), total))
        if self.device.type == "cpu" or len(self.pending) >= self.config.log_every:
            self._settle()
        if self.optim.clip:
            clip(self.module.parameters(), self.optim.clip)
        if self.ema is not None:
            self.ema.before()
        self.optimizers.step()
        if self.ema is not None:
            self.ema.after()
        at.step += 1
        self.lr = lr

    def _settle(self) -> None:
        """Reads the losses of past steps; a GPU is not waited for at each."""
        for step, where, loss in self.pending:
            value = float(loss)
            if not np.isfinite(value):
                place = f"step {step} (epoch {where.epoch + 1}, batch {where.position + 1})"
                raise _NotFiniteError(f"the loss is {value} at {place}")
            self.progress.losses.append(value)
        self.pending.clear()

    def _loss(self, batch: Batch) -> Tensor:
        """Returns the summed loss of a batch."""
        inputs = batch.inputs(self.device)
        target = one_hot(batch.labels.to(self.device), self.n_classes)
        if self.config.mixup:
            alpha = torch.tensor(self.config.mixup)
            share = float(torch.distributions.Beta(alpha, alpha).sample())
            order, mask = torch.randperm(len(batch.labels)).to(self.device), batch.mask.to(self.device)
            target = mixed(target, order, share)
            for part in self.mixing:
                part.mix = (order, share, mask)
            inputs["mask"] = mask | mask[order]
        try:
            logits = self.forward(**inputs)
            again = self.forward(**inputs) if self.config.r_drop else None
        finally:
            for part in self.mixing:
                part.mix = None
        loss = summed(logits, target, self.config, self.class_weights)
        if again is None:
            return loss
        loss = (loss + summed(again, target, self.config, self.class_weights)) / 2
        return loss + self.config.r_drop * distance(logits, again)

    def _log(self) -> None:
        self._settle()
        at = self.progress
        self._record({"loss": float(np.mean(at.losses)), "lr": self.lr})
        at.losses.clear()

    def _evaluate(self, began: float) -> None:
        """Scores the (averaged) weights, and keeps them if they are the best so far."""
        assert self.valid is not None
        assert self.valid_labels is not None
        self._settle()  # weights after a loss that is not finite are not to be kept
        with self.ema.applied() if self.ema is not None else nullcontext():
            logits = text_logits(self.module, self.valid, device=self.device, bfloat16=self.bfloat16)
            at = self.progress
            if not np.isfinite(logits).all():
                raise _NotFiniteError(f"an answer to a validation text is not finite after step {at.step}")
            found = validation_scores(logits, self.valid_labels)
            # Of equals the earliest stays.
            if at.best is None or found["val_macro_f1"] > at.best:
                at.best, at.best_step, at.without_gain = found["val_macro_f1"], at.step, 0
                self.best = {name: value.detach().clone() for name, value in self.module.named_parameters()}
            else:
                at.without_gain += 1
        at.seconds = time.perf_counter() - began
        self._record(found)

    def _keep(self) -> None:
        with self.ema.applied() if self.ema is not None else nullcontext():
            self.best = {name: value.detach().clone() for name, value in self.module.named_parameters()}

    def _out_of_patience(self) -> bool:
        return bool(self.config.patience) and self.progress.without_gain >= self.config.patience

    def _record(self, values: Record) -> None:
        at = self.progress
        record = {"step": at.step, "epoch": round(at.epoch + at.position / self.n_batches, 4), **values}
        record |= {"seconds": round(at.seconds, 3), "tokens": at.tokens}
        if self.folder is not None:
            write_record(self.folder, record)
        if self.trainer.on_record is not None:
            padding = 1 - at.tokens / at.places if at.places else 0.0
            self.trainer.on_record(record | {"total_steps": self.total, "padding": padding})


def _step(line: str) -> int:
    return int(json.loads(line).get("step", 0))
