"""Tokenizer files made to be slow or large: `python benches/hostile_files.py [word]`.

Each has less than 100 KB, or `n_bytes`, and comes with a text that hurts it most.
Measured in processes of their own: loading, encoding 1 MB, and what else is done
with a tokenizer. A file may also be refused; then the time of that counts.
"""

import base64
import json
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

N_BYTES = 100_000
TEXT_BYTES = 1_000_000

# The format's file name, its bytes, and the text to encode, to be repeated.
File = tuple[str, bytes, str]


def _ranks(tokens: list[bytes]) -> bytes:
    """A `.tiktoken` file: all bytes, then these tokens."""
    every = [bytes([byte]) for byte in range(256)]
    rows = [*every, *(token for token in dict.fromkeys(tokens) if len(token) > 1)]
    return b"".join(base64.b64encode(token) + f" {rank}\n".encode() for rank, token in enumerate(rows))


def _json(model: dict[str, Any], pre_tokenizer: dict[str, Any] | None = None, **rest: Any) -> bytes:
    whole = {"version": "1.0", "model": model, "pre_tokenizer": pre_tokenizer, **rest}
    return json.dumps(whole, ensure_ascii=False).encode()


def _bpe(merges: list[tuple[str, str]], **options: Any) -> bytes:
    """A BPE `tokenizer.json` over characters."""
    prefix = options.get("continuing_subword_prefix") or ""
    tokens = [part for merge in merges for part in merge]
    tokens += [left + right.removeprefix(prefix) for left, right in merges]
    vocab = {token: id for id, token in enumerate(dict.fromkeys(tokens))}
    rows = [f"{left} {right}" for left, right in merges]
    return _json({"type": "BPE", "vocab": vocab, "merges": rows, **options})


def _unigram(pieces: list[tuple[str, float]]) -> bytes:
    """A Unigram `tokenizer.json`."""
    return _json({"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], *pieces]})


def _sentencepiece(pieces: list[tuple[str, float]], model_type: int) -> bytes:
    """A SentencePiece `.model`: 1 is Unigram, 2 is BPE."""

    def varint(n: int) -> bytes:
        return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)

    def field(number: int, data: bytes) -> bytes:
        return varint(number << 3 | 2) + varint(len(data)) + data

    def piece(text: str, score: float, kind: int) -> bytes:
        number = struct.pack("<f", score)
        return field(1, field(1, text.encode()) + b"\x15" + number + b"\x18" + varint(kind))

    special = [("<unk>", 0.0, 2), ("<s>", 0.0, 3), ("</s>", 0.0, 3)]
    rows = [*special, *((text, score, 1) for text, score in pieces)]
    return b"".join(piece(*row) for row in rows) + field(2, b"\x18" + varint(model_type))


def _word_piece(tokens: list[str], **options: Any) -> bytes:
    """A WordPiece `tokenizer.json`."""
    vocab = {token: id for id, token in enumerate(dict.fromkeys(["[UNK]", *tokens]))}
    return _json(
        {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "max_input_chars_per_word": 10**9,
            "vocab": vocab,
            **options,
        }
    )


def _lengths(n_bytes: int) -> Iterator[int]:
    """1, 2, 3, ... while their sum is at most so much."""
    length, total = 1, 1
    while total <= n_bytes:
        yield length
        length += 1
        total += length


def _colliding(n: int) -> list[tuple[str, str]]:
    """Merges whose pairs of ids had neighbouring hashes under Fibonacci hashing.

    The first ids are those of characters, so each is known before the file is
    written: of all pairs those with the least hashes are taken.
    """
    chars = [chr(0x4E00 + at) for at in range(2 * n)]
    golden = 0x9E3779B97F4A7C15
    pairs = ((left, right) for left in range(0, 2 * n, 7) for right in range(0, 2 * n, 5))
    near = sorted(pairs, key=lambda pair: (pair[0] << 32 | pair[1]) * golden % 2**64)[:n]
    # Every character is met in the order of its id.
    return [(chars[at], chars[at + 1]) for at in range(0, 2 * n, 2)] + [
        (chars[left], chars[right]) for left, right in near
    ]


def files(n_bytes: int = N_BYTES) -> dict[str, Callable[[], File]]:
    """Names and makers of the files, each about `n_bytes` long."""
    tokens = n_bytes * 3 // 4
    a_chain = [length for length in _lengths(tokens - 6 * 256) if length > 1]
    half = [length for length in _lengths(n_bytes // 3) if length > 1]

    def tiktoken(made: list[bytes], text: str) -> File:
        return "x.tiktoken", _ranks(made), text

    def bpe(merges: list[tuple[str, str]], text: str, **options: Any) -> File:
        return "tokenizer.json", _bpe(merges, **options), text

    def doubling(most: int) -> list[tuple[str, str]]:
        parts = ["a" * 2**n for n in range(most.bit_length() - 1)]
        return [(part, part) for part in parts]

    long = "ab" * (n_bytes // 16)
    word = 7999
    n_words = max(1, n_bytes // (word + 12) - 1)
    return {
        "ranks, one long token": lambda: tiktoken([b"a" * (tokens - 2400)], "a"),
        "ranks, one long token of all cuts": lambda: tiktoken([b"ab" * (tokens // 2 - 1200)], "ab"),
        "ranks, a to a^n": lambda: tiktoken([b"a" * length for length in a_chain], "a"),
        "ranks, a^n b and b a^n": lambda: tiktoken(
            [token for length in half for token in (b"a" * length + b"b", b"b" + b"a" * length)], "aaaaaaab"
        ),
        "ranks, long token of 2-byte characters": lambda: tiktoken(
            ["éà".encode() * (tokens // 4 - 600)], "éà"
        ),
        "ranks, great ids": lambda: ("x.tiktoken", _ranks([]) + b"YWE= 1000000\n", "aab"),
        "merges, doubling": lambda: bpe(doubling(n_bytes // 8), "a"),
        "merges, a to a^n": lambda: bpe([("a" * length, "a") for length in _lengths(n_bytes // 5)], "a"),
        "merges, right to left": lambda: bpe(
            [("a", "a" * length + "b") for length in [0, *_lengths(n_bytes // 4)]], "aaaaaaaaaaaaaaaaaaaaab"
        ),
        "merges, one long token": lambda: bpe([(long, long)], "ab"),
        "merges, a long prefix": lambda: bpe(
            [("a", "#" * 250 + "b")], "ab", continuing_subword_prefix="#" * 250
        ),
        "merges that collide": lambda: bpe(_colliding(n_bytes // 40), "中乙丙"),
        "Unigram, one long piece": lambda: (
            "tokenizer.json",
            _unigram([("a", -1.0), *(("a" * (word - at), -9.0 - at) for at in range(n_words))]),
            "a",
        ),
        "Unigram, a to a^n": lambda: (
            "tokenizer.json",
            _unigram([("a" * length, -(length**0.5)) for length in _lengths(n_bytes - 12 * len(a_chain))]),
            "a",
        ),
        ".model, Unigram of one long piece": lambda: (
            "tokenizer.model",
            _sentencepiece(
                [("▁", -1.0), ("a", -1.0), *(("a" * (word - at), -9.0) for at in range(n_words))], 1
            ),
            "a",
        ),
        ".model, BPE of equal scores": lambda: (
            "tokenizer.model",
            _sentencepiece(
                [("▁", -1.0), *(("a" * length, -1.0) for length in _lengths(n_bytes * 3 // 4))], 2
            ),
            "a",
        ),
        ".model, BPE of one long piece": lambda: (
            "tokenizer.model",
            _sentencepiece([("▁", -1.0), ("a", -1.0), ("b", -1.0), ("ab", -1.0), ("ab" * 3999, 0.0)], 2),
            "ab",
        ),
        "WordPiece, one long token": lambda: (
            "tokenizer.json",
            _word_piece(["a", "##a", "##" + "a" * (n_bytes // 2), "a" * (n_bytes // 3)]),
            "a",
        ),
        "WordPiece, a to a^n and a^n b": lambda: (
            "tokenizer.json",
            _word_piece(
                [
                    "a",
                    *("##" + "a" * length for length in _lengths(n_bytes // 3)),
                    *("##" + "a" * length + "b" for length in half),
                ]
            ),
            "a",
        ),
        "WordPiece, 200 children": lambda: (
            "tokenizer.json",
            _word_piece(
                [
                    "a",
                    "##a",
                    *(
                        "##" + "".join((chr(0x21 + a % 90), chr(0x21 + b % 90)))
                        for a in range(60)
                        for b in range(60)
                    ),
                ]
            ),
            "a~!}A",
        ),
        "vocab.txt, one long token": lambda: (
            "vocab.txt",
            ("[UNK]\n[CLS]\n[SEP]\na\n##a\n" + "a" * (n_bytes // 2) + "\n").encode(),
            "a",
        ),
        "many tiny added tokens": lambda: (
            "tokenizer.json",
            _json(
                {"type": "BPE", "vocab": {"x": 0, "y": 1}, "merges": []},
                added_tokens=[
                    {
                        "id": 2 + at,
                        "content": f"{at:x}",
                        "special": False,
                        "normalized": bool(at % 2),
                        "single_word": False,
                        "lstrip": False,
                        "rstrip": False,
                    }
                    for at in range(n_bytes // 125)
                ],
            ),
            "abcdef0123456789",
        ),
    }


def use(path: str, text: str, target: str) -> dict[str, Any]:
    """Loads a file, uses it in every way, and says how much processor time each took."""
    import sentitok
    from sentitok.cli.output import peak_memory

    seconds: dict[str, float] = {}
    refused = ""

    def timed(name: str, action: Callable[[], Any]) -> Any:
        nonlocal refused
        started = time.process_time()
        try:
            return action()
        except (sentitok.SentitokError, ValueError) as error:
            refused = refused or f"{name}: {str(error).removeprefix(path)[:80]}"
            return None
        finally:
            seconds[name] = time.process_time() - started

    def load() -> Any:
        if path.endswith(".tiktoken"):
            return sentitok.Tokenizer.from_tiktoken(path, "cl100k")
        if path.endswith("vocab.txt"):
            return sentitok.Tokenizer.from_bert_vocab(path, lowercase=True)
        return sentitok.Tokenizer.from_file(path)

    before = peak_memory() or 0
    tokenizer = timed("load", load)
    if tokenizer is not None:
        timed("encode", lambda: tokenizer.encode(text))
        timed("doctor", tokenizer.doctor)
        timed("prune", lambda: tokenizer.prune([0]))
        timed("save", lambda: tokenizer.save(target))
    return {**seconds, "memory": (peak_memory() or 0) - before, "refused": refused}


def write(folder: Path, name: str, file: File, text_bytes: int = TEXT_BYTES) -> dict[str, Any]:
    """Writes a file and returns the job of measuring it."""
    base, data, unit = file
    place = folder / "".join(c if c.isalnum() else "-" for c in name)
    place.mkdir()
    (place / base).write_bytes(data)
    text = unit * (text_bytes // len(unit.encode()))
    return {"path": str(place / base), "text": text, "target": str(place / "saved.sentitok")}


def main() -> None:
    """Prints a line a file, in this process: for a quick look."""
    with tempfile.TemporaryDirectory() as folder:
        for name, make in files().items():
            if any(word in name for word in sys.argv[1:]) or len(sys.argv) == 1:
                job = write(Path(folder), name, make())
                size = Path(job["path"]).stat().st_size
                found = use(**job)
                shown = (
                    f"{key} {value:.3f}" if isinstance(value, float) else f"{key} {value}"
                    for key, value in found.items()
                )
                print(f"{name} ({size}):", ", ".join(shown), flush=True)


if __name__ == "__main__":
    main()
