"""What people wait for: how soon `senti predict` answers, how fast the page does, what a verdict takes.

    python benches/models/in_use.py          # all sections, up to a minute each
    python benches/models/in_use.py predict  # one

Bars: `senti predict` begins within 1.5 s, and answers 10,000 short texts with `bow` within 2 s; the page
of a tiny `gpt` answers within 50 ms of a keystroke and its server within 10 ms in the median, answers
1,000 requests of 100 clients without an error while memory stays, and has at most 60 kB; what
`sentitok serve` imports takes 0.3 s, and so does `--help` of both programs. `senti train` with no option but
the file comes to a verdict on 10,000 rows in no more than the ten minutes that it took when it always trained
an LSTM, and on 10,000 rows of 20 labels in a minute on two cores, with one label a text or several. Whole
processes, several rounds: a bar is judged on the median, and the least is shown next to it. `--write` appends
the figures to `results.jsonl`.
"""

import argparse
import http.client
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import result

from sentimodels.data import Table, read_table
from sentimodels.data.writers import write_table
from sentitok.web.server import bind

sys.path.insert(0, str(result.ROOT / "tests"))
from terminal import on_terminal

REVIEWS, TWEETS = "tests/data/sentences/yelp_labelled.txt", "tweet-sentiment/train.csv.xz"
ROUNDS = 5
N_TEXTS, N_REQUESTS, N_CLIENTS = 10_000, 1_000, 100
# Keys that are typed without a pause, and milliseconds between two of them: quick typists take 60 to 120.
KEYS, GAPS = 5, (30, 60, 90, 120)
# What people wait for: each is at most this, in the median.
BARS: dict[str, tuple[float, str]] = {
    "predict one text": (1.5, "s"),
    "predict 10,000 texts": (2.0, "s"),
    "verdict on 10,000 rows": (600.0, "s"),
    "verdict on 20 labels": (60.0, "s"),
    "verdict on several labels": (60.0, "s"),
    "from keystroke to bars": (50, "ms"),
    "answer of the server": (10, "ms"),
    "errors of 1,000 requests": (0, "errors"),
    "memory of 1,000 requests": (4, "MB"),
    "size of the page": (60, "kB"),
    "import of the server": (0.3, "s"),
    "help": (0.3, "s"),
}
PAGE_FILES = result.ROOT / "python" / "sentitok" / "web" / "page"
Row = dict[str, Any]


def row(what: str, figures: list[float], bar: str | None = None) -> Row:
    """A row of measured figures; `bar` names one of `BARS`."""
    return {"what": what, "bar": bar, "figures": figures}


def with_bytecode(folder: Path) -> dict[str, str]:
    """Environment of the measured command, with a cache of bytecode; the first call writes it."""
    return {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}


def reviews() -> Table:
    return read_table(result.ROOT / REVIEWS)


def tweets() -> Table:
    return read_table(result.data_folder() / TWEETS)


def senti(*args: str | Path, given: str = "") -> float:
    """Runs a command; returns its seconds.

    Raises:
        CalledProcessError: if it fails; its words are on stderr.
    """
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "sentimodels.cli", *map(str, args)],
        input=given, text=True, stdout=subprocess.DEVNULL, check=True,
    )  # fmt: skip
    return time.perf_counter() - began


def seconds_of(code: str) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - began


def predict(folder: Path) -> list[Row]:
    """Section: `senti predict`."""
    senti(
        "train", result.ROOT / REVIEWS, "--arch", "bow", "--out", folder / "bow", "--quiet", "--no-baseline"
    )
    texts = [" ".join(text.split())[:60] for text in tweets().texts[:N_TEXTS]]
    many = "".join(f"{text or 'empty'}\n" for text in texts)
    one, all_of_them, python = [], [], []
    for _ in range(ROUNDS):
        python.append(seconds_of("import torch"))
        one.append(senti("predict", folder / "bow", given="great fun\n"))
        all_of_them.append(senti("predict", folder / "bow", given=many))
    return [
        row("one text", one, "predict one text"),
        row(f"{N_TEXTS:,} texts of at most 60 characters", all_of_them, "predict 10,000 texts"),
        row("`import torch` alone", python),
    ]


def verdict(folder: Path) -> list[Row]:
    """Section: `senti train` with no option but the file, from the command to its verdict."""
    table, rows = tweets(), []
    for n_rows, rounds, bar in ((1_000, ROUNDS, None), (N_TEXTS, 1, "verdict on 10,000 rows")):
        file = folder / f"tweets-{n_rows}.csv"
        write_table(table.take(range(n_rows)), file)
        figures = [senti("train", file, "--out", folder / f"run-{n_rows}-{again}") for again in range(rounds)]
        rows.append(row(f"{n_rows:,} tweets", figures, bar))
    return rows


def labels(folder: Path) -> list[Row]:
    """Section: as `verdict`, on sentences of 20 sources, and on texts of up to four of them (19 labels)."""
    from multilabel import made, sources, write

    draw, rows = random.Random(0), []
    of_source = sources(result.data_folder())
    some = [(text, name) for name, texts in of_source.items() for text in sorted({*texts} - {""})]
    one = folder / "one.csv"
    drawn = draw.sample(some, N_TEXTS)
    write_table(Table.of([text for text, _ in drawn], [name for _, name in drawn]), one)
    several = folder / "several.jsonl"
    write(made(result.data_folder())["train"], several)
    for what, file, bar, more in (
        (f"{len(of_source)} labels, one a text", one, "verdict on 20 labels", []),
        (f"{len(of_source) - 1} labels, several a text", several, "verdict on several labels",
         ["--task", "multilabel"]),
    ):  # fmt: skip
        before = cpu_seconds()
        taken = senti("train", file, *more, "--out", folder / f"run-{file.stem}")
        rows.append(row(f"10,000 texts, {what}", [taken], bar))
        rows.append(row("CPU seconds of it", [cpu_seconds() - before]))
    return rows


def cpu_seconds() -> float:
    """Those of all processes that have been waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def ask(port: int, path: str, body: object = None) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        sent = None if body is None else json.dumps(body)
        connection.request(
            "GET" if body is None else "POST", path, sent, {"content-type": "application/json"}
        )
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


@contextmanager
def serving(run: Path) -> Iterator[tuple[int, int]]:
    """Runs `senti serve` until the block ends; yields its port and its process."""
    with bind("127.0.0.1", 0) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "sentimodels.cli", "serve", str(run), "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            until = time.monotonic() + 60
            while True:
                try:
                    ask(port, "/api/model")
                    break
                except OSError:
                    if process.poll() is not None or time.monotonic() > until:
                        raise
                    time.sleep(0.05)
            yield port, process.pid
        finally:
            process.terminate()
            process.wait(20)


def resident(pid: int) -> float:
    """Megabytes that a process holds."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 1e6


def keystrokes(url: str) -> list[float]:
    """Milliseconds from the last of some keystrokes until the bars of its text are drawn, in a browser."""
    from playwright.sync_api import sync_playwright

    from browser import FLAGS, chromium

    # Pressed in the page, so that what drives the browser is not in the figure. The bars are set again with
    # every answer, and by nothing else; the last answer is that of the last key.
    script = """async ([texts, gap]) => {
        const wait = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
        const box = document.querySelector("textarea");
        let drawn = 0, pressed = 0;
        const seen = new MutationObserver(() => { drawn = performance.now(); });
        const bars = document.querySelector(".bars");
        seen.observe(bars, { subtree: true, attributeFilter: ["aria-valuenow"] });
        for (const text of texts) {
            pressed = performance.now();
            box.value = text;
            box.dispatchEvent(new Event("input", { bubbles: true }));
            await wait(gap);
        }
        await wait(300);
        seen.disconnect();
        if (drawn < pressed) throw new Error("the last key had no answer");
        return drawn - pressed;
    }"""
    path = chromium()
    if path is None:
        return []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        opened = browser.new_page()
        opened.goto(url)
        opened.wait_for_selector(".bars")
        opened.wait_for_timeout(500)
        text, times = "the food was wonderful and the waiter was kind", []
        for end in range(KEYS, len(text) + 1):
            burst = [text[: place + 1] for place in range(end - KEYS, end)]
            times.append(float(opened.evaluate(script, [burst, GAPS[end % len(GAPS)]])))
        browser.close()
    return times[5:]


def the_page(folder: Path) -> list[Row]:
    """Section: the page of a tiny `gpt`."""
    run = folder / "gpt"
    tree = ("--arch", "gpt", "--preset", "tiny", "--epochs", "1", "--no-baseline", "--quiet")
    senti("train", result.ROOT / REVIEWS, *tree, "--out", run)
    texts = reviews().texts
    with serving(run) as (port, pid):

        def asking(number: int) -> tuple[int, float]:
            began = time.perf_counter()
            status, _ = ask(port, "/api/predict", {"text": texts[number % len(texts)], "model": "gpt"})
            return status, 1e3 * (time.perf_counter() - began)

        one_by_one = [asking(number)[1] for number in range(300)][50:]
        typed = keystrokes(f"http://127.0.0.1:{port}/")
        with ThreadPoolExecutor(N_CLIENTS) as pool:
            first = list(pool.map(asking, range(N_REQUESTS)))
            before = resident(pid)
            again = list(pool.map(asking, range(N_REQUESTS)))
            grown = resident(pid) - before
    errors = sum(status != 200 for status, _ in first + again)
    size = sum(path.stat().st_size for path in PAGE_FILES.iterdir() if path.is_file()) / 1e3
    begun = [seconds_of("import sentitok.cli.app, sentitok.web") for _ in range(ROUNDS)]
    python = [seconds_of("pass") for _ in range(ROUNDS)]
    return [
        row("from the last key to its bars, in a browser", typed, "from keystroke to bars"),
        row("`/api/predict`, client and server", one_by_one, "answer of the server"),
        row(f"{N_REQUESTS:,} requests of {N_CLIENTS} clients, twice", [errors], "errors of 1,000 requests"),
        row("memory that the second thousand adds", [grown], "memory of 1,000 requests"),
        row("the page, all files", [size], "size of the page"),
        row("what `sentitok serve` imports, Python's start included", begun, "import of the server"),
        row("Python's start alone", python),
    ]


def the_help(folder: Path) -> list[Row]:
    """Section: the help of both programs."""
    rows = []
    for program in ("sentitok", "senti"):
        taken = []
        for _ in range(1 + ROUNDS):
            began = time.perf_counter()
            code, _ = on_terminal("--help", program=program, variables=with_bytecode(folder))
            taken.append(time.perf_counter() - began)
            assert code == 0
        rows.append(row(f"`{program} --help`", taken[1:], "help"))
    rows.append(row("Python's start alone", [seconds_of("pass") for _ in range(ROUNDS)]))
    return rows


SECTIONS: dict[str, Callable[[Path], list[Row]]] = {
    "predict": predict,
    "verdict": verdict,
    "labels": labels,
    "help": the_help,
    "page": the_page,
}


def line(row: Row) -> str:
    """Returns the median and the least of a row, and whether its bar is met."""
    if not row["figures"]:
        return f"{row['what']}: not measured"
    most, unit = BARS.get(row["bar"], (None, "s"))
    reached = median(row["figures"])
    said = "" if most is None else f": {result.verdict(reached, most=most)}"
    return f"{row['what']}: {reached:.2f} {unit}, least {min(row['figures']):.2f}{said}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sections", nargs="*", help=f"of {', '.join(SECTIONS)}; all without it")
    parser.add_argument("--write", action="store_true", help="append the figures to results.jsonl")
    asked = parser.parse_args()
    if unknown := set(asked.sections) - set(SECTIONS):
        parser.error(f"no section {', '.join(sorted(unknown))}; there are {', '.join(SECTIONS)}")
    threading.stack_size(1 << 20)  # a hundred clients
    for name in asked.sections or SECTIONS:
        with tempfile.TemporaryDirectory() as folder:
            os.environ |= with_bytecode(Path(folder))
            rows = SECTIONS[name](Path(folder))
        for one in rows:
            print(line(one))
        if asked.write:
            settings = {"rounds": ROUNDS, "texts": N_TEXTS, "requests": N_REQUESTS, "clients": N_CLIENTS}
            command = f"python benches/models/in_use.py {name} --write"
            result.append(f"in-use:{name}", command, settings, {one["what"]: one["figures"] for one in rows})


if __name__ == "__main__":
    main()
