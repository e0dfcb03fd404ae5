"""`sentitok verify`, and folders of data sets: whole and damaged ones, and the damaged file."""

import json
import os
import shutil
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli_runs import run_inside
from sentitok import FormatError, Tokenizer, count, encode_files, train_bpe
from sentitok.datasets import TokenDataset
from sentitok.shards import find_datasets
from sentitok.verify import verify, verify_counts

TEXTS = [f"A film of {number} minutes.\n" for number in range(60)]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, tokenizer: Tokenizer) -> Path:
    """Three parts in a folder, other layouts, counts, and the tokenizer."""
    folder = tmp_path_factory.mktemp("verify")
    (folder / "texts.txt").write_text("".join(TEXTS))
    tokenizer.save(folder / "tokenizer.json")
    for part in range(3):
        encode_files(
            folder / "texts.txt", folder / f"parts/part-{part}", tokenizer, shard=(part, 3), shard_tokens=100
        )
    for layout in ("megatron", "text"):
        encode_files(folder / "texts.txt", folder / layout, tokenizer, layout=layout)
    encode_files(folder / "texts.txt", folder / "nanogpt", tokenizer, layout="nanogpt", separator="!")
    count(folder / "texts.txt", out=folder / "all.counts")
    return folder


@pytest.fixture
def copied(made: Path, tmp_path: Path) -> Path:
    """A copy that a test may spoil."""
    return Path(shutil.copytree(made, tmp_path / "copy"))


def result(*args: str | Path, cwd: Path) -> tuple[int, dict[str, Any]]:
    done = run_inside("verify", *args, "--json", cwd=cwd)
    value: dict[str, Any] = json.loads(done.out)
    assert value["schema"] == "sentitok.verify/1"
    assert value["ok"] == (done.code == 0)
    return done.code, value


def test_what_was_written_is_whole(made: Path) -> None:
    layouts = ["megatron", "text", "nanogpt"]
    given = ["parts", *layouts, "all.counts", "tokenizer.json"]
    code, value = result(*given, "-t", "tokenizer.json", cwd=made)
    assert code == 0
    assert [one["path"] for one in value["checked"]] == [f"parts/part-{part}" for part in range(3)] + given[
        1:
    ]
    for one in value["checked"][:3]:
        files = list((made / one["path"]).iterdir())
        assert one["totals"]["files"] == len(files) > 4
        assert one["totals"]["bytes"] == sum(file.stat().st_size for file in files)
        assert one["problems"] == one["others"] == one["leftovers"] == one["uncovered"] == []
    assert sum(one["totals"]["documents"] for one in value["checked"][:3]) == len(TEXTS)
    assert value["checked"][-2]["kind"] == "counts"
    text = run_inside("verify", "parts/part-0", cwd=made).out
    assert text.startswith("parts/part-0: ")
    assert run_inside("verify", "parts", "-q", cwd=made).out == "0\n"


@pytest.mark.parametrize("layout", ["parts/part-0", "megatron", "text", "nanogpt"])
def test_a_bit_that_changed_is_found_in_every_file(layout: str, copied: Path) -> None:
    for path in sorted((copied / layout).iterdir()):
        data = path.read_bytes()
        flipped = bytearray(data)
        flipped[len(data) // 2] ^= 1
        path.write_bytes(flipped)
        code, value = result(layout, cwd=copied)
        problems = value["checked"][0]["problems"]
        if path.name != "manifest.json":  # of which there is no hash
            assert code == 1
            assert len(problems) == 1
            assert problems[0].startswith(f"{Path(layout) / path.name}: SHA-256")
            assert "copy it again" in problems[0]
        path.write_bytes(data)
    assert result(layout, cwd=copied)[0] == 0


def test_all_that_is_wrong_is_found_in_order(copied: Path) -> None:
    part = copied / "parts/part-1"
    (part / "shard-00000.idx.npy").unlink()
    with open(part / "shard-00001.bin", "ab") as file:
        file.write(b"x")
    ids = np.fromfile(part / "shard-00002.bin", np.uint16)
    ids[[0, 1]] = ids[[1, 0]]
    ids.tofile(part / "shard-00002.bin")
    (part / "notes.txt").touch()
    (part / ".sentitok-shard-00003.bin-abcdef").touch()
    for threads in ("1", "3"):
        code, value = result("parts", "--threads", threads, cwd=copied)
        assert code == 1
        found = value["checked"][1]
        names = ["shard-00000.idx.npy: no such", "shard-00001.bin: ", "shard-00002.bin: SHA-256"]
        for problem, name in zip(found["problems"], names, strict=True):
            assert problem.startswith(f"parts/part-1/{name}")
            assert "copy it again" in problem
        assert found["others"] == ["notes.txt"]
        assert found["leftovers"] == [".sentitok-shard-00003.bin-abcdef"]
        assert value["checked"][0]["problems"] == value["checked"][2]["problems"] == []
    done = run_inside("verify", "parts", cwd=copied)
    assert "parts/part-1: 3 problems" in done.err
    assert "notes.txt" in done.err


def test_ends_that_are_not_in_order_are_found(copied: Path) -> None:
    part = copied / "parts/part-0"
    manifest = json.loads((part / "manifest.json").read_text())
    index = part / manifest["shards"][0]["index"]
    data = bytearray(index.read_bytes())
    data[128:136] = (1 << 40).to_bytes(8, "little")
    index.write_bytes(data)
    # As a folder of an old release: its manifest has no hash of the ends.
    for shard in manifest["shards"]:
        del shard["index_sha256"]
    (part / "manifest.json").write_text(json.dumps(manifest))
    found = verify(str(part))
    assert len(found.problems) == 1
    assert f"{index.name}: document 1 ends before" in found.problems[0]
    assert index.name in found.uncovered


def test_the_tokenizer_of_the_ids_is_checked(copied: Path) -> None:
    train_bpe(texts=TEXTS, vocab_size=270).save(copied / "other.json")
    code, value = result("parts/part-0", "-t", "other.json", cwd=copied)
    assert code == 1
    (problem,) = value["checked"][0]["problems"]
    assert Tokenizer.from_file(copied / "other.json").fingerprint in problem
    assert Tokenizer.from_file(copied / "tokenizer.json").fingerprint in problem


def test_a_run_that_is_not_finished_is_no_data_set(copied: Path) -> None:
    path = copied / "parts/part-0/manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "complete": False}))
    code, value = result("parts", cwd=copied)
    assert code == 1
    assert "not all is written yet" in value["checked"][0]["problems"][0]
    path.unlink()
    code, value = result("parts", cwd=copied)
    assert code == 1
    assert f"{Path('parts/part-0/manifest.json')}: no such file" in value["checked"][0]["problems"][0]


def test_damaged_counts_and_tokenizers_are_found(copied: Path) -> None:
    data = (copied / "all.counts").read_bytes()
    lines = data.splitlines(keepends=True)
    for damaged in (data[:-1], b"".join(lines[:-1]), b"".join([*lines[:2], lines[4], *lines[3:]])):
        (copied / "bad.counts").write_bytes(damaged)
        found = verify_counts(str(copied / "bad.counts"))
        assert len(found.problems) == 1
        assert "bad.counts" in found.problems[0]
    (copied / "cut.json").write_bytes((copied / "tokenizer.json").read_bytes()[:-20])
    code, value = result("bad.counts", "all.counts", "cut.json", cwd=copied)
    assert code == 1
    assert [len(one["problems"]) for one in value["checked"]] == [1, 0, 1]


def test_what_is_not_there_is_a_wrong_call(made: Path) -> None:
    for args, words in (
        (["nothing"], "nothing: "),
        (["parts/x-*"], "no folder matches"),
        (["all.counts", "-t", "tokenizer.json"], "--tokenizer: "),
        (["parts", "-t", "nothing.json"], "nothing.json"),
    ):
        done = run_inside("verify", *args, cwd=made)
        assert done.code == 2
        assert words in done.err


def test_parts_of_several_tokenizers_are_found(copied: Path) -> None:
    other = train_bpe(texts=TEXTS, vocab_size=270)
    shutil.rmtree(copied / "parts/part-1")
    encode_files(copied / "texts.txt", copied / "parts/part-1", other)
    code, value = result("parts", cwd=copied)
    assert code == 1
    assert [len(one["problems"]) for one in value["checked"]] == [0, 1, 0]
    assert "tokenizer_sha256" in value["checked"][1]["problems"][0]
    with pytest.raises(FormatError, match="part-1: tokenizer_sha256"):
        TokenDataset(copied / "parts")


def test_progress_counts_the_bytes(made: Path) -> None:
    calls: list[tuple[str, int, int]] = []
    found = verify(made / "parts/part-0", threads=2, progress=lambda *call: calls.append(call))
    assert {stage for stage, _, _ in calls} == {"verify"}
    of_manifest = (made / "parts/part-0/manifest.json").stat().st_size
    assert calls[-1][1] == calls[-1][2] == found.totals["bytes"] - of_manifest


def test_a_stop_ends_all_threads(made: Path) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        verify(made / "parts/part-0", threads=2, progress=stop)
    assert not [one for one in threading.enumerate() if one.name.startswith("verify")]


def test_a_folder_of_data_sets_is_one_data_set(made: Path, tokenizer: Tokenizer, tmp_path: Path) -> None:
    whole = encode_files(made / "texts.txt", tmp_path / "whole", tokenizer)
    alone = TokenDataset(tmp_path / "whole")
    parts = [made / "parts" / f"part-{part}" for part in range(3)]
    glob = f"{made}/parts/part-[01]"
    ways: list[list[str | Path]] = [[made / "parts"], [f"{made}/parts/part-*"], [glob, parts[2]]]
    for given in ways:
        assert TokenDataset(*given).directories == tuple(parts)
        dataset = TokenDataset(given)
        assert dataset.directories == tuple(parts)
        assert len(dataset) == whole["documents"]
        assert [ids.tolist() for ids in dataset] == [ids.tolist() for ids in alone]


def test_parts_are_found_at_any_depth_sorted_by_name(made: Path, tmp_path: Path) -> None:
    names = ["b/1", "a/part-10", "a/part-2", "a-/x/y", ".hidden/part"]
    for name in names:
        shutil.copytree(made / "parts/part-0", tmp_path / name)
    found = [os.path.relpath(one, tmp_path) for one in find_datasets([tmp_path])]
    assert found == [os.path.normpath(name) for name in ("a/part-10", "a/part-2", "a-/x/y", "b/1")]
    assert len(TokenDataset(tmp_path)) == 4 * len(TokenDataset(made / "parts/part-0"))
    (tmp_path / "b/2").mkdir()  # one that was never begun
    with pytest.raises(FileNotFoundError, match=r"2.manifest\.json"):
        TokenDataset(tmp_path)
    (tmp_path / "b/2").rmdir()
    (tmp_path / "a/part-2/manifest.json").unlink()
    (tmp_path / "a/part-2/inside").mkdir()
    with pytest.raises(FileNotFoundError, match=r"part-2.manifest\.json"):
        TokenDataset(tmp_path)
    with pytest.raises(FileNotFoundError, match="no folder matches"):
        TokenDataset(tmp_path / "c*")
