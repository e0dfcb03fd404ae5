"""PPO on openings of IMDB reviews: what reward is won, how far the policy goes, and what it repeats.

    python benches/models/align.py               # half an hour of one core a seed, three seeds; dev judges
    python benches/models/align.py --seed 0      # one seed: a base and the policy that starts from it
    python benches/models/align.py --seconds 150 # stops there; type it again to continue
    python benches/models/align.py --again       # aligns again, from the same bases
    python benches/models/align.py --test        # once, when nothing is left to choose

The base is a `gpt` that is pre-trained on training reviews, the reward a `bow` classifier trained on the
same ones; openings to train on are theirs as well. A seed draws the weights of the base, the order of what it
reads and all that alignment draws; the reward is one. A tenth of the training reviews, which neither has
seen, judges while settings are chosen. `--test` judges on openings of the test reviews, which no choice has
seen, and appends to `results.jsonl`. Bars, in the mean over seeds: the reward is up by REWARD deviations of
the start, KL is at most KL nats, and DISTINCT of the start's distinct pairs of words are left. Needs the data
of `SENTITOK_DATA`.
"""

import argparse
import json
import shutil
from dataclasses import asdict
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import torch
from joint_intervals import of_score
from parts import FILES
from result import append, data_folder, verdict
from steps import AGAIN, after, aligned, cpu_seconds, pretrained, trained

from sentimodels.alignment.judge import Judged, compare, judge, samples_of
from sentimodels.alignment.openings import Seen, divide, encode, read_openings
from sentimodels.alignment.rollout import Drawing, load_reward
from sentimodels.config import AlignConfig
from sentimodels.data.readers import read_table
from sentimodels.data.split import split
from sentimodels.data.writers import write_table
from sentimodels.generation.generate import Limits
from sentimodels.models.language import CausalModel
from sentimodels.runs.execute import Callbacks
from sentimodels.runs.families import ALIGNMENT, LANGUAGE_MODEL, resolve, set_value
from sentimodels.runs.language_directory import load_language_model
from sentimodels.text.special_tokens import known_end

SEEDS = 3
REWARD, KL, DISTINCT = 1.5, 10.0, 0.8
N_JUDGED = 512
# Of openings of the test reviews, answers are drawn by a seed that nothing else uses.
SEED = 20_000_000


def parts(folder: Path) -> None:
    """Writes train.csv, dev.csv and test.csv, the first two of the training reviews."""
    source = data_folder() / FILES["imdb"]
    given: dict[str, Any] = {"text_column": "text", "label_column": "label", "clean": True}
    reviews = read_table(source, where="split=train", **given)
    # By the text, so that a review that is there twice is on one side.
    for name, table in split(reviews, {"train": 0.9, "dev": 0.1}, by="hash").items():
        write_table(table, folder / f"{name}.csv")
    write_table(read_table(source, where="split=test", **given), folder / "test.csv")


def said(record: dict[str, Any]) -> None:
    """Prints the course of a run, now and then."""
    if "reward_mean" in record and record["step"] % 10 == 0:
        names = ("reward_mean", "kl", "kl_coefficient", "entropy", "clip_share", "distinct_2", "length")
        shown = ", ".join(f"{name} {record[name]:.3f}" for name in names)
        print(f"step {record['step']}, {record['seconds']:.0f} s: {shown}", flush=True)
    elif "val_loss" in record:
        print(f"step {record['step']}, {record['seconds']:.0f} s: loss {record['val_loss']:.4f}", flush=True)


def named(what: str, seed: int) -> str:
    """Returns the name of a run's folder."""
    return f"{what}-seed-{seed}"


def prepare(folder: Path, seed: int, asked: argparse.Namespace) -> bool:
    """Trains base and reward as far as the time goes; returns whether both have finished."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "test.csv").is_file():
        parts(folder)
    reviews = folder / "train.csv"
    tree: dict[str, Any] = {
        "arch": "gpt", "preset": asked.preset,
        "data": {"corpus": [str(reviews)], "format": "csv:text", "context": 128, "vocab_size": 4000},
        "optim": {"name": "muon", "lr": 2e-3},
        "train": {"epochs": asked.epochs, "threads": asked.threads, "save_every": 100, "seed": seed},
    }  # fmt: skip
    run = folder / named("base", seed)
    base = pretrained(
        LANGUAGE_MODEL.resolve(tree), run, asked.stop, callbacks=Callbacks(on_record=said, on_warning=print)
    )
    if base is None:
        return False
    print(json.dumps({"base": base["valid"], "seconds": base["seconds"]}, indent=1), flush=True)
    bag: dict[str, Any] = {
        "arch": "bow", "data": {"train": str(reviews)}, "train": {"threads": asked.threads}
    }  # fmt: skip
    reward = trained(resolve(bag), folder / "reward", asked.stop, callbacks=Callbacks(on_warning=print))
    if reward is None:
        return False
    print(json.dumps({"reward": (reward.get("test") or reward["valid"])["accuracy"]}), flush=True)
    return True


def configured(folder: Path, seed: int, asked: argparse.Namespace) -> Any:
    """Returns the recipe, with the assignments above it."""
    more: dict[str, Any] = {}
    for assignment in asked.set:
        set_value(more, assignment)
    recipe = {
        "base": str(folder / named("base", seed)),
        "data": {
            "train": str(folder / "train.csv"), "held_out": str(folder / "dev.csv"), "begin": True,
            "opening_tokens": 16, "n_held_out": N_JUDGED,
        },
        "task": {
            "reward_run": str(folder / "reward"), "reward": "1", "max_new_tokens": 32, "max_kl": KL,
            # As it is, not adapted: a target that is not reached yet lowers it, and is then passed by far.
            # Chosen on dev by the margin to the nearest bar, of the mean over seeds: 0.20 gains 1.60
            # deviations at 7.9 nats and 0.85 of distinct-2, 0.21 gains 1.52 at 7.6 and 0.88. Before, of
            # one seed on another processor, (steps, coefficient): (120, 0.21) 1.78 at 8.9 and 0.83;
            # (100, 0.21) 1.53, (160, 0.22) 1.87 with 0.80; (100, 0.24), (100, 0.30), (160, 0.25) below 1.5.
            "kl_coefficient": 0.20, "kl_gain": 0,
        },
        "train": {"max_steps": 120, "threads": asked.threads, "save_every": 25, "seed": seed},
        "optim": {"lr": 7e-4},
    }  # fmt: skip
    return ALIGNMENT.resolve(recipe, more)


def settings(run: Path, folder: Path) -> dict[str, Any]:
    """Returns the configuration of a run, its files by their names in the benchmark's folder."""
    tree = ALIGNMENT.load(run).tree()
    for section, key in ((tree, "base"), (tree["data"], "train"), (tree["data"], "held_out"),
                         (tree["task"], "reward_run")):  # fmt: skip
        section[key] = Path(section[key]).relative_to(folder.absolute()).as_posix()
    return tree


def tell(result: dict[str, Any]) -> None:
    for one in result["seeds"]:
        print(json.dumps(one, indent=1))
    tests = [one["test"] for one in result["seeds"]]
    reward = fmean(one["gain_in_std"] or 0.0 for one in tests)
    kl = fmean(one["after"]["kl"] for one in tests)
    distinct = fmean(one["after"]["distinct_2"] / one["before"]["distinct_2"] for one in tests)
    print(f"reward up by {reward:.2f} deviations: {verdict(reward, least=REWARD)}")
    print(f"KL {kl:.2f} nats: {verdict(kl, most=KL)}")
    print(f"distinct-2 {distinct:.3f} of the start: {verdict(distinct, least=DISTINCT)}")


def judged(run: Path, file: Path) -> tuple[Judged, Judged, AlignConfig]:
    """Judges a run and its base on openings of another file; the guards of alignment hold."""
    config = ALIGNMENT.load(run)
    base, aligned = load_language_model(Path(config.base)), load_language_model(run)
    before, after = base.module, aligned.module
    assert isinstance(before, CausalModel)
    assert isinstance(after, CausalModel)
    assert config.task.reward_run is not None
    seen = Seen(Path(config.base), Path(config.task.reward_run))
    data = config.data
    table = read_openings(Path(data.train), data, data.where)
    tables = divide(table, read_openings(file, data, None), seen, data, print)
    end = known_end(base.tokenizer, base.config.data.end, base.about)
    end_id = None if end is None else base.tokenizer.token_to_id(end)
    assert end_id is not None
    openings = encode(tables, base.tokenizer, data, end=end, most=None, say=print).judge
    limits = Limits(config.task.max_new_tokens, (), frozenset({end_id}), base.config.data.context)
    drawing = Drawing(base.tokenizer, limits, int(data.begin))
    reward = load_reward(config.task, "cpu")
    return (
        judge(before, None, openings, drawing, reward, SEED),
        judge(after, before, openings, drawing, reward, SEED),
        config,
    )


def test(asked: argparse.Namespace) -> None:
    """Judges all seeds on openings of the test reviews, and appends the result."""
    of_seeds, won = [], []
    samples: list[dict[str, Any]] = []
    for seed in range(SEEDS):
        run = asked.out / named(asked.name, seed)
        before, after, config = judged(run, asked.out / "test.csv")
        about = {
            name: json.loads((asked.out / folder / "run.json").read_text("utf-8"))
            for name, folder in (("policy", run.name), ("base", named("base", seed)), ("reward", "reward"))
        }
        of_seeds.append({
            "seed": seed, "test": compare(before, after, config.task), "dev": about["policy"]["alignment"],
            "base": about["base"]["valid"], "fits": {name: one["fit"] for name, one in about.items()},
            "cpu_seconds": {
                what: cpu_seconds(asked.out / named(folder, seed))
                for what, folder in (("base", "base"), ("policy", asked.name))
            },
        })  # fmt: skip
        assert before.rewards is not None
        assert after.rewards is not None
        won.append(after.rewards - before.rewards)
        samples = samples or [json.loads(line) for line in samples_of(before, after).splitlines()[:8]]
    gain = of_score(lambda weights: weights @ np.stack(won).T / weights.sum(1, keepdims=True), len(won[0]))
    tree = settings(asked.out / named(asked.name, 0), asked.out)
    command = f"python benches/models/align.py --out {asked.out} --name {asked.name} --test"
    result = {"seeds": of_seeds, "gain": asdict(gain)}
    append("alignment", command, tree, result, samples=samples)
    tell(result)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("runs/align"))
    parser.add_argument("--name", default="ppo", help="of the alignment's folders in --out")
    parser.add_argument("--seed", type=int, choices=range(SEEDS), help="this one alone; all without it")
    parser.add_argument("--preset", default="nano", help="size of the base")
    parser.add_argument("--epochs", type=int, default=2, help="of the base")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, help="stop after so long")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    for name in ("again", "test"):
        parser.add_argument(f"--{name}", action="store_true")
    asked = parser.parse_args()
    asked.stop = after(asked.seconds)
    torch.set_num_threads(asked.threads)
    if asked.test:
        test(asked)
        return
    for seed in range(SEEDS) if asked.seed is None else (asked.seed,):
        run = asked.out / named(asked.name, seed)
        if asked.again:
            shutil.rmtree(run, ignore_errors=True)
        done = None
        if prepare(asked.out, seed, asked):
            done = aligned(
                configured(asked.out, seed, asked),
                run,
                asked.stop,
                callbacks=Callbacks(on_record=said, on_warning=print),
            )
        if done is None:
            print(AGAIN)
            return
        print(json.dumps({"seed": seed, **done["alignment"]}, indent=1), flush=True)


if __name__ == "__main__":
    main()
