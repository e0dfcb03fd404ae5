"""`encode_files` and `TokenDataset`: token shards, written and mapped."""

import json
import pickle
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import CORPUS
from sentitok import FormatError, Tokenizer, TrainError, encode_files
from sentitok.datasets import TokenDataset


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory, tokenizer: Tokenizer, sherlock: Path) -> Path:
    """Shards of few tokens, so that there are several."""
    path = tmp_path_factory.mktemp("shards")
    encode_files(sherlock, path, tokenizer, shard_tokens=20_000, separator="<|endoftext|>")
    return path


@pytest.fixture
def copied(shards: Path, tmp_path: Path) -> Path:
    """A copy that a test may spoil."""
    return Path(shutil.copytree(shards, tmp_path / "copy"))


def expected(tokenizer: Tokenizer, path: Path) -> Iterator[list[int]]:
    for line in path.read_bytes().splitlines(keepends=True):
        yield [*tokenizer.encode(line).ids.tolist(), 0]


def test_documents(shards: Path, tokenizer: Tokenizer, sherlock: Path) -> None:
    dataset = TokenDataset(shards)
    rows = list(expected(tokenizer, sherlock))
    assert len(dataset) == len(rows) == dataset.manifest["documents"]
    assert len(dataset.manifest["shards"]) > 3
    assert [ids.tolist() for ids in dataset] == rows
    assert [dataset[number].tolist() for number in range(len(dataset))] == rows
    assert dataset[-1].tolist() == rows[-1]
    assert [ids.tolist() for ids in dataset[5:9]] == rows[5:9]
    assert dataset.tokens == sum(map(len, rows))
    assert dataset.dtype == np.uint16
    assert dataset.vocab_size == 3000
    assert dataset.tokenizer_sha256 == tokenizer.fingerprint
    assert isinstance(dataset[0].base, np.memmap | np.ndarray)
    with pytest.raises(ValueError, match="read-only"):
        dataset[0][0] = 1
    for number in (len(dataset), -len(dataset) - 1):
        with pytest.raises(IndexError, match="of a data set of"):
            dataset[number]
    dataset.verify()
    assert str(shards) in repr(dataset)


def test_stream(shards: Path) -> None:
    dataset = TokenDataset(shards)
    whole = np.concatenate(list(dataset))
    rng = np.random.default_rng(1)
    borders = np.cumsum([shard["tokens"] for shard in dataset.manifest["shards"]]).tolist()
    for start, stop in [
        (0, 0),
        (0, dataset.tokens),
        (dataset.tokens, dataset.tokens),
        *((border - 3, border + 3) for border in borders[:-1]),
        *((border, border) for border in borders),
        *(sorted(map(int, rng.integers(0, dataset.tokens, 2))) for _ in range(50)),
    ]:
        assert dataset.stream(start, stop).tolist() == whole[start:stop].tolist()
        assert dataset.stream(start, stop).dtype == np.uint16
    for start, stop in [(-1, 1), (0, dataset.tokens + 1), (2, 1)]:
        with pytest.raises(IndexError):
            dataset.stream(start, stop)


def test_several_folders_are_one_data_set(
    shards: Path, tokenizer: Tokenizer, sherlock: Path, tmp_path: Path
) -> None:
    few = CORPUS / "fixtures" / "mixed.txt"
    encode_files(few, tmp_path / "few", tokenizer, separator="<|endoftext|>")
    one, other = TokenDataset(shards), TokenDataset(tmp_path / "few")
    both = TokenDataset(shards, tmp_path / "few")
    assert both.directories == (shards, tmp_path / "few")
    assert [ids.tolist() for ids in both] == [ids.tolist() for dataset in (one, other) for ids in dataset]
    assert both[len(one)].tolist() == other[0].tolist()
    assert both.tokens == one.tokens + other.tokens
    whole = both.stream(0, both.tokens).tolist()
    assert whole == one.stream(0, one.tokens).tolist() + other.stream(0, other.tokens).tolist()
    assert both.ends(0, len(both))[-1] == both.tokens
    assert both.document_at(one.tokens) == len(one)
    both.verify()
    again = pickle.loads(pickle.dumps(both))
    assert [ids.tolist() for ids in again] == [ids.tolist() for ids in both]
    assert "few" in repr(both)
    (file,) = (tmp_path / "few").glob("*.bin")
    damaged = bytearray(file.read_bytes())
    damaged[0] ^= 1
    file.write_bytes(damaged)
    with pytest.raises(FormatError, match=rf"{file.name}: SHA-256"):
        TokenDataset(shards, tmp_path / "few").verify()


def test_folders_of_other_tokenizers_are_refused(
    shards: Path, tokenizer: Tokenizer, sherlock: Path, tmp_path: Path
) -> None:
    encode_files(sherlock, tmp_path / "bare", tokenizer)
    with pytest.raises(FormatError, match=r"bare: separator is None, that of .*one separator"):
        TokenDataset(shards, tmp_path / "bare")


def test_pickled_by_its_path(shards: Path) -> None:
    data = pickle.dumps(TokenDataset(shards))
    assert len(data) < 500
    again = pickle.loads(data)
    assert again.tokens == TokenDataset(shards).tokens


def test_shards_keep_to_their_maximum(tokenizer: Tokenizer, tmp_path: Path) -> None:
    """A document that does not fit begins a new shard; a longer one has a separate shard."""
    texts = ["film " * n for n in (3, 6, 2, 30, 1, 9, 10)]
    manifest = encode_files(texts=texts, out_dir=tmp_path, tokenizer=tokenizer, shard_tokens=12)
    dataset = TokenDataset(tmp_path)
    sizes = [len(ids) for ids in dataset]
    shards, used = [[sizes[0]]], sizes[0]
    for size in sizes[1:]:
        if used + size > 12:
            shards.append([])
            used = 0
        shards[-1].append(size)
        used += size
    assert [shard["tokens"] for shard in manifest["shards"]] == [sum(shard) for shard in shards]
    assert all(sum(shard) <= 12 or len(shard) == 1 for shard in shards)


def test_no_documents(tokenizer: Tokenizer, tmp_path: Path) -> None:
    encode_files(CORPUS / "fixtures" / "empty.txt", tmp_path, tokenizer)
    dataset = TokenDataset(tmp_path)
    assert len(dataset) == dataset.tokens == 0
    assert list(dataset) == []
    assert dataset.stream(0, 0).shape == (0,)


def test_resume_and_threads_give_the_same_bytes(
    shards: Path, copied: Path, tokenizer: Tokenizer, sherlock: Path
) -> None:
    for path in copied.iterdir():
        path.unlink()
    options: dict[str, Any] = {"shard_tokens": 20_000, "separator": "<|endoftext|>"}
    calls = 0

    def stop(*_: object) -> None:
        nonlocal calls
        calls += 1
        raise InterruptedError

    with pytest.raises(InterruptedError):
        encode_files(sherlock, copied, tokenizer, progress=stop, **options)
    assert calls
    manifest = encode_files(sherlock, copied, tokenizer, threads=1, **options)
    assert manifest == TokenDataset(shards).manifest
    for path in shards.iterdir():
        assert (copied / path.name).read_bytes() == path.read_bytes()
    with pytest.raises(TrainError, match="another"):
        encode_files(sherlock, copied, tokenizer, shard_tokens=5)


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("schema", "other", "reads sentitok.dataset 1"),
        ("version", 2, "reads sentitok.dataset 1"),
        ("layout", "megatron", "layout='sentitok'"),
        ("complete", False, "run encode_files again"),
        ("documents", 1, "as many documents"),
        ("dtype", "words", "not a manifest"),
        ("shards", 7, "not a manifest"),
    ],
)
def test_bad_manifests(key: str, value: object, words: str, copied: Path) -> None:
    path = copied / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
    with pytest.raises(FormatError, match=words):
        TokenDataset(copied)


def test_damage_is_found(copied: Path, tmp_path: Path) -> None:
    dataset = TokenDataset(copied)
    file = copied / dataset.manifest["shards"][0]["file"]
    data = bytearray(file.read_bytes())
    data[10] ^= 1
    file.write_bytes(data)
    with pytest.raises(FormatError, match="SHA-256"):
        TokenDataset(copied).verify()
    file.write_bytes(data[:-2])
    with pytest.raises(FormatError, match="bytes, where the manifest says"):
        TokenDataset(copied)
    file.unlink()
    with pytest.raises(FileNotFoundError):
        TokenDataset(copied)
    (copied / "manifest.json").write_text("[]")
    with pytest.raises(FormatError, match="not a manifest"):
        TokenDataset(copied)
    with pytest.raises(FileNotFoundError):
        TokenDataset(tmp_path / "nothing")


@pytest.mark.parametrize("layout", ["nanogpt", "megatron", "text"])
def test_other_layouts(layout: Any, tokenizer: Tokenizer, sherlock: Path, tmp_path: Path) -> None:
    manifest = encode_files(sherlock, tmp_path, tokenizer, layout=layout, separator="<|endoftext|>")
    rows = list(expected(tokenizer, sherlock))
    flat = [id for row in rows for id in row]
    assert manifest["tokens"] == len(flat)
    if layout == "nanogpt":
        assert np.fromfile(tmp_path / "tokens.bin", "<u2").tolist() == flat
    elif layout == "megatron":
        assert np.fromfile(tmp_path / manifest["shards"][0]["file"], "<u2").tolist() == flat
    else:
        text = (tmp_path / manifest["shards"][0]["file"]).read_text()
        assert [list(map(int, line.split())) for line in text.splitlines()] == rows
    with pytest.raises(FormatError, match="layout"):
        TokenDataset(tmp_path)


def test_separator_must_be_a_token(tokenizer: Tokenizer, sherlock: Path, tmp_path: Path) -> None:
    with pytest.raises(TrainError, match="with_specials"):
        encode_files(sherlock, tmp_path, tokenizer, separator="<none>")
