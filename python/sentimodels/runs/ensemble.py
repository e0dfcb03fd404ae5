"""`Ensemble`: a weighted mean of several models' probabilities, weights fitted on dev.

The weights are those of a mixture, fitted by expectation maximisation on the log loss of dev, which is convex
in them; then one temperature. Or members are chosen as well, by greedy forward selection (`select`). On disk
it is one JSON file that names its members, with the hash of each one's manifest; nothing is copied.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sentitok.atomic import write as write_atomically
from sentitok.messages import with_names
from sentitok.remote import is_url, local_path

from ..data.label_sets import labels_saved
from ..data.opening import read_small
from ..data.table import Labels
from ..errors import CheckpointError, ConfigError, DataError
from ..evaluation.answers import Answers, Temperature, answers_of, read_temperature
from ..evaluation.one_label import ONE_LABEL
from ..evaluation.predictions import Predictor, answer
from ..evaluation.thresholds import Thresholds
from .directory import manifest_hash
from .verify import verify

FILE = "ensemble.json"
SCHEMA = "senti.ensemble/1"
_MAX_STEPS = 2000
_TOLERANCE = 1e-9
# Rows, shared equally by the models, that join those the weights are fitted on: few rows would give one
# model all the weight. Worth 0.04 nats on 4 to 20 rows (docs/lab/calibration.md).
_SHARED_ROWS = 10.0


def fit_weights(
    probs: Sequence[NDArray[Any]], truth: NDArray[np.int64], answers: Answers = ONE_LABEL
) -> NDArray[np.float64]:
    """Returns the mixture weights with the least log loss on dev, drawn to equal weights where rows are few.

    Args:
        probs: each model's `(n, n_classes)` probabilities of the same rows.
        truth: the labels of the rows.
        answers: how they are decided.

    Raises:
        ConfigError: if there is no model or no row.
    """
    if not probs or len(truth) == 0:
        raise ConfigError("an ensemble needs models and rows with labels")
    # (n_models, n): the probability of the truth by each model.
    given = np.stack([answers.likelihoods(one, truth) for one in probs])
    weights = np.full(len(probs), 1 / len(probs))
    for _ in range(_MAX_STEPS):
        mixed = weights @ given
        better = weights * (given / mixed).sum(axis=1) + _SHARED_ROWS / len(probs)
        better /= better.sum()
        done = np.abs(better - weights).max() < _TOLERANCE
        weights = better
        if done:
            break
    return weights


def _check_shares(weights: Sequence[float]) -> None:
    """Refuses weights that are not numbers of 0 or more with a sum of 1.

    Raises:
        ConfigError: if they are not.
    """
    if any(not weight >= 0 for weight in weights) or not abs(sum(weights) - 1) <= 1e-6:
        raise ConfigError(f"weights {', '.join(map(str, weights))}: expected shares that add up to 1")


@dataclass(frozen=True)
class Ensemble:
    """Several models as one.

    Attributes:
        members: the models.
        weights: of each, adding up to 1.
        temperature: applied to the mean.
        thresholds: how probabilities become answers; those of the members are not used.
    """

    members: tuple[Predictor, ...]
    weights: tuple[float, ...]
    temperature: Temperature = 1.0
    thresholds: Thresholds | None = None

    def __post_init__(self) -> None:
        if not self.members or len(self.members) != len(self.weights):
            raise ConfigError(f"{len(self.members)} members, but {len(self.weights)} weights")
        _check_shares(self.weights)
        for member in self.members[1:]:
            if member.labels != self.members[0].labels:
                raise ConfigError(
                    f"labels differ: {', '.join(self.members[0].labels)} and {', '.join(member.labels)}"
                )

    @property
    def labels(self) -> Labels:
        """The classes."""
        return self.members[0].labels

    @property
    def max_tokens(self) -> int | None:
        """Tokens of a text that each member reads at least; `None` if all read whole texts."""
        limits = [getattr(member, "max_tokens", None) for member in self.members]
        return min((limit for limit in limits if limit is not None), default=None)

    def read(self, texts: list[str]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Returns the probabilities, and the share of each text (n,) that some member did not read."""
        answers = [answer(member, texts) for member in self.members]
        unread = np.maximum.reduce([unread for _, unread in answers])
        return self.mix([probs for probs, _ in answers]), unread

    def predict_proba(self, texts: list[str]) -> NDArray[np.float32]:
        """Returns `(n, n_classes)` probabilities."""
        return self.mix([member.predict_proba(texts) for member in self.members])

    def mix(self, probs: Sequence[NDArray[Any]]) -> NDArray[np.float32]:
        """Returns the mean of the members' probabilities, with the temperature."""
        mean = sum(weight * one.astype(np.float64) for weight, one in zip(self.weights, probs, strict=True))
        return answers_of(self.labels).with_temperature(np.asarray(mean), self.temperature).astype(np.float32)

    @classmethod
    def fit(
        cls, members: Sequence[Predictor], probs: Sequence[NDArray[Any]], truth: NDArray[np.int64]
    ) -> "Ensemble":
        """Fits weights and temperature to the members' probabilities of dev."""
        kind = answers_of(members[0].labels)
        plain = cls(tuple(members), tuple(fit_weights(probs, truth, kind).tolist()))
        temperature = kind.fit_temperature(kind.log_odds(plain.mix(probs)), truth)
        return cls(plain.members, plain.weights, temperature)

    @classmethod
    def select(
        cls, members: Sequence[Predictor], probs: Sequence[NDArray[Any]], truth: NDArray[np.int64]
    ) -> tuple["Ensemble", list[int]]:
        """Chooses members, weights and temperature on dev, by greedy forward selection.

        Returns:
            The ensemble of the chosen models, and their places among those given.
        """
        chosen = select(probs, truth, answers_of(members[0].labels))
        made = cls(
            tuple(members[place] for place in chosen.members),
            tuple(chosen.weights[place] for place in chosen.members),
            chosen.temperature,
        )
        return made, chosen.members

    def save(self, folder: Path, runs: Sequence[Path], dev: str) -> Path:
        """Writes the file; members are named relative to the folder."""
        value = {
            "schema": SCHEMA,
            "members": [
                {"run": _name_of(run, folder), "weight": weight, "manifest_sha256": manifest_hash(run)}
                for run, weight in zip(runs, self.weights, strict=True)
            ],
            "temperature": self.temperature,
            **labels_saved(self.labels),
            "dev_sha256": dev,
        }
        target = folder / FILE
        write_atomically(target, (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode())
        return target


def members_of(folder: Path) -> list[Path] | None:
    """Returns the runs of an ensemble's folder; `None` if it is not an ensemble.

    Raises:
        CheckpointError: if its file is damaged.
    """
    if not (folder / FILE).is_file():
        return None
    return [_member(folder, about) for about in read_ensemble(folder)["members"]]


def _name_of(run: Path, folder: Path) -> str:
    """Returns how a folder's file names a run: from the folder, unless one of them is in a store."""
    name = with_names(str(run))
    if name != str(run):
        return name
    return os.path.relpath(run, folder) if with_names(str(folder)) == str(folder) else str(run.absolute())


def _member(folder: Path, about: Mapping[str, Any]) -> Path:
    """Returns the run that a folder's file names; of one in a store a local copy."""
    return local_path(about["run"]) if is_url(about["run"]) else folder / about["run"]


def first_member(folder: Path) -> Path:
    """Returns the first run of an ensemble; a folder that is not an ensemble itself."""
    members = members_of(folder)
    return members[0] if members else folder


def predictor_hash(folder: Path) -> str | None:
    """Returns the hash of a run; of an ensemble that of the file that names its runs and their hashes."""
    if (folder / FILE).is_file():
        return hashlib.sha256((folder / FILE).read_bytes()).hexdigest()
    return manifest_hash(folder)


def verify_ensemble(folder: Path) -> list[str]:
    """Compares an ensemble's runs with what they were, and each with its own manifest.

    Returns:
        The faults, one sentence each; none if all is as written.

    Raises:
        CheckpointError: if its file is damaged, or a member is not a run directory.
    """
    wrong = []
    for about in read_ensemble(folder)["members"]:
        member = _member(folder, about)
        if manifest_hash(member) != about["manifest_sha256"]:
            wrong.append(f"{about['run']}: not the run the ensemble was made of")
        wrong += [f"{about['run']}/{line}" for line in verify(member)]
    return wrong


def read_ensemble(folder: Path) -> dict[str, Any]:
    """Reads the file of an ensemble's folder.

    Raises:
        CheckpointError: if it is damaged.
    """
    try:
        value: dict[str, Any] = json.loads(read_small(folder / FILE))
        if value["schema"] != SCHEMA:
            raise CheckpointError(f"{folder / FILE}: written as {value['schema']}; expected {SCHEMA}")
        for member in value["members"]:
            float(member["weight"]), str(member["run"]), member["manifest_sha256"]
        if weights := [float(member["weight"]) for member in value["members"]]:
            _check_shares(weights)
        temperature, n_labels = read_temperature(value["temperature"]), len(value["labels"])
        if not isinstance(temperature, float) and len(temperature) != n_labels:
            raise ValueError(f"{len(temperature)} temperatures for {n_labels} labels")
    except CheckpointError:
        raise
    except (OSError, RecursionError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(
            f"{folder / FILE}: not an ensemble ({error}); combine the runs again: senti ensemble"
        ) from error
    return value


# A mixture of so many parts is fine enough, whatever the number of models.
_ADDED_AT_MOST = 50
# In nats; below it a gain is rounding.
_LEAST_GAIN = 1e-7


@dataclass(frozen=True)
class Selection:
    """Chosen models.

    Attributes:
        weights: share of each model, in the order given; most are 0.
        temperature: of the mixture, fitted on the same rows.
        answers: how they are decided.
    """

    weights: tuple[float, ...]
    temperature: Temperature
    answers: Answers = ONE_LABEL

    @property
    def members(self) -> list[int]:
        """Places of the models with a weight."""
        return [place for place, weight in enumerate(self.weights) if weight]

    def mix(self, probs: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
        """Returns the mixture's `(n, n_classes)` probabilities; `probs` are those of all models."""
        chosen = [(self.weights[place], probs[place].astype(np.float64)) for place in self.members]
        mean = np.sum([weight * one for weight, one in chosen], axis=0)
        return self.answers.with_temperature(mean, self.temperature).astype(np.float32)


def select(
    probs: Sequence[NDArray[np.float32]], truth: NDArray[np.int64], answers: Answers = ONE_LABEL
) -> Selection:
    """Chooses models, weights and temperature on rows of dev.

    Args:
        probs: each model's `(n, n_classes)` probabilities of the same rows.
        truth: the labels of the rows.
        answers: how they are decided.

    Raises:
        DataError: if there is no model or no row.
    """
    if not probs or not len(truth):
        raise DataError("a mixture is chosen among models, on rows with labels")
    # The probability of the truth by each model; equal models are distinguished by their places, the first
    # counts.
    given = np.stack([answers.likelihoods(one, truth) for one in probs])
    total, counts, best = np.zeros(given.shape[1]), np.zeros(len(probs)), np.inf
    for added in range(1, _ADDED_AT_MOST + 1):
        losses = -np.log((total + given) / added).mean(axis=1)
        place = int(losses.argmin())
        if losses[place] > best - _LEAST_GAIN:
            break
        best = float(losses[place])
        total += given[place]
        counts[place] += 1
    weights = tuple((counts / counts.sum()).tolist())
    mixed = answers.log_odds(Selection(weights, 1.0, answers).mix(probs))
    return Selection(weights, answers.fit_temperature(mixed, truth), answers)


def crossed(
    probs: Sequence[NDArray[np.float32]],
    truth: NDArray[np.int64],
    first: NDArray[np.bool_],
    answers: Answers = ONE_LABEL,
) -> NDArray[np.float32]:
    """Returns probabilities of each half of dev from a mixture whose members the other half chose.

    Args:
        probs: as `select` takes them.
        truth: the labels of the rows.
        first: which rows are in the first half, as `Units.halves` says.
        answers: how they are decided.
    """
    out = np.empty_like(probs[0])
    for half in (first, ~first):
        chosen = select([one[~half] for one in probs], truth[~half], answers)
        out[half] = chosen.mix([one[half] for one in probs])
    return out
