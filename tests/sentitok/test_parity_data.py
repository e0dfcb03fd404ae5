"""GPT-2, cl100k and o200k against tiktoken and tokenizers, over the shared data."""

import base64
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
import tiktoken
import tokenizers
from numpy.typing import NDArray
from tiktoken_ext import openai_public

import shared_data
from sentitok import Tokenizer

NAMES = {"gpt2": ("gpt2/r50k_base.tiktoken", "gpt2"), "cl100k": ("cl100k_base.tiktoken", "cl100k")}
NAMES["o200k"] = ("o200k_base.tiktoken", "o200k")


def tiktoken_pattern(name: str) -> str:
    """The pattern tiktoken itself uses today; reading it fetches nothing."""
    ranks, openai_public.load_tiktoken_bpe = openai_public.load_tiktoken_bpe, lambda *_, **__: {}
    merges, openai_public.data_gym_to_mergeable_bpe_ranks = (
        openai_public.data_gym_to_mergeable_bpe_ranks,
        lambda *_, **__: {},
    )
    try:
        pattern: str = openai_public.ENCODING_CONSTRUCTORS[
            {"gpt2": "gpt2", "cl100k": "cl100k_base", "o200k": "o200k_base"}[name]
        ]()["pat_str"]
    finally:
        openai_public.load_tiktoken_bpe = ranks
        openai_public.data_gym_to_mergeable_bpe_ranks = merges
    return pattern


def chunks(documents: Sequence[str], n_bytes: int = 8_000_000) -> Iterator[list[str]]:
    """Runs of documents; the references keep an object a token."""
    chunk: list[str] = []
    size = 0
    for document in documents:
        chunk.append(document)
        size += len(document)
        if size > n_bytes:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def flat(rows: list[list[int]]) -> NDArray[np.uint32]:
    return np.fromiter((id for row in rows for id in row), np.uint32)


def loaded(name: str) -> Tokenizer:
    file, pattern = NAMES[name]
    return Tokenizer.from_tiktoken(shared_data.folder() / "vocabs" / file, pattern)


# References take their time: by default they read a sample.
@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", NAMES)
def test_ids_equal_tiktoken(name: str, whole: bool) -> None:
    ours = loaded(name)
    lines = (shared_data.folder() / "vocabs" / NAMES[name][0]).read_bytes().splitlines()
    ranks = {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in lines)}
    openai = tiktoken.Encoding(name, pat_str=tiktoken_pattern(name), mergeable_ranks=ranks, special_tokens={})
    n_bytes = 0
    for collection, documents in shared_data.collections(whole=whole):
        for chunk in chunks(documents):
            batch = ours.encode_batch(chunk)
            expected = openai.encode_ordinary_batch(chunk, num_threads=2)
            assert np.array_equal(batch.ids, flat(expected)), collection
            assert np.array_equal(np.diff(batch.row_offsets), [len(row) for row in expected])
            n_bytes += sum(len(document.encode()) for document in chunk)
    assert n_bytes > (70_000_000 if whole else 500_000)


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", NAMES)
def test_ids_equal_tokenizers(name: str, whole: bool, tmp_path: Path) -> None:
    ours = loaded(name)
    ours.save(tmp_path / "tokenizer.json")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    n_bytes = 0
    for collection, documents in shared_data.collections(whole=whole):
        for chunk in chunks(documents):
            expected = [row.ids for row in theirs.encode_batch_fast(chunk, add_special_tokens=False)]
            batch = ours.encode_batch(chunk)
            assert np.array_equal(batch.ids, flat(expected)), collection
            assert np.array_equal(np.diff(batch.row_offsets), [len(row) for row in expected])
            n_bytes += sum(len(document.encode()) for document in chunk)
    assert n_bytes > (70_000_000 if whole else 500_000)


def test_conformance_files() -> None:
    folder = shared_data.folder()
    for name, (file, pattern) in NAMES.items():
        ours = Tokenizer.from_tiktoken(folder / "vocabs" / file, pattern)
        suffix = {"gpt2": "gpt2", "cl100k": "cl100k_base", "o200k": "o200k_base"}[name]
        texts = shared_data.text("tokenizer-conformance", "mixed_input.txt").split("\n")
        rows = shared_data.text("tokenizer-conformance", f"mixed_tokens_{suffix}.txt").split("\n")
        for text, row in zip(texts, rows, strict=True):
            if row:
                assert ours.encode(text).ids.tolist() == [int(id) for id in row.split(",")], (name, text)
