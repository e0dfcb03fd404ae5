"""`plan_translation`: what `train_translation` would do, and about what it would take, without a run.

Not for training. Pairs are read and encoded as a run reads them, some steps are taken, and their time is
drawn out to all.
"""

import time
from itertools import pairwise
from typing import Any

from ..config import TranslationConfig
from ..runs.memory_estimate import kept_bytes, state_bytes
from ..tasks.seq2seq import Seq2Seq
from ..text.pairs import end_of, joint_tokenizer
from ..training.device import device_of, set_torch, use_bfloat16
from ..training.history import working_parameters
from ..training.optimizer import check_possible
from ..training.trainer import Trainer
from ..translator import build_translation_model, format_of
from .translation_pairs import read_pairs, training_pairs, validation_pairs

__all__ = ["plan_translation"]

# Steps that are tried, of which the quickest counts; the first prepares what the others use.
_STEPS = 3
# Operations of such a step at most: seconds of two cores.
_MOST_OPERATIONS = 2e11


def plan_translation(config: TranslationConfig) -> dict[str, Any]:
    """Returns what `train_translation` would do: pairs, tokens, parameters, steps; how long, in what memory.

    `seconds` are of the clock, without validation. `memory_bytes` come to what the program itself takes.

    Raises:
        SentiError: if a file or a setting does not allow it.
    """
    set_torch(config.train)
    train, valid = read_pairs(config, None)
    tokenizer = joint_tokenizer(config.data, train.sources, train.targets)
    end, _ = end_of(tokenizer, config.data.end)
    config = config.model_copy(update={"data": config.data.model_copy(update={"end": end})})
    module, format = build_translation_model(config, tokenizer.vocab_size), format_of(config, tokenizer)
    check_possible(module, config.optim)
    pairs, left_out = training_pairs(config, format, module, tokenizer, train, None)
    valid, _ = validation_pairs(config, format, module, tokenizer, valid, None)
    plan = Seq2Seq(config.task, config.train, format, pairs).plan(1)
    places = min(config.train.batch_tokens, max(1, int(_MOST_OPERATIONS / (6 * working_parameters(module)))))
    few = {"epochs": _STEPS, "max_steps": _STEPS, "accumulate": 1, "log_every": 1}
    tried = config.train.model_copy(update={"batch_tokens": places, **few})
    task = Seq2Seq(config.task, tried, format, pairs)
    device = device_of(config.train.device)
    module.to(device).train()
    batch = next(task.batches(0, 0, 0, 1))
    bfloat16 = use_bfloat16(config.train, device)
    kept = kept_bytes(module, lambda: task.loss(module, batch)[0], bfloat16=bfloat16)
    ends: list[float] = []
    Trainer(config.optim, tried, on_record=lambda _: ends.append(time.perf_counter())).fit(module, task)
    a_batch = min(then - now for now, then in pairwise(ends))
    # Smaller batches are tried where those of the run are too large; it has more of them.
    n_batches = plan.steps * config.train.accumulate * task.plan(1).n_batches / plan.n_batches
    return {
        "arch": config.arch,
        "train_pairs": len(pairs),
        "valid_pairs": len(valid),
        "pairs_left_out": left_out,
        "vocabulary": tokenizer.vocab_size,
        "tokens": int(pairs.sources.lengths.sum() + pairs.targets.lengths.sum()),
        "parameters": sum(parameter.numel() for parameter in module.parameters()),
        "steps": plan.steps,
        "seconds": round(a_batch * n_batches, 1),
        "memory_bytes": state_bytes(module, config.optim, config.train)
        + kept * config.train.batch_tokens // places,
    }
