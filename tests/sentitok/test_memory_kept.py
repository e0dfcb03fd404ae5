"""What a tokenizer keeps of a long text: nothing of its size."""

import json
import os
import subprocess
import sys
import textwrap

import pytest

from sampled_cases import sample

#: A text of so many bytes; before, up to 70 bytes for each of them stayed.
SIZE = 18 << 20
#: What may stay, in MiB: buffers for each processor, and freed blocks for the next to come.
KEPT = 8 + 64
#: The C library raises this as large blocks are freed, and then holds back freed memory
#: (20 to 40 MiB here); with a fixed value, the rest is the tokenizer's.
FIXED = {"MALLOC_MMAP_THRESHOLD_": str(128 << 10)}

RUN = """
    import gc, json, sys
    import sentitok

    def resident():
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) / 1024

    kind, size = json.loads(sys.argv[1])
    texts = ["the cat sat on the mat %d" % (n * 7919 % 1000) for n in range(2000)]
    tokenizer = {
        "bytes": lambda: sentitok.train_bpe(texts=texts, vocab_size=500, pre_tokenizer="bytes"),
        "gpt2": lambda: sentitok.train_bpe(texts=texts, vocab_size=500),
        "unigram": lambda: sentitok.train_unigram(texts=texts, vocab_size=200),
        "wordpiece": lambda: sentitok.train_wordpiece(texts=texts, vocab_size=300),
    }[kind]()
    tokenizer.encode_batch(texts * 20, threads=2)
    gc.collect()
    before = resident()
    for text in ("thecatsatonthemat" * (size // 17), "a" * size):
        tokenizer.count(text)
        tokenizer.encode(text)
    del text
    gc.collect()
    print(json.dumps(resident() - before))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("kind", sample(2, ["bytes", "gpt2", "unigram", "wordpiece"]))
def test_a_long_text_leaves_little_behind(kind: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(RUN), json.dumps([kind, SIZE])],
        capture_output=True,
        env={**os.environ, **FIXED},
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout) < KEPT
