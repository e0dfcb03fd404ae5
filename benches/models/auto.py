"""How far `--arch auto` is behind the best architecture, on fresh rows of twelve sets and cuts.

    python benches/models/auto.py                # hours of one core
    python benches/models/auto.py tweets:300     # one cut
    python benches/models/auto.py --seed 1       # other rows of the same sets
    python benches/models/auto.py --budget 120   # seconds of CPU that auto may take

Of each set, 300, 600, 1,200 and 2,400 rows train and the rest judge. Every architecture is trained with its
defaults on the same rows; "best" is the one with the highest accuracy on the rows that judge, which no choice
could know. The bar is a mean gap of at most one point, half a point where 1,200 rows or more train.
"""

import argparse
import tempfile
from pathlib import Path
from statistics import fmean

import torch
from parts import FILES
from result import append, data_folder, verdict

from sentimodels.classifier import Classifier
from sentimodels.config import RunConfig
from sentimodels.data import Table, training_table
from sentimodels.data.split import split
from sentimodels.models import ARCHITECTURES
from sentimodels.runs.auto import choose
from sentimodels.runs.execute import train
from sentimodels.runs.families import resolve
from sentimodels.runs.tables import Tables

SETS = {"tweets": FILES["tweets"], "mr": "mr-rt-polarity", "chinese": FILES["chinese"]}
# Sets that no cut of the bar has; they are named on the command line.
OTHERS = {"sst2": "sst2/train.tsv.xz", "imdb": FILES["imdb"], "yelp": FILES["yelp"]}
ROWS = (300, 600, 1_200, 2_400)
# Rows that judge: a standard error of 0.6 points.
N_FRESH = 8_000
GAP, GAP_OF_MORE, MORE = 0.01, 0.005, 1_200


def accuracy(config: RunConfig, tables: Tables, fresh: Table) -> float:
    """Trains a model; returns its accuracy on fresh rows."""
    with tempfile.TemporaryDirectory() as folder:
        train(config, Path(folder) / "run", baseline=False, tables=tables)
        answers = Classifier.load(Path(folder) / "run").predict(fresh.texts)
    return fmean(a == b for a, b in zip(answers, fresh.labelled(), strict=True))


def cut(of_set: str, n_rows: int, seed: int) -> tuple[Tables, Table]:
    """Returns training rows with their validation part, and fresh rows."""
    whole = training_table(data_folder() / (SETS | OTHERS)[of_set])
    share = n_rows / len(whole)
    parts = split(whole, {"fresh": 1 - share, "known": share}, seed=n_rows + seed)
    known = split(parts["known"], {"train": 0.9, "valid": 0.1}, seed=0)
    step = max(1, len(parts["fresh"]) // N_FRESH)
    fresh = parts["fresh"].take(range(0, len(parts["fresh"]), step))
    return Tables.of(known["train"], known["valid"]), fresh


def measure(of_set: str, n_rows: int, budget: float, seed: int) -> float:
    """Returns how far auto is behind the best architecture on a cut."""
    tables, fresh = cut(of_set, n_rows, seed)
    by_arch = {}
    for arch in ARCHITECTURES:
        by_arch[arch] = accuracy(resolve({"arch": arch, "train": {"threads": 1}}), tables, fresh)
        print(f"{of_set}, {n_rows} rows, {arch}: {by_arch[arch]:.4f}", flush=True)
    config = choose({"budget": budget, "train": {"threads": 1}}, tables=tables, on_warning=print)
    best, reached = max(by_arch.values()), accuracy(config, tables, fresh)
    append(
        f"auto:{of_set}, {n_rows}", "python benches/models/auto.py", {"budget": budget},
        {"auto": reached, "best": best, "chosen": config.arch, "architectures": by_arch}, seed=seed,
        compared=dict(config.accuracies),
    )  # fmt: skip
    print(f"{of_set}, {n_rows} rows: auto took {config.arch}, {reached:.4f}; best {best:.4f}", flush=True)
    return best - reached


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cuts", nargs="*", metavar="SET:ROWS", help="as in tweets:300; all without it")
    parser.add_argument("--budget", type=float, default=120.0, help="seconds of CPU")
    parser.add_argument("--seed", type=int, default=0, help="which rows are drawn for training")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    cuts = asked.cuts or [f"{of_set}:{n}" for n in ROWS for of_set in SETS]
    gaps = {}
    for one in cuts:
        of_set, _, n_rows = one.partition(":")
        gaps[of_set, int(n_rows)] = measure(of_set, int(n_rows), asked.budget, asked.seed)
    mean = fmean(gaps.values())
    print(f"mean gap over {len(gaps)} cuts: {mean:.4f}, {verdict(mean, most=GAP)}")
    if more := [gap for (_, n), gap in gaps.items() if n >= MORE]:
        print(f"{MORE:,} rows and more: {fmean(more):.4f}, {verdict(fmean(more), most=GAP_OF_MORE)}")


if __name__ == "__main__":
    main()
