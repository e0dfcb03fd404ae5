"""`PretrainingRecipe`: a language model, from a corpus to its run directory; see `runs/execute.py`.

The first process writes the rows of the corpus to the folder `tokens` of the run directory, where all read
them; they are removed once the run has finished.
"""

import shutil
import statistics
from dataclasses import asdict
from typing import Any

from torch import nn

from sentitok import Tokenizer

from ..config import LanguageConfig, MaskedConfig
from ..errors import ConfigError
from ..models.language import LanguageModule, build_language_model, language_model_shape
from ..nn.backbone import set_recompute
from ..runs.corpus import TOKENS, check_same_corpus, notes_of, rows_in, with_end_of_start
from ..runs.directory import absolutize_paths
from ..runs.execute import Recipe
from ..runs.language_directory import (
    begin_language_run,
    load_tokenizer,
    tokenizer_of_start,
)
from ..runs.lineage import sources_of_start
from ..runs.start import start_from
from ..tasks.masked import MaskedToken
from ..tasks.next_token import NextToken
from ..text.corpus import open_corpus, prepare
from ..text.packed import RowOrder
from ..text.special_tokens import masked_tokens
from ..training.device import use_bfloat16
from ..training.distributed import Distributed
from ..training.history import FORMULA, Fit, mfu, peak_of, read_records, working_parameters
from ..training.optimizer import check_possible

__all__ = ["PretrainingRecipe"]

# Documents that a plan reads, at most.
_DOCUMENTS = 100_000


class PretrainingRecipe(Recipe[LanguageConfig]):
    """See the module.

    Args:
        config: the run.
    """

    encoder: Tokenizer

    def __init__(self, config: LanguageConfig) -> None:
        self.config = config

    def join(self) -> Distributed:
        """Joins the processes that `torchrun` has started, each with the whole model or a part of it."""
        if self.config.train.parallel == "ddp":
            return super().join()
        from ..training.fsdp import Sharded

        return Sharded.start(self.config.train.device)

    def shape(self) -> nn.Module:
        """Returns the module without values."""
        config, known = self.config, self.config.data.tokenizer
        tokenizer = tokenizer_of_start(config) if known is None else Tokenizer.from_file(known)
        size = config.data.vocab_size if tokenizer is None else tokenizer.vocab_size
        return language_model_shape(config, size)

    def prepare(self) -> None:
        """Has the first process write the rows and begin the run; all open them."""
        if self.rehearsed:
            self._limit_documents()
        if self.resumed:
            if self.config.train.parallel == "fsdp":
                from ..training.fsdp import shared_again

                self.config = shared_again(self.config, self.out, self.processes.world)
        else:
            self.config = with_end_of_start(absolutize_paths(self.config))
        with self.processes.first() as first:
            if first and self.resumed:
                check_same_corpus(self.config, self.out)
            elif first:
                _refuse_impossible(self.config, self.processes.world)
                with rows_in(self.out):
                    self._write_rows()
        self.corpus, self.encoder = open_corpus(self.out / TOKENS), load_tokenizer(self.out)
        self.warn(*notes_of(self.config, self.corpus, self.encoder, resumed=self.resumed))

    def _limit_documents(self) -> None:
        """Has a plan read the first documents of a large corpus."""
        data = self.config.data
        if data.limit is None or data.limit > _DOCUMENTS:
            data = data.model_copy(update={"limit": _DOCUMENTS})
            self.config = self.config.model_copy(update={"data": data})

    def steps(self) -> int | None:
        """Returns how many steps the run has; `None` where documents decide that a plan has not read."""
        cut = self.rehearsed and sum(self.corpus.facts.documents) >= _DOCUMENTS
        return None if cut and self.config.train.epochs is not None else super().steps()

    def planned(self) -> dict[str, Any]:
        """Returns sizes and, once it is read, how large the corpus is."""
        config = self.config
        about: dict[str, Any] = {"preset": config.preset, "task": config.task.kind}
        if hasattr(self, "corpus"):
            documents, tokens = self.corpus.facts.documents, self.corpus.facts.tokens
            about |= {"train_documents": documents[0], "valid_documents": documents[1]}
            about |= {"vocabulary": self.encoder.vocab_size, "corpus_tokens": tokens[0]}
        rows = (config.train.batch_size or 1) * config.train.accumulate
        about["tokens_of_a_step"] = rows * config.data.context
        return {key: value for key, value in about.items() if value is not None}

    def _write_rows(self) -> None:
        """Writes rows and all that is known before training, once nothing can be refused any more."""
        config = self.config
        self.encoder = prepare(config, self.out / TOKENS, tokenizer_of_start(config), say=self.warn)
        if config.train.init_from is not None:  # weights that do not fit leave no run behind
            start_from(build_language_model(config, self.encoder.vocab_size), config, self.encoder)
        self.corpus = open_corpus(self.out / TOKENS)
        self._task(bfloat16=False).plan(self.processes.world)  # fewer rows than processes, for one
        sources = self.corpus.facts.sources + sources_of_start(config.train.init_from)
        begin_language_run(self.out, config, self.encoder, {"sources": sources})

    def build(self) -> LanguageModule:
        """Builds the backbone of the architecture with the head of the task."""
        module = build_language_model(self.config, self.encoder.vocab_size)
        set_recompute(module, self.config.train.recompute)
        return module

    def make_task(self) -> NextToken | MaskedToken:
        """Returns the task of the rows."""
        return self._task(bfloat16=use_bfloat16(self.config.train, self.processes.device))

    def _task(self, *, bfloat16: bool) -> NextToken | MaskedToken:
        order = RowOrder(self.config, self.corpus.train.n_rows)
        if isinstance(self.config.task, MaskedConfig):
            _, tokens = masked_tokens(self.encoder)
            return MaskedToken(
                self.corpus, order, self.config.task, tokens, self.encoder.vocab_size, bfloat16=bfloat16
            )
        return NextToken(self.corpus, order, bfloat16=bfloat16)

    def init_weights(self) -> None:
        """Puts in the weights of `train.init_from`."""
        if self.config.train.init_from is not None:
            self.warn(*start_from(self.module, self.config, self.encoder))

    def begin(self) -> None:
        """Does nothing: `prepare` has begun the run, as all processes read it."""

    def trainer(self) -> Any:
        """Returns the loop; with FSDP that of a divided model."""
        if self.config.train.parallel == "ddp":
            return super().trainer()
        from ..training.fsdp import ShardedTrainer

        return ShardedTrainer(
            self.config.optim, self.config.train, distributed=self.processes,
            on_record=self.callbacks.on_record, should_stop=self.callbacks.should_stop,
        )  # fmt: skip

    def gather(self) -> nn.Module:
        """Returns a module of the first process with the weights that lie in all."""
        if self.config.train.parallel == "ddp" or self.processes.world == 1:
            return self.module
        from ..training.fsdp import whole_weights

        weights = whole_weights(self.module, self.processes)
        if not self.processes.main:
            return self.module
        whole = build_language_model(self.config, self.encoder.vocab_size).to(self.processes.device)
        whole.load_state_dict(weights, strict=False)  # tied weights have one name of several
        return whole

    def facts(self, fit: Fit) -> dict[str, Any]:
        """Returns what is known of corpus, budget and speed."""
        corpus = asdict(self.corpus.facts)
        return {
            "task": self.config.task.kind,
            "preset": self.config.preset,
            "vocabulary": self.encoder.vocab_size,
            "context": self.config.data.context,
            "corpus": {key: value for key, value in corpus.items() if key not in ("datasets", "sources")},
            "fit": {**asdict(fit), "stop": _budget(self.config, fit.stop)},
            "planned_steps": self.task.plan(self.processes.world).steps,
            "seconds": {"fit": fit.seconds},
            "speed": self._speed(),
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

    def _speed(self) -> dict[str, Any]:
        """Returns tokens per second, the median of what was recorded, and MFU where the peak is known."""
        key = "tokens_per_second"
        speeds = [record[key] for record in read_records(self.out) if key in record]
        speed: dict[str, Any] = {key: statistics.median(speeds) if speeds else 0.0}
        device = self.processes.device
        if (peak := peak_of(device, use_bfloat16(self.config.train, device))) is not None:
            parameters = working_parameters(self.module)
            each = speed[key] / self.processes.world
            speed |= {"mfu": mfu(parameters, each, peak), "formula": FORMULA, "peak": peak}
        return speed


def _refuse_impossible(config: LanguageConfig, world: int) -> None:
    """Refuses a model that cannot do the task or be trained so, before the corpus is read."""
    if config.train.parallel == "fsdp":
        from ..training.fsdp import check_sharded

        check_sharded(config, world)
    module = language_model_shape(config, 8)
    check_possible(module, config.optim)
    if config.train.recompute and not set_recompute(module, True):
        raise ConfigError(f"train.recompute: {config.arch} has no blocks to compute again; leave it out")


def _budget(config: LanguageConfig, stop: str) -> str:
    """Returns which budget ended a run that went on to its end."""
    train = config.train
    if stop != "epochs" or (train.epochs is not None and train.tokens is None):
        return stop
    return "tokens" if train.tokens is not None else stop
