"""How a classifier is judged: on dev by halves (`CrossFit`), against baselines (`baselines`), by parts.

A baseline is the most frequent class, or TF-IDF trained on the same rows. The gain over it is in accuracy on
the rows that judge: the test texts or, without labelled ones, the validation texts, each half answered by
the choices of the other half. Next to it is half its 95 % interval: of the rows' differences, those of one
group taken together, since the phrases of a sentence are not independent (the sandwich variance, Liang and
Zeger 1986).
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from sentitok.atomic import write as write_atomically

from ..config import DEFAULT_TASK, RunConfig, ThresholdRule
from ..data.split import Units, count_of
from ..data.table import Table
from ..errors import CheckpointError
from ..evaluation.answers import Answers, Temperature, answers_of, cooled
from ..evaluation.metrics import differences, intervals, majority, per_class, replicates, scores
from ..evaluation.one_label import ONE_LABEL
from ..evaluation.predictions import Predictions, of_logits, text_logits
from ..evaluation.thresholds import (
    Pick,
    Thresholds,
    cross_answers,
    cross_fitted,
    hash_rows,
    picker,
    scored,
)
from ..models import Fits, build
from ..tasks.classification import MONITOR, LabelTask
from ..text.encoder import encoder_for
from ..training.history import write_record
from ..training.state import STATE, load_state
from .directory import CROSSFIT
from .families import resolve
from .tables import EncodedTables, Tables

__all__ = [
    "CrossFit",
    "bag_logits",
    "baselines",
    "better_rule",
    "choose_thresholds",
    "gain",
    "in_windows",
    "judged",
    "record_fit",
    "with_baseline",
]

# Replicates of the bootstrap intervals of a run's scores, enough for two digits of their ends.
_REPLICATES = 400
# The scores whose intervals `run.json` has.
_WITH_INTERVALS = ("accuracy", "macro_f1", "micro_f1", "mae", "quadratic_kappa")

# With fewer validation texts that are cut, windows change too little to try them.
_MANY_CUT = 0.01

# The share of a normal distribution within so many deviations is 95 %.
_DEVIATIONS = 1.96


def judged(
    module: nn.Module,
    texts: EncodedTables,
    logits: NDArray[np.float32] | None,
    crossed: "CrossFit | None",
    *,
    temperature: Temperature,
    tfidf: bool,
    device: torch.device | None = None,
    on_test: Callable[[NDArray[np.float32]], None] | None = None,
) -> dict[str, Any]:
    """Fits the temperature, scores validation and test rows, and compares with baselines.

    Args:
        module: the trained model.
        texts: of the run.
        logits: its answers to the validation texts; `None` without them.
        crossed: the choices of the halves of dev.
        temperature: where no validation labels fit one.
        tfidf: whether to train TF-IDF as a baseline.
        device: where it answers the test texts.
        on_test: called with the probabilities of the test texts.

    Returns:
        What `run.json` says of it: temperature, scores of each part, baselines.
    """
    tables, about, answered = texts.tables, dict[str, Any](), None
    if logits is not None and tables.valid is not None:
        if texts.valid_labels is not None:
            temperature = about["temperature"] = answers_of(tables.labels).fit_temperature(
                logits, texts.valid_labels
            )
        about |= _part_scores("valid", tables, tables.valid, logits, temperature)
    if tables.test is not None and tables.judged_on_test:
        judging = texts.test()
        about["cut"] = {**texts.n_cut(), "test": int(judging.cut.sum())}
        of_test = text_logits(module, judging, device=device)
        about |= _part_scores("test", tables, tables.test, of_test, temperature)
        about["judged"], answered = "test", of_logits(tables.labels, of_test, tables.test)
        if on_test is not None:
            on_test(of_logits(tables.labels, of_test, tables.test, temperature).probs)
    elif crossed is not None and crossed.possible and crossed.chosen is not None:
        assert tables.valid is not None
        answered = of_logits(tables.labels, crossed.logits(), tables.valid)
        about["judged"], about["crossed"] = "crossed", scores(answered)
    if answered is not None:
        about["baselines"] = baselines(tables, answered, tfidf=tfidf and bool((texts.labels >= 0).all()))
    return about


def choose_thresholds(
    pick: Pick,
    module: nn.Module,
    texts: EncodedTables,
    logits: NDArray[np.float32],
    crossed: "CrossFit | None",
    *,
    temperature: Temperature,
    device: torch.device | None = None,
) -> tuple[Thresholds, dict[str, Any]]:
    """Chooses thresholds on the validation rows; scores them on the rows that judge.

    Args:
        pick: chooses them by probabilities and truth.
        module: the trained model.
        texts: of the run.
        logits: its answers to the validation texts.
        crossed: the choices of the halves of dev.
        temperature: of the run.
        device: where it answers the test texts.

    Returns:
        The thresholds, and what `run.json` says of them.

    Raises:
        DataError: if the rows do not reach the target.
    """
    tables, truth = texts.tables, texts.valid_labels
    assert tables.valid is not None
    assert truth is not None
    kind = answers_of(tables.labels)
    probs = kind.probabilities(logits, temperature)
    thresholds = pick(probs, truth)
    rows = {"source": str(tables.valid.source), "sha256": tables.valid.sha256, "rows": len(truth)}
    thresholds = replace(thresholds, chosen_on={**rows, "texts_sha256": hash_rows(tables.valid.texts)})
    about: dict[str, Any] = {
        **thresholds.tree(),
        "valid": scored(thresholds, thresholds.decide(probs), truth),
    }
    if tables.test is not None and tables.judged_on_test:
        judging = kind.probabilities(text_logits(module, texts.test(), device=device), temperature)
        about["test"] = scored(thresholds, thresholds.decide(judging), tables.labels.classes(tables.test))
    elif crossed is not None and crossed.possible and crossed.chosen is not None:
        about["crossed"] = cross_fitted(pick, crossed.probs_of_sides(), truth, crossed.half)
    return thresholds, about


def in_windows(
    module: nn.Module, texts: EncodedTables, logits: NDArray[np.float32], device: torch.device | None = None
) -> dict[str, Any] | None:
    """Compares a run that cuts texts with itself reading them in windows, on the validation rows.

    Nothing else is chosen by windows, so the rows are as good a judge of them as of the run.

    Args:
        module: the trained model.
        texts: of the run.
        logits: its answers to the validation texts.
        device: where it answers.

    Returns:
        `rows`, validation rows; `n_cut`, how many are cut; how right the run is with texts cut (`cut`) and
        in windows (`windows`), and `gain` and `interval` of the difference. `None` if too few are cut.
    """
    valid, table, truth = texts.valid, texts.tables.valid, texts.valid_labels
    if valid is None or table is None or truth is None or valid.cut.mean() < _MANY_CUT:
        return None
    places = np.flatnonzero(valid.cut)
    encoded = texts.encoder.in_windows().encode([table.texts[place] for place in places.tolist()])
    whole = logits.copy()
    whole[places] = text_logits(module, encoded, device=device)
    kind = answers_of(texts.tables.labels)
    cut, windows = (kind.credit(truth, kind.decide(kind.probabilities(one))) for one in (logits, whole))
    return {
        "rows": len(truth), "n_cut": len(places), "cut": float(cut.mean()), "windows": float(windows.mean()),
        **gain(windows, cut, table.groups),
    }  # fmt: skip


def better_rule(
    texts: EncodedTables, logits: NDArray[np.float32], temperature: Temperature
) -> dict[str, Any] | None:
    """Compares the usual answers with those by thresholds that often suit better, on the validation rows.

    Several labels a text: a threshold for each label instead of 0.5, by macro F1; each half of the rows is
    answered with the thresholds that the other half chose. Labels in an order: the median instead of the
    likeliest label, by the mean absolute error.

    Args:
        texts: of a run.
        logits: its answers to the validation texts.
        temperature: of the run.

    Returns:
        `rule`, that of the thresholds; `score`, the name of the score that is compared; its value for the
        usual answers (`usual`) and by the rule (`by_rule`); the 95 % `interval` of the difference, and
        whether it is `better`. `None` for other labels, or too few rows.
    """
    labels, table, truth = texts.tables.labels, texts.tables.valid, texts.valid_labels
    if table is None or truth is None or not (labels.several or labels.ordered):
        return None
    rule = "macro_f1" if labels.several else "mae"
    pick, usual = picker(ThresholdRule.of(rule), labels), of_logits(labels, logits, table, temperature)
    if labels.several:
        half = Units.of(table, 0.5, 2).halves(truth)
        found = cross_answers(pick, (usual.probs, usual.probs), truth, half)
        if found is None:
            return None
        answers = found[1].astype(np.float32)
    else:
        answers = np.eye(len(labels), dtype=np.float32)[pick(usual.probs, truth).decide(usual.probs)]
    by_rule = replace(usual, probs=answers)
    drawn = [replicates(one, n_replicates=_REPLICATES) for one in (usual, by_rule)]
    low, high = differences(usual, by_rule, *drawn)[rule]["interval"]
    return {
        "rule": rule, "score": usual.answers.score_names[rule], "usual": drawn[0].points[rule],
        "by_rule": drawn[1].points[rule], "interval": [low, high],
        "better": low > 0 if labels.several else high < 0,
    }  # fmt: skip


def record_fit(
    folder: Path, task: LabelTask, logits: NDArray[np.float32], crossed: "CrossFit | None", seconds: float
) -> dict[str, Any]:
    """Records the scores of a module that no step has evaluated; returns the record for a callback.

    Args:
        folder: the run directory.
        task: of the run.
        logits: answers to the validation texts.
        crossed: the halves of dev.
        seconds: that the fit took.
    """
    if crossed is not None:
        crossed.update(logits)
    scored = task.evaluation(logits)
    record = {"step": 0, "epoch": 0.0, **scored.scores, "monitor": scored.monitor}
    record |= {"seconds": round(seconds, 3), "tokens": 0}
    write_record(folder, record)
    return record | {"total_steps": 0, "padding": 0.0}


def _part_scores(
    part: str, tables: Tables, table: Table, logits: NDArray[np.float32], temperature: Temperature
) -> dict[str, Any]:
    """Returns the scores of a part, where it has labels, and how far a student is from its teacher there."""
    found: dict[str, Any] = {}
    if table.labels is not None:
        before = scores(of_logits(tables.labels, logits, table))
        answered = of_logits(tables.labels, logits, table, temperature)
        ends = intervals(answered, n_replicates=_REPLICATES)
        kept = {name: list(ends[name]) for name in _WITH_INTERVALS if name in ends}
        found[part] = {
            **scores(answered), "ece_before": before["ece"], "intervals": kept,
            "per_class": per_class(answered),
        }  # fmt: skip
    answers: NDArray[np.float32] | None = getattr(tables.soft_labels, part, None)
    if answers is not None:
        found["distilled"] = _beside_teacher(tables, part, table, cooled(logits, temperature), answers)
    return found


def _beside_teacher(
    tables: Tables, part: str, table: Table, logits: NDArray[np.float32], answers: NDArray[np.float32]
) -> dict[str, Any]:
    """Returns how far a student is from its teacher on a part, and the teacher's scores there.

    Args:
        tables: the rows.
        part: the name of the part in `run.json`.
        table: its rows, all with a label or none.
        logits: the student's, its temperature in them, `(n, n_classes)`.
        answers: the teacher's probabilities, `(n, n_classes)`.
    """
    from ..tasks.distillation import apart

    about: dict[str, Any] = {
        "part": part,
        "rows": len(table),
        **apart(logits, answers, answers_of(tables.labels)),
    }
    if table.labels is not None:
        truth = tables.labels.classes(table)
        known = scores(Predictions(tables.labels, answers, truth, table.texts, groups=table.groups))
        about["teacher"] = {key: known[key] for key in ("accuracy", "macro_f1", "log_loss", "ece")}
    return about


def with_baseline(config: RunConfig, baseline: bool | None) -> RunConfig:
    """Returns the configuration with another wish for the TF-IDF baseline, if there is one."""
    if baseline is None:
        return config
    return config.model_copy(update={"train": config.train.model_copy(update={"baseline": baseline})})


def gain(right: NDArray[Any], other: NDArray[Any], groups: Sequence[str] | None = None) -> dict[str, float]:
    """Returns by how much more rows are right than another's, and half the 95 % interval of it.

    A row may also be right in part, as `Answers.credit` says.
    """
    difference = right.astype(np.float64) - other
    mean = float(difference.mean())
    if groups is None:
        sums = difference - mean
    else:
        order = {group: place for place, group in enumerate(dict.fromkeys(groups))}
        sums = np.zeros(len(order))
        np.add.at(sums, [order[group] for group in groups], difference - mean)
    few = len(sums) / max(1, len(sums) - 1)  # as the variance of a sample
    half = _DEVIATIONS * float((few * (sums**2).sum()) ** 0.5) / len(difference)
    return {"gain": mean, "interval": half}


def baselines(tables: Tables, predictions: Predictions, *, tfidf: bool) -> dict[str, Any]:
    """Returns the scores of the baselines on the rows that judge, and the model's gain over them.

    Args:
        tables: the rows.
        predictions: the model's answers to the test texts or, without labelled ones, to the validation texts.
        tfidf: whether to train TF-IDF and logistic regression too.
    """
    truth, kind = predictions.truth, predictions.answers
    answers = {"majority": kind.constant(truth, len(predictions.labels))}
    about: dict[str, Any] = {"majority": majority(predictions)}
    if tfidf:
        began = time.perf_counter()
        table, logits = _tfidf(tables)
        answers["tfidf"] = of_logits(predictions.labels, logits, table).predicted
        about["tfidf"] = {
            **kind.few_scores(truth, answers["tfidf"]), "seconds": time.perf_counter() - began
        }  # fmt: skip
    own = kind.credit(truth, predictions.predicted)
    for name, given in answers.items():
        about[name] |= gain(own, kind.credit(truth, given), predictions.groups)
    return about


def _tfidf(tables: Tables) -> tuple[Table, NDArray[np.float32]]:
    """Returns the texts that judge, and the logits of TF-IDF with logistic regression."""
    judging = tables.test if tables.judged_on_test else tables.valid
    assert judging is not None
    kind = "multilabel" if tables.labels.several else DEFAULT_TASK
    config = resolve({"arch": "tfidf", "task": {"kind": kind}})
    return judging, bag_logits(config, tables, judging.texts)


def bag_logits(config: RunConfig, tables: Tables, texts: list[str]) -> NDArray[np.float32]:
    """Returns the logits of texts by a bag that is fitted on the training rows, with seed 0.

    Args:
        config: of an architecture that is not trained by steps.
        tables: the training rows and their labels.
        texts: to be answered.
    """
    encoder = encoder_for(config, tables.train.texts)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        module: nn.Module = build(config.arch, config.model, encoder.inputs(len(tables.labels)))
        assert isinstance(module, Fits)
        module.fit(encoder.encode(tables.train.texts), tables.classes(tables.train), 0)
    return text_logits(module, encoder.encode(texts))


class CrossFit:
    """The choices of each half of dev so far.

    For runs without a test part: where rows are few, or the user gave validation texts alone. Dev is cut
    into two halves, each with its share of the labels; groups and copies of a text stay in one
    (`data/split.py`). Each half chooses a step and a temperature separately, as the whole of dev chooses
    those of the run, and the answers of its weights to the other half are kept. The final score
    is that of these answers: one training, all rows judged. Only when training stops is decided by both
    halves together.

    Args:
        labels: `(n,)` classes of the dev texts.
        units: rows of one unit are in one half; without them each row is alone.
        folder: where it is kept while the run is unfinished, or `None`.
        answers: how answers are decided and scored.
    """

    def __init__(
        self,
        labels: NDArray[np.int64],
        units: Units | None = None,
        folder: Path | None = None,
        answers: Answers = ONE_LABEL,
    ) -> None:
        self.labels, self._answers = labels, answers
        self.half = (units or Units.of_groups(len(labels), None)).halves(labels)
        self.path = None if folder is None else folder / CROSSFIT
        self.best = np.full(2, -np.inf)
        self.chosen: NDArray[np.float32] | None = None

    @classmethod
    def of(
        cls, texts: EncodedTables, folder: Path, warn: Callable[[str], None], *, resumed: bool
    ) -> "CrossFit | None":
        """Returns the halves of a run's validation rows; `None` without such rows, or if test rows judge.

        Args:
            texts: of the run.
            folder: its directory.
            warn: called with notes for the user on a half.
            resumed: whether the run has begun before.
        """
        tables, labels = texts.tables, texts.valid_labels
        if tables.valid is None or labels is None or tables.judged_on_test:
            return None
        crossed = cls(labels, Units.of(tables.valid, 0.5, 2), folder, answers_of(tables.labels))
        if crossed.possible and (lacking := crossed.unbalanced()):
            counts = dict(zip(tables.labels, tables.labels.counts(labels).tolist(), strict=True))
            names = tables.labels.decode(lacking)
            warn(f"one half of the validation rows lacks the label {count_of(counts, names)}")
        # A run that is stopped before its first evaluation makes one for its user; it is not part of it.
        state = folder / STATE
        if resumed and state.is_file() and load_state(state)[1]["best"] is not None:
            crossed.load()
        return crossed

    @property
    def possible(self) -> bool:
        """Whether both halves have rows."""
        return bool(self.half.any() and not self.half.all())

    def unbalanced(self) -> list[int]:
        """Returns the classes of which one half has no row: that half chooses without them."""
        if self.labels.ndim == 2:
            there = np.stack([self.labels[rows].any(axis=0) for rows in (self.half, ~self.half)])
            lacking: list[int] = np.flatnonzero(there.any(axis=0) & ~there.all(axis=0)).tolist()
            return lacking
        halves = (self.half, ~self.half)
        in_both = set(self.labels[halves[0]].tolist()) & set(self.labels[halves[1]].tolist())
        return sorted(set(self.labels.tolist()) - in_both)

    def load(self) -> None:
        """Continues from the kept state. An evaluation that is made again changes nothing.

        Raises:
            CheckpointError: if the file is damaged.
        """
        if self.path is None or not self.path.is_file():
            return
        try:
            with self.path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                self.best, self.chosen = arrays["best"], arrays["chosen"]
        except (OSError, EOFError, BadZipFile, ValueError, KeyError) as error:
            raise CheckpointError(f"{self.path}: unreadable: {error}") from error

    def update(self, logits: NDArray[np.float32]) -> None:
        """Takes in an evaluation: the logits of all dev texts."""
        if self.chosen is None:
            self.chosen = np.stack([logits, logits])
        better = False
        for side, rows in enumerate((self.half, ~self.half)):
            score = self._answers.validation(logits[rows], self.labels[rows])[MONITOR] if rows.any() else 0.0
            if score > self.best[side]:
                self.best[side], self.chosen[side], better = score, logits, True
        if better and self.path is not None:
            self._save()

    def _save(self) -> None:
        import io

        data = io.BytesIO()
        arrays: dict[str, Any] = {"best": self.best, "chosen": self.chosen}
        np.savez(data, **arrays)
        assert self.path is not None
        write_atomically(self.path, data.getvalue())

    def logits(self) -> NDArray[np.float32]:
        """Returns logits of each half with step and temperature that the other half chose.

        They are divided by that temperature.
        """
        assert self.chosen is not None
        out: NDArray[np.float32] = np.empty_like(self.chosen[0])
        for side, rows in enumerate((self.half, ~self.half)):
            temperature = self._answers.fit_temperature(self.chosen[side][rows], self.labels[rows])
            out[~rows] = cooled(self.chosen[side][~rows], temperature)
        return out

    def probs_of_sides(self) -> list[NDArray[np.float64]]:
        """Returns probabilities of all rows with what the first half chose, and with what the second did."""
        assert self.chosen is not None
        kind = self._answers
        return [
            kind.probabilities(logits, kind.fit_temperature(logits[rows], self.labels[rows]))
            for logits, rows in zip(self.chosen, (self.half, ~self.half), strict=True)
        ]

    def probs(self) -> NDArray[np.float64]:
        """Returns the same as probabilities."""
        return self._answers.probabilities(self.logits())
