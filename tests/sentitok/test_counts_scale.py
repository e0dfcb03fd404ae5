"""Counts at scale: many files within few open files and little memory; damaged parts are named."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import sentitok
from sentitok import FormatError, TrainError, WordCounts

# Runs an expression with at most 64 open files; prints by how many bytes its peak memory grew.
LIMITED = """
import resource, sys
import sentitok
from sentitok.cli.output import peak_memory
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
before = peak_memory()
exec(sys.argv[1])
print(peak_memory() - before)
"""


def limited(code: str) -> int:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, code], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def write_parts(folder: Path, n: int) -> list[Path]:
    """Writes n counts files that share some pieces."""
    folder.mkdir()
    paths = []
    for part in range(n):
        counts = WordCounts(
            {f"own{part}": part + 1, f"shared{part % 97}": 2, "all": 3, "x" * (part % 40 + 1): 1}
        )
        paths.append(folder / f"{part}.counts")
        paths[-1].write_bytes(counts.to_bytes())  # `save` waits for the disk
    return paths


def sum_of(paths: list[Path]) -> WordCounts:
    total: dict[bytes, int] = {}
    for path in paths:
        for piece, count in WordCounts.load(path).items():
            total[piece] = total.get(piece, 0) + count
    return WordCounts({**total})


@pytest.mark.skipif(sys.platform == "win32", reason="no resource limits")
def test_merge_10_000_files_within_64_open_files_and_256_mb(tmp_path: Path) -> None:
    paths = write_parts(tmp_path / "parts", 10_000)
    out = tmp_path / "all.counts"
    folder = repr(str(tmp_path / "parts"))
    grew = limited(
        f"sentitok.merge_counts([{folder} + f'/{{n}}.counts' for n in range(10_000)], {str(out)!r})"
    )
    assert grew < 256 << 20
    assert WordCounts.load(out) == sum_of(paths)
    assert [path.name for path in tmp_path.iterdir() if path.name != "parts"] == ["all.counts"]


@pytest.mark.parametrize("n", [1, 2, 31, 32, 33, 34, 63, 64, 100, 1000, 1100])
def test_merges_of_any_number_of_files_equal_one_sum(tmp_path: Path, n: int) -> None:
    paths = write_parts(tmp_path / "parts", n)
    sentitok.merge_counts(paths, tmp_path / "all.counts")
    assert (tmp_path / "all.counts").read_bytes() == sum_of(paths).to_bytes()


@pytest.mark.skipif(sys.platform == "win32", reason="no named pipes")
@pytest.mark.parametrize("min_count", [0, 3])
def test_up_to_32_inputs_may_be_pipes(tmp_path: Path, min_count: int) -> None:
    paths = write_parts(tmp_path / "parts", 32)
    pipes = [tmp_path / f"{path.name}.pipe" for path in paths]
    for path, pipe in zip(paths, pipes, strict=True):
        os.mkfifo(pipe)
        threading.Thread(target=pipe.write_bytes, args=(path.read_bytes(),), daemon=True).start()
    sentitok.merge_counts(pipes, tmp_path / "of-pipes.counts", min_count=min_count)
    sentitok.merge_counts(paths, tmp_path / "of-files.counts", min_count=min_count)
    assert (tmp_path / "of-pipes.counts").read_bytes() == (tmp_path / "of-files.counts").read_bytes()


@pytest.mark.skipif(sys.platform == "win32", reason="no resource limits")
def test_counting_on_disk_within_64_open_files(sherlock: Path, tmp_path: Path) -> None:
    text = sherlock.read_bytes()
    words = b"".join(b"%x %x\n" % (n * n, n * 7919) for n in range(400_000))
    (tmp_path / "a.txt").write_bytes(text + words)
    out = tmp_path / "a.counts"
    limited(f"sentitok.count({str(tmp_path / 'a.txt')!r}, max_memory=1, threads=8, out={str(out)!r})")
    counts = sentitok.count(tmp_path / "a.txt")
    assert counts is not None
    assert out.read_bytes() == counts.to_bytes()


@pytest.mark.parametrize("damage", ["cut", "cut between lines", "changed", "empty", "no counts"])
def test_a_damaged_part_is_named(tmp_path: Path, damage: str) -> None:
    paths = write_parts(tmp_path / "parts", 50)
    bad = paths[40]
    data = bad.read_bytes()
    bad.write_bytes(
        {
            "cut": data[:-4],
            "cut between lines": data[: data.rstrip(b"\n").rindex(b"\n") + 1],
            "changed": data.replace(b" 3\n", b" 4\n"),
            "empty": b"",
            "no counts": b"some text\n",
        }[damage]
    )
    with pytest.raises(FormatError, match=str(bad)):
        sentitok.merge_counts(paths, tmp_path / "all.counts")
    assert not (tmp_path / "all.counts").exists()


def test_a_part_of_another_pipeline_is_named(tmp_path: Path) -> None:
    paths = write_parts(tmp_path / "parts", 5)
    WordCounts({"a": 1}, pre_tokenizer="bert").save(paths[3])
    with pytest.raises(TrainError, match=rf"{paths[0]}.*{paths[3]}"):
        sentitok.merge_counts(paths, tmp_path / "all.counts")
