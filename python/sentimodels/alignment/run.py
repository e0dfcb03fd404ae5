"""`align`: the straight line from a language model to one that follows a reward or preferences.

    base     a run of `senti pretrain`; a copy of it stays as it is, the reference
    data     openings or pairs: those to train on, and those that judge
    method   PPO, or DPO
    judge    answers before and after: rewards, divergence, distinct n-grams, pairs of samples
    save     the run directory: a language model's, with `alignment.toml` and `samples.jsonl`

`config.toml` is that of the base, since it says what the model is. Not for printing: what happens is told
through `on_record` and `on_note`.
"""

import copy
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import torch

from ..config import AlignConfig
from ..data.writers import write_atomically
from ..errors import CheckpointError, ConfigError, TrainingError
from ..generation.generate import Limits
from ..models.language import CausalModel
from ..runs.config_warnings import advice
from ..runs.directory import finish_run, goes_on, refuse_run
from ..runs.ensemble import predictor_hash
from ..runs.families import ALIGNMENT
from ..runs.language_directory import SOURCES, LoadedModel, begin_with, load_language_model, load_unfinished
from ..runs.manifest import read_json, to_json
from ..runs.processes import check_alone
from ..runs.torch_settings import set_torch
from ..text.special_tokens import known_end
from ..training.device import device_of
from ..training.progress import Fit
from ..training.trackers import check_tracker, tracking
from ..training.trainer import Record
from .judge import compare, judge, samples_of
from .methods import METHODS, Setup
from .reward import load_reward
from .rollout import Drawing
from .sources import sources_of

if TYPE_CHECKING:
    from ..config import LanguageConfig

__all__ = ["SAMPLES", "align", "check_named", "resume_alignment", "set_up"]

# Every answer before and after, with what it is worth.
SAMPLES = "samples.jsonl"
# Answers that judge are drawn by a seed of their own, the same before and after.
_JUDGES = 1 << 40


@dataclass(frozen=True)
class _Told:
    """Whom a run tells of its course, and whom it asks."""

    on_record: Callable[[Record], None] | None
    on_note: Callable[[str], None] | None
    should_stop: Callable[[], bool] | None

    def say(self, note: str) -> None:
        if self.on_note is not None:
            self.on_note(note)


def align(
    config: AlignConfig,
    out: Path,
    *,
    on_record: Callable[[Record], None] | None = None,
    on_note: Callable[[str], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> dict[str, Any]:
    """Aligns a language model and writes its run directory.

    Args:
        config: the alignment.
        out: the directory, which must hold no run yet.
        on_record: called with each record of `metrics.jsonl`.
        on_note: called with what the user should know.
        should_stop: asked after each step.

    Returns:
        What `run.json` holds.

    Raises:
        SentiError: if a file, a setting or the course of training does not allow it.
    """
    check_alone("senti align")
    check_named(config)
    refuse_run(out)
    check_tracker(config.train.track)
    config = _from_anywhere(config)
    hashes = {"base_sha256": predictor_hash(Path(config.base))}
    if config.task.reward_run is not None:
        hashes["reward_sha256"] = predictor_hash(Path(config.task.reward_run))
    config = config.model_copy(update=hashes)
    return _go(config, out, _Told(on_record, on_note, should_stop), resumed=False)


def resume_alignment(
    out: Path,
    *,
    on_record: Callable[[Record], None] | None = None,
    on_note: Callable[[str], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> dict[str, Any]:
    """Goes on with a stopped alignment; the result is that of one that was not stopped.

    The arguments are those of `align`.

    Raises:
        CheckpointError: if there is nothing to resume, or the base, the reward or the data has changed.
    """
    check_alone("senti align")
    config = load_unfinished(out, ALIGNMENT)
    for path, then in ((config.base, config.base_sha256), (config.task.reward_run, config.reward_sha256)):
        if path is not None and predictor_hash(Path(path)) != then:
            raise CheckpointError(f"{path}: has changed since the alignment began; start a new one")
    return _go(config, out, _Told(on_record, on_note, should_stop), resumed=True)


def check_named(config: AlignConfig) -> None:
    """Refuses an alignment of nothing, or to nothing.

    Raises:
        ConfigError: if the base or the file is not named.
    """
    if not config.base or not config.data.train:
        raise ConfigError(
            "name the language model to align and the file of openings or pairs: senti align RUN FILE"
        )


def set_up(config: AlignConfig, say: Callable[[str], None]) -> Setup:
    """Loads what both methods begin with.

    Raises:
        SentiError: if the base does not write, or the base or the reward cannot be loaded.
    """
    set_torch(config.train)
    torch.manual_seed(config.train.seed)
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
    return Setup(config, loaded, reference, drawing, reward, end, context, say)


def _go(config: AlignConfig, out: Path, told: _Told, *, resumed: bool) -> dict[str, Any]:
    setup = set_up(config, told.say)
    loaded, policy, reference, drawing = setup.loaded, setup.policy, setup.reference, setup.drawing
    method = METHODS[config.task.kind](setup)
    sources = sources_of(config, method.tables)
    if resumed:
        _check_same(out, sources)
    else:
        # `config.toml` comes last: it is the base's, and with it alone the folder would be a run of pretrain.
        files = {ALIGNMENT.file: config.to_toml().encode(), SOURCES: to_json({"sources": sources})}
        begin_with(out, loaded.config, loaded.tokenizer, files)
    resumes = goes_on(out, resumed, told.say)
    for note in advice(config.optim, config.train, method.steps):
        told.say(note)
    failed = None
    try:
        # Trackers read what every configuration has: `train.track`, and how it is written.
        with tracking(cast("LanguageConfig", config), out, told.on_record) as hear:
            fit = method.fit(out, hear, told.should_stop, resume=resumes)
    except TrainingError as error:
        if error.fit is None:
            raise
        fit, failed = error.fit, error
    about = _about(config, loaded, fit, str(device_of(config.train.device)))
    if fit.stop not in ("stopped", "not finite"):
        finish_run(out, policy, loaded.tokenizer, about, keeps_state=True)  # of use unjudged too
        policy.eval()
        seed = config.train.seed + _JUDGES
        before = judge(reference, None, method.judged, drawing, setup.reward, seed)
        after = judge(policy, reference, method.judged, drawing, setup.reward, seed)
        about["alignment"] = {**method.scores(), **compare(before, after, config.task)}
        write_atomically(out / SAMPLES, samples_of(before, after))
        for warning in about["alignment"]["warnings"]:
            told.say(f"warning: {warning}")
    finish_run(out, policy.cpu(), loaded.tokenizer, about, keeps_state=fit.stop == "stopped")
    if failed is not None:  # the best weights so far are a model that answers
        raise failed
    return about


def _from_anywhere(config: AlignConfig) -> AlignConfig:
    """Returns the configuration with absolute paths, so that a run can be resumed from any folder."""
    files = {
        key: str(Path(path).absolute())
        for key in ("train", "held_out")
        if (path := getattr(config.data, key)) is not None
    }
    task = config.task
    if task.reward_run is not None:
        task = task.model_copy(update={"reward_run": str(Path(task.reward_run).absolute())})
    return config.model_copy(
        update={
            "base": str(Path(config.base).absolute()),
            "data": config.data.model_copy(update=files),
            "task": task,
        }
    )


def _check_same(out: Path, sources: list[dict[str, Any]]) -> None:
    then = read_json(out / SOURCES).get("sources", [])
    for source in sources:
        if source not in then:
            raise CheckpointError(
                f"{source['source']}: has changed since the alignment began; start a new one, with another "
                "--out"
            )


def _about(config: AlignConfig, loaded: LoadedModel, fit: Fit, device: str) -> dict[str, Any]:
    """Returns what is known of a model however it was judged."""
    kept = ("arch", "task", "preset", "vocabulary", "context", "corpus")
    return {
        **{key: loaded.about[key] for key in kept if key in loaded.about},
        "parameters": sum(parameter.numel() for parameter in loaded.module.parameters()),
        "method": config.task.kind,
        "base": config.base,
        "reward_run": config.task.reward_run,
        "fit": asdict(fit),
        "device": device,
        "seconds": {"fit": fit.seconds},
    }
