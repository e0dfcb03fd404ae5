"""Runs all measurements and writes docs/lab/benchmarks.md: `make bench-all`.

How a figure is made: `measure.py`. `python benches/report.py train encode` runs
only those sections; each takes its place on the page when it is done. `--print`
shows them and leaves the page alone.
"""

import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import calls
import corpora
import decoding
import encoding
import front_page
import growing
import hostile_files
import measuring
import page
import serving
import subwords
from libraries import LIBRARIES
from measure import (
    ROUNDS,
    markdown,
    median,
    megabytes,
    train_table,
    worker,
)

TRAIN_RIVALS = ("sentitok", "tokenizers", "ffbpe", "gigatoken", "rustbpe", "bpeasy", "sentencepiece")
HOSTILE_BYTES = 1_000_000
# The load above which figures cannot be trusted.
BUSY = 0.5


@dataclass(frozen=True)
class Bench:
    """Where one run keeps its files."""

    folder: Path

    def train(self) -> str:
        """Section: training speed and memory."""
        texts = [(corpora.english(), 32_000), (corpora.chinese(), 10_000)]
        parts = [
            train_table(self.folder, corpus, "bpe", vocab_size, TRAIN_RIVALS, "tokenizers")
            for corpus, vocab_size in texts
            if corpus is not None
        ]
        text = (
            "From the path of the file to the trained model. *Tokens shared*: the part of the tokens of "
            "tokenizers that the library found too; below 100 % it solved another problem (another split, "
            "another tie rule, a different alphabet).\n\n"
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

    def encode(self) -> str:
        """Section: encoding speed and what it takes to be ready."""
        return encoding.section(self.folder)

    def encode_long(self) -> str:
        """Section: a long text, with the libraries that are fast."""
        return encoding.long_section(self.folder)

    def decode(self) -> str:
        """Section: how fast ids become text again."""
        return decoding.section(self.folder)

    def calls(self) -> str:
        """Section: what other calls cost compared with ids alone."""
        return calls.section(self.folder)

    def measuring(self) -> str:
        """Section: `eval` of a file compared with `encode` of it."""
        return measuring.section(self.folder)

    def serving(self) -> str:
        """Section: calls of transformers, accelerated and untouched."""
        return serving.section(self.folder)

    def growing(self) -> str:
        """Section: a chat that grows, encoded again and continued."""
        return growing.section(self.folder)

    def subwords(self) -> str:
        """Section: training of WordPiece and Unigram."""
        return subwords.section(self.folder)

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
            row = [text]
            for name in ("encode", "train"):
                growth = [f"{two[key] / one[key]:.2f}" for key in (f"{name}_s", f"{name}_cpu_s")]
                row += [f"{one[f'{name}_s']:.3f}", *growth]
            cells.append(row)
        head = ["text", "encode s", "t(2n)/t(n)", "by CPU", "train s", "t(2n)/t(n)", "by CPU"]
        text = f"n is {megabytes(HOSTILE_BYTES)} in one document; vocabularies of 8,000 and 1,000.\n\n"
        return "## Hostile texts\n\n" + text + markdown(head, cells)

    def unbroken(self) -> str:
        """Section: training on texts without blanks."""
        import worker as worker_module

        cells = []
        for text in worker_module.unbroken_texts(1000):
            job = {"task": "unbroken", "text": text, "vocab_size": 8000}
            runs = [worker({**job, "n": times * HOSTILE_BYTES}) for times in (1, 2, 4)]
            for trainer in runs[0]:
                one, two, four = (run[trainer] for run in runs)
                cells.append([text, trainer, f"{one:.2f}", f"{two / one:.2f}", f"{four / two:.2f}"])
        head = ["text", "trainer", "CPU seconds", "t(2n)/t(n)", "t(4n)/t(2n)"]
        text = f"n is {megabytes(HOSTILE_BYTES)} in one document; vocabularies of 8,000, one thread.\n\n"
        return "## Training without blanks\n\n" + text + markdown(head, cells)

    def hostile_models(self) -> str:
        """Section: hostile texts under models of each kind."""
        data = corpora.data_dir()
        if data is None or not (data / "vocabs").is_dir():
            return "## Hostile texts by model\n\nNot measured: no folder `vocabs` in SENTITOK_DATA."
        vocabs = data / "vocabs"
        mistral = vocabs / "mistral-7b-v0.1" / "tokenizer.model"
        t5, xlnet = vocabs / "t5" / "spiece.model", vocabs / "xlnet-base-cased" / "spiece.model"
        models = {
            "gpt2": (vocabs / "gpt2" / "r50k_base.tiktoken", "gpt2"),
            "cl100k": (vocabs / "cl100k_base.tiktoken", "cl100k"),
            "o200k": (vocabs / "o200k_base.tiktoken", "o200k"),
            "Mistral": (mistral, ""),
            "Mistral as .json": (self._as_json(mistral, "mistral"), ""),
            "T5": (t5, ""),
            "T5 as .json": (self._as_json(t5, "t5"), ""),
            "XLNet": (xlnet, ""),
            "XLNet as .json": (self._as_json(xlnet, "xlnet"), ""),
            "BERT": (vocabs / "bert-base-uncased" / "tokenizer.json", ""),
            **{name: (path, "") for name, path in self._own_models().items()},
        }
        by_model = {
            name: worker(
                {"task": "hostile_speed", "path": str(path), "pattern": pattern, "n": HOSTILE_BYTES},
                threads=1,
            )
            for name, (path, pattern) in models.items()
        }
        tables = []
        for action, what in {"ids": "Ids alone.", "spans": "Ids and the bytes of each token."}.items():
            speeds = {name: of_model[action] for name, of_model in by_model.items()}
            texts = next(iter(speeds.values()))
            cells = [[text, *(f"{by[text] / 1e6:.1f}" for by in speeds.values())] for text in texts]
            tables.append(f"{what}\n\n" + markdown(["text", *by_model], cells))
        text = (
            f"MB/s of processor time of a first pass, {megabytes(HOSTILE_BYTES)} in one document, "
            "one thread.\n\n"
        )
        return "## Hostile texts by model\n\n" + text + "\n\n".join(tables)

    def _as_json(self, model: Path, name: str) -> Path:
        """A model saved as a `tokenizer.json`."""
        import sentitok

        path = self.folder / f"{name}.json"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what the file cannot hold does not matter here
            sentitok.Tokenizer.from_file(model).save(path)
        return path

    def _own_models(self) -> dict[str, Path]:
        """Models trained here: with Unicode's forms, with bytes of fallback, with a custom pattern."""
        import sentitok

        book = corpora.BUNDLED / "pride-and-prejudice.txt"
        pattern = sentitok.PreTokenizer(pattern=r"\w+|\s+|[^\w\s]+")
        trained = {
            "own Unigram": sentitok.train_unigram(
                book, vocab_size=4000, byte_fallback=True, normalizer="nfkc+sentencepiece-collapse"
            ),
            "BPE behind nfkc": sentitok.train_bpe(book, vocab_size=8000, normalizer="nfkc"),
            "BPE with own pattern": sentitok.train_bpe(book, vocab_size=8000, pre_tokenizer=pattern),
        }
        paths = {name: self.folder / f"{name}.json" for name in trained}
        for name, tokenizer in trained.items():
            tokenizer.save(paths[name])
        return paths

    def hostile_files(self) -> str:
        """Section: files that break quadratic algorithms."""
        steps = ("use", "load", "encode", "count", "decode", "doctor", "prune", "save")
        cells = []
        for name, make in hostile_files.files().items():
            job = hostile_files.write(self.folder, name, make())
            outcome = worker({"task": "hostile_file", **job})
            size = f"{Path(job['path']).stat().st_size / 1e3:.0f}"
            seconds = (f"{outcome[step]:.3f}" if step in outcome else "-" for step in steps)
            cells.append([name, size, *seconds, megabytes(outcome["memory"]), outcome["refused"]])
        head = ["file", "KB", *(f"{step} s" for step in steps), "memory", "refused"]
        text = (
            "Processor time, in a separate process; the text has "
            f"{megabytes(hostile_files.TEXT_BYTES)}. To use a file is to load it, to encode with spans, to "
            "count and to decode; the memory is that of these.\n\n"
        )
        return "## Hostile files\n\n" + text + markdown(head, cells)

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
        started = time.perf_counter()
        subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=False)
        return time.perf_counter() - started


def machine() -> str:
    """What the figures were measured on."""
    names = dict.fromkeys([*TRAIN_RIVALS, *(library.package for library in LIBRARIES.values())])
    versions = []
    for name in (name for name in names if "==" not in name):
        try:
            versions.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            versions.append(f"{name} not installed")
    where = (
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}"
    )
    return f"{where}. {', '.join(versions)}. Medians of {ROUNDS} alternating processes."


def load() -> float | None:
    """How many processes wanted a CPU in the last minute; `None` where unknown."""
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):
        return None


def settle() -> float | None:
    """Waits up to five minutes for what ran before, a build mostly; returns the load."""
    for _ in range(60):
        current = load()
        if current is None or current <= BUSY:
            break
        time.sleep(5)
    return load()


def quietness(before: float | None) -> str:
    """Says whether other work disturbed the figures, as the reader cannot know."""
    if before is None:
        return "The load of the machine before the run is unknown."
    words = f"Load before the run: {before:.1f} on {os.cpu_count()} CPUs."
    if before > BUSY:
        words += (
            " **The machine was busy: neither seconds nor ratios can be trusted**, as libraries suffer "
            "unequally from neighbours. Run it again on a quiet machine."
        )
    return words


SECTIONS = (
    "train",
    "growth",
    "encode",
    "encode_long",
    "decode",
    "calls",
    "measuring",
    "serving",
    "growing",
    "subwords",
    "hostile",
    "unbroken",
    "hostile_models",
    "hostile_files",
    "start",
)


def main(wanted: Sequence[str]) -> None:
    """Runs the sections named, or all; `--print` shows them instead of writing them to the page."""
    to_page = "--print" not in wanted
    wanted = [name for name in wanted if name != "--print"]
    unknown = set(wanted) - set(SECTIONS)
    if unknown:
        sys.exit(f"no section {', '.join(sorted(unknown))}; there are {', '.join(SECTIONS)}")
    path = corpora.ROOT / "docs" / "lab" / "benchmarks.md"
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        for section in wanted or SECTIONS:
            print(section, file=sys.stderr)
            before = settle()
            text = getattr(bench, section)()
            text = page.stamped(text, f"{machine()} {quietness(before)}", corpora.ROOT)
            if to_page:
                path.write_text(page.updated(path.read_text(encoding="utf-8"), text), encoding="utf-8")
            else:
                print(f"\n{text}")
    if to_page:
        front_page.write()
        print(path)


if __name__ == "__main__":
    main(sys.argv[1:])
