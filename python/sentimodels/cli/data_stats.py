"""`senti data stats`: how labels and lengths are distributed, as tables and as pictures.

Not for duplicates and leaks (`data.py`).
"""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sentitok.cli.output import number

from .command import AsJson, Force, Output, Quiet, Traceback, check_file, put
from .tables import (
    NO_READING,
    Reading,
    grid,
    page,
    read,
    reads,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..data import Table

Files = Annotated[list[Path], typer.Argument(metavar="FILE", help="Labelled files or folders.")]


@reads(each_row=True)
def stats(
    files: Files,
    tokenizer_file: Annotated[
        Path | None,
        typer.Option(
            "--tokenizer",
            "-t",
            help="Tokenizer file: measure lengths in its tokens instead of words.",
            metavar="FILE",
        ),
    ] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option(
            "--max-tokens",
            min=1,
            help="Report the share of texts longer than N words, or tokens with --tokenizer.",
            metavar="N",
        ),
    ] = None,
    plots: Annotated[
        Path | None,
        typer.Option("--plots", help="Folder to draw labels.png and lengths.png into.", metavar="DIR"),
    ] = None,
    reading: Reading = NO_READING,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Show how labels and lengths are distributed.

    Lengths are in words; in scripts without spaces between words each character counts as a word.
    """
    output = Output("senti.data.stats/1", as_json=as_json, quiet=quiet)
    unit = "words" if tokenizer_file is None else "tokens"
    tables = {_name(path, files): read(output, path, **reading) for path in files}
    lengths = {name: _lengths(table, tokenizer_file) for name, table in tables.items()}
    counts = {name: label_counts(table) for name, table in tables.items()}
    value = {
        "files": [
            {
                "file": str(table.source), "sha256": table.sha256, "rows": len(table),
                "groups": None if table.groups is None else len(set(table.groups)),
                "labels": counts[name], "unit": unit, "lengths": _quantiles(lengths[name]),
                "longer": None if max_tokens is None else int((lengths[name] > max_tokens).sum()),
            }
            for name, table in tables.items()
        ]
    }  # fmt: skip
    parts: list[Any] = [label_grid(counts), _length_grid(lengths, unit, max_tokens)]
    if plots is None:
        check_file(None, force=force, option="--plots")
    else:
        drawn, _ = put((plots, lambda path: _draw(path, counts, lengths, unit, max_tokens)), force=force)
        parts.append(f"written  {', '.join(drawn)}")
    output.result(value, page(*parts), str(sum(map(len, tables.values()))))


def _name(path: Path, files: list[Path]) -> str:
    """The file's own name, or the whole path where two files share a name."""
    return path.name if sum(other.name == path.name for other in files) == 1 else str(path)


def _lengths(table: "Table", tokenizer_file: Path | None) -> "NDArray[Any]":
    import numpy as np

    if tokenizer_file is None:
        from ..data.normalization import n_words

        return np.array([n_words(text) for text in table.texts])
    from sentitok import Tokenizer

    return Tokenizer.from_file(tokenizer_file).count_batch(table.texts).astype(np.int64)


def label_counts(table: "Table") -> dict[str, int]:
    """Returns the rows of each label, in the order of the labels."""
    from ..data import Labels

    if table.labels is None:
        return {}
    counted = Counter(table.labels)
    return {name: counted[name] for name in Labels.from_values(counted)}


def _quantiles(lengths: "NDArray[Any]") -> dict[str, float]:
    import numpy as np

    quantiles = {f"p{share}": int(np.percentile(lengths, share, method="lower")) for share in (5, 50, 95, 99)}
    return {"mean": float(lengths.mean()), **quantiles, "max": int(lengths.max()), "sum": int(lengths.sum())}


def label_grid(counts: dict[str, dict[str, int]]) -> Any:
    """Lays out the label counts of several files side by side."""
    rows = []
    for label in dict.fromkeys(label for of_table in counts.values() for label in of_table):
        row = [label]
        for of_table in counts.values():
            n, total = of_table.get(label, 0), max(1, sum(of_table.values()))
            row += [number(n), f"{100 * n / total:.1f} %"]
        rows.append(row)
    head = ["label", *(cell for name in counts for cell in (name, "share"))]
    return grid("Labels", head, rows) if rows else "no labels"


def _length_grid(lengths: "dict[str, NDArray[Any]]", unit: str, limit: int | None) -> Any:
    rows = []
    for name, one in lengths.items():
        quantiles = _quantiles(one)
        cells = [
            f"{quantiles['mean']:.1f}",
            *(number(quantiles[key]) for key in ("p5", "p50", "p95", "p99", "max", "sum")),
        ]
        longer = [] if limit is None else [f"{100 * float((one > limit).mean()):.1f} %"]
        rows.append([name, number(len(one)), *cells, *longer])
    head = ["file", "rows", "mean", "5 %", "median", "95 %", "99 %", "longest", "sum"]
    return grid(f"Lengths in {unit}", head if limit is None else [*head, f"over {limit}"], rows)


def _draw(
    folder: Path,
    counts: dict[str, dict[str, int]],
    lengths: "dict[str, NDArray[Any]]",
    unit: str,
    limit: int | None,
) -> list[Path]:
    from ..plots import save
    from ..plots.texts import label_histogram, length_histogram

    made = [folder / "lengths.png"]
    labelled = {name: one for name, one in counts.items() if one}
    if labelled:
        made.insert(0, folder / "labels.png")
        save(label_histogram(labelled), made[0])
    save(length_histogram(lengths, unit=unit, limit=limit), made[-1])
    return made
