"""Runs all measurements and writes docs/benchmarks.md: `make bench`.

Every measurement is a process of its own (`worker.py`), repeated in turns with
its rivals, so that a busy minute of the machine hits all of them; the table
gives medians. What a library got is compared before its time is shown, and rows
we lose stay in. `python benches/report.py train encode` runs only those
sections and prints them.
"""

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import corpora

ROUNDS = 3
TRAIN_RIVALS = ("sentitok", "tokenizers", "ffbpe", "gigatoken", "rustbpe", "bpeasy", "sentencepiece")
ENCODE_RIVALS = ("sentitok", "tokenizers", "tiktoken", "gigatoken")
ENCODE_BYTES = 8_000_000
HOSTILE_BYTES = 1_000_000

# Encoding name, rank file under `vocabs`, and special tokens it is used with.
VOCABULARIES = (
    ("gpt2", "gpt2/r50k_base.tiktoken", {"<|endoftext|>": 50256}),
    ("cl100k", "cl100k_base.tiktoken", {"<|endoftext|>": 100257}),
    ("o200k", "o200k_base.tiktoken", {"<|endoftext|>": 199999}),
)

Row = dict[str, Any]


def worker(job: Row, threads: int | None = None) -> Row:
    """Runs one job in its own process.

    Raises:
        RuntimeError: if the process failed; its words are the message.
    """
    environment = dict(os.environ)
    if threads is not None:
        environment["RAYON_NUM_THREADS"] = str(threads)
        environment["TOKENIZERS_PARALLELISM"] = "false" if threads == 1 else "true"
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("worker.py"))],
        input=json.dumps(job),
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "killed")
    result: Row = json.loads(done.stdout)
    return result


def installed(names: Iterable[str]) -> list[str]:
    return [name for name in names if find_spec(name)]


def in_turns(names: Sequence[str], run: Callable[[str], Row]) -> dict[str, list[Row] | str]:
    """Runs each library `ROUNDS` times, in turns; a failure is its row."""
    found: dict[str, list[Row] | str] = {name: [] for name in names}
    for _ in range(ROUNDS):
        for name in names:
            rows = found[name]
            if isinstance(rows, str):
                continue
            print(f"  {name}", file=sys.stderr)
            try:
                row = run(name)
                if "refused" in row:
                    raise RuntimeError(row["refused"])
                rows.append(row)
            except RuntimeError as error:
                found[name] = str(error)
    return found


def median(rows: list[Row], key: str) -> float:
    return statistics.median(float(row[key]) for row in rows)


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def megabytes(n_bytes: float) -> str:
    return f"{n_bytes / 1e6:.0f} MB"


@dataclass(frozen=True)
class Bench:
    """Where one run keeps its files."""

    folder: Path

    def train_table(self, corpus: corpora.Corpus, vocab_size: int) -> str:
        """Trains all libraries on one text."""

        def run(name: str) -> Row:
            job = {"task": "train", "rival": name, "path": str(corpus.path), "vocab_size": vocab_size}
            return worker({**job, "tokens": str(self.folder / f"{name}.json")})

        names = installed(TRAIN_RIVALS)
        found = in_turns(names, run)
        reference = (
            self._tokens("tokenizers") if not isinstance(found.get("tokenizers"), str | None) else None
        )
        ours = found["sentitok"]
        base = median(ours, "seconds") if not isinstance(ours, str) else None
        cells = []
        for name in names:
            rows = found[name]
            if isinstance(rows, str):
                cells.append([name, "-", "-", "-", rows])
                continue
            seconds = median(rows, "seconds")
            shared = "-"
            if reference is not None:
                shared = f"{len(reference & self._tokens(name)) / len(reference):.2%}"
            ratio = "-" if base is None else f"{seconds / base:.2f}"
            memory = megabytes(median(rows, "peak_memory_bytes"))
            cells.append([f"{name} {rows[0]['version']}", f"{seconds:.2f}", ratio, memory, shared])
        title = f"### {corpus.name}: {megabytes(corpus.n_bytes)}, {vocab_size:,} tokens\n\n"
        head = ["library", "seconds", "times ours", "peak memory", "tokens shared with tokenizers"]
        return title + markdown(head, cells)

    def _tokens(self, name: str) -> set[str]:
        return set(json.loads((self.folder / f"{name}.json").read_text("utf-8")))

    def train(self) -> str:
        """Section: training speed and memory."""
        parts = [self.train_table(corpora.english(), 32_000)]
        chinese = corpora.chinese()
        if chinese is not None:
            parts.append(self.train_table(chinese, 10_000))
        text = (
            "From the path of the file to the trained model. *Tokens shared*: the part of the tokens of "
            "tokenizers that the library found too; below 100 % it solved another problem (another split, "
            "another tie rule, an alphabet of its own).\n\n"
        )
        return "## Training\n\n" + text + "\n\n".join(parts)

    def growth(self) -> str:
        """Section: time and memory against the size of the text."""
        whole = corpora.mixed()
        cells = []
        for eighths in (1, 2, 4, 8):
            part = corpora.head(whole, whole.n_bytes * eighths // 8)
            job = {"task": "growth", "path": str(part.path), "vocab_size": 32_000}
            rows = [worker(job) for _ in range(ROUNDS)]
            stages = rows[0]["stages"]
            cells.append(
                [
                    megabytes(part.n_bytes),
                    f"{rows[0]['distinct_pieces']:,}",
                    f"{median(rows, 'seconds'):.2f}",
                    *(
                        f"{statistics.median(r['stages'][stage] for r in rows):.2f}"
                        for stage in sorted(stages)
                    ),
                    megabytes(median(rows, "peak_memory_bytes")),
                ]
            )
        head = ["text", "distinct pieces", "seconds", *sorted(stages), "peak memory"]
        text = "Mixed text (reviews, code, Chinese, many scripts), 32,000 tokens; each part has all.\n\n"
        return "## Growth\n\n" + text + markdown(head, cells)

    def vocabulary(self, name: str, ranks: Path, specials: dict[str, int]) -> Row:
        """Writes one vocabulary in the formats all libraries read."""
        import sentitok

        tokenizer = sentitok.Tokenizer.from_tiktoken(ranks, name, specials)
        target = self.folder / f"{name}.tokenizer.json"
        tokenizer.save(target)
        return {
            "source": str(ranks),
            "json": str(target),
            "ranks": str(ranks),
            "pattern": tokenizer.pre_tokenizer.pattern,
            "specials": specials,
            "threads": 1,
        }

    def encode(self) -> str:
        """Section: encoding speed."""
        data = corpora.data_dir()
        if data is None or not (data / "vocabs").is_dir():
            return "## Encoding\n\nNot measured: no folder `vocabs` in SENTITOK_DATA."
        parts = []
        for corpus in corpora.all_corpora():
            part = corpora.head(corpus, ENCODE_BYTES)
            documents = self.folder / "documents.json"
            documents.write_text(json.dumps(part.lines()), encoding="utf-8")
            cells = []
            for name, ranks, specials in VOCABULARIES:
                job = self.vocabulary(name, data / "vocabs" / ranks, specials)
                cells += self._encode_rows(name, {**job, "documents": str(documents)}, part.n_bytes)
            head = [
                "vocabulary, library",
                "ids",
                "cold MB/s",
                "times ours",
                "warm MB/s",
                "load s",
                "peak memory",
            ]
            parts.append(f"### {part.name}: {megabytes(part.n_bytes)}\n\n" + markdown(head, cells))
        text = (
            "One thread, lines as documents, each library's batch call. *Cold*: the first pass over the text "
            "in the process. *Warm*: the second. *Times ours*: cold time divided by ours.\n\n"
        )
        return "## Encoding\n\n" + text + "\n\n".join(parts)

    def _encode_rows(self, vocabulary: str, job: Row, n_bytes: int) -> list[list[str]]:
        import numpy as np

        def run(name: str) -> Row:
            ids = str(self.folder / f"ids-{name}.npz")
            return worker({**job, "task": "encode", "rival": name, "ids": ids}, threads=1)

        names = installed(ENCODE_RIVALS)
        found = in_turns(names, run)
        ours = found["sentitok"]
        cells = []
        for name in names:
            rows = found[name]
            if isinstance(rows, str):
                cells.append([f"{vocabulary}, {name}", "-", "-", "-", "-", "-", rows[:60]])
                continue
            mine, theirs = (np.load(self.folder / f"ids-{n}.npz") for n in ("sentitok", name))
            same = all(np.array_equal(mine[key], theirs[key]) for key in ("ids", "lengths"))
            cold = median(rows, "cold_s")
            ratio = "-" if isinstance(ours, str) else f"{cold / median(ours, 'cold_s'):.1f}"
            cells.append(
                [
                    f"{vocabulary}, {name}",
                    "equal" if same else "**differ**",
                    f"{n_bytes / 1e6 / cold:.1f}",
                    ratio,
                    f"{n_bytes / 1e6 / median(rows, 'warm_s'):.1f}",
                    f"{median(rows, 'load_s'):.3f}",
                    megabytes(median(rows, "peak_memory_bytes")),
                ]
            )
        return cells

    def hostile(self) -> str:
        """Section: texts that break quadratic algorithms."""
        import sentitok
        import worker as worker_module

        tokenizer = sentitok.train_bpe(corpora.BUNDLED / "pride-and-prejudice.txt", vocab_size=8000)
        job = {"task": "hostile", "json": str(self.folder / "hostile.json")}
        tokenizer.save(job["json"])
        cells = []
        for text in worker_module.hostile_texts(16):
            one = worker({**job, "text": text, "n": HOSTILE_BYTES})
            two = worker({**job, "text": text, "n": 2 * HOSTILE_BYTES})
            growth = [f"{two[key] / one[key]:.2f}" for key in ("encode_s", "train_s")]
            cells.append([text, f"{one['encode_s']:.3f}", growth[0], f"{one['train_s']:.3f}", growth[1]])
        head = ["text", "encode s", "t(2n)/t(n)", "train s", "t(2n)/t(n)"]
        text = f"n is {megabytes(HOSTILE_BYTES)} in one document; vocabularies of 8,000 and 1,000.\n\n"
        return "## Hostile texts\n\n" + text + markdown(head, cells)

    def start(self) -> str:
        """Section: how long it takes until work begins."""
        commands = [
            ("python -c pass", ["-c", "pass"]),
            ("import sentitok", ["-c", "import sentitok"]),
            ("sentitok --version", ["-m", "sentitok.cli", "--version"]),
            ("import tokenizers", ["-c", "import tokenizers"]),
            ("import tiktoken", ["-c", "import tiktoken"]),
        ]
        cells = []
        for name, arguments in commands:
            times = [self._seconds(arguments) for _ in range(5)]
            cells.append([f"`{name}`", f"{statistics.median(times) * 1e3:.0f}"])
        return "## Start\n\nWhole processes.\n\n" + markdown(["command", "ms"], cells)

    def _seconds(self, arguments: list[str]) -> float:
        import time

        started = time.perf_counter()
        subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=False)
        return time.perf_counter() - started


def machine() -> str:
    """What the figures were measured on."""
    names = ("sentitok", *dict.fromkeys(TRAIN_RIVALS[1:] + ENCODE_RIVALS[1:]))
    versions = []
    for name in names:
        try:
            versions.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            versions.append(f"{name} not installed")
    where = (
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}"
    )
    return f"{where}. {', '.join(versions)}. Medians of {ROUNDS} processes, run in turns."


SECTIONS = ("train", "growth", "encode", "hostile", "start")


def main(wanted: Sequence[str]) -> None:
    """Runs the sections; all of them become docs/benchmarks.md."""
    unknown = set(wanted) - set(SECTIONS)
    if unknown:
        sys.exit(f"no section {', '.join(sorted(unknown))}; there are {', '.join(SECTIONS)}")
    parts = []
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        for section in wanted or SECTIONS:
            print(section, file=sys.stderr)
            parts.append(getattr(bench, section)())
    body = "\n\n".join(parts)
    if wanted:
        print(body)
        return
    head = (
        "# Benchmarks\n\nWritten by `make bench` (`benches/report.py`), not by hand. "
        "Trust ratios, not seconds: they come from one run on one machine.\n\n"
    )
    path = corpora.ROOT / "docs" / "benchmarks.md"
    path.write_text(f"{head}{machine()}\n\n{body}\n", encoding="utf-8")
    print(path)


if __name__ == "__main__":
    main(sys.argv[1:])
