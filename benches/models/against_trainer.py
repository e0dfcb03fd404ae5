"""Speed of training the encoder: our loop against a transformers Trainer, on the same model and rows.

    python benches/models/against_trainer.py             # needs transformers and accelerate

Model, tokenizer, rows and machine are the same; each side runs as a separate process,
alternately, and the median counts. The Trainer runs with its default settings (batches of 8 in
random order, padded to the longest row) and once more with ours (batches of 128, grouped by
length). Both include all that a step costs: reading, forward, backward, optimiser; ours also
the averaged weights. Appends to `results.jsonl`; exits with 1 if ours is less than TIMES times as fast as the
Trainer with its defaults.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from typing import Any

from parts import kaggle
from result import append, data_folder, verdict

TIMES = 3.0
COMMAND = "python benches/models/against_trainer.py"
ROWS = 12_000
ROUNDS = 3
# Side: what it is called, and settings of the Trainer above its defaults (`None`: ours).
SIDES: dict[str, tuple[str, dict[str, Any] | None]] = {
    "ours": ("sentimodels, defaults", None),
    "default": ("transformers Trainer, defaults", {}),
    "grouped": (
        "transformers Trainer, batches of 128 by length",
        {"per_device_train_batch_size": 128, "train_sampling_strategy": "group_by_length"},
    ),
}


def material(rows: int) -> Any:
    """Ids, labels and a freshly made encoder, the same for all sides."""
    import torch

    from sentimodels.data.table import Labels
    from sentimodels.models import build
    from sentimodels.runs.families import resolve
    from sentimodels.text.encoder import encoder_for

    (parts,) = kaggle(data_folder())
    labels = Labels.from_values(parts.train.labelled())
    config = resolve({"arch": "encoder", "train": {"epochs": 1}})
    encoder = encoder_for(config, parts.train.texts)
    some = parts.train.take(range(0, len(parts.train), len(parts.train) // rows))
    torch.manual_seed(0)
    module = build("encoder", config.model, encoder.inputs(len(labels)))
    return config, encoder.encode(some.texts), labels.encode(some.labelled()), module, len(labels)


def ours(rows: int) -> dict[str, float]:
    from sentimodels.tasks.classification import Classification
    from sentimodels.training.trainer import Trainer

    config, encoded, labels, module, n_classes = material(rows)
    began = time.perf_counter()
    task = Classification(config.task, config.train, encoded, labels, n_classes=n_classes)
    fit = Trainer(config.optim, config.train).fit(module, task)
    seconds = time.perf_counter() - began
    return {"seconds": seconds, "rows": len(encoded), "tokens": fit.tokens, "steps": fit.steps}


def theirs(rows: int, more: dict[str, Any]) -> dict[str, float]:
    import numpy as np
    import torch
    import torch.nn.functional as F
    from transformers import Trainer, TrainingArguments

    from sentimodels.data.encoded import batch_of

    _, encoded, labels, module, _ = material(rows)

    class WithLoss(torch.nn.Module):
        # The loss is a mean over the batch: the Trainer need not say how many rows it sums over.
        accepts_loss_kwargs = False

        def __init__(self) -> None:
            super().__init__()
            self.inner = module

        def forward(self, labels: Any, **inputs: Any) -> dict[str, Any]:
            logits = self.inner(**inputs)
            return {"loss": F.cross_entropy(logits, labels), "logits": logits}

    texts = [
        {"input_ids": encoded.row(row).tolist(), "row": row, "labels": int(labels[row])}
        for row in range(len(encoded))
    ]
    of_rows = labels[encoded.text_of_row]

    def padded(batch: list[dict[str, Any]]) -> dict[str, Any]:
        made = batch_of(encoded, of_rows, np.array([one["row"] for one in batch]))
        return {**made.inputs(), "labels": made.labels}

    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder, num_train_epochs=1, report_to="none", save_strategy="no", use_cpu=True,
            disable_tqdm=True, remove_unused_columns=False, **more,
        )  # fmt: skip
        trainer = Trainer(model=WithLoss(), args=arguments, train_dataset=texts, data_collator=padded)
        began = time.perf_counter()
        trainer.train()
        seconds = time.perf_counter() - began
    tokens = float(encoded.lengths.sum())
    return {"seconds": seconds, "rows": len(texts), "tokens": tokens, "steps": trainer.state.global_step}


def main() -> int:
    if len(sys.argv) > 1:
        asked = SIDES[sys.argv[1]][1]
        print(json.dumps(ours(ROWS) if asked is None else theirs(ROWS, asked)))
        return 0
    if find_spec("accelerate") is None or find_spec("transformers") is None:
        print("needs transformers and accelerate: pip install transformers accelerate", file=sys.stderr)
        return 2
    by_side: dict[str, list[dict[str, float]]] = {side: [] for side in SIDES}
    for _ in range(ROUNDS):
        for side in SIDES:
            done = subprocess.run(
                [sys.executable, __file__, side], check=True, capture_output=True, text=True
            )
            by_side[side].append(json.loads(done.stdout.splitlines()[-1]))
            print(side, by_side[side][-1], flush=True)
    speed = {
        side: statistics.median(r["tokens"] / r["seconds"] for r in runs) for side, runs in by_side.items()
    }
    scores = {
        SIDES[side][0]: {"tokens_per_second": speed[side], "times": speed["ours"] / speed[side]}
        for side in SIDES
    }
    append("trainer-speed", COMMAND, {"arch": "encoder", "rows": ROWS}, scores)
    times = speed["ours"] / speed["default"]
    print(f"{times:.1f} times the default Trainer: {verdict(times, least=TIMES)}")
    return 0 if times >= TIMES else 1


if __name__ == "__main__":
    sys.exit(main())
