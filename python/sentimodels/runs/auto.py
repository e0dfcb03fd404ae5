"""`choose`: picks the architecture of a run that names none, within a budget of computing time.

A few steps, or a fit of some of the rows, estimate the time that each architecture takes. Those whose
training fits several times into the budget are compared by cross-validation on the training rows, fold after
fold; whatever is clearly behind is dropped (racing, Maron and Moore 1994). One that fits only once or twice
is compared on one fold in the end. Another process may train the next fold in the meantime (`_Folds`): the
choice is made sooner, and is the same. Where the budget is too small to compare any, the first that fits is
taken, in an order that was measured (`order`). The choice, estimates and accuracies are kept in the run's
configuration, so that the same run can be trained again.
"""

import math
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import BrokenExecutor, Future
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np
import torch

from sentitok.adapters.processes import ProcessExecutor, follow_parent

from ..config import AUTO, RunConfig
from ..data.normalization import n_words, stands_alone
from ..data.split import folds
from ..data.table import Table
from ..errors import CheckpointError, ConfigError, DataError, SentiError
from ..evaluation.answers import answers_of
from ..models import ARCHITECTURES, Fits, architecture, build
from ..tasks.classification import Classification
from ..text.encoder import encoder_for
from ..training.device import device_of
from ..training.optimizer import validate_optim
from ..training.trainer import Record, Trainer
from .execute import train
from .families import CLASSIFIER, merge, resolve
from .init_weights import encoder_of_base
from .tables import Tables, settled_task, task_of

__all__ = [
    "AT_ONCE",
    "AUTO",
    "BUDGET",
    "Texts",
    "choose",
    "estimate",
    "is_fitted",
    "order",
    "seconds_of_fit",
    "without_architecture",
]

# Seconds, when none are named.
BUDGET = 60.0
# Folds that a command trains at once. More would mostly be of candidates that are dropped after two.
AT_ONCE = 2

# Texts from so many words on are long.
_LONG = 60
# From so many rows on, networks are better than linear models on short texts; from the second
# number on, a bag of hashed n-grams is better than naive Bayes, and quicker.
_FEW, _MANY = 2_000, 50_000
# Keys of models that learn by steps: who gives one means such a model.
_OF_STEPS = ("epochs", "max_steps", "batch_size", "accumulate", "ema", "evaluate_every", "patience")

# Rows that a fit is timed on; tokens of a step that is timed, at most, and how many such steps.
_FITTED_ROWS = 1_000
_STEP_TOKENS = 8_192
_STEPS = 3
# A step forward is about so much of a step of training.
_FORWARD = 0.3
# Folds of the training rows, and how many must fit into the budget for an architecture to be compared.
_FOLDS, _FEWEST = 5, 2
# Standard errors behind the best from which on an architecture is dropped.
_BEHIND = 2.0
# Standard errors by which a candidate must be ahead of an earlier one after as many folds. Candidates are
# tried in the order in which they did best before, and of many the luckiest leads on few rows.
_AHEAD = 0.5


@dataclass(frozen=True)
class Texts:
    """The properties of the data that decide the order of architectures.

    Attributes:
        n_rows: training rows.
        n_words: the median of their lengths.
        spaced: whether most of them are of a script that puts spaces between words.
    """

    n_rows: int
    n_words: int
    spaced: bool

    @classmethod
    def of(cls, table: Table) -> "Texts":
        """Looks at a table."""
        some = _some(table.texts, 2_000)
        alone = sum(map(stands_alone, some))
        return cls(len(table), int(np.median([n_words(text) for text in some])), 2 * alone < len(some))

    def __str__(self) -> str:
        kind = f"median {self.n_words} words" if self.spaced else "words without spaces"
        return f"{self.n_rows:,} texts ({kind})"


def order(texts: Texts) -> tuple[str, ...]:
    """Returns architectures, the one first that is best on such texts, whatever the time it takes.

    As measured on development parts of movie-review phrases, tweets, film reviews, short shop
    reviews and Chinese shop reviews (`docs/lab/auto.md`).
    """
    if not texts.spaced or texts.n_words >= _LONG or texts.n_rows < _FEW:
        return _ranked("few")
    return _ranked("some" if texts.n_rows < _MANY else "many")


def _ranked(situation: str) -> tuple[str, ...]:
    """Returns the architectures that have a rank in a situation (`models.Rank`), by it."""
    ranks = {name: getattr(row.rank, situation) for name, row in ARCHITECTURES.items()}
    return tuple(sorted((name for name, rank in ranks.items() if rank), key=lambda name: ranks[name]))


def _rest() -> tuple[str, ...]:
    """Returns the architectures that learn by steps, those without a rank last."""
    ranked = _ranked("rest")
    return (*ranked, *(name for name, row in ARCHITECTURES.items() if not row.fits and name not in ranked))


@dataclass
class _Candidate:
    """An architecture that suits the given settings.

    Attributes:
        config: its configuration.
        seconds: the time of one training on all rows, estimated, then measured on folds.
        accuracies: on each fold so far.
    """

    config: RunConfig
    seconds: float
    accuracies: list[float] = field(default_factory=list)


def choose(
    *trees: Mapping[str, Any],
    tables: Tables,
    on_warning: Callable[[str], None] | None = None,
    processes: int = 1,
) -> RunConfig:
    """Returns the configuration of the best architecture within the budget.

    Args:
        trees: the given settings, as `resolve` takes them, without `arch` or with "auto".
        tables: the rows.
        on_warning: called with the budget first, then with the estimate of each architecture.
        processes: how many folds are trained at once where that takes long, at most one for each thread
            that training may use. They import the main module, so a script of your own that asks for
            several needs `if __name__ == "__main__":`.

    Raises:
        ConfigError: if the given settings suit no architecture.
    """
    choice = _Choice(merge(trees), tables, on_warning or (lambda _: None), processes)
    try:
        return choice.made()
    finally:
        choice.folds.end()


class _Choice:
    """One call of `choose`.

    Attributes:
        found: the architectures that suit the given settings, by name.
        untried: architectures that there was no time to compare.
        folds: of the training rows.
    """

    def __init__(
        self, given: Mapping[str, Any], tables: Tables, say: Callable[[str], None], processes: int
    ) -> None:
        self._given, self._tables, self._say = given, tables, say
        self._budget = float(given.get("budget") or BUDGET)
        self._texts = Texts.of(tables.train)
        say(f"arch auto: choosing the best for {self._texts} within {_said(self._budget)} (--budget)")
        self.found: dict[str, _Candidate] = {}
        self.untried: list[str] = []
        threads = given.get("train", {}).get("threads") or torch.get_num_threads()
        self.folds = _Folds(tables, min(processes, threads))
        self._late: list[_Candidate] = []
        self._refused: ConfigError | None = None
        self._comparison: _Comparison | None = None
        self._began = time.process_time()

    def made(self) -> RunConfig:
        """Looks at one architecture after another, and returns the configuration of the best.

        Raises:
            ConfigError: if the given settings suit no architecture.
        """
        first, rest = _candidates(self._given, self._texts)
        if self._tables.labels.several:  # those with settings for them were best
            first = tuple(sorted(first, key=lambda name: "multilabel" not in architecture(name).suits))
        for name in first:
            self._look_at(name, may_be_late=True)
        for name in rest:
            self._meet_late()
            if self._has_no_time_for_more():
                self.untried.append(name)
            else:
                self._look_at(name)
        if not self.found:
            assert self._refused is not None
            raise self._refused
        self._meet_late()
        best = self._best()
        for name, one in self.found.items():
            said = _known(one, self._budget, answers_of(self._tables.labels).chosen_by)
            self._say(f"{name}: {said}{', chosen' if one is best else ''}")
        if self.untried:
            self._say(f"not compared: {', '.join(self.untried)}; a larger --budget compares more")
        estimates = {name: round(one.seconds, 1) for name, one in self.found.items()}
        accuracies = {
            name: round(fmean(one.accuracies), 4) for name, one in self.found.items() if one.accuracies
        }
        return best.config.model_copy(update={"estimates": estimates, "accuracies": accuracies})

    def _left(self) -> float:
        """Returns the seconds of the budget that are left."""
        return self._budget - (time.process_time() - self._began) - self.folds.seconds_elsewhere

    def _look_at(self, name: str, *, may_be_late: bool = False) -> None:
        """Estimates an architecture, and compares it with the best so far where there is time.

        Args:
            name: of the architecture.
            may_be_late: whether one that fits only once or twice may be compared on one fold in the end.
        """
        about = {"arch": name, "budget": self._budget, "estimates": {name: 0.0}}
        suits = {} if self._texts.spaced else architecture(name).unspaced
        try:
            config = resolve(suits, self._given, about)
            self.found[name] = one = _Candidate(config, estimate(config, self._tables))
        except ConfigError as error:
            self._refused = self._refused or error
            return
        if one.seconds * (1 + _FEWEST) <= self._left():
            self._comparison = self._comparison or _Comparison(self.folds, one)
        elif may_be_late and one.seconds <= self._budget:
            self._late.append(one)
            return
        if self._comparison is not None and not self._comparison.meet(one, self._left()):
            self.untried.append(name)

    def _meet_late(self) -> None:
        """Compares architectures that fit only once or twice, on one fold."""
        if self._comparison is None:
            return
        for one in self._late:
            if not self._comparison.meet(one, self._left(), is_late=True):
                self.untried.append(one.config.arch)
        self._late.clear()

    def _has_no_time_for_more(self) -> bool:
        """Whether something suits, and no time is left to compare another that learns by steps."""
        by_steps = [one.seconds for one in self.found.values() if not is_fitted(one.config)]
        return bool(self.found) and (self._comparison is None or self._left() < min(by_steps, default=0.0))

    def _best(self) -> _Candidate:
        """Returns the best compared architecture; without any, the first that fits, or the fastest."""
        if self._comparison is not None:
            return self._comparison.champion
        if self._late:
            return self._late[0]
        best = min(self.found.values(), key=lambda one: one.seconds)
        self._say(f"none fits within {_said(self._budget)}; choosing {best.config.arch}, the fastest")
        return best


def _known(one: _Candidate, budget: float, score: str) -> str:
    """Writes the facts of a candidate."""
    about = f"about {_said(one.seconds)}"
    if not one.accuracies:
        return f"{about}, over the budget" if one.seconds > budget else about
    n = len(one.accuracies)
    accuracy = fmean(one.accuracies)
    folds_of = f"{n} {'fold' if n == 1 else 'folds'} of training rows"
    return f"{score.replace('_f1', ' F1')} {accuracy:.3f} in {folds_of}, {about}"


class _Comparison:
    """Cross-validation of one candidate after another against the best so far, on the same folds.

    Attributes:
        champion: the best candidate so far; the earlier one if two are equal.
    """

    def __init__(self, folds: "_Folds", champion: _Candidate) -> None:
        self.champion = champion
        self._folds = folds
        # The time of models that learn by steps, as a share of their estimate: most of them stop early.
        self._pace: list[float] = []

    def meet(self, one: _Candidate, left: float, *, is_late: bool = False) -> bool:
        """Trains a candidate fold by fold until it is clearly behind, all folds are done or time ends.

        Args:
            one: the candidate.
            left: seconds of the budget that are left; training the best on all rows is part of it.
            is_late: whether the time is too short for two folds, so that one may do. What it took decides
                whether the budget still holds its training on all rows.

        Returns:
            Whether it was compared.
        """
        by_steps = not is_fitted(one.config)
        expected = one.seconds * (min(1.0, median(self._pace)) if by_steps and self._pace else 1.0)
        share = 1 - 1 / _FOLDS
        for fold in range(len(self._folds.rows)):
            may_stop = is_late and not one.accuracies
            reserve = self.champion.seconds if may_stop else max(expected, self.champion.seconds)
            folds_ahead = 1 if is_late else max(1, _FEWEST - len(one.accuracies))
            if left < folds_ahead * share * expected + reserve:
                break
            more = (left - max(expected, self.champion.seconds)) / max(share * expected, 1e-9) - 1
            try:
                accuracy, taken = self._folds.score(one.config, fold, more, share * expected)
            except SentiError:  # such as a class that only this fold has
                return False
            one.accuracies.append(accuracy)
            left -= taken
            if len(one.accuracies) == 1:  # the first training of a kind also imports what it needs
                expected = min(expected, taken / share)
                if by_steps:
                    self._pace.append(expected / one.seconds)
            else:
                one.seconds = expected = taken / share
            if self._is_behind(one):
                break
        if one is not self.champion and one.accuracies and self._leads(one) and expected <= left:
            self.champion = one
        return bool(one.accuracies)

    def _gain(self, one: _Candidate) -> float:
        """Returns how much better a candidate is than the best so far, on the folds that both have."""
        n = min(len(one.accuracies), len(self.champion.accuracies))
        return fmean(one.accuracies[:n]) - fmean(self.champion.accuracies[:n]) if n else 0.0

    def _leads(self, one: _Candidate) -> bool:
        """Whether a candidate takes the place of the best so far.

        With fewer folds it must be ahead by more than chance explains: of 270 rows of mr a gpt led after two
        folds, and reached 0.535 on fresh rows, where the best architecture reached 0.624.
        """
        whole = len(one.accuracies) >= len(self.champion.accuracies)
        return self._gain(one) > (_AHEAD if whole else _BEHIND) * self._chance(one)

    def _is_behind(self, one: _Candidate) -> bool:
        """Whether a candidate is behind the best so far by more than chance explains."""
        return self._gain(one) < -_BEHIND * self._chance(one)

    def _chance(self, one: _Candidate) -> float:
        """Returns the standard error of an accuracy on the rows that both were scored on."""
        n = min(len(one.accuracies), len(self.champion.accuracies))
        accuracy, rows = fmean(one.accuracies), sum(map(len, self._folds.rows[:n]))
        return math.sqrt(max(accuracy * (1 - accuracy), 0.01) / max(1, rows))


class _Folds:
    """Trains candidates on folds of the training rows; where it takes long, other processes begin the next.

    A fold is one training by one thread wherever it runs, and its seconds are those of CPU of that training.
    Results are taken in the order of the folds. So the number of processes changes neither scores nor what
    is compared.

    Attributes:
        rows: the rows that each fold leaves out; no folds where there are fewer rows or groups.
        seconds_elsewhere: of CPU that other processes took for the results.
    """

    def __init__(self, tables: Tables, processes: int) -> None:
        self.seconds_elsewhere = 0.0
        self._tables, self._processes = tables, processes
        self._executor: ProcessExecutor | None = None
        self._begun: dict[tuple[str, int], Future[tuple[float, float]]] = {}
        try:
            self.rows = folds(tables.train, _FOLDS, seed=0)
        except DataError:  # the order decides
            self.rows = []

    def score(self, config: RunConfig, fold: int, more: float, seconds: float) -> tuple[float, float]:
        """Trains on all rows but a fold; returns the accuracy on it, and the seconds it took.

        Args:
            config: the candidate.
            fold: its place.
            more: how many further folds the time allows.
            seconds: about how long a fold takes.
        """
        begun = self._begun.pop((config.arch, fold), None)
        if begun is not None:
            try:
                accuracy, taken = begun.result()
            except BrokenExecutor:  # a process that was killed, for its memory say
                self._processes = 1
                return self.score(config, fold, 0, seconds)
            self.seconds_elsewhere += taken
            return accuracy, taken
        if seconds >= _LONG_FOLD and device_of(config.train.device).type == "cpu":
            last = min(fold + self._processes - 1, fold + int(max(0, more)), len(self.rows) - 1)
            for place in range(fold + 1, last + 1):
                self._executor = self._executor or ProcessExecutor(self._processes - 1)
                self._begun[config.arch, place] = self._executor.submit(
                    _elsewhere, config, self._tables, self.rows[place]
                )
        return _on_fold(config, self._tables, self.rows[fold])

    def end(self) -> None:
        """Ends the processes, with folds that nobody waits for."""
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)


# Folds that take fewer seconds are not worth a process.
_LONG_FOLD = 1.0
# Rows of the trial by which a process imports what an architecture needs.
_TRIED_ROWS = 50
# Architectures that this process has tried.
_tried: set[str] = set()


def _elsewhere(config: RunConfig, tables: Tables, held: list[int]) -> tuple[float, float]:
    """Does what `_on_fold` does, in another process; the time of imports is left out, as in the first."""
    follow_parent()
    if config.arch not in _tried:
        _tried.add(config.arch)
        estimate(config, tables.some(tables.spread(_TRIED_ROWS)))
    return _on_fold(config, tables, held)


def _on_fold(config: RunConfig, tables: Tables, held: list[int]) -> tuple[float, float]:
    """Trains on all training rows but some; returns the accuracy on those, and the seconds it took.

    Of texts with several labels it is micro F1.
    """
    out = set(held)
    made = tables.some(row for row in range(len(tables.train)) if row not in out)
    made.valid, made.test = tables.valid, tables.train.take(held)
    settings = config.train.model_copy(update={"threads": 1, "track": "none", "refit": False})
    clock, threads = _clock(config), torch.get_num_threads()
    began = clock()
    try:
        with tempfile.TemporaryDirectory() as folder:
            alone = config.model_copy(update={"train": settings})
            about = train(alone, Path(folder) / "run", baseline=False, tables=made)
    finally:
        torch.set_num_threads(threads)
    return about["test"][answers_of(tables.labels).chosen_by], clock() - began


def without_architecture(*trees: Mapping[str, Any]) -> RunConfig:
    """Returns a configuration of the given settings before an architecture is chosen, for its files.

    Raises:
        ConfigError: if the given settings suit no architecture.
    """
    given = merge(trees)
    refused: ConfigError | None = None
    for name in _with_keys(given):
        try:
            return resolve(given, {"arch": name, "budget": BUDGET, "estimates": {name: 0.0}})
        except ConfigError as error:
            refused = refused or error
    assert refused is not None
    raise refused


def _with_keys(given: Mapping[str, Any]) -> list[str]:
    """Returns the architectures that have the keys of `[model]` that were given.

    Raises:
        ConfigError: if none has them, naming those with a similar key: the user has named no architecture.
    """
    model = given.get("model")
    keys = list(model) if isinstance(model, Mapping) else []
    known = {name: row.config.model_fields.keys() for name, row in ARCHITECTURES.items()}
    every = set[str]().union(*known.values())
    for key in keys:
        if key in every or CLASSIFIER.elsewhere(key):  # of another section, which the usual error names
            continue
        near = get_close_matches(key, sorted(every), n=1)
        having = [name for name in known if near and near[0] in known[name]]
        have = "have" if len(having) > 1 else "has"
        hint = f"; did you mean {near[0]}, which {', '.join(having)} {have}?" if near else " (senti archs)"
        raise ConfigError(f"model.{key}: unknown key; no architecture has it{hint}")
    named = [key for key in keys if key in every]
    suits = [name for name in known if known[name] >= set(named)]
    if not suits:
        together = ", ".join(f"model.{key}" for key in named)
        raise ConfigError(
            f"{together}: no architecture has all of these keys; name one by --arch, and give only its keys"
        )
    return suits


def _candidates(given: Mapping[str, Any], texts: Texts) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns architectures in the order to try, and those to try where time is left or none suits."""
    start = given.get("train", {}).get("init_from")
    if start is not None and Path(start).is_dir():
        try:
            return (CLASSIFIER.load(Path(start)).arch,), ()
        except CheckpointError as error:
            raise ConfigError(f"train.init_from: {error}") from error
    by_steps = bool(given.get("optim")) or any(key in given.get("train", {}) for key in _OF_STEPS)
    suit = [name for name in order(texts) if not (by_steps and ARCHITECTURES[name].fits)]
    return tuple(suit), tuple(name for name in _rest() if name not in suit)


def _said(seconds: float) -> str:
    """Writes seconds of computing for people."""
    if seconds < 10:
        return f"{seconds:.1f} s of CPU"
    return f"{seconds:,.0f} s of CPU" if seconds < 600 else f"{seconds / 60:,.0f} min of CPU"


def _some(texts: list[str], n: int) -> list[str]:
    """Returns at most `n` texts, spread over all."""
    return texts if len(texts) <= n else [texts[i] for i in np.linspace(0, len(texts) - 1, n).astype(int)]


def estimate(config: RunConfig, tables: Tables) -> float:
    """Returns about how many seconds a run takes, of CPU, or of the clock on another device.

    Raises:
        ConfigError: if the configuration does not suit the architecture.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # threads that wait for each other next to other programs count as work
    try:
        return _estimate(config, tables)
    finally:
        torch.set_num_threads(threads)


def _estimate(config: RunConfig, tables: Tables) -> float:
    n_rows = len(tables.train)
    more = tables.spread(_FITTED_ROWS)
    few = tables.spread(max(2, -(-len(more) // 4)))  # one row has one label, which no classifier fits
    if is_fitted(config):
        first, then = (seconds_of_fit(config, tables.some(chosen)) for chosen in (few, more))
        a_row = max(0.0, then - first) / max(1, len(more) - len(few))
        return then + a_row * (n_rows - len(more))
    return _stepped(config, tables.some(more), tables)


def is_fitted(config: RunConfig) -> bool:
    """Whether a run learns by one fit, without steps."""
    return config.train.epochs == 0


def _clock(config: RunConfig) -> Callable[[], float]:
    """Returns the clock: seconds of CPU, or wall time on another device."""
    return time.process_time if device_of(config.train.device).type == "cpu" else time.perf_counter


def seconds_of_fit(config: RunConfig, some: Tables) -> float:
    """Returns the seconds that encoding and fitting some rows take."""
    clock = _clock(config)
    began = clock()
    encoder = encoder_for(config, some.train.texts)
    encoded = encoder.encode(some.train.texts)
    module = build(config.arch, config.model, encoder.inputs(len(some.labels), ordered=some.labels.ordered))
    if isinstance(module, Fits):
        module.fit(encoded, some.to_fit(), config.train.seed)
    return clock() - began


def _stepped(config: RunConfig, some: Tables, tables: Tables) -> float:
    """Returns the seconds that all steps take, by the time of a few."""
    clock, table = _clock(config), some.train
    began = clock()
    encoder = encoder_of_base(config) or encoder_for(config, table.texts)
    encoded = encoder.encode(table.texts)
    n_tokens = encoded.lengths.sum() / len(table) * len(tables.train)
    encoding = (clock() - began) / len(table) * len(tables.train)
    plan = config.train.plan(len(tables.train))
    size = max(1, min(plan.batch_size, len(table) // _STEPS, int(_STEP_TOKENS / encoded.lengths.mean())))
    settings = config.train.model_copy(
        update={"batch_size": size, "max_steps": _STEPS, "epochs": 1, "accumulate": 1, "log_every": 1}
    )
    tried = config.model_copy(update={"train": settings, "task": settled_task(config, tables.labels.names)})
    task = task_of(tried, some, encoded, some.classes(table), None, None, None)
    module = build(
        config.arch, config.model, encoder.inputs(len(tables.labels), ordered=tables.labels.ordered)
    )
    validate_optim(module, config.optim)
    if isinstance(task, Classification):
        task.check(module)
    seen: list[tuple[float, int]] = []

    def timed(record: Record) -> None:
        seen.append((clock(), int(record["tokens"])))

    Trainer(config.optim, settings, on_record=timed).fit(module, task)
    (start, before), (end, after) = seen[0], seen[-1]  # the first step prepares memory for the rest
    a_token = (end - start) / max(1, after - before)
    epochs = plan.steps * config.train.accumulate / max(1, plan.n_batches)
    n_valid = 0 if tables.valid is None else len(tables.valid)
    validation = _FORWARD * n_valid / len(tables.train)
    return encoding + float(n_tokens * epochs * a_token * (1 + validation))
