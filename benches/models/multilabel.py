"""Several labels a text: `senti`, one against the rest on TF-IDF in scikit-learn, fastText's `-loss ova`.

    python benches/models/multilabel.py                             # minutes
    python benches/models/multilabel.py --fasttext OTHER/bin/python  # with the fastText of another one

The set is made, not found: each text joins sentences of up to four sources, of which there are 19: films,
restaurants, reviews and tweets by their polarity, books, encyclopedia, captions, parliament, in English and
German. Its labels are its sources; one text in twelve is of a source without a label. No sentence is in two
parts. All read the same rows, and the test rows are read once. Labels are decided in two ways: from a
probability of 0.5 on, with the settings of the highest micro F1 on dev; and by a threshold for each label,
chosen for its F1 on dev (`senti thresholds --threshold macro_f1`), with the settings of the highest macro F1
there. One function chooses the thresholds of all libraries.
"""

import argparse
import csv
import gzip
import json
import lzma
import random
import re
import resource
import subprocess
import tempfile
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from result import append, data_folder
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, f1_score, hamming_loss
from sklearn.multiclass import OneVsRestClassifier

ROWS = {"train": 10_000, "dev": 1_000, "test": 2_000}
SHARES = {"train": 0.7, "dev": 0.1, "test": 0.2}
# What a text without a label is made of.
NOTHING = "c4"
SENTENCE = re.compile(r"(?<=[.!?])\s+")
Rows = list[tuple[str, list[str]]]


def lines_of(path: Path) -> list[str]:
    opened: Any = {".xz": lzma.open, ".gz": gzip.open}.get(path.suffix, open)
    with opened(path, "rt", encoding="latin-1" if "polarity" in path.name else "utf-8") as file:
        return [line.strip() for line in file]


def sentences_of(path: Path) -> list[str]:
    """The sentences of a book, of 6 to 40 words."""
    text = " ".join(lines_of(path))
    return [one for one in SENTENCE.split(text) if 6 <= len(one.split()) <= 40]


def sources(data: Path) -> dict[str, list[str]]:
    """Returns the sentences of each source, and of `NOTHING`."""
    books = {
        "pride": "gutenberg-1342-pride-and-prejudice", "war": "gutenberg-2600-war-and-peace",
        "botchan": "gutenberg-botchan-en", "sherlock": "gutenberg-sherlock", "drama": "tinyshakespeare",
        "sonnets": "shakespeare-sonnets", "encyclopedia": "wikitext-2.valid",
    }  # fmt: skip
    found = {name: sentences_of(data / "corpora" / f"{file}.txt.xz") for name, file in books.items()}
    for side in ("pos", "neg"):
        found[f"film {side}"] = lines_of(data / "mr-rt-polarity" / f"rt-polarity.{side}.xz")
    for side, label in (("pos", "1"), ("neg", "0")):
        rows = [line.split("\t") for line in lines_of(data / "yelp-labelled" / "yelp_labelled.txt")]
        found[f"food {side}"] = [row[0] for row in rows if len(row) == 2 and row[1] == label]
    with lzma.open(data / "tweet-sentiment" / "train.csv.xz", "rt", encoding="utf-8") as file:
        tweets = list(csv.DictReader(file))
    for side in ("positive", "negative", "neutral"):
        found[f"tweet {side}"] = [row["text"] for row in tweets if row["sentiment"] == side][:4000]
    with lzma.open(data / "imdb" / "imdb_40k.csv.xz", "rt", encoding="utf-8") as file:
        reviews = [row for row, _ in zip(csv.DictReader(file), range(3000), strict=False)]
    for value in sorted({row["label"] for row in reviews}):
        some = [row["text"] for row in reviews if row["label"] == value]
        found[f"review {value}"] = [" ".join(one.split()[:30]) for one in some]
    for side in ("en", "de"):
        found[f"caption {side}"] = lines_of(data / "multi30k-en-de" / f"train.{side}.gz")[:4000]
        found[f"parliament {side}"] = lines_of(data / "wmt-en-de-10k" / f"train.{side}.xz")[:4000]
    found[NOTHING] = [
        one
        for line in lines_of(data / "corpora" / "c4-en-1000.jsonl.xz")
        for one in SENTENCE.split(json.loads(line)["text"] if line.startswith("{") else line)
        if 6 <= len(one.split()) <= 40
    ]
    return found


def made(data: Path) -> dict[str, Rows]:
    """Returns the rows of each part."""
    draw = random.Random(0)
    by_part: dict[str, dict[str, list[str]]] = {part: {} for part in ROWS}
    for name, some in sources(data).items():
        distinct = sorted({one for one in some if one})
        draw.shuffle(distinct)
        start = 0
        for part, share in SHARES.items():
            end = start + int(share * len(distinct))
            by_part[part][name] = distinct[start:end]
            start = end
    return {part: list(joined(draw, by_part[part], n)) for part, n in ROWS.items()}


def joined(draw: random.Random, by_source: dict[str, list[str]], n: int) -> Iterator[tuple[str, list[str]]]:
    """Yields texts of sentences of one to four sources."""
    names = sorted(set(by_source) - {NOTHING})
    # Some sources are ten times as frequent as the rarest.
    weights = np.geomspace(1, 0.1, len(names))
    for _ in range(n):
        if draw.random() < 1 / 12:
            yield draw.choice(by_source[NOTHING]), []
            continue
        wanted = draw.choices((1, 2, 3, 4), (4, 3, 2, 1))[0]
        chosen = {draw.choices(names, weights.tolist())[0] for _ in range(wanted)}
        said = [draw.choice(by_source[name]) for name in sorted(chosen)]
        draw.shuffle(said)
        yield " ".join(said), sorted(chosen)


def write(rows: Rows, path: Path) -> None:
    lines = [json.dumps({"text": text, "labels": labels}) + "\n" for text, labels in rows]
    path.write_text("".join(lines))


def truth_of(rows: Rows, names: list[str]) -> NDArray[np.int64]:
    return np.array([[int(name in labels) for name in names] for _, labels in rows])


def scores_of(
    truth: NDArray[np.int64], probs: NDArray[Any], least: NDArray[np.float64] | float = 0.5
) -> dict[str, float]:
    answers = (probs >= least).astype(int)
    return {
        "micro_f1": float(f1_score(truth, answers, average="micro", zero_division=0)),
        "macro_f1": float(f1_score(truth, answers, average="macro", zero_division=0)),
        "accuracy": float((truth == answers).all(1).mean()),
        "hamming_loss": float(hamming_loss(truth, answers)),
        "macro_average_precision": float(average_precision_score(truth, probs, average="macro")),
    }


# By how labels are decided: the score that chooses settings, and the rule of thresholds (`None`: 0.5).
WAYS = {"from 0.5 on": ("micro_f1", None), "thresholds": ("macro_f1", "macro_f1")}


def thresholds(
    rule: str, names: list[str], probs: NDArray[Any], truth: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Returns the threshold of each label, chosen on these rows."""
    from sentimodels.config import ThresholdRule
    from sentimodels.data.label_sets import LabelSets
    from sentimodels.evaluation.thresholds import choose

    return np.array(choose(ThresholdRule.of(rule), LabelSets(names), probs, truth).least)


def of_scikit_learn(parts: dict[str, Rows], names: list[str]) -> Iterator[tuple[Any, dict[str, Any], float]]:
    """Yields settings, probabilities of dev and test, and seconds of CPU."""
    texts = {part: [text for text, _ in rows] for part, rows in parts.items()}
    vectorizer = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, min_df=2)
    features = {"train": vectorizer.fit_transform(texts["train"])}
    features |= {part: vectorizer.transform(texts[part]) for part in ("dev", "test")}
    for c in (4, 16, 64):
        began = time.process_time()
        model = OneVsRestClassifier(LogisticRegression(C=c, max_iter=1000))
        model.fit(features["train"], truth_of(parts["train"], names))
        seconds = time.process_time() - began
        probs = {part: model.predict_proba(features[part]) for part in ("dev", "test")}
        yield {"C": c}, probs, seconds


# Runs where fastText is: trains on `train.txt`, writes probabilities of `dev.txt` and `test.txt`.
_FASTTEXT = """
import fasttext, json, sys
folder, names = sys.argv[1], json.loads(sys.argv[2])
settings = json.loads(sys.argv[3])
# One thread, so that each run gives the same figures.
model = fasttext.train_supervised(f"{folder}/train.txt", loss="ova", thread=1, verbose=0, **settings)
for part in ("dev", "test"):
    rows = []
    for text in json.load(open(f"{folder}/{part}.json")):
        labels, probs = model.predict(text, k=len(names))
        found = dict(zip((one[9:] for one in labels), map(float, probs)))
        rows.append([found.get(name.replace(" ", "_"), 0.0) for name in names])
    json.dump(rows, open(f"{folder}/{part}-probs.json", "w"))
"""


def of_fasttext(
    parts: dict[str, Rows], names: list[str], python: str
) -> Iterator[tuple[Any, dict[str, Any], float]]:
    """Yields as `of_scikit_learn`; texts have spaces around signs, as fastText's own guide does."""
    with tempfile.TemporaryDirectory() as folder:
        for part, rows in parts.items():
            texts = [" ".join(re.findall(r"\w+|[^\w\s]", text.lower())) for text, _ in rows]
            (Path(folder) / f"{part}.json").write_text(json.dumps(texts))
            marked = [" ".join(f"__label__{one.replace(' ', '_')}" for one in some) for _, some in rows]
            lines = [f"{labels} {text}\n" for labels, text in zip(marked, texts, strict=True)]
            (Path(folder) / f"{part}.txt").write_text("".join(lines))
        for lr, epoch in product((0.5, 1.0), (10, 25, 50)):
            settings = {"lr": lr, "epoch": epoch, "wordNgrams": 2, "dim": 100}
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            asked = [python, "-c", _FASTTEXT, folder, json.dumps(names), json.dumps(settings)]
            subprocess.run(asked, check=True)
            seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
            probs = {
                part: np.array(json.loads((Path(folder) / f"{part}-probs.json").read_text()))
                for part in ("dev", "test")
            }
            yield settings, probs, seconds


def of_senti(parts: dict[str, Rows], _: list[str]) -> Iterator[tuple[Any, dict[str, Any], float]]:
    """Yields as `of_scikit_learn`; dev chooses steps and temperatures of the runs too."""
    from sentimodels.classifier import Classifier
    from sentimodels.runs.execute import train
    from sentimodels.runs.families import resolve

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for part, rows in parts.items():
            write(rows, folder / f"{part}.jsonl")
        data = {"train": str(folder / "train.jsonl"), "valid": str(folder / "dev.jsonl"), "leaks": "tell"}
        tried: list[dict[str, Any]] = [
            *({"arch": "bow", "model": {"fit_epochs": epochs}} for epochs in (2, 5, 10)),
            *({"arch": "nb", "model": {"c": c}} for c in (3.0, 10.0, 40.0)),
            {"arch": "tfidf", "model": {"c": 16.0, "sublinear_tf": False}},
            {"arch": "tfidf", "model": {"c": 64.0, "sublinear_tf": True}},
            {"arch": "tfidf", "model": {"c": 4.0}},
        ]
        for number, settings in enumerate(tried):
            tree = {**settings, "data": data, "task": {"kind": "multilabel"}, "train": {"baseline": False}}
            began = time.process_time()
            train(resolve(tree), folder / str(number))
            seconds = time.process_time() - began
            run = Classifier.load(folder / str(number))
            probs = {part: run.predict_proba([text for text, _ in parts[part]]) for part in ("dev", "test")}
            yield settings, probs, seconds


def main() -> None:
    """Prints the scores of each library on test, with the settings that dev chose."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--fasttext", metavar="PYTHON", help="a Python that has fastText")
    parser.add_argument("--write", metavar="DIR", type=Path, help="only write the parts there, as JSON Lines")
    parser.add_argument("--save", action="store_true", help="append the figures to results.jsonl")
    asked = parser.parse_args()
    parts = made(data_folder())
    names = sorted({label for _, labels in parts["train"] for label in labels})
    if asked.write:
        asked.write.mkdir(parents=True, exist_ok=True)
        for part, rows in parts.items():
            write(rows, asked.write / f"{part}.jsonl")
        return
    truth = {part: truth_of(rows, names) for part, rows in parts.items()}
    print(f"{len(names)} labels, {truth['train'].sum(1).mean():.2f} a row of {len(parts['train']):,}")
    found = {"scikit-learn": of_scikit_learn(parts, names), "senti": of_senti(parts, names)}
    if asked.fasttext:
        found["fasttext"] = of_fasttext(parts, names, asked.fasttext)
    for library, tried in found.items():
        best: dict[str, Any] = {}
        for settings, probs, seconds in tried:
            found_on_dev = {}
            for way, (score, rule) in WAYS.items():
                least = 0.5 if rule is None else thresholds(rule, names, probs["dev"], truth["dev"])
                on_dev = found_on_dev[way] = scores_of(truth["dev"], probs["dev"], least)[score]
                if way not in best or on_dev > best[way][0]:
                    scores = scores_of(truth["test"], probs["test"], least)
                    best[way] = (on_dev, settings, scores, seconds)
            said = ", ".join(f"dev {WAYS[way][0]} {value:.4f}" for way, value in found_on_dev.items())
            print(f"  {library} {json.dumps(settings)}: {said}, {seconds:.1f} s", flush=True)
        for way, (_, settings, scores, seconds) in best.items():
            said = ", ".join(f"{name} {value:.4f}" for name, value in scores.items())
            print(f"{library}, {way}, {json.dumps(settings)}: test {said}", flush=True)
            if asked.save:
                command = "python benches/models/multilabel.py"
                append(f"joined:{library}:{way}", command, settings, scores, seconds=seconds)


if __name__ == "__main__":
    main()
