"""`AlignmentRecipe`: a language model that follows a reward or preferences; see `runs/execute.py`.

It begins with a run of `senti pretrain`; a copy of that model stays as it is, the reference. Openings or
pairs that it is not trained on judge the answers before and after. The run directory is a language model's,
with `alignment.toml` and `samples.jsonl`; `config.toml` is that of the base, since it says what the model is.
"""

from pathlib import Path
from typing import Any

from sentitok import Tokenizer
from sentitok.atomic import write as write_atomically

from ..alignment.methods import Method, judged, setup_of
from ..alignment.openings import check_same_sources, sources_of
from ..config import TASKS, AlignConfig
from ..errors import CheckpointError, ConfigError
from ..models.language import CausalModel
from ..runs.directory import absolutize_paths, read_json, to_json
from ..runs.ensemble import predictor_hash
from ..runs.execute import Recipe
from ..runs.families import ALIGNMENT
from ..runs.language_directory import SAMPLES, SOURCES, begin_with
from ..training.distributed import check_alone
from ..training.history import Fit

__all__ = ["AlignmentRecipe"]


class AlignmentRecipe(Recipe[AlignConfig]):
    """See the module."""

    encoder: Tokenizer

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
        """Loads the base, the reward that judges it, and a copy that stays as it is."""
        self.setup = setup_of(self.config, self.callbacks.on_warning, self.rehearsed)
        self.encoder = self.setup.loaded.tokenizer
        return self.setup.policy

    def make_task(self) -> Any:
        """Reads openings or pairs and returns the training data of the policy."""
        self.method: Method = TASKS[self.config.task.kind].make(self.setup)
        self._sources = sources_of(self.config, self.method.tables)
        if self.resumed:
            check_same_sources(self._sources, read_json(self.out / SOURCES))
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
        """Returns the facts of a model however it is judged."""
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
        compared, samples = judged(self.setup, self.method.judged)
        compared = {**self.method.scores(), **compared}
        write_atomically(self.out / SAMPLES, samples)
        self.warn(*(f"warning: {warning}" for warning in compared["warnings"]))
        return {"alignment": compared}
