"""Section of the report: what offsets, padding, counting, threads and short texts cost more than ids.

Repeated passes of sentitok alone: `encoding.py` has the rivals. Each process measures its calls
alternately, so that a busy second hits all of them; medians of medians. `python benches/calls.py < job.json`
is one such process.
"""

import json
import os
import random
import statistics
import string
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import corpora
import encoding
from measure import ROUNDS, Row, markdown, median, megabytes

# Of each call in a process.
TURNS = 7
TEXT_BYTES = 4_000_000
# Characters of each text of a matrix, and of texts that are encoded one by one.
ALIKE = 1000
N_PAGES = 300
THREADS_BYTES = 16_000_000
TOKENIZERS = ("gpt2", "cl100k", "o200k", "bert", "t5 .model", "mistral .model")
SHORT = (50, 1000)
N_SHORT = 2000
N_ADDED = 100_000


def in_turns(calls: Mapping[str, Callable[[], object]]) -> Row:
    """Returns the median seconds of each call, after one of each that is not counted."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(TURNS + 1):
        for name, call in calls.items():
            started = time.perf_counter()
            result = call()
            if turn:
                times[name].append(time.perf_counter() - started)
            del result
    return {name: statistics.median(seconds) for name, seconds in times.items()}


def loaded(job: Row) -> Any:
    from sentitok import Tokenizer

    if "ranks" in job:
        return Tokenizer.from_tiktoken(job["ranks"], job["name"], job["specials"])
    return Tokenizer.from_file(job["file"])


def beside_ids(job: Row, texts: list[str]) -> Row:
    """Times what a batch can give more than ids, or less."""
    from sentitok.evaluate import evaluate

    tokenizer = loaded(job)
    whole = "".join(texts)
    # A matrix is as wide as its longest row: these texts are alike.
    alike = [whole[start : start + ALIKE] for start in range(0, len(whole), ALIKE)]
    pages = alike[:N_PAGES]

    def encode(given: list[str] = texts, offsets: bool = False) -> Any:
        return tokenizer.encode_batch(given, threads=1, add_special_tokens=False, offsets=offsets)

    return in_turns(
        {
            "ids": encode,
            "bytes": lambda: encode(offsets=True).offsets("bytes"),
            "chars": lambda: encode(offsets=True).offsets("chars"),
            "ids alike": lambda: encode(alike),
            "pad": lambda: encode(alike).pad(pad_id=0),
            "count": lambda: tokenizer.count_batch(texts, threads=1, add_special_tokens=False),
            "eval": lambda: evaluate(tokenizer, texts, threads=1),
            "ids single": lambda: [tokenizer.encode(page).ids for page in pages],
            "bytes single": lambda: [tokenizer.encode(page).offsets("bytes") for page in pages],
            "one long": lambda: tokenizer.encode(whole).ids,
            "batch of one": lambda: tokenizer.encode_batch([whole]).ids,
        }
    )


def threads(job: Row, texts: list[str]) -> Row:
    """Times one and two threads, over documents and over one document."""
    tokenizer = loaded(job)
    calls = {
        f"{name}, {n}": partial(tokenizer.encode_batch, given, threads=n)
        for name, given in (("documents", texts), ("one", ["".join(texts)]))
        for n in (1, 2)
    }
    return in_turns(calls)


def short(job: Row, texts: list[str]) -> Row:
    """Times one call on a short text that was seen before, the loop around it included."""
    tokenizer = loaded(job)
    text = "".join(texts)
    times: Row = {}
    for size in SHORT:
        starts = range(0, min(size * N_SHORT, len(text) - size), size)
        given = [text[start : start + size] for start in starts]
        for name, call in {"encode": tokenizer.encode, "count": tokenizer.count}.items():

            def loop(call: Callable[[str], object] = call, given: list[str] = given) -> None:
                for one in given:
                    call(one)

            times[f"{name}, {size}"] = in_turns({"loop": loop})["loop"] / len(given)
    return times


def added(job: Row, texts: list[str]) -> Row:
    """Times loading a file of many added tokens, and encoding with it over encoding without."""
    from sentitok import AddedToken, Tokenizer

    rng = random.Random(1)
    kinds = {
        "`<extra_1>` and so on": [f"<extra_{n}>" for n in range(N_ADDED)],
        "random words of 12 letters": [
            "".join(rng.choices(string.ascii_lowercase, k=12)) for _ in range(N_ADDED)
        ],
        "random words of 8 letters": [
            "".join(rng.choices(string.ascii_lowercase, k=8)) for _ in range(N_ADDED)
        ],
    }
    plain = loaded(job)
    costs: Row = {}
    for kind, words in kinds.items():
        words = list(dict.fromkeys(words))
        path = Path(job["folder"]) / "added.json"
        plain.with_specials([AddedToken(word, special=False) for word in words]).save(path)
        started = time.perf_counter()
        tokenizer = Tokenizer.from_file(path)
        tokenizer.encode("twelve bytes")
        seconds = time.perf_counter() - started
        times = in_turns(
            {
                "with": partial(tokenizer.encode_batch, texts, threads=1),
                "without": partial(plain.encode_batch, texts, threads=1),
            }
        )
        costs[kind] = {"load_s": seconds, "cost": times["with"] / times["without"]}
    return costs


def counting(job: Row, texts: list[str]) -> Row:
    """Times the counting of pieces from Python, on two threads."""
    import sentitok

    del texts
    return in_turns({"count": lambda: sentitok.count(job["corpus"], pre_tokenizer="gpt2", threads=2)})


TASKS: dict[str, Callable[[Row, list[str]], Row]] = {
    task.__name__: task for task in (beside_ids, threads, short, added, counting)
}


def run(job: Row, task: str) -> Row:
    """Runs one task in a separate process.

    Raises:
        RuntimeError: if it failed; its words are the message.
    """
    done = subprocess.run(
        [sys.executable, __file__],
        input=json.dumps({**job, "task": task}),
        capture_output=True,
        text=True,
        env={**os.environ, "RAYON_NUM_THREADS": "2"},
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "killed")
    result: Row = json.loads(done.stdout)
    return result


def rows(job: Row, task: str) -> list[Row]:
    print(f"  {job['name']}: {task}", file=sys.stderr)
    return [run(job, task) for _ in range(ROUNDS)]


def section(folder: Path) -> str:
    """Measures all of it."""
    data = corpora.data_dir()
    if data is None or not (data / "vocabs").is_dir():
        return "## Other calls\n\nNot measured: no folder `vocabs` in SENTITOK_DATA."
    known = encoding.jobs(folder, data / "vocabs")

    def with_text(name: str, corpus: corpora.Corpus) -> Row:
        path = folder / f"calls-{corpus.path.name}.json"
        path.write_text(json.dumps(corpus.documents(encoding.DOCUMENT_CHARACTERS)), encoding="utf-8")
        return {**known[name], "documents": str(path), "folder": str(folder)}

    texts = [corpora.head(corpus, TEXT_BYTES) for corpus in corpora.all_corpora()]
    english = corpora.head(corpora.english(), THREADS_BYTES)
    over_ids, in_threads, of_short = [], [], []
    for name in TOKENIZERS:
        for text in texts:
            passes = rows(with_text(name, text), "beside_ids")
            ids = median(passes, "ids")
            base = {"bytes": "ids", "chars": "ids", "pad": "ids alike", "count": "ids", "eval": "ids"}
            base |= {"bytes single": "ids single", "one long": "batch of one"}
            cells = [f"{median(passes, key) / median(passes, below):.2f}" for key, below in base.items()]
            over_ids.append([name, text.name, f"{text.n_bytes / 1e6 / ids:.0f}", *cells])
        passes = rows(with_text(name, english), "threads")
        gains = [median(passes, f"{what}, 1") / median(passes, f"{what}, 2") for what in ("documents", "one")]
        in_threads.append([name, *(f"{gain:.2f}" for gain in gains)])
        passes = rows(with_text(name, texts[0]), "short")
        of_short.append([name, *(f"{median(passes, key) * 1e6:.1f}" for key in passes[0])])
    return "\n\n".join(
        [
            "## Other calls",
            f"Repeated passes, medians of {TURNS} in each of {ROUNDS} processes.",
            f"### Compared with ids, one thread, {megabytes(TEXT_BYTES)} or what there is\n\n"
            f"Ids in MB/s, then the time of a call by that of ids alone; `pad` with texts of {ALIKE:,} "
            "characters, `eval` with all its measures; *single*: offsets of each of these; *one long*: "
            "`encode` of the whole text by `encode_batch` of it alone."
            "\n\n"
            + markdown(
                [
                    *("tokenizer", "text", "ids", "offsets, bytes", "offsets, chars", "pad", "count", "eval"),
                    *("offsets, single", "one long"),
                ],
                over_ids,
            ),
            f"### Two threads, {english.name}, {megabytes(english.n_bytes)}\n\n"
            "How many times as fast as one.\n\n"
            + markdown(["tokenizer", "documents", "one document"], in_threads),
            "### One short text\n\nMicroseconds a call.\n\n"
            + markdown(["tokenizer", *(f"{name} bytes" for name in passes[0])], of_short),
            _added_and_counted(
                with_text("gpt2", texts[0]), with_text("gpt2", corpora.english()), corpora.english()
            ),
        ]
    )


def _added_and_counted(job: Row, longer: Row, text: corpora.Corpus) -> str:
    passes = rows(job, "added")
    of_added = [
        [
            kind,
            f"{statistics.median(row[kind]['load_s'] for row in passes):.2f}",
            f"{statistics.median(row[kind]['cost'] for row in passes):.2f}",
        ]
        for kind in passes[0]
    ]
    ours = median(rows({**longer, "corpus": str(text.path)}, "counting"), "count")
    rival = "gigatoken"
    cells: Sequence[str] = ["-", "-"]
    if encoding.python_of(rival):
        ids = str(Path(job["folder"]) / "counted.npz")
        # With so many threads as it is fastest with.
        theirs = min(
            median(
                [encoding.run({**longer, "threads": n, "ids": ids}, rival) for _ in range(ROUNDS)], "repeat_s"
            )
            for n in (1, 2)
        )
        cells = [f"{text.n_bytes / 1e6 / theirs:.0f}", f"{theirs / ours:.2f}"]
    return "\n\n".join(
        [
            f"### {N_ADDED:,} added tokens added to gpt2\n\n"
            "Seconds to load the file and to encode 12 bytes, then the time of a pass by that of one "
            "without them.\n\n" + markdown(["tokens", "load s", "pass"], of_added),
            f"### Counting pieces, two threads, {text.name}, {megabytes(text.n_bytes)}\n\n"
            f"Compared with {rival}'s repeated pass of encoding, on one thread or two, as it is faster; "
            "MB/s.\n\n"
            + markdown(
                ["counting", rival, "ours / this"],
                [[f"{text.n_bytes / 1e6 / ours:.0f}", *cells]],
            ),
        ]
    )


def main() -> None:
    """Reads the job from stdin, does it, writes the result."""
    job = json.load(sys.stdin)
    texts = json.loads(Path(job["documents"]).read_text("utf-8"))
    json.dump(TASKS[job["task"]](job, texts), sys.stdout)


if __name__ == "__main__":
    main()
