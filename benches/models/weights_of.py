"""Trains a row on few rows of its set and prints hashes of the weights and of the answers on dev.

A process of its own, so that `unchanged.py` can run it with the package of any commit. Not for
scores: these are hashes alone.
"""

import hashlib
import json
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
from parts import SETS, Parts
from safetensors.numpy import load_file
from train_one import configured, trained

from sentimodels.classifier import Classifier
from sentimodels.data import Table
from sentimodels.evaluation.predictions import predict


def some(table: Table, limit: int) -> Table:
    """At most `limit` rows, in equal steps from the first: labels differ from part to part of a file."""
    return table.take(range(0, len(table), -(-len(table) // limit)))


def main() -> None:
    job = json.loads(sys.argv[1])
    root = Path(__file__).resolve().parent.parent.parent
    data = Path(os.environ.get("SENTITOK_DATA", root.parent / "shared" / "data"))
    first = SETS[job["set"]](data)[0]
    parts = Parts(some(first.train, job["limit"]), some(first.dev, job["limit"]), first.sealed)
    with tempfile.TemporaryDirectory() as folder:
        trained(configured(job["tree"], 0, data), parts, Path(folder))
        run = Path(folder) / "run"
        tensors = load_file(run / "model.safetensors").values()
        # Names may change where numbers do not.
        hashes = sorted(
            hashlib.sha256(
                f"{value.shape} {value.dtype}".encode() + np.ascontiguousarray(value).tobytes()
            ).hexdigest()
            for value in tensors
        )
        answers = predict(Classifier.load(run), parts.dev)
    print(json.dumps({
        "tensors": hashlib.sha256("".join(hashes).encode()).hexdigest(),
        "answers": hashlib.sha256(np.ascontiguousarray(answers.probs).tobytes()).hexdigest(),
    }))  # fmt: skip


if __name__ == "__main__":
    main()
