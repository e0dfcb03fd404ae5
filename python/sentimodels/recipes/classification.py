"""`ClassificationRecipe`: a classifier, from labelled texts to its run directory; see `runs/execute.py`."""

import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from ..config import RunConfig
from ..data.encoded import Encoded
from ..data.readers import read_as
from ..data.record import TrainingRecord
from ..data.split import Units, count_of
from ..data.table import Table
from ..errors import ConfigError
from ..evaluation.calibration import fit_temperature
from ..evaluation.metrics import intervals, per_class, scores
from ..evaluation.predictions import of_logits, text_logits
from ..models import Fits, architecture, build
from ..runs.directory import absolutize_paths, begin_run
from ..runs.execute import Recipe
from ..runs.judging import CrossFit, baselines
from ..runs.lineage import check_same_rows, check_unlearned, record_of
from ..runs.start import encoder_of_start, first_weights
from ..runs.tables import Tables, check_files, example_of, read_tables
from ..runs.tasks import settled_task, task_of
from ..tasks.classification import LabelTask
from ..text.encoder import TextEncoder, encoder_for, load_encoder, vectors_for
from ..training.device import use_bfloat16
from ..training.distributed import check_alone
from ..training.history import Fit, write_record
from ..training.state import STATE, load_state

__all__ = ["ClassificationRecipe"]

# Replicates of the bootstrap intervals of a run's scores, enough for two digits of their ends.
_REPLICATES = 400


class ClassificationRecipe(Recipe[RunConfig]):
    """See the module.

    Args:
        config: the run.
        tables: the rows, if they are read already.
        temperature: of the model where no validation texts fit one.
        chosen: what an earlier run on validation texts chose, for `run.json`.
    """

    encoder: TextEncoder

    def __init__(
        self,
        config: RunConfig,
        *,
        tables: Tables | None = None,
        temperature: float = 1.0,
        chosen: Mapping[str, Any] | None = None,
    ) -> None:
        self.config, self._read, self._temperature, self._chosen = config, tables, temperature, chosen
        self._seconds = {"encode": 0.0, "fit": 0.0}

    def check(self) -> None:
        """Refuses settings that cannot be, before processes start and files are read."""
        if not self.resumed:
            check_files(self.config)
        if architecture(self.config.arch).fits:
            check_alone(f"{self.config.arch}, which is not trained by steps,")
        if self.config.train.refit:
            if (kind := self.config.task.kind) != "classification":
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
            self.encoder = encoder_of_start(self.config) or encoder_for(self.config, tables.train.texts)
            # What is settled here is saved: the loader has no training texts to settle it by.
            task = settled_task(self.config, tables.labels.names)
            self.config = self.config.model_copy(update={"data": self.encoder.data, "task": task})
        self._base = record_of(start)
        self.warn(
            *tables.notes,
            *check_unlearned(start, self._base, tables.train, validation=tables.valid, test=tables.test),
        )
        began = time.perf_counter()
        self._encoded = self._encode("training", tables.train)
        self._labels = tables.classes(tables.train)
        self._valid: Encoded | None = None
        self._valid_labels: NDArray[np.int64] | None = None
        if tables.valid is not None:
            self._valid = self._encode("validation", tables.valid)
            if tables.taught is None or tables.valid.labels is not None:
                self._valid_labels = tables.classes(tables.valid)
        self._seconds["encode"] = time.perf_counter() - began

    def _encode(self, part: str, table: Table) -> Encoded:
        """Returns the texts of a part as ids, and warns of those that are cut."""
        encoded, data = self.encoder.encode(table.texts), self.config.data
        if encoded.n_cut:
            share = 100 * encoded.n_cut / encoded.n_texts
            longest = int(encoded.text_lengths.max())
            texts, are = ("text", "is") if encoded.n_cut == 1 else ("texts", "are")
            self.warn(
                f"{encoded.n_cut:,} {part} {texts} ({share:.1f} %) {are} longer than {data.max_tokens} "
                f'tokens (the longest {longest:,}); data.long = "{data.long}"'
            )
        return encoded

    def build(self) -> nn.Module:
        """Builds the module of the architecture."""
        inputs = self.encoder.inputs(len(self.tables.labels), self._vectors())
        return build(self.config.arch, self.config.model, inputs)

    def _vectors(self) -> torch.Tensor | None:
        """Returns the rows of the embedding table that word vectors give."""
        path = self.config.data.vectors
        if path is None:
            if getattr(self.config.model, "channels", "tuned") != "tuned":
                raise ConfigError("model.channels static or both need data.vectors, a file of word vectors")
            return None
        texts = self.encoder.token_texts
        if texts is None:
            raise ConfigError(f"data.vectors: {self.config.arch} has no token embeddings")
        vectors, n_found = vectors_for(Path(path), texts)
        self.warn(f"{n_found:,} of {len(texts):,} tokens have a vector in {path}")
        return vectors

    def make_task(self) -> LabelTask:
        """Returns the task; without test rows the halves of dev judge each other's choice."""
        tables, self._crossed = self.tables, None
        if tables.valid is not None and self._valid_labels is not None and not tables.judged_on_test:
            crossed = self._crossed = CrossFit(self._valid_labels, Units.of(tables.valid, 0.5, 2), self.out)
            if crossed.possible and (lacking := crossed.unbalanced()):
                counts = Counter(tables.labels.decode(self._valid_labels.tolist()))
                names = tables.labels.decode(lacking)
                self.warn(f"one half of the validation rows has none of the label {count_of(counts, names)}")
            # A run that is stopped before its first evaluation makes one for its user; it is not part of it.
            state = self.out / STATE
            if self.resumed and state.is_file() and load_state(state)[1]["best"] is not None:
                crossed.load()
        task = task_of(
            self.config, tables, self._encoded, self._labels, self._valid, self._valid_labels,
            None if self._crossed is None else self._crossed.update,
        )  # fmt: skip
        task.check(self.module)
        return task

    def init_weights(self) -> None:
        """Puts in the weights of `hf:PATH` and of `train.init_from`."""
        self.warn(*first_weights(self.module, self.config, self.encoder))

    def begin(self) -> None:
        """Writes encoder, labels, the record of what is trained on, and the configuration."""
        record = self.record().started_from(self._base)
        begin_run(self.out, absolutize_paths(self.config), self.encoder, self.tables.labels, record)

    def record(self) -> TrainingRecord:
        """Returns what the run learns from."""
        return self.tables.record()

    def planned(self) -> dict[str, Any]:
        """Returns rows, labels and tokens."""
        tables = self.tables
        return {
            "train_rows": len(tables.train),
            "valid_rows": 0 if tables.valid is None else len(tables.valid),
            "labels": ", ".join(f"{name} {count:,}" for name, count in tables.counts().items()),
            "vocabulary": self.encoder.vocab_size,
            "tokens": int(self._encoded.lengths.sum()),
            "texts_cut": self._encoded.n_cut,
        }

    def fit_some(self, most: int) -> tuple[int, int]:
        """Fits some rows at most, for a plan, where the model is not trained by steps."""
        if not isinstance(self.module, Fits):
            return 0, 0
        some = self.tables.some(self.tables.spread(most))
        self.module.fit(self.encoder.encode(some.train.texts), some.to_fit(), self.config.train.seed)
        return len(some.train), len(self.tables.train)

    def fit_closed_form(self) -> None:
        """Fits what is not trained by steps, such as naive Bayes."""
        if isinstance(self.module, Fits):
            began = time.perf_counter()
            self.module.fit(self._encoded, self.tables.to_fit(), self.config.train.seed)
            self._seconds["fit"] = time.perf_counter() - began

    def facts(self, fit: Fit) -> dict[str, Any]:
        """Returns what is known of rows, labels and time."""
        tables, config, drawn = self.tables, self.config, self.task.drawn()
        about: dict[str, Any] = {"labels": tables.counts()}
        if drawn is not None:  # rows of each label that an epoch draws, where it is not every row
            rows = np.rint(drawn).astype(int).tolist()
            about["drawn"] = dict(zip(tables.labels.names, rows, strict=True))
        if config.estimates:
            about["estimates"] = dict(config.estimates)
        if config.accuracies:
            about["accuracies"] = dict(config.accuracies)
        parts = {"train": tables.train, "valid": tables.valid, "test": tables.test}
        about["rows"] = {part: 0 if table is None else len(table) for part, table in parts.items()}
        about["cut"] = self._cut()
        about["example"] = example_of(tables.train.texts)
        reading = ("format", "separator", "header", "encoding")
        about["read_as"] = read_as(tables.train, **{key: getattr(config.data, key) for key in reading})
        about["seconds"] = {**self._seconds, "steps": fit.seconds}
        about["temperature"] = self._temperature
        if self._chosen:
            about["chosen"] = dict(self._chosen)
        return about

    def scores(self, fit: Fit) -> dict[str, Any]:
        """Fits the temperature, scores validation and test rows, and compares with baselines."""
        tables, device, about = self.tables, self.processes.device, dict[str, Any]()
        temperature, answered = self._temperature, None
        if self._valid is not None and tables.valid is not None:
            precise = use_bfloat16(self.config.train, device)
            logits = text_logits(self.module, self._valid, device=device, bfloat16=precise)
            if not fit.steps:
                self._record_fit(logits)
            if self._valid_labels is not None:
                temperature = about["temperature"] = fit_temperature(logits, self._valid_labels)
            about |= self.part_scores("valid", tables.valid, logits, temperature)
        if tables.test is not None and tables.judged_on_test:
            judging = self._encode("test", tables.test)
            about["cut"] = {**self._cut(), "test": int(judging.cut.sum())}
            logits = text_logits(self.module, judging, device=device)
            about |= self.part_scores("test", tables.test, logits, temperature)
            about["judged"], answered = "test", of_logits(tables.labels, logits, tables.test)
        elif (crossed := self._crossed) is not None and crossed.possible and crossed.chosen is not None:
            assert tables.valid is not None
            answered = of_logits(tables.labels, crossed.logits(), tables.valid)
            about["judged"], about["crossed"] = "crossed", scores(answered)
        if answered is not None:
            done = fit.stop not in ("stopped", "not finite")
            wanted = self.config.train.baseline and self.config.arch != "tfidf"
            with_tfidf = wanted and done and bool((self._labels >= 0).all())
            about["baselines"] = baselines(tables, answered, tfidf=with_tfidf)
        return about

    def _cut(self) -> dict[str, int]:
        n_cut = 0 if self._valid is None else int(self._valid.cut.sum())
        return {"train": int(self._encoded.cut.sum()), "valid": n_cut}

    def _record_fit(self, logits: NDArray[np.float32]) -> None:
        """Records the scores of a module that no step has evaluated."""
        if self._crossed is not None:
            self._crossed.update(logits)
        scored = self.task.evaluation(logits)
        record = {"step": 0, "epoch": 0.0, **scored.scores, "monitor": scored.monitor}
        record |= {"seconds": round(self._seconds["fit"], 3), "tokens": 0}
        write_record(self.out, record)
        self.callbacks.on_record(record | {"total_steps": 0, "padding": 0.0})

    def part_scores(
        self, part: str, table: Table, logits: NDArray[np.float32], temperature: float
    ) -> dict[str, Any]:
        """Returns the scores of a part under its name, where it has labels."""
        if table.labels is None:
            return {}
        before = scores(of_logits(self.tables.labels, logits, table))
        answered = of_logits(self.tables.labels, logits, table, temperature)
        ends = intervals(answered, n_replicates=_REPLICATES)
        kept = {name: list(ends[name]) for name in ("accuracy", "macro_f1")}
        found = {
            **scores(answered), "ece_before": before["ece"], "intervals": kept,
            "per_class": per_class(answered),
        }  # fmt: skip
        return {part: found}
