"""Section of the report: what it takes to measure a tokenizer on a file, compared with encoding that file.

`sentitok.evaluate` and `encode_files` read the same lines; the second writes token shards. Each call has
a tokenizer that has seen no text; calls take turns, so that a busy second hits all of them. Medians of
medians. `python benches/measuring.py < job.json` is one process.
"""

import json
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import corpora
import encoding
from calls import TOKENIZERS, loaded
from measure import ROUNDS, Row, markdown, median, megabytes

# Of each call in a process.
TURNS = 3
TEXT_BYTES = 16_000_000


def timed(job: Row) -> Row:
    """Returns the median seconds of each call, by its name and number of threads."""
    from sentitok import encode_files
    from sentitok.documents import Documents
    from sentitok.evaluate import evaluate

    shards = Path(job["folder"]) / "shards"

    def encode(tokenizer: Any, threads: int) -> object:
        return encode_files([job["corpus"]], shards, tokenizer, threads=threads, invalid_utf8="replace")

    def measure(tokenizer: Any, threads: int) -> object:
        return evaluate(tokenizer, Documents([job["corpus"]]), threads=threads)

    calls: dict[str, Callable[[Any, int], object]] = {"encode": encode, "eval": measure}
    times: dict[str, list[float]] = {}
    for _ in range(TURNS):
        for name, call in calls.items():
            for threads in (1, 2):
                tokenizer = loaded(job)
                tokenizer.encode("twelve bytes")
                shutil.rmtree(shards, ignore_errors=True)
                started = time.perf_counter()
                call(tokenizer, threads)
                times.setdefault(f"{name}, {threads}", []).append(time.perf_counter() - started)
    return {name: statistics.median(seconds) for name, seconds in times.items()}


def run(job: Row) -> Row:
    """Runs one process.

    Raises:
        RuntimeError: if it failed; its words are the message.
    """
    done = subprocess.run(
        [sys.executable, __file__], input=json.dumps(job), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "killed")
    result: Row = json.loads(done.stdout)
    return result


def section(folder: Path) -> str:
    """Measures all of it."""
    title = "## Measuring a tokenizer on a file"
    data = corpora.data_dir()
    if data is None or not (data / "vocabs").is_dir():
        return f"{title}\n\nNot measured: no folder `vocabs` in SENTITOK_DATA."
    known = encoding.jobs(folder, data / "vocabs")
    texts = [corpora.head(corpus, TEXT_BYTES) for corpus in corpora.all_corpora()]
    cells = []
    for name in TOKENIZERS:
        for text in texts:
            print(f"  {name}: {text.name}", file=sys.stderr)
            job = {**known[name], "corpus": str(text.path), "folder": str(folder)}
            passes = [run(job) for _ in range(ROUNDS)]
            speeds = [
                f"{text.n_bytes / 1e6 / median(passes, f'{what}, 1'):.0f}" for what in ("encode", "eval")
            ]
            ratios = [f"{median(passes, f'eval, {n}') / median(passes, f'encode, {n}'):.2f}" for n in (1, 2)]
            cells.append([name, text.name, *speeds, *ratios])
    return "\n\n".join(
        [
            title,
            f"`sentitok.evaluate` compared with `encode_files`, which writes token shards of the same lines: "
            f"{megabytes(TEXT_BYTES)} or what there is, by tokenizers that have seen no text. MB/s on one "
            "thread, then the time of measuring by that of encoding; medians of "
            f"{TURNS} in each of {ROUNDS} processes.",
            markdown(["tokenizer", "text", "encode", "eval", "one thread", "two threads"], cells),
        ]
    )


if __name__ == "__main__":
    print(json.dumps(timed(json.load(sys.stdin))))
