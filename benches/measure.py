"""What all sections of the report do: run a job alternately with its rivals, and show medians.

Every measurement is a separate process (`worker.py`), alternating with
its rivals, so that a busy minute of the machine hits all of them; what a library
got is compared before its time is shown, and rows we lose stay in.
"""

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from corpora import Corpus

# Processes of each figure.
ROUNDS = 5
TRAIN_HEAD = ("library", "seconds", "times ours", "CPU s", "peak memory")

Row = dict[str, Any]


def worker(job: Row, threads: int | None = None) -> Row:
    """Runs one job in its own process.

    Raises:
        RuntimeError: if the process failed; its words are the message.
    """
    environment = dict(os.environ)
    if threads is not None:
        environment["RAYON_NUM_THREADS"] = str(threads)
        environment["TOKENIZERS_PARALLELISM"] = "false" if threads == 1 else "true"
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("worker.py"))],
        input=json.dumps(job),
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "killed")
    result: Row = json.loads(done.stdout)
    return result


def installed(names: Iterable[str]) -> list[str]:
    return [name for name in names if find_spec(name)]


def in_turns(
    names: Sequence[str], run: Callable[[str], Row], rounds: int = ROUNDS
) -> dict[str, list[Row] | str]:
    """Runs each library `rounds` times, alternately; a failure is its row."""
    results: dict[str, list[Row] | str] = {name: [] for name in names}
    for _ in range(rounds):
        for name in names:
            rows = results[name]
            if isinstance(rows, str):
                continue
            print(f"  {name}", file=sys.stderr)
            try:
                row = run(name)
                if "refused" in row:
                    raise RuntimeError(row["refused"])
                rows.append(row)
            except RuntimeError as error:
                results[name] = str(error)
    return results


def median(rows: list[Row], key: str) -> float:
    return statistics.median(float(row[key]) for row in rows)


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def megabytes(n_bytes: float) -> str:
    return f"{n_bytes / 1e6:.0f} MB"


def train_table(
    folder: Path,
    corpus: Corpus,
    model: str,
    vocab_size: int,
    rivals: Sequence[str],
    reference: str,
    rounds: int = ROUNDS,
) -> str:
    """Trains all libraries on one text; the share is of the tokens of `reference`."""

    def run(name: str) -> Row:
        job = {"task": "train", "model": model, "rival": name, "path": str(corpus.path)}
        return worker({**job, "vocab_size": vocab_size, "tokens": str(folder / f"{name}.json")})

    def tokens(name: str) -> set[str]:
        return set(json.loads((folder / f"{name}.json").read_text("utf-8")))

    names = [name for name in rivals if find_spec(name.split(",")[0])]
    results = in_turns(names, run, rounds)
    wanted = tokens(reference) if not isinstance(results.get(reference), str | None) else None
    ours = results[names[0]]
    base = median(ours, "seconds") if not isinstance(ours, str) else None
    cells = []
    for name in names:
        rows = results[name]
        if isinstance(rows, str):
            cells.append([name, "-", "-", "-", "-", rows])
            continue
        seconds = median(rows, "seconds")
        shared = "-" if wanted is None else f"{len(wanted & tokens(name)) / len(wanted):.2%}"
        ratio = "-" if base is None else f"{seconds / base:.2f}"
        memory = megabytes(median(rows, "peak_memory_bytes"))
        cpu = f"{median(rows, 'cpu_seconds'):.2f}"
        library, *option = name.split(", ")
        shown = ", ".join([f"{library} {rows[0]['version']}", *option])
        cells.append([shown, f"{seconds:.2f}", ratio, cpu, memory, shared])
    title = f"### {corpus.name}: {megabytes(corpus.n_bytes)}, {vocab_size:,} tokens\n\n"
    return title + markdown([*TRAIN_HEAD, f"tokens shared with {reference}"], cells)
