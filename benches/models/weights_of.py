"""Trains rows of the page on few rows of their sets; prints hashes of weights and of answers on dev.

A process of its own, so that `unchanged.py` can run it with the package of any commit. Not for
scores: these are hashes alone.
"""

import hashlib
import json
import os
import sys
import tempfile
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


def tried(of_set: str, tree: Tree, limit: int, data: Path) -> dict[str, str] | None:
    """The same; `None` of a row that this code cannot train, which has no results then."""
    try:
        return hashes(of_set, tree, limit, data)
    except SentiError as error:
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
