"""`senti ensemble`: several runs as one, weights and temperature fitted on dev.

Not for training them. The result is a folder with one JSON file, which every command
takes where it takes a run.
"""

from pathlib import Path
from typing import Annotated, Any

import typer

from .command import AsJson, Command, Output, Quiet, Traceback, UsageError, examples
from .evaluate import EvenIfTrained
from .tables import Format, GroupColumn, LabelColumn, MaxLineBytes, TextColumn, Where, grid, page, read, shown


def ensemble(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN RUN...", help="Run directories.")],
    dev: Annotated[
        Path, typer.Option("--dev", metavar="FILE", help="Labelled rows that no run was trained on.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="The ensemble's folder.")],
    even_if_trained: EvenIfTrained = False,
    text_column: TextColumn = None,
    label_column: LabelColumn = None,
    group_column: GroupColumn = None,
    format: Format = None,
    where: Where = None,
    max_line_bytes: MaxLineBytes = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Mix several runs: a weighted mean of their probabilities, weights fitted on dev.

    The scores printed are those of dev, on which the weights were fitted: score the
    result on another file.
    """
    from dataclasses import replace

    from ..data import check_trainable
    from ..evaluation.metrics import scores
    from ..predictor import load_predictor
    from ..runs.ensemble import Ensemble, members_of
    from ..runs.report import evaluate

    if len(runs) < 2:
        raise UsageError("give two runs or more")
    for run in runs:
        if members_of(run) is not None:
            raise UsageError(f"{run}: an ensemble; name its runs instead")
    output = Output("senti.ensemble/1", as_json=as_json, quiet=quiet)
    table = read(
        output, dev, text_column=text_column, label_column=label_column, group_column=group_column,
        format=format, where=where, max_line_bytes=max_line_bytes, blank_labels="drop",
    )  # fmt: skip
    check_trainable(table, "fit weights")
    table.labelled()
    members = [load_predictor(run) for run in runs]
    found = [
        evaluate(member, table, run=run, allow_trained=even_if_trained)[0]
        for member, run in zip(members, runs, strict=True)
    ]
    mixed = Ensemble.fit(members, [one.probs for one in found], found[0].truth)
    together = replace(found[0], probs=mixed.mix([one.probs for one in found]))
    target = mixed.save(out, runs, table.sha256)
    listed: list[dict[str, Any]] = [
        {"run": str(run), "weight": weight, **scores(one)}
        for run, weight, one in zip(runs, mixed.weights, found, strict=True)
    ]
    total = {"run": str(out), "weight": 1.0, **scores(together)}
    value = {"file": str(target), "temperature": mixed.temperature, "members": listed, "dev": total}
    rows = [
        [
            one["run"],
            f"{one['weight']:.3f}",
            *(shown(one[key]) for key in ("accuracy", "macro_f1", "log_loss", "ece")),
        ]
        for one in [*listed, total]
    ]
    head = ["run", "weight", "accuracy", "macro-F1", "log loss", "ECE"]
    text = page(
        grid(f"On dev, {len(table):,} rows", head, rows), f"wrote {target}; next: senti evaluate {out} FILE"
    )
    output.result(value, text, str(out))


def register(app: typer.Typer) -> None:
    """Adds the command of this file."""
    app.command(
        "ensemble",
        cls=Command,
        no_args_is_help=True,
        epilog=examples(
            "senti ensemble runs/lstm runs/gpt --dev valid.csv -o runs/both",
            "senti ensemble runs/lstm runs/gpt --dev valid.csv -o runs/both --json",
        ),
    )(ensemble)
