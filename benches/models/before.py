"""Classifiers of an earlier commit beside those of today: accuracy and macro-F1 on dev, speed of training.

    python benches/models/before.py 156d62a --out runs/before   # hours of one core; stops and goes on

156d62a is the last commit before backbone, head and task were taken apart. Each architecture is trained with
its own defaults, of that commit and of this one, by `senti train` on the training part of the Kaggle phrases;
dev stops it and judges it, as nothing else did then. Both are whole processes on one thread and take turns,
so that what else the machine does meets both. Neither accuracy nor macro-F1 may be below by more than the
interval, of seeds and rows; nor the speed of training, in the median of the turns, by more than such turns
differ (`bars.py`). Not for the verdicts of the page, which rest on the sealed part.
"""

import argparse
import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import worktree
from before_page import part
from numpy.typing import NDArray
from parts import FILES, kaggle
from result import RESULTS, ROOT, data_folder, git, load, occasion, origin, write

from sentimodels.data import Table
from sentimodels.data.writers import write_table
from sentimodels.evaluation.joint_intervals import difference, macro_f1_difference

TARGET, COMMAND = RESULTS / "before.json", "python benches/models/before.py"
# Seeds of each architecture: five where a run takes less than a minute. Where nothing is drawn they are turns
# of the clock alone.
ARCHS = {
    "tfidf": 3, "nb": 3, "bow": 5, "cnn": 3, "rnn": 3, "gru": 3, "lstm": 3, "encoder": 3, "bert": 3, "gpt": 3,
    "mamba": 3,
}  # fmt: skip
SIDES = ("then", "now")
SETTINGS = {"archs": ARCHS, "set": "kaggle"}


def checkout(commit: str, folder: Path) -> Path:
    """Returns the code of a commit, which stays there for the next call."""
    if not (folder / worktree.EXTENSION).is_file():
        shutil.rmtree(folder, ignore_errors=True)
        worktree.add(folder, commit)
    return folder


def senti(code: Path, *args: str | Path) -> None:
    limits = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    subprocess.run(
        [sys.executable, "-m", "sentimodels.cli", *map(str, args)],
        env={**os.environ, **limits, "PYTHONPATH": str(code / "python")},
        stdout=subprocess.DEVNULL, check=True,
    )  # fmt: skip


def run(code: Path, arch: str, seed: int, out: Path, data: Path) -> dict[str, Any]:
    """Trains one model, unless it is there; returns what it reached, its answers beside it."""
    folder = out / f"{arch}-{seed}"
    answers = folder.with_suffix(".csv")
    if not answers.is_file():
        shutil.rmtree(folder, ignore_errors=True)
        senti(code, "train", data / "train.csv", "--valid", data / "dev.csv", "--arch", arch, "--out", folder,
              "--seed", str(seed), "--threads", "1", "--quiet", "--no-baseline")  # fmt: skip
        senti(code, "predict", folder, data / "dev.csv", "--out", answers)
    about = json.loads((folder / "run.json").read_text("utf-8"))
    tokens, seconds = about["fit"].get("tokens"), about["seconds"]["steps"]
    return {
        **{key: about["valid"][key] for key in ("accuracy", "macro_f1")}, "steps": about["fit"]["steps"],
        "seconds": seconds if tokens else about["seconds"]["fit"],
        "tokens_per_second": tokens / seconds if tokens else None,
    }  # fmt: skip


def counts(answers: Path, dev: Table) -> NDArray[np.int64]:
    """Returns the rows of each group by true and given label, (n_groups, n_classes, n_classes)."""
    with answers.open(encoding="utf-8", newline="") as file:
        given = [row["label"] for row in csv.DictReader(file)]
    true = dev.labelled()
    place = {label: at for at, label in enumerate(sorted(set(true)))}
    _, groups = np.unique(np.array(dev.groups), return_inverse=True)
    table = np.zeros((groups.max() + 1, len(place), len(place)), np.int64)
    cells = (groups, np.array([place[one] for one in true]), np.array([place[one] for one in given]))
    np.add.at(table, cells, 1)
    return table


def compared(out: Path, reached: dict[str, list[dict[str, Any]]], arch: str, dev: Table) -> dict[str, Any]:
    """Returns both sides of an architecture, and by how much its scores are higher now."""
    then, now = (
        np.stack([counts(out / side / f"{arch}-{seed}.csv", dev) for seed in range(ARCHS[arch])])
        for side in SIDES
    )
    right, also = (side.trace(axis1=2, axis2=3) for side in (then, now))
    gains = {
        "gain": difference(right, also, then[0].sum((1, 2))), "macro_f1_gain": macro_f1_difference(then, now),
    }  # fmt: skip
    return {
        **reached,
        **{key: {"value": one.value, "low": one.low, "high": one.high} for key, one in gains.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("commit", help="the earlier commit")
    parser.add_argument("--out", type=Path, default=Path("runs/before"), help="folder of the runs")
    parser.add_argument(
        "--archs", nargs="*", choices=[*ARCHS, []], help="train these alone, and write nothing"
    )
    asked = parser.parse_args()
    if touched := git("status", "--porcelain", "--", "python"):
        parser.error(f"python/ is not as in the commit; type: git commit\n{touched}")
    before, (parts,) = load(), kaggle(data_folder())
    asked.out.mkdir(parents=True, exist_ok=True)
    for name, table in (("train", parts.train), ("dev", parts.dev)):
        write_table(table, asked.out / f"{name}.csv")
    code = {"then": checkout(asked.commit, (asked.out / "code").absolute()), "now": ROOT}
    archs: dict[str, Any] = {}
    for arch in asked.archs or ARCHS:
        reached: dict[str, list[dict[str, Any]]] = {side: [] for side in SIDES}
        for seed in range(ARCHS[arch]):
            for side in SIDES:
                reached[side].append(run(code[side], arch, seed, asked.out / side, asked.out))
            shown = ", ".join(f"{side} {reached[side][-1]['accuracy']:.4f}" for side in SIDES)
            print(f"{arch}, seed {seed}: {shown}", flush=True)
        archs[arch] = compared(asked.out, reached, arch, parts.dev)
    if asked.archs:
        return
    command = f"{COMMAND} {asked.commit} --out {asked.out}"
    write(TARGET, {
        "then": git("rev-parse", asked.commit), "archs": archs, **origin(SETTINGS, [FILES["kaggle"]]),
        **occasion(command, before),
    })  # fmt: skip
    print(part())


if __name__ == "__main__":
    main()
