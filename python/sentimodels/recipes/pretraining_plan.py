"""`plan`: what `pretrain` would build, and about what it would take, before the corpus is read.

Not for training. A few rows of any tokens go forward and backward through the model, and time and memory
are drawn out to the whole run; a model that is too large for that has no estimate, but its arithmetic.
"""

import os
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from sentitok import Tokenizer

from ..config import LanguageConfig, MaskedConfig
from ..models.language import CausalModel, LanguageModule, build_language_model, language_model_shape
from ..nn.backbone import set_recompute
from ..nn.cross_entropy import IGNORED
from ..runs.language_directory import tokenizer_of_start
from ..runs.memory_estimate import kept_bytes, state_bytes
from ..tasks.next_token import rows_at_once
from ..text.corpus import is_encoded
from ..text.documents import files_of
from ..training.device import device_of, set_torch, use_bfloat16
from ..training.history import working_parameters

__all__ = ["plan"]

# Operations of the rows that are tried, at most: a few seconds of two cores.
_MOST_OPERATIONS = 2e11
# Seconds after which no other is tried: without AVX-512, bfloat16 takes 10 to 28 times as long as float32.
_MOST_SECONDS = 3.0
# Times that they are, of which the quickest counts; the first prepares what the others use.
_TRIES = 3


def plan(config: LanguageConfig) -> dict[str, Any]:
    """Returns what `pretrain` would build: parameters, tokens; about how long, in how much memory.

    `seconds` are of the clock, without validation; `memory_bytes` come to what the program itself takes.
    Both are left out where the model is too large to be tried here, and `seconds` where the length of the
    corpus decides. Files of the corpus must be there, but are not read.

    Raises:
        FileNotFoundError: if one is not.
        DataError: if the corpus cannot be one.
    """
    if config.data.corpus and not is_encoded(config):
        files_of(config.data.corpus)
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
    train, device, context = config.train, device_of(config.train.device), config.data.context
    set_torch(train)
    module = build_language_model(config, vocab_size).to(device).train()
    set_recompute(module, train.recompute)
    wanted = rows_at_once(train.batch_size or 1, context, device)
    bfloat16 = use_bfloat16(train, device)

    def loss(n_rows: int) -> Tensor:
        ids = torch.randint(vocab_size, (n_rows, context), device=device)
        return _loss(module, ids, _targets(config, ids))

    def kept(n_rows: int) -> int:
        return kept_bytes(module, lambda: loss(n_rows), bfloat16=bfloat16)

    def seconds(n_rows: int) -> float:
        return _least_seconds(device, bfloat16, lambda: loss(n_rows)) / (n_rows * context)

    of_token = seconds(1)
    n_rows = min(wanted, most_rows, int(_MOST_SECONDS / (_TRIES * of_token * context)))
    if n_rows > 1:
        of_token = seconds(n_rows)
    n_bytes, more = kept(1), min(wanted, max(2, n_rows))
    if more > 1:  # what does not grow with the rows, as copies of weights, counts once
        n_bytes += (kept(more) - n_bytes) * (wanted - 1) // (more - 1)
    return of_token, n_bytes


def _targets(config: LanguageConfig, ids: Tensor) -> Tensor:
    """Returns what is to be said of tokens (B, T): of each, or of as many of a row as are masked."""
    rate = config.task.rate if isinstance(config.task, MaskedConfig) else 1.0
    targets = ids.clone()
    targets[:, max(1, round(rate * ids.shape[1])) :] = IGNORED
    return targets


def _least_seconds(device: torch.device, bfloat16: bool, loss: Callable[[], Tensor]) -> float:
    """Returns the least seconds in which a loss goes forward and backward, of a few tries."""
    taken: list[float] = []
    while len(taken) < _TRIES and sum(taken) < _MOST_SECONDS:
        began = time.perf_counter()
        with torch.autocast(device.type, torch.bfloat16, enabled=bfloat16):
            total = loss()
        total.backward()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        taken.append(time.perf_counter() - began)
    return min(taken)


def _loss(module: LanguageModule, ids: Tensor, targets: Tensor) -> Tensor:
    """Returns the loss of rows (B, T), summed."""
    states = module(input_ids=ids)
    if isinstance(module, CausalModel):
        return module.head.summed_loss(states, targets, module.backbone)
    return module.head.loss(states, targets, module.backbone).sum()
