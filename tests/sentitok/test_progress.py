"""Progress by callback, and Ctrl-C answered within a tenth of a second."""

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import sentitok
from sentitok import Tokenizer, train_bpe

# A signal is seen after one interval at most; the rest is for a busy machine.
ANSWER_SECONDS = 0.1
SLACK_SECONDS = 5


def test_the_callback_sees_the_stages(sherlock: Path) -> None:
    calls: list[tuple[str, int, int]] = []
    train_bpe(sherlock, vocab_size=3000, progress=lambda *call: calls.append(call))
    assert {stage for stage, _, _ in calls} == {"count", "merge"}
    for stage in ("count", "merge"):
        done = [done for name, done, _ in calls if name == stage]
        assert done == sorted(done)
    last = [call for call in calls if call[0] == "merge"][-1]
    assert last[1:] == (3000, 3000)
    counted = [call for call in calls if call[0] == "count"][-1]
    assert counted[1] == counted[2] == sherlock.stat().st_size


def test_the_callback_runs_where_the_call_was_made(lines: list[str]) -> None:
    here = threading.get_ident()
    threads = set()

    def slowly() -> Iterator[str]:
        for line in lines[:600]:
            time.sleep(0.0005)
            threads.add(threading.get_ident())
            yield line

    train_bpe(slowly(), vocab_size=300, progress=lambda *_: threads.add(threading.get_ident()))
    assert threads == {here}


class EnoughError(Exception):
    pass


@pytest.mark.parametrize("stage", ["count", "merge"])
@pytest.mark.parametrize("road", ["file", "texts"])
def test_what_the_callback_raises_goes_up(stage: str, road: str, sherlock: Path, lines: list[str]) -> None:
    def stop(name: str, done: int, total: int) -> None:
        if name == stage:
            raise EnoughError(name)

    source = {"source": sherlock} if road == "file" else {"texts": lines * 20}
    with pytest.raises(EnoughError, match=stage):
        train_bpe(**source, vocab_size=20_000, progress=stop)


def test_what_an_iterator_raises_goes_up() -> None:
    def fails() -> Iterator[str]:
        yield from ["a film"] * 50_000
        raise EnoughError("at the end")

    with pytest.raises(EnoughError, match="at the end"):
        train_bpe(fails(), vocab_size=300)
    with pytest.raises(TypeError, match="row 1 is int"):
        train_bpe(texts=["a", 1])  # type: ignore[list-item]  # 2026-11-24: refused


def test_merge_and_encode_report(sherlock: Path, tokenizer: Tokenizer, tmp_path: Path) -> None:
    stages: set[str] = set()
    sentitok.encode_files(
        sherlock, tmp_path / "shards", tokenizer, progress=lambda *call: stages.add(call[0])
    )
    assert stages == {"encode"}


HEAD = """
import itertools, signal, sys, time
import sentitok
signal.signal(signal.SIGINT, signal.default_int_handler)
words = ["".join(letters) for letters in itertools.product("abcdefghij", repeat=4)]
text = " ".join(words)
def texts():
    for n in itertools.count():
        yield text + str(n)
def run(job):
    print("ready", flush=True)
    try:
        job()
    except KeyboardInterrupt:
        print("interrupted", time.time(), flush=True)
        sys.exit(7)
    print("finished", flush=True)
"""

JOBS = {
    "iterator": "run(lambda: sentitok.train_bpe(texts()))",
    "slow iterator": "run(lambda: sentitok.train_bpe(time.sleep(0.01) or t for t in texts()))",
    "c iterator": "run(lambda: sentitok.count(itertools.repeat(text)))",
    "count to a file": "run(lambda: sentitok.count(texts(), out=sys.argv[1] + '/x.counts'))",
    "file": """
import os
path = sys.argv[1] + "/big.txt"
with open(path, "w") as file:
    for n in range(300):
        file.write((text + str(n) + "\\n") * 10)
run(lambda: [sentitok.count(path) for _ in range(1000)])
""",
    "merging": """
import random
random.seed(1)
counts = {"".join(random.choices("abcdefgh", k=12)): 1 + n % 97 for n in range(150_000)}
counts = sentitok.WordCounts(counts)
run(lambda: [sentitok.train_bpe(counts=counts, vocab_size=60_000) for _ in range(1000)])
""",
    "encoding a batch": """
tokenizer = sentitok.train_bpe(texts=[text], vocab_size=1000)
batch = [text + str(n) for n in range(20_000)]
run(lambda: [tokenizer.encode_batch(batch) for _ in range(1000)])
""",
    "encoding files": """
tokenizer = sentitok.train_bpe(texts=[text], vocab_size=1000)
path = sys.argv[1] + "/big.txt"
with open(path, "w") as file:
    for n in range(300):
        file.write((text + str(n) + "\\n") * 10)
out = sys.argv[1] + "/shards"
run(lambda: [sentitok.encode_files(path, out, tokenizer, resume=False) for _ in range(1000)])
""",
}


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to a child here")
@pytest.mark.parametrize("job", JOBS)
def test_ctrl_c(job: str, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", HEAD + JOBS[job], str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.2)
        sent = time.time()
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=180)
    finally:
        process.kill()
    assert process.returncode == 7, out
    answered = float(out.split()[1]) - sent
    assert answered < ANSWER_SECONDS + SLACK_SECONDS, f"answered after {answered:.3f} s"
    assert not list(tmp_path.glob("*.counts"))
