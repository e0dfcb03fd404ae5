"""How fast `senti export --numpy` answers 10,000 texts, compared with the run, and whether it answers alike.

    python benches/models/numpy_export.py          # minutes
    python benches/models/numpy_export.py bow      # one architecture

Each run is trained on other rows of the tweets, with the defaults of `senti train`, and exported. Both sides
then answer the same texts, alternately, in one process with one thread; the best of several rounds counts.
CPU seconds are those of the process. Bars: the same label for every text, probabilities within 1e-6, and at
least 10,000 texts in a CPU second. Exits with 1 where one is missed.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from parts import FILES
from result import append, data_folder
from threadpoolctl import threadpool_limits

from sentimodels import Classifier
from sentimodels.data import read_table
from sentimodels.data.writers import write_table
from sentimodels.export.numpy.folder import TOLERANCE, answers_of, export_numpy
from sentimodels.models import ARCHITECTURES
from sentimodels.runs.execute import train
from sentimodels.runs.families import resolve

COMMAND = "python benches/models/numpy_export.py"
TRAINED_ON, ASKED, ROUNDS = 10_000, 10_000, 4
HELD = [name for name, row in ARCHITECTURES.items() if row.in_numpy]


def best_of_both(*calls: Callable[[], Any]) -> list[float]:
    """Returns the least CPU seconds of each call; calls alternate."""
    least = [float("inf")] * len(calls)
    for _ in range(ROUNDS):
        for place, call in enumerate(calls):
            began = time.process_time()
            call()
            least[place] = min(least[place], time.process_time() - began)
    return least


def measured(arch: str, data: Path) -> dict[str, Any]:
    """Trains and exports a run; returns the speed of both sides, and how far they are from each other."""
    table = read_table(data / FILES["tweets"])
    asked = table.texts[-ASKED:]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_table(table.take(range(TRAINED_ON)), folder / "rows.csv")
        tree = {"arch": arch, "data": {"train": str(folder / "rows.csv")}, "train": {"threads": 1}}
        train(resolve(tree), folder / "run", baseline=False)
        export_numpy(folder / "run", folder / "out", asked[:100])
        ours, run = answers_of(folder / "out"), Classifier.load(folder / "run")
        found, expected = ours(asked), run.predict_proba(asked)
        seconds = best_of_both(lambda: ours(asked), lambda: run.predict_proba(asked))
        size = sum(path.stat().st_size for path in (folder / "out").iterdir())
    return {
        "texts": len(asked),
        "worst": float(np.abs(found - expected).max()),
        "labels_differ": int((found.argmax(1) != expected.argmax(1)).sum()),
        "texts_per_second": len(asked) / seconds[0],
        "times_the_run": seconds[1] / seconds[0],
        "bytes": size,
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("archs", nargs="*", choices=[*HELD, []], help="architectures; all without it")
    given = parser.parse_args()
    torch.set_num_threads(1)
    threadpool_limits(1)  # of numpy: CPU seconds count threads that wait
    code = 0
    for arch in given.archs or HELD:
        one = measured(arch, data_folder())
        is_fast = one["texts_per_second"] >= 10_000
        is_met = one["worst"] <= TOLERANCE and not one["labels_differ"] and is_fast
        settings = {"arch": arch, "trained_on": TRAINED_ON, "asked": ASKED}
        append(f"numpy:{arch}", COMMAND, settings, one)
        print(arch, "met" if is_met else "MISSED", one, flush=True)
        code = code if is_met else 1
    return code


if __name__ == "__main__":
    sys.exit(main())
