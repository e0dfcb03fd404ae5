"""Optimizer settings of pre-training: TinyLLM's, the defaults of `senti pretrain`, and Muon, at equal tokens.

    python benches/models/optimizers.py --out runs/optimizers                # an hour of one core; dev alone
    python benches/models/optimizers.py --out runs/optimizers --seconds 500  # stops there; type it again
    python benches/models/optimizers.py --out runs/optimizers --test         # once, when all is chosen

All sides train a `gpt` of preset nano on the same reviews, and each takes the peak rate of `RATES` that is
best on dev, the validation part, with the first seed. Reviews of IMDB's test part judge. A seed draws the
weights and the order of the rows. Other presets and numbers of tokens may need other rates: here it is a
thirtieth of the preset's tokens. Needs the data of `SENTITOK_DATA`.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import torch
from parts import imdb
from result import append, data_folder
from steps import AGAIN, after, arguments, cpu_seconds, pretrained

from sentimodels import LanguageModel
from sentimodels.runs.families import LANGUAGE_MODEL
from sentitok import train_bpe

SEEDS = range(3)
RATES = (1e-3, 3e-3, 6e-3, 1.2e-2, 2.4e-2)
# docs/how-to/pretrain.md gives the settings of TinyLLM as options.
SIDES: dict[str, dict[str, Any]] = {
    "TinyLLM's": {
        "betas": [0.9, 0.999],
        "weight_decay": 0.01,
        "clip": 2.0,
        "min_lr_ratio": 0.001,
    },
    "AdamW": {},
    "Muon": {"name": "muon"},
}
STEPS, ROWS, CONTEXT, VOCABULARY = 300, 16, 256, 5000
# Reviews to train and choose by, and reviews that judge.
READ, JUDGE = 8000, 400


def settings_of() -> dict[str, Any]:
    """Returns what decides the result."""
    return {
        "sides": SIDES, "rates": RATES, "steps": STEPS, "rows": ROWS, "vocabulary": VOCABULARY,
        "reviews": [READ, JUDGE],
    }  # fmt: skip


def corpus_of(out: Path) -> tuple[Path, Path]:
    """Returns the file of reviews to learn from and that of the tokenizer, made where they are missing."""
    corpus, tokenizer = out / "reviews.jsonl", out / "tokenizer.json"
    if not tokenizer.is_file():
        texts = list(imdb(data_folder())[0].train.texts[:READ])
        out.mkdir(parents=True, exist_ok=True)
        corpus.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), "utf-8")
        train_bpe(texts=texts, vocab_size=VOCABULARY, special_tokens=["<|endoftext|>"]).save(tokenizer)
    return corpus, tokenizer


def folder_of(out: Path, side: str, rate: float, seed: int) -> Path:
    return out / f"{side.lower().replace(chr(39), '')}-rate-{rate:g}-seed-{seed}"


def trained(side: str, rate: float, seed: int, asked: argparse.Namespace) -> dict[str, Any] | None:
    """Trains a side; returns its scores, `None` where the time ended before."""
    corpus, tokenizer = corpus_of(asked.out)
    tree = {
        "arch": "gpt", "preset": "nano",
        "data": {"corpus": [str(corpus)], "tokenizer": str(tokenizer), "valid_share": 0.05,
                 "context": CONTEXT},
        "optim": {**SIDES[side], "lr": rate},
        "train": {"max_steps": STEPS, "batch_size": ROWS, "seed": seed, "threads": asked.threads},
    }  # fmt: skip
    run = folder_of(asked.out, side, rate, seed)
    about = pretrained(LANGUAGE_MODEL.resolve(tree), run, asked.stop)
    if about is not None:
        reached = f"{about['valid']['bits_per_byte']:.4f} bits per byte"
        print(f"{side}, rate {rate:g}, seed {seed}: {reached}, {cpu_seconds(run):.0f} s", flush=True)
    return about


def judged(run: Path, texts: list[str]) -> float:
    """Returns the bits per byte of texts that chose nothing."""
    scores = LanguageModel.load(run).score(texts)
    return sum(one.bits_per_byte * one.n_bytes for one in scores) / sum(one.n_bytes for one in scores)


def side_of(side: str, asked: argparse.Namespace) -> dict[str, Any] | None:
    """Returns what dev says of a side, and the rate that it chose; `None` where the time ended before."""
    tried = {}
    for rate in RATES:
        if (about := trained(side, rate, 0, asked)) is None:
            return None
        tried[rate] = about["valid"]["bits_per_byte"]
    best = min(tried, key=tried.__getitem__)
    dev, seconds = [], []
    for seed in SEEDS:
        if (about := trained(side, best, seed, asked)) is None:
            return None
        dev.append(about["valid"]["bits_per_byte"])
        seconds.append(cpu_seconds(folder_of(asked.out, side, best, seed)))
    return {
        "tried": [{"rate": rate, "bits_per_byte": value} for rate, value in tried.items()],
        "rate": best, "dev": dev, "cpu_seconds": seconds,
    }  # fmt: skip


def main() -> None:
    asked = arguments(__doc__, "runs/optimizers").parse_args()
    asked.stop = after(asked.seconds)
    torch.set_num_threads(asked.threads)
    sides = {}
    for side in SIDES:
        if (one := side_of(side, asked)) is None:
            print(AGAIN)
            return
        sides[side] = one
    if asked.test:
        texts = list(imdb(data_folder())[0].sealed().texts[:JUDGE])
        for side, one in sides.items():
            one["test"] = [judged(folder_of(asked.out, side, one["rate"], seed), texts) for seed in SEEDS]
        append(
            "optimizers",
            f"python benches/models/optimizers.py --out {asked.out} --test",
            settings_of(),
            sides,
        )
    print(json.dumps(sides, indent=1))


if __name__ == "__main__":
    main()
