"""`plan`: what `train` would do, and about what it would take, without training.

Not for the choice of an architecture, whose estimate of time is used here (`auto.py`). Time and memory
are estimates: of a few steps or of a fit of some rows, drawn out to all.
"""

import sys
import tracemalloc
from itertools import islice
from typing import Any

from ..config import RunConfig
from ..data.encoded import Encoded
from ..models import build
from ..text.encoder import encoder_for
from ..training.device import device_of, use_bfloat16
from ..training.task import counted
from .auto import estimate, is_fitted, seconds_of_fit
from .memory_estimate import kept_bytes, state_bytes
from .start import encoder_of_start
from .tables import Tables, read_tables
from .tasks import settled_task, task_of

__all__ = ["plan"]

# Batches that the largest is sought among.
_LOOKED_AT = 64
# Rows of the two fits whose memory is compared.
_FEW, _MORE = 250, 1_000


def plan(config: RunConfig, tables: Tables | None = None) -> dict[str, Any]:
    """Returns what `train` would do: rows, tokens, parameters, steps; about how long, in how much memory.

    `seconds` are of CPU, or of the clock on another device; what a teacher takes is not in them.
    `memory_bytes` come to what the program itself takes.
    """
    tables = tables or read_tables(config)
    encoder = encoder_of_start(config) or encoder_for(config, tables.train.texts)
    encoded = encoder.encode(tables.train.texts)
    module = build(config.arch, config.model, encoder.inputs(len(tables.labels)))
    planned = {
        "arch": config.arch,
        "train_rows": len(tables.train),
        "valid_rows": 0 if tables.valid is None else len(tables.valid),
        "labels": ", ".join(f"{name} {count:,}" for name, count in tables.counts().items()),
        "vocabulary": encoder.vocab_size,
        "tokens": int(encoded.lengths.sum()),
        "texts_cut": encoded.n_cut,
        "parameters": sum(parameter.numel() for parameter in module.parameters()),
        "steps": config.train.plan(len(encoded)).steps,
    }
    planned["seconds"] = round(estimate(config, tables), 1)
    planned["memory_bytes"] = _of_data(tables, encoded) + (
        _of_fit(config, tables)
        if is_fitted(config)
        else state_bytes(module, config.optim, config.train) + _kept(config, tables, encoded, module)
    )
    return planned


def _of_data(tables: Tables, encoded: Encoded) -> int:
    """Returns the bytes of the texts, and of the ids of those to train on."""
    parts = [part for part in (tables.train, tables.valid, tables.test) if part is not None]
    texts = sum(sys.getsizeof(text) for part in parts for text in part.texts)
    ids = sum(getattr(value, "nbytes", 0) for value in vars(encoded).values())
    return texts + ids


def _kept(config: RunConfig, tables: Tables, encoded: Encoded, module: Any) -> int:
    """Returns what the largest of the first batches keeps for its backward pass."""
    tried = config.model_copy(update={"task": settled_task(config, tables.labels.names)})
    task = task_of(tried, tables, encoded, tables.classes(tables.train), None, None, None)
    largest = max(islice(task.batches(0, 0, 0, 1), _LOOKED_AT), key=lambda batch: counted(batch)[1])
    module.train()
    bfloat16 = use_bfloat16(config.train, device_of(config.train.device))
    return kept_bytes(module, lambda: task.loss(module, largest)[0], bfloat16=bfloat16)


def _of_fit(config: RunConfig, tables: Tables) -> int:
    """Returns about what a fit of all rows allocates, by those of some."""
    n_rows = len(tables.train)
    sizes = [min(n_rows, _FEW), min(n_rows, _MORE)]
    peaks = []
    for size in sizes:
        tracemalloc.start()
        try:
            seconds_of_fit(config, tables.some(tables.spread(size)))
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    a_row = max(0, peaks[1] - peaks[0]) / max(1, sizes[1] - sizes[0])
    return round(peaks[1] + a_row * (n_rows - sizes[1]))
