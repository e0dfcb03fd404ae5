"""Trains every architecture on the Kaggle phrases and writes docs/results.md.

    python benches/models/run_all.py                    # all rows, one seed
    python benches/models/run_all.py --seeds 5 tfidf bow
    python benches/models/run_all.py --table            # only the table, of what was run before

Each run is a process of its own; its result stays in runs/bench, so that a stopped benchmark
goes on where it was. Ends with exit code 1 if a row is below its bar. On one machine at a time:
times are wall clock, and another program beside it is in them.
"""

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
RUNS = ROOT / "runs" / "bench"
TARGET = ROOT / "docs" / "results.md"

# (name, configuration above the defaults of its architecture)
ROWS: list[tuple[str, dict[str, Any]]] = [
    ("tfidf", {"arch": "tfidf"}),
    ("nb", {"arch": "nb"}),
    ("bow", {"arch": "bow"}),
    ("cnn", {"arch": "cnn"}),
    ("rnn", {"arch": "rnn"}),
    ("gru", {"arch": "gru"}),
    ("lstm", {"arch": "lstm"}),
    ("lstm, one way, last", {"arch": "lstm", "model": {"bidirectional": False, "pooling": "last"}}),
    ("encoder", {"arch": "encoder"}),
    ("encoder, linear-elu", {"arch": "encoder", "model": {"attention": "linear-elu"}}),
    ("encoder, linear-softmax", {"arch": "encoder", "model": {"attention": "linear-softmax"}}),
    ("encoder, nystrom", {"arch": "encoder", "model": {"attention": "nystrom", "landmarks": 8}}),
    ("encoder, no positions", {"arch": "encoder", "model": {"positions": "none"}}),
    ("bert", {"arch": "bert"}),
    ("gpt", {"arch": "gpt"}),
    ("gpt, causal, last", {"arch": "gpt", "model": {"causal": True, "pooling": "last"}}),
    ("mamba", {"arch": "mamba"}),
]
# (row, place, score, at least): what the design asks for on two cores.
BARS: list[tuple[str, str, str, float]] = [
    ("tfidf", "valid", "accuracy", 0.602),
    ("tfidf", "kaggle", "accuracy", 0.625),
    ("bow", "valid", "accuracy", 0.616),
    ("bow", "kaggle", "accuracy", 0.645),
    ("cnn", "valid", "accuracy", 0.620),
    ("lstm", "valid", "accuracy", 0.630),
    ("lstm", "valid", "macro_f1", 0.49),
    ("encoder", "valid", "accuracy", 0.620),
    ("gpt", "valid", "accuracy", 0.620),
]
# Rows that must come within a point of the encoder.
NEAR = ("mamba", "encoder, linear-elu", "encoder, linear-softmax", "encoder, nystrom")
# Most seconds of a whole run.
LIMITS = {"tfidf": 20.0, "lstm": 300.0}
PLACES = ("valid", "kaggle", "kaggle_unseen", "sst5", "sst2")


def data_folder() -> Path:
    return Path(os.environ.get("SENTITOK_DATA", ROOT.parent / "shared" / "data"))


def result_of(name: str, seed: int) -> Path:
    return RUNS / f"{name.replace(', ', '-').replace(' ', '-')}-seed-{seed}.json"


def run(name: str, tree: dict[str, Any], seed: int, limit: int | None) -> None:
    """Runs one job unless its result is there."""
    out = result_of(name, seed)
    if out.exists():
        print(f"{name}, seed {seed}: there already ({out.name})", flush=True)
        return
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
    found = json.loads(out.read_text())
    print(f"  valid {found['valid']['accuracy']:.4f}, kaggle {found['kaggle']['accuracy']:.4f}, "
          f"{found['seconds']:.0f} s", flush=True)  # fmt: skip


def results() -> dict[str, list[dict[str, Any]]]:
    """Returns what was run, by row, in the order of the table."""
    found: dict[str, list[dict[str, Any]]] = {}
    every = [json.loads(path.read_text()) for path in sorted(RUNS.glob("*.json"))]
    for name, _ in ROWS:
        of_row = sorted((r for r in every if r["name"] == name), key=lambda r: int(r["seed"]))
        if of_row:
            found[name] = of_row
    return found


def mean(of_row: list[dict[str, Any]], place: str, score: str) -> float:
    return statistics.fmean(float(one[place][score]) for one in of_row)


def cell(of_row: list[dict[str, Any]], place: str) -> str:
    accuracy = f"{mean(of_row, place, 'accuracy'):.4f}"
    if len(of_row) > 1:
        accuracy += f" ± {statistics.stdev(float(one[place]['accuracy']) for one in of_row):.4f}"
    return f"{accuracy} / {mean(of_row, place, 'macro_f1'):.3f}"


def table(found: dict[str, list[dict[str, Any]]]) -> str:
    lines = [
        "| model | parameters | seeds | valid | Kaggle | Kaggle, unseen | SST-5 | SST-2 |",
        "|---|---:|---:|---|---|---|---|---|",
    ]
    for name, of_row in found.items():
        cells = " | ".join(cell(of_row, place) for place in PLACES)
        lines.append(f"| {name} | {of_row[0]['parameters']:,} | {len(of_row)} | {cells} |")
    lines += [
        "",
        "| model | seconds | fitting | tokens/s | padding | peak memory | kappa | ECE before, after |",
        "|---|---:|---:|---:|---:|---:|---:|---|",
    ]
    for name, of_row in found.items():
        one = of_row[0]
        seconds = statistics.fmean(float(r["seconds"]) for r in of_row)
        fitting = one["stages"]["fit"] + one["stages"]["steps"]
        fit = one["fit"]
        speed = f"{fit['tokens'] / fit['seconds']:,.0f}" if fit["tokens"] else "-"
        padding = f"{100 * fit['padding']:.1f} %" if fit["tokens"] else "-"
        calibration = f"{mean(of_row, 'valid', 'ece_before'):.3f}, {mean(of_row, 'valid', 'ece'):.3f}"
        lines.append(
            f"| {name} | {seconds:.0f} | {fitting:.0f} | {speed} | {padding} | "
            f"{one['peak_memory_bytes'] / 1e6:,.0f} MB | {mean(of_row, 'valid', 'quadratic_kappa'):.3f} | "
            f"{calibration} |"
        )
    return "\n".join(lines)


def below(found: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Returns which bars were missed, one sentence each."""
    missed = []
    for name, place, score, least in BARS:
        if name in found and mean(found[name], place, score) < least:
            missed.append(f"{name}: {place} {score} {mean(found[name], place, score):.4f}, bar {least}")
    if "encoder" in found:
        base = mean(found["encoder"], "valid", "accuracy")
        for name in NEAR:
            if name in found and mean(found[name], "valid", "accuracy") < base - 0.01:
                missed.append(f"{name}: more than 0.01 below the encoder's {base:.4f}")
    for name, most in LIMITS.items():
        if name in found and (taken := statistics.fmean(r["seconds"] for r in found[name])) > most:
            missed.append(f"{name}: {taken:.0f} s, bar {most:.0f} s")
    return missed


HEAD = """# Results on the Kaggle movie-review phrases

Written by `python benches/models/run_all.py` on {date}: {machine}, {cores} cores, {versions}.

Trained from scratch on 80 % of the sentences of the Kaggle training file (split by SentenceId,
stratified on the label of each sentence's longest phrase, seed 42; {train:,} phrases), with the
defaults of each architecture and nothing else tuned on the rows below. `valid` is the other
20 %. Kaggle's test labels are rebuilt from the SST dev and test trees for scoring alone; no
model was trained, tuned or stopped on them. "Unseen" leaves out test phrases that are training
phrases without case and spacing. SST-5 and SST-2 are the test sentences, answered by the same
model, without training again. Cells are accuracy / macro-F1, ± one standard deviation over
seeds; the standard error of `valid` itself, by sentence, is about 0.0037, so smaller
differences of single runs are noise.
"""


def write(found: dict[str, list[dict[str, Any]]]) -> None:
    one = next(iter(found.values()))[0]
    wanted = ("torch", "scikit-learn", "sentitok")
    head = HEAD.format(
        date=datetime.now(UTC).strftime("%Y-%m-%d"),
        machine=platform.processor() or platform.machine(),
        cores=os.cpu_count(),
        versions=", ".join(f"{name} {one['versions'][name]}" for name in wanted),
        train=one["rows"]["train"],
    )
    missed = below(found)
    verdict = (
        "All bars of the design are reached."
        if not missed
        else "Below their bars:\n\n" + "\n".join(f"- {line}" for line in missed)
    )
    TARGET.write_text(f"{head}\n{table(found)}\n\n{verdict}\n", encoding="utf-8")
    print(f"written: {TARGET}")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("rows", nargs="*", help="rows to run; all by default")
    parser.add_argument("--seeds", type=int, default=1, help="seeds 0 to N - 1")
    parser.add_argument("--limit", type=int, default=None, help="training rows, for a quick look")
    parser.add_argument("--table", action="store_true", help="only write the table")
    asked = parser.parse_args()
    names = [name for name, _ in ROWS]
    unknown = [name for name in asked.rows if name not in names]
    if unknown:
        parser.error(f"no row {unknown[0]!r}; there are: {'; '.join(names)}")
    if not data_folder().is_dir():
        parser.error(f"no data sets at {data_folder()}; set SENTITOK_DATA to their folder")
    RUNS.mkdir(parents=True, exist_ok=True)
    if not asked.table:
        for seed in range(asked.seeds):
            for name, tree in ROWS:
                if name in (asked.rows or names):
                    run(name, tree, seed, asked.limit)
    found = results()
    if not found:
        parser.error(f"nothing was run yet: {RUNS} is empty")
    write(found)
    missed = below(found)
    for line in missed:
        print(f"below its bar: {line}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
