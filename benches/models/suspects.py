"""Planted wrong labels: how many of the most suspicious rows are those.

    python benches/models/suspects.py                  # minutes
    python benches/models/suspects.py --rows 40000     # all rows
    python benches/models/suspects.py --dev            # the sets that settings are chosen on
    python benches/models/suspects.py --arch tfidf bow # averages runs of both, as with --run
    python benches/models/suspects.py --sets IMDb      # one set

The sets that judge are of kinds whose labels people clean: reviews (films, shops in Chinese, sentences),
the source of a sentence, the work of a paragraph, and its language. Of each set 5 and 10 % of the labels
are exchanged, at random. A cross-validation of five folds answers for all rows: that of `senti data
suspects` without `--run`, or runs of the architectures that are named. `precision` is the share of planted
rows among the first N of the ranking, where N is how many were planted: labels that were wrong before count
as misses. The next columns are of what `senti data suspects` lists. `accuracy` is against the labels with
the planted ones. The 20 sources chose how rows are ranked; languages and they rejected another one;
nothing else is chosen on these sets.
"""

import argparse
import csv
import lzma
import random
import re
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import numpy as np
from multilabel import sources
from result import data_folder

from sentimodels.data import read_table
from sentimodels.evaluation.suspects import ranked
from sentimodels.runs import out_of_fold
from sentimodels.runs.families import resolve
from sentimodels.runs.group import train_folds

SHARES = (0.05, 0.1)
Rows = list[tuple[str, str]]


def read(path: Path, encoding: str = "utf-8") -> Iterator[str]:
    with lzma.open(path, "rt", encoding=encoding, newline="") as file:
        yield from file


def columns(path: Path, where: dict[str, str] | None = None) -> Rows:
    """The texts and labels of a CSV file."""
    rows = csv.DictReader(read(path))
    return [
        (row["text"], row["label"])
        for row in rows
        if all(row[name] == value for name, value in (where or {}).items())
    ]


def pairs(lines: Iterator[str]) -> Rows:
    """The texts and labels of lines with a tab between them."""
    cells = (line.rstrip("\r\n").split("\t") for line in lines)
    return [(row[0], row[1]) for row in cells if len(row) == 2]


def languages(path: Path) -> Rows:
    """Paragraphs of the declaration of human rights, with their language; 40 paragraphs or more of each."""
    rows: Rows = []
    with ZipFile(path) as files:
        for name in sorted(files.namelist()):
            lines = files.read(name).decode().splitlines() if name.endswith(".txt") else []
            long = sorted({line.strip() for line in lines if len(line.strip()) >= 20})
            rows += [(line, name[:-4]) for line in long] if len(long) >= 40 else []
    return rows


# Works, each with the line end that ends a paragraph: before an empty line, any, or that of a short line.
WORKS = {
    "pride": ("gutenberg-1342-pride-and-prejudice", r"\n"),
    "war": ("gutenberg-2600-war-and-peace", r"\n\s*\n"),
    "sherlock": ("gutenberg-sherlock", r"\n\s*\n"),
    "botchan": ("gutenberg-botchan-en", r"(?m)(?<!.{60})\n"),
    "plays": ("tinyshakespeare", r"\n\s*\n"),
    "sonnets": ("shakespeare-sonnets", r"\n\s*\n"),
}


def works(data: Path) -> Rows:
    """Paragraphs of 60 words or more, with their work; their labels are certain."""
    rows: Rows = []
    for name, (file, end) in WORKS.items():
        text = "".join(read(data / "corpora" / f"{file}.txt.xz"))
        own = re.search(r"\*\*\* START OF TH.*?\n(.*)\*\*\* END OF TH", text, re.S)
        for part in re.split(end, own[1] if own else text):
            spoken = re.sub(r"^[^\n]{1,40}:\n", "", part.strip())  # without the speaker of a play
            if len(spoken.split()) >= 60:
                rows.append((" ".join(spoken.split()), name))
    return rows


def measured(data: Path) -> dict[str, Rows]:
    """The sets: three of two labels, 20 sources of sentences, some much alike, six works, 303 languages."""
    sentences = [(text, name) for name, texts in sources(data).items() for text in sorted({*texts} - {""})]
    return {
        "IMDb": columns(data / "imdb" / "imdb_40k.csv.xz"),
        "SST-2": pairs(read(data / "sst2" / "train.tsv.xz")),
        "Chinese reviews": columns(data / "zh-reviews" / "reviews.csv.xz"),
        "20 sources": sentences,
        "works": works(data),
        "languages": languages(data / "udhr-multiscript" / "udhr2_a.zip"),
    }


def dev(data: Path) -> dict[str, Rows]:
    """The sets that settings are chosen on."""
    polarity = data / "mr-rt-polarity"
    films = [
        (line.strip(), side)
        for side in ("pos", "neg")
        for line in read(polarity / f"rt-polarity.{side}.xz", "latin-1")
    ]
    with (data / "yelp-labelled" / "yelp_labelled.txt").open(encoding="utf-8") as file:
        return {"MR": films, "Yelp": pairs(iter(file))}


def judged(rows: Rows, share: float, archs: list[str], folds: int, folder: Path) -> dict[str, float]:
    """Plants wrong labels in rows, and looks for them."""
    drawn, labels = random.Random(round(1000 * share)), sorted({label for _, label in rows})
    planted = set(drawn.sample(range(len(rows)), round(share * len(rows))))
    path = folder / "rows.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("text", "label"))
        for place, (text, label) in enumerate(rows):
            others = [one for one in labels if one != label]
            writer.writerow((text, drawn.choice(others) if place in planted else label))
    began, table = time.process_time(), read_table(path, "text", "label")
    for arch in archs:
        tree = {"arch": arch, "data": {"train": str(path), "folds": folds, "text_column": "text",
                                       "label_column": "label"}}  # fmt: skip
        train_folds(resolve(tree), folder / arch)
    groups = [folder / arch for arch in archs]
    table, answers = out_of_fold.load_mean(groups, table) if groups else out_of_fold.of_bags(table)
    ranking = ranked(answers)
    assert table.numbers is not None
    wrong = np.array([number in planted for number in table.numbers])
    listed = ranking.contradicted
    return {
        "rows": len(rows), "planted": len(planted), "accuracy": float(answers.right.mean()),
        "precision": float(wrong[ranking.order[: len(planted)]].mean()), "listed": int(listed.sum()),
        "listed_precision": float(wrong[listed].mean()),
        "listed_recall": float(wrong[listed].sum() / len(planted)),
        "seconds": time.process_time() - began,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=int, default=8_000, help="rows of each set, drawn at random")
    parser.add_argument("--arch", nargs="+", default=[], help="whose answers are averaged")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--dev", action="store_true", help="the sets that settings are chosen on")
    parser.add_argument("--sets", nargs="+", help="names of sets; all without it")
    given = parser.parse_args()
    sets = (dev if given.dev else measured)(data_folder())
    if unknown := set(given.sets or ()) - set(sets):
        parser.error(f"no set {', '.join(sorted(unknown))}; there are {', '.join(sets)}")
    sets = {name: rows for name, rows in sets.items() if not given.sets or name in given.sets}
    names = ["precision", "listed", "listed_precision", "listed_recall", "accuracy", "seconds"]
    print(f"{'set':16} {'rows':>6} {'planted':>7}  " + "  ".join(f"{name:>9}" for name in names))
    for name, rows in sets.items():
        drawn = random.Random(1).sample(rows, min(given.rows, len(rows)))
        for share in SHARES:
            with tempfile.TemporaryDirectory() as folder:
                found = judged(drawn, share, given.arch, given.folds, Path(folder))
            shown = [f"{found[one]:{9 + max(0, len(one) - 9)}.3f}" for one in names]
            print(f"{name:16} {found['rows']:6} {found['planted']:7}  " + "  ".join(shown), flush=True)


if __name__ == "__main__":
    main()
