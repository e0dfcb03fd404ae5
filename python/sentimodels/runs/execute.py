"""`execute`: the one pipeline of every run, from its data to its run directory, and when it is resumed.

    check               settings that cannot be are refused before processes start
    prepare             files -> rows -> ids
    build               the module, with drawn weights
    make_task           batches, loss and the score that chooses the best weights
    init_weights        the weights that the module starts from, if any
    begin               files of before training
    fit_closed_form     for what learns without steps
    trainer().fit       the trainer's loop, which calls the task's `loss`
    facts, scores       calibration, scores, baselines

These are methods of `Recipe`, which says what a run of one kind needs; `sentimodels/recipes/` has one file
each. At the end `execute` saves weights, `run.json` and manifest.
"""

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import torch
from torch import nn

from sentitok.remote import is_url, written

from ..config import TASKS, LoopConfig, OptimConfig, RunConfig
from ..errors import CheckpointError, TrainingError
from ..training.device import restored_torch, set_torch, slow
from ..training.distributed import Distributed
from ..training.history import Fit
from ..training.optimizer import validate_optim
from ..training.state import STATE
from ..training.trainer import Record, Trainer
from .directory import (
    FIRST,
    METRICS,
    HasFingerprint,
    fetch_files,
    finish_run,
    finished,
    mark_launch,
    read_json,
    refuse_run,
    restarted,
)
from .families import CLASSIFIER, family_of
from .judging import with_baseline
from .tables import Tables

if TYPE_CHECKING:
    from ..config import AlignConfig, LanguageConfig, TranslationConfig

__all__ = [
    "Callbacks",
    "Recipe",
    "assemble",
    "config_warnings",
    "execute",
    "recipe_of",
    "resume",
    "train",
]

Config = TypeVar("Config", bound="RunConfig | LanguageConfig | TranslationConfig | AlignConfig")


def _ignore(_: object) -> None:
    """Ignores a record or a warning."""


def _never() -> bool:
    """Never stops."""
    return False


@dataclass(frozen=True)
class Callbacks:
    """The functions that a run calls as it goes.

    Attributes:
        on_record: called with each record of `metrics.jsonl`.
        on_warning: called with notes for the user, one sentence each: guesses, leaks, cut texts.
        should_stop: called after each step; True saves a state to resume from and ends the run.
    """

    on_record: Callable[[Record], None] = _ignore
    on_warning: Callable[[str], None] = _ignore
    should_stop: Callable[[], bool] = _never


class Recipe(ABC, Generic[Config]):
    """The steps of a run of one kind; an object is one run.

    `execute` sets the attributes and calls the methods; the header of this file has the order. Only a plan
    (`plan.py`) calls `shape`, `planned` and `fit_some`.

    Args:
        config: the run.

    Attributes:
        config: the configuration; `prepare` may settle more of it.
        out: the run directory.
        resumed: whether the run has begun before.
        callbacks: those of this process; only the first one records and warns.
        processes: this process among the processes that train together.
        rehearsed: steps of a trial (`plan.py`), so that less data may do; `None`: a run.
        encoder: turns texts into ids; set by `prepare` or `build`.
        module: the model that is trained.
        task: the training objective.
    """

    config: Config
    out: Path
    resumed: bool = False
    callbacks: Callbacks
    processes: Distributed
    rehearsed: int | None = None
    encoder: HasFingerprint
    module: nn.Module
    task: Any

    def __init__(self, config: Config) -> None:
        self.config = config

    def warn(self, *warnings: str) -> None:
        """Tells the user each of these sentences."""
        for warning in warnings:
            self.callbacks.on_warning(warning)

    @property
    def arch(self) -> str:
        """The architecture, for `run.json`."""
        config: Any = self.config
        return str(config.arch)

    def check(self) -> None:
        """Refuses settings that cannot be, before processes start and files are read."""

    def join(self) -> Distributed:
        """Joins the processes that `torchrun` has started."""
        return Distributed.start(self.config.train.device)

    def shape(self) -> nn.Module | None:
        """Returns the module without values, where that is known before the data is read."""
        return None

    @abstractmethod
    def prepare(self) -> None:
        """Reads the data; of a resumed run, refuses data that has changed."""

    @abstractmethod
    def build(self) -> nn.Module:
        """Returns the module; its weights are drawn from the seed of the run."""

    @abstractmethod
    def make_task(self) -> Any:
        """Returns the `Task` of the module."""

    def init_weights(self) -> None:
        """Puts the weights of another run into the module, where it starts from one."""

    @abstractmethod
    def begin(self) -> None:
        """Writes the files of before training, once data and settings have been checked."""

    def planned(self) -> dict[str, Any]:
        """Returns the plan's facts on data and settings; on a shape, before the data is read."""
        return {}

    def steps(self) -> int | None:
        """Returns how many steps the run has; `None` where a plan has not read all data."""
        return int(self.task.plan(self.processes.world).steps)

    def fit_closed_form(self) -> None:
        """Fits a model that is not trained by steps."""

    def fit_some(self, most: int) -> tuple[int, int]:  # noqa: ARG002  # 2026-11-29: nothing is fitted
        """Fits some rows at most, for a plan; returns how many, and how many there are."""
        return 0, 0

    def loop(self) -> type[Trainer]:
        """Returns the class of the loop."""
        return Trainer

    def trainer(self) -> Any:
        """Returns the loop, an object with the method `fit` of `Trainer`."""
        return self.loop()(
            self.config.optim, self.config.train, distributed=self.processes,
            on_record=self.callbacks.on_record, should_stop=self.callbacks.should_stop,
        )  # fmt: skip

    def gather(self) -> nn.Module:
        """Returns the module with all its weights in the first process; every process calls it."""
        return self.module

    @abstractmethod
    def facts(self, fit: Fit) -> dict[str, Any]:
        """Returns what `run.json` says of a run before it is scored."""

    @abstractmethod
    def scores(self, fit: Fit) -> dict[str, Any]:
        """Returns what `run.json` says of the trained module: calibration, scores, baselines."""


def recipe_of(config: Config, **given: Any) -> Recipe[Config]:
    """Returns the recipe of a configuration; `given` are arguments of its class, such as `tables`."""
    # Imported by name: a recipe may import layers above this package, and a run needs only one recipe.
    module, _, name = TASKS[config.task.kind].recipe.partition(":")
    made: Recipe[Config] = getattr(import_module(f"sentimodels.recipes.{module}"), name)(config, **given)
    return made


def train(
    config: "RunConfig | LanguageConfig | TranslationConfig | AlignConfig",
    out: Path,
    callbacks: Callbacks | None = None,
    *,
    tables: Tables | None = None,
    baseline: bool | None = None,
) -> dict[str, Any]:
    """Trains a model and writes its run directory; with `train.refit` trains it twice.

    Where `torchrun` has started several processes, each calls this; the first one writes. If it restarts them
    (`--max-restarts`), the same call resumes the run.

    Args:
        config: the run; the kind of its task chooses the recipe.
        out: the directory, which must hold no run yet.
        callbacks: called during the run.
        tables: the rows of a classifier, if they are read already.
        baseline: whether to train TF-IDF as a baseline of a classifier; without it as the configuration says.

    Returns:
        What `run.json` holds; in other processes than the first, only how training went.

    Raises:
        SentiError: if a file, a setting or training does not allow it.
    """
    if is_url(out):
        with written(out) as folder:
            return train(config, folder, callbacks, tables=tables, baseline=baseline)
    if restarted(out):
        return resume(out, callbacks, tables=tables, baseline=baseline)
    config = fetch_files(config)
    if not isinstance(config, RunConfig):
        return execute(recipe_of(config), out, callbacks)
    config = with_baseline(config, baseline)
    if config.train.refit and TASKS[config.task.kind].command == "train":
        from .refit import train_twice

        return train_twice(config, out, callbacks, tables)
    return execute(recipe_of(config, tables=tables), out, callbacks)


def resume(
    out: Path,
    callbacks: Callbacks | None = None,
    *,
    tables: Tables | None = None,
    baseline: bool | None = None,
) -> dict[str, Any]:
    """Resumes a stopped run; the result is that of a run that was not stopped.

    The arguments are those of `train`.

    Raises:
        CheckpointError: if there is nothing to resume, or the data, base, teacher or reward has changed.
    """
    if restarted(out) and finished(out):  # one process had finished when another failed
        return read_json(out / "run.json")
    if is_url(out):
        with written(out) as folder:
            return resume(folder, callbacks, tables=tables, baseline=baseline)
    first = out / FIRST
    if (first / "config.toml").is_file():
        from .refit import resume_twice

        return resume_twice(with_baseline(fetch_files(CLASSIFIER.load(first)), baseline), out, callbacks)
    family = family_of(out)
    if family is CLASSIFIER:
        config = with_baseline(fetch_files(CLASSIFIER.load(out)), baseline)
        return execute(recipe_of(config, tables=tables), out, callbacks, resumed=True)
    from .language_directory import load_unfinished

    return execute(recipe_of(fetch_files(load_unfinished(out, family))), out, callbacks, resumed=True)


def execute(
    recipe: Recipe[Any], out: Path, callbacks: Callbacks | None = None, *, resumed: bool = False
) -> dict[str, Any]:
    """Trains a model as its recipe says and writes its run directory.

    Where `torchrun` has started several processes, each calls this; the first one writes.

    Args:
        recipe: the run.
        out: its directory; unless `resumed`, it must not hold a run yet.
        callbacks: called during the run.
        resumed: whether to resume the stopped run in `out`; the result is that of a run that was not stopped.

    Returns:
        What `run.json` holds; in other processes than the first, only how training went.

    Raises:
        SentiError: if a file, a setting or training does not allow it.
    """
    if resumed and finished(out):
        raise CheckpointError(f"{out}: has finished; nothing to resume")
    recipe.out, recipe.resumed, recipe.callbacks = out, resumed, callbacks or Callbacks()
    recipe.check()
    tracked = recipe.config.train.track != "none"
    if tracked:
        from ..training.trackers import check_tracker, tracking

        check_tracker(recipe.config.train.track)
    with ExitStack() as stack:
        stack.enter_context(restored_torch())
        processes = recipe.processes = recipe.join()
        stack.callback(processes.end)
        if not processes.main:
            recipe.callbacks = Callbacks(should_stop=recipe.callbacks.should_stop)
        with processes.first() as first:
            if first and resumed:
                mark_launch(out)
            elif first:
                refuse_run(out)  # before minutes are spent on it
        assemble(recipe)
        if processes.main and tracked:
            on_record = stack.enter_context(tracking(recipe.config, out, recipe.callbacks.on_record))
            recipe.callbacks = replace(recipe.callbacks, on_record=on_record)
        resume = resumed and _can_resume(recipe)
        if not resume:
            recipe.init_weights()
        if not resumed and processes.main:
            recipe.begin()
        if not resume:
            recipe.fit_closed_form()
        failed = None
        try:
            fit = recipe.trainer().fit(recipe.module, recipe.task, folder=out, resume=resume)
        except TrainingError as error:
            if error.fit is None:
                raise
            fit, failed = error.fit, error  # the best weights so far are a run that answers
        recipe.module = recipe.gather()
        about = _finish(recipe, fit) if processes.main else {"arch": recipe.arch, "fit": asdict(fit)}
        if failed is not None:
            raise failed
        return about


def assemble(recipe: Recipe[Any]) -> None:
    """Reads the data of a run, builds its module and makes its task."""
    recipe.prepare()
    config = recipe.config
    set_torch(config.train)
    _seed(config.train.seed)
    recipe.module = recipe.build()
    validate_optim(recipe.module, config.optim)
    recipe.task = recipe.make_task()
    recipe.warn(*config_warnings(config.optim, config.train, lambda: recipe.steps() or 0))


def _finish(recipe: Recipe[Any], fit: Fit) -> dict[str, Any]:
    """Scores and saves a trained module; returns what `run.json` holds."""
    about: dict[str, Any] = {
        "arch": recipe.arch,
        "parameters": sum(parameter.numel() for parameter in recipe.module.parameters()),
        "fit": asdict(fit),
        "device": str(recipe.processes.device),
        **recipe.facts(fit),
    }
    if fit.steps:  # with its state: of use even if scoring is broken off, and resumed then
        finish_run(recipe.out, recipe.module, recipe.encoder, about, keeps_state=True)
    about |= recipe.scores(fit)
    keeps_state = fit.stop == "stopped"
    finish_run(recipe.out, recipe.module.cpu(), recipe.encoder, about, keeps_state=keeps_state)
    return about


def config_warnings(optim: OptimConfig, train: LoopConfig, steps: Callable[[], int]) -> Iterator[str]:
    """Yields settings of a configuration that have no effect or are slow, one sentence each.

    Args:
        optim: how weights are moved.
        train: where, and in which precision.
        steps: returns the number of training steps; called where that matters.
    """
    if optim.unfreeze_at is not None and optim.unfreeze_at >= (n := steps()):
        after = f"optim.unfreeze_at {optim.unfreeze_at:,}: training has {n:,} steps"
        yield f"{after}, so frozen weights stay frozen"
    yield from slow(train)


def _can_resume(recipe: Recipe[Any]) -> bool:
    """Returns whether there is a state to resume from; without one a run begins again, its metrics too."""
    if (recipe.out / STATE).is_file():
        return True
    if recipe.processes.main:
        recipe.warn("no state was saved before the run ended, so it begins again")
        (recipe.out / METRICS).unlink(missing_ok=True)
    return False


def _seed(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed % (1 << 32))  # for libraries that draw from it
    torch.manual_seed(seed)
