"""URLs instead of paths, for every command: what it reads is copied, what it writes is brought back."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import sentitok
from cli_parameters import call_with, paths_of
from cli_runs import run
from sentitok.cli.app import app
from sentitok.cli.remote_files import WRITTEN

fsspec = pytest.importorskip("fsspec", reason="the extra `remote` is not installed")

TEXT = "".join(f"line {i} of a text with words\n" for i in range(300)).encode()

# Parameters that stay URLs, which the library refuses.
LOCAL = ("checkpoint", "locked_folder")
# Parameters that are paths, by command. A new one is a new entry here: it takes URLs as all do.
PATHS = {
    "train-bpe": "checkpoint counts extend out",
    "train-wordpiece": "checkpoint counts out",
    "train-unigram": "checkpoint counts out",
    "count": "out",
    "merge-counts": "out parts",
    "encode": "chat out tokenizer_file",
    "decode": "tokenizer_file",
    "show": "tokenizer_file",
    "eval": "plot tokenizers",
    "compare": "one other",
    "convert": "source target",
    "doctor": "tokenizer_file",
    "prune": "id_map out tokenizer_file",
    "transplant": "model new old out",
    "lock": "locked_folder",
    "check": "locked_folder",
    "align": "one other",
    "bench": "tokenizer_file",
    "serve": "files",
    "verify": "tokenizer_file",
}


@pytest.fixture
def memory() -> Iterator[Any]:
    """The store in memory, with a text and a tokenizer."""
    fs = fsspec.filesystem("memory")
    fs.store.clear()
    fs.pipe("/d/a.txt", TEXT)
    sentitok.train_bpe(texts=TEXT.decode().splitlines(), vocab_size=280).save("memory://d/t.json")
    yield fs
    fs.store.clear()


def commands() -> dict[str, Any]:
    return dict(typer.main.get_group(app).commands)


def test_the_table_has_every_path() -> None:
    assert {
        name: " ".join(sorted(paths_of(one))) for name, one in commands().items() if paths_of(one)
    } == PATHS


@pytest.mark.parametrize("command", PATHS)
def test_a_command_gets_local_paths_for_urls(
    command: str, memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = commands()[command]
    seen: dict[str, Any] = {}
    for name in paths_of(one):
        if (command == "encode" and name == "out") or name in LOCAL:
            continue

        def called(*, name: str = name, **values: Any) -> None:
            path = values[name][0] if isinstance(values[name], list) else values[name]
            assert isinstance(path, Path)
            seen[name] = path
            if name in WRITTEN:
                path.write_text("written")
            else:
                assert path.read_bytes() == TEXT

        url = f"memory://out/{name}.json" if name in WRITTEN else "memory://d/a.txt"
        monkeypatch.setattr(one, "callback", called)
        with one.make_context(command, call_with(one, name, url)) as context:
            one.invoke(context)
        if name in WRITTEN:
            assert memory.cat(f"/out/{name}.json") == b"written"
        assert not seen[name].exists() or name not in WRITTEN


def test_progress_is_not_saved_behind_urls(memory: Any, tmp_path: Path) -> None:
    done = run("train-bpe", "memory://d/a.txt", "--checkpoint", "memory://d/saved", cwd=tmp_path)
    assert done.code == 2
    assert "memory://d/saved" in done.err


def test_commands_work_with_urls_alone(memory: Any, tmp_path: Path) -> None:
    done = run("count", "memory://d/a.txt", "-o", "memory://d/a.counts", cwd=tmp_path)
    assert done.code == 0, done.err
    assert "memory://d/a.counts" in done.out
    for args in (
        ["train-bpe", "memory://d/*.txt", "--vocab", "290", "-o", "memory://d/new.json"],
        ["train-bpe", "--counts", "memory://d/a.counts", "--vocab", "290", "-o", "memory://d/counted.json"],
        ["train-bpe", "memory://d/a.txt", "--vocab", "290", "--dry-run"],
        ["merge-counts", "memory://d/a.counts", "-o", "memory://d/all.counts"],
        ["encode", "memory://d/a.txt", "-t", "memory://d/t.json", "-o", "memory://d/tokens"],
        ["encode", "memory://d/a.txt", "-t", "memory://d/t.json", "-o", "memory://d/tokens"],
        ["convert", "memory://d/t.json", "memory://d/t.sentitok", "--verify", "memory://d/a.txt"],
        ["eval", "memory://d/t.json", "memory://d/a.txt"],
        ["compare", "memory://d/t.json", "memory://d/new.json", "memory://d/a.txt"],
        ["prune", "memory://d/t.json", "memory://d/a.txt", "-o", "memory://d/small.json"],
    ):
        done = run(*args, cwd=tmp_path)
        assert done.code in (0, 1 if args[0] == "compare" else 0), (args, done.err)
        assert "/tmp/" not in done.out + done.err, (args, done.out, done.err)
    assert memory.cat("/d/new.json") == memory.cat("/d/counted.json")
    decoded = run("decode", "memory://d/tokens", "-t", "memory://d/t.json", cwd=tmp_path)
    assert decoded.out.encode() == TEXT
    assert [*tmp_path.iterdir()] == []


def test_texts_that_are_measured_are_not_copied(
    memory: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sentitok.remote.inputs import fetch

    copied = []

    def noted(url: str, to: Path) -> None:
        copied.append(url)
        fetch(url, to)

    monkeypatch.setattr("sentitok.remote.copies._staged", {})
    monkeypatch.setattr("sentitok.remote.copies.fetch", noted)
    memory.pipe("/d/b.txt", TEXT)
    memory.pipe("/d/model/tokenizer.json", memory.cat("/d/t.json"))
    memory.pipe("/d/ranks", b"IQ== 0\nIg== 1\n")
    for args in (
        [
            "eval",
            "memory://d/t.json",
            "memory://d/model",
            "memory://d/a.txt",
            "memory://d/b.txt",
            "--per-file",
        ],
        ["eval", "memory://d/t.json", "memory://d/*.txt"],
        ["compare", "memory://d/t.json", "memory://d/t.json", "memory://d/a.txt"],
        ["doctor", "memory://d/t.json", "memory://d/a.txt"],
        ["prune", "memory://d/t.json", "memory://d/a.txt", "-o", str(tmp_path / "small.json")],
    ):
        done = run(*args, "--json", cwd=tmp_path)
        assert done.code == 0, (args, done.err)
    assert copied
    assert not [url for url in copied if url.endswith(".txt")]
    done = run("eval", "memory://d/ranks", "memory://d/a.txt", cwd=tmp_path)
    assert "tiktoken" in done.err  # known as a tokenizer by how it begins


def test_a_file_in_a_store_is_replaced_only_with_force(memory: Any, tmp_path: Path) -> None:
    before = memory.cat("/d/t.json")
    args = ["train-bpe", "memory://d/a.txt", "--vocab", "270", "-o", "memory://d/t.json"]
    done = run(*args, cwd=tmp_path)
    assert done.code == 2
    assert "memory://d/t-new.json" in done.err
    assert "sentitok-remote" not in done.err
    assert memory.cat("/d/t.json") == before
    assert json.loads(memory.cat("/d/t-new.json"))["model"]["vocab"]
    assert run(*args, "--force", cwd=tmp_path).code == 0
    assert memory.cat("/d/t.json") == memory.cat("/d/t-new.json")


def test_force_removes_shards_that_are_no_more(memory: Any, tmp_path: Path) -> None:
    args = ["encode", "memory://d/a.txt", "-t", "memory://d/t.json", "-o", "memory://d/tokens"]
    assert run(*args, "--shard-tokens", "500", cwd=tmp_path).code == 0
    assert len(memory.find("/d/tokens")) > 5
    assert run(*args, "--force", cwd=tmp_path).code == 0
    assert len(memory.find("/d/tokens")) == 3


def test_errors_name_the_url(memory: Any, tmp_path: Path) -> None:
    memory.pipe("/d/damaged.json", b"{")
    for args, words in [
        (["info", "memory://d/damaged.json"], "memory://d/damaged.json"),
        (["info", "memory://d/none.json"], "memory://d/none.json"),
        (["count", "memory://d/none-*.txt"], "memory://d/none-*.txt"),
        (["count", "nostore://d/a.txt"], "nostore://"),
        (["count", "memory://d/a.txt", "-o", "https://host/a.counts"], "https://host/a.counts"),
        (["info", "https://user:geheim@127.0.0.1:9/t.json?sig=verborgen"], "127.0.0.1:9/t.json"),
    ]:
        done = run(*args, cwd=tmp_path)
        assert done.code in (1, 2), args
        assert words in done.err, (args, done.err)
        assert done.err.count("\n") == 1, done.err
        for secret in ("geheim", "verborgen", "sentitok-remote-"):
            assert secret not in done.err
