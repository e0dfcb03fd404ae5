"""`Predictions`: a model's probabilities for the rows of one file, with their labels, groups and ids.

The one source of every table and figure: `evaluate` writes it, reports, comparisons
and plots read it. On disk it is an `.npz` of plain arrays (never pickled objects);
texts are UTF-8 bytes with offsets, so that one long text does not widen all rows.
"""

import io
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol
from zipfile import BadZipFile

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from sentitok.atomic import write as write_atomically

from ..data.encoded import Encoded, batches
from ..data.label_sets import labels_kind, labels_saved
from ..data.normalization import fold
from ..data.table import Labels, Table
from ..errors import DataError
from .answers import Answers, Temperature, answers_of
from .thresholds import Thresholds

__all__ = ["WithProgress", "text_logits"]

SCHEMA = "senti.predictions/1"


class Predictor(Protocol):
    """A model that can be evaluated: `Classifier`, an ensemble, a model with memory."""

    @property
    def labels(self) -> Labels:
        """The classes, in the order of the columns of `predict_proba`."""

    def predict_proba(self, texts: list[str]) -> NDArray[np.float32]:
        """Returns `(n, n_classes)` probabilities."""


@dataclass(frozen=True)
class Predictions:
    """Probabilities and truth, row by row.

    Attributes:
        labels: the classes.
        probs: `(n, n_classes)` float32; of one label a text, rows add up to 1.
        truth: `(n,)` int64 class indices, or `(n, n_classes)` of 0 and 1 where texts have several labels; -1
            where unknown.
        texts: the texts.
        groups: rows of one group are drawn together by the bootstrap, or `None`.
        ids: the rows' own ids, or `None`.
        seen: which rows are training texts, or `None` if that is not known.
        remembered: which rows a phrase memory answered, or `None` without one.
        unread: the share of each text that the model did not read, 0 where it read all, infinite where it is
            not known; `None` if nothing is known.
        about: run, source, sha256, temperature: plain values.
        given: the answers where thresholds give them, -1 for none; `None` for the usual ones.
    """

    labels: Labels
    probs: NDArray[np.float32]
    truth: NDArray[np.int64]
    texts: list[str]
    groups: list[str] | None = None
    ids: list[str] | None = None
    seen: NDArray[np.bool_] | None = None
    remembered: NDArray[np.bool_] | None = None
    unread: NDArray[np.float32] | None = None
    about: dict[str, Any] = field(default_factory=dict)
    given: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        n = len(self.texts)
        if self.probs.shape != (n, len(self.labels)):
            raise DataError(f"probabilities {self.probs.shape} for {n} texts and {len(self.labels)} labels")
        if not np.isfinite(self.probs).all():
            raise DataError("some probabilities are not finite: the model is broken")
        if self.probs.size and not (self.probs.min() >= 0 and self.probs.max() <= 1 + 1e-4):
            raise DataError("some probabilities are outside 0 to 1")
        for name in ("groups", "ids", "seen", "remembered", "unread"):
            column = getattr(self, name)
            if column is not None and len(column) != n:
                raise DataError(f"{n} texts, but {len(column)} {name}")
        if (fault := self.answers.fault(self.truth, n, len(self.labels))) is not None:
            raise DataError(fault)

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def answers(self) -> Answers:
        """How answers are decided and scored."""
        return answers_of(self.labels)

    @property
    def predicted(self) -> NDArray[np.int64]:
        """The answers: the likeliest class of each row, of equals the first; or 0 and 1 for each label."""
        return self.answers.decide(self.probs) if self.given is None else self.given

    @property
    def thresholds(self) -> Thresholds | None:
        """The thresholds of the run that answered; `None` of a view of fewer labels."""
        own = self.about.get("thresholds")
        if own is None or own["labels"] != list(self.labels.names):
            return None
        return Thresholds.of_tree(own, self.labels)

    @property
    def answered(self) -> NDArray[np.bool_]:
        """Which rows have an answer, (n,): with one label a text thresholds may give none, -1."""
        given = self.predicted
        return np.ones(len(self), np.bool_) if given.ndim == 2 else given >= 0

    def by_thresholds(self) -> "Predictions":
        """Returns the same with the answers that the thresholds of the run give, if it has any."""
        thresholds = self.thresholds
        return self if thresholds is None else replace(self, given=thresholds.decide(self.probs))

    @property
    def cut(self) -> NDArray[np.bool_] | None:
        """Which texts were longer than the model reads, or `None` if that is not known."""
        return None if self.unread is None else self.unread > 0

    @property
    def right(self) -> NDArray[np.bool_]:
        """Which answers are wholly right."""
        return self.answers.right(self.truth, self.predicted)

    def take(self, rows: Iterable[int] | NDArray[np.bool_] | NDArray[np.int64]) -> "Predictions":
        """Returns the predictions of some rows (indices or a mask)."""
        chosen = np.asarray(rows)
        if chosen.dtype == np.bool_:
            chosen = np.flatnonzero(chosen)
        places: list[int] = chosen.astype(np.int64).tolist()
        return replace(
            self,
            probs=self.probs[places],
            truth=self.truth[places],
            texts=[self.texts[place] for place in places],
            groups=None if self.groups is None else [self.groups[place] for place in places],
            ids=None if self.ids is None else [self.ids[place] for place in places],
            seen=None if self.seen is None else self.seen[places],
            remembered=None if self.remembered is None else self.remembered[places],
            unread=None if self.unread is None else self.unread[places],
            given=None if self.given is None else self.given[places],
        )

    def labelled(self) -> "Predictions":
        """Returns the rows whose label is known.

        Raises:
            DataError: if there is none.
        """
        known = self.answers.known(self.truth)
        if not known.any():
            raise DataError(
                f"{self.about.get('source', 'the file')}: no row has a label, so nothing can be scored"
            )
        return self if known.all() else self.take(known)

    def save(self, path: Path) -> None:
        """Writes the file."""
        columns: dict[str, NDArray[Any]] = {"probs": self.probs, "truth": self.truth}
        for name in ("seen", "remembered", "unread"):
            if getattr(self, name) is not None:
                columns[name] = getattr(self, name)
        for name in ("texts", "groups", "ids"):
            if getattr(self, name) is not None:
                columns[f"{name}_utf8"], columns[f"{name}_ends"] = _pack(getattr(self, name))
        head: dict[str, Any] = {"schema": SCHEMA, **labels_saved(self.labels), "about": self.about}
        columns["head"] = np.frombuffer(json.dumps(head, ensure_ascii=False).encode(), dtype=np.uint8)
        data = io.BytesIO()
        # The stub takes the columns for the flag `allow_pickle`.
        # 2026-11-23: mypy takes **columns for allow_pickle
        np.savez_compressed(data, **columns)  # type: ignore[arg-type]
        write_atomically(path, data.getvalue())

    @classmethod
    def load(cls, path: Path) -> "Predictions":
        """Reads the file.

        Raises:
            DataError: if it is not a file of predictions.
            FileNotFoundError: if there is none.
        """
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                head = json.loads(arrays["head"].tobytes())
                if head["schema"] != SCHEMA:
                    raise DataError(f"written as {head['schema']}, expected {SCHEMA}")
                return cls(
                    labels=labels_kind(head),
                    probs=arrays["probs"].astype(np.float32, copy=False),
                    truth=arrays["truth"].astype(np.int64, copy=False),
                    texts=_unpack(arrays, "texts") or [],
                    groups=_unpack(arrays, "groups"),
                    ids=_unpack(arrays, "ids"),
                    seen=arrays.get("seen"),
                    remembered=arrays.get("remembered"),
                    unread=_unread(arrays),
                    about=head["about"],
                )
        except DataError as error:
            raise DataError(f"{path}: {error}; write the file again: senti evaluate RUN FILE -o") from error
        except FileNotFoundError:
            raise
        except (OSError, EOFError, BadZipFile, ValueError, KeyError, TypeError, AttributeError) as error:
            raise DataError(
                f"{path}: no file of predictions ({error}); `senti evaluate` writes one"
            ) from error


def _pack(texts: list[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    ends = np.cumsum(np.array([len(text) for text in encoded], dtype=np.int64))
    return np.frombuffer(b"".join(encoded), dtype=np.uint8), ends


def _unpack(arrays: Any, name: str) -> list[str] | None:
    if f"{name}_utf8" not in arrays:
        return None
    data, ends = arrays[f"{name}_utf8"].tobytes(), arrays[f"{name}_ends"].tolist()
    if (ends[-1] if ends else 0) != len(data) or ends != sorted(ends):
        raise ValueError(f"{name} do not fit their offsets")
    starts = [0, *ends][:-1]
    return [data[a:b].decode("utf-8", "surrogatepass") for a, b in zip(starts, ends, strict=True)]


def _unread(arrays: Any) -> NDArray[np.float32] | None:
    """Reads the column; files of earlier versions only say which texts were cut."""
    if "cut" in arrays:
        return np.where(arrays["cut"], np.inf, 0).astype(np.float32)
    unread: NDArray[np.float32] | None = arrays.get("unread")
    return unread


def of_logits(
    labels: Labels, logits: NDArray[np.float32], table: Table, temperature: Temperature = 1.0
) -> Predictions:
    """Returns the predictions of logits for a labelled table."""
    probs = answers_of(labels).probabilities(logits, temperature).astype(np.float32)
    table.labelled()
    return Predictions(labels, probs, labels.classes(table), table.texts, groups=table.groups)


def answer(predictor: Predictor, texts: list[str]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Returns `(n, n_classes)` probabilities, and the share of each text (n,) that the model did not read.

    A predictor without its own `read`, such as a custom one, is assumed to read whole texts.
    """
    own = getattr(predictor, "read", None)
    if own is None:
        return predictor.predict_proba(texts), np.zeros(len(texts), np.float32)
    found: tuple[NDArray[np.float32], NDArray[np.float32]] = own(texts)
    return found


def predict(predictor: Predictor, table: Table, **about: Any) -> Predictions:
    """Asks a model for its answers to a table.

    Raises:
        DataError: if a label of the table is not one of the model's.
    """
    labels = predictor.labels
    truth = labels.classes(table)
    probs, unread = answer(predictor, table.texts)
    return Predictions(
        labels=labels,
        probs=np.asarray(probs, dtype=np.float32),
        truth=truth,
        texts=table.texts,
        groups=table.groups,
        ids=table.ids,
        unread=unread,
        about={
            "source": str(table.source),
            "sha256": table.sha256,
            "max_tokens": getattr(predictor, "max_tokens", None),
            **about,
        },
    )


def binary_view(predictions: Predictions) -> Predictions:
    """Returns five-class predictions as two: 0 and 1 against 3 and 4, the neutral left out.

    Raises:
        DataError: if the labels are not 0 to 4.
    """
    if predictions.labels.several or predictions.labels.names != ("0", "1", "2", "3", "4"):
        raise DataError(f"the binary view needs labels 0 to 4, not {', '.join(predictions.labels.names)}")
    kept = predictions.take(predictions.truth != 2)
    sides = np.stack([kept.probs[:, :2].sum(axis=1), kept.probs[:, 3:].sum(axis=1)], axis=1)
    total = sides.sum(axis=1, keepdims=True)
    probs = np.where(total > 0, sides / np.maximum(total, 1e-30), 0.5).astype(np.float32)
    truth = np.where(kept.truth < 0, -1, (kept.truth > 2).astype(np.int64))
    return replace(kept, labels=Labels(["0", "1"]), probs=probs, truth=truth)


# Texts between two movements of the bar.
_AT_ONCE = 512


@dataclass(frozen=True)
class WithProgress:
    """A predictor that is watched.

    Attributes:
        predictor: who answers.
        progress: called with the stage, texts answered, and texts in all.
    """

    predictor: Predictor
    progress: Callable[[str, int, int], None]

    @property
    def labels(self) -> Labels:
        """The classes."""
        return self.predictor.labels

    @property
    def temperature(self) -> Temperature:
        """The divisor of logits."""
        given: Temperature = getattr(self.predictor, "temperature", 1.0)
        return given

    @property
    def thresholds(self) -> Any:
        """How probabilities become answers (`Thresholds`), if the predictor has its own."""
        return getattr(self.predictor, "thresholds", None)

    @property
    def max_tokens(self) -> int | None:
        """Tokens of a text that the predictor reads at most; `None` if it reads whole texts."""
        most: int | None = getattr(self.predictor, "max_tokens", None)
        return most

    def read(self, texts: list[str]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Returns `(n, n_classes)` probabilities, and the share of each text (n,) that was not read."""
        if not texts:
            return answer(self.predictor, texts)
        parts, unread = [], []
        for start in range(0, len(texts), _AT_ONCE):
            probs, some = answer(self.predictor, texts[start : start + _AT_ONCE])
            parts.append(probs)
            unread.append(some)
            self.progress("predict", min(start + _AT_ONCE, len(texts)), len(texts))
        return np.concatenate(parts), np.concatenate(unread)

    def predict_proba(self, texts: list[str]) -> NDArray[np.float32]:
        """Returns `(n, n_classes)` probabilities."""
        return self.read(texts)[0]


# Tokens, padding included, that go through a model at once.
MAX_TOKENS = 16_384


def text_logits(
    module: nn.Module,
    encoded: Encoded,
    *,
    device: torch.device | None = None,
    bfloat16: bool = False,
    max_tokens: int = MAX_TOKENS,
) -> NDArray[np.float32]:
    """Returns the logits (n_texts, C) of all texts."""
    on = torch.device("cpu") if device is None else device
    was_training = module.training
    if was_training:
        module.eval()
    total: NDArray[np.float32] | None = None
    with torch.inference_mode(), torch.autocast(on.type, torch.bfloat16, enabled=bfloat16):
        for batch in batches(encoded, max_tokens=max_tokens):
            logits = module(**batch.inputs(on)).float().cpu().numpy()
            if total is None:
                total = np.zeros((encoded.n_texts, logits.shape[1]), np.float32)
            # A text's windows may share a batch, so they are added one by one.
            np.add.at(total, encoded.text_of_row[batch.index.numpy()], logits)
    if was_training:
        module.train()
    if total is None:
        return np.zeros((0, 0), np.float32)
    n_windows = np.bincount(encoded.text_of_row, minlength=encoded.n_texts)
    return (total / np.maximum(n_windows, 1)[:, None]).astype(np.float32)


# The share left to the model; 0.02 costs a log loss of 0.02 where the memory is right.
MODEL_SHARE = 0.02


class PhraseMemory:
    """The labels of training phrases.

    Off by default and reported apart: on a split by sentence it knows nothing, on the Kaggle test it
    answers one row in six. Phrases are compared without case, spacing and invisible characters. A remembered
    row is the shares of its labels, with a little of the model's answer left so that no probability is 0.
    """

    def __init__(self, table: Table, labels: Labels) -> None:
        """Remembers a table.

        Raises:
            DataError: if it has no labels, or one that the model does not have.
        """
        self.labels = labels
        # By text: rows, and how many of them have each label.
        self._known: dict[str, tuple[int, NDArray[np.int64]]] = {}
        table.labelled()
        truth = labels.classes(table)
        if truth.ndim == 1:
            truth = np.eye(len(labels), dtype=np.int64)[truth]
        for text, row in zip(table.texts, truth, strict=True):
            n, counts = self._known.get(key := fold(text), (0, 0))
            self._known[key] = (n + 1, counts + row)

    def __len__(self) -> int:
        return len(self._known)

    def apply(
        self, texts: list[str], probs: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Returns the probabilities with remembered rows replaced, and which rows those are."""
        mixed = probs.copy()
        known = np.zeros(len(texts), dtype=np.bool_)
        for row, text in enumerate(texts):
            if (found := self._known.get(fold(text))) is None:
                continue
            known[row] = True
            share = (found[1] / found[0]).astype(np.float32)
            mixed[row] = (1 - MODEL_SHARE) * share + MODEL_SHARE * probs[row]
        return mixed, known


class WithMemory:
    """A model whose remembered phrases are answered from memory."""

    def __init__(self, base: Predictor, memory: PhraseMemory) -> None:
        self.base = base
        self.memory = memory

    @property
    def labels(self) -> Labels:
        """The classes."""
        return self.base.labels

    def predict_proba(self, texts: list[str]) -> NDArray[np.float32]:
        """Returns `(n, n_classes)` probabilities."""
        return self.memory.apply(texts, self.base.predict_proba(texts))[0]
