"""Five folds of Chinese reviews: `senti train` with no option but the file, and scikit-learn on characters.

    python benches/models/chinese.py            # minutes; folds that are measured already are kept
    python benches/models/chinese.py 0 --again  # fold 0 anew
    python benches/models/chinese.py --pages    # writes the table of docs/senti-data.md alone

Not for the rows of `run_all.py`. Each fold is split off first and read only by the scores. `senti` holds a
tenth of the other rows out, so LinearSVC is trained on the same rows as `senti` as well as on all of them.
"""

import argparse
import tempfile
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import result
from bars import CHINESE, REFIT, SENTI, behind
from markdown import MET, MISSED
from parts import FILES
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
TARGET = result.RESULTS / "chinese.json"
PAGE = result.ROOT / "docs" / "senti-data.md"
BEGIN, END = "<!-- chinese: begin -->", "<!-- chinese: end -->"
COMMAND = "python benches/models/chinese.py"
# Columns of the table beside those of `senti`: scikit-learn, on the rows of `senti` and on all.
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


def part(measured: dict[str, Any]) -> str:
    """Returns the table and what it says of the aim, from the result file alone."""
    rows = [measured["folds"][str(place)] for place in range(FOLDS)]
    names = list(rows[0]["accuracy"])
    mean = {name: float(np.mean([row["accuracy"][name] for row in rows])) for name in names}
    lines = [f"| {' | '.join(['fold', *names])} |", "|---|" + "---:|" * len(names)]
    for place, row in enumerate(rows):
        lines.append(f"| {place} | " + " | ".join(f"{row['accuracy'][name]:.4f}" for name in names) + " |")
    lines.append("| mean | " + " | ".join(f"{mean[name]:.4f}" for name in names) + " |")

    def verdict(scores: dict[str, float], ours: str) -> str:
        by = behind(scores, ours)
        where = f"{by:.4f} below" if by > 0 else f"{-by:.4f} above"
        return f"{where} the best of them, so {MET if by <= CHINESE else MISSED}"

    archs = ", ".join(sorted({f"`{row['arch']}`" for row in rows}))
    stamp = measured["stamp"]
    return (
        f"Accuracy on each fold of {measured['rows']:,} reviews. `senti train` has no option but the file; "
        f"it chose {archs}. It holds out a tenth of the other rows for validation, so `LinearSVC` of "
        "scikit-learn, on TF-IDF of 1 to 3 characters, is trained on the same rows as `senti` and on all of "
        "them.\n\n" + "\n".join(lines) + "\n\n"
        f"The aim is to be within {CHINESE} of the best of these recipes, those with all rows included. In "
        f"the mean of the folds: {verdict(mean, SENTI)}; with `--refit` {verdict(mean, REFIT)}. The strength "
        "of the penalty was chosen by cross-validation within the rows outside fold 0, so fold 0 alone chose "
        f"nothing; there: {verdict(rows[0]['accuracy'], SENTI)}.\n\n"
        f"{stamp['date']}, commit {str(stamp['commit'])[:9]}. `{COMMAND}`."
    )


def write_page(measured: dict[str, Any]) -> None:
    before, rest = PAGE.read_text("utf-8").split(BEGIN)
    _, after = rest.split(END)
    PAGE.write_text(f"{before}{BEGIN}\n{part(measured)}\n{END}{after}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folds", nargs="*", type=int, help="folds to measure; all without it")
    parser.add_argument("--again", action="store_true", help="measure folds that are there already")
    parser.add_argument("--pages", action="store_true", help="measure nothing")
    asked = parser.parse_args()
    measured = result.read(TARGET) if TARGET.is_file() else {"folds": {}}
    wanted = [] if asked.pages else asked.folds or range(FOLDS)
    table = read_table(result.data_folder() / FILES["chinese"])
    parts = folds(table, FOLDS)
    for place, (by, name) in product(wanted, ((by_senti, SENTI), (by_scikit_learn, SUBLINEAR))):
        known = measured["folds"].setdefault(str(place), {"accuracy": {}})
        if name in known["accuracy"] and not asked.again:
            continue
        others = sorted(row for other, some in enumerate(parts) if other != place for row in some)
        load = result.load()
        with tempfile.TemporaryDirectory() as folder:
            reached = by(table.take(others), table.take(parts[place]), Path(folder))
        print(place, {name: round(score, 4) for name, score in reached["accuracy"].items()}, flush=True)
        known.update({**reached, "accuracy": known["accuracy"] | reached["accuracy"]})
        measured |= {"rows": len(table), **result.origin(SETTINGS, [FILES["chinese"]])}
        measured["stamp"] = result.stamp("nb", COMMAND, load)
        result.write(TARGET, measured)
    whole = [one for one in measured["folds"].values() if {SENTI, SUBLINEAR} <= set(one["accuracy"])]
    if len(whole) == FOLDS:
        write_page(measured)


if __name__ == "__main__":
    main()
