"""`senti compare`: all pairs of several runs, with intervals of the differences.

Runs may be given as directories, asked about `--data`, as the files that `senti evaluate -o` wrote, or as
groups of folds.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sentitok.cli.output import counted

from .command import AsJson, Output, Quiet, Traceback, UsageError, add
from .evaluate import THRESHOLD_SCORES, EvenIfTrained, Seed, answers, note_chosen_here
from .tables import (
    NO_READING,
    READ_WHOLE,
    Reading,
    Windows,
    grid,
    page,
    read,
    reads,
    refuse_idle_windows,
    shown,
)

if TYPE_CHECKING:
    from ..evaluation.predictions import Predictions

Runs = Annotated[
    list[Path],
    typer.Argument(
        metavar="RUN", help="Two or more run directories, files of predictions (.npz), or groups of folds."
    ),
]
Data = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="FILE",
        help="Labelled file to score run directories on; files of predictions need none.",
    ),
]

# The scores whose differences are shown; JSON has all.
_DIFFERENCES = ("accuracy", "macro_f1", "micro_f1", "mae", "quadratic_kappa", "log_loss")


def predictions_of(
    output: Output,
    runs: list[Path],
    data: Path | None,
    *,
    even_if_trained: bool = False,
    windows: bool = False,
    **flags: Any,
) -> "dict[str, Predictions]":
    """Returns the predictions of each run under a unique name.

    With `windows`, runs that read texts in parts read them in windows.
    """
    from ..evaluation.predictions import Predictions

    by_run: dict[str, Predictions] = {}
    if windows:
        asked = [run for run in runs if not _is_file(run)]
        if not asked:
            raise UsageError("--windows: files of predictions are read as they are; leave it out")
        refuse_idle_windows(asked)
    like = next((run for run in runs if not _is_file(run)), runs[0])
    table = None if data is None else read(output, data, run=like, **flags)
    for run in runs:
        if _is_file(run):
            by_run[_name(run, runs)] = Predictions.load(run).labelled()
            continue
        if table is None:
            raise UsageError(f"{run}: give the labelled file by --data FILE")
        table.labelled()
        found, _ = answers(
            output, run, table, even_if_trained=even_if_trained, windows=windows, more=READ_WHOLE
        )
        by_run[_name(run, runs)] = found.labelled()
    return by_run


def _is_file(run: Path) -> bool:
    """Whether this is a file of predictions, and not a run."""
    return run.is_file() or run.suffix == ".npz"


def _name(run: Path, runs: list[Path]) -> str:
    """The run's own name, or the whole path where two share a name."""
    return run.stem if sum(other.stem == run.stem for other in runs) == 1 else str(run)


@reads(without=("limit", "skip", "clean"), scores=True)
def compare(
    runs: Runs,
    data: Data = None,
    bootstrap: Annotated[
        int,
        typer.Option(
            "--bootstrap",
            metavar="N",
            help="Number of bootstrap replicates for the intervals of differences; at least 100.",
        ),
    ] = 1000,
    seed: Seed = 0,
    even_if_trained: EvenIfTrained = False,
    windows: Windows = False,
    reading: Reading = NO_READING,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Compare runs on the same rows, or fold by fold.

    All pairs of runs are compared. On the same rows, differences are tested by paired bootstrap, over
    groups if there are any, and by McNemar's test, which takes rows as independent: if rows have groups,
    rely on the bootstrap.
    Groups that senti train --folds wrote are compared on the rows that each fold leaves out, the same
    fold of both, by the corrected resampled t-test of Nadeau and Bengio. p-values of several pairs are
    corrected by Holm's method.
    """
    from ..evaluation.comparison import compare as compared
    from ..runs.report import threshold_scores

    if len(runs) < 2:
        raise UsageError("give two runs or more; `senti evaluate` scores one")
    if twice := [run for run in runs if runs.count(run) > 1]:
        raise UsageError(f"{twice[0]}: given twice; give each run once")
    if bootstrap < 100:
        raise UsageError(f"--bootstrap {bootstrap}: at least 100 for intervals of differences")
    output = Output("senti.compare/1", as_json=as_json, quiet=quiet)
    if _in_folds(runs, data):
        if windows:
            raise UsageError("--windows: the answers of folds were written in training; leave it out")
        _compare_folds(output, runs)
        return
    by_run = predictions_of(output, runs, data, even_if_trained=even_if_trained, windows=windows, **reading)
    value = compared(by_run, n_replicates=bootstrap, seed=seed)
    names = next(iter(by_run.values())).answers.score_names
    for about, one in zip(value["runs"], by_run.values(), strict=True):
        if (of_thresholds := threshold_scores(one)) is not None:
            about["thresholds"] = of_thresholds
            note_chosen_here(output, of_thresholds, len(one), about["run"])
    value["verdict"] = _verdict(value, names)
    parts = [
        _score_grid(f"Runs on {counted(value['runs'][0]['n'], 'row')}", value["runs"], names),
        *_threshold_grids(value["runs"]),
        _difference_grid(value, names),
        f"p by paired bootstrap ({bootstrap:,} replicates) and by McNemar's test{_said_correction(value)}",
        f"\nverdict  {value['verdict']}",
    ]
    _print(output, value, parts)


def _in_folds(runs: list[Path], data: Path | None) -> bool:
    """Whether these are groups of folds.

    Raises:
        UsageError: if only some are, or they are groups of another kind.
    """
    from ..runs.group import is_group, read_group

    kinds = {run: read_group(run).kind for run in runs if is_group(run)}
    for run, kind in kinds.items():
        if kind != "folds":
            raise UsageError(f"{run}: a group of {kind}; name its runs, as in {run}/*-*, and --data FILE")
    if single := [run for run in runs if run not in kinds]:
        if kinds:
            raise UsageError(
                f"{next(iter(kinds))} is a group of folds, {single[0]} is not; train both with --folds"
            )
        return False
    if data is not None:
        raise UsageError(
            f"--data {data}: groups of folds are compared on the rows that each fold leaves out; leave it out"
        )
    return True


def _compare_folds(output: Output, runs: list[Path]) -> None:
    """Compares groups of folds, and prints the result."""
    from ..evaluation.comparison import compare_folds
    from ..runs.out_of_fold import fold_scores

    by_group = {_name(run, runs): fold_scores(run) for run in runs}
    value = compare_folds(by_group)
    names = next(iter(by_group.values())).names
    value["verdict"] = _verdict(value, names)
    rows = counted(value["runs"][0]["n"], "row")
    parts = [
        _score_grid(f"Means of {value['folds']} folds, {rows} in all", value["runs"], names),
        _difference_grid(value, names),
        f"p by the corrected resampled t-test of Nadeau and Bengio (2003){_said_correction(value)}",
        f"\nverdict  {value['verdict']}",
    ]
    _print(output, value, parts)


def _threshold_grids(runs: list[dict[str, Any]]) -> list[Any]:
    """Returns the scores of the answers by thresholds, one column a run."""
    found = {run["run"]: run["thresholds"] for run in runs if "thresholds" in run}
    if not found:
        return []
    rows = [["rule", *(one["rule"] for one in found.values())]]
    rows += [
        [name, *(shown(one.get(key)) for one in found.values())]
        for key, name in THRESHOLD_SCORES.items()
        if any(key in one for one in found.values())
    ]
    return [grid("Answers by the thresholds of the runs", ["", *found], rows)]


def _print(output: Output, value: dict[str, Any], parts: list[Any]) -> None:
    best = max(value["runs"], key=lambda one: one["accuracy"])
    output.result(value, page(*parts) if output.human else "", best["run"])


def _verdict(value: Mapping[str, Any], names: Mapping[str, str]) -> str:
    """Returns the verdict by accuracy, or by micro F1 where texts have several labels."""
    from ..evaluation.comparison import verdict

    key = "micro_f1" if "micro_f1" in names else "accuracy"
    return verdict(value, key, names[key])


def _said_correction(value: Mapping[str, Any]) -> str:
    """Returns how p-values were corrected, as the end of a sentence."""
    n = value["correction"]["pairs"]
    return "" if n == 1 else f", corrected for {n:,} pairs by Holm's method"


def _score_grid(title: str, runs: list[dict[str, Any]], names: Mapping[str, str]) -> Any:
    """Returns scores below each other, one column a run: names of runs may be long."""
    rows = []
    for key, name in names.items():
        if all(run.get(key) is None for run in runs):
            continue
        rows.append([name, *(shown(run.get(key)) for run in runs)])
        if key in ("accuracy", "macro_f1", "mae", "quadratic_kappa") and "intervals" in runs[0]:
            ends = [run["intervals"][key] for run in runs]
            rows.append(["  95 % interval", *(f"{low:.4f} to {high:.4f}" for low, high in ends)])
    return grid(title, ["", *(run["run"] for run in runs)], rows)


def _p(value: float) -> str:
    return f"{value:.4f}" if value >= 0.0001 else "< 0.0001"


def _difference_grid(value: Mapping[str, Any], names: Mapping[str, str]) -> Any:
    rows = []
    for one in value["differences"]:
        said = f"{one['run']} less {one['less']}"
        for key in (key for key in _DIFFERENCES if key in one):
            low, high = one[key]["interval"]
            rows.append([
                said, names[key], f"{one[key]['difference']:+.4f}", f"{low:+.4f} to {high:+.4f}",
                _p(one[key]["p_holm"]),
            ])  # fmt: skip
            said = ""
        if "mcnemar" in one:
            only = f"{one['mcnemar']['only_b_right']:,} against {one['mcnemar']['only_a_right']:,}"
            rows.append(["", "McNemar", "", only, _p(one["mcnemar"]["p_holm"])])
    return grid("Differences", ["", "score", "difference", "95 % interval", "p"], rows)


def register(app: typer.Typer) -> None:
    """Adds the commands of this file."""
    add(
        app,
        "compare",
        compare,
        "senti compare runs/lstm runs/gpt --data valid.csv",
        "senti compare lstm.npz gpt.npz --json",
        "senti compare runs/nb-folds runs/tfidf-folds",
    )
