"""`Classifier`: a saved run that answers.

Labels and probabilities come from one pass through the model, so they cannot disagree; an answer does not
depend on the other texts of a call. Probabilities are divided by the temperature that was fitted after
training.
"""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from torch import nn

from sentitok.remote import is_url, local_path, written

from .arguments import texts_of
from .config import RunConfig
from .data.encoded import Cut, Encoded
from .data.label_sets import JSON
from .data.table import Labels
from .errors import CheckpointError, ConfigError
from .evaluation.answers import Answers, Temperature, answers_of
from .evaluation.predictions import text_logits
from .evaluation.thresholds import Thresholds, named
from .runs.directory import Loaded, load_run
from .text.encoder import Encoder, TextEncoder
from .training.device import device_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Classifier"]

_log = logging.getLogger("sentimodels")


class Classifier:
    """A trained model with its tokenizer and labels.

    Args:
        loaded: the run.
        device: `cpu`, `cuda`, ... or `auto`.
    """

    def __init__(self, loaded: Loaded, device: str = "cpu") -> None:
        self._loaded = loaded
        self._device = device_of(device)
        self._module = loaded.module.to(self._device).eval()

    @classmethod
    def load(cls, folder: str | Path, device: str = "cpu", *, windows: bool = False) -> Self:
        """Loads a run directory, checking its files against its manifest.

        Args:
            folder: the run directory.
            device: where it answers.
            windows: whether to read texts longer than `max_tokens` in windows and average their logits,
                though the run was trained on parts of such texts.

        Raises:
            CheckpointError: if it is none, or altered.
        """
        loaded = load_run(local_path(folder))
        if windows:
            loaded = replace(loaded, encoder=loaded.encoder.in_windows())
        return cls(loaded, device)

    @classmethod
    def fit_frame(
        cls,
        frame: "pd.DataFrame",
        out: str | Path,
        *,
        text_column: str | None = None,
        label_column: str | None = None,
        group_column: str | None = None,
        device: str = "cpu",
        **settings: Any,
    ) -> Self:
        """Trains on the rows of a DataFrame and returns the classifier.

        The rows are written to `OUT.jsonl`, next to the run directory, so that the run can be resumed and
        verified as one of a file can.

        Args:
            frame: texts and labels; cells become labels as those of a file do.
            out: the run directory, which must hold no run yet.
            text_column: guessed when only one can be meant.
            label_column: as `text_column`.
            group_column: rows with one value stay on one side of a split.
            device: where the classifier answers.
            settings: the configuration, such as `arch="nb"` or `train={"epochs": 3}`.

        Raises:
            SentiError: if a column, a setting or the course of training does not allow it.
        """
        from .data.frames import table_of_frame
        from .data.writers import write_table
        from .runs.directory import refuse_begun
        from .runs.execute import train
        from .runs.families import resolve

        if is_url(out):
            with written(out) as folder:
                return cls.fit_frame(
                    frame, folder, text_column=text_column, label_column=label_column,
                    group_column=group_column, device=device, **settings,
                )  # fmt: skip
        folder = Path(out)
        refuse_begun(folder)
        data = dict(settings.pop("data", {}))
        separator, of_labels = data.pop("label_separator", None), data.pop("label_columns", None) or ()
        several = settings.get("task", {}).get("kind") == "multilabel"
        table = table_of_frame(
            frame, text_column, label_column, group_column, several=several, label_separator=separator,
            label_columns=of_labels,
        )  # fmt: skip
        table.labelled()
        rows = folder.with_name(f"{folder.name}.jsonl")
        rows.parent.mkdir(parents=True, exist_ok=True)
        write_table(table, rows)
        columns = {"text_column": "text", "label_column": "label", "format": "jsonl"}
        if table.groups is not None:
            columns["group_column"] = "group"
        if table.label_form is not None:  # the file of rows has lists
            columns["label_separator"] = JSON
        data |= {"train": str(rows), **columns}
        train(resolve({**settings, "data": data}), folder)
        return cls.load(folder, device)

    @property
    def labels(self) -> Labels:
        """The names of the classes, in the order of the columns."""
        return self._loaded.labels

    @property
    def answers(self) -> Answers:
        """How answers are decided and scored."""
        return answers_of(self.labels)

    @property
    def tokenizer(self) -> Encoder:
        """The run's tokenizer, or its replacement."""
        return self._loaded.encoder.encoder

    @property
    def encoder(self) -> TextEncoder:
        """The tokenizer with the run's settings of texts: lower case, lengths."""
        return self._loaded.encoder

    @property
    def module(self) -> nn.Module:
        """The model itself, which threads share: it is read, never changed."""
        return self._module

    @property
    def n_parameters(self) -> int:
        """The number of trained parameters."""
        return sum(parameter.numel() for parameter in self._module.parameters())

    @property
    def config(self) -> RunConfig:
        """The run's configuration."""
        return self._loaded.config

    @property
    def temperature(self) -> Temperature:
        """The divisor of logits: one number or, of several labels a text, one for each label."""
        return self._loaded.temperature

    @property
    def thresholds(self) -> Thresholds | None:
        """How probabilities become answers, if `senti thresholds` or `train.threshold` has chosen that."""
        return self._loaded.thresholds

    def predict_logits(self, texts: Iterable[str]) -> NDArray[np.float32]:
        """Returns the logits (n, n_classes) before the temperature.

        Raises:
            TypeError: for one text, and for values that are not text.
        """
        found = texts_of("predict", texts)
        if not found:
            return np.zeros((0, len(self.labels)), np.float32)
        return self.logits_of(self._loaded.encoder.encode(found))

    def logits_of(self, encoded: Encoded) -> NDArray[np.float32]:
        """Returns the logits (n, n_classes) of texts that `encoder` has encoded."""
        return text_logits(self._module, encoded, device=self._device)

    @property
    def max_tokens(self) -> int | None:
        """Tokens of a text that the model reads at most; `None` if it reads whole texts."""
        encoder = self._loaded.encoder
        whole = not encoder.vocabulary.in_order or encoder.data.long == "windows"
        return None if whole else encoder.data.max_tokens

    def read(self, texts: Iterable[str]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Returns the calibrated probabilities (n, n_classes), and the share of each text that was not read.

        The share is 0 unless the text has more than `max_tokens` tokens: the rest of it changes no answer.
        """
        found = texts_of("read", texts)
        if not found:
            return np.zeros((0, len(self.labels)), np.float32), np.zeros(0, np.float32)
        encoded = self._loaded.encoder.encode(found)
        return self.calibrated(self.logits_of(encoded)), encoded.unread

    def answer(self, texts: Iterable[str]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Returns the calibrated probabilities (n, n_classes), and which texts (n,) were cut."""
        probs, unread = self.read(texts_of("answer", texts))
        return probs, unread > 0

    def predict_proba(self, texts: Iterable[str]) -> NDArray[np.float32]:
        """Returns the calibrated probabilities (n, n_classes); logs how many texts were cut, if any were."""
        probs, unread = self.read(texts_of("predict", texts))
        if said := Cut.of(unread).said(self.max_tokens):
            _log.warning(said)
        return probs

    def calibrated(self, logits: NDArray[np.float32]) -> NDArray[np.float32]:
        """Returns the probabilities (n, n_classes) of logits.

        Raises:
            CheckpointError: if a logit is not a number.
        """
        if not len(logits):
            return logits.astype(np.float32)
        if np.isnan(logits).any():
            raise CheckpointError(
                "the answers of the run are not numbers, as some of its weights are not; train it, or import "
                "it, again"
            )
        return self.answers.probabilities(logits, self.temperature).astype(np.float32)

    def predict(
        self,
        texts: Iterable[str],
        threshold: float | Mapping[str, float] | None = None,
        unsure: Any = None,
    ) -> list[Any]:
        """Returns the label of each text: the likeliest, of equals the first, unless the run has thresholds.

        Of a run with several labels a text, it is the list of the labels whose probability is at least 0.5,
        or their threshold.

        Args:
            texts: the texts.
            threshold: the probability that every label needs, or that of some labels by name; overrides the
                thresholds of the run.
            unsure: the answer where no label of one reaches its threshold.

        Raises:
            ConfigError: if a threshold is not a probability, or names an unknown label.
        """
        return named(self.labels, self._decide(self.predict_proba(texts), threshold), unsure)

    def _decide(
        self, probs: NDArray[np.float32], threshold: float | Mapping[str, float] | None = None
    ) -> NDArray[np.int64]:
        if threshold is None:
            return self.answers.decide(probs) if self.thresholds is None else self.thresholds.decide(probs)
        least = np.full(len(self.labels), self.answers.least)
        given = threshold if isinstance(threshold, Mapping) else dict.fromkeys(self.labels.names, threshold)
        for name, p in given.items():
            if name not in self.labels.names:
                raise ConfigError(
                    f"threshold: unknown label {name!r}; expected one of {', '.join(self.labels.names)}"
                )
            if not 0 <= p <= 1:
                raise ConfigError(f"threshold {p}: expected a probability from 0 to 1")
            least[self.labels.names.index(name)] = p
        return self.answers.decide(probs, least.astype(probs.dtype))

    def predict_frame(
        self, frame: "pd.DataFrame | pd.Series[Any]", text_column: str | None = None
    ) -> "pd.DataFrame":
        """Returns the label, as `predict` does, and the probability of each, with the index of the frame.

        Args:
            frame: a Series of texts, or a DataFrame with a column of them; a missing text is an empty one.
            text_column: of a DataFrame; guessed when only one can be meant.

        Returns:
            Columns `label` and `p_NAME` for each label, as `senti predict` writes them; with several labels a
            text, `label` holds lists.

        Raises:
            DataError: if the column is missing or unclear, or a cell is not one text.
        """
        import pandas as pd

        from .data.frames import texts_of_frame

        probs = self.predict_proba(texts_of_frame(frame, text_column))
        columns = {f"p_{name}": probs[:, place] for place, name in enumerate(self.labels)}
        labels = named(self.labels, self._decide(probs))
        return pd.DataFrame({"label": labels, **columns}, index=frame.index)
