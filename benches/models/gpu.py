"""Training tokens per second of a GPT of 124 million parameters on one GPU, in bfloat16 and compiled.

    python benches/models/gpu.py --write    # minutes; appends to results.jsonl
    python benches/models/gpu.py --small    # seconds on any device: that all of it runs

The model is `--preset large --tied` with 50,257 tokens and rows of 1,024, trained by `senti pretrain`'s own
code; the bundled novels are its corpus, read again and again, as a step takes as long whatever the tokens
are. Speed is the median of what `metrics.jsonl` records after the first third, which compiles and warms up.
The bar is that of one H200; on another device the speed is printed without it.
"""

import argparse
import statistics
import tempfile
from pathlib import Path
from typing import Any

import torch
from result import ROOT, append, verdict

from sentimodels.runs.execute import Callbacks, train
from sentimodels.runs.families import LANGUAGE_MODEL
from sentitok import train_bpe

COMMAND = "python benches/models/gpu.py"
# Tokens a second, and the GPU that the bar is for.
TOKENS, GPU = 350_000, "H200"
CORPUS = ROOT / "tests" / "data" / "corpus"
NOVELS = [CORPUS / f"{name}.txt" for name in ("pride-and-prejudice", "sherlock-holmes")]
VOCABULARY = 50_257


def tokenizer(folder: Path, size: int) -> Path:
    """Writes a tokenizer of so many tokens; what the novels do not fill are tokens that no text has."""
    trained = train_bpe(NOVELS, vocab_size=size, special_tokens=["<|endoftext|>"])
    fill = [f"<|unused {n}|>" for n in range(size - trained.vocab_size)]
    if fill:
        trained = train_bpe(NOVELS, vocab_size=size, special_tokens=["<|endoftext|>", *fill])
    path = folder / "tokenizer.json"
    trained.save(path)
    return path


def measure(asked: argparse.Namespace) -> dict[str, Any]:
    """Trains for some steps; returns sizes and speed."""
    small: bool = asked.small
    speeds: list[float] = []

    def hear(record: dict[str, Any]) -> None:
        if "tokens_per_second" in record:
            speeds.append(float(record["tokens_per_second"]))
            print(f"step {record['step']}: {speeds[-1]:,.0f} tokens/s", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        tree: dict[str, Any] = {
            "arch": "gpt", "preset": "nano" if small else "large", "task": {"tied": True},
            "data": {
                "corpus": [str(path) for path in NOVELS], "context": 64 if small else 1024,
                "format": "paragraphs", "valid_tokens": 2048,
                "tokenizer": str(tokenizer(Path(folder), 600 if small else VOCABULARY)),
            },
            "optim": {"name": asked.optimizer},
            "train": {
                "max_steps": 6 if small else asked.steps, "batch_size": 4 if small else asked.batch,
                "evaluate_every": 1_000_000, "log_every": 1 if small else 10, "compile": not small,
                "precision": "auto" if small else "bfloat16",
            },
        }  # fmt: skip
        about = train(LANGUAGE_MODEL.resolve(tree), Path(folder) / "run", callbacks=Callbacks(on_record=hear))
    kept = speeds[len(speeds) // 3 :]
    on_gpu = about["device"].startswith("cuda")
    return {
        "device": torch.cuda.get_device_name() if on_gpu else about["device"],
        "parameters": about["parameters"], "vocabulary": about["vocabulary"], "context": about["context"],
        "batch": tree["train"]["batch_size"], "steps": tree["train"]["max_steps"],
        "tokens_per_second": statistics.median(kept), "lowest": min(kept), "highest": max(kept),
        "optimizer": asked.optimizer,
        **{key: about["speed"][key] for key in ("mfu", "formula", "peak") if key in about["speed"]},
        "peak_memory_bytes": torch.cuda.max_memory_allocated() if on_gpu else None,
    }  # fmt: skip


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=300, help="steps in all")
    parser.add_argument("--batch", type=int, default=64, help="rows of a step")
    parser.add_argument("--optimizer", choices=("adamw", "muon"), default="adamw")
    parser.add_argument("--small", action="store_true", help="a small model, not compiled, on any device")
    parser.add_argument("--write", action="store_true", help="append the figures to results.jsonl")
    asked = parser.parse_args()
    if not asked.small and not torch.cuda.is_available():
        parser.error("no GPU here; --small tries the benchmark on any device")
    measured = measure(asked)
    for name, value in measured.items():
        print(f"{name}: {value:,}" if isinstance(value, int) else f"{name}: {value}")
    if GPU in str(measured["device"]):
        print(f"tokens a second of one {GPU}: {verdict(measured['tokens_per_second'], least=TOKENS)}")
    else:
        print(f"the bar is of one {GPU}; this is another device")
    if asked.write:
        command = (
            f"{COMMAND} --steps {asked.steps} --batch {asked.batch} --optimizer {asked.optimizer} --write"
        )
        sizes = {"steps": asked.steps, "batch": asked.batch, "optimizer": asked.optimizer}
        append("gpu-speed", command, {**sizes, "vocabulary": VOCABULARY}, measured)


if __name__ == "__main__":
    main()
