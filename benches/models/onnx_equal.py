"""Whether ONNX graphs answer as the runs they were exported from: 10,000 real texts, every architecture.

    python benches/models/onnx_equal.py            # minutes; architectures that are measured are kept
    python benches/models/onnx_equal.py gpt --again
    python benches/models/onnx_equal.py --pages    # writes the section of docs/benchmarks.md alone

Bar: the same label for every text and probabilities within 1e-4. The texts are of the data folder, in two
scripts and of one word to hundreds; each run is trained on other rows for some steps, since equality is
that of graphs, not of scores. Not for speed, nor for what is refused (`tests/sentimodels/test_onnx.py`).
Exits with 1 where a graph differs.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import result
import torch
from parts import FILES

from sentimodels.data import Table, read_table
from sentimodels.data.writers import write_table
from sentimodels.errors import ExportError
from sentimodels.onnx.folder import TOLERANCE, export_onnx
from sentimodels.onnx.graph import HOLDS
from sentimodels.runs.config import resolve
from sentimodels.runs.train import train

sys.path.insert(0, str(result.ROOT / "benches"))
import page
from measure import markdown

TARGET = result.RESULTS / "onnx.json"
PAGE = result.ROOT / "docs" / "benchmarks.md"
COMMAND = "python benches/models/onnx_equal.py"
# Texts that are asked, from the end of each file; those that are trained on, from the beginning.
ASKED = {
    FILES["tweets"]: 6_000, FILES["kaggle"]: 2_800,
    FILES["chinese"]: 1_000, FILES["imdb"]: 200,
}  # fmt: skip
TRAINED_ON, STEPS = 1_000, 60


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


def section(record: dict[str, Any]) -> str:
    """Returns the section of the page, from the result file alone."""
    rows = []
    for arch in HOLDS:
        one = record["archs"].get(arch)
        if one is None or "failed" in one:
            rows.append([f"`{arch}`", "-", "-", "-", "not measured" if one is None else "**missed**"])
            continue
        met = one["worst"] <= TOLERANCE and not one["labels_differ"]
        rows.append(
            [f"`{arch}`", f"{one['texts']:,}", str(one["labels_differ"]), f"{one['worst']:.1e}",
             "met" if met else "**missed**"]
        )  # fmt: skip
    names = ", ".join(f"{n:,} of {Path(name).parent}" for name, n in ASKED.items())
    words = (
        f"Each run is trained for {STEPS} steps, exported by `senti export --onnx`, and asked {names} in "
        "batches of 1 to 32. A label counts as another where the two likeliest are further apart than "
        f"twice the tolerance, {TOLERANCE:g}. Bar: no other label, no probability further off than the "
        "tolerance.\n\n"
    )
    head = ["architecture", "texts", "other labels", "largest difference of a probability", "bar"]
    stamps = [one["stamp"] for one in record["archs"].values()]
    commits = ", ".join(sorted({str(one["commit"])[:9] for one in stamps}))
    dates = ", ".join(sorted({one["date"][:10] for one in stamps}))
    said = f"{dates}, commit {commits}. onnxruntime {record['onnxruntime']}. `{COMMAND}`."
    return f"## ONNX graphs\n\n{said}\n\n{words}{markdown(head, rows)}"


def main() -> int:
    import onnxruntime

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("archs", nargs="*", choices=[*HOLDS, []], help="architectures; all without it")
    parser.add_argument("--again", action="store_true", help="measure those that are there already")
    parser.add_argument("--pages", action="store_true", help="measure nothing")
    given = parser.parse_args()
    record = result.read(TARGET) if TARGET.is_file() else {"archs": {}}
    torch.set_num_threads(1)
    wanted = [] if given.pages else list(given.archs or HOLDS)
    wanted = [one for one in wanted if given.again or one not in record["archs"]]
    if wanted:
        rows, asked = texts(result.data_folder())
    for arch in wanted:
        load = result.load()
        one = measured(arch, rows, asked)
        record["archs"][arch] = {
            **one, **result.origin(settings_of(arch), ASKED), "stamp": result.stamp(arch, COMMAND, load),
        }  # fmt: skip
        record["onnxruntime"] = onnxruntime.__version__
        result.write(TARGET, record)
        print(arch, one, flush=True)
    PAGE.write_text(page.updated(PAGE.read_text("utf-8"), section(record)), encoding="utf-8")
    return int(any("failed" in one for one in record["archs"].values()))


if __name__ == "__main__":
    sys.exit(main())
