"""Texts in memory become files of ids, as texts of files do."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sentitok
from sentitok import Tokenizer, TrainError, encode_files

TEXTS = [f"low lower lowest {number % 7} naïve 👍🏽\n" for number in range(1000)]
# Ways of giving the same texts to `encode_files`.
IN_MEMORY: dict[str, Callable[[], dict[str, Any]]] = {
    "a list": lambda: {"texts": TEXTS},
    "an iterator": lambda: {"source": iter(TEXTS)},
    "Arrow": lambda: {"source": pa.array(TEXTS)},
    "categories": lambda: {"texts": pa.array(TEXTS).dictionary_encode()},
    "bytes": lambda: {"texts": [text.encode() for text in TEXTS]},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    sentitok.train_bpe(texts=TEXTS, vocab_size=280).save(tmp_path / "tokenizer.json")
    return tmp_path


@pytest.mark.parametrize("name", IN_MEMORY)
def test_texts_of_memory_become_files(name: str, folder: Path) -> None:
    tokenizer = Tokenizer.from_file(folder / "tokenizer.json")
    (folder / "a.jsonl").write_text("".join(json.dumps(text) + "\n" for text in TEXTS), "utf-8")
    expected = encode_files(folder / "a.jsonl", folder / "files", tokenizer, shard_tokens=3000)
    found = encode_files(
        **IN_MEMORY[name](), out_dir=folder / "memory", tokenizer=tokenizer, shard_tokens=3000
    )
    assert found["shards"] == expected["shards"]
    assert found["sources"] == [{"name": "<iterable>", "bytes": None}]
    for shard in found["shards"]:
        for file in (shard["file"], shard["index"]):
            assert (folder / "memory" / file).read_bytes() == (folder / "files" / file).read_bytes()


def test_texts_of_memory_are_not_mixed(folder: Path) -> None:
    tokenizer = Tokenizer.from_file(folder / "tokenizer.json")
    out, letters = folder / "out", ["a", "b", "c"] * 100_000

    def stopped() -> Iterator[str]:
        for letter in letters:
            if (out / "manifest.json").exists():
                break
            yield letter
        raise RuntimeError("the line broke")

    with pytest.raises(RuntimeError, match="the line broke"):
        encode_files(stopped(), out, tokenizer, shard_tokens=20_000)
    assert not json.loads((out / "manifest.json").read_text())["complete"]
    message = "it holds a data set, and whether it is of the same texts is not known"
    with pytest.raises(TrainError, match=message):
        encode_files(texts=letters, out_dir=out, tokenizer=tokenizer, shard_tokens=20_000)
    found = encode_files(texts=letters, out_dir=out, tokenizer=tokenizer, shard_tokens=20_000, resume=True)
    again = encode_files(texts=letters, out_dir=folder / "again", tokenizer=tokenizer, shard_tokens=20_000)
    assert found == again
    with pytest.raises(TrainError, match=message):
        encode_files(texts=TEXTS[:5], out_dir=out, tokenizer=tokenizer)
    assert encode_files(texts=TEXTS[:5], out_dir=out, tokenizer=tokenizer, resume=False)["documents"] == 5


def test_what_encode_files_misses_is_named(folder: Path) -> None:
    tokenizer = Tokenizer.from_file(folder / "tokenizer.json")
    calls: list[tuple[Callable[[], object], str]] = [
        (lambda: encode_files(), "what to encode"),
        (lambda: encode_files(texts=TEXTS), "out_dir"),
        (lambda: encode_files(texts=TEXTS, out_dir=folder / "out"), "tokenizer is missing"),
        (lambda: encode_files("a", folder / "out", tokenizer, texts=TEXTS), "pass one of them"),
        (lambda: encode_files(TEXTS, folder / "out", tokenizer), r"texts=\[\.\.\.\]"),
    ]
    for call, words in calls:
        with pytest.raises(TypeError, match=words):
            call()
    assert not (folder / "out").exists()


def test_an_encoding_that_fails_does_not_wait_for_more(folder: Path) -> None:
    tokenizer = Tokenizer.from_file(folder / "tokenizer.json").with_specials(["<s>"])
    given = 0

    def texts() -> Iterator[str]:
        nonlocal given
        while True:
            given += 1
            yield "a <s>" if given == 1 else "a film " * 100

    with pytest.raises(sentitok.EncodeError, match="<s>"):
        encode_files(texts(), folder / "out", tokenizer, specials="raise")
    assert given < 1_000_000
