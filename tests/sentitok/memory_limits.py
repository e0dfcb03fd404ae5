"""Runs operations whose result is larger than the memory that is left, each in a forked child.

    python memory_limits.py MODEL|files|corpus [OPERATION ...]

Prints a line for each operation that ends otherwise than `test_memory_limits.py` asks: a MemoryError each
time, then the same object answers a small call, and the memory is free again. A child that dies must not
take the tests with it, so the test runs this file in a separate process.
"""

import gc
import json
import os
import random
import resource
import signal
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import sentitok
from sentitok import Normalizer, Tokenizer, WordCounts

Work = Callable[[], object]

# What a child may map in addition, in bytes, and what must be free of it at the end.
LIMIT = 12 << 20
FREE = 8 << 20
REPEATS = 3
SIZE = 24_000_000
SMALL = "a few words, 12 and é"


def words_of(n_bytes: int, seed: int = 0) -> str:
    """Random words, some with letters of two bytes and more."""
    rng = random.Random(seed)
    letters = "eeeetttaaooiinnsshrrdlucmfwypvbgkqjxz"
    words = ["".join(rng.choices(letters, k=rng.randint(1, 9))) for _ in range(5000)]
    words += ["".join(rng.choices("éßж中文字🙂", k=rng.randint(1, 4))) for _ in range(100)]
    text = " ".join(rng.choices(words, k=n_bytes // 6))
    return text.encode()[:n_bytes].decode(errors="ignore")


LINES = words_of(60_000).split(" ")
LINES = [" ".join(LINES[at : at + 10]) for at in range(0, len(LINES), 10)]


def sentencepiece_bpe() -> Tokenizer:
    return sentitok.train_bpe(texts=LINES, vocab_size=1000, method="sentencepiece", byte_fallback=True)


def normalized() -> Tokenizer:
    trained = sentitok.train_bpe(texts=LINES, vocab_size=1000, special_tokens=["<a>", "<b>"])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.json"
        trained.save(path)
        file = {**json.loads(path.read_text("utf-8")), "normalizer": {"type": "NFKC"}}
    return Tokenizer.from_bytes(json.dumps(file).encode())


MODELS: dict[str, Callable[[], Tokenizer]] = {
    "byte_bpe": lambda: sentitok.train_bpe(texts=LINES, vocab_size=1000),
    "normalized": normalized,
    "sentencepiece_bpe": sentencepiece_bpe,
    "wordpiece": lambda: sentitok.train_wordpiece(texts=LINES, vocab_size=1000),
    "unigram": lambda: sentitok.train_unigram(texts=LINES, vocab_size=1000, byte_fallback=True, threads=1),
}


def texts_operations(tokenizer: Tokenizer) -> dict[str, Work]:
    text = words_of(SIZE, 1)
    lines = [text[at : at + 600] for at in range(0, len(text), 600)]
    solid = text.replace(" ", "")
    # Of another tokenizer, so that the one that is tested has empty caches.
    other = Tokenizer.from_bytes(tokenizer.to_bytes())
    ids = other.encode(text).ids
    accented = text + "é"
    batch = other.encode_batch(lines, threads=1)
    normalizer = tokenizer.normalizer or Normalizer("nfkc")
    return {
        "encode": lambda: tokenizer.encode(text),
        "encode without spaces": lambda: tokenizer.encode(solid),
        "offsets": lambda: tokenizer.encode(text).offsets(),
        "encode two threads": lambda: tokenizer.encode_batch([text, text], threads=2),
        "encode_batch": lambda: tokenizer.encode_batch(lines, threads=1),
        "encode_batch offsets": lambda: tokenizer.encode_batch(lines, threads=2, offsets=True),
        "windows": lambda: tokenizer.windows(text, 32, 16),
        "encode_segments": lambda: tokenizer.encode_segments([text, solid]),
        "pad": lambda: batch.pad(),
        "decode": lambda: tokenizer.decode(ids),
        "decode_bytes": lambda: tokenizer.decode_bytes(ids),
        "normalize": lambda: normalizer.normalize(accented),
    }


def large_file(kind: str, n: int) -> bytes:
    """A tokenizer.json of `n` tokens."""
    rng = random.Random(1)
    letters = "abcdefghijklmnopqrstuvwxyz"
    known = {"".join(rng.choices(letters, k=rng.randint(3, 12))) for _ in range(n)}
    tokens = [*letters, *sorted(known)]
    model: dict[str, Any]
    if kind == "unigram":
        scored = [["<unk>", 0.0], *[[token, -rng.random() * 20] for token in tokens]]
        model = {"type": "Unigram", "unk_id": 0, "vocab": scored}
    elif kind == "wordpiece":
        vocab = {token: i for i, token in enumerate(["[UNK]", *tokens])}
        model = {"type": "WordPiece", "unk_token": "[UNK]", "max_input_chars_per_word": 100, "vocab": vocab}
        model["continuing_subword_prefix"] = "##"
    else:
        vocab = {token: i for i, token in enumerate(tokens)}
        model = {
            "type": "BPE",
            "vocab": vocab,
            "merges": [[a, b] for a in letters for b in letters if a + b in vocab],
        }
    return json.dumps({"version": "1.0", "added_tokens": [], "model": model}).encode()


def files_operations(folder: Path) -> dict[str, Work]:
    operations: dict[str, Work] = {}
    for kind in ("bpe", "unigram", "wordpiece"):
        data = large_file(kind, 60_000)
        path = folder / f"{kind}.json"
        path.write_bytes(data)
        tokenizer = Tokenizer.from_bytes(data)
        own = tokenizer.to_bytes()
        operations |= {
            # The same file is loaded once.
            f"from_bytes {kind}": partial(Tokenizer.from_bytes, data + b" "),
            f"from_file {kind}": partial(Tokenizer.from_file, path),
            f"from own {kind}": partial(Tokenizer.from_bytes, own),
            f"to_bytes {kind}": tokenizer.to_bytes,
            f"save {kind}": partial(tokenizer.save, folder / f"{kind}.out.json"),
            f"prune {kind}": partial(tokenizer.prune, list(range(0, tokenizer.vocab_size, 2))),
            f"doctor {kind}": tokenizer.doctor,
        }
    return operations


def corpus_operations(folder: Path) -> dict[str, Work]:
    rng = random.Random(2)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(rng.choices(letters, k=rng.randint(6, 12))) for _ in range(900_000)]
    lines = [" ".join(words[at : at + 1000]) for at in range(0, len(words), 1000)]
    path = folder / "corpus.txt"
    path.write_text("\n".join(lines))
    counts = sentitok.count(texts=lines, threads=1)
    # SentencePiece's manner: a space in front, written as a mark.
    marked = WordCounts(
        {"▁" + word: 1 for word in words}, normalizer="sentencepiece", pre_tokenizer="metaspace-never"
    )
    lowered = WordCounts(dict.fromkeys(words, 1), normalizer="hf-bert", pre_tokenizer="bert")
    assert counts is not None
    data = counts.to_bytes()
    return {
        "count": lambda: sentitok.count(texts=lines, threads=1),
        "count file": lambda: sentitok.count(source=path, threads=2),
        "from_bytes": lambda: WordCounts.from_bytes(data),
        "add": lambda: counts + counts,
        "train_bpe": lambda: sentitok.train_bpe(counts=counts, vocab_size=2000, threads=2),
        "train_bpe texts": lambda: sentitok.train_bpe(texts=lines, vocab_size=2000, threads=2),
        "train_bpe sentencepiece": lambda: sentitok.train_bpe(
            counts=marked, vocab_size=1000, method="sentencepiece", threads=2
        ),
        "train_unigram": lambda: sentitok.train_unigram(counts=marked, vocab_size=1000, threads=2),
        "train_wordpiece": lambda: sentitok.train_wordpiece(counts=lowered, vocab_size=1000, threads=2),
        "train_wordpiece pmi": lambda: sentitok.train_wordpiece(
            counts=lowered, vocab_size=1000, score="pmi", threads=2
        ),
    }


def dataset_operations(folder: Path) -> dict[str, Work]:
    tokenizer = MODELS["byte_bpe"]()
    text = words_of(SIZE, 1)
    return {
        "encode_files": lambda: sentitok.encode_files(
            texts=[text], out_dir=folder / "out", tokenizer=tokenizer
        ),
    }


def limit(more: int | None) -> None:
    """Lets the process map so many bytes in addition to what it has mapped; `None`: all."""
    most = resource.RLIM_INFINITY
    if more is not None:
        with open("/proc/self/statm") as file:
            most = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE") + more
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))


def drain() -> list[object]:
    """Takes the freed blocks that the package keeps, which no limit holds back.

    The ids of one text take a megabyte, the least that is kept. A longer text is shared among threads, which
    free blocks again.
    """
    tokenizer = MODELS["byte_bpe"]()
    data = b"\xff" * (1 << 18)
    return [tokenizer.encode(data).ids for _ in range(100)]


def attempt(work: Work, small: Work) -> str:
    """How work ends under the limit; empty if as promised."""
    expected = small()
    gc.collect()
    limit(LIMIT)
    for _ in range(REPEATS):
        try:
            work()
        except MemoryError:
            continue
        except sentitok.EncodeError as error:
            # Padding and normalizing say so with this type.
            if "memory" not in str(error):
                raise
            continue
        return "it fits"
    if small() != expected:
        return "a small call then gives another answer"
    gc.collect()
    try:
        bytearray(FREE)
    except MemoryError:
        return "its memory is not free again"
    return ""


def ended(work: Work, small: Work) -> str:
    """The same, of a child."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        status = 1
        try:
            os.write(write, attempt(work, small).encode())
            status = 0
        except BaseException as error:
            os.write(write, f"{type(error).__name__}: {error}".encode())
        finally:
            os._exit(status)
    os.close(write)
    with os.fdopen(read, "rb") as answer:
        found = answer.read().decode()
    status = os.waitpid(child, 0)[1]
    return signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else found


def main() -> int:
    what, *names = sys.argv[1:]
    tokenizer = MODELS.get(what, MODELS["byte_bpe"])()
    with tempfile.TemporaryDirectory() as folder:
        if what == "files":
            operations = files_operations(Path(folder))
        elif what == "corpus":
            operations = corpus_operations(Path(folder)) | dataset_operations(Path(folder))
        else:
            operations = texts_operations(tokenizer)
        held = drain()
        badly = 0
        for name, work in operations.items():
            if names and name not in names:
                continue
            found = ended(work, lambda: tokenizer.encode(SMALL).ids.tolist())
            badly += bool(found)
            if found:
                print(f"{what}: {name}: {found}", flush=True)
        print(f"{what}: {len(operations)} operations, {badly} ended badly")
        del held
        return int(badly > 0)


if __name__ == "__main__":
    sys.exit(main())
