"""Compares the extension built from this checkout with one built from an earlier commit.

    python benches/against.py c7f9344e
    python benches/against.py old/_sentitok.abi3.so --new new/_sentitok.abi3.so --rows "t5*/encode*"

Two processes, one for each build, live at the same time and take turns, so that a busy second hits both. A
row is the least processor time of its turns. A row below the bound is measured again by new pairs of
processes, as times also depend on where a process puts its tables. Results of both builds are compared in
the same run. Status 1 says that a row stayed below the bound, or that results differ.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from fnmatch import fnmatch
from io import BytesIO
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import corpora
import encoding
from calls import loaded
from passes import bind_to_one_processor

FOLDER = corpora.ROOT / ".benchmarks" / "against"
EXTENSION = "_sentitok.abi3.so"
TOKENIZERS = ("gpt2", "o200k", "bert", "t5 .model", "t5 hub .json", "mistral .model", "mistral .json")
# Texts by their names in rows.
TEXTS = {"english": corpora.english, "chinese": corpora.chinese, "scripts": corpora.scripts}
PAGE_CHARACTERS, N_PAGES = 1000, 300
TRAINED_TOKENS = 4000
TRAINERS = ("bpe", "wordpiece", "unigram")

Call = Callable[[], Any]
Rows = dict[str, Callable[[], Call]]


# Builds.


def package(built: Path, python: Path, name: str) -> Path:
    """Puts an extension into a copy of the Python package; returns the folder to import from."""
    folder = FOLDER / name
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(
        python / "sentitok", folder / "sentitok", ignore=shutil.ignore_patterns("*.so", "__pycache__")
    )
    shutil.copy(built, folder / "sentitok" / EXTENSION)
    return folder


def build(source: Path, target: Path) -> Path:
    """Builds the extension as it is released; returns its path."""
    command = ["cargo", "build", "--release", "--locked", "--lib", "--features", "python"]
    environment = {**os.environ, "CARGO_TARGET_DIR": str(target), "PYO3_PYTHON": sys.executable}
    subprocess.run(command, cwd=source, env=environment, check=True)
    names = ("libsentitok.so", "libsentitok.dylib", "sentitok.dll")
    return next(path for name in names if (path := target / "release" / name).exists())


def earlier(revision: str) -> Path:
    """Builds a commit, unless its build is there already; returns the folder to import from."""
    git = ["git", "-C", str(corpora.ROOT)]
    done = subprocess.run(
        [*git, "rev-parse", "--verify", f"{revision}^{{commit}}"], capture_output=True, text=True, check=True
    )
    commit = done.stdout.strip()[:12]
    if (FOLDER / commit / "sentitok" / EXTENSION).exists():
        return FOLDER / commit
    source = FOLDER / "source"
    shutil.rmtree(source, ignore_errors=True)
    archive = subprocess.run([*git, "archive", commit], capture_output=True, check=True).stdout
    with tarfile.open(fileobj=BytesIO(archive)) as files:
        files.extractall(source, filter="data")
    built = package(build(source, FOLDER / "target"), source / "python", commit)
    shutil.rmtree(source)
    return built


# The rows, which run in the process of one build.


def tokenizer_rows(name: str, job: dict[str, Any], text: str, documents: list[str]) -> Rows:
    """The calls of one tokenizer on one text, by name; each is made when it is first asked for."""
    pages = [
        "".join(documents)[start : start + PAGE_CHARACTERS] for start in range(0, 300_000, PAGE_CHARACTERS)
    ]
    pages = [page for page in pages if page][:N_PAGES]

    def warm() -> Any:
        tokenizer = loaded(job)
        tokenizer.encode_batch(documents, threads=1)
        return tokenizer

    def first() -> Call:
        tokenizer = loaded(job)
        tokenizer.encode("twelve bytes")
        return lambda: tokenizer.encode_batch(documents, threads=1)

    def repeat() -> Call:
        tokenizer = warm()
        return lambda: tokenizer.encode_batch(documents, threads=1)

    def offsets() -> Call:
        tokenizer = warm()
        tokenizer.encode_batch(documents[:1], threads=1, offsets=True)
        return lambda: tokenizer.encode_batch(documents, threads=1, offsets=True).offsets("bytes")

    def count() -> Call:
        tokenizer = warm()
        return lambda: tokenizer.count_batch(documents, threads=1)

    def decode() -> Call:
        tokenizer = warm()
        rows = list(tokenizer.encode_batch(documents, threads=1, add_special_tokens=False))
        return lambda: tokenizer.decode_batch(rows)

    def page() -> Call:
        tokenizer = warm()
        return lambda: [tokenizer.encode(page).ids for page in pages]

    def page_offsets() -> Call:
        tokenizer = warm()
        return lambda: [tokenizer.encode(page).offsets("bytes") for page in pages]

    made = {
        "encode first": first,
        "encode repeat": repeat,
        "offsets": offsets,
        "count": count,
        "decode": decode,
        "serve pages": page,
        "serve offsets": page_offsets,
    }
    return {f"{name}/{text}/{call}": make for call, make in made.items()}


def training_rows(text: str, documents: list[str]) -> Rows:
    """A row for each trainer."""

    def row(model: str) -> Callable[[], Call]:
        def make() -> Call:
            import sentitok

            train: Callable[..., Any] = getattr(sentitok, f"train_{model}")
            return lambda: train(texts=documents, vocab_size=TRAINED_TOKENS, threads=1).vocab()

        return make

    return {f"{model}/{text}/train": row(model) for model in TRAINERS}


def all_rows(folder: Path, n_bytes: int) -> Rows:
    """All rows, by name: tokenizer, text, call."""
    jobs = json.loads((folder / "jobs.json").read_text("utf-8"))
    rows: Rows = {}
    for text, corpus in TEXTS.items():
        found = corpus()
        if found is None:
            continue
        documents = corpora.head(found, n_bytes).documents(encoding.DOCUMENT_CHARACTERS)
        for name, job in jobs.items():
            rows |= tokenizer_rows(name, job, text, documents)
        rows |= training_rows(text, documents[: max(1, len(documents) // 4)])
    return rows


def digest(result: Any) -> str:
    """Says in short what a call returned."""
    import numpy as np

    def parts(value: Any) -> Iterable[bytes]:
        if isinstance(value, dict):
            yield json.dumps(sorted(value.items())).encode()
        elif isinstance(value, str):
            yield value.encode()
        elif hasattr(value, "ids") and hasattr(value, "row_offsets"):
            yield np.asarray(value.ids).tobytes()
            yield np.asarray(value.row_offsets).tobytes()
        elif isinstance(value, list) and not all(isinstance(item, int) for item in value):
            for item in value:
                yield from parts(item)
        else:
            yield np.ascontiguousarray(value).tobytes()

    sums = hashlib.sha256()
    for part in parts(result):
        sums.update(len(part).to_bytes(8, "little"))
        sums.update(part)
    return sums.hexdigest()


def serve(folder: Path, n_bytes: int) -> None:
    """Reads the name of a row from each line of stdin, runs it once and answers with a line of JSON."""
    bind_to_one_processor()
    rows = all_rows(folder, n_bytes)
    print(json.dumps(list(rows)), flush=True)
    name, call = "", None
    for line in sys.stdin:
        asked = line.strip()
        if asked != name or call is None or asked.endswith("first"):
            name, call = asked, rows[asked]()
            if not asked.endswith("first"):
                call()
        started = time.process_time()
        result = call()
        seconds = time.process_time() - started
        print(json.dumps({"seconds": seconds, "digest": digest(result)}), flush=True)


def prepare(folder: Path) -> None:
    """Writes the files of the tokenizers."""
    data = corpora.data_dir()
    if data is None or not (data / "vocabs").is_dir():
        sys.exit("no folder `vocabs` in SENTITOK_DATA, which holds the tokenizers to measure")
    known = encoding.jobs(folder, data / "vocabs")
    (folder / "jobs.json").write_text(json.dumps({name: known[name] for name in TOKENIZERS}), "utf-8")


# The comparison.


class Side:
    """A process that runs rows with one of the builds."""

    def __init__(self, package: Path, folder: Path, n_bytes: int) -> None:
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--serve", str(folder), "--bytes", str(n_bytes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(package)},
        )
        self.rows: list[str] = self._answer()

    def _answer(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"a process ended with status {self.process.wait()}; see its message above")
        return json.loads(line)

    def run(self, row: str) -> dict[str, Any]:
        assert self.process.stdin is not None
        self.process.stdin.write(row + "\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = self._answer()
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


@dataclass
class Result:
    """The least seconds of a row in both builds, and whether results were always equal."""

    old: float = float("inf")
    new: float = float("inf")
    equal: bool = True
    turns: int = field(default=0, compare=False)

    @property
    def ratio(self) -> float:
        """How many times as fast the new build is."""
        return self.old / self.new

    def line(self, row: str, bound: float) -> str:
        mark = "" if self.equal else "  RESULTS DIFFER"
        mark += "" if self.ratio >= bound else f"  below {bound}"
        return f"{row:<40} {self.old * 1e3:9.2f} {self.new * 1e3:9.2f} ms {self.ratio:6.3f}{mark}"


def measure(packages: tuple[Path, Path], folder: Path, options: argparse.Namespace) -> dict[str, Result]:
    """Measures rows by pairs of processes until none is below the bound, or pairs are used up."""
    results: dict[str, Result] = {}
    for pair in range(options.pairs):
        with ExitStack() as stack:
            old, new = (stack.enter_context(Side(path, folder, options.bytes)) for path in packages)
            rows = [row for row in new.rows if any(fnmatch(row, glob) for glob in options.rows)]
            for row in rows:
                result = results.setdefault(row, Result())
                if pair > 0 and result.ratio >= options.bound:
                    continue
                for turn in range(options.turns):
                    first, second = (old, new) if turn % 2 == 0 else (new, old)
                    answers = {side: side.run(row) for side in (first, second)}
                    result.old = min(result.old, answers[old]["seconds"])
                    result.new = min(result.new, answers[new]["seconds"])
                    result.equal &= answers[old]["digest"] == answers[new]["digest"]
                print(result.line(row, options.bound), flush=True)
        if all(result.ratio >= options.bound for result in results.values()):
            break
    return results


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("old", nargs="?", help="a commit, or the path of an extension that is built")
    parser.add_argument("--new", help="the path of the other extension; without it this checkout is built")
    parser.add_argument(
        "--rows", action="append", help="patterns of rows, as `gpt2/*/encode*`; may be repeated"
    )
    parser.add_argument("--bytes", type=int, default=4_000_000, help="bytes of each text (%(default)s)")
    parser.add_argument("--turns", type=int, default=8, help="turns of a row and a pair (%(default)s)")
    parser.add_argument(
        "--pairs", type=int, default=3, help="at most so many pairs of processes (%(default)s)"
    )
    parser.add_argument("--bound", type=float, default=0.97, help="the least ratio of a row (%(default)s)")
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--prepare", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, options.bytes)
        return 0
    if options.prepare:
        prepare(options.prepare)
        return 0
    if options.old is None:
        parser.error("name a commit, or the path of an extension")
    options.rows = options.rows or ["*"]
    FOLDER.mkdir(parents=True, exist_ok=True)
    python = corpora.ROOT / "python"
    is_file = options.old.endswith(".so")
    old = package(Path(options.old), python, "old") if is_file else earlier(options.old)
    target = Path(os.environ.get("CARGO_TARGET_DIR", corpora.ROOT / "target"))
    new = package(Path(options.new) if options.new else build(corpora.ROOT, target), python, "new")
    subprocess.run(
        [sys.executable, __file__, "--prepare", str(FOLDER)],
        env={**os.environ, "PYTHONPATH": str(new)},
        check=True,
    )
    print(f"{'row':<40} {'old':>9} {'new':>9}     old/new")
    results = measure((old, new), FOLDER, options)
    wrong = {
        row: result for row, result in results.items() if not result.equal or result.ratio < options.bound
    }
    print(
        f"\n{len(results)} rows, {len(wrong)} below {options.bound} or with other results", *wrong, sep="\n"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
