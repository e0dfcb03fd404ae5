"""`TokenDataset` on folders that are damaged: the written data, or `FormatError` with the path."""

import json
import os
import random
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from commands import run
from sentitok import FormatError, PreTokenizer, Tokenizer, TrainError, encode_files
from sentitok.datasets import TokenDataset
from sentitok.messages import shortened, shown
from sentitok.verify import verify

# Damaged folders that run by default, and those of the slow variant.
DAMAGES = 200
MANY_DAMAGES = 20_000


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory, tokenizer: Tokenizer) -> Path:
    """A small data set of three shards, one with an empty document."""
    folder = tmp_path_factory.mktemp("damaged")
    texts = [f"A film of {n} minutes.\n" for n in range(40)]
    (folder / "texts.txt").write_text("".join([*texts, "\n", *texts]))
    path = folder / "shards"
    encode_files(folder / "texts.txt", path, tokenizer, shard_tokens=300)
    assert len(list(path.glob("*.bin"))) == 3
    return path


@pytest.fixture
def copied(shards: Path, tmp_path: Path) -> Path:
    """A copy that a test may spoil."""
    return Path(shutil.copytree(shards, tmp_path / "copy"))


def change(path: Path, **fields: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


def test_an_index_that_was_changed_is_found(copied: Path, tokenizer: Tokenizer) -> None:
    index = copied / "shard-00000.idx.npy"
    data = bytearray(index.read_bytes())
    first, second = struct.unpack_from("<qq", data, 128)
    # Still in order and in bounds: only the hash shows the damage.
    struct.pack_into("<q", data, 128, first + 1)
    assert first + 1 <= second
    index.write_bytes(data)
    dataset = TokenDataset(copied)
    with pytest.raises(FormatError, match=r"shard-00000\.idx\.npy: SHA-256"):
        dataset.verify()
    tokenizer.save(copied / "tokenizer.json")
    code, text, message = run(f"decode {copied} -t {copied / 'tokenizer.json'}")
    assert (code, text) == (2, "")
    assert "idx.npy: SHA-256" in message


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (3, 0, "document 3 ends before"),
        (0, -1, "document 0 ends before"),
        (0, 1 << 62, "document 1 ends before"),
        (-1, 1 << 62, "the last document ends at"),
    ],
)
def test_ends_are_in_order_and_in_bounds(place: int, value: int, words: str, copied: Path) -> None:
    index = copied / "shard-00001.idx.npy"
    data = bytearray(index.read_bytes())
    n_documents = (len(data) - 128) // 8
    struct.pack_into("<q", data, 128 + 8 * (place % n_documents), value)
    index.write_bytes(data)
    with pytest.raises(FormatError, match=rf"shard-00001\.idx\.npy: {words}"):
        TokenDataset(copied)


def test_a_folder_of_an_older_release_opens(copied: Path) -> None:
    manifest = json.loads((copied / "manifest.json").read_text())
    for shard in manifest["shards"]:
        assert len(shard.pop("index_sha256")) == 64
    (copied / "manifest.json").write_text(json.dumps(manifest))
    dataset = TokenDataset(copied)
    assert len(dataset) == 81
    with pytest.warns(UserWarning, match=r"shard-00000\.idx\.npy and 2 more: not covered"):
        dataset.verify()


def test_the_other_layouts_have_hashes_too(shards: Path, tokenizer: Tokenizer, tmp_path: Path) -> None:
    manifest = encode_files(shards.parent / "texts.txt", tmp_path / "m", tokenizer, layout="megatron")
    assert len(manifest["shards"][0]["index_sha256"]) == 64
    manifest = encode_files(shards.parent / "texts.txt", tmp_path / "t", tokenizer, layout="text")
    assert "index_sha256" not in manifest["shards"][0]


# Values that a damaged or hostile manifest has instead of valid ones.
ODD: list[Any] = [
    *(None, True, -1, 0, 1, 1.5, 1e300, float("inf"), float("nan"), 1 << 63, 1 << 70, 10**5000),
    *("", "x", "\0", "../x", "/etc/passwd", ".", "shard-00000.bin", "<u2", "object", "uint16, uint16", "é"),
    *([], {}, [[]], [1], {"x": 1}),
]


def dumped(value: Any) -> str:
    # 10**5000 is a number that Python neither writes nor reads unasked.
    return json.dumps(value, default=str).replace('"BIG"', "9" * 5000)


def damage(folder: Path, rng: random.Random) -> str:
    """Spoils one file of a folder; says how."""
    path = rng.choice(sorted(folder.iterdir()))
    data = path.read_bytes()
    kind = rng.choice(
        ["cut", "grow", "flip", "missing", "empty", "other", "folder", "field", "field", "field"]
    )
    if kind == "field":
        path = folder / "manifest.json"
        manifest = json.loads(path.read_text())
        at = manifest if rng.random() < 0.4 else rng.choice(manifest["shards"])
        key = rng.choice(sorted(at))
        value = rng.choice(ODD)
        if rng.random() < 0.1:
            del at[key]
        else:
            at[key] = "BIG" if value == 10**5000 else value
        path.write_text(dumped(manifest))
        return f"{key}: {str(value)[:50]}" if value != 10**5000 else f"{key}: big"
    if kind == "cut":
        path.write_bytes(data[: rng.randrange(len(data))])
    elif kind == "grow":
        path.write_bytes(data + bytes(rng.randrange(1, 20)))
    elif kind == "flip":
        flipped = bytearray(data)
        for _ in range(rng.choice([1, 1, 1, 5, 50])):
            # Mostly near the start, where headers are.
            at_byte = rng.randrange(min(len(data), rng.choice([16, 128, len(data)])))
            flipped[at_byte] ^= 1 << rng.randrange(8)
        path.write_bytes(flipped)
    elif kind == "other":
        path.write_bytes(
            rng.choice(
                [
                    b"",
                    b"\0" * len(data),
                    b"PK\x03\x04" + data,
                    b"\x80\x04]\x94.",
                    b"\x93NUMPY\x01\x00\xff\xff{",
                    b"\x93NUMPY\x03\x00" + data[8:],
                    data[:10] + b"(" * 118 + data[128:],
                    b"[" * 100_000,
                    b'{"a":' * 50_000,
                    os.urandom(len(data)),
                ]
            )
        )
    else:
        path.unlink()
        if kind == "empty":
            path.touch()
        elif kind == "folder":
            path.mkdir()
    return f"{kind} {path.name}"


def read_all(folder: Path) -> list[list[int]]:
    dataset = TokenDataset(folder)
    # `verify` finds what opening cannot: ids that differ.
    dataset.verify()
    return [ids.tolist() for ids in dataset]


def check_damages(shards: Path, folder: Path, first: int, n: int) -> None:
    expected = read_all(shards)
    for number in range(first, first + n):
        rng = random.Random(number)
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(shards, folder)
        how = damage(folder, rng)
        found, words = None, ""
        try:
            found = read_all(folder)
        except (FormatError, FileNotFoundError, IsADirectoryError) as error:
            words = str(error)
        except UserWarning as warning:
            words = str(warning).partition("not covered")[0]
        # Unread parts of a manifest may be anything.
        assert found == expected or str(folder) in words, (number, how)
        verified = verify(folder, threads=1)
        assert found == expected or verified.problems or verified.uncovered, (number, how)
        assert all(str(folder) in problem for problem in verified.problems), (number, how)


def test_damaged_folders(shards: Path, tmp_path: Path) -> None:
    check_damages(shards, tmp_path / "copy", 0, DAMAGES)


@pytest.mark.slow
def test_many_damaged_folders(shards: Path, tmp_path: Path) -> None:
    check_damages(shards, tmp_path / "copy", DAMAGES, MANY_DAMAGES)


@pytest.mark.skipif(os.name == "nt", reason="there are no named pipes")
@pytest.mark.parametrize("name", ["manifest.json", "shard-00000.bin", "shard-00000.idx.npy"])
def test_pipes_and_devices_are_refused(name: str, copied: Path) -> None:
    for make in (os.mkfifo, lambda path: path.symlink_to("/dev/zero")):
        (copied / name).unlink()
        make(copied / name)
        with pytest.raises(FormatError, match=f"{name}: a pipe or a device"):
            TokenDataset(copied)


def cut_shard(folder: Path) -> None:
    path = folder / "shard-00001.bin"
    path.write_bytes(path.read_bytes()[:-2])


def lose_index(folder: Path) -> None:
    (folder / "shard-00001.idx.npy").unlink()


def overflow(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    for shard in manifest["shards"]:
        shard |= {"tokens": (1 << 64) - 2, "bytes": (1 << 64) - 4}
    (folder / "manifest.json").write_text(json.dumps(manifest))


def elsewhere(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["shards"][0]["file"] = "../texts.txt"
    (folder / "manifest.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (cut_shard, r"shard-00001\.bin: it has \d+ bytes where the manifest says \d+; start over"),
        (lose_index, r"shard-00001\.idx\.npy: it is missing"),
        (overflow, r"manifest\.json: .*tokens in"),
        (elsewhere, r'manifest\.json: it names "\.\./texts\.txt"'),
    ],
)
def test_a_damaged_folder_is_not_gone_on_from(
    spoil: Callable[[Path], None], words: str, copied: Path, shards: Path, tokenizer: Tokenizer
) -> None:
    texts = shards.parent / "texts.txt"
    change(copied / "manifest.json", complete=False)
    spoil(copied)
    with pytest.raises(FormatError, match=words):
        encode_files(texts, copied, tokenizer, shard_tokens=300)
    assert texts.is_file()
    with pytest.raises(TrainError, match="another dataset"):
        encode_files(texts, shards, tokenizer, shard_tokens=301)


LONG = "x" * 5_000


@pytest.mark.parametrize(
    "spoil", ["version", "schema", "dtype", "file", "sha256", "tokenizer_sha256", "layout"]
)
def test_messages_are_short_whatever_a_manifest_holds(
    spoil: str, copied: Path, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    manifest = json.loads((copied / "manifest.json").read_text())
    if spoil in ("file", "sha256"):
        manifest["shards"][0][spoil] = LONG
    else:
        manifest[spoil] = LONG
    (copied / "manifest.json").write_text(json.dumps(manifest))
    said = []
    with pytest.raises(FormatError) as refused:  # noqa: PT012  # 2026-11-24: opening refuses some, verifying the rest
        TokenDataset(copied).verify()
        raise FormatError("not looked at by reading")
    said.append(str(refused.value))
    (tmp_path / "texts.txt").write_text("A film.\n")
    tokenizer.save(tmp_path / "tokenizer.json")
    code, _, message = run(f"encode texts.txt -t tokenizer.json -o {copied}", cwd=tmp_path)
    assert code == 2
    said.append(message)
    code, _, message = run(f"decode {copied} -t {tmp_path / 'tokenizer.json'}")
    said.append(message)
    place = len(str(copied))
    assert [text for text in said if len(text) > 2 * place + 1_500] == []


def test_python_and_rust_cut_messages_by_one_rule() -> None:
    for text in ["x" * 1_200, "é" * 1_201, "0123456789" * 500 + "; pass less"]:
        with pytest.raises(FormatError) as refused:
            PreTokenizer(pattern="(" + text)
        assert f'pattern "{shown("(" + text)[1:-1]}"' in str(refused.value), text
        assert shortened(text) == text or text.endswith(shortened(text)[-300:])
    assert "too long to show" in shown(10**5_000)
