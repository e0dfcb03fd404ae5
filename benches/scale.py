"""Two workers of an engine against one: `python benches/scale.py --mb 1000`.

Counts and encodes a corpus (lines of the corpora of all benches, repeated and shuffled) by Ray and Dask with
one local worker of one thread and with two, and prints for each the seconds, the ratio, whether the bytes are
those of one process without an engine, and the peak memory of the driver. Each run is a separate process,
and begins when its workers have done a small task. On a machine of two cores nothing else may run.
"""

import argparse
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import sentitok
from corpora import CACHE, data_dir
from sentitok.adapters import open_executor
from sentitok.cli.output import peak_memory

BUNDLED = Path(__file__).resolve().parent.parent / "tests" / "data" / "corpus"


def corpus(n_bytes: int) -> Path:
    """Returns a file of about so many bytes: blocks of lines, shuffled each time they come again."""
    path = CACHE / f"scale-{n_bytes >> 20}.txt"
    if path.exists() and path.stat().st_size >= n_bytes:
        return path
    folder = data_dir() or BUNDLED
    texts = [one for one in sorted(folder.rglob("*.txt")) if one.stat().st_size < 64 << 20]
    lines = [line for text in texts for line in text.read_bytes().splitlines(keepends=True) if line.strip()]
    draw = random.Random(58)
    path.parent.mkdir(parents=True, exist_ok=True)
    written = 0
    with path.open("wb") as file:
        while written < n_bytes:
            draw.shuffle(lines)
            for line in lines:
                written += file.write(line if line.endswith(b"\n") else line + b"\n")
                if written >= n_bytes:
                    break
    return path


def digest(path: Path) -> str:
    """SHA-256 of a file; of a folder of token shards that of ids and ends of documents, end to end."""
    if path.is_file():
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    from sentitok.datasets import TokenDataset

    data, found = TokenDataset(path), hashlib.sha256()
    for start in range(0, data.tokens, 1 << 20):
        found.update(data.stream(start, min(start + (1 << 20), data.tokens)).tobytes())
    for start in range(0, len(data), 1 << 20):
        found.update(data.ends(start, min(start + (1 << 20), len(data))).tobytes())
    return found.hexdigest()


def drive(engine: str, workers: int, text: Path, tokenizer_file: Path, shard_bytes: int) -> None:
    """Runs one driver and prints what it took, as JSON."""
    tokenizer = sentitok.Tokenizer.from_file(tokenizer_file)
    answer: dict[str, object] = {}
    with tempfile.TemporaryDirectory(dir=CACHE) as name:
        folder = Path(name)
        small = folder / "small.txt"
        small.write_text("a line\n" * 1000)
        with open_executor(engine, workers=workers) as executor:  # type: ignore[arg-type]  # 2026-11-30: a choice
            # All workers are up and have imported the package.
            sentitok.count(
                [small] * 8 * workers, out=folder / "w", executor=executor, shard_bytes=small.stat().st_size
            )
            for kind in ("count", "encode"):
                out = folder / kind
                started = time.perf_counter()
                if kind == "count":
                    sentitok.count(text, out=out, executor=executor, shard_bytes=shard_bytes)
                else:
                    sentitok.encode_files(text, out, tokenizer, executor=executor, shard_bytes=shard_bytes)
                answer[kind] = time.perf_counter() - started
            answer["memory"] = peak_memory()
        answer |= {f"sha_{kind}": digest(folder / kind) for kind in ("count", "encode")}
    print(json.dumps(answer))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--mb", type=int, default=1000, help="size of the corpus")
    parser.add_argument("--engines", nargs="+", default=["ray", "dask"])
    parser.add_argument("--rounds", type=int, default=2, help="rounds, of which the best counts")
    parser.add_argument("--drive", nargs=5, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.drive:
        engine, workers, text, file, shard_bytes = given.drive
        drive(engine, int(workers), Path(text), Path(file), int(shard_bytes))
        return
    text = corpus(given.mb << 20)
    tokenizer_file = CACHE / "scale.json"
    if not tokenizer_file.exists():
        part = CACHE / "scale-part.txt"
        part.write_bytes(text.open("rb").read(16 << 20).rpartition(b"\n")[0])
        sentitok.train_bpe(part, vocab_size=32_000).save(tokenizer_file)
    # At least 16 parts, so that two workers end at about the same time.
    shard_bytes = min(64 << 20, (given.mb << 20) // 16)
    with tempfile.TemporaryDirectory(dir=CACHE) as name:
        tokenizer = sentitok.Tokenizer.from_file(tokenizer_file)
        sentitok.count(text, out=Path(name) / "count")
        sentitok.encode_files(text, Path(name) / "encode", tokenizer)
        expected = {kind: digest(Path(name) / kind) for kind in ("count", "encode")}
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "RAY_AUTH_MODE": "disabled",
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    print(f"{text.stat().st_size / 1e6:.0f} MB in parts of {shard_bytes / 1e6:.0f} MB; {given.rounds} rounds")
    for engine in given.engines:
        runs: dict[int, list[dict[str, float | str]]] = {1: [], 2: []}
        for _ in range(given.rounds):
            for workers, done in runs.items():
                call = [engine, str(workers), str(text), str(tokenizer_file), str(shard_bytes)]
                command = [sys.executable, __file__, "--drive", *call]
                run = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE)
                done.append(json.loads(run.stdout.splitlines()[-1]))
        memory = max(float(run["memory"]) for done in runs.values() for run in done)
        for kind in ("count", "encode"):
            one, two = (min(float(run[kind]) for run in runs[workers]) for workers in (1, 2))
            correct = all(run[f"sha_{kind}"] == expected[kind] for done in runs.values() for run in done)
            print(
                f"{engine:9} {kind:6}  1 worker {one:6.1f} s  2 workers {two:6.1f} s  ratio {one / two:4.2f}"
                f"  correct {correct}  driver {memory / 1e6:4.0f} MB"
            )


if __name__ == "__main__":
    main()
