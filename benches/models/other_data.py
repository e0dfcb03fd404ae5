"""The quick models on other labelled sets: what they reach where published figures are known.

    python benches/models/other_data.py          # MR, IMDB, tweets; minutes

MR and Yelp have no split of their own, so they are cut into ten folds by row (seed 42) and all
rows are answered by the model that did not see them; IMDB and the tweets have a test part.
No run stops on what it is scored on. Results go to runs/bench/other.json, which
`run_all.py --table` shows. For the architectures on the Kaggle phrases see `run_all.py`.
"""

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from run_all import RUNS, data_folder

from sentimodels.classifier import Classifier
from sentimodels.config import RunConfig
from sentimodels.data import Table, read_table
from sentimodels.evaluation.metrics import scores
from sentimodels.evaluation.predictions import Predictions, predict
from sentimodels.runs.config import resolve
from sentimodels.runs.tables import Tables
from sentimodels.runs.train import train

FOLDS = 10
# Set: (name, file of training rows, condition, file of test rows, condition); without test, folds.
SETS: list[tuple[str, str, str | None, str | None, str | None]] = [
    ("MR, 10 folds", "mr-rt-polarity", None, None, None),
    ("Yelp sentences, 10 folds", "yelp-labelled/yelp_labelled.txt", None, None, None),
    ("IMDB", "imdb/imdb_40k.csv.xz", "split=train", "imdb/imdb_40k.csv.xz", "split=test"),
    ("tweets", "tweet-sentiment/train.csv.xz", None, "tweet-sentiment/test.csv.xz", None),
]
CHARACTERS = {"char_ngrams": [3, 5]}
MODELS: dict[str, dict[str, Any]] = {
    "tfidf": {"arch": "tfidf"},
    "tfidf, characters": {"arch": "tfidf", "model": {**CHARACTERS, "max_features": 200_000}},
    "nb": {"arch": "nb"},
    "nb, characters": {"arch": "nb", "model": CHARACTERS},
    "bow": {"arch": "bow"},
}


def fitted(config: RunConfig, tables: Tables, rows: Table, asked: Table) -> tuple[Predictions, float]:
    """Answers to `asked` of a model of `rows`, and the CPU seconds that learning took."""
    tables.train = rows
    began = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        train(config, Path(folder) / "run", tables=tables, baseline=False)
        seconds = time.process_time() - began
        return predict(Classifier.load(Path(folder) / "run"), asked), seconds


def folds(config: RunConfig, tables: Tables) -> tuple[list[Predictions], float]:
    """Answers to each tenth by a model of the other nine, and the CPU seconds in all."""
    whole = tables.train
    order = np.random.Generator(np.random.PCG64([42])).permutation(len(whole))
    answers, seconds = [], 0.0
    for fold in range(FOLDS):
        held = np.zeros(len(whole), dtype=bool)
        held[order[fold::FOLDS]] = True
        rest, asked = (whole.take(np.flatnonzero(part)) for part in (~held, held))
        answer, taken = fitted(config, tables, rest, asked)
        answers.append(answer)
        seconds += taken
    return answers, seconds


def main() -> int:
    data = data_folder()
    out: list[dict[str, Any]] = []
    for name, source, where, test, test_where in SETS:
        asked = None if test is None else read_table(data / test, where=test_where)
        for model, tree in MODELS.items():
            of_data = {"train": str(data / source), "where": where, "valid_share": 0.0}
            config = resolve(tree, {"data": of_data})
            tables = Tables(config.data)
            if asked is None:
                answers, seconds = folds(config, tables)
            else:
                answer, seconds = fitted(config, tables, tables.train, asked)
                answers = [answer]
            n_rows = sum(len(answer) for answer in answers)
            found = {
                key: sum(float(scores(answer)[key] or 0.0) * len(answer) for answer in answers) / n_rows
                for key in ("accuracy", "macro_f1")
            }
            out.append({"set": name, "model": model, "rows": n_rows, "cpu_seconds": seconds, **found})
            print(out[-1], flush=True)
    RUNS.mkdir(parents=True, exist_ok=True)
    (RUNS / "other.json").write_text(json.dumps({"name": "other", "sets": out}, indent=1) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
