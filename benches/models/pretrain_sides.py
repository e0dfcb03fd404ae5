"""The sides of `pretrain.py`: our trainer and models of other libraries, each in a separate process.

`pretrain.py` describes the measurements. In one process the sides would change each other's speed, because
blocks of 160 MB, such as whole logits, move the limits of glibc's allocator. All read the same ids.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, cast

import torch
from result import ROOT
from torch import Tensor, nn

from sentimodels.config import LanguageConfig
from sentimodels.models.language import build_language_model
from sentimodels.runs.families import LANGUAGE_MODEL
from sentimodels.tasks.next_token import NextToken, rows_of
from sentimodels.text.corpus import open_corpus, prepare
from sentimodels.text.packed import RowOrder
from sentimodels.training.trainer import Trainer

CORPUS = ROOT / "tests" / "data" / "corpus" / "pride-and-prejudice.txt"
WIDTH, HEADS, LAYERS, VOCABULARY, CONTEXT, BATCH = 256, 8, 4, 5_000, 256, 32
SIZES = {"width": WIDTH, "heads": HEADS, "layers": LAYERS, "vocabulary": VOCABULARY, "context": CONTEXT,
         "batch": BATCH}  # fmt: skip
# As many parameters as SwiGLU's three maps of 640.
PLAIN_INNER = 960
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


@dataclass(frozen=True)
class Course:
    """What every side does.

    Attributes:
        folder: where the rows of the corpus are.
        precision: `float32` or `bfloat16`.
        steps: of a turn.
        turns: how many there are.
        threads: of torch.
    """

    folder: Path
    precision: str
    steps: int
    turns: int
    threads: int

    def config(self, *, compiled: bool = False) -> LanguageConfig:
        """Returns the configuration of ours."""
        most = self.steps * self.turns + 1
        return LANGUAGE_MODEL.resolve({
            "preset": "tiny", "data": {"corpus": [str(CORPUS)], "format": "paragraphs", "context": CONTEXT,
            "vocab_size": VOCABULARY}, "optim": {"lr": 1e-3},
            "train": {"max_steps": most, "batch_size": BATCH, "evaluate_every": most, "log_every": 1,
                      "precision": self.precision, "compile": compiled, "threads": self.threads},
        })  # fmt: skip

    def prepare(self) -> None:
        """Writes the rows, which all sides read."""
        assert prepare(self.config(), self.folder).vocab_size == VOCABULARY


class Turns:
    """The turns of a side; its process gets commands through a pipe."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe

    def wait(self) -> bool:
        """Waits for the next turn; False: there is none."""
        another: bool = self._pipe.recv()
        self._began, self._used = time.perf_counter(), time.process_time()
        return another

    def end(self, parameters: int, losses: list[float]) -> None:
        """Ends a turn of so many steps."""
        seconds, used = time.perf_counter() - self._began, time.process_time() - self._used
        self._pipe.send({"parameters": parameters, "seconds": seconds, "cpu": used, "losses": losses})


def serve(pipe: Connection, name: str, compiled: bool, course: Course) -> None:
    """Takes the turns of a side; what its process runs."""
    torch.set_num_threads(course.threads)
    torch.manual_seed(0)
    if name == "ours":
        _ours(Turns(pipe), course, compiled=compiled)
    else:
        _others(Turns(pipe), course, name, compiled=compiled)


def _ours(turns: Turns, course: Course, *, compiled: bool) -> None:
    """Takes turns of `Trainer.fit`, which asks after each step whether to stop."""
    config, corpus = course.config(compiled=compiled), open_corpus(course.folder)
    model = build_language_model(config, VOCABULARY)
    losses: list[float] = []

    def hear(record: dict[str, Any]) -> None:
        if "loss" in record:
            losses.append(record["loss"])

    def should_stop() -> bool:
        if len(losses) % course.steps:
            return False
        turns.end(parameters_of(model), losses[-course.steps :])
        return not turns.wait()

    trainer = Trainer(config.optim, config.train, on_record=hear, should_stop=should_stop)
    if turns.wait():
        trainer.fit(model, NextToken(corpus, RowOrder(config, corpus.train.n_rows)))


def _others(turns: Turns, course: Course, name: str, *, compiled: bool) -> None:
    model = {"plain torch": Plain, "transformers GPT-2": gpt2}[name]()
    step = plain_step(
        cast("nn.Module", torch.compile(model)) if compiled else model, batches(course), course.precision
    )
    while turns.wait():
        turns.end(parameters_of(model), [step() for _ in range(course.steps)])


def batches(course: Course) -> Iterator[tuple[Tensor, Tensor]]:
    """Yields the batches that ours reads."""
    corpus = open_corpus(course.folder)
    order = RowOrder(course.config(), corpus.train.n_rows)
    epoch = 0
    while True:
        for numbers in order.batches(epoch, 0, 0, 1):
            rows = rows_of(corpus.train, numbers)
            yield rows.ids, rows.targets
        epoch += 1


def parameters_of(model: nn.Module) -> int:
    """Returns the number of parameters."""
    return sum(value.numel() for value in model.parameters())
