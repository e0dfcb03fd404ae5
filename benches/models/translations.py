"""The part of docs/results.md about translation: what is measured, and its table, from result files alone.

Not for measuring (`translate.py`). The test pairs of a row are scored once, when nothing is left to choose.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bars import BLEU, TRANSLATION_SECONDS
from markdown import MET, MISSED, from_what, missing, table
from result import RESULTS, read

Result = dict[str, Any]


@dataclass(frozen=True)
class Row:
    """A model on a set of pairs.

    Attributes:
        title: what the page calls it.
        files: of each part, its files below the data, `{}` for the side. Where none are for validation, a
            share of the training pairs is held out.
        prompted: whether a causal model reads the source in a prompt, in place of an encoder-decoder.
        result: the name of the result file.
        cost: what training takes.
        bar: BLEU to reach.
    """

    title: str
    files: dict[str, str]
    prompted: bool
    result: str
    cost: str
    bar: float | None = None

    def read(self) -> list[str]:
        """Returns its files below the data."""
        return [name.format(side) for name in self.files.values() for side in ("en", "de")]


MULTI30K = {
    "train": "multi30k-en-de/train.{}.gz", "valid": "multi30k-en-de/val.{}.gz",
    "test": "multi30k-en-de/test_2016_flickr.{}.gz",
}  # fmt: skip
# Of WMT's news and debates, 10,000 pairs; the 50 beside them judge.
WMT = {"train": "wmt-en-de-10k/train.{}.xz", "test": "wmt-en-de-10k/val.{}.xz"}
ROWS = {
    "multi30k": Row(
        "Multi30k, encoder-decoder", MULTI30K, False, "translation", "an hour of two cores", BLEU
    ),
    "multi30k-gpt": Row(
        "Multi30k, `gpt` on prompts", MULTI30K, True, "translation-gpt", "an hour of two cores"
    ),
    "wmt": Row(
        "WMT sample, encoder-decoder", WMT, False, "translation-wmt", "three quarters of an hour of two cores"
    ),
    "wmt-gpt": Row(
        "WMT sample, `gpt` on prompts", WMT, True, "translation-wmt-gpt",
        "three quarters of an hour of two cores",
    ),
}  # fmt: skip
HEAD = [
    "English to German", "parameters", "epochs, steps", "minutes, threads", "dev: BLEU / chrF", "pairs",
    "test: BLEU / chrF", f"BLEU of {BLEU:g} after at most an hour",
]  # fmt: skip


def part(folder: Path = RESULTS) -> str:
    """Returns a table of what is there and what it was made of, and how to measure the rest."""
    there = {name: folder / f"{row.result}.json" for name, row in ROWS.items()}
    results = {name: read(path) for name, path in there.items() if path.is_file()}
    texts = [
        "An encoder-decoder, and beside it a causal model with as many parameters that reads the source in a "
        "prompt; recipe `benches/models/multi30k.toml`. Steps and search are chosen on dev, which chose the "
        "weights as well; the test pairs are scored once. Of the WMT sample 50 pairs judge, too few for more "
        "than a first impression."
    ]
    if results:
        texts.append(table(HEAD, [line(ROWS[name], one) for name, one in results.items()]))
    texts += [f"{ROWS[name].title}: {made_by(one)}" for name, one in results.items()]
    for name, row in ROWS.items():
        if name not in results:
            command = f"python benches/models/translate.py {name}"
            texts.append(f"{row.title}: {missing(command, f'{row.cost}; then with --test')}")
    return "\n\n".join(texts)


def line(row: Row, result: Result) -> list[str]:
    config, fit, test, dev = (result[name] for name in ("config", "fit", "test", "dev"))
    met = row.bar is not None and test["bleu"] >= row.bar and fit["seconds"] <= TRANSLATION_SECONDS
    return [
        row.title, f"{result['parameters']:,}", f"{config['train']['epochs']:g}, {fit['steps']:,}",
        f"{fit['seconds'] / 60:.0f}, {config['train']['threads']}", f"{dev['bleu']:.2f} / {dev['chrf']:.2f}",
        f"{test['pairs']:,}", f"{test['bleu']:.2f} / {test['chrf']:.2f}",
        "" if row.bar is None else MET if met else MISSED,
    ]  # fmt: skip


def made_by(result: Result) -> str:
    test = result["test"]
    search = ", ".join(f"{key} {value}" for key, value in test["search"].items())
    signatures = "; ".join(f"`{one}`" for one in test["signatures"].values())
    return (
        f"{search}; {test['seen']} test pairs stand among the training pairs. sacrebleu: {signatures}. "
        f"{from_what(result)}"
    )
