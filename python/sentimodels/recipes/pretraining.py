"""`PretrainingRecipe`: a language model, from a corpus to its run directory; see `runs/execute.py`.

The first process writes the rows of the corpus to the folder `tokens` of the run directory, where all read
them; they are removed once the run has finished.
"""

import shutil
from dataclasses import asdict
from typing import Any

from torch import nn

from sentitok import Tokenizer

from ..config import LanguageConfig
from ..models.language import LanguageModule, build_language_model
from ..nn.backbone import set_recompute
from ..runs.corpus import (
    TOKENS,
    begin_on_rows,
    check_same_corpus,
    first_documents,
    is_first_part,
    notes_of,
    planned_of,
    task_of,
    with_end_of_start,
)
from ..runs.directory import absolutize_paths
from ..runs.execute import Recipe
from ..runs.init_weights import init_weights
from ..runs.language_directory import load_tokenizer, shape_of
from ..text.corpus import open_corpus
from ..training.device import use_bfloat16
from ..training.distributed import Distributed
from ..training.history import Fit, speed_of
from ..training.trainer import Trainer

__all__ = ["PretrainingRecipe"]


class PretrainingRecipe(Recipe[LanguageConfig]):
    """See the module."""

    encoder: Tokenizer

    @property
    def _fsdp(self) -> Any:
        """The module that divides a model between processes, if this run asks for it."""
        if self.config.train.parallel != "fsdp":
            return None
        from ..training import fsdp

        return fsdp

    def join(self) -> Distributed:
        """Joins the processes that `torchrun` has started, each with the whole model or a part of it."""
        if self._fsdp is None:
            return super().join()
        joined: Distributed = self._fsdp.Sharded.start(self.config.train.device)
        return joined

    def shape(self) -> nn.Module:
        """Returns the module without values."""
        return shape_of(self.config)

    def prepare(self) -> None:
        """Has the first process write the rows and begin the run; all open them."""
        if self.rehearsed:
            self.config = first_documents(self.config)
        if not self.resumed:
            self.config = with_end_of_start(absolutize_paths(self.config))
        elif self._fsdp is not None:
            self.config = self._fsdp.shared_again(self.config, self.out, self.processes.world)
        with self.processes.first() as first:
            if first and self.resumed:
                check_same_corpus(self.config, self.out)
            elif first:
                begin_on_rows(self.config, self.out, self.processes.world, self.warn)
        self.corpus, self.encoder = open_corpus(self.out / TOKENS), load_tokenizer(self.out)
        self.warn(*notes_of(self.config, self.corpus, self.encoder, resumed=self.resumed))

    def build(self) -> LanguageModule:
        """Builds the backbone of the architecture with the head of the task."""
        module = build_language_model(self.config, self.encoder.vocab_size)
        set_recompute(module, self.config.train.recompute)
        return module

    def make_task(self) -> Any:
        """Returns the task of the rows."""
        bfloat16 = use_bfloat16(self.config.train, self.processes.device)
        return task_of(self.config, self.corpus, self.encoder, bfloat16=bfloat16)

    def init_weights(self) -> None:
        """Puts in the weights of `train.init_from`."""
        if self.config.train.init_from is not None:
            self.warn(*init_weights(self.module, self.config, self.encoder))

    def begin(self) -> None:
        """Does nothing: `prepare` has begun the run, as all processes read it."""

    def steps(self) -> int | None:
        """Returns how many steps the run has; `None` where documents decide that a plan has not read."""
        cut = self.rehearsed and is_first_part(self.corpus)
        return None if cut and self.config.train.epochs is not None else super().steps()

    def planned(self) -> dict[str, Any]:
        """Returns sizes and, once it is read, how large the corpus is."""
        return planned_of(self.config, getattr(self, "corpus", None), getattr(self, "encoder", None))

    def loop(self) -> type[Trainer]:
        """Returns the class of the loop; with FSDP that of a divided model."""
        if self._fsdp is None:
            return Trainer
        divided: type[Trainer] = self._fsdp.ShardedTrainer
        return divided

    def gather(self) -> nn.Module:
        """Returns a module of the first process with the weights that lie in all."""
        if self._fsdp is None:
            return self.module
        gathered: nn.Module = self._fsdp.gathered(
            self.module, self.processes, lambda: build_language_model(self.config, self.encoder.vocab_size)
        )
        return gathered

    def facts(self, fit: Fit) -> dict[str, Any]:
        """Returns the facts of corpus, budget and speed."""
        config, processes, corpus = self.config, self.processes, asdict(self.corpus.facts)
        bfloat16 = use_bfloat16(config.train, processes.device)
        return {
            "task": config.task.kind,
            "preset": config.preset,
            "vocabulary": self.encoder.vocab_size,
            "context": config.data.context,
            "corpus": {key: value for key, value in corpus.items() if key not in ("datasets", "sources")},
            "fit": {**asdict(fit), "stop": config.train.budget_of(fit.stop)},
            "planned_steps": self.task.plan(processes.world).steps,
            "seconds": {"fit": fit.seconds},
            "speed": speed_of(self.out, self.module, processes, bfloat16),
        }

    def scores(self, fit: Fit) -> dict[str, Any]:
        """Scores the validation rows; removes all rows of a run that has finished."""
        scores = self.task.evaluate(self.module).scores
        if fit.stop != "stopped":  # before the state, without which nobody would come back for them
            shutil.rmtree(self.out / TOKENS, ignore_errors=True)
        return {
            "valid": {name.removeprefix("val_"): value for name, value in scores.items()},
            "baselines": self.corpus.facts.baselines(),
        }
