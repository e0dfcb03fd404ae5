"""`senti data suspects`: rows whose label is probably wrong, by the answers of a cross-validation."""

import json
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sentitok.cli.output import counted, number

from .command import AsJson, Force, Output, Quiet, Traceback, UsageError, check_file, put_file, refuse_input
from .errors import Keep, check_rows_file, label_text, place_in_file, write_rows
from .tables import NO_READING, Reading, grid, page, read, reads, shortened

if TYPE_CHECKING:
    from ..data.leaks import Example

# Pairs of labels, and of texts, that are listed at most.
_PAIRS = 10
_COLUMNS = ["row", "line", "id", "text", "label", "likelier", "p_label", "p_likelier"]


@reads(without=("skip",), each_row="as in training")
def suspects(
    file: Annotated[Path, typer.Argument(metavar="DATA", help="Labelled file.")],
    run: Annotated[
        list[Path] | None,
        typer.Option(
            "--run",
            metavar="GROUP",
            help="Folder that senti train DATA --folds N has written, for the answers of another "
            "architecture. Repeatable: probabilities are averaged, which finds more wrong labels. [default: "
            "a cross-validation of nb and bow, trained now]",
        ),
    ] = None,
    top: Annotated[int, typer.Option("--top", min=1, help="Number of rows to show.", metavar="N")] = 20,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="File to write all suspects to, with their whole texts: .csv, .tsv or .jsonl. [default: "
            "none]",
        ),
    ] = None,
    keep: Keep = None,
    page_file: Annotated[
        Path | None,
        typer.Option(
            "--page",
            metavar="FILE",
            help="File to write a page of all suspects to (.html). Look through them by keyboard, mark "
            "wrong labels, and save those rows for --drop-suspects; no network is needed. [default: none]",
        ),
    ] = None,
    reading: Reading = NO_READING,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Find rows whose label is probably wrong, by the answers of a cross-validation.

    Each row is judged by models that were not trained on it. A row is a suspect if another label
    reaches the mean probability that rows of that label have; the clearest come first. Then come texts
    that are equal, or nearly, and have different labels.
    """
    from sentitok.atomic import write as write_atomically

    from ..data.leaks import disagreements
    from ..evaluation.suspects import suspects as find
    from ..runs import out_of_fold
    from ..runs.families import CLASSIFIER

    output = Output("senti.data.suspects/1", as_json=as_json, quiet=quiet)
    kept = check_rows_file(out, keep)
    if page_file is not None and page_file.suffix not in (".html", ".htm"):
        raise UsageError(f"--page {page_file}: writes .html")
    for path, option in ((out, "--out"), (page_file, "--page")):
        refuse_input(path, [file])
        # One of the two files is enough for `--force`.
        check_file(path, force=force and not (out or page_file), option=option)
    typed = {name: value for name, value in reading.items() if value is not None}
    first = out_of_fold.first_run(run[0]) if run else None
    if first is not None:
        trained_on = CLASSIFIER.load(first).data
        typed = {"unlabelled": trained_on.unlabelled, "empty": trained_on.empty, **typed}
    table = read(output, file, run=first, with_lines=True, keep=kept, **typed)
    table.labelled()
    if run:
        answered, predictions = out_of_fold.load_mean(run, table)
        groups = ", ".join(map(str, run))
    else:
        answered, predictions = out_of_fold.of_bags(table)
        groups = predictions.about["run"]
        output.note(f"judged by a cross-validation of {groups}; --run takes the answers of other runs")
    if n_missing := len(table) - len(answered):
        output.note(f"{counted(n_missing, 'row')} of {file} in no fold of {groups}, so not judged")
    suspected = find(predictions)
    found = [
        {
            **asdict(one),
            **place_in_file(answered, one.row),
            "id": answered.ids[one.row] if answered.ids else None,
            "text": answered.texts[one.row],
        }
        for one in suspected
    ]
    pairs = Counter((label_text(one["label"]), label_text(one["likelier"])) for one in found)
    apart = disagreements(table)
    title = f"{counted(len(found), 'suspect')} of {counted(len(answered), 'row')}"
    parts: list[Any] = [
        _grid(title + (f"; the first {number(top)}" if len(found) > top else ""), found[:top]),
        *([_pair_grid(pairs)] if pairs else []),
        *([_apart_grid(apart)] if apart else []),
    ]
    text = page(*parts)
    if out is not None:
        text += f"\n\nwritten  {out}: {counted(len(found), 'suspect')}"
        rows = answered.take(one.row for one in suspected)
        put_file(out, lambda path: write_rows(path, found, _COLUMNS, rows), force=force)
    every = [
        {
            **asdict(one),
            "row": place_in_file(table, one.row)["row"],
            "other_row": place_in_file(table, one.other_row)["row"],
        }
        for one in apart
    ]
    if page_file is not None:
        about = {
            "file": file.name, "sha256": table.sha256, "run": groups, "n": len(answered),
            "suspects": found, "disagreements": every,
        }  # fmt: skip
        text += f"{'' if out else chr(10)}\nwritten  {page_file}: a page; open it in a browser"
        put_file(page_file, lambda path: write_atomically(path, _html(about)), force=force)
    value = {
        "file": str(file), "run": groups, "n": len(answered), "n_suspects": len(found),
        "suspects": found[:top],
        "pairs": [
            {"label": label, "likelier": likelier, "n": n} for (label, likelier), n in pairs.most_common()
        ],
        "n_disagreements": len(apart),
        "disagreements": every[:top],
        "page": None if page_file is None else str(page_file),
    }  # fmt: skip
    output.result(value, text, str(len(found)))


def _html(about: dict[str, Any]) -> bytes:
    """Returns the page: its script reads JSON that cannot end its element, and shows texts as text."""
    data = json.dumps(about).replace("<", "\\u003c")
    template = (Path(__file__).parent / "suspects.html").read_text("utf-8")
    return template.replace("__DATA__", data).encode()


def _grid(title: str, found: list[dict[str, Any]]) -> Any:
    by_line = any(one["line"] is not None for one in found)
    rows = [
        [
            str(one["line"] or one["row"]), shortened(one["text"], 64),
            f"{label_text(one['label'])} ({one['p_label']:.3f})",
            f"{label_text(one['likelier'])} ({one['p_likelier']:.3f})",
        ]
        for one in found
    ]  # fmt: skip
    return grid(title, ["line" if by_line else "row", "text", "label", "likelier"], rows)


def _pair_grid(pairs: Counter[tuple[str, str]]) -> Any:
    rows = [[label, likelier, number(n)] for (label, likelier), n in pairs.most_common(_PAIRS)]
    return grid("Suspects by label", ["label", "likelier", "rows"], rows)


def _apart_grid(apart: "list[Example]") -> Any:
    rows = [
        [
            shortened(one.text, 36), shortened(one.other_text, 36), f"{one.label} / {one.other_label}",
            one.kind,
        ]
        for one in apart[:_PAIRS]
    ]  # fmt: skip
    more = f"; the first {_PAIRS}" if len(apart) > _PAIRS else ""
    title = f"{counted(len(apart), 'row')} like an earlier one with another label{more}"
    return grid(title, ["text", "like", "labels", "kind"], rows)
