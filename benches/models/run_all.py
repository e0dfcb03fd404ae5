"""Runs the evidence for classifiers, row by row, and writes the pages.

    python benches/models/run_all.py --list                 # what is measured, what is not, minutes
    python benches/models/run_all.py kaggle:bow tweets      # a row, or all rows of a set, all seeds
    python benches/models/run_all.py                        # all that is missing or stale: hours
    python benches/models/run_all.py kaggle --answers       # and runs whose answers the mixture lacks
    python benches/models/run_all.py --pages                # docs/results.md and the table of docs/senti.md
    python benches/models/run_all.py --small                # two minutes: few rows, small sizes

Each run is a process of its own on one thread (`--jobs 2` has two at a time); its result is a file in
benches/models/results, so that a stopped benchmark goes on where it was. While it runs only scores on
dev are printed. Pages are made from result files alone, and from none that is stale. Ends with exit
code 1 if a bar that is a gate is missed.
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

import bars_page
import results_page
from bars import Results
from judged import all_judged, others
from markdown import MISSED
from parts import Parts, fingerprints, kaggle
from result import RESULTS, ROOT, changed, data_folder, path_of, read, stale
from rows import AGAIN, CHOOSES_FOR_MR, CHOSEN, SETS, SMALL, Row, Tree, rows_of

from sentimodels.data import Table
from sentimodels.runs.config import resolve

ANSWERS = ROOT / "runs" / "bench"


@dataclass(frozen=True)
class Job:
    """One row with one seed."""

    of_set: str
    name: str
    row: Row
    seed: int

    @property
    def path(self) -> Path:
        return path_of(RESULTS, self.of_set, self.name, self.seed)

    @property
    def command(self) -> str:
        return f"python benches/models/run_all.py '{self.of_set}:{self.name}'"


def jobs(asked: Iterable[str]) -> list[Job]:
    """Returns the jobs of rows, `set:row`, or of whole sets; all of them where none is named."""
    wanted = list(asked) or list(SETS)
    chosen = []
    for one in wanted:
        of_set, _, name = one.partition(":")
        there = rows_of(of_set)
        if not there or (name and name not in there):
            known = "; ".join(there) or ", ".join(SETS)
            raise SystemExit(f"run_all.py: no {one!r}; there are: {known}")
        for row_name, row in there.items():
            if name in ("", row_name):
                chosen += [Job(of_set, row_name, row, seed) for seed in range(row.seeds)]
    return chosen


def why_not(job: Job, data: Path) -> list[str] | None:
    """Returns why the result of a job is stale; `None` if there is none."""
    if not job.path.is_file():
        return None
    return stale(read(job.path), resolve(job.row.tree), fingerprints(job.of_set, data))


def run(job: Job, data: Path, limits: dict[str, str]) -> None:
    """Runs a job in a process of its own."""
    answers = ANSWERS / job.path.relative_to(RESULTS).with_suffix("")
    about = {
        "set": job.of_set, "row": job.name, "seed": job.seed, "tree": job.row.tree, "data": str(data),
        "answers": str(answers) if job.of_set == "kaggle" else None, "command": job.command,
    }  # fmt: skip
    code = [sys.executable, str(Path(__file__).with_name("train_one.py")), json.dumps(about), str(job.path)]
    done = subprocess.run(code, env={**os.environ, **limits}, check=False)
    if done.returncode:
        print(f"{job.of_set}:{job.name}, seed {job.seed}: failed", file=sys.stderr, flush=True)
        return
    result = read(job.path)
    print(f"{job.of_set}:{job.name}, seed {job.seed}: dev {result['scores']['dev']['accuracy']:.4f}, "
          f"{result['cost']['cpu_seconds']:.0f} CPU s", flush=True)  # fmt: skip


def lacks_answers(job: Job) -> bool:
    """Whether the mixture may have this run, and its answers are not there."""
    import mixtures

    member = job.of_set == "kaggle" and mixtures.can_be_member(job.name)
    return member and not mixtures.answered(read(job.path), ANSWERS)


def work(asked: list[Job], data: Path, n_jobs: int, *, answers: bool = False) -> None:
    """Runs the jobs whose result is missing or stale; with `answers` those that lack answers as well."""
    left = []
    for job in asked:
        reasons = why_not(job, data)
        if reasons == [] and not (answers and lacks_answers(job)):
            print(f"{job.of_set}:{job.name}, seed {job.seed}: there already", flush=True)
            continue
        if touched := changed(resolve(job.row.tree).arch):
            raise SystemExit(
                f"run_all.py: {', '.join(touched)}: changed since the commit, and a result must be of a "
                "commit; type: git commit"
            )
        left.append(job)
    # One thread each, for libraries that read it from here alone.
    limits = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    with ThreadPoolExecutor(n_jobs) as pool:
        list(pool.map(lambda job: run(job, data, limits), left))


def collected(data: Path) -> tuple[Results, dict[str, list[str]]]:
    """Returns the results that count, by row, and why each stale file does not."""
    by_row: Results = {}
    refused: dict[str, list[str]] = {}
    for job in jobs([]):
        reasons = why_not(job, data)
        if reasons == []:
            by_row.setdefault((job.of_set, job.name), []).append(read(job.path))
        elif reasons:
            refused[f"{job.path.relative_to(ROOT)}"] = [*reasons, f"type: {job.command}"]
    import mixtures

    mixtures.add(by_row, refused, RESULTS)
    return by_row, refused


def chosen_for_mr(by_row: Results) -> str | None:
    """Returns the row that is best on dev of the other sets; `None` until all seeds of all are there.

    Dev of MR has no say, nor has any sealed part.
    """
    from statistics import fmean

    names = list(rows_of(CHOOSES_FOR_MR[0]))
    means = {}
    for name in names:
        of_row = [by_row.get((of_set, name), []) for of_set in CHOOSES_FOR_MR]
        if any(
            len(results) < rows_of(of_set)[name].seeds
            for of_set, results in zip(CHOOSES_FOR_MR, of_row, strict=True)
        ):
            return None
        means[name] = fmean(fmean(r["scores"]["dev"]["accuracy"] for r in results) for results in of_row)
    return max(names, key=lambda name: means[name])


def mr_job(by_row: Results) -> Job | None:
    """The one run on MR, with the recipe that other sets chose."""
    name = chosen_for_mr(by_row)
    if name is None:
        return None
    return Job("mr", CHOSEN, Row(CHOSEN, rows_of(CHOOSES_FOR_MR[0])[name].tree, 10, draws=False), 0)


def listed(data: Path) -> None:
    """Says of each row how many of its seeds are there, what is still to be spent, and what was."""
    left = spent = 0.0
    for of_set in SETS:
        for name, row in rows_of(of_set).items():
            asked = jobs([f"{of_set}:{name}"])
            of_row = [why_not(job, data) for job in asked]
            spent += sum(float(read(job.path)["cost"]["cpu_seconds"]) for job in asked if job.path.is_file())
            good = sum(reasons == [] for reasons in of_row)
            minutes = (row.seeds - good) * row.minutes * (2 if name.endswith(AGAIN) else 1)
            left += minutes
            old = sum(bool(reasons) for reasons in of_row)
            state = f"{good} of {row.seeds} seeds" + (f", {old} stale" if old else "")
            print(f"{of_set}:{name}: {state}" + (f", some {minutes:.0f} minutes" if minutes else ""))
    print(
        f"left: some {left:.0f} minutes of one core; what is there took {spent / 3600:.1f} hours of one core"
    )


def fewer(parts: Parts, limit: int | None) -> Parts:
    """At most `limit` rows, in equal steps from the first: labels differ from part to part of a file."""

    def some(table: Table) -> Table:
        return table if limit is None else table.take(range(0, len(table), -(-len(table) // limit)))

    return Parts(some(parts.train), some(parts.dev), parts.sealed)


def small(names: list[str]) -> list[str]:
    """Runs the quick version of these rows; returns those below their bars, one sentence each."""
    from train_one import configured, scored, trained

    from sentimodels.classifier import Classifier
    from sentimodels.evaluation.predictions import predict

    (parts,) = kaggle(data_folder())
    trees: dict[str, Tree] = {row.name: row.tree for row in SETS["kaggle"]}
    missed = []
    for name in names:
        asked = SMALL[name]
        some = fewer(parts, asked.limit)
        config = configured(trees[name] | asked.change, 0, data_folder())
        with tempfile.TemporaryDirectory() as folder:
            trained(config, some, Path(folder))
            reached = scored(predict(Classifier.load(Path(folder) / "run"), some.dev))["accuracy"]
        print(f"{name}, seed 0: dev {reached:.4f}", flush=True)
        if reached < asked.least:
            missed.append(f"{name}, small: dev accuracy {reached:.4f}, bar {asked.least}")
    return missed


def pages(data: Path) -> int:
    """Writes the pages; returns the exit code."""
    import origins

    by_row, refused = collected(data)
    if (job := mr_job(by_row)) is not None and (reasons := why_not(job, data)) is not None:
        if reasons:
            refused[str(job.path.relative_to(ROOT))] = [*reasons, "type: python benches/models/run_all.py mr"]
        else:
            by_row["mr", CHOSEN] = [read(job.path)]
    outdated = origins.refused(RESULTS)
    for name, reasons in {**refused, **outdated}.items():
        print(f"refused {name}: {'; '.join(reasons)}", file=sys.stderr)
    if outdated:
        print(f"no page is written: measure {', '.join(outdated)} again, or delete them", file=sys.stderr)
        return 1
    beside = others(RESULTS)
    for path in results_page.write(by_row, chosen_for_mr(by_row), beside):
        print(f"written: {path}")
    missed = [one for one in all_judged(by_row, beside) if one.word == MISSED and one.bar.gate]
    for one in missed:
        print(f"missed: {bars_page.line(one)}")
    return 1 if missed else 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("rows", nargs="*", help="SET, SET:ROW, mixture or mr; all by default")
    parser.add_argument("--jobs", type=int, default=1, help="runs side by side")
    parser.add_argument(
        "--answers", action="store_true", help="run finished rows again whose answers are not in runs/bench"
    )
    parser.add_argument("--list", action="store_true", help="only say what is there and what is not")
    parser.add_argument("--pages", action="store_true", help="only write the pages")
    parser.add_argument("--small", action="store_true", help="small sizes and few rows, against bars")
    asked = parser.parse_args()
    data = data_folder()
    if not data.is_dir():
        parser.error(f"no data sets at {data}; set SENTITOK_DATA to their folder")
    if asked.small:
        for line in (missed := small(asked.rows or list(SMALL))):
            print(f"below its bar: {line}")
        return 1 if missed else 0
    if asked.list:
        listed(data)
        return 0
    if asked.pages:
        return pages(data)
    named = [one for one in asked.rows if one not in ("mixture", "mr")]
    if named or not asked.rows:
        work(jobs(named), data, asked.jobs, answers=asked.answers)
    if "mr" in asked.rows or not asked.rows:
        job = mr_job(collected(data)[0])
        if job is None:
            print(f"mr: its recipe is chosen on {', '.join(CHOOSES_FOR_MR)}; run these first")
        else:
            work([job], data, 1)
    if "mixture" in asked.rows or not asked.rows:
        import mixtures

        mixtures.make(collected(data)[0], RESULTS, ANSWERS, data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
