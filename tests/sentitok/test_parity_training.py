"""Training against published merges, and against tokenizers over the shared data."""

import json
import lzma
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer as Reference
from tokenizers import decoders, models, pre_tokenizers, trainers

import shared_data
from sentitok import WordCounts, train_bpe


def spelled(pieces: list[tuple[bytes, bytes]]) -> list[str]:
    """Merges as GPT-2's files spell them."""
    table = byte_table()
    return [" ".join("".join(table[byte] for byte in part) for part in pair) for pair in pieces]


def byte_table() -> list[str]:
    """The published table: printable bytes represent themselves, the rest follow U+0100."""
    printable = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = iter(range(256))
    return [chr(byte) if byte in printable else chr(256 + next(others)) for byte in range(256)]


def test_cs336() -> None:
    folder = shared_data.folder() / "bpe-reference" / "cs336"
    tokenizer = train_bpe(
        folder / "corpus.en",
        vocab_size=500,
        special_tokens=["<|endoftext|>"],
        tie_break="bytes",
        format="text",
    )
    expected = (folder / "train-bpe-reference-merges.txt").read_text("utf-8").splitlines()
    assert spelled(tokenizer.merges()) == expected
    assert len(expected) == 243


def test_tiny_stories_from_its_counts() -> None:
    folder = shared_data.folder() / "bpe-reference" / "tinystories-v2-train"
    with lzma.open(folder / "_words.TinyStoriesV2-GPT4-train.json.xz", "rt", encoding="utf-8") as file:
        counts = WordCounts(json.load(file))
    assert len(counts) == 59_933
    tokenizer = train_bpe(
        counts=counts, vocab_size=10_000, special_tokens=["<|endoftext|>"], tie_break="bytes"
    )
    lines = shared_data.text(
        "bpe-reference", "tinystories-v2-train", "merges.TinyStoriesV2-GPT4-train.txt.xz"
    ).splitlines()
    expected = [line.split(" => ")[0] for line in lines]
    assert spelled(tokenizer.merges()) == expected
    assert len(expected) == 9_743


OPTIONS: list[dict[str, Any]] = [
    {"vocab_size": 8000},
    {"vocab_size": 30_000, "min_frequency": 3},
    {"vocab_size": 3000, "special_tokens": ["<|endoftext|>", "the", "Ġof"]},
    {"vocab_size": 5000, "max_token_length": 6},
]
CORPORA = [
    "aozora-wagahai-ja.txt.xz",
    "c4-en-1000.jsonl.xz",
    "gutenberg-1342-pride-and-prejudice.txt.xz",
    "gutenberg-2600-war-and-peace.txt.xz",
    "gutenberg-botchan-en.txt.xz",
    "gutenberg-sherlock.txt.xz",
    "shakespeare-sonnets.txt.xz",
    "tinyshakespeare.txt.xz",
    "wikitext-2-raw.valid.txt.xz",
    "wikitext-2.test.txt.xz",
    "zh-news",
    "declarations",
    "python",
    "imdb",
]


#: Characters of a text by default; the whole texts are a larger run of the same.
SOME = 120_000


def documents_of(name: str, step: int = 1) -> str:
    """One text of a data set; of the slowest a part."""
    match name:
        case "zh-news":
            return shared_data.text("zh-news", "peoples-daily-1998-01.txt.xz")[:700_000]
        case "declarations":
            return "\n".join(shared_data.declarations())
        case "python":
            return "\n".join(shared_data.python_code(step))[:4_000_000]
        case "imdb":
            return "\n".join(shared_data.imdb(step))
        case _:
            return shared_data.text("corpora", name)


def check(text: str, folder: Path, options: dict[str, Any]) -> None:
    """Trains both on a text, and compares their files."""
    # A byte-order mark is the one thing read otherwise: dropped here, text there.
    corpus = folder / "corpus.txt"
    corpus.write_bytes(text.removeprefix("\ufeff").encode())
    reference = Reference(models.BPE())
    reference.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    reference.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(initial_alphabet=alphabet, show_progress=False, **options)
    reference.train([str(corpus)], trainer)
    reference.save(str(folder / "theirs.json"))
    train_bpe(corpus, **options, format="lines").save(folder / "ours.json")
    assert (folder / "ours.json").read_bytes() == (folder / "theirs.json").read_bytes(), options


@pytest.mark.parametrize(("number", "name"), list(enumerate(CORPORA)), ids=CORPORA)
def test_files_are_those_of_tokenizers(number: int, name: str, tmp_path: Path) -> None:
    check(documents_of(name, 16)[:SOME], tmp_path, OPTIONS[number % len(OPTIONS)])


@pytest.mark.slow
@pytest.mark.parametrize("name", CORPORA)
def test_files_of_whole_texts_are_those_of_tokenizers(name: str, tmp_path: Path) -> None:
    for options in (*OPTIONS, {"vocab_size": 32_000}):
        check(documents_of(name), tmp_path, options)
