"""BLEU and chrF from English to German: an encoder-decoder, and a causal model that reads prompts.

    python benches/models/translate.py                    # Multi30k: an hour of a core a seed; dev judges
    python benches/models/translate.py multi30k --seed 1  # one seed alone
    python benches/models/translate.py multi30k-gpu       # a wider model, minutes of a GPU a seed
    python benches/models/translate.py multi30k-gpt       # the same pairs, a causal model on prompts
    python benches/models/translate.py wmt                # 10,000 pairs of WMT; wmt-gpt: on prompts
    python benches/models/translate.py wmt --seconds 600  # stops there; type it again to continue
    python benches/models/translate.py wmt --search       # alpha and beam, on dev
    python benches/models/translate.py wmt --test         # once, when nothing is left to choose
    python benches/models/translate.py wmt --speed 120    # speed alone, and epochs an hour buys

The recipe is `multi30k.toml`, on a GPU `multi30k-gpu.toml`; weights and search are chosen on the validation
pairs. Needs the data of `SENTITOK_DATA` and sacrebleu. `--test` scores all seeds that have finished, appends
a line for each to `results.jsonl`, with the signatures, and says whether the bars are met in their mean.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import torch
from joint_intervals import of_score
from numpy.typing import NDArray
from result import append, data_folder, verdict
from steps import AGAIN, after, cpu_seconds, translated

from sentimodels.config import TranslationConfig
from sentimodels.data.parallel import ParallelText, read_parallel, split_pairs
from sentimodels.evaluation.translation import bleu_tokenizer, translation_scores
from sentimodels.runs.directory import finished
from sentimodels.runs.execute import Callbacks, train
from sentimodels.runs.families import TRANSLATOR, read_toml, set_value
from sentimodels.translator import Translator, evaluate_translation

SEEDS = 3


@dataclass(frozen=True)
class Row:
    """A model on a set of pairs.

    Attributes:
        files: of each part, its files below the data, `{}` for the side. Without files for validation, a
            share of the training pairs is held out.
        prompted: whether a causal model reads the source in a prompt, instead of an encoder-decoder.
        recipe: the name of its recipe, a `.toml` file next to this one.
        seeds: how many are trained.
        bleu: the bar of BLEU on the test pairs, in the mean over seeds.
        seconds: the bar of CPU seconds of training.
    """

    files: dict[str, str]
    prompted: bool = False
    recipe: str = "multi30k"
    seeds: int = SEEDS
    bleu: float | None = None
    seconds: float | None = None


MULTI30K = {
    "train": "multi30k-en-de/train.{}.gz", "valid": "multi30k-en-de/val.{}.gz",
    "test": "multi30k-en-de/test_2016_flickr.{}.gz",
}  # fmt: skip
# Of WMT's news and debates, 10,000 pairs; 50 further ones judge.
WMT = {"train": "wmt-en-de-10k/train.{}.xz", "test": "wmt-en-de-10k/val.{}.xz"}
ROWS = {
    "multi30k": Row(MULTI30K, bleu=30.0, seconds=3600.0),
    "multi30k-gpu": Row(MULTI30K, recipe="multi30k-gpu", bleu=38.0),
    "multi30k-gpt": Row(MULTI30K, prompted=True),
    "wmt": Row(WMT),
    "wmt-gpt": Row(WMT, prompted=True),
}
# As many parameters as the encoder-decoder of the recipe, in one stack.
PROMPTED = {"d_model": 256, "n_layers": 5, "n_heads": 4, "d_ff": 1024, "dropout": 0.2}


def bleu_of_drawn(
    translations: Sequence[Sequence[str]], references: Sequence[str]
) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """Returns BLEU as a function of how often each text is drawn, as `joint_intervals.of_score` asks.

    Args:
        translations: of each seed, one text a reference.
        references: what they should be.

    Returns:
        From weights `(replicates, n_texts)`, whole numbers, to BLEU `(replicates, n_seeds)`, 0 to 100: what
        sacrebleu gives for all texts together, each as often as its weight says.

    Raises:
        ValueError: if a seed does not have one translation a reference.
    """
    from sacrebleu.metrics.bleu import BLEU

    # The counts are the same without an effective order, but sacrebleu warns of each text.
    metric = BLEU(tokenize=bleu_tokenizer(references), effective_order=True)
    counts = np.zeros((len(translations), len(references), 10))
    for of_seed, texts in zip(counts, translations, strict=True):
        for row, text, reference in zip(of_seed, texts, references, strict=True):
            one = metric.sentence_score(text, [reference])
            row[:] = (*one.counts, *one.totals, one.sys_len, one.ref_len)

    def score(weights: NDArray[np.float64]) -> NDArray[np.float64]:
        sums = np.rint(np.einsum("rt,stk->rsk", weights, counts)).astype(np.int64)
        out = np.empty(sums.shape[:2])
        for place in np.ndindex(out.shape):
            *both, n_given, n_true = sums[place].tolist()
            one = metric.compute_bleu(both[:4], both[4:], n_given, n_true, metric.smooth_method)
            out[place] = one.score
        return out

    return score


def files(row: Row, part: str) -> list[str]:
    """Returns the files of both sides, or none where a row has no such part."""
    if part not in row.files:
        return []
    return [str(data_folder() / row.files[part].format(side)) for side in ("en", "de")]


def settings(config: TranslationConfig) -> dict[str, Any]:
    """Returns the configuration of every seed, its files by their names among the data."""
    tree = config.tree()
    del tree["train"]["seed"]
    for part in ("train", "valid"):
        tree["data"][part] = [Path(file).relative_to(data_folder()).as_posix() for file in tree["data"][part]]
    return tree


def configured(row: Row, seed: int, threads: int, assignments: list[str]) -> TranslationConfig:
    """Returns the recipe for a row, with the assignments above it."""
    recipe = read_toml(Path(__file__).with_name(f"{row.recipe}.toml"))
    more: dict[str, Any] = {}
    if row.prompted:
        recipe = {**recipe, "arch": "gpt", "model": PROMPTED}
    for assignment in assignments:
        set_value(more, assignment)
    here = {
        "data": {"train": files(row, "train"), "valid": files(row, "valid")},
        "train": {"seed": seed, "threads": threads},
    }
    return TRANSLATOR.resolve(recipe, here, more)


def dev(row: Row, config: TranslationConfig) -> ParallelText:
    """Returns the validation pairs of a run."""
    if row.files.get("valid"):
        return read_parallel(files(row, "valid"))
    train = read_parallel(files(row, "train"), limit=config.data.limit)
    return split_pairs(train, config.data.valid_share, config.train.seed)[1]


def said(record: dict[str, Any]) -> None:
    if "monitor" in record:
        scores = ", ".join(f"{name} {value:.4f}" for name, value in record.items() if name[:4] == "val_")
        print(f"epoch {record['epoch']:g}, {record['seconds'] / 60:.1f} min: {scores}", flush=True)


def speed(config: TranslationConfig, seconds: float) -> None:
    """Trains for some seconds; prints tokens a second, and how many epochs an hour buys."""
    until = time.perf_counter() + seconds
    records: list[dict[str, Any]] = []
    config = config.model_copy(update={"train": config.train.model_copy(update={"log_every": 1})})

    def hear(record: dict[str, Any]) -> None:
        if "loss" in record:
            records.append(record | {"cpu": time.process_time()})

    with tempfile.TemporaryDirectory() as folder:
        about = train(
            config,
            Path(folder) / "run",
            callbacks=Callbacks(on_record=hear, should_stop=lambda: time.perf_counter() > until),
        )
    if len(records) < 10:
        raise SystemExit(f"{len(records)} steps in {seconds:g} s: too few to tell; give more --speed")
    first, last = records[4], records[-1]  # torch warms up
    tokens, steps = last["tokens"] - first["tokens"], last["step"] - first["step"]
    an_epoch = round(last["total_steps"] / config.train.epochs)
    speeds = {"parameters": about["parameters"], "steps": steps, "padding": round(about["fit"]["padding"], 4)}
    for name, spent in (("wall", last["seconds"] - first["seconds"]), ("cpu", last["cpu"] - first["cpu"])):
        speeds[f"tokens_per_{name}_second"] = round(tokens / spent)
        speeds[f"{name}_seconds_an_epoch"] = round(an_epoch * spent / steps, 1)
        speeds[f"epochs_a_{name}_hour"] = round(3600 * steps / (spent * an_epoch), 1)
    print(json.dumps(speeds, indent=1))


def search(run: Path, pairs: ParallelText) -> None:
    translator = Translator.load(run)
    for beam, alpha in ((1, 1.0), (5, 0.0), (5, 0.6), (5, 1.0), (5, 1.4), (10, 1.0)):
        began = time.perf_counter()
        texts = [one[0].text for one in translator.translate(pairs.sources, beam=beam, alpha=alpha)]
        seconds, scores = time.perf_counter() - began, translation_scores(texts, pairs.targets)
        print(f"dev: beam {beam}, alpha {alpha:g}: BLEU {scores['bleu']:.2f}, chrF {scores['chrf']:.2f}, "
              f"{seconds:.1f} s")  # fmt: skip


def run_of(folder: Path, seed: int) -> Path:
    return folder / f"seed-{seed}"


def test(name: str, folder: Path, command: str, **given: Any) -> None:
    """Scores finished seeds on the test pairs, with the search that dev chose, and appends the results."""
    row = ROWS[name]
    pairs = read_parallel(files(row, "test"))
    there = [seed for seed in range(row.seeds) if finished(run_of(folder, seed))]
    if not there:
        raise SystemExit(
            f"translate.py: no run of {name} has finished in {folder}; type the same without --test"
        )
    tree = settings(TRANSLATOR.load(run_of(folder, there[0])))
    bleu, seconds, translations = [], [], []
    for seed in there:
        run = run_of(folder, seed)
        about = json.loads((run / "run.json").read_text("utf-8"))
        scores, texts = evaluate_translation(run, pairs, **given)
        print(f"test, seed {seed}: BLEU {scores['bleu']:.2f}, chrF {scores['chrf']:.2f}; "
              f"signatures: {scores['signatures']}", flush=True)  # fmt: skip
        translations.append(texts)
        bleu.append(scores["bleu"])
        seconds.append(cpu_seconds(run))
        append(
            f"translation:{name}", command, tree, {"dev": about["valid"], "test": scores}, seed=seed,
            seconds=seconds[-1], fit=about["fit"], parameters=about["parameters"],
            device=device_name(about["device"]),
        )  # fmt: skip
    interval = of_score(bleu_of_drawn(translations, pairs.targets), len(pairs.targets))
    print(
        f"BLEU {fmean(bleu):.2f} of {len(there)} seeds, {interval.low:.2f} to {interval.high:.2f} "
        "over seeds and pairs"
    )
    if row.bleu is not None:
        print(f"BLEU: {verdict(fmean(bleu), least=row.bleu)}")
    if row.seconds is not None:
        print(f"CPU seconds {fmean(seconds):.0f}: {verdict(fmean(seconds), most=row.seconds)}")


def device_name(device: str) -> str:
    """Returns what a run was trained on: the name of a GPU that is here, else what the run says."""
    here = device.startswith("cuda") and torch.cuda.is_available()
    return torch.cuda.get_device_name() if here else device


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("row", nargs="?", default="multi30k", choices=ROWS)
    parser.add_argument("--out", type=Path, help="folder of the runs; runs/ROW without it")
    parser.add_argument("--seed", type=int, help="this one alone; all without it")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--seconds", type=float, help="stop after so long")
    parser.add_argument(
        "--speed", type=float, help="measure speed for so many seconds, and train nothing else"
    )
    parser.add_argument("--beam", type=int, help="of --test, as --search found it; else the recipe's")
    parser.add_argument("--alpha", type=float, help="as --beam")
    for name in ("search", "test"):
        parser.add_argument(f"--{name}", action="store_true")
    asked = parser.parse_args()
    row, out = ROWS[asked.row], asked.out or Path("runs") / asked.row
    seeds = range(row.seeds) if asked.seed is None else (asked.seed,)
    if asked.speed is not None:
        speed(configured(row, seeds[0], asked.threads, asked.set), asked.speed)
    elif asked.search:
        run = run_of(out, seeds[0])
        search(run, dev(row, TRANSLATOR.load(run)))
    elif asked.test:
        command = f"python benches/models/translate.py {asked.row} --out {out} --test"
        given = {"beam": asked.beam, "alpha": asked.alpha}
        command += "".join(f" --{name} {value:g}" for name, value in given.items() if value is not None)
        test(asked.row, out, command, **given)
    else:
        stop = after(asked.seconds)
        for seed in seeds:
            config = configured(row, seed, asked.threads, asked.set)
            about = translated(
                config, run_of(out, seed), stop, callbacks=Callbacks(on_record=said, on_warning=print)
            )
            if about is None:
                print(AGAIN)
                return
            print(json.dumps({"seed": seed, **about["valid"]}, indent=1), flush=True)


if __name__ == "__main__":
    main()
