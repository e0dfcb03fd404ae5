"""Measures rows of classifiers and appends one line a run to `results.jsonl`.

    python benches/models/run.py --list              # rows, seeds, planned minutes, last measurement
    python benches/models/run.py kaggle:bow tweets   # a row, or all rows of a set, all seeds
    python benches/models/run.py kaggle:bow --seed 0
    python benches/models/run.py mr                  # the recipe that the other sets chose on dev
    python benches/models/run.py mixture             # members chosen among the answers in runs/bench
    python benches/models/run.py --small             # two minutes: few rows, small sizes, nothing is written

Each run is a process with one thread (`--jobs 2` has two at a time). Rows choose on dev and are judged once
on the sealed part; while it runs, only scores on dev are printed. `table.py` prints the results.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from parts import Parts, kaggle
from result import RESULTS, ROOT, append, data_folder, latest
from rows import CHOOSES_FOR_MR, CHOSEN, SETS, SMALL, Row, Tree, rows_of

from sentimodels.data import Table

ANSWERS = ROOT / "runs" / "bench"


@dataclass(frozen=True)
class Job:
    """One row with one seed."""

    of_set: str
    name: str
    row: Row
    seed: int

    @property
    def title(self) -> str:
        return f"{self.of_set}:{self.name}"

    @property
    def answers(self) -> Path:
        """Where its answers are kept for the mixture, without suffix."""
        name = self.name.replace(" + ", "+").replace(", ", "-").replace(" ", "-")
        return ANSWERS / self.of_set / f"{name}-seed-{self.seed}"


def jobs(asked: Iterable[str], seed: int | None = None) -> list[Job]:
    """Returns the jobs of rows, `set:row`, or of whole sets."""
    chosen = []
    for one in asked:
        of_set, _, name = one.partition(":")
        there = rows_of(of_set)
        if not there or (name and name not in there):
            known = "; ".join(there) or ", ".join([*SETS, "mr", "mixture"])
            raise SystemExit(f"run.py: no {one!r}; there are: {known}")
        for row_name, row in there.items():
            if name in ("", row_name):
                seeds = range(row.seeds) if seed is None else (seed,)
                chosen += [Job(of_set, row_name, row, number) for number in seeds]
    return chosen


def run(job: Job, data: Path, to: Path) -> None:
    """Runs a job in its own process, on one thread, and appends its result."""
    about = {
        "set": job.of_set, "row": job.name, "seed": job.seed, "tree": job.row.tree, "data": str(data),
        "answers": str(job.answers) if job.of_set == "kaggle" else None,
    }  # fmt: skip
    code = [sys.executable, str(Path(__file__).with_name("train_one.py")), json.dumps(about)]
    # Some libraries read their number of threads from here alone.
    limits = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    done = subprocess.run(code, env={**os.environ, **limits}, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        print(f"{job.title}, seed {job.seed}: failed", file=sys.stderr, flush=True)
        return
    made = json.loads(done.stdout.splitlines()[-1])
    scores, cost = made.pop("scores"), made.pop("cost")
    command = f"python benches/models/run.py '{job.title}'"
    append(
        job.title, command, job.row.tree, scores,
        seed=job.seed, seconds=cost["cpu_seconds"], to=to, cost=cost, **made,
    )  # fmt: skip
    reached, seconds = scores["dev"]["accuracy"], cost["cpu_seconds"]
    print(f"{job.title}, seed {job.seed}: dev {reached:.4f}, {seconds:.0f} CPU s", flush=True)


def chosen_for_mr(to: Path) -> str:
    """Returns the row that is best on dev of the other sets, in the mean; dev of MR has no say.

    Raises:
        SystemExit: if a row of those sets is not measured.
    """
    found = latest(to)
    means = {}
    for name in rows_of(CHOOSES_FOR_MR[0]):
        reached = []
        for job in jobs(f"{of_set}:{name}" for of_set in CHOOSES_FOR_MR):
            if (job.title, job.seed) not in found:
                raise SystemExit(f"run.py: mr: its recipe is chosen by {job.title}; run that first")
            reached.append(found[job.title, job.seed]["scores"]["dev"]["accuracy"])
        means[name] = fmean(reached)
    return max(means, key=lambda name: means[name])


def fewer(parts: Parts, limit: int | None) -> Parts:
    """Keeps at most `limit` rows, in equal steps: labels differ from part to part of a file."""

    def some(table: Table) -> Table:
        return table if limit is None else table.take(range(0, len(table), -(-len(table) // limit)))

    return Parts(some(parts.train), some(parts.dev), parts.sealed)


def small(names: list[str]) -> int:
    """Runs the quick version of these rows; returns 1 if one is below its bar."""
    from train_one import configured, scored, trained

    from sentimodels.classifier import Classifier
    from sentimodels.evaluation.predictions import predict

    (parts,) = kaggle(data_folder())
    trees: dict[str, Tree] = {row.name: row.tree for row in SETS["kaggle"]}
    code = 0
    for name in names:
        asked = SMALL[name]
        some = fewer(parts, asked.limit)
        config = configured(trees[name] | asked.change, 0, data_folder())
        with tempfile.TemporaryDirectory() as folder:
            trained(config, some, Path(folder))
            reached = scored(predict(Classifier.load(Path(folder) / "run"), some.dev))["accuracy"]
        met = reached >= asked.least
        code = code if met else 1
        print(f"{name}, small: dev {reached:.4f}, {'met' if met else 'missed'} (at least {asked.least})")
    return code


def listed(to: Path) -> None:
    """Prints each row with its seeds, planned minutes and last measurement."""
    found = latest(to)
    for job in jobs(SETS):
        result = found.get((job.title, job.seed))
        when = "not measured" if result is None else f"{result['date'][:10]}, commit {result['commit'][:9]}"
        print(f"{job.title}, seed {job.seed}: some {job.row.minutes:g} minutes; {when}")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("rows", nargs="*", metavar="ROW", help="SET, SET:ROW, mr or mixture")
    parser.add_argument("--seed", type=int, help="this seed alone")
    parser.add_argument("--jobs", type=int, default=1, help="runs in parallel")
    parser.add_argument("--list", action="store_true", help="print the rows, measure nothing")
    parser.add_argument("--small", action="store_true", help="small sizes and few rows; writes nothing")
    parser.add_argument("--file", type=Path, default=RESULTS, help="where lines are appended")
    asked = parser.parse_args()
    data = data_folder()
    if asked.list:
        listed(asked.file)
        return 0
    if not data.is_dir():
        parser.error(f"no data sets at {data}; set SENTITOK_DATA to their folder")
    if asked.small:
        return small(asked.rows or list(SMALL))
    if not asked.rows:
        parser.error("name rows to measure, as in kaggle:bow; --list prints them")
    todo = jobs([one for one in asked.rows if one not in ("mr", "mixture")], asked.seed)
    if "mr" in asked.rows:
        recipe = rows_of(CHOOSES_FOR_MR[0])[chosen_for_mr(asked.file)]
        todo.append(Job("mr", CHOSEN, Row(CHOSEN, recipe.tree, 10, draws=False), 0))
    with ThreadPoolExecutor(asked.jobs) as pool:
        list(pool.map(lambda job: run(job, data, asked.file), todo))
    if "mixture" in asked.rows:
        import mixtures

        mixtures.make(asked.file, data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
