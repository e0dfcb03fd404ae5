"""One rule for every command: a file that exists and would change is not replaced without --force."""

import os
import shutil
from pathlib import Path

import pytest

from cli_runs import run_inside as run

# Command -> its call, what another call that gives other bytes ends in, and what it writes.
CALLS: dict[str, tuple[list[str], list[str], list[str]]] = {
    "train-bpe": (["corpus.txt", "-o", "new.json"], ["--vocab", "300"], ["new.json"]),
    "train-bpe --counts": (["--counts", "all.counts", "-o", "new.json"], ["--vocab", "300"], ["new.json"]),
    "train-wordpiece": (["corpus.txt", "-o", "new.json"], ["--vocab", "300"], ["new.json"]),
    "train-unigram": (["corpus.txt", "-o", "new.model"], ["--vocab", "300"], ["new.model"]),
    "count": (["corpus.txt", "-o", "new.counts"], ["--shard", "0/2"], ["new.counts"]),
    "merge-counts": (["part-0.counts", "-o", "new.counts"], ["part-1.counts"], ["new.counts"]),
    "encode": (["corpus.txt", "-o", "new"], ["--shard", "0/2"], ["new/manifest.json", "new/shard-00000.bin"]),
    "convert": (["tokenizer.json", "new.json", "--to", "tokenizer.json"], ["--to", "sentitok"], ["new.json"]),
    "convert to a folder": (
        ["tokenizer.json", "new"],
        [],
        ["new/tokenizer.json", "new/tokenizer_config.json"],
    ),
    "prune": (
        ["tokenizer.json", "corpus.txt", "-o", "new.json"],
        ["--min-count", "50"],
        ["new.json", "new.ids.npy"],
    ),
    "transplant": (
        ["base", "merged.json", "base", "-o", "new"],
        ["--pad-to-multiple", "64"],
        ["new/model.safetensors", "new/tokenizer.json", "new/config.json"],
    ),
    "lock": (["base"], [], ["base/tokenizer.lock.json"]),
    "eval --plot": (["tokenizer.json", "corpus.txt", "--plot", "new.svg"], ["reviews.jsonl"], ["new.svg"]),
}
# The work of these takes long, so a result that may not replace another is kept next to it.
KEPT = ("train-", "count", "merge-counts", "eval")


@pytest.mark.parametrize("name", CALLS)
def test_files_are_replaced_only_with_force(name: str, prepared: Path) -> None:
    args, change, files = CALLS[name]
    call = [name.split()[0], *args]
    if "plot" in name:
        pytest.importorskip("matplotlib")
    other = {"convert to a folder": ["convert", "merged.json", "new"], "lock": call}.get(
        name, [*call, *change]
    )
    first = run(*call, cwd=prepared)
    assert first.code == 0, first.err
    was = [(prepared / file).read_bytes() for file in files]
    again = run(*call, cwd=prepared)
    assert again.code == 0, again.err
    if name == "lock":
        shutil.copy(prepared / "merged.json", prepared / "base" / "tokenizer.json")
    there = set(prepared.iterdir())
    assert not [path for path in there if "-new" in path.name]
    refused = run(*other, cwd=prepared)
    assert refused.code == 2
    assert refused.err.count("--force") == 1
    assert refused.err.count(" exist") <= 1
    assert files[0].partition("/")[0] in refused.err
    assert [(prepared / file).read_bytes() for file in files] == was
    made = set(prepared.iterdir()) - there
    if name.startswith(KEPT):
        (kept,) = made
        assert kept.name in refused.err
    else:
        assert not made
    forced = run(*other, "--force", cwd=prepared)
    assert forced.code == 0, forced.err
    now = [(prepared / file).read_bytes() for file in files]
    assert now[0] != was[0]
    if name.startswith(KEPT):
        assert kept.read_bytes() == now[0]


def test_a_source_that_changed_behind_a_data_set_is_said(prepared: Path) -> None:
    """A data set knows its sources by name and size."""
    call = ("encode", "corpus.txt", "-o", "new")
    assert run(*call, cwd=prepared).code == 0
    assert "corpus.txt" not in run(*call, cwd=prepared).err
    written = (prepared / "new" / "manifest.json").stat().st_mtime
    os.utime(prepared / "corpus.txt", (written + 9, written + 9))
    again = run(*call, cwd=prepared)
    assert again.code == 0
    assert "corpus.txt: changed" in again.err
    assert "--force" in again.err


def test_a_map_that_exists_keeps_the_tokenizer_from_being_written(prepared: Path) -> None:
    (prepared / "new.ids.npy").write_bytes(b"mine")
    refused = run("prune", "tokenizer.json", "corpus.txt", "-o", "new.json", cwd=prepared)
    assert refused.code == 2
    assert "--force" in refused.err
    assert (prepared / "new.ids.npy").read_bytes() == b"mine"
    assert not (prepared / "new.json").exists()


def test_a_map_and_its_tokenizer_are_two_files(prepared: Path) -> None:
    refused = run(
        "prune", "tokenizer.json", "corpus.txt", "-o", "new.json", "--id-map", "new.json", cwd=prepared
    )
    assert refused.code == 2
    assert "--id-map" in refused.err
    assert not (prepared / "new.json").exists()


def test_other_files_of_a_folder_stay(prepared: Path) -> None:
    folder = prepared / "other-model"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    done = run("convert", "tokenizer.json", "other-model", cwd=prepared)
    assert done.code == 0, done.err
    assert (folder / "tokenizer.json").is_file()
    assert (folder / "config.json").read_text() == "{}"
    assert not (prepared / "other-model-new").exists()


def test_the_default_name_is_safe(prepared: Path) -> None:
    """`tokenizer.json` is the default of -o, and may have taken hours."""
    was = (prepared / "tokenizer.json").read_bytes()
    shutil.copy(prepared / "corpus.txt", prepared / "tokenizer-new.json")
    refused = run("train-bpe", "corpus.txt", "--vocab", "300", cwd=prepared)
    assert refused.code == 2
    assert "tokenizer-new2.json" in refused.err
    assert (prepared / "tokenizer.json").read_bytes() == was
    kept = prepared / "tokenizer-new2.json"
    assert kept.is_file()
    again = run("train-bpe", "corpus.txt", "--vocab", "300", cwd=prepared)
    assert (again.code, kept.name in again.err) == (2, True), "an equal result is not kept twice"
    assert not (prepared / "tokenizer-new3.json").exists()


@pytest.mark.parametrize("name", ["count", "merge-counts", "eval --plot"])
def test_a_folder_is_refused_before_the_work(name: str, prepared: Path) -> None:
    args, _, files = CALLS[name]
    (prepared / files[0]).mkdir()
    done = run(name.split()[0], *args, cwd=prepared)
    assert done.code == 2
    assert files[0] in done.err
    assert (prepared / files[0]).is_dir()
    assert not [path for path in prepared.iterdir() if "-new" in path.name]
