"""`Method`: the interface of PPO and DPO for a run: the data they read, their training and their scores.

The run itself is the same for both (`recipes/alignment.py`).
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from torch import nn

from ..config import AlignConfig, AlignTrainConfig, DPOConfig, PPOConfig, TrainingPlan
from ..data.exclusion import Exclusion
from ..data.normalization import fold
from ..data.table import Table
from ..errors import ConfigError, DataError
from ..generation.generate import Limits
from ..models.language import CausalModel
from ..runs.language_directory import LoadedModel, load_language_model
from ..text.special_tokens import known_end
from ..training.device import device_of
from ..training.history import Fit
from ..training.trainer import Record, Trainer
from .dpo import Preferences, plan_of
from .judge import compare, judge, samples_of
from .openings import Parts, Seen, divide, encode, read_openings
from .ppo import PPO
from .preferences import encode_pairs, read_preferences, texts_of
from .rollout import Drawing, Reward, load_reward

__all__ = ["FollowReward", "Method", "PreferAnswers", "Setup", "judged", "setup_of"]

# Judged answers are drawn with a fixed seed, the same before and after training.
_JUDGES = 1 << 40

OnRecord = Callable[[Record], None] | None
ShouldStop = Callable[[], bool] | None


class Learned(Protocol):
    """A policy's training objective."""

    def plan(self, world: int) -> TrainingPlan:
        """Returns the batches of an epoch and the steps in all."""


class Loop(Protocol):
    """A training loop with the interface of `Trainer.fit`."""

    def fit(self, module: nn.Module, task: Any, *, folder: Path | None = None, resume: bool = False) -> Fit:
        """Trains the module in place."""


@dataclass(frozen=True)
class Setup:
    """The common inputs of both methods.

    Attributes:
        config: of the alignment.
        loaded: the base; its module is the policy.
        reference: a copy of it that stays as it is.
        drawing: how answers are drawn.
        reward: gives the rewards of texts, or `None`.
        end: the token that ends a document, if the base has one.
        context: tokens that the model reads at most; `None`: any number.
        say: called with notes for the user.
        rehearsed: steps of a trial; `None`: a run.
    """

    config: AlignConfig
    loaded: LoadedModel
    reference: CausalModel
    drawing: Drawing
    reward: Reward | None
    end: str | None
    context: int | None
    say: Callable[[str], None]
    rehearsed: int | None = None

    @property
    def policy(self) -> CausalModel:
        """The model that learns."""
        assert isinstance(self.loaded.module, CausalModel)
        return self.loaded.module

    @property
    def seen(self) -> Seen:
        """The training data of the runs behind the alignment."""
        reward = self.config.task.reward_run
        return Seen(Path(self.config.base), None if reward is None else Path(reward))

    @property
    def held_out(self) -> tuple[Path, str | None] | None:
        """The file and the part that judge, if they are named."""
        data = self.config.data
        if data.held_out is None and data.held_out_where is None:
            return None
        return Path(data.held_out or data.train), data.held_out_where

    @property
    def room(self) -> int | None:
        """Tokens that the context leaves for the prompt of an answer; the last token is not read."""
        return None if self.context is None else self.context + 1 - self.config.task.max_new_tokens

    def check_room(self, what: str) -> None:
        """Raises if answers leave no token of the context for the openings.

        Raises:
            ConfigError: naming both.
        """
        if self.room is not None and self.room < 1 + self.drawing.ahead:
            raise ConfigError(
                f"task.max_new_tokens {self.config.task.max_new_tokens}: the model's context is "
                f"{self.context} tokens, which leaves none for {what}; lower --max-new-tokens"
            )


def setup_of(config: AlignConfig, say: Callable[[str], None], rehearsed: int | None = None) -> Setup:
    """Loads the base, the reward that judges it, and a copy that stays as it is.

    Args:
        config: the alignment.
        say: called with notes for the user.
        rehearsed: steps of a trial; `None`: a run.

    Raises:
        SentiError: if the base does not write, or the base or the reward cannot be loaded.
    """
    loaded = load_language_model(Path(config.base))
    policy = loaded.module
    if not isinstance(policy, CausalModel):
        raise ConfigError(
            f"{config.base}: {loaded.config.arch} reads both ways, so it draws no answers; take a gpt, "
            "linear, mamba or lstm of senti pretrain"
        )
    device = device_of(config.train.device)
    policy.to(device)
    end = known_end(loaded.tokenizer, loaded.config.data.end, loaded.about)
    context = loaded.config.data.context if policy.backbone.has_positions else None
    end_id = None if end is None else loaded.tokenizer.token_to_id(end)
    ends = frozenset() if end_id is None else frozenset({end_id})
    limits = Limits(config.task.max_new_tokens, (), ends, context)
    drawing = Drawing(loaded.tokenizer, limits, int(config.data.begin), max(1, config.train.batch_size))
    reward = load_reward(config.task, str(device))
    reference = copy.deepcopy(policy).requires_grad_(False)
    return Setup(config, loaded, reference, drawing, reward, end, context, say, rehearsed)


def judged(setup: Setup, openings: list[list[int]]) -> tuple[dict[str, Any], bytes]:
    """Compares answers to openings before and after; returns the scores, and all answers as a file."""
    seed = setup.config.train.seed + _JUDGES
    before = judge(setup.reference, None, openings, setup.drawing, setup.reward, seed)
    after = judge(setup.policy, setup.reference, openings, setup.drawing, setup.reward, seed)
    return compare(before, after, setup.config.task), samples_of(before, after)


class Method(Protocol):
    """How a policy is trained.

    Attributes:
        tables: the tables read, by role.
        judged: ids of the openings that judge.
    """

    tables: dict[str, Table]
    judged: list[list[int]]

    @property
    def task(self) -> Learned:
        """The policy's training objective."""

    def trainer(self, on_record: OnRecord, should_stop: ShouldStop) -> Loop:
        """Returns the loop that trains the policy in place."""

    def scores(self) -> dict[str, Any]:
        """Returns the method's results on the policy."""

    def steps(self) -> int:
        """Returns how many steps training has."""


class FollowReward:
    """Openings, and PPO; see `Method`."""

    def __init__(self, setup: Setup) -> None:
        data, say = setup.config.data, setup.say
        setup.check_room("an opening")
        table = read_openings(Path(data.train), data, data.where)
        table, notes = Exclusion.read(data.exclude).trainable(table)
        for note in notes:
            say(note)
        named = setup.held_out
        judge = None if named is None else read_openings(named[0], data, named[1])
        parts = divide(table, judge, setup.seen, data, say)
        tokenizer = setup.loaded.tokenizer
        openings = encode(parts, tokenizer, data, end=setup.end, most=setup.room, say=say)
        self.tables = {"train": parts.train, "judge": parts.judge}
        self.judged = openings.judge
        self._setup, self._openings = setup, openings.train

    @property
    def task(self) -> Learned:
        """The openings."""
        return self

    def plan(self, world: int) -> TrainingPlan:  # noqa: ARG002  # 2026-11-29: one process alone
        """Returns the batches of an epoch and the steps in all."""
        return self.loop(self._setup.config.train).plan

    def trainer(self, on_record: OnRecord, should_stop: ShouldStop) -> Loop:
        """Returns the loop of PPO."""
        return _PPOTrainer(lambda folder: self.loop(
            self._setup.config.train, folder=folder, on_record=on_record, should_stop=should_stop
        ))  # fmt: skip

    def loop(self, train: AlignTrainConfig, **callbacks: Any) -> PPO:
        """Returns the loop with these settings."""
        setup, config = self._setup, self._setup.config
        assert isinstance(config.task, PPOConfig)
        assert setup.reward is not None  # the configuration names it
        return PPO(
            setup.policy, setup.reference, self._openings, setup.drawing, setup.reward, config.task,
            config.optim, train, **callbacks,
        )  # fmt: skip

    def scores(self) -> dict[str, Any]:
        """Returns no scores: a policy is judged by its rewards."""
        return {}

    def steps(self) -> int:
        """Returns how many steps training has."""
        return self.plan(1).steps


@dataclass(frozen=True)
class _PPOTrainer:
    """PPO's loop, called as a trainer is; policy and openings are its own."""

    loop: Callable[[Path | None], PPO]

    def fit(self, *_: object, folder: Path | None = None, resume: bool = False) -> Fit:
        """Trains the policy in place."""
        return self.loop(folder).fit(resume=resume)


class PreferAnswers:
    """Pairs of answers, and DPO; see `Method`."""

    def __init__(self, setup: Setup) -> None:
        config, data = setup.config, setup.config.data
        assert isinstance(config.task, DPOConfig)
        setup.check_room("a prompt")
        pairs, table = read_preferences(Path(data.train), data)
        texts = [texts_of(pair) for pair in pairs.values()]
        table, notes = Exclusion.read(data.exclude).trainable(table, texts)
        for note in notes:
            setup.say(note)
        named = setup.held_out
        of_judge, judge = (pairs, None) if named is None else read_preferences(named[0], data)
        parts = _apart(divide(table, judge, setup.seen, data, setup.say), setup.say)
        train, judges = (
            encode_pairs(
                known, part, setup.loaded.tokenizer, data, end=setup.end, ends=config.task.ends,
                context=setup.context,
            )
            for known, part in ((pairs, parts.train), (of_judge, parts.judge))
        )  # fmt: skip
        self.tables = {"train": parts.train, "judge": parts.judge}
        self.judged = _cut(judges.prompts, setup)
        self._setup, self._n_pairs = setup, len(train)
        if setup.rehearsed is not None:  # the reference reads no more pairs than these steps need
            n_few = setup.rehearsed * config.train.batch_size * config.train.accumulate
            train, judges = (rows.take(range(min(len(rows), n_few))) for rows in (train, judges))
        self._pairs, self._judges = train, judges

    @cached_property
    def task(self) -> Preferences:
        """The pairs, once the reference has read them."""
        config = self._setup.config
        assert isinstance(config.task, DPOConfig)
        return Preferences(config.task, config.train, self._pairs, self._judges, self._setup.reference)

    def trainer(self, on_record: OnRecord, should_stop: ShouldStop) -> Loop:
        """Returns the loop of every other model."""
        config = self._setup.config
        return Trainer(config.optim, config.train, on_record=on_record, should_stop=should_stop)

    def scores(self) -> dict[str, Any]:
        """Returns loss, accuracy and implicit rewards of the pairs that judge."""
        return {"pairs": len(self.task.judge), "preferences": self.task.scores(self._setup.policy)}

    def steps(self) -> int:
        """Returns how many steps training has."""
        return plan_of(self._setup.config.train, self._n_pairs, 1).steps


def _cut(prompts: list[list[int]], setup: Setup) -> list[list[int]]:
    """Cuts the start of long prompts, so that an answer fits."""
    room, ahead = setup.room, setup.drawing.ahead
    if room is None:
        return prompts
    n_cut = sum(len(ids) > room for ids in prompts)
    if n_cut:
        are = "held-out prompt is" if n_cut == 1 else "held-out prompts are"
        setup.say(
            f"{n_cut:,} {are} cut to the last {room - ahead:,} tokens: the context has no room for more "
            f"if answers have {setup.config.task.max_new_tokens:,}; lower --max-new-tokens"
        )
    return [ids if len(ids) <= room else ids[:ahead] + ids[len(ids) - room + ahead :] for ids in prompts]


def _apart(parts: Parts, say: Callable[[str], None]) -> Parts:
    """Leaves out pairs whose prompt is held out.

    Raises:
        DataError: if none is left.
    """
    judged = set(map(fold, parts.judge.texts))
    kept = [row for row, prompt in enumerate(parts.train.texts) if fold(prompt) not in judged]
    if not kept:
        raise DataError(
            f"{parts.train.source}: every prompt is held out, so none is left to train on; give "
            "other pairs with --held-out"
        )
    if n_left_out := len(parts.train) - len(kept):
        are = "pair is left out: its" if n_left_out == 1 else "pairs are left out: their"
        say(f"{n_left_out:,} {are} prompt is held out")
    return replace(parts, train=parts.train.take(kept))
