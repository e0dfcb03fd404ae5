"""`senti compare`: several runs on the same rows, with intervals of the differences.

Runs may be given as directories, asked about `--data`, or as the files that `senti evaluate -o` wrote.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sentitok.cli.output import counted

from .command import AsJson, Output, Quiet, Traceback, UsageError, add
from .evaluate import EvenIfTrained, Seed, answers
from .tables import (
    NO_READING,
    Reading,
    grid,
    page,
    read,
    reads,
    shown,
)

if TYPE_CHECKING:
    from ..evaluation.predictions import Predictions

Runs = Annotated[
    list[Path],
    typer.Argument(metavar="RUN", help="Two or more run directories, or files of predictions (.npz)."),
]
Data = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="FILE",
        help="Labelled file to score run directories on; files of predictions need none.",
    ),
]


def predictions_of(
    output: Output, runs: list[Path], data: Path | None, *, even_if_trained: bool = False, **flags: Any
) -> "dict[str, Predictions]":
    """Returns the predictions of each run under a unique name."""
    from ..evaluation.predictions import Predictions

    by_run: dict[str, Predictions] = {}
    table = None if data is None else read(output, data, run=runs[0], **flags)
    for run in runs:
        if run.is_file() or run.suffix == ".npz":
            by_run[_name(run, runs)] = Predictions.load(run).labelled()
            continue
        if table is None:
            raise UsageError(f"{run}: give the labelled file by --data FILE")
        table.labelled()
        by_run[_name(run, runs)] = answers(output, run, table, even_if_trained=even_if_trained)[0].labelled()
    return by_run


def _name(run: Path, runs: list[Path]) -> str:
    """The run's own name, or the whole path where two share a name."""
    return run.stem if sum(other.stem == run.stem for other in runs) == 1 else str(run)


@reads(without=("limit", "skip", "clean"))
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
    reading: Reading = NO_READING,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Compare runs on the same rows.

    Differences are tested by paired bootstrap, over groups if there are any, and by McNemar's test.
    Each run is compared with the first. p-values of several comparisons are corrected
    by Holm's method. McNemar's test takes rows as independent: if rows have groups, rely
    on the bootstrap.
    """
    from ..evaluation.metrics import holm, intervals, paired, scores

    if len(runs) < 2:
        raise UsageError("give two runs or more; `senti evaluate` scores one")
    if bootstrap < 100:
        raise UsageError(f"--bootstrap {bootstrap}: at least 100 for intervals of differences")
    output = Output("senti.compare/1", as_json=as_json, quiet=quiet)
    by_run = predictions_of(output, runs, data, even_if_trained=even_if_trained, **reading)
    names = list(by_run)
    value: dict[str, Any] = {
        "runs": [
            {
                "run": name,
                "n": len(one),
                **scores(one),
                "intervals": {
                    k: list(v) for k, v in intervals(one, n_replicates=bootstrap, seed=seed).items()
                },
            }
            for name, one in by_run.items()
        ]
    }
    differences = [
        {
            "run": name,
            "less": names[0],
            **paired(by_run[names[0]], by_run[name], n_replicates=bootstrap, seed=seed),
        }
        for name in names[1:]
    ]
    for key in ("accuracy", "macro_f1", "micro_f1", "mcnemar"):
        if key not in differences[0]:
            continue
        for one, p in zip(differences, holm([one[key]["p"] for one in differences]), strict=True):
            one[key]["p_holm"] = p
    value["differences"] = differences
    names_of = by_run[names[0]].answers.score_names
    text = page(_score_grid(value["runs"], names_of), _difference_grid(differences, names_of))
    best = max(value["runs"], key=lambda one: one["accuracy"])
    output.result(value, text, best["run"])


def _score_grid(runs: list[dict[str, Any]], names: Mapping[str, str]) -> Any:
    """Scores below each other, runs side by side: names of runs may be long."""
    rows = []
    for key, name in names.items():
        if all(run.get(key) is None for run in runs):
            continue
        rows.append([name, *(shown(run.get(key)) for run in runs)])
        if key in ("accuracy", "macro_f1"):
            ends = [run["intervals"][key] for run in runs]
            rows.append(["  95 % interval", *(f"{low:.4f} to {high:.4f}" for low, high in ends)])
    return grid(f"Runs on {counted(runs[0]['n'], 'row')}", ["", *(run["run"] for run in runs)], rows)


def _p(value: float) -> str:
    return f"{value:.4f}" if value >= 0.0001 else "< 0.0001"


def _difference_grid(differences: list[dict[str, Any]], names: Mapping[str, str]) -> Any:
    rows = []
    for one in differences:
        for key in ("accuracy", "macro_f1", "micro_f1", "log_loss"):
            if key not in one:
                continue
            low, high = one[key]["interval"]
            rows.append([
                f"{one['run']} less {one['less']}", names[key], f"{one[key]['difference']:+.4f}",
                f"{low:+.4f} to {high:+.4f}", _p(one[key].get("p_holm", one[key]["p"])),
            ])  # fmt: skip
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
    )
