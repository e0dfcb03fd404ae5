"""Speed of generation on the CPU: with the cache, without it, and transformers' GPT-2 `generate`.

    python benches/models/generate.py                    # needs transformers
    python benches/models/generate.py --quick            # fewer tokens and rounds
    python benches/models/generate.py --write --only small    # appends sizes to results.jsonl

One model is built with drawn weights and written in both layouts, so that all sides compute the
same logits; the greedy tokens of all sides are compared in the same run, and the run fails where
they differ. Sides take turns, the order changes from round to round, and the median counts. Bars:
with the cache at least 5 times as fast as without at 256 new tokens; not slower than transformers.
Exits with 1 where a bar is missed.
"""

import argparse
import logging
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from result import ROOT, append

from sentimodels import LanguageModel
from sentimodels.export.transformers.folder import export_model
from sentimodels.generation.generate import generate
from sentimodels.generation.sampling import Sampling
from sentimodels.models.language import CausalModel, build_language_model
from sentimodels.runs.families import LANGUAGE_MODEL
from sentimodels.runs.language_directory import LoadedModel
from sentitok import train_bpe

COMMAND = "python benches/models/generate.py"
BARS = {"with_cache": 5.0, "against_transformers": 1.0}
GPT_2 = {"norm": "layer", "activation": "gelu-tanh", "biases": True, "positions": "learned"}
GREEDY = Sampling(temperature=0)
CORPUS = "tests/data/corpus/sherlock-holmes.txt"
# Name, width, heads, layers, vocabulary, rows.
CASES = [
    ("nano, 1 row", 64, 2, 4, 5_000, 1),
    ("micro, 1 row", 128, 4, 4, 5_000, 1),
    ("tiny, 1 row", 256, 8, 4, 5_000, 1),
    ("tiny, 8 rows", 256, 8, 4, 5_000, 8),
    ("small, 1 row", 512, 16, 4, 5_000, 1),
    ("medium, 1 row", 512, 16, 8, 5_000, 1),
]
N_PROMPT, N_NEW = 16, 256


def build(width: int, heads: int, layers: int, n_words: int, folder: Path) -> tuple[LanguageModel, Any]:
    """Returns a model, and the same one of transformers'."""
    import transformers

    tree = {
        "arch": "gpt",
        "model": {"d_model": width, "n_heads": heads, "n_layers": layers, "max_len": 512, **GPT_2},
        "data": {"context": 512},
        "task": {"tied": True},
    }
    config = LANGUAGE_MODEL.resolve(tree)
    tokenizer = train_bpe(ROOT / CORPUS, vocab_size=n_words)
    torch.manual_seed(0)
    ours = build_language_model(config, tokenizer.vocab_size).eval()
    assert isinstance(ours, CausalModel)
    with torch.no_grad():
        for parameter in ours.parameters():  # so that texts do not repeat one token
            parameter.add_(0.1 * torch.randn(parameter.shape))
    loaded = LoadedModel(config, ours, tokenizer, {})
    export_model(loaded, folder)
    theirs: Any = transformers.GPT2LMHeadModel.from_pretrained(folder)
    theirs.eval()
    theirs.generation_config.eos_token_id = theirs.generation_config.bos_token_id = None
    theirs.generation_config.pad_token_id = 0
    return LanguageModel(loaded), theirs


def cached(model: LanguageModel, prompts: list[list[int]], n_new: int) -> list[list[int]]:
    """As `LanguageModel.generate` does it: to text, piece by piece."""
    texts = [list(prompt) for prompt in prompts]
    module = model._module
    assert isinstance(module, CausalModel)
    for piece in generate(module, model.tokenizer, prompts, model.limits(n_new), GREEDY):
        if piece.ending is not None:
            texts[piece.row] += piece.ending.ids
    return texts


@torch.inference_mode()
def uncached(model: LanguageModel, prompts: list[list[int]], n_new: int) -> list[list[int]]:
    module, ids = model._module, torch.tensor(prompts)
    for _ in range(n_new):
        ids = torch.cat((ids, module.logits(module(ids)[:, -1:]).argmax(-1)), 1)
    rows: list[list[int]] = ids.tolist()
    return rows


def of_transformers(model: Any, prompts: list[list[int]], n_new: int) -> list[list[int]]:
    ids = torch.tensor(prompts)
    rows: list[list[int]] = model.generate(
        ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=n_new, min_new_tokens=n_new
    ).tolist()
    return rows


def measure(
    sides: dict[str, Callable[[], list[list[int]]]], rounds: int, clock: Callable[[], float]
) -> dict[str, float]:
    """Returns the median seconds of each side.

    Raises:
        SystemExit: if two sides differ.
    """
    taken: dict[str, list[float]] = {name: [] for name in sides}
    answers = {name: side() for name, side in sides.items()}  # not counted: warms up
    first = next(iter(answers.values()))
    for name, answer in answers.items():
        if answer != first:
            sys.exit(f"{name}: other tokens than {next(iter(answers))}")
    names = list(sides)
    for number in range(rounds):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            began = clock()
            sides[name]()
            taken[name].append(clock() - began)
    return {name: statistics.median(seconds) for name, seconds in taken.items()}


def case(
    name: str,
    width: int,
    heads: int,
    layers: int,
    n_words: int,
    rows: int,
    *,
    n_new: int,
    rounds: int,
    clock: Callable[[], float],
) -> dict[str, float]:
    """Measures one size; returns tokens a second with the cache, and how much quicker that is."""
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = build(width, heads, layers, n_words, Path(folder))
    drawn = torch.Generator().manual_seed(1)
    prompts = torch.randint(0, n_words, (rows, N_PROMPT), generator=drawn).tolist()
    seconds = measure(
        {
            "cached": partial(cached, ours, prompts, n_new),
            "uncached": partial(uncached, ours, prompts, n_new),
            "transformers": partial(of_transformers, theirs, prompts, n_new),
        },
        rounds,
        clock,
    )
    with_cache = seconds["uncached"] / seconds["cached"]
    against = seconds["transformers"] / seconds["cached"]
    print(
        f"{name:16} {n_new} new tokens: cached {seconds['cached']:.3f} "
        f"({rows * n_new / seconds['cached']:,.0f} tokens/s), uncached {seconds['uncached']:.3f} "
        f"({with_cache:.1f} x), transformers {seconds['transformers']:.3f} ({against:.2f} x)",
        flush=True,
    )
    return {
        "rows": rows, "new_tokens": n_new, "tokens_per_second": rows * n_new / seconds["cached"],
        "with_cache": with_cache, "against_transformers": against,
    }  # fmt: skip


def settings_of(name: str) -> dict[str, Any]:
    """Returns what decides the figures of a size."""
    _, width, heads, layers, n_words, rows = next(one for one in CASES if one[0] == name)
    return {"width": width, "heads": heads, "layers": layers, "vocabulary": n_words, "rows": rows,
            "prompt": N_PROMPT, "new_tokens": N_NEW, **GPT_2}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="64 new tokens and one round")
    parser.add_argument("--threads", type=int, help="threads of torch")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--cpu", action="store_true", help="count CPU time, for a machine that is not quiet; with --threads 1"
    )
    parser.add_argument("--only", default="", help="part of a case's name")
    parser.add_argument("--write", action="store_true", help="append the figures to results.jsonl")
    given = parser.parse_args()
    logging.disable(logging.WARNING)
    if given.threads:
        torch.set_num_threads(given.threads)
    clock, unit = (time.process_time, "CPU seconds") if given.cpu else (time.perf_counter, "seconds")
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads; greedy, float32; median {unit}")
    rounds, n_new = (1, 64) if given.quick else (given.rounds, N_NEW)
    measured = {
        one[0]: case(*one, n_new=n_new, rounds=rounds, clock=clock) for one in CASES if given.only in one[0]
    }
    if given.write:
        command = f"{COMMAND} --rounds {rounds} --only {given.only!r} --write"
        for name, one in measured.items():
            append(f"generation:{name}", command, settings_of(name), one, threads=torch.get_num_threads())
    if not all(one[score] >= bar for one in measured.values() for score, bar in BARS.items()):
        sys.exit("a bar is missed")
    print("equal tokens on all sides; both bars are met")


if __name__ == "__main__":
    main()
