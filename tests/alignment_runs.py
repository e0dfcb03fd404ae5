"""A language model, a classifier of its texts, openings and pairs: what the tests of alignment begin with."""

import json
from pathlib import Path
from typing import Any

import labelled_reviews
from language_runs import language_run
from sentimodels.config import AlignConfig
from sentimodels.runs.execute import train
from sentimodels.runs.families import ALIGNMENT, resolve
from sentitok import Tokenizer, train_bpe

CONTEXT = 64
# Settings of a short run: steps of a few openings.
QUICK: dict[str, Any] = {
    "data": {"opening_tokens": 3, "n_held_out": 12},
    "task": {"max_new_tokens": 8, "mini_batch": 4},
    "train": {"max_steps": 6, "batch_size": 8, "save_every": 2, "precision": "float32"},
    "optim": {"lr": 3e-3},
}


def texts(n: int, seed: int) -> list[str]:
    return [text for text, _ in labelled_reviews.rows(n, seed)]


def tokenizer() -> Tokenizer:
    return train_bpe(texts=texts(300, 1), vocab_size=330, special_tokens=["<|endoftext|>"])


def write_lines(path: Path, lines: list[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return path


def write_pairs(path: Path, n: int, seed: int) -> Path:
    """Pairs whose chosen answer is the word "good", whatever the prompt."""
    rows = [
        {"prompt": f"{prompt} {number}", "chosen": " good fun", "rejected": " bad mess"}
        for number, prompt in enumerate(texts(n, seed))
    ]
    return write_lines(path, [json.dumps(row) for row in rows])


def make(folder: Path) -> Path:
    """Writes `base`, `reward`, `reviews.csv`, `openings.txt` and `pairs.jsonl`."""
    language_run(folder / "base", "gpt", CONTEXT, tokenizer())
    labelled_reviews.write(folder / "reviews.csv", 200)
    config = {
        "arch": "nb", "data": {"train": str(folder / "reviews.csv"), "test_share": 0.2},
        "train": {"baseline": False},
    }  # fmt: skip
    train(resolve(config), folder / "reward")
    write_lines(folder / "openings.txt", texts(60, 5))
    write_pairs(folder / "pairs.jsonl", 60, 6)
    return folder


def config_of(made: Path, method: str = "ppo", **sections: dict[str, Any]) -> AlignConfig:
    tree: dict[str, Any] = {"base": str(made / "base"), **QUICK}
    task: dict[str, Any]
    if method == "ppo":
        data = {"train": str(made / "openings.txt")}
        task = {"reward_run": str(made / "reward"), "reward": "pos"}
    else:
        tree = {**tree, "data": {"n_held_out": 12}, "task": {"kind": "dpo", "max_new_tokens": 8}}
        data = {"train": str(made / "pairs.jsonl")}
        task = {"ends": False, "beta": 0.5}
    return ALIGNMENT.resolve(tree, {"data": data, "task": task}, sections)
