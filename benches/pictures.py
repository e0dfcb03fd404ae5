"""Makes the figures of docs/pictures from the bundled texts and from committed results.

    python benches/pictures.py                  # all of them: some minutes of one core
    python benches/pictures.py curves accuracy  # some
    python benches/pictures.py --to folder --format png

Each figure is drawn by a command that anyone can type, or from `benches/models/results.jsonl`;
docs/lab/pictures.md says of each what it was made from, at which commit and when. Runs have one thread
and a seed, so on one machine the same code draws the same figures. The picture of the page is a browser's
(`screenshot.py`), always PNG. Tables are in `report.py` and `models/table.py`.
"""

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"
SENTENCES = "tests/data/sentences"
CORPUS = "tests/data/corpus"
# Larger files make pages slow.
MOST_BYTES = 150_000
ABOUT = ROOT / "docs" / "lab" / "pictures.md"


def typed(folder: Path, *commands: str) -> list[str]:
    """Runs commands in the checkout, `OUT` replaced by a folder; returns them."""
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    for command in commands:
        program, *args = shlex.split(command.replace("OUT", str(folder)))
        package = {"senti": "sentimodels", "sentitok": "sentitok"}[program]
        code = f"from {package}.cli import main; main()"
        subprocess.run([sys.executable, "-c", code, *args, "-q"], cwd=ROOT, env=env, check=True,
                       stdout=subprocess.DEVNULL)  # fmt: skip
    return list(commands)


def tokenizers(folder: Path, target: Path) -> list[str]:
    """Three sizes of vocabulary on a text of 23 languages."""
    train = [f"sentitok train-bpe {CORPUS}/pride-and-prejudice.txt {CORPUS}/udhr-23-languages.txt "
             f"--vocab {size} -o OUT/bpe-{size}.json" for size in (1000, 4000, 16000)]  # fmt: skip
    draw = "sentitok eval OUT/bpe-1000.json OUT/bpe-4000.json OUT/bpe-16000.json "
    return typed(folder, *train, f"{draw}{CORPUS}/udhr-23-languages.txt --plot {target}")


def curves(folder: Path, target: Path) -> list[str]:
    """Three architectures as they learn 900 sentences."""
    settings = "--preset nano --epochs 10 --patience 0 --threads 1 --no-baseline --set train.log_every=5"
    train = [
        f"senti train {SENTENCES}/yelp_labelled.txt --arch {arch} {settings} --out OUT/{arch}"
        for arch in ("cnn", "lstm", "gpt")
    ]
    return typed(folder, *train, f"senti plot OUT/cnn OUT/lstm OUT/gpt -o {target} --force")


def calibration(folder: Path, target: Path) -> list[str]:
    """Confidence of two quick models on film reviews they have not seen."""
    split = f"senti data split {SENTENCES}/rt-polarity -o OUT/parts --shares 0.7,0.1,0.2 --by hash"
    train = [f"senti train OUT/parts/train.csv --valid OUT/parts/valid.csv --arch {arch} --threads 1 "
             f"--no-baseline --out OUT/{arch}" for arch in ("bow", "tfidf")]  # fmt: skip
    draw = f"senti plot OUT/bow OUT/tfidf --kind calibration --data OUT/parts/test.csv -o {target} --force"
    return typed(folder, split, *train, draw)


def language(folder: Path, target: Path) -> list[str]:
    """Two language models as they learn two novels."""
    novels = f"{CORPUS}/pride-and-prejudice.txt {CORPUS}/sherlock-holmes.txt"
    settings = (
        "--preset nano --vocab 2000 --context 128 --batch-size 16 --tokens 400K --optimizer muon --lr 0.004 "
        "--threads 1 --set train.evaluate_every=20 --set train.log_every=2"
    )
    train = [
        f"senti pretrain {novels} --format paragraphs --arch {arch} {settings} --out OUT/{arch}"
        for arch in ("gpt", "lstm")
    ]
    return typed(folder, *train, f"senti plot OUT/gpt OUT/lstm --axis tokens -o {target} --force")


def page(folder: Path, target: Path) -> list[str]:
    """The page with a classifier, which explains its answer, and a language model, which continues."""
    from screenshot import STEPS, take

    novels = f"{CORPUS}/pride-and-prejudice.txt {CORPUS}/sherlock-holmes.txt"
    made = typed(
        folder,
        f"senti train {SENTENCES}/rt-polarity --arch bow --threads 1 --no-baseline --out OUT/reviews",
        f"senti pretrain {novels} --format paragraphs --preset nano --vocab 1000 --context 64 "
        "--batch-size 16 --steps 100 --optimizer muon --lr 0.004 --threads 1 --out OUT/novels",
    )
    runs = [str(folder / name) for name in ("reviews", "novels")]
    take([sys.executable, "-m", "sentimodels.cli", "serve", *runs], target)
    return [*made, "senti serve OUT/reviews OUT/novels", *STEPS]


def accuracy(_: Path, target: Path) -> list[str]:
    """Rows of the Kaggle phrases, as measured last; CPU seconds of one core."""
    from sentimodels.plots import Asked, drawing, save
    from sentimodels.plots.runs import Reached

    rows: dict[str, list[dict[str, Any]]] = {}
    for result in measured():
        rows.setdefault(result["row"].removeprefix("kaggle:"), []).append(result)
    points = {}
    for name, results in rows.items():
        reached = interval(results)
        seconds = fmean(result["cost"]["cpu_seconds"] for result in results)
        parameters = results[0]["cost"]["parameters"]
        points[name] = Reached(*reached, parameters, seconds, "a sealed fifth of the sentences")
    save(drawing("accuracy")(points, Asked("seconds", on="Kaggle movie-review phrases")), target)
    return [f"rows of benches/models/results.jsonl: {', '.join(points)}"]


def measured() -> Iterator[dict[str, Any]]:
    """Yields the last results of rows that were trained on train alone."""
    sys.path.insert(0, str(ROOT / "benches" / "models"))
    from result import latest
    from rows import KAGGLE

    names = {f"kaggle:{row.name}" for row in KAGGLE}
    yield from (result for (row, _), result in latest().items() if row in names)


def interval(results: list[dict[str, Any]]) -> tuple[float, float, float]:
    """Returns accuracy over seeds and sentences, and the ends of its 95 % interval."""
    from joint_intervals import level
    from result import unpack

    right = np.stack([unpack(result["sealed"]["right"]) for result in results])
    joint = level(right, unpack(results[0]["sealed"]["rows"]))
    return joint.value, joint.low, joint.high


FIGURES: dict[str, Callable[[Path, Path], list[str]]] = {
    "tokenizers": tokenizers, "curves": curves, "calibration": calibration, "language": language,
    "accuracy": accuracy, "page": page,
}  # fmt: skip


def git(*args: str) -> str:
    done = subprocess.run(["git", "-C", str(ROOT), *args], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def noted(folder: Path, made: dict[str, list[str]]) -> None:
    """Writes where each figure comes from; keeps the entries of figures that are not drawn now."""
    path = ABOUT if folder == PICTURES else folder / "README.md"
    old = path.read_text("utf-8") if path.is_file() else ""
    sections = {part.split("\n", 1)[0].strip(): part for part in old.split("\n## ")[1:]}
    # A checkout with changes, except for the figures themselves, is not what its commit says.
    others = git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs/pictures")
    changed = " with changes" if others else ""
    when = f"commit {git('rev-parse', '--short=9', 'HEAD')}{changed}, {datetime.now(UTC):%Y-%m-%d}"
    for name, commands in made.items():
        about = (FIGURES[name.split(".")[0]].__doc__ or "").strip()
        body = "\n".join(command.replace(str(folder), "docs/pictures") for command in commands)
        sections[name] = f"{name}\n\n{about} Made at {when}.\n\n```text\n{body}\n```\n"
    head = (
        "# Where the figures come from\n\n`python benches/pictures.py` draws them and writes this page.\n\n"
        "- Each section names a figure of `docs/pictures/`, the commit and the date.\n"
        "- Below are the commands, which anyone can type; `OUT` is a temporary folder.\n"
        "- Figures of results are drawn from `benches/models/results.jsonl`.\n"
        "- Runs have one thread and a seed, so the same machine draws the same figure again.\n"
        "- The picture of the page is a screenshot of a browser.\n"
        "- Drawings by hand say so.\n"
    )
    path.write_text(head + "".join(f"\n## {sections[name].rstrip()}\n" for name in sorted(sections)), "utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help=f"of {', '.join(FIGURES)}; all by default")
    parser.add_argument("--to", type=Path, default=PICTURES)
    parser.add_argument("--format", choices=("svg", "png"), default="svg")
    asked = parser.parse_args()
    if unknown := [name for name in asked.names if name not in FIGURES]:
        parser.error(f"no figure {unknown[0]!r}; there are {', '.join(FIGURES)}")
    asked.to.mkdir(parents=True, exist_ok=True)
    made, large = {}, []
    for name in asked.names or FIGURES:
        target = asked.to.resolve() / f"{name}.{'png' if name == 'page' else asked.format}"
        with tempfile.TemporaryDirectory() as folder:
            made[target.name] = FIGURES[name](Path(folder), target)
        n_bytes = target.stat().st_size
        large += [target] if n_bytes > MOST_BYTES else []
        print(f"wrote {target}, {n_bytes:,} bytes", flush=True)
    noted(asked.to.resolve(), made)
    for target in large:
        print(f"{target}: larger than {MOST_BYTES:,} bytes; draw fewer points, or --format png")
    return 1 if large else 0


if __name__ == "__main__":
    sys.exit(main())
