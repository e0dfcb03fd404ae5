"""Training tokens per second of a tiny language model, compared with plain torch and transformers.

    python benches/models/pretrain.py [--steps 4] [--rounds 5] [--threads 2]
    python benches/models/pretrain.py --compile  # ours and plain torch compiled as well; needs a C++ compiler
    python benches/models/pretrain.py --write    # appends to results.jsonl

Three models of one size (256 wide, 8 heads, 4 layers, vocabulary 5,000, rows of 256 tokens, 32 a batch,
AdamW, clipping, the table read as head), in float32, which is the default on a CPU, and in bfloat16 by
autocast: ours, by `senti pretrain`'s own task and trainer;
torch's `nn.TransformerEncoderLayer` with a causal mask, pre-norm, learned positions and a feed-forward part
as wide as gives it as many parameters; and transformers' GPT-2 with nanoGPT's step. All read the same ids.
Each runs in a separate process (`pretrain_sides.py` says why). They take turns, `--rounds` times `--steps`
steps each, after a warm-up that is not counted; the medians are compared, and next to them tokens per CPU
second, which a busy machine disturbs less (with one thread: threads that wait for each other count as busy).
Then the matrix products and the attention of our step are timed, each alone: the time of a step if all else
took no time. A processor without bfloat16 products (avx512_bf16, amx) emulates them; without AVX-512 that
takes hours, so there float32 alone is measured, and written to a separate file. The comparison is of a
step: not how well a model learns, though losses are printed to show that all three do. Exits with 1 where a
bar is missed.
"""

import argparse
import multiprocessing
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from pretrain_sides import (
    BATCH,
    CONTEXT,
    HEADS,
    LAYERS,
    SIZES,
    VOCABULARY,
    WIDTH,
    Course,
    serve,
)
from result import append, verdict
from torch import nn

from sentimodels.models.language import build_language_model
from sentimodels.tasks.next_token import rows_at_once
from sentimodels.training.device import lacks_bfloat16

COMMAND = "python benches/models/pretrain.py"
PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}
PLAIN, OURS, GPT2 = "plain torch", "ours", "transformers GPT-2"
COMPILED = f"{OURS}, compiled"
# The least speed, as a multiple of another side's tokens a second.
BARS = {PLAIN: 1.3, GPT2: 1.0}
Turn = dict[str, Any]


def median_seconds(call: Callable[[], object]) -> float:
    """Returns the median of seven calls, after one that is not counted."""
    seconds = []
    for _ in range(8):
        began = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds[1:])


def limit(course: Course) -> float:
    """Returns the tokens a second of a step that is only the products and the attention of ours.

    They are of as many tokens as the trainer takes at once, and memory is kept as the trainer keeps it. A
    product is made three times: for the output, and for the gradients of input and weights. Attention is
    timed in both precisions; the faster one counts.
    """
    rows, kind = rows_at_once(BATCH, CONTEXT, torch.device("cpu")), PRECISIONS[course.precision]
    model = build_language_model(course.config(), VOCABULARY)
    sizes = [tuple(part.weight.shape) for part in model.modules() if isinstance(part, nn.Linear)]
    seconds = 0.0
    for n_out, n_in in (*sizes, (VOCABULARY, WIDTH)):
        x, w, y = (
            torch.randn(*size, dtype=kind)
            for size in ((rows * CONTEXT, n_in), (n_out, n_in), (rows * CONTEXT, n_out))
        )
        to_x, to_w, to_y = (torch.empty_like(one) for one in (x, w, y))
        for one, other, out in ((x, w.T, to_y), (y, w, to_x), (y.T, x, to_w)):
            seconds += median_seconds(partial(torch.mm, one, other, out=out))
    seconds += LAYERS * min(median_seconds(attention(rows, kind)) for kind in {kind, torch.float32})
    return rows * CONTEXT / seconds


def attention(rows: int, kind: torch.dtype) -> Callable[[], None]:
    """Returns a call of torch's causal attention, with its backward pass."""
    heads = [torch.randn(rows, CONTEXT, HEADS, WIDTH // HEADS, dtype=kind) for _ in range(4)]
    q, k, v = (one.transpose(1, 2).requires_grad_() for one in heads[:3])

    def call() -> None:
        out = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        torch.autograd.grad(out, (q, k, v), heads[3].transpose(1, 2))

    return call


def take_turns(names: list[str], course: Course, *, compiled: bool) -> dict[str, list[Turn]]:
    """Has each side take its turns, one after another, while the rest wait."""
    context = multiprocessing.get_context("spawn")
    processes, pipes, turns = [], {}, {name: list[Turn]() for name in names}
    for name in names:
        pipes[name], theirs = context.Pipe()
        process = context.Process(target=serve, args=(theirs, name, compiled, course), daemon=True)
        process.start()
        processes.append(process)
        theirs.close()  # so that the end of a side that fails is noticed
    for _ in range(course.turns):
        for name, pipe in pipes.items():
            pipe.send(True)
            turns[name].append(pipe.recv())
    for pipe in pipes.values():
        pipe.send(False)
    for process in processes:
        process.join()  # ours is still scoring its last weights
    return turns


def figures(turns: list[Turn]) -> dict[str, float]:
    """Returns medians over turns, and the losses of the first step and of the last turn.

    The first turn warms up and has no speed.
    """
    tokens = len(turns[0]["losses"]) * BATCH * CONTEXT
    speeds = [tokens / turn["seconds"] for turn in turns[1:]]
    return {
        "parameters": turns[0]["parameters"],
        "tokens_per_second": statistics.median(speeds),
        "tokens_per_cpu_second": statistics.median(tokens / turn["cpu"] for turn in turns[1:]),
        "lowest": min(speeds),
        "highest": max(speeds),
        "first_loss": turns[0]["losses"][0],
        "last_loss": statistics.mean(turns[-1]["losses"]),
    }


def measured(course: Course, *, compiled: bool) -> dict[str, Any]:
    """Returns what all sides reach in one precision, and what bounds ours.

    What a compiler makes of ours and of plain torch is measured after that, these two by turns.
    """
    course.prepare()
    turns = take_turns([OURS, PLAIN, GPT2], course, compiled=False)
    if compiled:
        more = take_turns([OURS, PLAIN], course, compiled=True)
        turns |= {f"{name}, compiled": side for name, side in more.items()}
    alone = limit(course)
    return {"sides": {name: figures(side) for name, side in turns.items()}, "limit": alone}


def tell(precision: str, result: dict[str, Any]) -> None:
    """Prints a table of the sides."""
    head = f"{'parameters':>12}{'tokens/s':>10}{'lowest':>9}{'highest':>9}{'/CPU s':>9}{'loss':>14}"
    print(f"{precision:22}{head}")
    for name, one in result["sides"].items():
        print(
            f"{name:22}{one['parameters']:12,}{one['tokens_per_second']:10,.0f}{one['lowest']:9,.0f}"
            f"{one['highest']:9,.0f}{one['tokens_per_cpu_second']:9,.0f}"
            f"{one['first_loss']:7.2f} {one['last_loss']:6.2f}"
        )
    print(f"{'products, attention':22}{result['limit']:22,.0f}", flush=True)


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=4, help="Steps of a turn.")
    parser.add_argument("--rounds", type=int, default=5, help="Turns of each.")
    parser.add_argument("--threads", type=int, default=2, help="Threads of torch.")
    parser.add_argument("--compile", action="store_true", help="Compiled models as well.")
    parser.add_argument("--write", action="store_true", help="Append the figures to results.jsonl.")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    precisions = {}
    for precision in ("float32",) if lacks_bfloat16() else ("float32", "bfloat16"):
        with tempfile.TemporaryDirectory() as folder:
            course = Course(Path(folder), precision, given.steps, given.rounds + 1, given.threads)
            precisions[precision] = measured(course, compiled=given.compile)
        tell(precision, precisions[precision])
    options = f"--steps {given.steps} --rounds {given.rounds} --threads {given.threads}"
    command = f"{COMMAND} {options}{' --compile' if given.compile else ''} --write"
    if given.write:
        append("training-speed", command, SIZES, {"precisions": precisions}, threads=given.threads)
    missed = False
    for precision, measured_in in precisions.items():
        speeds = {name: side["tokens_per_second"] for name, side in measured_in["sides"].items()}
        ratios = {f"ours / {name}": (speeds[OURS] / speeds[name], least) for name, least in BARS.items()}
        if COMPILED in speeds:
            fastest = max(speeds[PLAIN], speeds[f"{PLAIN}, compiled"])
            ratios[f"{COMPILED} / {PLAIN}, compiled or not"] = speeds[COMPILED] / fastest, BARS[PLAIN]
        for name, (ratio, least) in ratios.items():
            print(f"{precision}, {name}: {ratio:.2f}, {verdict(ratio, least=least)}")
            missed |= ratio < least
    if missed:
        sys.exit("a bar is missed")


if __name__ == "__main__":
    main()
