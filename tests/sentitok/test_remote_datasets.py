"""`TokenDataset` and `sentitok verify` on stores: read by ranges, equal to the folder, damage found."""

import json
import pickle
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli_runs import run_inside
from commands import environment
from remote_servers import Web, web_server
from sentitok import FormatError, Tokenizer, count, encode_files, remote_shards
from sentitok.datasets import TokenDataset
from sentitok.remote import copies
from sentitok.remote_shards import RemotePath
from sentitok.shards import find_datasets
from sentitok.verify import verify

fsspec = pytest.importorskip("fsspec", reason="the extra `remote` is not installed")

TEXTS = [f"A film of {number} minutes. " * (number % 5) for number in range(100)]


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory, tokenizer: Tokenizer) -> Path:
    """Two parts of several shards."""
    folder = tmp_path_factory.mktemp("stored")
    for part in range(2):
        encode_files(
            None, folder / f"part-{part}", tokenizer, texts=TEXTS[part::2], shard_tokens=300,
            separator="<|endoftext|>",
        )  # fmt: skip
    return folder


@pytest.fixture
def memory(local: Path) -> Iterator[Any]:
    """The store in memory with both parts in `data`."""
    fs = fsspec.filesystem("memory")
    fs.store.clear()
    for path in local.rglob("*.*"):
        fs.pipe_file(f"/data/{path.relative_to(local).as_posix()}", path.read_bytes())
    yield fs
    fs.store.clear()


@pytest.fixture
def web(local: Path) -> Iterator[Web]:
    """A web server with both parts in `data`."""
    pytest.importorskip("aiohttp", reason="the extra `remote` is not installed")
    with web_server() as server:
        for path in local.rglob("*.*"):
            server.files[f"/data/{path.relative_to(local).as_posix()}"] = path.read_bytes()
        yield server


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that documents lie in several blocks, and not all blocks are kept."""
    monkeypatch.setattr(remote_shards, "_BLOCK_BYTES", 200)
    monkeypatch.setattr(remote_shards, "_CACHED_BLOCKS", 5)


def check_equal(stored: TokenDataset, local: TokenDataset) -> None:
    assert len(stored) == len(local)
    assert stored.tokens == local.tokens
    assert [ids.tolist() for ids in stored] == [ids.tolist() for ids in local]
    assert [stored[number].tolist() for number in range(len(local))] == [ids.tolist() for ids in local]
    assert stored[-1].dtype == local.dtype
    assert stored.stream(0, local.tokens).tolist() == local.stream(0, local.tokens).tolist()
    assert stored.ends(3, len(local)).tolist() == local.ends(3, len(local)).tolist()
    for token in range(0, local.tokens, 97):
        assert stored.document_at(token) == local.document_at(token)
    for block_rows in (None, 4):
        ours = stored.windows(32, targets=True).shuffled(8, seed=1, block_rows=block_rows)
        theirs = local.windows(32, targets=True).shuffled(8, seed=1, block_rows=block_rows)
        for (row, target), (their_row, their_target) in zip(ours, theirs, strict=True):
            assert np.array_equal(row, their_row)
            assert np.array_equal(target, their_target)
    stored.verify()
    assert len(stored._cache._blocks) <= 5
    data = pickle.dumps(stored)
    assert len(data) < 500
    assert pickle.loads(data)[5].tolist() == local[5].tolist()


def test_a_data_set_in_memory_is_that_of_the_folder(memory: Any, local: Path) -> None:
    for given in ("memory://data", "memory://data/", "memory://data/part-*"):
        stored = TokenDataset(given)
        assert stored.directories == (RemotePath("memory://data/part-0"), RemotePath("memory://data/part-1"))
        check_equal(stored, TokenDataset(local))
    both = TokenDataset("memory://data/part-1", local / "part-0")
    check_equal(both, TokenDataset(local / "part-1", local / "part-0"))
    assert "memory://data/part-1" in repr(both)


def test_a_data_set_on_a_web_server_is_that_of_the_folder(
    web: Web, local: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_shards, "_BLOCK_BYTES", 700)
    parts = [f"{web.address}/data/part-{part}" for part in range(2)]
    check_equal(TokenDataset(parts), TokenDataset(local))


def test_a_data_set_in_a_store_is_that_of_the_folder(
    store: tuple[str, Any], local: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket, fs = store
    monkeypatch.setattr(remote_shards, "_BLOCK_BYTES", 700)
    for path in local.rglob("*.*"):
        fs.pipe_file(f"corpora/v1.2/{path.relative_to(local).as_posix()}", path.read_bytes())
    check_equal(TokenDataset(f"{bucket}/v1.2"), TokenDataset(local))
    found = verify(f"{bucket}/v1.2/part-0")
    assert found.problems == found.others == []
    fs.pipe_file("corpora/v1.2/part-0/notes.txt", b"x")
    assert verify(f"{bucket}/v1.2/part-0").others == ["notes.txt"]


def test_only_the_blocks_of_what_is_read_are_fetched(web: Web, local: Path) -> None:
    dataset = TokenDataset(f"{web.address}/data/part-0")
    web.requests.clear()
    dataset.stream(250, 260)
    asked = [(path, re.findall(r"\d+", range_ or "")) for path, range_ in web.requests]
    assert {path for path, _ in asked} == {"/data/part-0/shard-00000.bin"}
    assert len(asked) == 2  # the first block tells of the file
    assert all(int(stop) - int(start) < 200 for _, (start, stop) in asked)
    web.requests.clear()
    dataset.stream(255, 258)
    assert web.requests == []


def test_a_server_without_ranges_is_refused(web: Web) -> None:
    web.ranges = False
    dataset = TokenDataset(f"{web.address}/data/part-0")
    with pytest.raises(FormatError, match=r"shard-00000\.bin: the server sends whole files only; copy"):
        dataset.stream(0, 5)
    dataset.verify()  # which reads whole files


def test_a_shard_that_changes_while_it_is_read_is_an_error(web: Web) -> None:
    dataset = TokenDataset(f"{web.address}/data/part-0")
    dataset.stream(0, 5)
    web.etag = '"2"'
    with pytest.raises(OSError, match="changed"):
        dataset.stream(200, 290)


def test_failures_that_pass_are_not_seen(web: Web, local: Path) -> None:
    dataset = TokenDataset(f"{web.address}/data/part-0")
    web.failures += [503]
    web.cut = 1
    assert dataset.stream(0, 9).tolist() == TokenDataset(local / "part-0").stream(0, 9).tolist()


def test_damage_in_a_store_is_found(memory: Any) -> None:
    folder = "/data/part-0"
    ids, index = f"{folder}/shard-00001.bin", f"{folder}/shard-00001.idx.npy"
    dataset = TokenDataset("memory:/" + folder)
    first = len(dataset.manifest["shards"]) and dataset.manifest["shards"][1]["first_document"]
    whole = {name: memory.cat_file(name) for name in (ids, index)}

    def first_read() -> None:
        again = TokenDataset("memory:/" + folder)
        list(again[first : first + 3])

    ends = np.frombuffer(whole[index][128:], np.int64)
    unordered = ends.copy()
    unordered[[0, 1]] = [ends[1] + 5, ends[0]]
    long = ends.copy()
    long[-1] += 1
    for name, data, words in (
        (ids, whole[ids][:-2], rf"{ids}: \d+ bytes, where the manifest says \d+"),
        (ids, None, "shard-00001.bin"),
        (index, whole[index] + b"x", rf"{index}: \d+ bytes, where the manifest says"),
        (index, b"x" * len(whole[index]), rf"{index}: its header"),
        (index, whole[index][:128] + unordered.tobytes(), rf"{index}: its ends are not in order"),
        (index, whole[index][:128] + long.tobytes(), rf"{index}: the last document ends at"),
    ):
        memory.rm_file(name)
        if data is not None:
            memory.pipe_file(name, data)
        with pytest.raises((FormatError, FileNotFoundError), match=words):
            first_read()
        found = verify("memory:/" + folder)
        assert len(found.problems) == 1
        assert name.rpartition("/")[2] in found.problems[0]
        with pytest.raises((FormatError, FileNotFoundError), match=name.rpartition("/")[2]):
            dataset.verify()
        memory.pipe_file(name, whole[name])
    first_read()
    dataset.verify()


def test_commands_read_stores(
    memory: Any, tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copies, "_staged", {})
    done = run_inside("verify", "memory://data", "--json", cwd=tmp_path)
    assert done.code == 0, done.err
    value = json.loads(done.out)
    assert [one["path"] for one in value["checked"]] == ["memory://data/part-0", "memory://data/part-1"]
    assert value["checked"][0]["totals"]["bytes"] > 1000
    tokenizer.save(tmp_path / "tokenizer.json")
    done = run_inside("decode", "memory://data/part-0", "-t", "tokenizer.json", cwd=tmp_path)
    assert done.out.replace("<|endoftext|>", "") == "".join(TEXTS[::2])
    done = run_inside("info", "memory://data/part-0", "--json", cwd=tmp_path)
    about = json.loads(done.out)
    assert (about["kind"], about["documents"]) == ("token shards", len(TEXTS[::2]))
    assert copies._staged == {}  # nothing was copied whole
    count(texts=TEXTS, out=tmp_path / "all.counts")
    data = (tmp_path / "all.counts").read_bytes()
    for name, held in (("whole", data), ("cut", data[:-5])):
        memory.pipe_file(f"/data/{name}.counts", held)
        done = run_inside("verify", f"memory://data/{name}.counts", cwd=tmp_path)
        assert done.code == (name == "cut")
        assert f"memory://data/{name}.counts: " in done.out
        memory.rm_file(f"/data/{name}.counts")
    memory.rm_file("/data/part-1/manifest.json")
    done = run_inside("verify", "memory://data", cwd=tmp_path)
    assert done.code == 1
    assert "memory://data/part-1/manifest.json: no such file" in done.out
    done = run_inside("verify", "memory://nothing", cwd=tmp_path)
    assert done.code == 1
    assert "memory://nothing/manifest.json" in done.out


def test_parts_of_a_store_are_found_at_any_depth(memory: Any) -> None:
    for name in memory.find("/data/part-0"):
        memory.pipe_file(name.replace("/data/part-0", "/deep/b/part-10"), memory.cat_file(name))
        memory.pipe_file(name.replace("/data/part-0", "/deep/a/x/part-2"), memory.cat_file(name))
    memory.pipe_file("/deep/a/x/part-2/logs/task.txt", b"x")  # within a data set
    found = [str(one) for one in find_datasets(["memory://deep"])]
    assert found == ["memory://deep/a/x/part-2", "memory://deep/b/part-10"]
    memory.pipe_file("/deep/c/shard-00000.bin", b"xx")  # a part that is not finished
    with pytest.raises(FileNotFoundError, match=r"memory://deep/c/manifest\.json"):
        TokenDataset("memory://deep")
    with pytest.raises(FileNotFoundError, match="no file matches"):
        TokenDataset("memory://deep/z*")


def test_credentials_are_not_shown() -> None:
    path = RemotePath("https://user:secret@host/data") / "shard.bin"
    assert "secret" not in str(path) + repr(path)
    assert path.url == "https://user:secret@host/data/shard.bin"
    assert path.name == "shard.bin"


_LOADING = """
import sys
from torch.utils.data import DataLoader
from sentitok.datasets import TokenDataset

if __name__ == "__main__":
    batches = TokenDataset(sys.argv[1:]).windows(32).shuffled(4, seed=1)
    expected = [rows.tolist() for rows in batches]  # so that a connection is open when processes fork
    loader = DataLoader(batches, batch_size=None, num_workers=2, multiprocessing_context="fork")
    assert [rows.tolist() for rows in loader] == expected
    print(len(expected))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="fork")
def test_loaders_read_a_store_in_processes(web: Web, local: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    script = tmp_path / "loading.py"
    script.write_text(_LOADING)
    parts = [f"{web.address}/data/part-{part}" for part in range(2)]
    done = subprocess.run(
        [sys.executable, script, *parts],
        capture_output=True, env=environment(), text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == len(TokenDataset(local).windows(32).shuffled(4))
