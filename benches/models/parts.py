"""The three parts of each labelled set: train, dev for every choice, sealed for verdicts.

`train_one.py` trains. The sealed part is a function: it is read once all is chosen,
never before. Where a set has groups (phrases of a sentence), parts are cut by group. On the Kaggle
phrases the sealed part is the fifth of the sentences that earlier pages called `valid`, and dev is a
tenth of the rest. Sets without a test part are cut into folds, each sealed once.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from sentimodels.data import Table, read_table, split, training_table
from sentimodels.data.exclusion import Exclusion
from sentimodels.data.sst import with_rebuilt_labels

SEED = 42
DEV_SHARE = 0.1
SEALED_SHARE = 0.2
FOLDS = 10
# The file of each set that has one, below the data folder.
FILES = {
    "kaggle": "kaggle-movie-reviews/train.tsv.xz", "tweets": "tweet-sentiment/train.csv.xz",
    "imdb": "imdb/imdb_40k.csv.xz", "yelp": "yelp-labelled/yelp_labelled.txt",
    "chinese": "zh-reviews/reviews.csv.xz",
}  # fmt: skip
# Hashes of the sentences of SST dev and test, which the Kaggle test and SST-2 have too, and of some of their
# phrases (`senti data hashes`).
HELD_OUT = Path(__file__).with_name("kaggle-held-out.txt")


@dataclass(frozen=True)
class Parts:
    """Rows of one set.

    Attributes:
        train: what models learn from.
        dev: what chooses: steps, temperature, settings, members of mixtures.
        sealed: what judges; called after the last choice.
    """

    train: Table
    dev: Table
    sealed: Callable[[], Table]


def cut(table: Table, name: str, share: float) -> tuple[Table, Table]:
    """Returns the rows without a share of them, and that share, by group where there are groups."""
    made = split(table, {"rest": 1 - share, name: share}, SEED)
    return made["rest"], made[name]


def of_whole(whole: Table) -> Parts:
    """Three parts of one table."""
    rest, sealed = cut(whole, "sealed", SEALED_SHARE)
    return Parts(*cut(rest, "dev", DEV_SHARE), lambda: sealed)


@cache
def kaggle(data: Path) -> list[Parts]:
    """The training phrases without those of the sentences that judge: SST dev and test, and SST-2's."""
    table, _ = Exclusion.read(str(HELD_OUT)).trainable(training_table(data / FILES["kaggle"]))
    return [of_whole(table)]


@cache
def tweets(data: Path) -> list[Parts]:
    rest = training_table(data / FILES["tweets"])
    return [Parts(*cut(rest, "dev", DEV_SHARE), lambda: read_table(data / "tweet-sentiment" / "test.csv.xz"))]


@cache
def imdb(data: Path) -> list[Parts]:
    path = data / FILES["imdb"]
    rest = training_table(path, where="split=train")
    return [Parts(*cut(rest, "dev", DEV_SHARE), lambda: read_table(path, where="split=test"))]


@cache
def yelp(data: Path) -> list[Parts]:
    return list(folds(training_table(data / FILES["yelp"])))


@cache
def mr(data: Path) -> list[Parts]:
    return list(folds(training_table(data / "mr-rt-polarity")))


def folds(whole: Table) -> Iterator[Parts]:
    """Each tenth of the rows is sealed once; dev is cut from the other nine."""
    order = np.random.Generator(np.random.PCG64([SEED])).permutation(len(whole))
    for fold in range(FOLDS):
        held = np.zeros(len(whole), dtype=bool)
        held[order[fold::FOLDS]] = True
        rest, sealed = (whole.take(np.flatnonzero(part)) for part in (~held, held))
        train, dev = cut(rest, "dev", DEV_SHARE)
        yield Parts(train, dev, lambda sealed=sealed: sealed)  # type: ignore[misc]  # 2026-11-23: bound now


SETS: dict[str, Callable[[Path], list[Parts]]] = {
    "kaggle": kaggle,
    "tweets": tweets,
    "imdb": imdb,
    "yelp": yelp,
    "mr": mr,
}
TITLES = {
    "kaggle": "Kaggle movie-review phrases",
    "tweets": "tweets",
    "imdb": "IMDB",
    "yelp": "Yelp sentences, 10 folds",
    "mr": "MR, 10 folds",
}


def reported(data: Path) -> dict[str, Table]:
    """What models of the Kaggle phrases are also scored on: reported, never a gate, never a choice."""
    trees = {part: data / "sst-trees" / f"{part}.txt.xz" for part in ("dev", "test")}
    phrases = [read_table(path, format="sst-phrases") for path in trees.values()]
    test = with_rebuilt_labels(read_table(data / "kaggle-movie-reviews" / "test.tsv.xz"), phrases)
    return {"kaggle": test, "sst5": read_table(trees["test"], format="sst")}
