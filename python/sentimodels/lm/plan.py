"""`plan`: what `pretrain` would build, and about what it would take, before the corpus is read.

Not for training. A few rows of any tokens go forward and backward through the model, and time and memory
are drawn out to the whole run; a model that is too large for that has no estimate, but its arithmetic.
"""

import os
import time
from typing import Any

import torch
from torch import Tensor

from sentitok import Tokenizer

from ..config import LanguageConfig, MaskedConfig
from ..heads.cross_entropy import IGNORED
from ..layers.recompute import set_recompute
from ..runs.needs import kept_bytes, state_bytes
from ..runs.torch_settings import set_torch
from ..training.device import autocast, device_of
from ..training.throughput import working_parameters
from .directory import tokenizer_of_start
from .model import CausalModel, LanguageModule, build_language_model, language_model_shape
from .next_token import rows_at_once

__all__ = ["plan"]

# Operations of the rows that are tried, at most: a few seconds of two cores.
_MOST_OPERATIONS = 2e11
# Seconds that they may take; bfloat16 that a processor does not multiply takes ten times as long.
_MOST_SECONDS = 3.0
# Times that they are, of which the quickest counts; the first prepares what the others use.
_TRIES = 3


def plan(config: LanguageConfig) -> dict[str, Any]:
    """Returns what `pretrain` would build: parameters, tokens; about how long, in how much memory.

    `seconds` are of the clock, without validation; `memory_bytes` come to what the program itself takes.
    Both are left out where the model is too large to be tried here, and `seconds` where the length of the
    corpus decides.
    """
    named, start = config.data.tokenizer, tokenizer_of_start(config)
    known = Tokenizer.from_file(named) if named is not None else start
    vocab_size = config.data.vocab_size if known is None else known.vocab_size
    module = language_model_shape(config, vocab_size)
    train = config.train
    a_step = (train.batch_size or 1) * train.accumulate * config.data.context
    planned: dict[str, Any] = {
        "arch": config.arch,
        "preset": config.preset,
        "vocabulary": vocab_size,
        "parameters": sum(parameter.numel() for parameter in module.parameters()),
        "parameters_of_blocks": sum(
            value.numel() for name, value in module.backbone.named_parameters() if "embedding" not in name
        ),
        "tokens_of_a_step": a_step,
        **{name: getattr(train, name) for name in ("tokens", "max_steps", "epochs") if getattr(train, name)},
        "operations_of_a_token": 6 * working_parameters(module),
    }
    budgets = [] if train.tokens is None else [train.tokens]
    if train.max_steps is not None:
        budgets.append(train.max_steps * a_step)
    state = state_bytes(module, config.optim, train)
    a_row = 6.0 * working_parameters(module) * config.data.context
    if a_row > _MOST_OPERATIONS or state > _memory() / 2:
        return planned
    seconds_of_token, kept = _tried(config, vocab_size, int(_MOST_OPERATIONS / a_row))
    if budgets:
        planned["seconds"] = round(min(budgets) * seconds_of_token, 1)
    planned["memory_bytes"] = state + kept
    return planned


def _memory() -> float:
    """Returns the bytes of memory of this machine, where it says."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):  # Windows
        return float("inf")


def _tried(config: LanguageConfig, vocab_size: int, most_rows: int) -> tuple[float, int]:
    """Returns the seconds of a token of training, and the bytes that rows at once keep for the way back."""
    train, device = config.train, device_of(config.train.device)
    set_torch(train)
    module = build_language_model(config, vocab_size).to(device).train()
    set_recompute(module, train.recompute)
    wanted = rows_at_once(train.batch_size or 1, config.data.context, device)
    a_row = _seconds(config, module, _rows(config, vocab_size, 1))
    n_rows = max(1, min(wanted, most_rows, int(_MOST_SECONDS / (_TRIES * a_row))))
    rows = _rows(config, vocab_size, n_rows)
    kept = kept_bytes(module, train, lambda: _loss(module, *rows)) * wanted // n_rows
    return min(a_row, _seconds(config, module, rows) / n_rows) / config.data.context, kept


def _rows(config: LanguageConfig, vocab_size: int, n_rows: int) -> tuple[Tensor, Tensor]:
    """Returns any tokens, (B, T), and what is to be said of them."""
    ids = torch.randint(vocab_size, (n_rows, config.data.context), device=device_of(config.train.device))
    rate = config.task.rate if isinstance(config.task, MaskedConfig) else 1.0
    return ids, ids.masked_fill(torch.rand(ids.shape, device=ids.device) >= rate, IGNORED)


def _seconds(config: LanguageConfig, module: LanguageModule, rows: tuple[Tensor, Tensor]) -> float:
    """Returns the least seconds in which rows go forward and backward."""
    device, taken = rows[0].device, []
    for _ in range(_TRIES):
        began = time.perf_counter()
        with autocast(config.train, device):
            loss = _loss(module, *rows)
        loss.backward()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        taken.append(time.perf_counter() - began)
        module.zero_grad(set_to_none=True)
    return min(taken)


def _loss(module: LanguageModule, ids: Tensor, targets: Tensor) -> Tensor:
    """Returns the loss of rows (B, T), summed."""
    states = module(input_ids=ids)
    if isinstance(module, CausalModel):
        return module.head.summed_loss(states, targets, module.backbone)
    return module.head.loss(states, targets, module.backbone).sum()
