"""Five folds of Chinese reviews: `senti train` with no option but the file, and scikit-learn on characters.

    python benches/models/chinese.py        # minutes; prints the table of docs/senti-data.md

Not for the rows of `run_all.py`. Each fold is split off first and read only by the scores. `senti` holds a
tenth of the other rows out, so LinearSVC is trained on the same rows as `senti` as well as on all of them.
"""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.svm import LinearSVC

from sentimodels import Classifier
from sentimodels.data import Table, read_table
from sentimodels.data.folds import folds
from sentimodels.data.writers import write_table
from sentimodels.runs.auto import choose, without_architecture
from sentimodels.runs.run import train
from sentimodels.runs.tables import read_tables

FOLDS = 5


def accuracy(answers: Sequence[Any], table: Table) -> float:
    return float(np.mean([a == b for a, b in zip(answers, table.labelled(), strict=True)]))


def linear_svc(rows: Table, test: Table, sublinear: bool) -> float:
    vectorizer = TfidfVectorizer(analyzer="char", ngram_range=(1, 3), sublinear_tf=sublinear)
    model = LinearSVC(random_state=0).fit(vectorizer.fit_transform(rows.texts), rows.labelled())
    return accuracy(model.predict(vectorizer.transform(test.texts)), test)


def one(rows: Table, test: Table, folder: Path) -> list[float]:
    """Returns the scores of one fold, in the order of the table."""
    file = folder / "train.csv"
    write_table(rows, file)
    found = []
    for refit in (False, True):
        given = {"data": {"train": str(file)}, "train": {"refit": refit}}
        tables = read_tables(without_architecture(given))
        run = folder / f"run-{refit}"
        train(choose(given, tables=tables), run, tables=tables, baseline=False)
        found.append(accuracy(Classifier.load(run).predict(test.texts), test))
    return [
        *found,
        linear_svc(tables.train, test, sublinear=False),
        linear_svc(rows, test, sublinear=False),
        linear_svc(rows, test, sublinear=True),
    ]


def main() -> None:
    data = Path(os.environ["SENTITOK_DATA"]) / "zh-reviews" / "reviews.csv.xz"
    table = read_table(data)
    parts = folds(table, FOLDS)
    names = ("fold", "`senti train`", "with `--refit`", "LinearSVC, same rows", "LinearSVC", "sublinear TF")
    print(f"| {' | '.join(names)} |")
    print("|---|---|---|---|---|---|")
    scores = []
    for place, held_out in enumerate(parts):
        others = sorted(row for other, some in enumerate(parts) if other != place for row in some)
        with tempfile.TemporaryDirectory() as folder:
            scores.append(one(table.take(others), table.take(held_out), Path(folder)))
        print(f"| {place} | " + " | ".join(f"{score:.4f}" for score in scores[-1]) + " |", flush=True)
    print("| mean | " + " | ".join(f"{score:.4f}" for score in np.mean(scores, axis=0)) + " |")


if __name__ == "__main__":
    main()
