"""`ClassificationRecipe`: a classifier, from labelled texts to its run directory; see `runs/execute.py`."""

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from ..config import TASKS, RunConfig, ThresholdRule
from ..data.record import TrainingRecord
from ..errors import ConfigError, DataError
from ..evaluation.answers import Temperature
from ..evaluation.predictions import text_logits
from ..evaluation.thresholds import FILE as THRESHOLDS
from ..evaluation.thresholds import Thresholds, picker
from ..models import Fits, architecture, build
from ..runs.directory import absolutize_paths, begin_run
from ..runs.execute import Recipe
from ..runs.init_weights import encoder_of_base, first_weights
from ..runs.judging import CrossFit, better_rule, choose_thresholds, in_windows, judged, record_fit
from ..runs.lineage import check_same_rows, check_unlearned, record_of
from ..runs.tables import EncodedTables, Tables, check_files, read_tables, settled_task
from ..tasks.classification import LabelTask
from ..text.encoder import TextEncoder, encoder_for, load_encoder, word_vectors
from ..training.device import use_bfloat16
from ..training.distributed import check_alone
from ..training.history import Fit

__all__ = ["ClassificationRecipe"]

# Settings of the loss and of the batches, which models that are not trained by steps do without.
_BY_STEPS = (
    "loss", "class_weights", "label_smoothing", "r_drop", "mixup", "focal_gamma", "focal_alpha", "sampler"
)  # fmt: skip


class ClassificationRecipe(Recipe[RunConfig]):
    """See the module.

    Args:
        config: the run.
        tables: the rows, if they are read already.
        temperature: of the model where no validation texts fit one.
        chosen: the choices of an earlier run on validation texts, for `run.json`.
    """

    encoder: TextEncoder

    def __init__(
        self, config: RunConfig, *, tables: Tables | None = None, temperature: Temperature = 1.0,
        chosen: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        self.config, self._read, self._temperature, self._chosen = config, tables, temperature, chosen
        self._fit_seconds = 0.0

    def check(self) -> None:
        """Refuses settings that cannot be, before processes start and files are read."""
        if not self.resumed:
            check_files(self.config)
        if architecture(self.config.arch).fits:
            check_alone(f"{self.config.arch}, which is not trained by steps,")
        if self.config.data.drop_suspects is not None:
            check_alone("data.drop_suspects")
        if self.config.train.refit:
            if TASKS[kind := self.config.task.kind].command != "train":
                raise ConfigError(f"train.refit: a run of task.kind {kind} is trained once; leave it out")
            check_alone("train.refit")

    def read_rows(self) -> Tables:
        """Returns the rows."""
        return self._read or read_tables(self.config)

    def prepare(self) -> None:
        """Reads the rows and encodes the texts."""
        tables = self.tables = self.read_rows()
        start = None if self.resumed else self.config.train.init_from
        if self.resumed:
            check_same_rows(self.out, tables.record())
            self.encoder = load_encoder(self.out, self.config)
        else:
            tables.check_trainable()
            self.encoder = encoder_of_base(self.config) or encoder_for(self.config, tables.train.texts)
            # Settings settled here are saved: the loader has no training texts to settle them by.
            task = settled_task(self.config, tables.labels.names)
            data = self.encoder.data.model_copy(update=tables.settled())
            self.config = self.config.model_copy(update={"data": data, "task": task})
        self._base = record_of(start)
        self.warn(
            *_idle(self.config),
            *tables.notes,
            *check_unlearned(start, self._base, tables.train, validation=tables.valid, test=tables.test),
        )
        self._texts = EncodedTables(self.config, tables, self.encoder, self.warn)
        self._pick = None
        if (rule := self.config.train.threshold) is not None and not self._chosen:
            self._pick = picker(ThresholdRule.of(rule), tables.labels)
            if self._texts.valid_labels is None:
                raise ConfigError(
                    f"train.threshold {rule}: labelled validation rows must choose the thresholds; set "
                    "data.valid_share, or name a file: --valid FILE"
                )

    def build(self) -> nn.Module:
        """Builds the module of the architecture."""
        vectors, notes = word_vectors(self.config, self.encoder)
        self.warn(*notes)
        inputs = self.encoder.inputs(len(self.tables.labels), vectors, ordered=self.tables.labels.ordered)
        return build(self.config.arch, self.config.model, inputs)

    def make_task(self) -> LabelTask:
        """Returns the task; without test rows the halves of dev judge each other's choice."""
        self._crossed = CrossFit.of(self._texts, self.out, self.warn, resumed=self.resumed)
        task = self._texts.task(None if self._crossed is None else self._crossed.update)
        task.check(self.module)
        return task

    def init_weights(self) -> None:
        """Puts in the weights of `hf:PATH` and of `train.init_from`."""
        self.warn(*first_weights(self.module, self.config, self.encoder))

    def begin(self) -> None:
        """Writes encoder, labels, the record of the training rows, and the configuration."""
        record = self.record().started_from(self._base)
        begin_run(self.out, absolutize_paths(self.config), self.encoder, self.tables.labels, record)

    def record(self) -> TrainingRecord:
        """Returns the training data of the run."""
        return self.tables.record()

    def planned(self) -> dict[str, Any]:
        """Returns rows, labels and tokens."""
        return self._texts.planned()

    def fit_some(self, most: int) -> tuple[int, int]:
        """Fits some rows at most, for a plan, where the model is not trained by steps."""
        if not isinstance(self.module, Fits):
            return 0, 0
        some = self.tables.some(self.tables.spread(most))
        self.module.fit(self.encoder.encode(some.train.texts), some.to_fit(), self.config.train.seed)
        return len(some.train), len(self.tables.train)

    def fit_closed_form(self) -> None:
        """Fits a model that is not trained by steps, such as naive Bayes."""
        if isinstance(self.module, Fits):
            began = time.perf_counter()
            self.module.fit(self._texts.train, self.tables.to_fit(), self.config.train.seed)
            self._fit_seconds = time.perf_counter() - began

    def facts(self, fit: Fit) -> dict[str, Any]:
        """Returns the facts of rows, labels and time."""
        seconds = {"encode": self._texts.seconds, "fit": self._fit_seconds, "steps": fit.seconds}
        about = {**self._texts.facts(self.task.drawn()), "seconds": seconds, "temperature": self._temperature}
        return about | ({"chosen": dict(self._chosen)} if self._chosen else {})

    def scores(self, fit: Fit) -> dict[str, Any]:
        """Fits the temperature, scores validation and test rows, and compares with baselines."""
        device, train, logits = self.processes.device, self.config.train, None
        if self._texts.valid is not None:
            precise = use_bfloat16(train, device)
            logits = text_logits(self.module, self._texts.valid, device=device, bfloat16=precise)
            if not fit.steps:
                record = record_fit(self.out, self.task, logits, self._crossed, self._fit_seconds)
                self.callbacks.on_record(record)
        about = judged(
            self.module, self._texts, logits, self._crossed, temperature=self._temperature, device=device,
            tfidf=train.baseline
            and self.config.arch != "tfidf" and fit.stop not in ("stopped", "not finite"),
            on_test=None if self.config.data.fold is None else self._keep_answers,
        )  # fmt: skip
        about |= self._windows(logits)
        return about | self._thresholds(logits, about.get("temperature", self._temperature))

    def _windows(self, logits: NDArray[np.float32] | None) -> dict[str, Any]:
        """Proposes windows where an architecture that was chosen cuts texts, and reading all of them pays."""
        config = self.config
        if logits is None or not config.estimates or config.data.long == "windows":
            return {}
        found = in_windows(self.module, self._texts, logits, self.processes.device)
        if found is None:
            return {}
        if found["gain"] > found["interval"]:
            self.warn(
                f"{found['n_cut']:,} of {found['rows']:,} validation texts are cut; in windows the run is "
                f"right in {100 * found['windows']:.1f} % of all instead of {100 * found['cut']:.1f} %: "
                "answer with --windows (senti predict, evaluate), or train with --windows"
            )
        return {"windows": found}

    def _thresholds(self, logits: NDArray[np.float32] | None, temperature: Temperature) -> dict[str, Any]:
        """Chooses thresholds and writes them; a run refitted on all rows has those of the first one."""
        (self.out / THRESHOLDS).unlink(missing_ok=True)
        if logits is not None and self.config.train.threshold is None:
            return self._propose_rule(logits, temperature)
        if (first := (self._chosen or {}).get("thresholds")) is not None:
            Thresholds.of_tree(first, self.tables.labels).save(self.out)
        if self._pick is None or logits is None:
            return {}
        try:
            thresholds, about = choose_thresholds(
                self._pick, self.module, self._texts, logits, self._crossed, temperature=temperature,
                device=self.processes.device,
            )  # fmt: skip
        except DataError as error:  # training is done, and the run answers without thresholds
            self.warn(f"no thresholds are stored: {error}")
            return {}
        thresholds.save(self.out)
        return {"thresholds": about}

    def _propose_rule(self, logits: NDArray[np.float32], temperature: Temperature) -> dict[str, Any]:
        """Proposes thresholds where they are clearly better than the usual answers."""
        found = better_rule(self._texts, logits, temperature)
        if found is None:
            return {}
        if found["better"]:
            several = self.tables.labels.several
            usual = "from a probability of 0.5 on" if several else "with the likeliest label"
            other = "a threshold for each label, cross-fitted" if several else "the median"
            self.warn(
                f"{found['score']} on the validation rows: {found['usual']:.3f} {usual}, "
                f"{found['by_rule']:.3f} with {other}: train with --threshold {found['rule']}, or senti "
                f"thresholds RUN FILE --threshold {found['rule']}"
            )
        return {"proposed_thresholds": found}

    def _keep_answers(self, probs: NDArray[np.float32]) -> None:
        """Keeps the answers to the rows of a fold."""
        from ..runs import out_of_fold

        assert self.tables.test is not None
        out_of_fold.save(self.out, self.tables.test, probs)


def _idle(config: RunConfig) -> list[str]:
    """Returns what to say of settings of the task that a fit of n-grams does not read."""
    fields = type(config.task).model_fields
    if not architecture(config.arch).fits or "class_weights" not in fields:
        return []
    given = (name for name in _BY_STEPS if name in fields)
    idle = [name for name in given if getattr(config.task, name) != fields[name].default]
    if not idle:
        return []
    names = ", ".join(f"task.{name}" for name in idle)
    return [f"{names}: changes nothing, as {config.arch} is not trained by steps; networks are (senti archs)"]
