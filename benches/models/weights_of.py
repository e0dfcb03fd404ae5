"""Trains rows of the page on few rows of their sets; prints hashes of weights and of answers on dev.

A process of its own, so that `unchanged.py` can run it with the package of any commit. Not for
scores: these are hashes alone.
"""

import hashlib
import json
import os
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

from parts import SETS, Parts
from rows import Tree
from safetensors.numpy import load_file
from train_one import configured, trained

from sentimodels.classifier import Classifier
from sentimodels.data import Table
from sentimodels.errors import SentiError
from sentimodels.evaluation.predictions import predict


def some(table: Table, limit: int) -> Table:
    """At most `limit` rows, in equal steps from the first: labels differ from part to part of a file."""
    return table.take(range(0, len(table), -(-len(table) // limit)))


def hashes(of_set: str, tree: Tree, limit: int, data: Path) -> dict[str, str]:
    first = SETS[of_set](data)[0]
    parts = Parts(some(first.train, limit), some(first.dev, limit), first.sealed)
    with tempfile.TemporaryDirectory() as folder:
        if tree.get("task", {}).get("kind") == "distillation":
            run = learned(tree, parts, Path(folder), data)
        else:
            trained(configured(tree, 0, data), parts, Path(folder))
            run = Path(folder) / "run"
        tensors = load_file(run / "model.safetensors").values()
        answers = predict(Classifier.load(run), parts.dev)
    # Names may change where numbers do not.
    each = sorted(
        hashlib.sha256(f"{value.shape} {value.dtype}".encode() + value.tobytes()).hexdigest()
        for value in tensors
    )
    return {
        "tensors": hashlib.sha256("".join(each).encode()).hexdigest(),
        "answers": hashlib.sha256(answers.probs.tobytes()).hexdigest(),
    }


def learned(tree: Tree, parts: Parts, folder: Path, data: Path) -> Path:
    """Trains a bag of words, and a student of it on the labelled rows and about as many unlabelled texts."""
    # Here, as the packages of earlier commits have no students.
    from distill import more, taught

    from sentimodels.data.labels import Labels
    from sentimodels.distillation import distill
    from sentimodels.runs.tables import Tables
    from sentimodels.runs.train import train

    train(configured({"arch": "bow"}, 0, data), folder / "teacher", tables=Tables.of(parts.train, parts.dev),
          baseline=False)  # fmt: skip
    texts = [f"{text} , {other}" for text, other in pairwise(parts.train.texts)]
    config = configured(taught(tree, folder / "teacher"), 0, data)
    labels = Labels.from_values(parts.train.labelled())
    tables = Tables.of(more(parts.train, texts), parts.dev, labels=labels)
    distill(config, folder / "run", tables=tables, baseline=False)
    return folder / "run"


def tried(of_set: str, tree: Tree, limit: int, data: Path) -> dict[str, str] | None:
    """The same; `None` of a row that this code cannot train, which has no results then."""
    try:
        return hashes(of_set, tree, limit, data)
    except (SentiError, ImportError) as error:
        print(f"weights_of.py: {error}", file=sys.stderr)
        return None


def main() -> None:
    job = json.loads(sys.argv[1])
    root = Path(__file__).resolve().parent.parent.parent
    data = Path(os.environ.get("SENTITOK_DATA", root.parent / "shared" / "data"))
    rows = job["rows"].items()
    print(json.dumps({name: tried(of_set, tree, job["limit"], data) for name, (of_set, tree) in rows}))


if __name__ == "__main__":
    main()
