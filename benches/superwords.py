"""Superwords: time and memory of training, and speed of encoding, compared with the vocabulary without.

    python benches/superwords.py train FILE [--vocab 32000] [--from 24000]
    python benches/superwords.py encode SUPERWORDS.json PLAIN.json FILE...

`train` runs each training in a separate process, alternately, and prints ratios of the best of several.
`encode` checks that ids equal those of tokenizers before it measures.
"""

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

_TRAIN = """
import resource, sys, time
import sentitok
options = eval(sys.argv[2])
started = time.perf_counter()
sentitok.train_bpe(sys.argv[1], **options)
print(time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def train(path: str, vocab: int, size: int, rounds: int) -> None:
    """Prints how many times as long, and as much memory, superwords take as plain BPE."""
    ways = {
        "plain": {"vocab_size": vocab},
        f"superwords from {size}": {"vocab_size": vocab, "superwords_from": size},
        "superwords auto": {"vocab_size": vocab, "superwords": "auto"},
    }
    best: dict[str, tuple[float, float]] = {}
    for _ in range(rounds):
        for name, options in ways.items():
            command = [sys.executable, "-c", _TRAIN, path, repr(options)]
            out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            seconds, kib = map(float, out.split())
            known = best.get(name, (seconds, kib))
            best[name] = min(known[0], seconds), min(known[1], kib)
    for name, (seconds, kib) in best.items():
        times, memory = seconds / best["plain"][0], kib / best["plain"][1]
        print(f"{name:24} {seconds:8.2f} s {times:6.2f} x  {kib / 1024:8.0f} MiB {memory:6.2f} x")


def encode(with_path: str, without_path: str, files: list[str], rounds: int) -> None:
    """Prints MB/s with superwords, without, and of tokenizers with superwords."""
    import tokenizers

    import sentitok

    ours, plain = sentitok.Tokenizer.from_file(with_path), sentitok.Tokenizer.from_file(without_path)
    reference = tokenizers.Tokenizer.from_file(with_path)
    for file in files:
        texts = Path(file).read_text("utf-8").splitlines(keepends=True)
        n_bytes = sum(len(text.encode()) for text in texts)
        few = texts[: max(1, len(texts) // 20)]
        few_bytes = sum(len(text.encode()) for text in few)
        expected = [one.ids for one in reference.encode_batch(few, add_special_tokens=False)]
        if [one.ids.tolist() for one in ours.encode_batch(few)] != expected:
            sys.exit(f"{file}: the ids differ from those of tokenizers")
        runs: dict[str, tuple[Callable[[], object], int]] = {
            "with": (partial(ours.encode_batch, texts), n_bytes),
            "without": (partial(plain.encode_batch, texts), n_bytes),
            "tokenizers": (partial(reference.encode_batch_fast, few, add_special_tokens=False), few_bytes),
        }
        speeds = dict.fromkeys(runs, 0.0)
        for _ in range(rounds):
            for name, (run, size) in runs.items():
                started = time.perf_counter()
                run()
                speeds[name] = max(speeds[name], size / (time.perf_counter() - started) / 1e6)
        tokens = int(ours.count_batch(texts).sum()) / int(plain.count_batch(texts).sum())
        fast = speeds["with"]
        print(
            f"{Path(file).name:24} with {fast:7.1f} MB/s, {fast / speeds['without']:5.2f} of without, "
            f"{fast / speeds['tokenizers']:6.1f} x tokenizers; {tokens:.3f} of the tokens"
        )


def main() -> None:
    """Runs what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    commands = parser.add_subparsers(dest="command", required=True)
    training = commands.add_parser("train")
    training.add_argument("file")
    training.add_argument("--vocab", type=int, default=32_000)
    training.add_argument("--from", dest="size", type=int, default=24_000)
    encoding = commands.add_parser("encode")
    encoding.add_argument("superwords")
    encoding.add_argument("plain")
    encoding.add_argument("files", nargs="+")
    args = parser.parse_args()
    if args.command == "train":
        train(args.file, args.vocab, args.size, args.rounds)
    else:
        encode(args.superwords, args.plain, args.files, args.rounds)
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB", file=sys.stderr)


if __name__ == "__main__":
    main()
