"""Tokenizer files made to be slow or large: `python benches/hostile_files.py [word]`.

Each has less than 100 KB, or `n_bytes`, and comes with a text that hurts it most.
To use a file is to load it, to encode 100 KB of that text with spans, to count
and to decode its ids; this may take a second and 200 MB in all. Measured as well:
the doctor, pruning and saving. A file may also be refused; then the time of that
counts. Each is measured in a separate process.
"""

import multiprocessing
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from tokenizer_bytes import (
    added,
    bpe_bytes,
    json_bytes,
    normalizers,
    pre_tokenizers,
    ranks_bytes,
    replace,
    sentencepiece_bytes,
    split,
    staged_bytes,
    unigram_bytes,
    word_piece_bytes,
)

N_BYTES = 100_000
#: Steps that a normalizer may have.
N_STEPS = 64
TEXT_BYTES = 100_000
#: The calls that are timed as use.
USE = ("load", "encode", "count", "decode")

# The format's file name, its bytes, and the text to encode, to be repeated.
File = tuple[str, bytes, str]


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


BERT = {
    "type": "BertNormalizer",
    "clean_text": True,
    "handle_chinese_chars": False,
    "strip_accents": False,
    "lowercase": True,
}


def _stages() -> dict[str, Callable[[], File]]:
    """Normalizers, splitters and decoders, many of them or one that makes much."""

    def staged(text: str, *args: Any, **stages: Any) -> Callable[[], File]:
        return lambda: ("tokenizer.json", staged_bytes(*args, **stages), text)

    to_and_fro = [replace("a", "xy"), replace("xy", "a")] * (N_STEPS // 2)
    deep: dict[str, Any] = {"type": "NFC"}
    for _ in range(50):
        deep = normalizers(deep)
    look_around = r"(?<=a)b(?=a)|a(?!a)|\s+(?!\S)"
    pairs = [replace(f"a{chr(0x4E00 + at)}", "a") for at in range(N_STEPS)]
    return {
        "normalizer, many that replace all": staged("a", normalizers(*to_and_fro)),
        "normalizer, many that replace every other": staged("ab", normalizers(*to_and_fro)),
        "normalizer, many that find nothing": staged("a", normalizers(*pairs)),
        "normalizer, many swaps of letters": staged(
            "a", normalizers(*[replace("a", "b"), replace("b", "a")] * (N_STEPS // 2))
        ),
        "normalizer, many of two bytes": staged(
            "é", normalizers(*[replace("é", "è"), replace("è", "é")] * (N_STEPS // 2))
        ),
        "normalizer, 16 letters for one": staged("h", replace("h", "ab" * 8)),
        "normalizer, 60 letters for one": staged("h", replace("h", "a" * 60)),
        "normalizer, 16 for one and 15 that replace": staged(
            "h", normalizers(replace("h", "a" * 16), *[replace("a", "é"), replace("é", "a")] * 7)
        ),
        "normalizer, a mark before each section": staged(
            "h<", {"type": "Prepend", "prepend": "ab" * 32}, added_tokens=added(["<"], 0)
        ),
        "normalizer, 16 patterns": staged(
            "ab", normalizers(*[replace("a", "xy", "Regex"), replace("xy", "a", "Regex")] * 8)
        ),
        "normalizer, 16 patterns that read on": staged(
            "a", normalizers(*[replace("a*b|a", "a", "Regex")] * 16)
        ),
        "normalizer, many of BERT": staged("aé\u0301\u0323", normalizers(*[BERT] * N_STEPS)),
        "normalizer, many of BERT with Chinese": staged(
            "中", normalizers(*[BERT | {"handle_chinese_chars": True}] * N_STEPS)
        ),
        "normalizer, NFD and NFC 32 times": staged(
            "é가\u0323", normalizers(*[{"type": "NFD"}, {"type": "NFC"}] * (N_STEPS // 2))
        ),
        "normalizer, NFKD of U+FDFA and 63 more": staged(
            "\ufdfa", normalizers(*[{"type": "NFKD"}] * N_STEPS)
        ),
        "normalizer, 64 marks on a letter": staged(
            "a" + "\u0323\u0301" * 999, normalizers(*[{"type": "NFC"}] * N_STEPS)
        ),
        "normalizer, lower case 64 times": staged("ÉA", normalizers(*[{"type": "Lowercase"}] * N_STEPS)),
        "normalizer, steps in steps": staged("é", deep),
        "splitters, 16 that look around": staged(
            "aab aba ", None, pre_tokenizers(*[split(look_around)] * 16)
        ),
        "splitters, 16 linear": staged("aab ", None, pre_tokenizers(*[split("a|b+")] * 16)),
        "splitters, many classes": staged("aé", None, split(r"\w\d" * 512 + r"|\p{L}{1,9}")),
        "splitters, states without end": staged("ab", None, split("[ab]*a[ab]{200}")),
        "splitters, step limit": staged("a", None, split(r"(?=a*a*a*b)x")),
        "splitters, step limit on pieces": staged(
            "a", None, pre_tokenizers(split("a{160}"), split(r"(?=a*a*a*b)x"))
        ),
        "splitters, below the step limit on sections": staged(
            "a" * 30 + "<", None, split(r"(?=a*a*b)x"), added_tokens=added(["<"], 0)
        ),
        "splitters, 500 alternatives": staged("a1b", None, split("|".join(f"a{n}b" for n in range(500)))),
        "splitters, 64 of digits": staged(
            "a1", None, pre_tokenizers(*[{"type": "Digits", "individual_digits": True}] * N_STEPS)
        ),
        "added tokens, nested": lambda: (
            "tokenizer.json",
            staged_bytes(added_tokens=added(["a" * n for n in range(2, 300)], 20, normalized=True)),
            "a",
        ),
        "added tokens, one far longer": lambda: (
            "tokenizer.json",
            staged_bytes(added_tokens=added(["a", "a" * 40_000 + "b"], 20, normalized=True)),
            "a",
        ),
        "added tokens, with flags": lambda: (
            "tokenizer.json",
            staged_bytes(
                added_tokens=added(["a", "b"], 1, normalized=True, lstrip=True, rstrip=True, single_word=True)
            ),
            "a   b   ",
        ),
        "added tokens, lstrip of blanks": lambda: (
            "tokenizer.json",
            staged_bytes(added_tokens=added(["b"], 2, lstrip=True, rstrip=True)),
            " " * 999 + "a" + " " * 999 + "b",
        ),
        "template, 1000 tokens": staged(
            "a",
            post_processor={
                "type": "TemplateProcessing",
                "single": [{"Sequence": {"id": "A", "type_id": 0}}]
                + [{"SpecialToken": {"id": "<", "type_id": 0}}] * 1000,
                "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
                "special_tokens": {"<": {"id": "<", "ids": [0], "tokens": ["<"]}},
            },
        ),
        "decoder, replaces by much": staged(
            "a",
            decoder={
                "type": "Sequence",
                "decoders": [{"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 9999}] * 8,
            },
        ),
        "decoder, one long content": staged(
            "a", decoder={"type": "Replace", "pattern": {"String": "▁"}, "content": "b" * 90_000}
        ),
    }


def files(n_bytes: int = N_BYTES) -> dict[str, Callable[[], File]]:
    """Names and makers of the files, each about `n_bytes` long."""
    tokens = n_bytes * 3 // 4
    a_chain = [length for length in _lengths(tokens - 6 * 256) if length > 1]
    half = [length for length in _lengths(n_bytes // 3) if length > 1]

    def tiktoken(made: list[bytes], text: str) -> File:
        return "x.tiktoken", ranks_bytes(made), text

    def bpe(merges: list[tuple[str, str]], text: str, **options: Any) -> File:
        return "tokenizer.json", bpe_bytes(merges, **options), text

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
        "ranks, great ids": lambda: ("x.tiktoken", ranks_bytes([]) + b"YWE= 1000000\n", "aab"),
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
            unigram_bytes([("a", -1.0), *(("a" * (word - at), -9.0 - at) for at in range(n_words))]),
            "a",
        ),
        "Unigram, a to a^n": lambda: (
            "tokenizer.json",
            unigram_bytes(
                [("a" * length, -(length**0.5)) for length in _lengths(n_bytes - 12 * len(a_chain))]
            ),
            "a",
        ),
        "Unigram, a^3 to a^3n": lambda: (
            "tokenizer.json",
            unigram_bytes(
                [("a", -2.0), *(("a" * (3 * length), -(length**0.5)) for length in _lengths(n_bytes // 4))]
            ),
            "a",
        ),
        ".model, Unigram of a to a^n": lambda: (
            "tokenizer.model",
            sentencepiece_bytes(
                [("▁", -1.0), *(("a" * length, -(length**0.5)) for length in _lengths(n_bytes * 3 // 4))], 1
            ),
            "a",
        ),
        ".model, Unigram of one long piece": lambda: (
            "tokenizer.model",
            sentencepiece_bytes(
                [("▁", -1.0), ("a", -1.0), *(("a" * (word - at), -9.0) for at in range(n_words))], 1
            ),
            "a",
        ),
        ".model, BPE of equal scores": lambda: (
            "tokenizer.model",
            sentencepiece_bytes(
                [("▁", -1.0), *(("a" * length, -1.0) for length in _lengths(n_bytes * 3 // 4))], 2
            ),
            "a",
        ),
        ".model, BPE of one long piece": lambda: (
            "tokenizer.model",
            sentencepiece_bytes([("▁", -1.0), ("a", -1.0), ("b", -1.0), ("ab", -1.0), ("ab" * 3999, 0.0)], 2),
            "ab",
        ),
        "WordPiece, one long token": lambda: (
            "tokenizer.json",
            word_piece_bytes(["a", "##a", "##" + "a" * (n_bytes // 2), "a" * (n_bytes // 3)]),
            "a",
        ),
        "WordPiece, a to a^n and a^n b": lambda: (
            "tokenizer.json",
            word_piece_bytes(
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
            word_piece_bytes(
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
            json_bytes(
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
        **_stages(),
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
        encoding = timed("encode", lambda: tokenizer.encode(text))
        timed("count", lambda: tokenizer.count(text))
        if encoding is not None:
            timed("decode", lambda: tokenizer.decode(encoding.ids))
    memory = (peak_memory() or 0) - before
    if tokenizer is not None:
        timed("doctor", tokenizer.doctor)
        timed("prune", lambda: tokenizer.prune([0]))
        timed("save", lambda: tokenizer.save(target))
    used = sum(seconds.get(name, 0.0) for name in USE)
    return {"use": used, **seconds, "memory": memory, "refused": refused}


def write(folder: Path, name: str, file: File, text_bytes: int = TEXT_BYTES) -> dict[str, Any]:
    """Writes a file and returns the job of measuring it."""
    base, data, unit = file
    place = folder / "".join(c if c.isalnum() else "-" for c in name)
    place.mkdir()
    (place / base).write_bytes(data)
    text = unit * (text_bytes // len(unit.encode()))
    return {"path": str(place / base), "text": text, "target": str(place / "saved.sentitok")}


def main() -> None:
    """Prints a line a file: for a quick look."""
    with tempfile.TemporaryDirectory() as folder:
        for name, make in files().items():
            if any(word in name for word in sys.argv[1:]) or len(sys.argv) == 1:
                job = write(Path(folder), name, make())
                size = Path(job["path"]).stat().st_size
                with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as one:
                    outcome = one.submit(use, **job).result()
                shown = (
                    f"{key} {value:.3f}" if isinstance(value, float) else f"{key} {value}"
                    for key, value in outcome.items()
                )
                print(f"{name} ({size}):", ", ".join(shown), flush=True)


if __name__ == "__main__":
    main()
