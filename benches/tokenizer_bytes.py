"""Builds tokenizer files, as bytes, and parts of them; for `hostile_files.py`."""

import base64
import json
import struct
from collections.abc import Iterator
from typing import Any


def ranks_bytes(tokens: list[bytes]) -> bytes:
    """A `.tiktoken` file: all bytes, then these tokens."""
    every = [bytes([byte]) for byte in range(256)]
    rows = [*every, *(token for token in dict.fromkeys(tokens) if len(token) > 1)]
    return b"".join(base64.b64encode(token) + f" {rank}\n".encode() for rank, token in enumerate(rows))


def json_bytes(model: dict[str, Any], pre_tokenizer: dict[str, Any] | None = None, **rest: Any) -> bytes:
    """A `tokenizer.json` of a model and other stages."""
    whole = {"version": "1.0", "model": model, "pre_tokenizer": pre_tokenizer, **rest}
    return json.dumps(whole, ensure_ascii=False).encode()


def bpe_bytes(merges: list[tuple[str, str]], **options: Any) -> bytes:
    """A BPE `tokenizer.json` over characters."""
    prefix = options.get("continuing_subword_prefix") or ""
    tokens = [part for merge in merges for part in merge]
    tokens += [left + right.removeprefix(prefix) for left, right in merges]
    vocab = {token: id for id, token in enumerate(dict.fromkeys(tokens))}
    rows = [f"{left} {right}" for left, right in merges]
    return json_bytes({"type": "BPE", "vocab": vocab, "merges": rows, **options})


def unigram_bytes(pieces: list[tuple[str, float]]) -> bytes:
    """A Unigram `tokenizer.json`."""
    return json_bytes({"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], *pieces]})


def sentencepiece_bytes(pieces: list[tuple[str, float]], model_type: int) -> bytes:
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


def word_piece_bytes(tokens: list[str], **options: Any) -> bytes:
    """A WordPiece `tokenizer.json`."""
    vocab = {token: id for id, token in enumerate(dict.fromkeys(["[UNK]", *tokens]))}
    return json_bytes(
        {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "max_input_chars_per_word": 10**9,
            "vocab": vocab,
            **options,
        }
    )


def staged_bytes(normalizer: Any = None, pre_tokenizer: Any = None, **rest: Any) -> bytes:
    """A BPE of a few letters behind other stages."""
    letters = dict.fromkeys("<abchxy123éè▁中 ")
    model = {"type": "BPE", "unk_token": "<", "vocab": {c: id for id, c in enumerate(letters)}, "merges": []}
    return json_bytes(model, pre_tokenizer, normalizer=normalizer, **rest)


def replace(pattern: str, content: str, kind: str = "String") -> dict[str, Any]:
    """A step of a normalizer that replaces a text, or what a pattern finds."""
    return {"type": "Replace", "pattern": {kind: pattern}, "content": content}


def normalizers(*steps: dict[str, Any]) -> dict[str, Any]:
    """Steps of a normalizer."""
    return {"type": "Sequence", "normalizers": list(steps)}


def split(pattern: str, behavior: str = "Isolated") -> dict[str, Any]:
    """A step of a pre-tokenizer that splits by a pattern."""
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": False}


def pre_tokenizers(*steps: dict[str, Any]) -> dict[str, Any]:
    """Steps of a pre-tokenizer."""
    return {"type": "Sequence", "pretokenizers": list(steps)}


def added(contents: Iterator[str] | list[str], first: int, **flags: bool) -> list[dict[str, Any]]:
    """Added tokens with ids from `first` on."""
    names = ("special", "normalized", "single_word", "lstrip", "rstrip")
    every = dict.fromkeys(names, False) | flags
    return [{"id": first + at, "content": content, **every} for at, content in enumerate(contents)]
