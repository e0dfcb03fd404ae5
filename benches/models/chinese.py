"""Five folds of Chinese reviews: `senti train` with no option but the file, and scikit-learn on characters.

    python benches/models/chinese.py      # minutes
    python benches/models/chinese.py 0    # fold 0 alone

Each fold is split off first and read only by the scores. `senti` holds a tenth of the other rows out, so
LinearSVC is trained on the same rows as `senti` and on all of them. The bar is to be at most BEHIND below the
best of these recipes. The strength of the penalty of `senti` was chosen by cross-validation within the rows
outside fold 0, so fold 0 alone has chosen nothing.
"""

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from parts import FILES
from result import append, data_folder, verdict
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.svm import LinearSVC

from sentimodels import Classifier
from sentimodels.data import Table, read_table
from sentimodels.data.split import folds
from sentimodels.data.writers import write_table
from sentimodels.runs.auto import choose, without_architecture
from sentimodels.runs.execute import train
from sentimodels.runs.tables import read_tables

FOLDS = 5
BEHIND = 0.005
COMMAND = "python benches/models/chinese.py"
SENTI, REFIT = "senti train", "senti train --refit"
# Recipes of scikit-learn, on the rows of `senti` and on all.
SAME_ROWS, ALL_ROWS, SUBLINEAR = "LinearSVC, same rows", "LinearSVC", "sublinear TF"
SETTINGS = {"folds": FOLDS, "recipes": [SAME_ROWS, ALL_ROWS, SUBLINEAR]}


def accuracy(answers: Sequence[Any], table: Table) -> float:
    return float(np.mean([a == b for a, b in zip(answers, table.labelled(), strict=True)]))


def linear_svc(rows: Table, test: Table, sublinear: bool) -> float:
    vectorizer = TfidfVectorizer(analyzer="char", ngram_range=(1, 3), sublinear_tf=sublinear)
    model = LinearSVC(random_state=0).fit(vectorizer.fit_transform(rows.texts), rows.labelled())
    return accuracy(model.predict(vectorizer.transform(test.texts)), test)


def by_senti(rows: Table, test: Table, folder: Path) -> dict[str, Any]:
    """Returns the architecture that is chosen, and its scores without and with a refit."""
    file = folder / "train.csv"
    write_table(rows, file)
    given = {"data": {"train": str(file)}, "train": {"refit": True}}
    tables = read_tables(without_architecture(given))
    config = choose(given, tables=tables)
    train(config, folder / "run", tables=tables, baseline=False)
    # The first run of a refit is the run without one.
    runs = {SENTI: folder / "run" / "first", REFIT: folder / "run"}
    scores = {name: accuracy(Classifier.load(run).predict(test.texts), test) for name, run in runs.items()}
    return {"arch": config.arch, "model": config.tree()["model"], "accuracy": scores}


def by_scikit_learn(rows: Table, test: Table, folder: Path) -> dict[str, Any]:
    """Returns the scores of LinearSVC, on the rows that `senti` trains on and on all."""
    file = folder / "train.csv"
    write_table(rows, file)
    same = read_tables(without_architecture({"data": {"train": str(file)}})).train
    scores = {
        SAME_ROWS: linear_svc(same, test, sublinear=False),
        ALL_ROWS: linear_svc(rows, test, sublinear=False),
        SUBLINEAR: linear_svc(rows, test, sublinear=True),
    }
    return {"accuracy": scores}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folds", nargs="*", type=int, help="folds to measure; all without it")
    asked = parser.parse_args()
    table = read_table(data_folder() / FILES["chinese"])
    parts = folds(table, FOLDS)
    for place in asked.folds or range(FOLDS):
        others = sorted(row for other, some in enumerate(parts) if other != place for row in some)
        scores: dict[str, float] = {}
        for by in (by_senti, by_scikit_learn):
            with tempfile.TemporaryDirectory() as folder:
                scores |= by(table.take(others), table.take(parts[place]), Path(folder))["accuracy"]
        behind = max(scores[name] for name in (SAME_ROWS, ALL_ROWS, SUBLINEAR)) - scores[SENTI]
        append(
            f"chinese:fold {place}",
            COMMAND,
            SETTINGS,
            {"accuracy": scores, "behind": behind},
            rows=len(table),
        )
        print(place, {name: round(score, 4) for name, score in scores.items()}, verdict(behind, most=BEHIND),
              flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
