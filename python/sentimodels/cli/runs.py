"""`senti runs`: the runs of a folder as a leaderboard."""

from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

import typer

from sentitok.cli.output import counted, number

from .command import AsJson, Output, Quiet, Traceback, add
from .tables import grid, page, shown


def runs(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder with run directories, up to four folders deep.")
    ] = Path("runs"),
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """List the runs of a folder, best validation macro-F1 first.

    Runs with different validation rows are listed in separate tables, since their scores cannot be
    compared. Language models follow, fewest bits per byte first, then translation models, best BLEU first.
    Aligned language models are listed with reward, distinct-2 and KL divergence from their base.
    --quiet prints only the path of the best run.
    """
    from ..runs.leaderboard import leaderboard

    output = Output("senti.runs/1", as_json=as_json, quiet=quiet)
    classifiers, models, translations = leaderboard(folder, output.note)
    by_rows: dict[Any, list[dict[str, Any]]] = {}
    for one in classifiers:
        by_rows.setdefault(("folds", one["folds_of"]) if "fold" in one else one["data"], []).append(one)
    parts: list[Any] = [_folds(some) if "fold" in some[0] else _table(some) for some in by_rows.values()]
    if len(by_rows) > 1:
        parts.append(
            "Runs of different tables have different validation rows: their scores cannot be compared."
        )
    if classifiers:
        parts.append("next: senti compare RUN RUN --data FILE, to test a difference")
    parts += _language_parts(models)
    parts += _translation_parts(translations)
    best = (classifiers or models or translations)[0]["run"]
    value = {"runs": classifiers, "language_models": models, "translation_models": translations}
    output.result(value, page(*parts), str(folder if (folder / "config.toml").is_file() else folder / best))


def _language_parts(models: list[dict[str, Any]]) -> list[Any]:
    """Returns a table for each task and set of validation documents, and what to do with the best."""
    by_data: dict[Any, list[dict[str, Any]]] = {}
    for one in models:
        if "method" not in one:
            by_data.setdefault((one["task"], one["data"]), []).append(one)
    parts: list[Any] = []
    for (task, _), some in by_data.items():
        rows = [
            [
                one["run"], one["arch"], one["state"], shown(one.get("bits_per_byte")),
                shown(one.get("perplexity"), 2),
                *("-" if one.get(key) is None else number(one[key]) for key in ("parameters", "tokens")),
                "-" if one.get("seconds") is None else f"{one['seconds']:.1f}",
            ]
            for one in some
        ]  # fmt: skip
        head = ["run", "arch", "state", "bits per byte", "perplexity", "parameters", "tokens"]
        scored = any(one.get("perplexity") is not None for one in some)
        where = "on the same validation documents" if scored else "without scores"
        parts.append(grid(f"Language models, {task}, {where}", [*head, "seconds"], rows))
    if aligned := [one for one in models if "method" in one]:
        parts.append(_aligned(aligned))
    if models:
        parts.append("next: senti train FILE --init RUN, to start a classifier from one")
    return parts


def _aligned(models: list[dict[str, Any]]) -> Any:
    """Returns a table of rewards, each with its cost."""
    rows = []
    for one in models:
        judged = one.get("alignment", {"before": {}, "after": {}})
        before, after = judged["before"], judged["after"]
        details = [part.get(key) for key in ("reward_mean", "distinct_2") for part in (before, after)]
        rows.append([
            one["run"], one["arch"], one["method"], one["state"], *(shown(value, 3) for value in details),
            shown(after.get("kl"), 2), shown(one.get("alignment", {}).get("preferred"), 3),
        ])  # fmt: skip
    head = ["run", "arch", "method", "state", "reward before", "after", "distinct-2 before", "after", "KL"]
    head.append("preferred")
    return grid("Aligned language models, each with its own judges", head, rows)


def _translation_parts(models: list[dict[str, Any]]) -> list[Any]:
    """Returns a table for each set of validation pairs."""
    by_data: dict[Any, list[dict[str, Any]]] = {}
    for one in models:
        by_data.setdefault(one["data"], []).append(one)
    parts: list[Any] = []
    for some in by_data.values():
        rows = [
            [
                one["run"], one["arch"], one["state"],
                *(shown(one.get(key), 2) for key in ("bleu", "chrf", "perplexity")),
                "-" if one.get("parameters") is None else number(one["parameters"]),
                "-" if one.get("seconds") is None else f"{one['seconds']:.1f}",
            ]
            for one in some
        ]  # fmt: skip
        head = ["run", "arch", "state", "BLEU", "chrF", "perplexity", "parameters", "seconds"]
        parts.append(grid("Translation models on the same validation pairs", head, rows))
    return parts


def _table(some: list[dict[str, Any]]) -> Any:
    tested = any("test" in one for one in some)
    rows = []
    for one in some:
        interval = one.get("interval")
        rows.append([
            one["run"], one["arch"], one["state"],
            shown(one.get("macro_f1")), "" if interval is None else f"{interval[0]:.4f} to {interval[1]:.4f}",
            shown(one.get("accuracy")), *([shown(one.get("test", {}).get("macro_f1"))] if tested else []),
            "-" if one.get("parameters") is None else number(one["parameters"]),
            "-" if one.get("seconds") is None else f"{one['seconds']:.1f}",
        ])  # fmt: skip
    rows_of = next((one["rows"]["valid"] for one in some if one.get("rows")), 0)
    title = f"Runs on {counted(rows_of, 'validation row')}" if rows_of else "Runs without validation rows"
    head = ["run", "arch", "state", "macro F1", "95 %", "accuracy"]
    return grid(title, [*head, *(["test macro F1"] if tested else []), "parameters", "seconds"], rows)


def _folds(some: list[dict[str, Any]]) -> Any:
    """Returns a table of the folds of one cross-validation, with their means."""
    some = sorted(some, key=lambda one: one["fold"])
    keys = ("accuracy", "macro_f1")
    rows = [
        [one["run"], one["arch"], one["state"], *(shown(one.get("test", {}).get(key)) for key in keys)]
        for one in some
    ]
    done = [one["test"] for one in some if "test" in one]
    if done:
        rows.append(["mean", "", "", *(shown(fmean(one[key] for one in done)) for key in keys)])
    head = ["run", "arch", "state", "test accuracy", "test macro F1"]
    return grid(f"Folds of {some[0]['folds_of']}, each scored on the rows it left out", head, rows)


def register(app: typer.Typer) -> None:
    """Adds the command of this file."""
    add(app, "runs", runs, "senti runs runs", "senti runs runs --json", runs_alone=True)
