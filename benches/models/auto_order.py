"""What the order of `--arch auto` rests on: accuracy and CPU seconds of its models on texts of many kinds.

    python benches/models/auto_order.py                  # all cells, a quarter of an hour
    python benches/models/auto_order.py tweets           # cells whose name has this
    python benches/models/auto_order.py --table          # prints the results

Models learn from a part of a set's training rows and are scored on its dev
part; sealed parts are not read. One seed, one thread: the table is for an order, not for a verdict. Models
of long texts that take far longer than the default budget are left out, and shown as "-".
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from parts import FILES, Parts, cut, imdb, kaggle, tweets, yelp
from result import Result, append, data_folder, latest
from rows import Tree
from run import fewer
from table import table
from train_one import configured, scored, trained

from sentimodels.classifier import Classifier
from sentimodels.data import read_table
from sentimodels.data.split import folds
from sentimodels.evaluation.predictions import predict

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
    """So many training rows, in equal steps, and of dev at most `DEV_ROWS`; the remaining rows join dev."""
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


def measure(texts: Texts, arch: str, data: Path) -> Result:
    """Trains one model, scores it on dev and appends the result."""
    parts = material(texts, data)
    config = configured(tree_of(texts, arch), 0, data)
    with tempfile.TemporaryDirectory() as folder:
        trained(config, fewer(parts, 100), Path(folder) / "first")  # the time of imports is not counted
        began = time.process_time()
        trained(config, parts, Path(folder))
        seconds = time.process_time() - began
        accuracy = scored(predict(Classifier.load(Path(folder) / "run"), parts.dev))["accuracy"]
    return append(
        f"auto-order:{texts.title}: {arch}", COMMAND, config.tree(), {"dev": {"accuracy": accuracy}},
        seed=0, seconds=seconds, rows=len(parts.train), dev_rows=len(parts.dev),
    )  # fmt: skip


def shown(texts: Texts, arch: str, found: dict[tuple[str, int | None], Result]) -> str:
    if arch not in texts.archs:
        return "-"
    cell = found.get((f"auto-order:{texts.title}: {arch}", 0))
    return (
        "not measured" if cell is None else f"{cell['scores']['dev']['accuracy']:.3f} ({cell['seconds']:.0f})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "cells", nargs="*", help="parts of names of cells, as in tweets or ': nb'; all by default"
    )
    parser.add_argument("--table", action="store_true", help="print what was measured, measure nothing")
    asked = parser.parse_args()
    for texts in [] if asked.table else TEXTS:
        for arch in texts.archs:
            name = f"{texts.title}: {arch}"
            if not asked.cells or any(some in name for some in asked.cells):
                cell = measure(texts, arch, data_folder())
                accuracy = cell["scores"]["dev"]["accuracy"]
                print(f"{name}: dev {accuracy:.4f}, {cell['seconds']:.1f} CPU s", flush=True)
    found = latest()
    rows = [[texts.title, *(shown(texts, arch, found) for arch in ARCHS)] for texts in TEXTS]
    print(table(("training rows", *ARCHS), rows))


if __name__ == "__main__":
    main()
