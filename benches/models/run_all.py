"""Trains every architecture on the Kaggle phrases and writes docs/results.md.

    python benches/models/run_all.py                    # all rows, one seed
    python benches/models/run_all.py --seeds 5 tfidf bow
    python benches/models/run_all.py --table            # only the table, of what was run before
    python benches/models/run_all.py --small            # two minutes: few rows, small sizes, no table

Each run is a process of its own; its result stays in runs/bench, so that a stopped benchmark
goes on where it was. Ends with exit code 1 if a row is below its bar. Times are wall clock:
another program beside it is in them, and the page says so.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import mixtures
from results_table import NAMES, Result, Results, write
from rows import ROWS, SEEDS, SMALL, Tree, file_name

ROOT = Path(__file__).resolve().parent.parent.parent
RUNS = ROOT / "runs" / "bench"
TARGET = ROOT / "docs" / "results.md"


def data_folder() -> Path:
    return Path(os.environ.get("SENTITOK_DATA", ROOT.parent / "shared" / "data"))


def result(path: Path) -> Result:
    found: Result = json.loads(path.read_text("utf-8"))
    return found


def run(runs: Path, name: str, tree: Tree, seed: int, limit: int | None = None) -> Result:
    """Runs one job unless its result is in `runs`; returns the result."""
    out = runs / f"{file_name(name, seed)}.json"
    if out.exists():
        print(f"{name}, seed {seed}: there already ({out.name})", flush=True)
        return result(out)
    folder = out.with_suffix("")
    shutil.rmtree(folder, ignore_errors=True)
    job = {
        "name": name,
        "tree": tree,
        "seed": seed,
        "run": str(folder),
        "data": str(data_folder()),
        "limit": limit,
    }
    print(f"{name}, seed {seed} ...", flush=True)
    code = [sys.executable, str(Path(__file__).with_name("train_one.py")), json.dumps(job), str(out)]
    subprocess.run(code, check=True)
    found = result(out)
    print(f"  valid {found['valid']['accuracy']:.4f}, kaggle {found['kaggle']['accuracy']:.4f}, "
          f"{found['seconds']:.0f} s", flush=True)  # fmt: skip
    return found


def small(names: list[str]) -> list[str]:
    """Runs the quick version of these rows; returns those below their bars, one sentence each."""
    missed = []
    trees = dict(ROWS)
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            asked = SMALL[name]
            found = run(Path(folder), name, trees[name] | asked.change, 0, asked.limit)
            if (reached := found["valid"]["accuracy"]) < asked.least:
                missed.append(f"{name}, small: valid accuracy {reached:.4f}, bar {asked.least}")
    return missed


def results() -> Results:
    """Returns what was run or mixed, by row, in the order of the table."""
    found: Results = {}
    every = [result(path) for path in sorted(RUNS.glob("*-seed-*.json"))]
    for name in NAMES:
        of_row = sorted((r for r in every if r["name"] == name), key=lambda r: int(r["seed"]))
        if of_row:
            found[name] = of_row
    return found


def told(missed: list[str]) -> int:
    """Says which bars were missed; returns the exit code."""
    for line in missed:
        print(f"below its bar: {line}")
    return 1 if missed else 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("rows", nargs="*", help="rows to run; all by default")
    parser.add_argument("--seeds", type=int, default=1, help="seeds 0 to N - 1; 5 at least for tfidf, bow")
    parser.add_argument("--table", action="store_true", help="only write the table")
    parser.add_argument("--small", action="store_true", help="small sizes and few rows, against bars")
    asked = parser.parse_args()
    names = list(SMALL) if asked.small else [name for name, _ in ROWS]
    unknown = [name for name in asked.rows if name not in names]
    if unknown:
        parser.error(f"no row {unknown[0]!r}; there are: {'; '.join(names)}")
    if not data_folder().is_dir():
        parser.error(f"no data sets at {data_folder()}; set SENTITOK_DATA to their folder")
    if asked.small:
        return told(small(asked.rows or names))
    RUNS.mkdir(parents=True, exist_ok=True)
    if not asked.table:
        for name, tree in ROWS:
            if name in (asked.rows or names):
                for seed in range(max(asked.seeds, SEEDS.get(name, 1))):
                    run(RUNS, name, tree, seed)
    if not results():
        parser.error(f"nothing was run yet: {RUNS} is empty")
    mixtures.make(RUNS, data_folder())
    missed = write(results(), RUNS, TARGET)
    print(f"written: {TARGET}")
    return told(missed)


if __name__ == "__main__":
    sys.exit(main())
