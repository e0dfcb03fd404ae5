"""Runs operations where the system refuses memory, each in a forked child of this process.

    python memory_sweep.py MODEL [OPERATION ...] [--megabytes 2 8 ...] [--size BYTES]

The limit of address space in a child is what it has mapped and so many megabytes more.
A child ends well if it gives the answer that one without a limit gives, or raises
MemoryError, or an error that the package documents; and if the same object answers a
short text afterwards. Prints a line for each that does not, and how many ended how.

Not a test by itself: `test_memory_sweep.py` runs it, as children that die must not take
the tests with them.
"""

import argparse
import collections
import errno
import gzip
import hashlib
import json
import os
import pickle
import random
import resource
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sentitok
from sentitok import Normalizer, PreTokenizer, Special, Tokenizer, WordCounts

Work = Callable[[], object]

SMALL = "a few words, 12 and é"
ANSWERS = ("equal", "MemoryError", "error")


def words_of(n_bytes: int, seed: int = 0) -> str:
    """Words that follow no list, some with letters of two bytes and more."""
    rng = random.Random(seed)
    letters = "eeeetttaaooiinnsshrrdlucmfwypvbgkqjxz"
    words = ["".join(rng.choices(letters, k=rng.randint(1, 9))) for _ in range(5000)]
    words += ["".join(rng.choices("éßж中文字🙂", k=rng.randint(1, 4))) for _ in range(100)]
    text = " ".join(rng.choices(words, k=max(n_bytes // 6, 1)))
    return text.encode()[:n_bytes].decode(errors="ignore")


def of(model: dict[str, Any], **stages: object) -> Tokenizer:
    file = {"version": "1.0", "added_tokens": [], "model": model, **stages}
    return Tokenizer.from_bytes(json.dumps(file).encode())


def stages_of(tokenizer: Tokenizer, **stages: object) -> Tokenizer:
    """The same model with other stages around it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.json"
        tokenizer.save(path)
        file = json.loads(path.read_text())
    return Tokenizer.from_bytes(json.dumps({**file, **stages}).encode())


def as_model_file(tokenizer: Tokenizer) -> Tokenizer:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.model"
        tokenizer.save(path)
        return Tokenizer.from_file(path)


METASPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"}
TEXTS = words_of(60_000).split(" ")
LINES = [" ".join(TEXTS[at : at + 10]) for at in range(0, len(TEXTS), 10)]


def byte_bpe() -> Tokenizer:
    return sentitok.train_bpe(texts=LINES, vocab_size=1000, special_tokens=["<a>", "<b>"])


def llama() -> Tokenizer:
    trained = sentitok.train_bpe(texts=LINES, vocab_size=2000, method="sentencepiece", byte_fallback=True)
    normalizer = {
        "type": "Sequence",
        "normalizers": [
            {"type": "Prepend", "prepend": "▁"},
            {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
        ],
    }
    return stages_of(trained, normalizer=normalizer, pre_tokenizer=None)


def sentencepiece_bpe() -> Tokenizer:
    return as_model_file(
        sentitok.train_bpe(texts=LINES, vocab_size=1000, method="sentencepiece", byte_fallback=True)
    )


def replaced_bpe() -> Tokenizer:
    """With a template, added tokens, and normalizers that make a text longer."""
    normalizers: list[object] = [
        {"type": "NFKC"},
        {"type": "Replace", "pattern": {"String": "e"}, "content": "ee"},
        {"type": "Replace", "pattern": {"Regex": "[aé]+"}, "content": "aa"},
    ]
    return stages_of(byte_bpe(), normalizer={"type": "Sequence", "normalizers": normalizers})


def wordpiece() -> Tokenizer:
    return sentitok.train_wordpiece(texts=LINES, vocab_size=1000)


def unigram() -> Tokenizer:
    return sentitok.train_unigram(texts=LINES, vocab_size=1000, byte_fallback=True, threads=1)


def unigram_json() -> Tokenizer:
    return stages_of(unigram(), normalizer={"type": "NFKC"})


def unsplit() -> Tokenizer:
    return stages_of(unigram(), normalizer=None, pre_tokenizer={**METASPACE, "split": False})


def unsplit_bpe() -> Tokenizer:
    return stages_of(llama(), normalizer=None, pre_tokenizer={**METASPACE, "split": False})


MODELS: dict[str, Callable[[], Tokenizer]] = {
    work.__name__: work
    for work in (
        byte_bpe,
        llama,
        sentencepiece_bpe,
        replaced_bpe,
        wordpiece,
        unigram,
        unigram_json,
        unsplit,
        unsplit_bpe,
    )
}


def large(kind: str, n: int) -> bytes:
    """A file of `n` tokens."""
    rng = random.Random(1)
    letters = "abcdefghijklmnopqrstuvwxyz"
    if kind == "bpe":
        tokens, merges = list(letters), []
        known = set(tokens)
        while len(tokens) < n:
            left, right = rng.choice(tokens), rng.choice(letters)
            if left + right not in known:
                known.add(left + right)
                tokens.append(left + right)
                merges.append([left, right])
        model: dict[str, Any] = {
            "type": "BPE",
            "vocab": {token: i for i, token in enumerate(tokens)},
            "merges": merges,
        }
    else:
        known = {"".join(rng.choices(letters, k=rng.randint(3, 12))) for _ in range(n)}
        tokens = [*letters, *sorted(known)]
        if kind == "unigram":
            scored = [["<unk>", 0.0], *[[token, -rng.random() * 20] for token in tokens]]
            model = {"type": "Unigram", "unk_id": 0, "vocab": scored}
        else:
            model = {
                "type": "WordPiece",
                "unk_token": "[UNK]",
                "continuing_subword_prefix": "##",
                "max_input_chars_per_word": 100,
                "vocab": {token: i for i, token in enumerate(["[UNK]", *tokens])},
            }
    return json.dumps({"version": "1.0", "added_tokens": [], "model": model}).encode()


def texts_operations(tokenizer: Tokenizer, name: str, size: int) -> dict[str, Work]:
    """What is done with a model and a text of so many bytes."""
    text = words_of(size, 1)
    lines = [text[at : at + 60] for at in range(0, len(text), 60)]
    solid = text.replace(" ", "")
    # What is made before is made by another, so that the one that is asked has no caches yet.
    other = Tokenizer.from_bytes(tokenizer.to_bytes())
    ids = other.encode(text).ids
    rows = [ids[at : at + 20] for at in range(0, len(ids), 20)]
    listed = ids.tolist()
    batch = other.encode_batch(lines, threads=1)
    special = Special(tokenizer.added_tokens[0].content) if tokenizer.added_tokens else "a"
    segments = [segment for line in lines for segment in (special, line)]

    def stream() -> str:
        decoder = tokenizer.stream_decoder()
        return "".join(map(decoder.push, listed)) + decoder.finish()

    operations: dict[str, Work] = {
        "encode": lambda: tokenizer.encode(text).ids,
        "solid": lambda: tokenizer.encode(solid).ids,
        "bytes": lambda: tokenizer.encode(text.encode() + b"\xff" * 100_000 + text.encode()).ids,
        "spans": lambda: tokenizer.encode(text).offsets(),
        "trimmed": lambda: tokenizer.encode(text).offsets("bytes", trim=True),
        "solid spans": lambda: tokenizer.encode(solid).offsets(),
        "tokens": lambda: tokenizer.encode(text).tokens,
        "surfaces": lambda: tokenizer.encode(text).surfaces,
        "type_ids": lambda: (tokenizer.encode(text).type_ids, tokenizer.encode(text).special_tokens_mask),
        "pair": lambda: tokenizer.encode(text, text).ids,
        "all specials": lambda: tokenizer.encode(text + "<a>" * 1000, specials="all").ids,
        "max_tokens": lambda: tokenizer.encode(text, max_tokens=len(ids) // 2).ids,
        "two threads": lambda: tokenizer.encode_batch([text], threads=2).ids,
        "two threads solid": lambda: tokenizer.encode_batch([solid, text], threads=2).ids,
        "batch": lambda: tokenizer.encode_batch(lines, threads=1).ids,
        "batch offsets": lambda: tokenizer.encode_batch([*lines, text], threads=2, offsets=True).offsets(),
        "pad": lambda: batch.pad(),
        "rows": lambda: [batch.to_list(), list(batch)],
        "count": lambda: tokenizer.count(text),
        "count_batch": lambda: tokenizer.count_batch([*lines, text], threads=2),
        "fits": lambda: tokenizer.fits(text, len(ids)),
        "windows": lambda: tokenizer.windows(text, 32, 16).offsets(),
        "segments": lambda: tokenizer.encode_segments(segments).ids,
        "long segment": lambda: tokenizer.encode_segments([special, text, solid]).offsets(),
        "decode": lambda: tokenizer.decode(ids),
        "decode a list": lambda: tokenizer.decode(listed),
        "decode_bytes": lambda: tokenizer.decode_bytes(ids),
        "decode_batch": lambda: tokenizer.decode_batch(rows),
        "decode a batch": lambda: tokenizer.decode_batch(batch),
        "stream": stream,
        "pickle": lambda: pickle.loads(pickle.dumps(tokenizer.encode(text))).ids,
        "split": lambda: tokenizer.pre_tokenizer.split(text),
        "pieces": lambda: tokenizer.pre_tokenizer.pieces(text),
    }
    if tokenizer.normalizer is not None:
        normalizer = tokenizer.normalizer
        operations["normalize"] = lambda: normalizer.normalize(text)
    if "unigram" in name or name == "unsplit":
        operations["n_best"] = lambda: tokenizer.n_best(text[: size // 30], 5)
        operations["sample"] = lambda: tokenizer.sample(text, 0.1, 1)
        operations["entropy"] = lambda: tokenizer.entropy(text)
    if "bpe" in name or name == "llama":
        dropping = tokenizer.with_dropout(0.1)
        operations["dropout"] = lambda: dropping.encode(text, seed=3).ids
        operations["dropout solid"] = lambda: dropping.encode(solid, seed=3).offsets()
    return operations


def files_operations(kind: str, size: int, folder: Path) -> dict[str, Work]:
    """What is done with a file of so many bytes, or so."""
    data = large(kind, size // 40)
    tokenizer = Tokenizer.from_bytes(data)
    own = tokenizer.to_bytes()
    path = folder / "tokenizer.json"
    path.write_bytes(data)
    keep = list(range(0, tokenizer.vocab_size, 2))
    many = [f"<{n}>" for n in range(size // 100)]

    def save() -> bytes:
        written = tokenizer.save(folder / "saved.json")
        return Path(written[0]).read_bytes()

    def save_as() -> int:
        return len(tokenizer.save(folder / "saved.sentitok"))

    def added() -> Tokenizer:
        return tokenizer.with_specials(many)

    return {
        "from_bytes": lambda: Tokenizer.from_bytes(data).to_bytes(),
        "from_file": lambda: Tokenizer.from_file(path).to_bytes(),
        "from own": lambda: Tokenizer.from_bytes(own).to_bytes(),
        "save": save,
        "save as": save_as,
        "prune": lambda: tokenizer.prune(keep)[0].to_bytes(),
        "doctor": tokenizer.doctor,
        "info": lambda: (tokenizer.info(), tokenizer.fingerprint, tokenizer.is_lossless),
        "vocab": tokenizer.vocab,
        "merges": tokenizer.merges,
        "with_specials": lambda: added().encode(SMALL + "<7>", specials="all").ids,
        "encode": lambda: Tokenizer.from_bytes(data).encode(SMALL).ids,
        "pickle": lambda: pickle.loads(pickle.dumps(tokenizer)).encode(SMALL).ids,
    }


def corpus_operations(size: int, folder: Path) -> dict[str, Work]:
    """What is done with a corpus of so many bytes."""
    rng = random.Random(2)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(rng.choices(letters, k=rng.randint(2, 12))) for _ in range(size // 8)]
    lines = [" ".join(words[at : at + 10]) for at in range(0, len(words), 10)]
    solid = ["".join(words[at : at + 1000]) for at in range(0, len(words), 1000)]
    path = folder / "corpus.txt"
    path.write_text("\n".join(lines))
    packed = folder / "corpus.txt.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    counts = sentitok.count(texts=lines, threads=1)
    assert counts is not None
    data = counts.to_bytes()
    counted = folder / "counts.txt"
    counts.save(counted)
    as_dict = dict(counts)
    tokenizer = byte_bpe()

    def count_of(**options: Any) -> bytes:
        made = sentitok.count(**options)
        assert made is not None
        return made.to_bytes()

    def encode_files() -> object:
        with tempfile.TemporaryDirectory() as out:
            sentitok.encode_files(path, out, tokenizer, threads=2)
            shards = [file for file in Path(out).iterdir() if file.suffix != ".json"]
            return sorted((file.name, file.stat().st_size) for file in shards)

    def merged() -> bytes:
        sentitok.merge_counts([counted, counted], folder / "merged.txt")
        return (folder / "merged.txt").read_bytes()

    return {
        "count": lambda: count_of(texts=lines, threads=1),
        "count threads": lambda: count_of(texts=lines, threads=2),
        "count solid": lambda: count_of(texts=solid, threads=2),
        "count file": lambda: count_of(source=path, threads=2),
        "count packed": lambda: count_of(source=packed, threads=2),
        "count bounded": lambda: count_of(source=path, threads=2, max_memory=4 << 20),
        "counts to_bytes": counts.to_bytes,
        "counts from_bytes": lambda: WordCounts.from_bytes(data).to_bytes(),
        "counts load": lambda: WordCounts.load(counted).to_bytes(),
        "counts save": lambda: counts.save(folder / "again.txt"),
        "counts dict": lambda: dict(counts),
        "counts of dict": lambda: WordCounts(as_dict).to_bytes(),
        "counts add": lambda: (counts + counts).to_bytes(),
        "counts merge": merged,
        "train_bpe": lambda: sentitok.train_bpe(texts=lines, vocab_size=3000, threads=2).to_bytes(),
        "train_bpe solid": lambda: sentitok.train_bpe(texts=solid, vocab_size=1000, threads=2).to_bytes(),
        "train_bpe of counts": lambda: sentitok.train_bpe(counts, vocab_size=3000).to_bytes(),
        "train_bpe sentencepiece": lambda: sentitok.train_bpe(
            texts=lines, vocab_size=1000, method="sentencepiece"
        ).to_bytes(),
        "train_unigram": lambda: sentitok.train_unigram(texts=lines, vocab_size=1000, threads=2).to_bytes(),
        "train_unigram solid": lambda: sentitok.train_unigram(
            texts=solid, vocab_size=1000, threads=2
        ).to_bytes(),
        "train_unigram sentencepiece": lambda: sentitok.train_unigram(
            texts=lines, vocab_size=1000, threads=2, method="sentencepiece"
        ).to_bytes(),
        "train_wordpiece": lambda: sentitok.train_wordpiece(texts=lines, vocab_size=1000).to_bytes(),
        "train_wordpiece pmi": lambda: sentitok.train_wordpiece(
            texts=lines, vocab_size=1000, score="pmi"
        ).to_bytes(),
        "encode_files": encode_files,
        "pre_tokenizer": lambda: [PreTokenizer("gpt2").pieces(line) for line in solid],
        "normalizer": lambda: [Normalizer("nfkd").normalize(line) for line in solid],
    }


def digest(value: object) -> bytes:
    """What tells two answers apart."""
    if hasattr(value, "tobytes"):
        value = value.tobytes()
    elif isinstance(value, (list, tuple)):
        return hashlib.sha256(b"".join(map(digest, value))).digest()
    data = value if isinstance(value, bytes) else repr(value).encode(errors="surrogatepass")
    return hashlib.sha256(data).digest()


def limit(more: int | None) -> None:
    """Lets the process have so many bytes beside what it has mapped; `None`: all."""
    if more is None:
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        return
    with open("/proc/self/statm") as file:
        mapped = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (mapped + more, resource.RLIM_INFINITY))


def drain() -> list[object]:
    """Takes what the package has kept of freed blocks, which no limit holds back."""
    tokenizer = byte_bpe()
    held: list[object] = []
    data = b"\xff" * ((1 << 18) + 1000)
    while len(held) < 100:
        held.append(tokenizer.encode(data).ids)
    return held


def in_child(work: Callable[[], bytes]) -> tuple[int, bytes]:
    """How a child ended that does some work, and what it answered."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        status = 1
        try:
            os.write(write, work())
            status = 0
        finally:
            os._exit(status)
    os.close(write)
    answer = b""
    while part := os.read(read, 1 << 16):
        answer += part
    os.close(read)
    return os.waitpid(child, 0)[1], answer


def attempt(work: Work, small: Work, expected: bytes, expected_small: bytes, more: int) -> bytes:
    """What becomes of work that has so many bytes."""
    limit(more)
    try:
        answer = b"equal" if digest(work()) == expected else b"another answer"
    except MemoryError:
        answer = b"MemoryError"
    except sentitok.InternalError as error:
        answer = f"InternalError: {error}".encode()
    except sentitok.SentitokError:
        answer = b"error"
    except OSError as error:
        answer = b"error" if error.errno == errno.ENOMEM else repr(error).encode()
    except BaseException as error:
        answer = f"{type(error).__name__}: {error}".encode()
    limit(None)
    return answer if digest(small()) == expected_small else b"another answer to a small text"


def sweep(operations: dict[str, Work], small: Work, megabytes: list[float], label: str) -> bool:
    """Runs each operation under each limit; whether all ended well."""
    ended: collections.Counter[str] = collections.Counter()
    well = True
    expected_small = digest(small())
    for name, work in operations.items():
        status, expected = in_child(lambda work=work: digest(work()))  # type: ignore[misc]
        assert status == 0, f"{label}: {name}: fails without a limit: {status}"
        for more in megabytes:
            status, answer = in_child(
                lambda work=work, expected=expected, more=more: attempt(  # type: ignore[misc]
                    work, small, expected, expected_small, int(more * (1 << 20))
                )
            )
            found = answer.decode(errors="replace")
            if os.WIFSIGNALED(status):
                found = signal.Signals(os.WTERMSIG(status)).name
            elif status != 0:
                found = found or f"status {status}"
            ended[found if found in ANSWERS else "badly"] += 1
            if found not in ANSWERS:
                well = False
                print(f"{label}: {name}, {more} MB: {found}", flush=True)
    print(label, dict(ended), flush=True)
    return well


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", help="a model, large:KIND or corpus")
    parser.add_argument("operations", nargs="*")
    parser.add_argument("--megabytes", nargs="+", type=float, default=[2.0**n for n in range(1, 10)])
    parser.add_argument("--size", type=int, default=3_000_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if given.what == "corpus":
            tokenizer = byte_bpe()
            operations = corpus_operations(given.size, Path(folder))
        elif given.what.startswith("large:"):
            tokenizer = byte_bpe()
            operations = files_operations(given.what.removeprefix("large:"), given.size, Path(folder))
        else:
            tokenizer = MODELS[given.what]()
            operations = texts_operations(tokenizer, given.what, given.size)
        if given.operations:
            operations = {name: operations[name] for name in given.operations}
        held = drain()
        assert held
        return 0 if sweep(operations, lambda: tokenizer.encode(SMALL).ids, given.megabytes, given.what) else 1


if __name__ == "__main__":
    sys.exit(main())
