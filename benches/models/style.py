"""Style transfer: a model of Shakespeare's plays continues his sonnets, before and after it has read some.

    python benches/models/style.py --out runs/style               # minutes of a core a seed; scores of dev
    python benches/models/style.py --out runs/style --seconds 150 # stops there; type it again to continue
    python benches/models/style.py --out runs/style --test        # once, when nothing is left to choose

The base is a `gpt` that is pre-trained on plays, the tuned one the same model trained on 124 of the 154
sonnets. Both continue other sonnets after their first 100 tokens. A seed draws the weights, the order of
the texts and the draws. BLEU against the rest of a sonnet is the score of reports on style transfer; next to
it are perplexity of the rests, distinct n-grams and the share of words that were copied from training.
Needs the data of `SENTITOK_DATA` and sacrebleu.
"""

import argparse
import json
import lzma
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from continuation import Continued, continue_texts
from result import append, data_folder
from steps import AGAIN, after, arguments, pretrained

from sentimodels import LanguageModel
from sentimodels.runs.families import LANGUAGE_MODEL

SONNETS, PLAYS = (f"corpora/{name}.txt.xz" for name in ("shakespeare-sonnets", "tinyshakespeare"))
SEEDS = range(5)
# Tokens of a beginning, and of its continuation.
PROMPT, NEW = 100, 100


def settings_of(preset: str, epochs: int) -> dict[str, Any]:
    """Returns what decides the result."""
    return {"preset": preset, "epochs": epochs, "prompt": PROMPT, "new": NEW}


def text_of(name: str) -> str:
    return lzma.decompress((data_folder() / name).read_bytes()).decode("utf-8")


def sonnets_of(text: str) -> list[str]:
    """Returns the sonnets of the file, which are under their numbers."""
    parts = re.split(r"^\d+\s*$", text, flags=re.M)[1:]
    return ["\n".join(line.strip() for line in part.strip().splitlines()) for part in parts]


def parted(sonnets: list[str]) -> dict[str, list[str]]:
    """Returns the sonnets to train on, to choose by, and to judge by."""
    order = np.random.default_rng(42).permutation(len(sonnets))
    n = len(sonnets) // 10
    rows = {"test": order[:n], "dev": order[n : 2 * n], "train": order[2 * n :]}
    return {name: [sonnets[row] for row in sorted(some.tolist())] for name, some in rows.items()}


def write_texts(path: Path, texts: list[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), "utf-8")
    return path


def train(
    out: Path, seed: int, parts: dict[str, list[str]], plays: list[str], asked: argparse.Namespace
) -> bool:
    """Trains base and tuned model of a seed as far as the time goes; returns whether both have finished."""
    folder = folder_of(out, seed)
    shared: dict[str, Any] = {"arch": "gpt", "preset": asked.preset}
    data = {"context": 256, "vocab_size": 2000}
    base = {
        **shared, "data": {**data, "corpus": [str(out / "plays.jsonl")]},
        # Bits per byte on held-out plays: 1.82 with batches of 8 rows, 2.12 with the 64 of the preset.
        "train": {
            "seed": seed, "threads": asked.threads, "epochs": asked.epochs, "batch_size": 8, "log_every": 5,
        },
        "optim": {"name": "muon", "lr": 2e-3},
    }  # fmt: skip
    tuned = {
        **shared, "data": {**data, "corpus": [str(out / "sonnets.jsonl")], "valid_share": 0.1},
        "optim": {"lr": 5e-4},
        "train": {
            "seed": seed, "threads": asked.threads, "init_from": str(folder / "base"), "epochs": 20,
            "evaluate_every": 10, "patience": 5, "batch_size": 8,
        },
    }  # fmt: skip
    for name, corpus, texts, tree in (
        ("base", "plays", plays, base),
        ("tuned", "sonnets", parts["train"], tuned),
    ):
        if not (out / f"{corpus}.jsonl").is_file():
            write_texts(out / f"{corpus}.jsonl", texts)
        about = pretrained(LANGUAGE_MODEL.resolve(tree), folder / name, asked.stop)
        if about is None:
            return False
        print(seed, name, json.dumps({**about["valid"], "steps": about["fit"]["steps"]}), flush=True)
    return True


def folder_of(out: Path, seed: int) -> Path:
    return out / f"seed-{seed}"


def continued(
    out: Path, seed: int, texts: list[str], asked: argparse.Namespace
) -> dict[str, Continued] | None:
    """Returns what both models of a seed make of texts; `None` where the time has ended before."""
    part = "test" if asked.test else "dev"
    made: dict[str, Continued] = {}
    for name in ("base", "tuned"):
        folder = folder_of(out, seed)
        path = folder / f"{part}-{name}.json"
        if not path.is_file():
            if asked.stop():
                return None
            model = LanguageModel.load(folder / name)
            continuation = continue_texts(model, texts, prompt_tokens=PROMPT, new_tokens=NEW, seed=seed)
            path.write_text(json.dumps(asdict(continuation)), "utf-8")
        made[name] = Continued(**json.loads(path.read_text("utf-8")))
    return made


def mean(scores: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns the mean and the deviation over seeds of each number, and the numbers."""
    out: dict[str, Any] = {}
    for name, value in scores[0].items():
        if isinstance(value, dict):
            out[name] = mean([one[name] for one in scores])
        elif isinstance(value, float):
            values = [one[name] for one in scores]
            deviation = float(np.std(values, ddof=1))
            out[name] = {"mean": float(np.mean(values)), "deviation": deviation, "values": values}
        else:
            out[name] = value
    return out


def compared(made: list[dict[str, Continued]], training: list[str]) -> dict[str, Any]:
    """Returns the scores of both models on texts that neither has read, over all seeds."""
    comparison: dict[str, Any] = {
        name: mean([one[name].scores(training) for one in made]) for name in ("base", "tuned")
    }
    first, then = made[0]["base"], made[0]["tuned"]
    better = [one["tuned"].better_than(one["base"]) for one in made]
    comparison["better"] = {"of": len(first.rests), "by_seed": better}
    comparison["samples"] = [
        {"prompt": first.prompts[row][-80:], "base": first.answers[row], "tuned": then.answers[row],
         "rest": first.rests[row]}
        for row in range(min(3, len(first.prompts)))
    ]  # fmt: skip
    return comparison


def main() -> None:
    parser = arguments(__doc__, "runs/style")
    parser.add_argument("--preset", default="nano")
    parser.add_argument("--epochs", type=int, default=12, help="of the base")
    asked = parser.parse_args()
    asked.stop = after(asked.seconds)
    torch.set_num_threads(asked.threads)
    parts = parted(sonnets_of(text_of(SONNETS)))
    # A document is some lines of a play, as a scene has no mark.
    lines = text_of(PLAYS).split("\n\n")
    plays = ["\n\n".join(lines[start : start + 20]) for start in range(0, len(lines), 20)]
    made = []
    for seed in SEEDS:
        one = None
        if train(asked.out, seed, parts, plays, asked):
            one = continued(asked.out, seed, parts["test" if asked.test else "dev"], asked)
        if one is None:
            print(AGAIN)
            return
        made.append(one)
    comparison = compared(made, [*parts["train"], *plays])
    print(json.dumps(comparison, indent=1, ensure_ascii=False))
    if asked.test:
        about = {
            name: [
                json.loads((folder_of(asked.out, seed) / name / "run.json").read_text("utf-8"))
                for seed in SEEDS
            ]
            for name in ("base", "tuned")
        }
        kept = {
            what: {name: [one[what] for one in every] for name, every in about.items()}
            for what in ("valid", "fit")
        }
        command = f"python benches/models/style.py --out {asked.out} --test"
        append(
            "style",
            command,
            settings_of(asked.preset, asked.epochs),
            {"test": comparison},
            valid=kept["valid"],
            fit=kept["fit"],
        )


if __name__ == "__main__":
    main()
