"""Section of the report: how fast each library encodes, and what it takes to be ready.

Documents are whole lines, 4,096 characters or more each. One process a measurement
(`passes.py`), each library by its fastest documented call (`libraries.py`),
alternately; ids are compared outside the timing, and a library whose ids differ has no
ratio. The tables show losses as well as wins.
"""

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import corpora
from corpora import Corpus
from libraries import LIBRARIES
from measure import ROUNDS, Row, markdown, median, megabytes

TEXT_BYTES = 16_000_000
# Texts of other sizes, to see what size does; with the libraries that are fast.
OTHER_BYTES = (4_000_000, 64_000_000)
# Tokenizers and libraries of a text longer than English goes.
LONG_NAMES = ("gpt2", "cl100k", "o200k")
LONG_LIBRARIES = ("sentitok", "gigatoken", "tokenizers 1.0rc", "fastokens", "tokie")
DOCUMENT_CHARACTERS = 4096
# A library this many times slower than ours in the first round runs no other.
FAR = 4
# Where libraries with a separate environment are installed (`make bench-all`).
APART = Path(sys.prefix) / "apart"

HEAD = ("library", "ids", "ready ms", "first pass MB/s", "ours / this", "repeat MB/s", "ours / this", "peak")

# Encoding name, rank file under `vocabs`, and special tokens it is used with.
RANKS = (
    ("gpt2", "gpt2/r50k_base.tiktoken", {"<|endoftext|>": 50256}),
    ("cl100k", "cl100k_base.tiktoken", {"<|endoftext|>": 100257}),
    ("o200k", "o200k_base.tiktoken", {"<|endoftext|>": 199999}),
)
MODELS = (
    ("t5", "t5/spiece.model"),
    ("xlnet", "xlnet-base-cased/spiece.model"),
    ("mistral", "mistral-7b-v0.1/tokenizer.model"),
)


@dataclass
class Table:
    """The measurements of one tokenizer on one text.

    Attributes:
        rows: the processes of each library, or why it has no result.
        equal: whether a library's ids are ours.
    """

    n_bytes: int
    rows: dict[str, list[Row] | str]
    equal: dict[str, bool] = field(default_factory=dict)

    def speed(self, library: str, key: str) -> float | None:
        """MB a second, or `None` if it did not run."""
        rows = self.rows[library]
        return None if isinstance(rows, str) else self.n_bytes / 1e6 / median(rows, key)

    def ratio(self, library: str, key: str) -> float | None:
        """How many times as fast as a library ours is; `None` if ids differ."""
        ours, theirs = self.speed("sentitok", key), self.speed(library, key)
        return ours / theirs if ours and theirs and self.equal.get(library) else None

    def best(self, key: str) -> tuple[str, float] | None:
        """The fastest rival with equal ids, and our speed over its."""
        ratios = [
            (name, ratio) for name in self.rows if name != "sentitok" and (ratio := self.ratio(name, key))
        ]
        return min(ratios, key=lambda pair: pair[1], default=None)

    def markdown(self) -> str:
        """A row for each library, the fastest first pass first."""
        cells = []
        for name in sorted(self.rows, key=lambda name: -(self.speed(name, "first_s") or 0)):
            rows = self.rows[name]
            if isinstance(rows, str):
                cells.append([name, rows[:60], *["-"] * 6])
                continue
            speeds = []
            for key in ("first_s", "repeat_s"):
                ratio = self.ratio(name, key)
                speeds += [f"{self.speed(name, key):.1f}", "-" if ratio is None else f"{ratio:.2f}"]
            cells.append(
                [
                    f"{name.split()[0]} {rows[0]['version']}",
                    "equal" if self.equal[name] else "**differ**",
                    f"{median(rows, 'ready_s') * 1e3:.0f}",
                    *speeds,
                    megabytes(median(rows, "peak_bytes")),
                ]
            )
        return markdown(HEAD, cells)


def python_of(name: str) -> Path | None:
    """The Python that has a library, or `None`."""
    library = LIBRARIES[name]
    if library.apart:
        path = APART / library.package / "bin" / "python"
        return path if path.exists() else None
    return Path(sys.executable) if find_spec(library.module) else None


def run(job: Row, name: str) -> Row:
    """Measures one library in its own process.

    Raises:
        RuntimeError: if it failed or refused; its words are the message.
    """
    environment = dict(os.environ)
    environment["RAYON_NUM_THREADS"] = str(job["threads"])
    environment["TOKENIZERS_PARALLELISM"] = "false" if job["threads"] == 1 else "true"
    if LIBRARIES[name].apart:
        environment.pop("PYTHONPATH", None)
    done = subprocess.run(
        [str(python_of(name)), str(Path(__file__).with_name("passes.py"))],
        input=json.dumps({**job, "library": name}),
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "killed")
    result: Row = json.loads(done.stdout)
    if "refused" in result:
        raise RuntimeError(result["refused"])
    return result


def is_far(rows: Sequence[Row], ours: Sequence[Row]) -> bool:
    """Whether a library is so much slower in both passes that one process is enough."""
    return all(rows[0][key] > FAR * ours[0][key] for key in ("first_s", "repeat_s"))


def table(folder: Path, job: Row, corpus: Corpus, names: Iterable[str]) -> Table:
    """Measures libraries alternately."""
    documents = folder / "documents.json"
    documents.write_text(json.dumps(corpus.documents(DOCUMENT_CHARACTERS)), encoding="utf-8")
    names = [name for name in names if python_of(name)]
    rows: dict[str, list[Row] | str] = {name: [] for name in names}
    for round_number in range(ROUNDS):
        for name in names:
            done, ours = rows[name], rows["sentitok"]
            if isinstance(done, str) or (round_number and not isinstance(ours, str) and is_far(done, ours)):
                continue
            print(f"  {name}", file=sys.stderr)
            ids = str(folder / f"ids-{name}.npz")
            try:
                done.append(run({**job, "documents": str(documents), "ids": ids}, name))
            except RuntimeError as error:
                rows[name] = str(error)
    result = Table(corpus.n_bytes, rows)
    for name in names:
        if not isinstance(rows[name], str) and not isinstance(rows["sentitok"], str):
            mine, theirs = (np.load(folder / f"ids-{n}.npz") for n in ("sentitok", name))
            result.equal[name] = all(np.array_equal(mine[key], theirs[key]) for key in ("ids", "lengths"))
    return result


def jobs(folder: Path, vocabs: Path) -> dict[str, Row]:
    """The published tokenizers, in the files that the libraries read; missing files are written."""
    import sentitok

    known: dict[str, Row] = {}

    def saved(name: str, tokenizer: sentitok.Tokenizer) -> str:
        target = folder / f"{name}.tokenizer.json"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what the file cannot hold does not matter here
            tokenizer.save(target)
        return str(target)

    for name, ranks, specials in RANKS:
        tokenizer = sentitok.Tokenizer.from_tiktoken(vocabs / ranks, name, specials)
        known[name] = {
            "name": name,
            "file": saved(name, tokenizer),
            "ranks": str(vocabs / ranks),
            "pattern": tokenizer.pre_tokenizer.pattern,
            "specials": specials,
        }
    bert = sentitok.Tokenizer.from_bert_vocab(vocabs / "bert-base-uncased" / "vocab.txt", lowercase=True)
    known["bert"] = {"name": "bert", "file": saved("bert", bert)}
    for name, path in MODELS:
        known[f"{name} .model"] = {"name": name, "file": str(vocabs / path)}
        known[f"{name} .json"] = {
            "name": name,
            "file": saved(name, sentitok.Tokenizer.from_file(vocabs / path)),
        }
    known["t5 hub .json"] = {"name": "t5", "file": as_on_the_hub(Path(known["t5 .json"]["file"]))}
    return {name: {**job, "threads": 1} for name, job in known.items()}


def as_on_the_hub(file: Path) -> str:
    """Writes a SentencePiece model's `tokenizer.json` as T5 and XLNet publish theirs; returns its path.

    There words are cut at blanks before the model, where a file saved by sentitok has no splitter,
    as a `.model` does not have one.
    """
    tree = json.loads(file.read_text("utf-8"))
    steps = tree["normalizer"].get("normalizers", [tree["normalizer"]])
    tree["normalizer"] = next(step for step in steps if step["type"] == "Precompiled")
    metaspace = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    tree["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, metaspace]}
    target = file.with_suffix(".hub.json")
    target.write_text(json.dumps(tree), "utf-8")
    return str(target)


def summary(tables: dict[tuple[str, str], Table]) -> str:
    """Our speed over that of the fastest rival, by tokenizer and text."""
    texts = list(dict.fromkeys(text for _, text in tables))
    rows = []
    for name in dict.fromkeys(name for name, _ in tables):
        row = [name]
        for text in texts:
            cells = []
            for key in ("first_s", "repeat_s"):
                best = tables[name, text].best(key)
                cells.append("-" if best is None else f"{best[1]:.2f} ({best[0]})")
            row.append(" / ".join(cells))
        rows.append(row)
    head = ["tokenizer", *(f"{text}: first / repeat" for text in texts)]
    return markdown(head, rows)


def section(folder: Path) -> str:
    """Measures all tokenizers on all texts, and English at several sizes."""
    data = corpora.data_dir()
    if data is None or not (data / "vocabs").is_dir():
        return "## Encoding\n\nNot measured: no folder `vocabs` in SENTITOK_DATA."
    known = jobs(folder, data / "vocabs")
    texts = [corpora.head(corpus, TEXT_BYTES) for corpus in corpora.all_corpora()]
    tables = {}
    for name, job in known.items():
        for text in texts:
            print(f"{name}, {text.name}", file=sys.stderr)
            tables[name, text.name] = table(folder, job, text, LIBRARIES)
    sizes = []
    for n_bytes in OTHER_BYTES:
        text = corpora.head(texts[0] if n_bytes < TEXT_BYTES else corpora.english(), n_bytes)
        measured = table(folder, known["gpt2"], text, ("sentitok", "gigatoken"))
        sizes.append(f"### gpt2, {text.name}, {megabytes(text.n_bytes)}\n\n{measured.markdown()}")
    parts = [
        f"### {name}, {text.name}, {megabytes(text.n_bytes)}\n\n{tables[name, text.name].markdown()}"
        for name in known
        for text in texts
    ]
    words = (
        "One thread, on a processor that nothing else uses: some libraries take all there are, "
        "whatever the setting. *Ready*: the time to load and to encode 12 bytes. *First pass*: text "
        "that the process has never seen. *Repeat*: the same text again. *Ours / this*: our speed "
        "divided by that of the library; below 1 it is faster; it is left out where ids differ. "
        "*hub .json*: the same model as on the hub, with words cut at blanks before the model. "
        f"Medians of {ROUNDS} alternating processes; a library more than {FAR} times slower than ours in its "
        "first process was run once.\n\nOur speed divided by that of the fastest rival with equal ids:\n\n"
    )
    return "## Encoding\n\n" + "\n\n".join([words + summary(tables), *sizes, *parts])


def long_section(folder: Path) -> str:
    """Measures libraries on a text of more distinct pieces than our table holds."""
    title = "## Encoding a long text\n\n"
    data = corpora.data_dir()
    if data is None or not (data / "vocabs").is_dir():
        return title + "Not measured: no folder `vocabs` in SENTITOK_DATA."
    known, text = jobs(folder, data / "vocabs"), corpora.mixed()
    tables = []
    for name in LONG_NAMES:
        print(f"{name}, {text.name}", file=sys.stderr)
        measured = table(folder, known[name], text, LONG_LIBRARIES).markdown()
        tables.append(f"### {name}, mixed, {megabytes(text.n_bytes)}\n\n{measured}")
    words = (
        "Measured as in the section Encoding. The text alternates reviews, code, Chinese, many scripts; "
        "the libraries shown read these tokenizers and are fast on English."
    )
    return title + "\n\n".join([words, *tables])
