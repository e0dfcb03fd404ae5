"""BERT from nothing, and the gain of a classifier of the same shape from pre-training on reviews.

    python benches/models/bert.py --list                    # the steps: finished and remaining ones
    python benches/models/bert.py                           # all of them, hours of one core; judged on dev
    python benches/models/bert.py kaggle:gpt --seconds 150  # of one model; type it again to continue
    python benches/models/bert.py kaggle:gpt --test         # once, when nothing is left to choose
    python benches/models/bert.py --small                   # half a minute: few rows, small sizes

Models are pre-trained on the training reviews of IMDB and the training sentences of the Kaggle phrases:
`bert` on masked tokens, with and without next sentences, and `gpt` on next tokens. All texts are
written and cut as the phrases are. Each becomes classifiers of phrases or reviews, and so does the same model
with the weights it is drawn with: same shape, tokenizer and settings. For each alone, dev chooses one of
RATES and one of WAYS, with the first seed. Each model is pre-trained once, so intervals are over
seeds of fine-tuning and over rows. `--test` judges on the sealed part, appends a line for each
architecture to `results.jsonl` and, of IMDB, writes a submission. `senti train --arch hf:PATH` trains
published checkpoints.
"""

import argparse
import tempfile
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from joint_intervals import Joint, difference, level
from numpy.typing import NDArray
from parts import reported
from pretrained_rows import BASES, KINDS, by_arch, chosen, of_arch, other_base, recipe, wanted
from pretrained_steps import Bench, about
from result import append, data_folder, unpack, verdict
from steps import AGAIN, after, cpu_seconds
from train_one import by_group, elsewhere, scored

from sentimodels.classifier import Classifier
from sentimodels.data import Table, TrainingRecord
from sentimodels.data.sst import submission
from sentimodels.evaluation.predictions import Predictions, predict
from sentimodels.runs.directory import finished
from sentitok import Tokenizer
from sentitok.atomic import write as write_atomically

# Upper ends of the bins of the histogram of lengths, in tokens.
# The gain in accuracy that the bar asks of pre-training, and the CPU seconds it may take.
GAIN, SECONDS = 0.01, 1800.0
LENGTHS = (4, 8, 16, 32, 64, 128, 256, 512, 1024)


def scores_on(
    runs: list[Path], table: Table
) -> tuple[list[dict[str, Any]], NDArray[np.int64], NDArray[np.int64]]:
    """Returns the scores of seeds on a table, the rows that each has right, and the rows, by group."""
    answers: list[Predictions] = [predict(Classifier.load(run), table).labelled() for run in runs]
    counted = [by_group(one) for one in answers]
    right = np.stack([unpack(one["right"]) for one in counted])
    return [scored(one) for one in answers], right, unpack(counted[0]["rows"])


def judged(runs: dict[str, list[Path]], table: Table) -> dict[str, Any]:
    """Returns scores, their interval, and what pre-training gains, of each kind on a table."""
    scores, intervals, right = {}, {}, {}
    rows = np.zeros(0, np.int64)
    for kind, folders in runs.items():
        scores[kind], right[kind], rows = scores_on(folders, table)
        intervals[kind] = asdict(level(right[kind], rows))
    gains: dict[str, Joint] = {
        kind: difference(right[other_base(kind)], right[kind], rows)
        for kind in runs
        if KINDS[kind].starts and other_base(kind) in runs
    }
    return {"scores": scores, "intervals": intervals, "gain": {k: asdict(one) for k, one in gains.items()}}


def say(place: str, reached: dict[str, Any]) -> None:
    """Prints the results."""
    for kind, of_seeds in reached["scores"].items():
        accuracies = [one["accuracy"] for one in of_seeds]
        print(f"{place}, {kind}: {np.mean(accuracies):.4f}, of {len(accuracies)} seeds")
    for kind, gain in reached["gain"].items():
        said = f"{100 * gain['value']:+.2f} points ({100 * gain['low']:+.2f} to {100 * gain['high']:+.2f})"
        met = verdict(gain["value"], least=GAIN)
        print(f"{place}, {kind} less {other_base(kind)}: {said}: {met}", flush=True)


def lengths(table: Table, tokenizer: Tokenizer) -> dict[str, Any]:
    """Returns the histogram of the lengths of texts in tokens, and how many texts are encoded a second."""
    began = time.perf_counter()
    encoded = tokenizer.encode_batch(table.texts, add_special_tokens=False)
    seconds = time.perf_counter() - began
    counted = np.array([len(row) for row in encoded], np.int64)
    edges = [0, *LENGTHS, max(int(counted.max()), LENGTHS[-1]) + 1]
    shares = np.histogram(counted - 1, edges)[0] / max(1, len(counted))
    quantiles = {f"{q:g}": int(np.quantile(counted, q)) for q in (0.5, 0.9, 0.99, 1)}
    return {"texts": len(counted), "up_to": list(LENGTHS), "shares": shares.tolist(), "quantiles": quantiles,
            "texts_per_second": len(counted) / seconds}  # fmt: skip


def beside(bench: Bench, runs: dict[str, list[Path]]) -> dict[str, list[dict[str, Any]]]:
    """Returns what models of the Kaggle phrases are also scored on: reported, never a choice."""
    tables = {name: fewest(table, bench.small) for name, table in reported(data_folder()).items()}
    return {
        kind: [elsewhere(Classifier.load(run), TrainingRecord.load(run), tables) for run in folders]
        for kind, folders in runs.items()
    }


def fewest(table: Table, small: bool) -> Table:
    return table.take(range(0, len(table), -(-len(table) // 100))) if small else table


def submitted(bench: Bench, runs: dict[str, list[Path]], table: Table) -> str:
    """Writes the answers of the run that is best on dev as Kaggle takes them; returns its name."""
    every = [run for folders in runs.values() for run in folders]
    best = max(every, key=lambda run: about(run)["valid"]["accuracy"])
    answers = predict(Classifier.load(best), table)
    named = answers.labels.decode(answers.predicted.tolist())
    write_atomically(bench.out / "submission.csv", submission("imdb", None, named).encode())
    return best.name


def test(bench: Bench, of_set: str, runs: dict[str, list[Path]], command: str, to: Path | None) -> None:
    """Judges the kinds of one architecture on the sealed part, and appends the result."""
    parts = bench.parts(of_set)
    of_dev, sealed = judged(runs, parts.dev), parts.sealed()
    of_sealed = judged(runs, sealed)
    say("sealed", of_sealed)
    names = sorted({KINDS[kind].base for kind in runs})
    tried = {kind: bench.tried(of_set, kind) or {} for kind in runs}
    trees = {kind: bench.config(of_set, kind, chosen(reached), 0).tree() for kind, reached in tried.items()}
    tokenizer = Tokenizer.from_file(bench.base_folder(names[0]) / "tokenizer.json")
    bases = {name: of_base(bench.base_folder(name)) for name in names}
    for name, base in bases.items():
        print(f"pre-training, {name}: {verdict(base['cpu_seconds'], most=SECONDS)} CPU seconds")
    arch = KINDS[next(iter(runs))].arch
    append(
        f"pretrained:{of_set}:{arch}", command, trees, {"dev": of_dev, "sealed": of_sealed}, to=to,
        recipe=recipe(of_set, arch), commonest_label=max(Counter(sealed.labelled()).values()) / len(sealed),
        beside=beside(bench, runs) if of_set == "kaggle" else {},
        tried={kind: {str(trial): value for trial, value in some.items()} for kind, some in tried.items()},
        parameters={kind: about(folders[0])["parameters"] for kind, folders in runs.items()},
        cpu_seconds={kind: [cpu_seconds(run) for run in folders] for kind, folders in runs.items()},
        bases=bases, lengths=lengths(parts.train, tokenizer),
        submission=submitted(bench, runs, sealed) if of_set == "imdb" else None,
    )  # fmt: skip


def of_base(run: Path) -> dict[str, Any]:
    """Returns what the page says of a pre-trained model."""
    record = about(run)
    kept = {key: record[key] for key in ("task", "parameters", "vocabulary", "valid", "corpus")}
    return {**kept, "tokens": record["fit"]["tokens"], "cpu_seconds": cpu_seconds(run)}


def show(bench: Bench, asked: dict[str, list[str]]) -> None:
    """Prints the finished steps."""
    for name in BASES:
        run = bench.base_folder(name)
        state = "there" if finished(run) else "to do"
        print(f"pre-training, {name}: {state}, {cpu_seconds(run):.0f} CPU seconds so far")
    for of_set, kinds in asked.items():
        for kind in kinds:
            done, of = bench.there(of_set, kind)
            print(f"{of_set}:{kind}: {done} of {of} runs are there")


def go(bench: Bench, asked: dict[str, list[str]]) -> dict[str, dict[str, list[Path]]] | None:
    """Trains the requested models; returns the runs by set and kind, `None` where the time ended before."""
    done: dict[str, dict[str, list[Path]]] = {}
    for of_set, kinds in asked.items():
        for kind in kinds:
            runs = bench.runs(of_set, kind)
            if runs is None:
                return None
            reached = [about(run)["valid"]["accuracy"] for run in runs]
            print(f"{of_set}:{kind}: dev {', '.join(f'{one:.4f}' for one in reached)}, rate "
                  f"{bench.chosen(of_set, kind)}", flush=True)  # fmt: skip
            done.setdefault(of_set, {})[kind] = runs
    return done


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", nargs="*", metavar="SET[:KIND]", help="what to train; all without it")
    parser.add_argument("--out", type=Path, help="folder of the runs; runs/bert without it")
    parser.add_argument("--seconds", type=float, help="stop after so long")
    parser.add_argument("--small", action="store_true", help="few rows and small sizes; judges on dev")
    parser.add_argument("--list", action="store_true", help="show what is there, and train nothing")
    parser.add_argument("--test", action="store_true", help="judge on the sealed part, and append the result")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    if not data_folder().is_dir():
        parser.error(f"no data sets at {data_folder()}; set SENTITOK_DATA to their folder")
    kinds = wanted(asked.what)
    incomplete = [
        some != of_arch(of_set, arch) for of_set in kinds for arch, some in by_arch(kinds[of_set]).items()
    ]
    if asked.test and any(incomplete):
        parser.error("--test judges all kinds of an architecture: name kaggle, kaggle:gpt or imdb, say")
    with tempfile.TemporaryDirectory() as scratch:
        out = asked.out or (Path(scratch) if asked.small else Path("runs/bert"))
        bench = Bench(out, after(asked.seconds), small=asked.small)
        if asked.list:
            show(bench, kinds)
            return
        runs = go(bench, kinds)
        if runs is None:
            print(AGAIN)
            return
        for of_set, of_kinds in runs.items():
            if not (asked.test or asked.small):
                say(f"{of_set}, dev", judged(of_kinds, bench.parts(of_set).dev))
                continue
            for arch, some in by_arch(of_kinds).items():
                to = out / "results.jsonl" if asked.small else None
                command = f"python benches/models/bert.py {of_set}:{arch} --test"
                test(bench, of_set, {kind: of_kinds[kind] for kind in some}, command, to)


if __name__ == "__main__":
    main()
