"""Differences between runs: all pairs of them, on the same rows or fold by fold.

On the same rows a difference is tested by paired bootstrap and by McNemar's test. Groups of folds are
compared by the corrected resampled t-test of Nadeau and Bengio (Inference for the Generalization Error,
Machine Learning 52, 2003): runs of folds share most of their training rows, so the plain t-test finds
differences where there are none. The variance of the mean is that of the J
differences times 1/J + (test rows / training rows). P-values of one score are corrected for the number of
pairs by Holm's method (A Simple Sequentially Rejective Multiple Test Procedure, Scandinavian Journal of
Statistics 6, 1979).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from .metrics import N_REPLICATES, check_same_rows, differences, holm, replicates, scores
from .predictions import Predictions

__all__ = ["FoldScores", "compare", "compare_folds", "corrected_t", "verdict"]

_CORRECTION = "holm"
# A difference counts below this corrected p-value, where its 95 % interval does not contain 0.
_LEVEL = 0.05


def compare(
    by_run: Mapping[str, Predictions], *, n_replicates: int = N_REPLICATES, seed: int = 0
) -> dict[str, Any]:
    """Compares all pairs of runs on the same rows.

    Args:
        by_run: the answers of each run, by name; two runs or more.
        n_replicates: replicates of the bootstrap.
        seed: of its draws, which are the same for all runs.

    Returns:
        `runs`, the scores of each with their intervals; `differences`, for each pair `run` less `less`, with
        `p` and the corrected `p_holm` of each score; `correction`, the method and how many pairs there are.

    Raises:
        DataError: if the rows are not the same.
    """
    first = next(iter(by_run.values()))
    for one in by_run.values():
        check_same_rows(first, one)
    # The same draws for all, even where a file of predictions has no groups.
    by_run = {name: replace(one, groups=first.groups) for name, one in by_run.items()}
    drawn = {name: replicates(one, n_replicates=n_replicates, seed=seed) for name, one in by_run.items()}
    runs = [
        {
            "run": name,
            "n": len(one),
            **scores(one),
            "intervals": {key: list(ends) for key, ends in drawn[name].intervals().items()},
        }
        for name, one in by_run.items()
    ]
    pairs = [
        {"run": b, "less": a, **differences(by_run[a], by_run[b], drawn[a], drawn[b])}
        for a, b in combinations(by_run, 2)
    ]
    return {"runs": runs, **_corrected(pairs)}


@dataclass(frozen=True)
class FoldScores:
    """Scores of the runs of a cross-validation on the rows that each leaves out.

    Attributes:
        rows: a key for each fold, equal where two groups leave out the same rows.
        n_train: rows that each run learned from.
        n_test: rows that each leaves out.
        scores: by key, one for each fold.
        names: the scores by key, as reports name them.
    """

    rows: Sequence[str | None]
    n_train: Sequence[int]
    n_test: Sequence[int]
    scores: Mapping[str, Sequence[float]]
    names: Mapping[str, str]


def compare_folds(by_group: Mapping[str, FoldScores]) -> dict[str, Any]:
    """Compares all pairs of groups of folds, each fold with the same fold of the other group.

    Returns:
        As `compare`, with the mean of each score over folds, and `of_folds`, the values themselves.

    Raises:
        DataError: if two groups do not leave out the same rows.
    """
    first = next(iter(by_group))
    for name, group in by_group.items():
        _check_same_folds(first, by_group[first], name, group)
    runs = [
        {
            "run": name,
            "n": sum(group.n_test),
            **{key: float(np.mean(values)) for key, values in group.scores.items()},
            "of_folds": {key: list(values) for key, values in group.scores.items()},
        }
        for name, group in by_group.items()
    ]
    pairs = [
        {"run": b, "less": a, **_difference_of_folds(by_group[a], by_group[b])}
        for a, b in combinations(by_group, 2)
    ]
    return {"folds": len(by_group[first].rows), "runs": runs, "test": "corrected-t", **_corrected(pairs)}


def corrected_t(found: NDArray[np.float64], share: float) -> tuple[float, float]:
    """Returns half the 95 % interval of the mean of differences, and its two-sided p-value.

    Args:
        found: (J,) the difference of each fold, two or more.
        share: test rows for each training row.
    """
    from scipy.stats import t

    n = len(found)
    error = float(np.sqrt((1 / n + share) * found.var(ddof=1)))
    mean = float(found.mean())
    if error == 0:  # each fold says the same
        return 0.0, 1.0 if mean == 0 else 0.0
    return float(t.ppf(0.975, n - 1)) * error, float(2 * t.sf(abs(mean) / error, n - 1))


def _difference_of_folds(a: FoldScores, b: FoldScores) -> dict[str, Any]:
    """Returns difference, interval and p-value of each score that both have."""
    # Of groups that learned from different numbers of rows the smaller one, which gives the wider interval.
    share = float(np.mean(a.n_test)) / float(min(np.mean(a.n_train), np.mean(b.n_train)))
    compared: dict[str, Any] = {}
    for key in a.scores:
        if key not in b.scores:
            continue
        found = np.subtract(b.scores[key], a.scores[key], dtype=np.float64)
        half, p = corrected_t(found, share)
        mean = float(found.mean())
        compared[key] = {
            "difference": mean, "interval": [mean - half, mean + half], "p": p, "of_folds": found.tolist(),
        }  # fmt: skip
    return compared


def _check_same_folds(name: str, a: FoldScores, other: str, b: FoldScores) -> None:
    """Refuses groups whose folds leave out different rows.

    Raises:
        DataError: naming the first difference.
    """
    same = "train both on the same file with the same --folds, --group-column and data.split_seed"
    if len(a.rows) != len(b.rows):
        raise DataError(f"{name} has {len(a.rows)} folds and {other} {len(b.rows)}; {same}")
    for fold, (one, two) in enumerate(zip(a.rows, b.rows, strict=True)):
        if one != two or one is None:
            raise DataError(f"fold {fold} of {name} and of {other} leaves out different rows; {same}")


def verdict(found: Mapping[str, Any], key: str, name: str) -> str:
    """Says in plain words which run is better, and by how much.

    A difference counts where its 95 % interval does not contain 0 and its corrected p-value is below 0.05.

    Args:
        found: what `compare` or `compare_folds` returns.
        key: a score from 0 to 1, the higher the better.
        name: of the score, for people.
    """
    best = max(found["runs"], key=lambda run: run[key])["run"]
    behind: list[tuple[str, float, float, float, bool]] = []
    for pair in found["differences"]:
        if best in (pair["run"], pair["less"]):
            sign = 100 if pair["run"] == best else -100
            # Adding 0 turns -0.0, which would be printed with its sign, into 0.0.
            difference, *ends = (
                sign * value + 0.0 for value in (pair[key]["difference"], *pair[key]["interval"])
            )
            is_clear = min(ends) > 0 and pair[key]["p_holm"] < _LEVEL
            other = pair["less"] if pair["run"] == best else pair["run"]
            behind.append((other, difference, min(ends), max(ends), is_clear))
    if len(behind) == 1:
        other, difference, low, high, is_clear = behind[0]
        if is_clear:
            return (
                f"{best} is better than {other} by {difference:.1f} points of {name} (95 % interval "
                f"{low:.1f} to {high:.1f})"
            )
        ahead = f"{best} is ahead by {difference:.1f} points" if difference else "both have the same"
        return (
            f"no difference in {name} between {best} and {other} can be told: {ahead} (95 % interval of the "
            f"difference {low:+.1f} to {high:+.1f})"
        )
    better = [
        f"{other} by {difference:.1f} points (95 % interval {low:.1f} to {high:.1f})"
        for other, difference, low, high, is_clear in behind
        if is_clear
    ]
    equal = [other for other, *_, is_clear in behind if not is_clear]
    said = [f"{best} has the highest {name}"]
    said += [f"it is better than {', '.join(better)}"] if better else []
    said += [f"no difference from {', '.join(equal)} can be told"] if equal else []
    return "; ".join(said)


def _corrected(pairs: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns the differences, each with its p-value corrected for the number of pairs."""
    for key in [key for key, one in pairs[0].items() if isinstance(one, dict) and "p" in one]:
        having = [pair[key] for pair in pairs if key in pair]
        for one, p in zip(having, holm([one["p"] for one in having]), strict=True):
            one["p_holm"] = p
    return {"differences": pairs, "correction": {"method": _CORRECTION, "pairs": len(pairs)}}
