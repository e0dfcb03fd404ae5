"""Training tokens per second of a tiny language model, side by side with plain torch and transformers.

    python benches/models/pretrain.py [--steps 4] [--rounds 5] [--threads 2]
    python benches/models/pretrain.py --compile  # ours and plain torch compiled as well; needs a C++ compiler
    python benches/models/pretrain.py --write    # a result file, of which docs/results.md is made

Three models of one size (256 wide, 8 heads, 4 layers, vocabulary 5,000, rows of 256 tokens, 32 a batch,
AdamW, clipping, the table read as head), in float32, which is the default on a CPU, and in bfloat16 by
autocast: ours, by `senti pretrain`'s own task and trainer;
torch's `nn.TransformerEncoderLayer` with a causal mask, pre-norm, learned positions and a feed-forward part
as wide as gives it as many parameters; and transformers' GPT-2 with nanoGPT's step. All read the same ids.
They take turns, `--rounds` times `--steps` steps each, after a warm-up that is not counted; the medians are
compared, and beside them tokens per CPU second, which a busy machine disturbs less (with one thread:
threads that wait for each other count as busy). Then the matrix products and the attention of our step are
timed, each by itself: what is left if all else took no time. A processor without bfloat16 products
(avx512_bf16, amx) emulates them. What is compared is a step: not how well a model learns, though losses
are printed to show that all three do. Exits with 1 where a bar is missed.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, cast

import torch
from bars import judged_of
from bars_page import line
from markdown import MISSED
from result import RESULTS, ROOT, load, occasion, origin, write
from torch import Tensor, nn

from sentimodels.lm.batches import RowOrder
from sentimodels.lm.corpus import open_corpus, prepare
from sentimodels.lm.model import build_language_model
from sentimodels.lm.next_token import NextToken, rows_at_once, rows_of
from sentimodels.runs.language import resolve_language
from sentimodels.training.trainer import Trainer

TARGET, COMMAND = RESULTS / "training_speed.json", "python benches/models/pretrain.py"
CORPUS = ROOT / "tests" / "data" / "corpus" / "pride-and-prejudice.txt"
FILES = (CORPUS.relative_to(ROOT).as_posix(),)
WIDTH, HEADS, LAYERS, VOCABULARY, CONTEXT, BATCH = 256, 8, 4, 5_000, 256, 32
SIZES = {"width": WIDTH, "heads": HEADS, "layers": LAYERS, "vocabulary": VOCABULARY, "context": CONTEXT,
         "batch": BATCH}  # fmt: skip
# As many parameters as SwiGLU's three maps of 640.
PLAIN_INNER = 960
PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}
Step = Callable[[], float]


class Plain(nn.Module):
    """The model as torch's own layers make it."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.positions = nn.Embedding(CONTEXT, WIDTH)
        layer = nn.TransformerEncoderLayer(
            WIDTH, HEADS, PLAIN_INNER, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(
            layer, LAYERS, norm=nn.LayerNorm(WIDTH), enable_nested_tensor=False
        )
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        nn.init.normal_(self.tokens.weight, std=0.02)
        self.head.weight = self.tokens.weight

    def forward(self, ids: Tensor) -> Tensor:
        """Returns logits (B, T, V)."""
        n = ids.shape[1]
        x = self.tokens(ids) + self.positions.weight[:n]
        mask = nn.Transformer.generate_square_subsequent_mask(n)
        logits: Tensor = self.head(self.layers(x, mask=mask, is_causal=True))
        return logits


def gpt2() -> nn.Module:
    """Returns transformers' GPT-2 of this size."""
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        vocab_size=VOCABULARY, n_positions=CONTEXT, n_embd=WIDTH, n_layer=LAYERS, n_head=HEADS,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, use_cache=False, bos_token_id=None,
        eos_token_id=None,
    )  # fmt: skip
    made: nn.Module = GPT2LMHeadModel(config)
    return made


def plain_step(model: nn.Module, batches: Iterator[tuple[Tensor, Tensor]], precision: str) -> Step:
    """Returns a step as nanoGPT takes it: cross entropy under autocast, clipping, fused AdamW."""
    decayed = [value for value in model.parameters() if value.ndim >= 2]
    rest = [value for value in model.parameters() if value.ndim < 2]
    groups = [{"params": decayed, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}]
    moving = torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.95), fused=True)
    model.train()

    def step() -> float:
        ids, targets = next(batches)
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bfloat16"):
            logits = model(ids)
            logits = getattr(logits, "logits", logits)
            loss = nn.functional.cross_entropy(logits.view(-1, VOCABULARY), targets.reshape(-1))
        moving.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        moving.step()
        return loss.item()

    return step


class Ours:
    """`Trainer.fit`, taken a step at a time: it is asked after each whether to stop."""

    def __init__(self, folder: Path, steps: int, precision: str, *, compiled: bool) -> None:
        tree = {
            "preset": "tiny", "data": {"corpus": [str(CORPUS)], "format": "paragraphs", "context": CONTEXT,
            "vocab_size": VOCABULARY}, "optim": {"lr": 1e-3},
            "train": {"max_steps": steps, "batch_size": BATCH, "evaluate_every": steps, "log_every": 1,
                      "precision": precision, "compile": compiled},
        }  # fmt: skip
        self.config = resolve_language(tree)
        self.vocab_size = prepare(self.config, folder).vocab_size
        self.corpus = open_corpus(folder)
        torch.manual_seed(0)
        self.model = build_language_model(self.config, self.vocab_size)
        self.losses: list[float] = []

    def batches(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Yields the same batches for the others."""
        order = RowOrder(self.config, self.corpus.train.n_rows)
        epoch = 0
        while True:
            for numbers in order.batches(epoch, 0, 0, 1):
                rows = rows_of(self.corpus.train, numbers)
                yield rows.ids, rows.targets
            epoch += 1

    def train(self, after_step: Callable[[], bool]) -> None:
        """Trains until `after_step`, which is asked after each step, says that it is enough."""

        def hear(record: dict[str, Any]) -> None:
            if "loss" in record:
                self.losses.append(record["loss"])

        trainer = Trainer(self.config.optim, self.config.train, on_record=hear, should_stop=after_step)
        trainer.fit(self.model, NextToken(self.corpus, RowOrder(self.config, self.corpus.train.n_rows)))


class Measured:
    """What one side reached, turn by turn; the first turn warms up and has no speed."""

    def __init__(self, model: nn.Module) -> None:
        self.parameters = sum(value.numel() for value in model.parameters())
        self.speeds: list[float] = []
        self.of_cpu: list[float] = []
        self.losses: list[float] = []
        self.begin()

    def begin(self) -> None:
        """Begins a turn."""
        self._began, self._used = time.perf_counter(), time.process_time()

    def end(self, losses: list[float]) -> None:
        """Ends a turn of so many steps."""
        tokens = len(losses) * BATCH * CONTEXT
        if self.losses:
            self.speeds.append(tokens / (time.perf_counter() - self._began))
            self.of_cpu.append(tokens / (time.process_time() - self._used))
        self.losses += losses

    def figures(self, steps: int) -> dict[str, float]:
        """Returns medians over turns, and the losses of the first step and of the last turn."""
        return {
            "parameters": self.parameters,
            "tokens_per_second": statistics.median(self.speeds),
            "tokens_per_cpu_second": statistics.median(self.of_cpu),
            "lowest": min(self.speeds),
            "highest": max(self.speeds),
            "first_loss": self.losses[0],
            "last_loss": statistics.mean(self.losses[-steps:]),
        }


def median_seconds(call: Callable[[], object]) -> float:
    """Returns the median of seven calls, after one that is not counted."""
    seconds = []
    for _ in range(8):
        began = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds[1:])


def limit(model: nn.Module, precision: str) -> float:
    """Returns the tokens a second of a step that is only the products and the attention of ours.

    They are of as many tokens as the trainer takes at once. A product is made three times: for the output,
    and for the gradients of input and weights. Attention is timed in both precisions; the faster one counts.
    """
    rows, kind = rows_at_once(BATCH, CONTEXT, torch.device("cpu")), PRECISIONS[precision]
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


def take_turns(
    ours: Ours, others: dict[str, nn.Module], steps: int, rounds: int, precision: str
) -> dict[str, Measured]:
    """Has each side take so many steps, again and again: ours, then, while it waits, the others."""
    sides = {name: Measured(model) for name, model in {"ours": ours.model, **others}.items()}
    step_of = {name: plain_step(model, ours.batches(), precision) for name, model in others.items()}

    def after_step() -> bool:
        if len(ours.losses) % steps:
            return False
        sides["ours"].end(ours.losses[-steps:])
        for name, step in step_of.items():
            sides[name].begin()
            sides[name].end([step() for _ in range(steps)])
        sides["ours"].begin()
        return len(ours.losses) == (rounds + 1) * steps

    ours.train(after_step)
    return sides


def measured(precision: str, steps: int, rounds: int, *, compiled: bool) -> dict[str, Any]:
    """Returns what all sides reach in one precision, and what bounds ours.

    What a compiler makes of ours and of plain torch is measured after that, these two by turns.
    """

    def compared(others: dict[str, nn.Module], *, compiled: bool) -> tuple[Ours, dict[str, Any]]:
        with tempfile.TemporaryDirectory() as folder:
            ours = Ours(Path(folder), (rounds + 1) * steps + 1, precision, compiled=compiled)
            assert ours.vocab_size == VOCABULARY
            sides = take_turns(ours, others, steps, rounds, precision)
        return ours, {name: side.figures(steps) for name, side in sides.items()}

    ours, sides = compared({"plain torch": Plain(), "transformers GPT-2": gpt2()}, compiled=False)
    if compiled:
        _, more = compared({"plain torch": cast("nn.Module", torch.compile(Plain()))}, compiled=True)
        sides |= {f"{name}, compiled": side for name, side in more.items()}
    return {"sides": sides, "limit": limit(ours.model, precision)}


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
    parser.add_argument("--write", action="store_true", help="Write the result file.")
    given = parser.parse_args()
    before = load()
    torch.set_num_threads(given.threads)
    precisions = {}
    for precision in PRECISIONS:
        precisions[precision] = measured(precision, given.steps, given.rounds, compiled=given.compile)
        tell(precision, precisions[precision])
    options = f"--steps {given.steps} --rounds {given.rounds} --threads {given.threads}"
    command = f"{COMMAND} {options}{' --compile' if given.compile else ''} --write"
    result = {
        "precisions": precisions, "threads": given.threads, **origin(SIZES, FILES),
        **occasion(command, before),
    }  # fmt: skip
    if given.write:
        write(TARGET, result)
    every = judged_of("training_speed", result)
    for one in every:
        print(line(one))
    if any(one.word == MISSED for one in every):
        sys.exit("a bar is missed")


if __name__ == "__main__":
    main()
