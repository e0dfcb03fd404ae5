"""What a temperature fitted on few validation rows does to log loss: before, with the old rule, with ours.

    python benches/calibration.py --data DATA                  # all sets, a table in Markdown
    python benches/calibration.py --data DATA --sets yelp,zh   # some of them

Each run trains on 40, 100 or 200 rows of a set, a tenth of which chooses the step and the temperature as in
`senti train`, and is scored on 1,000 fresh rows (500 of yelp). The three runs of a set, size and seed are an
ensemble as well, with weights and temperature fitted on the same validation rows. The rule was chosen on
yelp and zh with seeds 0 to 4; mr, tweets and sst2 judge it.
"""

import argparse
import lzma
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from sentimodels import Classifier, resolve
from sentimodels.data import Table
from sentimodels.evaluation.calibration import fit_temperature, log_probs, softmax
from sentimodels.runs.ensemble import fit_weights
from sentimodels.runs.execute import train
from sentimodels.runs.tables import Tables

SIZES = (40, 100, 200)
ARCHS = ("nb", "tfidf", "bow")
CHOSEN_ON, JUDGED_ON = ("yelp", "zh"), ("mr", "tweets", "sst2")
N_FRESH = 1000

Logits = NDArray[np.float64]
Truth = NDArray[np.int64]


@dataclass(frozen=True)
class Sample:
    """Answers of one model: log-probabilities of the rows that fit a temperature, and of fresh rows."""

    set: str
    n_rows: int
    model: str
    seed: int
    valid: Logits
    valid_truth: Truth
    fresh: Logits
    fresh_truth: Truth


def rows_of(data: Path, name: str) -> list[tuple[str, str]]:
    """Returns all texts of a set with their labels."""
    if name == "yelp":
        lines = (data / "yelp-labelled" / "yelp_labelled.txt").read_text("utf-8").splitlines()
        return [(text, label) for text, _, label in (line.rpartition("\t") for line in lines)]
    if name == "sst2":
        lines = lzma.decompress((data / "sst2" / "train.tsv.xz").read_bytes()).decode().splitlines()
        return [(text, label) for text, _, label in (line.rpartition("\t") for line in lines)]
    if name == "mr":
        return [
            (line.strip(), side)
            for side in ("neg", "pos")
            for line in lzma.open(
                data / "mr-rt-polarity" / f"rt-polarity.{side}.xz", "rt", encoding="latin-1"
            )
        ]
    file = {"zh": "zh-reviews/reviews.csv.xz", "tweets": "tweet-sentiment/train.csv.xz"}[name]
    frame = pandas.read_csv(data / file, dtype=str, keep_default_na=False)
    label = "label" if name == "zh" else "sentiment"
    return list(zip(frame["text"], frame[label], strict=True))


def table(rows: list[tuple[str, str]], name: str) -> Table:
    texts, labels = zip(*rows, strict=True)
    return Table(list(texts), list(labels), None, None, Path(name), "")


def samples(data: Path, name: str, n_seeds: int) -> Iterator[Sample]:
    """Trains the runs of a set."""
    rows = rows_of(data, name)
    for seed in range(n_seeds):
        order = np.random.default_rng(seed).permutation(len(rows)).tolist()
        drawn = [rows[place] for place in order]
        fresh = table(drawn[max(SIZES) : max(SIZES) + N_FRESH], name)
        for n_rows in SIZES:
            n_valid = n_rows // 10
            parts = Tables.of(table(drawn[n_valid:n_rows], name), table(drawn[:n_valid], name))
            each = []
            for arch in ARCHS:
                with tempfile.TemporaryDirectory() as folder:
                    config = resolve({"arch": arch}, {"train": {"seed": seed, "threads": 1}})
                    train(config, Path(folder) / "run", tables=parts, baseline=False)
                    model = Classifier.load(Path(folder) / "run")
                valid, answers = (
                    model.predict_logits(part.texts).astype(np.float64)
                    for part in (parts.valid, fresh)
                    if part
                )
                truths = [
                    np.array(model.labels.encode(part.labelled())) for part in (parts.valid, fresh) if part
                ]
                each.append(Sample(name, n_rows, arch, seed, valid, truths[0], answers, truths[1]))
                yield each[-1]
            weights = fit_weights([softmax(one.valid) for one in each], each[0].valid_truth)
            mixed = [
                log_probs(sum(w * softmax(one) for w, one in zip(weights, some, strict=True)))
                for some in ([one.valid for one in each], [one.fresh for one in each])
            ]
            yield Sample(
                name, n_rows, "ensemble", seed, mixed[0], each[0].valid_truth, mixed[1], each[0].fresh_truth
            )


def log_loss(logits: Logits, truth: Truth, temperature: float = 1.0) -> float:
    return float(-log_probs(softmax(logits / temperature))[np.arange(len(truth)), truth].mean())


def least_log_loss(logits: Logits, truth: Truth) -> float:
    """The old rule: the temperature, 0.05 to 20, with the least log loss on the validation rows."""
    found = minimize_scalar(
        lambda log: log_loss(logits, truth, float(np.exp(log))), bounds=np.log([0.05, 20]), method="bounded"
    )
    return float(np.exp(found.x))


RULES: dict[str, Callable[[Logits, Truth], float]] = {
    "none": lambda *_: 1.0,
    "old": least_log_loss,
    "new": fit_temperature,
}

HARM = 0.005  # nats; less is noise


def report(found: list[Sample]) -> str:
    """Returns the table of a set of runs: the change of log loss on fresh rows, by rule."""
    columns = "mean change | worst | harmed |"
    head = f"| runs | n | log loss, none | old: {columns} new: {columns}"
    lines = [head, f"|---|{'---:|' * 8}"]
    parts = [("all", found)]
    parts += [(f"{size} rows", [one for one in found if one.n_rows == size]) for size in SIZES]
    models = (*ARCHS, "ensemble")
    parts += [(model, [one for one in found if one.model == model]) for model in models]
    for name, some in parts:
        losses = {
            rule: np.array(
                [log_loss(one.fresh, one.fresh_truth, fit(one.valid, one.valid_truth)) for one in some]
            )
            for rule, fit in RULES.items()
        }
        row = [name, str(len(some)), f"{losses['none'].mean():.3f}"]
        for rule in ("old", "new"):
            change = losses[rule] - losses["none"]
            row += [f"{change.mean():+.3f}", f"{change.max():+.2f}", str(int((change > HARM).sum()))]
        lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of the shared data sets")
    parser.add_argument("--sets", default=",".join((*CHOSEN_ON, *JUDGED_ON)), help="sets, comma separated")
    parser.add_argument("--seeds", type=int, default=5)
    asked = parser.parse_args()
    for name in asked.sets.split(","):
        role = "chose the rule" if name in CHOSEN_ON else "judges the rule"
        found = list(samples(asked.data, name, asked.seeds))
        print(f"\n{name} ({role})\n\n{report(found)}", flush=True)


if __name__ == "__main__":
    main()
