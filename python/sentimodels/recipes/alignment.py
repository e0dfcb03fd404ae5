"""`AlignmentRecipe`: a language model that follows a reward or preferences; see `runs/execute.py`.

It begins with a run of `senti pretrain`; a copy of that model stays as it is, the reference. Openings or
pairs that it is not trained on judge the answers before and after. The run directory is a language model's,
with `alignment.toml` and `samples.jsonl`; `config.toml` is that of the base, since it says what the model is.
"""

import copy
from pathlib import Path
from typing import Any

from sentitok import Tokenizer

from ..alignment.judge import SAMPLES, compare, judge, samples_of
from ..alignment.methods import METHODS, Setup
from ..alignment.openings import sources_of
from ..alignment.rollout import Drawing, load_reward
from ..config import AlignConfig
from ..data.writers import write_atomically
from ..errors import CheckpointError, ConfigError
from ..generation.generate import Limits
from ..models.language import CausalModel
from ..runs.directory import absolutize_paths, read_json, to_json
from ..runs.ensemble import predictor_hash
from ..runs.execute import Recipe
from ..runs.families import ALIGNMENT
from ..runs.language_directory import SOURCES, begin_with, load_language_model
from ..text.special_tokens import known_end
from ..training.device import device_of
from ..training.distributed import check_alone
from ..training.history import Fit

__all__ = ["AlignmentRecipe"]

# Answers that judge are drawn by a seed of their own, the same before and after.
_JUDGES = 1 << 40


class AlignmentRecipe(Recipe[AlignConfig]):
    """See the module.

    Args:
        config: the alignment.
    """

    encoder: Tokenizer

    def __init__(self, config: AlignConfig) -> None:
        self.config = config

    @property
    def arch(self) -> str:
        """The architecture of the base."""
        return self.setup.loaded.config.arch

    def check(self) -> None:
        """Refuses an alignment of nothing or to nothing, and a base or a reward that has changed."""
        check_alone("senti align")
        config = self.config
        if not config.base or not config.data.train:
            raise ConfigError(
                "name the language model to align and the file of openings or pairs: senti align RUN FILE"
            )
        if self.resumed:
            for path, then in (
                (config.base, config.base_sha256),
                (config.task.reward_run, config.reward_sha256),
            ):
                if path is not None and predictor_hash(Path(path)) != then:
                    raise CheckpointError(f"{path}: has changed since the alignment began; start a new one")

    def prepare(self) -> None:
        """Notes which base and which reward these are; the data is read for them, in `task`."""
        if self.resumed:
            return
        config = absolutize_paths(self.config)
        hashes = {"base_sha256": predictor_hash(Path(config.base))}
        if config.task.reward_run is not None:
            hashes["reward_sha256"] = predictor_hash(Path(config.task.reward_run))
        self.config = config.model_copy(update=hashes)

    def build(self) -> CausalModel:
        """Loads the base, what it is judged by, and a copy that stays as it is.

        Raises:
            SentiError: if the base does not write, or the base or the reward cannot be loaded.
        """
        config = self.config
        loaded = load_language_model(Path(config.base))
        policy, self.encoder = loaded.module, loaded.tokenizer
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
        self.setup = Setup(
            config,
            loaded,
            reference,
            drawing,
            reward,
            end,
            context,
            self.callbacks.on_warning,
            self.rehearsed,
        )
        return policy

    def make_task(self) -> Any:
        """Reads openings or pairs and returns what the policy learns from them."""
        self.method = METHODS[self.config.task.kind](self.setup)
        self._sources = sources_of(self.config, self.method.tables)
        if self.resumed:
            then = read_json(self.out / SOURCES).get("sources", [])
            for source in self._sources:
                if source not in then:
                    raise CheckpointError(
                        f"{source['source']}: has changed since the alignment began; start a new one, with "
                        "another --out"
                    )
        return self.method.task

    def begin(self) -> None:
        """Writes tokenizer, alignment, sources and, at last, the configuration.

        `config.toml` is the base's: with it alone the folder would be a run of `senti pretrain`.
        """
        files = {ALIGNMENT.file: self.config.to_toml().encode(), SOURCES: to_json({"sources": self._sources})}
        begin_with(self.out, self.setup.loaded.config, self.encoder, files)

    def planned(self) -> dict[str, Any]:
        """Returns method and rows."""
        rows = {f"{role}_rows": len(table) for role, table in self.method.tables.items()}
        return {"method": self.config.task.kind, **rows, "batch_size": self.config.train.batch_size}

    def steps(self) -> int:
        """Returns how many steps the run has."""
        return self.method.steps()

    def trainer(self) -> Any:
        """Returns the loop of the method."""
        return self.method.trainer(self.callbacks.on_record, self.callbacks.should_stop)

    def facts(self, fit: Fit) -> dict[str, Any]:
        """Returns what is known of a model however it is judged."""
        config, base = self.config, self.setup.loaded.about
        kept = ("task", "preset", "vocabulary", "context", "corpus")
        return {
            **{key: base[key] for key in kept if key in base},
            "method": config.task.kind,
            "base": config.base,
            "reward_run": config.task.reward_run,
            "seconds": {"fit": fit.seconds},
        }

    def scores(self, fit: Fit) -> dict[str, Any]:
        """Compares answers before and after: rewards, divergence, distinct n-grams, samples."""
        if fit.stop in ("stopped", "not finite"):
            return {}
        self.module.eval()
        setup, judged = self.setup, self.method.judged
        seed = self.config.train.seed + _JUDGES
        before = judge(setup.reference, None, judged, setup.drawing, setup.reward, seed)
        after = judge(setup.policy, setup.reference, judged, setup.drawing, setup.reward, seed)
        compared = {**self.method.scores(), **compare(before, after, self.config.task)}
        write_atomically(self.out / SAMPLES, samples_of(before, after))
        self.warn(*(f"warning: {warning}" for warning in compared["warnings"]))
        return {"alignment": compared}
