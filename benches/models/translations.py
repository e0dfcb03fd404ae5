"""The part of docs/results.md about translation: what is measured, and its table, from result files alone.

Not for measuring (`translate.py`). Test pairs choose nothing; the page names each time they were scored.
"""

from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from bars import SEEDS
from judged import asks, judged_of
from markdown import from_what, missing, table
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
        recipe: the name of its recipe, a `.toml` file beside this one.
        seeds: how many are trained.
    """

    title: str
    files: dict[str, str]
    prompted: bool
    result: str
    cost: str
    recipe: str = "multi30k"
    seeds: int = SEEDS

    def read(self) -> list[str]:
        """Returns its files below the data."""
        return [name.format(side) for name in self.files.values() for side in ("en", "de")]


MULTI30K = {
    "train": "multi30k-en-de/train.{}.gz", "valid": "multi30k-en-de/val.{}.gz",
    "test": "multi30k-en-de/test_2016_flickr.{}.gz",
}  # fmt: skip
# Of WMT's news and debates, 10,000 pairs; the 50 beside them judge.
WMT = {"train": "wmt-en-de-10k/train.{}.xz", "test": "wmt-en-de-10k/val.{}.xz"}
HOURS = "three seeds, hours of one core; stops and goes on"
ROWS = {
    "multi30k": Row("Multi30k, encoder-decoder", MULTI30K, False, "translation", HOURS),
    "multi30k-gpu": Row(
        "Multi30k, encoder-decoder, wider", MULTI30K, False, "translation-gpu",
        "three seeds, minutes of a GPU", "multi30k-gpu",
    ),
    "multi30k-gpt": Row("Multi30k, `gpt` on prompts", MULTI30K, True, "translation-gpt", HOURS),
    "wmt": Row("WMT sample, encoder-decoder", WMT, False, "translation-wmt", HOURS),
    "wmt-gpt": Row("WMT sample, `gpt` on prompts", WMT, True, "translation-wmt-gpt", HOURS),
}  # fmt: skip
HEAD = [
    "English to German", "parameters", "epochs, steps", "minutes", "seeds", "dev: BLEU / chrF", "pairs",
    "test: BLEU / chrF", "95 % of BLEU",
]  # fmt: skip


def part(folder: Path = RESULTS) -> str:
    """Returns a table of what is there and what it was made of, and how to measure the rest."""
    there = {name: folder / f"{row.result}.json" for name, row in ROWS.items()}
    results = {name: read(path) for name, path in there.items() if path.is_file()}
    texts = [
        "An encoder-decoder, and beside it a causal model with as many parameters that reads the source in "
        "a prompt; recipe `benches/models/multi30k.toml`, of the wider one `multi30k-gpu.toml`. Steps and "
        "search are chosen on dev, which chose the weights as well; the test pairs chose nothing. Means "
        "over seeds; intervals are over seeds and pairs. Of the WMT sample 50 pairs judge, too few for more "
        "than a first impression. Training computes in the precision that is named; minutes of a CPU are "
        "of one that multiplies bfloat16, and more on others."
    ]
    if results:
        texts.append(table(HEAD, [line(ROWS[name], one) for name, one in results.items()]))
    texts += [f"{ROWS[name].title}: {made_by(ROWS[name], one)}" for name, one in results.items()]
    for name, row in ROWS.items():
        if name not in results:
            command = f"python benches/models/translate.py {name}"
            texts.append(f"{row.title}: {missing(command, f'{row.cost}; then with --test')}")
    return "\n\n".join(texts)


def line(row: Row, result: Result) -> list[str]:
    seeds, bleu = result["seeds"], result["bleu"]
    of_steps = [one["fit"]["steps"] for one in seeds]
    steps = " to ".join(f"{one:,}" for one in sorted({min(of_steps), max(of_steps)}))
    count = f"{len(seeds)}" if len(seeds) == row.seeds else f"{len(seeds)} of {row.seeds}"
    return [
        row.title, f"{seeds[0]['parameters']:,}", f"{result['config']['train']['epochs']:g}, {steps}",
        cost(seeds), count, both(seeds, "dev"),
        f"{seeds[0]['test']['pairs']:,}", both(seeds, "test"),
        f"{bleu['low']:.2f} to {bleu['high']:.2f}",
    ]  # fmt: skip


def cost(seeds: list[Result]) -> str:
    """Returns the mean minutes of training on each device: of a processor, or of the clock on a GPU."""
    spent: dict[str, list[float]] = {}
    for one in seeds:
        device = one.get("device", "cpu")
        seconds = one["cpu_seconds"] if device == "cpu" else one["fit"]["seconds"]
        spent.setdefault("a CPU" if device == "cpu" else device, []).append(seconds)
    return ", ".join(f"{fmean(seconds) / 60:.0f} of {device}" for device, seconds in spent.items())


def both(seeds: list[Result], part: str) -> str:
    """Returns the means of BLEU and chrF."""
    return " / ".join(f"{fmean(one[part][score] for one in seeds):.2f}" for score in ("bleu", "chrf"))


def made_by(row: Row, result: Result) -> str:
    test = result["seeds"][0]["test"]
    search = ", ".join(f"{key} {value}" for key, value in test["search"].items())
    signatures = "; ".join(f"`{one}`" for one in test["signatures"].values())
    of_seeds = ", ".join(f"{one['test']['bleu']:.2f}" for one in result["seeds"])
    of_seeds += "".join(
        f"; {one['test']['bleu']:.2f} is of seed {one['seed']}, scored before ({one['scored']['date']}, "
        f"commit {one['scored']['commit'][:9]}; the interval takes its spread over pairs from the others)"
        for one in result["seeds"]
        if "scored" in one
    )
    bars = "; ".join(f"{asks(one.bar)}: {one.word}" for one in judged_of(row.result, result))
    before = "; ".join(
        f"{', '.join(f'{bleu:.2f}' for bleu in one['bleu'])} ({one['date']}, commit {one['commit'][:9]})"
        for one in result["earlier"]
    )
    return (
        f"trained in {result['config']['train']['precision']}; {search}; BLEU of each seed {of_seeds}. "
        + (f"Bars: {bars}. " if bars else "")
        + (f"The test pairs had been scored before: {before}. " if before else "")
        + f"{test['seen']} test pairs stand among the training pairs. sacrebleu: {signatures}. "
        f"{from_what(result)}"
    )
