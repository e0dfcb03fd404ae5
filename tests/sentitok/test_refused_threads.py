"""A system that gives no thread changes nothing: the same bytes, from the calling thread.

The refusal is real: a process may not start another thread (`RLIMIT_NPROC`,
which does not bind root, so root becomes another user first).
"""

import os
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("RLIMIT_NPROC counts threads on Linux", allow_module_level=True)

JOBS = """
    import hashlib, os, pathlib, resource, sys, threading

    refused = sys.argv[1] == "refused"
    where = pathlib.Path(sys.argv[2])
    import numpy  # starts threads of its own when it is imported
    import sentitok

    if refused:
        if os.geteuid() == 0:
            os.setgroups([])
            os.setresgid(54321, 54321, 54321)
            os.setresuid(54321, 54321, 54321)
        resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
        try:
            threading.Thread(target=print).start()
        except RuntimeError:
            pass
        else:
            sys.exit("the system gives threads")

    words = ["the", "cat", "sat", "naïve", "中文", "o²w", "and", "then", "some"]
    texts = [" ".join(words[(i * k) % 9] + str(i % 97) for i in range(200)) for k in range(1, 400)]
    lines = where / "lines.txt"
    results = []

    def done(name, made):
        results.append(name + " " + hashlib.sha256(made).hexdigest())

    bpe = sentitok.train_bpe(texts=texts, vocab_size=600, threads=4)
    done("bpe of texts", bpe.to_bytes())
    done("bpe of a generator", sentitok.train_bpe(texts=(t for t in texts), vocab_size=600).to_bytes())
    done("bpe of a file", sentitok.train_bpe(lines, vocab_size=600, threads=3).to_bytes())
    done("scored bpe", sentitok.train_bpe(texts=texts, vocab_size=400, method="sentencepiece").to_bytes())
    unigram = sentitok.train_unigram(texts=texts, vocab_size=400, threads=4)
    done("unigram", unigram.to_bytes())
    wordpiece = sentitok.train_wordpiece(texts=texts, vocab_size=400, threads=4)
    done("wordpiece", wordpiece.to_bytes())
    for tokenizer in (bpe, unigram, wordpiece, sentitok.Tokenizer.from_bytes(bpe.to_bytes())):
        batch = tokenizer.encode_batch(texts * 4, threads=8)
        done("ids", batch.ids.tobytes())
        done("text", "".join(tokenizer.decode_batch(batch)).encode())
    done("one long text", bpe.encode_batch([" ".join(texts) * 8], threads=8).ids.tobytes())
    fifo = where / "pipe"
    if fifo.exists():
        # A thread would be refused: the writer is a process of the test.
        done("bpe of a pipe", sentitok.train_bpe(fifo, vocab_size=600).to_bytes())
    print("\\n".join(results))
"""


def jobs(kind: str, where: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(JOBS), kind, str(where)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_everything_goes_on_without_threads() -> None:
    with tempfile.TemporaryDirectory() as name:
        where = Path(name)
        where.chmod(0o777)
        lines = where / "lines.txt"
        lines.write_text("".join(f"line {n % 313} of {n}\n" for n in range(40_000)))
        lines.chmod(0o644)
        results = {}
        for kind in ("given", "refused"):
            fifo = where / "pipe"
            os.mkfifo(fifo)
            fifo.chmod(0o666)
            with subprocess.Popen(["sh", "-c", 'cat "$1" > "$2"', "sh", str(lines), str(fifo)]) as feeder:
                try:
                    results[kind] = jobs(kind, where).splitlines()
                finally:
                    # It has ended, unless nobody read.
                    feeder.kill()
            fifo.unlink()
    assert len(results["given"]) > 12
    assert results["refused"] == results["given"]
