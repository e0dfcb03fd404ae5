"""`Thresholds`: how a run turns probabilities into answers where mistakes have a price.

With one label a text there are two means. A text whose likeliest label is below a confidence gets no answer.
Costs decide between labels: the answer with the least expected cost (Elkan 2001), which may be to abstain
(Chow 1970). The highest macro F1 is reached with costs as well: missing a rare label costs more. So is the
least absolute error of labels in an order: a mistake costs its steps, and the answer is the median. With
several labels a text each label has its own threshold.

Thresholds are chosen on rows that were not trained on (`choose`). Scores on the same rows flatter them, so
`cross_fitted` scores each half of the rows with the thresholds that the other half chose.
"""

import csv
import hashlib
import io
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sentitok.atomic import write as write_atomically
from sentitok.remote import local_path

from ..config import ThresholdRule
from ..data.normalization import text_hashes
from ..data.opening import read_small
from ..data.table import Labels
from ..errors import CheckpointError, DataError
from .answers import answers_of
from .one_label import is_ordinal

__all__ = [
    "FILE",
    "Curve",
    "Thresholds",
    "choose",
    "coverage",
    "cross_answers",
    "cross_fitted",
    "curves",
    "decided",
    "hash_rows",
    "load_thresholds",
    "named",
    "picker",
    "read_costs",
    "scored",
]

FILE = "thresholds.json"
_SCHEMA = "senti.thresholds/1"
# Confidences of the table of coverage.
_CONFIDENCES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
# The weights of labels for macro F1: passes over all labels, and weights of one label tried in a pass.
_PASSES, _TRIED = 8, 256
_TINY = 1e-12
# Of a label that is never answered: no probability reaches it.
_NEVER = 2.0
# Rules whose thresholds follow from rows.
_BY_ROWS = ("macro_f1", "precision", "recall")


@dataclass(frozen=True)
class Thresholds:
    """The thresholds of a run.

    Attributes:
        rule: by which they were chosen, as `precision=0.9`.
        labels: of the run.
        least: the probability that an answer needs, (C,); equal for all labels where a text has one.
        costs: of mistakes. One label a text: `costs[true][answer]`, with a last column for no answer
            if that has a cost. Several: for each label the cost of a wrong answer and of a missed one.
        chosen_on: the rows they were chosen on: `source`, `sha256` of the file, `rows` how many, and
            `texts_sha256` (`hash_rows`); `crossed` is their scores where they were cross-fitted.
    """

    rule: str
    labels: Labels
    least: tuple[float, ...]
    costs: tuple[tuple[float, ...], ...] | None = None
    chosen_on: Mapping[str, Any] | None = None

    def decide(self, probs: NDArray[Any]) -> NDArray[np.int64]:
        """Returns the answers that probabilities give; -1 abstains where a text has one label."""
        if self.labels.several:
            return answers_of(self.labels).decide(probs, np.array(self.least))
        if self.costs is None:
            answers: NDArray[np.int64] = probs.argmax(axis=1)
        else:
            answers = (probs.astype(np.float64) @ np.array(self.costs)).argmin(axis=1)
            answers = np.where(answers == len(self.labels), -1, answers)
        return np.where(probs.max(axis=1, initial=0.0) >= self.least[0], answers, -1)

    @property
    def may_be_unsure(self) -> bool:
        """Whether a text with one label may get no answer."""
        if self.labels.several:
            return False
        costs_nothing = self.costs is not None and len(self.costs[0]) > len(self.labels)
        return self.least[0] > 0 or costs_nothing

    def chose(self, texts: Sequence[str], sha256: str | None) -> bool:
        """Whether these rows chose the thresholds, so that scores on them flatter the run.

        A confidence or costs that the user gave are the same on any rows.

        Args:
            texts: of the rows whose label is known.
            sha256: of their file; files of earlier versions have no hash of the rows.
        """
        rows = self.chosen_on
        if rows is None or self.rule.partition("=")[0] not in _BY_ROWS or rows.get("rows") != len(texts):
            return False
        own = rows.get("texts_sha256")
        return rows.get("sha256") == sha256 if own is None else bool(own == hash_rows(texts))

    def tree(self) -> dict[str, Any]:
        """Returns it as plain values that JSON knows."""
        value: dict[str, Any] = {"schema": _SCHEMA, "rule": self.rule, "labels": list(self.labels.names)}
        value |= {
            "least": list(self.least),
            "costs": None if self.costs is None else [*map(list, self.costs)],
        }
        return value | {"chosen_on": None if self.chosen_on is None else dict(self.chosen_on)}

    @classmethod
    def of_tree(cls, value: Any, labels: Labels) -> "Thresholds":
        """Reads what `tree` returns.

        Raises:
            ValueError, KeyError, TypeError: if it is something else, or of other labels.
        """
        if value["schema"] != _SCHEMA:
            raise ValueError(f"written as {value['schema']}; expected {_SCHEMA}")
        if value["labels"] != list(labels.names):
            raise ValueError(
                f"thresholds of the labels {', '.join(map(str, value['labels']))}, but the run has "
                f"{', '.join(labels.names)}; choose them again with senti thresholds"
            )
        least, costs = tuple(map(float, value["least"])), value["costs"]
        costs = None if costs is None else tuple(tuple(map(float, row)) for row in costs)
        n = len(labels)
        widths = (2,) if labels.several else (n, n + 1)
        numbers = [*least, *(cost for row in costs or () for cost in row)]
        if len(least) != n or not all(map(math.isfinite, numbers)):
            raise ValueError("expected one finite number for each label")
        if costs is not None and (len(costs) != n or {*map(len, costs)} not in [{width} for width in widths]):
            raise ValueError("expected the costs of each label")
        return cls(str(value["rule"]), labels, least, costs, value["chosen_on"])

    def save(self, folder: Path) -> None:
        """Writes the file of a run or ensemble. It is not part of the manifest: weights stay as they are."""
        data = json.dumps(self.tree(), indent=2, ensure_ascii=False) + "\n"
        write_atomically(folder / FILE, data.encode())

    def said(self) -> list[tuple[str, str]]:
        """Returns lines for people: a name, and the requirement of an answer."""
        if self.labels.several:
            return [
                (name, "never answered" if p > 1 else f"from {p:.4f} on")
                for name, p in zip(self.labels.names, self.least, strict=True)
            ]
        if self.rule == "mae":
            return [("answer", "the median: as probable to be too low as too high")]
        sure = self.least[0] > 0 or self.costs is None
        lines = [("confidence", f"from {self.least[0]:.4f} on")] if sure else []
        if self.costs is not None:
            costs = zip(self.labels.names, self.costs, strict=True)
            lines += [(name, f"missing it costs up to {max(row):.4g}") for name, row in costs]
        return lines


def hash_rows(texts: Sequence[str]) -> str:
    """Returns a SHA-256 by which rows are known again, in whatever order and file."""
    return hashlib.sha256(np.sort(text_hashes(texts)).astype("<u8").tobytes()).hexdigest()


def load_thresholds(folder: Path, labels: Labels) -> Thresholds | None:
    """Reads the thresholds of a run or ensemble; `None` if there are none.

    Raises:
        CheckpointError: if the file is damaged, or of other labels.
    """
    path = folder / FILE
    if not path.is_file():
        return None
    try:
        return Thresholds.of_tree(json.loads(read_small(path)), labels)
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise CheckpointError(f"{path}: not the thresholds of this run: {error}") from error


def named(labels: Labels, answers: NDArray[np.int64], unsure: Any = None) -> list[Any]:
    """Returns answers as Python and JSON have them; `unsure` where there is none."""
    return [unsure if one.ndim == 0 and one < 0 else labels.value(one) for one in answers]


def decided(predictor: Any, probs: NDArray[Any]) -> list[Any]:
    """Returns the answers of a predictor by its thresholds, if it has any, as Python and JSON have them."""
    labels, thresholds = predictor.labels, getattr(predictor, "thresholds", None)
    kind = answers_of(labels) if thresholds is None else thresholds
    return named(labels, kind.decide(probs))


def read_costs(path: Path, labels: Labels) -> tuple[tuple[float, ...], ...]:
    """Reads the costs of mistakes, as in `Thresholds.costs`.

    With one label a text, lines are `true,answer,cost`. `*` is every label, a blank answer no answer; a
    wrong answer that no line names costs 1, a right one 0. With several labels, lines are
    `label,wrong,missed`; a label that no line names has the costs 1 and 1.

    Raises:
        DataError: naming the line of an unknown label, or of a cost that is not a number of 0 or more.
        OSError: if it cannot be read.
    """
    header = ["label", "wrong", "missed"] if labels.several else ["true", "answer", "cost"]
    lines = csv.reader(io.StringIO(read_small(path), newline=""), strict=True)
    try:
        rows = [(lines.line_num, row) for row in lines if any(map(str.strip, row))]
    except csv.Error as error:
        raise DataError(f"{path}, line {lines.line_num}: not CSV: {error}") from error
    if not rows or [cell.strip() for cell in rows[0][1]] != header:
        found = ",".join(rows[0][1]) if rows else ""
        raise DataError(f"{path}: begins with {found!r}; expected the header {','.join(header)}")
    n = len(labels)
    costs = np.ones((n, 2)) if labels.several else np.ones((n, n + 1)) - np.eye(n, n + 1)
    if not labels.several:
        costs[:, n] = np.nan
    for line, row in rows[1:]:
        where = f"{path}, line {line}"
        if len(row) != 3:
            raise DataError(f"{where}: {len(row)} cells; expected {','.join(header)}")
        if labels.several:
            costs[_places(row[0], labels, where)] = [_cost(cell, where) for cell in row[1:]]
            continue
        true = _places(row[0], labels, where)
        answer = [n] if not row[1].strip() else _places(row[1], labels, where)
        costs[np.ix_(true, answer)] = _cost(row[2], where)
    if not labels.several:
        unsure = costs[:, n]
        if np.isnan(unsure).all():
            costs = costs[:, :n]
        elif np.isnan(unsure).any():
            name = labels.names[int(np.isnan(unsure).argmax())]
            raise DataError(
                f"{path}: no answer has a cost for some labels, but not for {name!r}; add a line "
                f"{name},,COST, or *,,COST for all labels"
            )
    elif (both := costs.sum(axis=1) == 0).any():
        name = labels.names[int(both.argmax())]
        raise DataError(f"{path}: both costs of {name!r} are 0, so any answer will do; give one of them")
    return tuple(tuple(row) for row in costs.tolist())


def _places(cell: str, labels: Labels, where: str) -> list[int]:
    name = cell if cell in labels.names else cell.strip()
    if name in labels.names:
        return [labels.names.index(name)]
    if name == "*":
        return list(range(len(labels)))
    raise DataError(f"{where}: unknown label {cell!r}; expected one of {', '.join(labels.names)}, or *")


def _cost(cell: str, where: str) -> float:
    try:
        cost = float(cell)
    except ValueError:
        cost = math.nan
    if not 0 <= cost < math.inf:
        raise DataError(f"{where}: cost {cell!r}; expected a number of 0 or more")
    return cost


def choose(
    rule: ThresholdRule, labels: Labels, probs: NDArray[Any], truth: NDArray[np.int64],
    costs: tuple[tuple[float, ...], ...] | None = None,
) -> Thresholds:  # fmt: skip
    """Chooses thresholds on rows that were not trained on.

    Args:
        rule: the rule by which they are chosen.
        labels: of the run.
        probs: calibrated probabilities, `(n, C)`.
        truth: the labels of the rows, all known.
        costs: of the file that the rule names (`read_costs`).

    Raises:
        DataError: if there are no rows, or they do not reach the target, with the best that they reach.
    """
    n = len(labels)
    if rule.name == "confidence":
        return Thresholds(str(rule), labels, (rule.target,) * n)
    if rule.name == "cost":
        assert costs is not None
        least = tuple(wrong / (wrong + missed) for wrong, missed in costs) if labels.several else (0.0,) * n
        return Thresholds(str(rule), labels, least, costs)
    if rule.name == "mae":
        steps = tuple(tuple(float(abs(true - answer)) for answer in range(n)) for true in range(n))
        return Thresholds(str(rule), labels, (0.0,) * n, steps)
    if not len(truth):
        raise DataError(f"threshold {rule}: no labelled row to choose on")
    if labels.several:
        return Thresholds(str(rule), labels, _of_each(rule, labels, probs, truth))
    if rule.name == "macro_f1":
        weights = _weights_for_f1(probs, truth)
        rows = tuple(
            tuple(0.0 if answer == true else weight for answer in range(n))
            for true, weight in enumerate(weights.tolist())
        )
        return Thresholds(str(rule), labels, (0.0,) * n, rows)
    right = probs.argmax(axis=1) == truth
    cuts = _Cuts.of(probs.max(axis=1), right)
    place = cuts.reaching(rule, len(truth))
    if place is None:
        best = cuts.best(rule, len(truth))
        raise DataError(
            f"threshold {rule}: the {len(truth):,} rows do not reach it; the highest {rule.name} is "
            f"{best:.4f}. Ask for less, or train a better model"
        )
    return Thresholds(str(rule), labels, (float(cuts.least[place]),) * n)


Pick = Callable[[NDArray[Any], NDArray[np.int64]], Thresholds]


def picker(rule: ThresholdRule, labels: Labels) -> Pick:
    """Returns a function that chooses thresholds by probabilities and truth; reads the file of costs, if any.

    Raises:
        DataError, OSError: as `read_costs`; also if the rule needs an order, and the labels have none.
    """
    if rule.name == "mae" and (labels.several or not is_ordinal(labels)):
        raise DataError(f"threshold {rule}: the labels are in no order; --task ordinal gives them one")
    costs = read_costs(local_path(rule.file), labels) if rule.name == "cost" else None
    return lambda probs, truth: choose(rule, labels, probs, truth, costs)


@dataclass(frozen=True)
class _Cuts:
    """Scores above each threshold between two probabilities, the highest threshold first."""

    least: NDArray[np.float64]
    n: NDArray[np.int64]
    hits: NDArray[np.int64]

    @classmethod
    def of(cls, p: NDArray[Any], hit: NDArray[Any]) -> "_Cuts":
        """Returns the thresholds of probabilities (n,), and which rows count as hits."""
        order = np.argsort(-p, kind="stable")
        ranked = p[order].astype(np.float64)
        ends = np.flatnonzero(np.append(ranked[:-1] > ranked[1:], True))
        # Between two probabilities, so that rounding moves no row over the threshold; all rows are above 0.
        least = np.append((ranked[ends[:-1]] + ranked[ends[:-1] + 1]) / 2, 0.0)
        return cls(least, ends + 1, hit[order].cumsum()[ends])

    def shares(self, rule: ThresholdRule, total: int) -> NDArray[np.float64]:
        """Returns precision or recall above each threshold; `total` is the denominator of recall."""
        of = self.n if rule.name == "precision" else total
        shares: NDArray[np.float64] = self.hits / of
        return shares

    def reaching(self, rule: ThresholdRule, total: int) -> int | None:
        """Returns the threshold with the most answers at this precision, or the fewest at this recall."""
        places = np.flatnonzero(self.shares(rule, total) >= rule.target - _TINY)
        if not len(places):
            return None
        return int(places[-1] if rule.name == "precision" else places[0])

    def best(self, rule: ThresholdRule, total: int) -> float:
        """Returns the highest precision or recall."""
        return float(self.shares(rule, total).max())

    def best_f1(self, total: int, usual: float) -> float:
        """Returns the threshold with the highest F1; of equals that nearest to the usual one."""
        f1 = 2 * self.hits / (self.n + total)
        best = np.flatnonzero(f1 >= f1.max() - _TINY)
        return float(self.least[best[np.abs(self.least[best] - usual).argmin()]])


def _of_each(
    rule: ThresholdRule, labels: Labels, probs: NDArray[Any], truth: NDArray[np.int64]
) -> tuple[float, ...]:
    """Returns a threshold for each label of several; the usual one where no row has the label."""
    least, reached, usual = [], False, answers_of(labels).least
    highest = 0.0
    for p, there in zip(probs.T, truth.T, strict=True):
        total = int(there.sum())
        if not total:
            least.append(usual)
            continue
        cuts = _Cuts.of(p, there)
        if rule.name == "macro_f1":
            least.append(cuts.best_f1(total, usual))
            reached = True
            continue
        place = cuts.reaching(rule, total)
        highest = max(highest, cuts.best(rule, total))
        reached |= place is not None
        least.append(_NEVER if place is None else float(cuts.least[place]))
    if not reached:
        raise DataError(
            f"threshold {rule}: no label reaches it on the {len(truth):,} rows; the highest {rule.name} is "
            f"{highest:.4f}. Ask for less, or train a better model"
        )
    return tuple(least)


def _weights_for_f1(probs: NDArray[Any], truth: NDArray[np.int64]) -> NDArray[np.float64]:
    """Returns the cost of missing each label, (C,), so that macro F1 is highest: label after label."""
    n, n_labels = probs.shape
    log_p = np.log(np.maximum(probs.astype(np.float64), _TINY))
    weights, total = np.zeros(n_labels), np.bincount(truth, minlength=n_labels)
    best = -1.0
    for _ in range(_PASSES):
        before = best
        for label in range(n_labels):
            if not total[label]:
                continue
            others = log_p + weights
            others[:, label] = -np.inf
            rival = others.argmax(axis=1)
            # The label is the answer where its weight is above the margin.
            margin = others[np.arange(n), rival] - log_p[:, label]
            tried = _tried(margin, weights[label])
            first = np.searchsorted(tried, margin, side="right")
            shape = (len(tried) + 1, n_labels)
            moved = np.zeros(shape, np.int64)
            np.add.at(moved, (first, rival), 1)
            lost = np.zeros(shape, np.int64)
            np.add.at(lost, (first, rival), rival == truth)
            won = np.bincount(first, truth == label, minlength=shape[0]).cumsum()[:-1]
            moved, lost = moved.cumsum(axis=0), lost.cumsum(axis=0)
            answered, hits = moved[-1] - moved[:-1], (lost[-1] - lost[:-1]).astype(np.float64)
            answered[:, label], hits[:, label] = moved[:-1].sum(axis=1), won
            either = answered + total
            f1 = np.divide(2 * hits, either, where=either > 0, out=np.zeros(either.shape)).sum(axis=1)
            f1 /= (either > 0).sum(axis=1)
            if f1.max() > best + _TINY:
                best = float(f1.max())
                places = np.flatnonzero(f1 >= best - _TINY)
                weights[label] = tried[places[np.abs(tried[places] - weights[label]).argmin()]]
        if best <= before:
            break
    factors: NDArray[np.float64] = np.exp(weights - weights.max())
    return factors


def _tried(margin: NDArray[np.float64], now: float) -> NDArray[np.float64]:
    """Returns the weights that are tried for a label: between the margins of rows, and the present one."""
    ranked = np.unique(margin)
    between = (ranked[:-1] + ranked[1:]) / 2
    if len(between) > _TRIED:
        between = between[np.linspace(0, len(between) - 1, _TRIED).astype(np.int64)]
    return np.unique(np.append(between, now))


def scored(thresholds: Thresholds, answers: NDArray[np.int64], truth: NDArray[np.int64]) -> dict[str, float]:
    """Returns the scores of answers: `answered`, `precision`, `recall`, `macro_f1`, and `cost` of a text.

    With one label a text, precision is the share of the answers that are right, recall the share of the texts
    that have a right one. With several labels both count labels, as micro F1 does.
    """
    labels = thresholds.labels
    if labels.several:
        hits, given = int((truth * answers).sum()), int(answers.sum())
        few = answers_of(labels).few_scores(truth, answers)
        found = {
            "answered": float(answers.any(axis=1).mean()),
            "precision": hits / given if given else 1.0,
            "recall": hits / max(1, int(truth.sum())),
            "macro_f1": few["macro_f1"],
        }
        if thresholds.costs is not None:
            wrong, missed = np.array(thresholds.costs).T
            costs = (answers * (1 - truth)) @ wrong + ((1 - answers) * truth) @ missed
            found["cost"] = float(costs.mean())
        return found
    from sklearn.metrics import f1_score

    answering, right = answers >= 0, answers == truth
    occurring = np.union1d(truth, answers[answering])
    found = {
        "answered": float(answering.mean()),
        "precision": float(right[answering].mean()) if answering.any() else 1.0,
        "recall": float(right.mean()),
        "macro_f1": float(f1_score(truth, answers, labels=occurring, average="macro", zero_division=0.0)),
    }
    if thresholds.costs is not None and thresholds.rule.partition("=")[0] in ("cost", "mae"):
        found["cost"] = float(np.array(thresholds.costs)[truth, answers].mean())
    return found


def cross_fitted(
    pick: Pick,
    probs: Sequence[NDArray[Any]],
    truth: NDArray[np.int64],
    half: NDArray[np.bool_],
) -> dict[str, float] | None:
    """Returns the scores of `cross_answers`; `None` if a half has no rows or does not reach the target."""
    found = cross_answers(pick, probs, truth, half)
    return None if found is None else scored(found[0], found[1], truth)


def cross_answers(
    pick: Pick,
    probs: Sequence[NDArray[Any]],
    truth: NDArray[np.int64],
    half: NDArray[np.bool_],
) -> tuple[Thresholds, NDArray[np.int64]] | None:
    """Answers rows, each half with the thresholds that the other half chose.

    Args:
        pick: chooses thresholds by probabilities and truth.
        probs: probabilities `(n, C)` of all rows, as each of the two halves would have the model answer.
        truth: the labels of the rows, all known.
        half: which rows are in the first half.

    Returns:
        The thresholds of one half, and the answers to all rows; `None` if a half has no rows or does not
        reach the target.
    """
    if half.all() or not half.any():
        return None
    answers = np.zeros(truth.shape, np.int64)
    try:
        for rows, own in zip((half, ~half), probs, strict=True):
            thresholds = pick(own[rows], truth[rows])
            answers[~rows] = thresholds.decide(own[~rows])
    except DataError:
        return None
    return thresholds, answers


def coverage(labels: Labels, probs: NDArray[Any], truth: NDArray[np.int64]) -> list[dict[str, float]]:
    """Returns the scores at several thresholds, equal for all labels, to choose one by."""
    rows = []
    for confidence in _CONFIDENCES:
        if labels.several and not confidence:
            continue
        at = Thresholds("", labels, (confidence,) * len(labels))
        found = scored(at, at.decide(probs), truth)
        rows.append(
            {"threshold": confidence, **{key: found[key] for key in ("answered", "precision", "recall")}}
        )
    return rows


@dataclass(frozen=True)
class Curve:
    """Scores of each threshold on some rows, the lowest threshold first.

    Attributes:
        least: thresholds, (K,): the probability that an answer needs.
        answered: the share of the texts that get this answer, (K,).
        precision: the share of the answers that are right, (K,).
        recall: with one label a text the share of the texts that have a right answer; of a label of
            several the share of its rows that get it, (K,).
        chosen: threshold, answered, precision and recall of the thresholds that were chosen, if any were.
    """

    least: NDArray[np.float64]
    answered: NDArray[np.float64]
    precision: NDArray[np.float64]
    recall: NDArray[np.float64]
    chosen: tuple[float, float, float, float] | None = None


def curves(
    labels: Labels, probs: NDArray[Any], truth: NDArray[np.int64], chosen: Thresholds | None = None
) -> dict[str, Curve]:
    """Returns the scores of each threshold: for each label of several, else for all texts as "".

    Labels that no row has are left out.
    """
    if not len(truth):
        return {}
    if not labels.several:
        point = None
        if chosen is not None:
            found = scored(chosen, chosen.decide(probs), truth)
            point = (chosen.least[0], found["answered"], found["precision"], found["recall"])
        return {"": _curve(probs.max(axis=1), probs.argmax(axis=1) == truth, len(truth), point)}
    found_of = {}
    for place, name in enumerate(labels.names):
        p, there = probs[:, place], truth[:, place]
        if not there.any():
            continue
        point = None
        if chosen is not None:
            given = p >= chosen.least[place]
            hits = int((given & (there == 1)).sum())
            precision = hits / given.sum() if given.any() else 1.0
            point = (chosen.least[place], float(given.mean()), float(precision), hits / int(there.sum()))
        found_of[name] = _curve(p, there, int(there.sum()), point)
    return found_of


def _curve(
    p: NDArray[Any], hit: NDArray[Any], total: int, chosen: tuple[float, float, float, float] | None
) -> Curve:
    cuts = _Cuts.of(p, hit)
    up = slice(None, None, -1)
    return Curve(
        cuts.least[up], (cuts.n / len(p))[up], (cuts.hits / cuts.n)[up], (cuts.hits / total)[up], chosen
    )
