"""Whether ONNX graphs answer as the runs they were exported from: 10,000 real texts, every architecture.

    python benches/models/onnx_equal.py            # minutes
    python benches/models/onnx_equal.py gpt        # one architecture

Bar: the same label for every text and probabilities within 1e-4. The texts are of the data folder, in two
scripts and of one word to hundreds; each run is trained on other rows for some steps, since equality is
that of graphs, not of scores. `tests/sentimodels/test_onnx.py` tests the refusals.
Exits with 1 where a graph differs.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from parts import FILES
from result import append, data_folder

from sentimodels.data import Table, read_table
from sentimodels.data.writers import write_table
from sentimodels.errors import ExportError
from sentimodels.export.onnx.folder import TOLERANCE, export_onnx
from sentimodels.models import ARCHITECTURES
from sentimodels.runs.execute import train
from sentimodels.runs.families import resolve

COMMAND = "python benches/models/onnx_equal.py"
# Texts that are answered, from the end of each file; training texts are from the beginning.
ASKED = {
    FILES["tweets"]: 6_000, FILES["kaggle"]: 2_800,
    FILES["chinese"]: 1_000, FILES["imdb"]: 200,
}  # fmt: skip
TRAINED_ON, STEPS = 1_000, 60


HELD = [name for name, row in ARCHITECTURES.items() if not row.not_in_onnx]


def texts(data: Path) -> tuple[Table, list[str]]:
    """Returns rows to train on, and the texts that are asked."""
    tables = [read_table(data / name) for name in ASKED]
    asked = [text for table, n in zip(tables, ASKED.values(), strict=True) for text in table.texts[-n:]]
    return tables[0].take(range(TRAINED_ON)), asked


def settings_of(arch: str) -> dict[str, Any]:
    """Returns what decides how far a graph is from its model."""
    return {"arch": arch, "steps": STEPS, "trained_on": TRAINED_ON, "asked": ASKED}


def measured(arch: str, rows: Table, asked: list[str]) -> dict[str, Any]:
    """Trains and exports a run; returns how far its graph is from it."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.csv"
        write_table(rows, file)
        tree = {"arch": arch, "data": {"train": str(file)}, "train": {"max_steps": STEPS, "epochs": 10}}
        train(resolve(tree), Path(folder) / "run", baseline=False)
        began = time.perf_counter()
        try:
            about = export_onnx(Path(folder) / "run", Path(folder) / "onnx", asked)
        except ExportError as error:
            return {"failed": str(error)}
        size = (Path(folder) / "onnx" / "model.onnx").stat().st_size
    return {**about["compared"], "seconds": time.perf_counter() - began, "bytes": size}


def main() -> int:
    import onnxruntime

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("archs", nargs="*", choices=[*HELD, []], help="architectures; all without it")
    given = parser.parse_args()
    torch.set_num_threads(1)
    rows, asked = texts(data_folder())
    code = 0
    for arch in given.archs or HELD:
        one = measured(arch, rows, asked)
        is_equal = "failed" not in one and one["worst"] <= TOLERANCE and not one["labels_differ"]
        append(f"onnx:{arch}", COMMAND, settings_of(arch), one, onnxruntime=onnxruntime.__version__)
        print(arch, "equal" if is_equal else "DIFFERS", one, flush=True)
        code = code if is_equal else 1
    return code


if __name__ == "__main__":
    sys.exit(main())
