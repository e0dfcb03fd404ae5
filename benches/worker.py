"""One measurement in a process of its own: `python benches/worker.py < job.json`.

A process of its own has cold caches and a peak memory that is its own. The job
is a JSON object with a `task`; the result is one JSON object on stdout.
Training is timed from the path of the text to the trained model, by the
quickest road each library documents for a file.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from sentitok.cli import rivals
from sentitok.cli.output import peak_memory

GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"

# A trainer takes the path and the size; what it returns lists the tokens, and
# is called when the clock has stopped.
Tokens = Callable[[], set[bytes]]
Train = Callable[[str, int], Tokens]


def _from_byte_level(vocab: dict[str, int]) -> set[bytes]:
    """Tokens as bytes, from the spelling of GPT-2's files."""
    kept = [*range(33, 127), *range(161, 173), *range(174, 256)]
    moved = [byte for byte in range(256) if byte not in kept]
    table = {chr(byte): byte for byte in kept} | {chr(256 + i): byte for i, byte in enumerate(moved)}
    return {bytes(table[char] for char in token) for token in vocab}


def train_sentitok(path: str, vocab_size: int) -> Tokens:
    import sentitok

    tokenizer = sentitok.train_bpe(path, vocab_size=vocab_size)
    return lambda: _from_byte_level(tokenizer.vocab())


def train_tokenizers(path: str, vocab_size: int) -> Tokens:
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=vocab_size, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train([path], trainer)
    return lambda: _from_byte_level(tokenizer.get_vocab())


def train_ffbpe(path: str, vocab_size: int) -> Tokens:
    import ffbpe

    with open(path, encoding="utf-8", newline="") as file:
        model = ffbpe.train_bpe(file, vocab_size=vocab_size)
    return lambda: {bytes(token) for token in dict(model.vocab)}


def train_gigatoken(path: str, vocab_size: int) -> Tokens:
    import gigatoken

    vocab, _ = gigatoken.train_bpe(gigatoken.TextFileSource([path]), vocab_size, [], "huggingface")
    return lambda: {bytes(token) for token in vocab.values()}


def train_rustbpe(path: str, vocab_size: int) -> Tokens:
    import rustbpe

    tokenizer = rustbpe.Tokenizer()
    with open(path, encoding="utf-8", newline="\n") as file:
        tokenizer.train_from_iterator(file, vocab_size, pattern=GPT2)
    return lambda: {bytes(token) for token, _ in tokenizer.get_mergeable_ranks()}


def train_bpeasy(path: str, vocab_size: int) -> Tokens:
    import bpeasy

    with open(path, encoding="utf-8", newline="\n") as file:
        vocab = bpeasy.train_bpe(file, GPT2, 128, vocab_size)
    return lambda: {bytes(token) for token in vocab}


def train_sentencepiece(path: str, vocab_size: int) -> Tokens:
    import io

    import sentencepiece

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        input=path,
        model_writer=model,
        model_type="bpe",
        vocab_size=vocab_size,
        num_threads=os.cpu_count() or 1,
        max_sentence_length=1 << 20,
        minloglevel=2,
    )

    def tokens() -> set[bytes]:
        processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
        pieces = [processor.id_to_piece(i) for i in range(processor.vocab_size())]
        return {piece.replace("▁", " ").encode() for piece in pieces}

    return tokens


TRAINERS: dict[str, Train] = {
    "sentitok": train_sentitok,
    "tokenizers": train_tokenizers,
    "ffbpe": train_ffbpe,
    "gigatoken": train_gigatoken,
    "rustbpe": train_rustbpe,
    "bpeasy": train_bpeasy,
    "sentencepiece": train_sentencepiece,
}


def train(job: dict[str, Any]) -> dict[str, Any]:
    """Trains one library; the tokens go to a file for comparison."""
    started = time.perf_counter()
    tokens = TRAINERS[job["rival"]](job["path"], job["vocab_size"])
    seconds = time.perf_counter() - started
    peak = peak_memory()
    with open(job["tokens"], "w", encoding="utf-8") as file:
        json.dump(sorted(token.hex() for token in tokens()), file)
    return {"seconds": seconds, "peak_memory_bytes": peak, "version": rivals.release(job["rival"])}


def growth(job: dict[str, Any]) -> dict[str, Any]:
    """Trains ours and says how many distinct pieces there were."""
    import sentitok

    started = time.perf_counter()
    tokenizer = sentitok.train_bpe(job["path"], vocab_size=job["vocab_size"])
    seconds = time.perf_counter() - started
    report = tokenizer.report
    assert report is not None  # it was trained here
    return {
        "seconds": seconds,
        "stages": report.seconds,
        "distinct_pieces": report.distinct_pieces,
        "peak_memory_bytes": peak_memory(),
    }


def hostile_texts(n: int) -> dict[str, str | bytes]:
    """Texts that break quadratic algorithms, about `n` bytes each."""
    state = 0x9E3779B97F4A7C15
    random = bytearray()
    while len(random) < n:  # xorshift64: the same bytes everywhere
        state ^= (state << 13) & (2**64 - 1)
        state ^= state >> 7
        state ^= (state << 17) & (2**64 - 1)
        random += state.to_bytes(8, "little")
    return {
        "one letter": "a" * n,
        "two letters": "ab" * (n // 2),
        "blanks": " " * n,
        "line feeds": "\n" * n,
        "digits": "7" * n,
        "one CJK character": "日" * (n // 3),
        "combining marks": "e" + "\u0301" * (n // 2),
        "joined emoji": "👩\u200d" * (n // 7),
        "random bytes": bytes(random[:n]),
    }


def hostile(job: dict[str, Any]) -> dict[str, Any]:
    """Times encoding and training of one hostile text; the best of three."""
    import sentitok

    text = hostile_texts(job["n"])[job["text"]]
    tokenizer = sentitok.Tokenizer.from_file(job["json"])
    encoding, training = [], []
    for _ in range(3):
        started = time.perf_counter()
        tokenizer.encode(text)
        encoding.append(time.perf_counter() - started)
        started = time.perf_counter()
        sentitok.train_bpe(texts=[text], vocab_size=1000, invalid_utf8="bytes")
        training.append(time.perf_counter() - started)
    return {"encode_s": min(encoding), "train_s": min(training)}


def _load_gigatoken(job: dict[str, Any]) -> tuple[rivals.Encode, rivals.Rows]:
    import gigatoken
    import numpy as np

    tokenizer = gigatoken.Tokenizer(job["json"])
    parallel = job["threads"] > 1
    return (
        lambda texts: tokenizer.encode_batch(texts, parallel=parallel),
        lambda found: [np.asarray(row) for row in found],
    )


def encode(job: dict[str, Any]) -> dict[str, Any]:
    """Encodes documents twice: the first time cold, the second time warm."""
    return rivals.run(job, {**rivals.LOADERS, "gigatoken": _load_gigatoken})


TASKS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "train": train,
    "growth": growth,
    "hostile": hostile,
    "encode": encode,
}


def main() -> None:
    """Reads the job from stdin, does it, writes the result."""
    job = json.load(sys.stdin)
    # Some libraries print while they work.
    result_fd = os.dup(1)
    os.dup2(2, 1)
    result = TASKS[job["task"]](job)
    with os.fdopen(result_fd, "w") as out:
        json.dump(result, out)


if __name__ == "__main__":
    main()
