"""What the order of `--arch auto` rests on: accuracy and CPU seconds of its models on texts of many kinds.

    python benches/models/auto_order.py                  # what is missing or stale; a quarter of an hour
    python benches/models/auto_order.py tweets           # cells whose name has this
    python benches/models/auto_order.py --pages          # writes the table of docs/senti-data.md alone

Not for the rows of `run_all.py`. Models learn from a part of a set's training rows and are scored on its dev
part; sealed parts are not read. One seed, one thread: the table is for an order, not for a verdict. Models
of long texts that take far longer than the default budget are left out, and shown as "-".
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import result
from markdown import table
from parts import FILES, Parts, cut, imdb, kaggle, tweets, yelp
from rows import Tree
from run_all import fewer
from train_one import configured, scored, trained

from sentimodels.classifier import Classifier
from sentimodels.data import read_table
from sentimodels.data.folds import folds
from sentimodels.evaluation.predictions import predict
from sentimodels.runs.config import resolve

TARGET = result.RESULTS / "auto-order.json"
PAGE = result.ROOT / "docs" / "senti-data.md"
BEGIN, END = "<!-- auto order: begin -->", "<!-- auto order: end -->"
COMMAND = "python benches/models/auto_order.py"
ARCHS = ("tfidf", "bow", "nb", "cnn", "gru")
LINEAR = ARCHS[:3]
# As `--arch auto` sets them where words have no spaces (`runs/auto.py`).
UNSPACED: dict[str, Tree] = {"nb": {"model": {"c": 1.0}}}
# Dev rows at most: more would cost time, and say no more of an order.
DEV_ROWS = 4_000


@dataclass(frozen=True)
class Texts:
    """One row of the table: a set, how many of its training rows, and the models that are trained."""

    of_set: str
    title: str
    n_rows: int | None = None
    archs: tuple[str, ...] = ARCHS


TEXTS = [
    Texts("yelp", "shop reviews, 500", 500),
    Texts("tweets", "tweets, 2,000", 2_000),
    Texts("tweets", "tweets, all"),
    Texts("kaggle", "movie phrases, 36,000", 36_000, (*LINEAR, "cnn")),
    Texts("imdb", "film reviews, 1,000", 1_000, LINEAR),
    Texts("imdb", "film reviews, 7,200", 7_200, LINEAR),
    Texts("chinese", "Chinese reviews, 2,000", 2_000, LINEAR),
    Texts("chinese", "Chinese reviews, all", None, (*LINEAR, "cnn")),
]


def chinese(data: Path) -> list[Parts]:
    """The rows outside fold 0 of `chinese.py`, which judges there."""
    whole = read_table(data / FILES["chinese"])
    judged = set(folds(whole, 5)[0])
    rest = whole.take([row for row in range(len(whole)) if row not in judged])
    return [Parts(*cut(rest, "dev", 0.1), lambda: rest.take([]))]


SETS: dict[str, Callable[[Path], list[Parts]]] = {
    "yelp": yelp,
    "tweets": tweets,
    "kaggle": kaggle,
    "imdb": imdb,
    "chinese": chinese,
}


def material(texts: Texts, data: Path) -> Parts:
    """So many training rows, in equal steps, and of dev at most `DEV_ROWS`; what is left over joins dev."""
    parts = SETS[texts.of_set](data)[0]
    train, dev = parts.train, parts.dev
    if texts.n_rows is not None:
        kept = {len(train) * row // texts.n_rows for row in range(texts.n_rows)}
        over = train.take([row for row in range(len(train)) if row not in kept])
        train = train.take(sorted(kept))
        # Of a set with groups, rows of one group stay together: its own dev part alone is used.
        if len(dev) < 500 and not over.groups:
            dev = over
    step = max(1, len(dev) // DEV_ROWS)
    return Parts(train, dev.take(range(0, len(dev), step)), parts.sealed)


def tree_of(texts: Texts, arch: str) -> Tree:
    return {"arch": arch, **(UNSPACED.get(arch, {}) if texts.of_set == "chinese" else {})}


def measure(texts: Texts, arch: str, data: Path) -> result.Result:
    """Trains one model and scores it on dev."""
    parts, before = material(texts, data), result.load()
    config = configured(tree_of(texts, arch), 0, data)
    with tempfile.TemporaryDirectory() as folder:
        trained(config, fewer(parts, 100), Path(folder) / "first")  # what is imported is not counted
        began = time.process_time()
        trained(config, parts, Path(folder))
        seconds = time.process_time() - began
        accuracy = scored(predict(Classifier.load(Path(folder) / "run"), parts.dev))["accuracy"]
    return {
        "accuracy": accuracy, "cpu_seconds": seconds, "rows": len(parts.train), "dev_rows": len(parts.dev),
        **result.origin(result.settings(config), [FILES[texts.of_set]]),
        "stamp": result.stamp(arch, COMMAND, before),
    }  # fmt: skip


def counts(cell: result.Result, texts: Texts, arch: str) -> bool:
    """Whether a cell is of today's code and defaults."""
    settings = result.settings(resolve(tree_of(texts, arch)))
    return not result.outdated(cell, settings, [FILES[texts.of_set]]) and result.links(
        cell["stamp"]["code"], result.code_hash(arch), result.unchanged()
    )


def shown(cells: result.Result, texts: Texts, arch: str) -> str:
    if arch not in texts.archs:
        return "-"
    cell = cells.get(f"{texts.title}: {arch}")
    if cell is None or not counts(cell, texts, arch):
        return "not measured"
    return f"{cell['accuracy']:.3f} ({cell['cpu_seconds']:.{0 if cell['cpu_seconds'] >= 2 else 1}f})"


def span(values: Iterable[Any]) -> list[Any]:
    """Returns the least and the greatest, or the one that both are."""
    distinct = sorted(set(values))
    return [distinct[0], *distinct[1:][-1:]] if distinct else []


def part(cells: result.Result) -> str:
    """Returns the table and what it was made of, from the result file alone."""
    rows = [[texts.title, *(shown(cells, texts, arch) for arch in ARCHS)] for texts in TEXTS]
    made = table(["training rows", *(f"`{arch}`" for arch in ARCHS)], rows)
    stamps = [cell["stamp"] for cell in cells.values()]
    dates = " to ".join(span(one["date"][:10] for one in stamps))
    commits = ", ".join(sorted({str(one["commit"])[:9] for one in stamps}))
    sizes = " to ".join(f"{n:,}" for n in span(cell["dev_rows"] for cell in cells.values()))
    return (
        f"Accuracy on parts held out for development, {sizes or 'no'} rows, with CPU seconds of training in "
        "brackets; one seed, one thread. Differences of up to two points on 500 to 1,000 rows are noise. "
        f'"-": takes far longer than the default budget.\n\n{made}\n\n{dates}, commit {commits}. `{COMMAND}`.'
    )


def write_page(cells: result.Result) -> None:
    before, rest = PAGE.read_text("utf-8").split(BEGIN)
    _, after = rest.split(END)
    PAGE.write_text(f"{before}{BEGIN}\n{part(cells)}\n{END}{after}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "cells", nargs="*", help="parts of names of cells, as in tweets or ': nb'; all by default"
    )
    parser.add_argument("--pages", action="store_true", help="measure nothing")
    asked = parser.parse_args()
    measured = result.read(TARGET) if TARGET.is_file() else {"cells": {}}
    for texts in [] if asked.pages else TEXTS:
        for arch in texts.archs:
            name = f"{texts.title}: {arch}"
            if asked.cells and not any(some in name for some in asked.cells):
                continue
            if name in measured["cells"] and counts(measured["cells"][name], texts, arch):
                continue
            if touched := result.changed(arch):
                raise SystemExit(
                    f"auto_order.py: {', '.join(touched)}: changed since the commit; type: git commit"
                )
            cell = measure(texts, arch, result.data_folder())
            print(f"{name}: dev {cell['accuracy']:.4f}, {cell['cpu_seconds']:.1f} CPU s", flush=True)
            measured["cells"][name] = cell
            result.write(TARGET, measured)
    write_page(measured["cells"])


if __name__ == "__main__":
    main()
