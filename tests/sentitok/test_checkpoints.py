"""Trainings that are stopped or killed, and resume from a checkpoint with the same result."""

import contextlib
import json
import os
import pickle
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import sentitok
from commands import environment, run, start
from sentitok import Tokenizer, TrainError, train_bpe, train_unigram, train_wordpiece

# How long a process has on a busy machine, in seconds.
PATIENCE = 120

TRAINERS: dict[str, tuple[Callable[..., Tokenizer], dict[str, Any]]] = {
    "bpe": (train_bpe, {"vocab_size": 2000}),
    "bpe chars": (train_bpe, {"vocab_size": 1500, "unit": "chars", "tie_break": "bytes", "min_frequency": 3}),
    "superwords": (train_bpe, {"vocab_size": 1500, "superwords_from": 300}),
    "superwords auto": (train_bpe, {"vocab_size": 1500, "superwords": "auto"}),
    "bpe sentencepiece": (train_bpe, {"vocab_size": 1500, "method": "sentencepiece"}),
    "wordpiece": (train_wordpiece, {"vocab_size": 1500}),
    "wordpiece likelihood": (train_wordpiece, {"vocab_size": 800, "score": "likelihood"}),
    "unigram": (train_unigram, {"vocab_size": 800}),
    "unigram sentencepiece": (train_unigram, {"vocab_size": 800, "method": "sentencepiece"}),
}


class StoppedError(Exception):
    """Raised by a progress callback."""


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A text of random words, of which many occur once."""
    random_words = random.Random(4)
    letters = "etaoinshrdlu"
    words = ["".join(random_words.choices(letters, k=random_words.randint(1, 9))) for _ in range(30_000)]
    path = tmp_path_factory.mktemp("text") / "text.txt"
    with path.open("w") as file:
        for _ in range(4_000):
            file.write(" ".join(random_words.choices(words, k=12)) + "\n")
    return path


@pytest.mark.parametrize("name", TRAINERS)
def test_training_that_raises_resumes(name: str, text: Path, tmp_path: Path) -> None:
    train, options = TRAINERS[name]
    whole = train(text, **options)
    merging = 0
    last = 0

    def progress(stage: str, _: int, __: int) -> None:
        nonlocal merging
        merging += stage not in ("count", "spill")
        if merging == last:
            raise StoppedError

    saving: dict[str, Any] = {"checkpoint": tmp_path / "saved", "resume": True}
    resumed = None
    while resumed is None:
        # Each time it comes further, at least by a moment.
        merging, last = 0, last * 2 + 1
        with contextlib.suppress(StoppedError):
            resumed = train(text, progress=progress, **saving, **options)
    assert resumed.to_bytes() == whole.to_bytes()
    now, before = resumed.report, whole.report
    assert now is not None
    assert before is not None
    assert before.resumed is None
    assert (now.merges, now.totals, now.stop) == (before.merges, before.totals, before.stop)
    assert pickle.loads(pickle.dumps(resumed.report)).resumed == now.resumed
    sentitok.remove_checkpoint(tmp_path / "saved")
    assert not (tmp_path / "saved").exists()


@pytest.mark.parametrize("name", TRAINERS)
def test_every_save_changes_nothing(name: str, text: Path, tmp_path: Path) -> None:
    train, options = TRAINERS[name]
    options = options | {"vocab_size": 400}
    whole = train(text, **options)
    saved = train(text, checkpoint=tmp_path, checkpoint_seconds=0, **options)
    assert saved.to_bytes() == whole.to_bytes()
    # It is kept, and gives the same again, for any number of threads.
    again = train(text, checkpoint=tmp_path, resume=True, threads=1, **options)
    assert again.to_bytes() == whole.to_bytes()
    assert again.report is not None
    assert again.report.resumed is not None


def test_texts_and_counts_resume_if_they_are_the_same(text: Path, tmp_path: Path) -> None:
    lines = text.read_text().splitlines()[:500]
    counts = sentitok.count(texts=lines)
    assert counts is not None
    whole = train_bpe(texts=lines, vocab_size=400)
    saving: dict[str, Any] = {"checkpoint": tmp_path / "saved", "vocab_size": 400}
    sources: list[dict[str, Any]] = [{"texts": lines}, {"counts": counts}]
    for source in sources:
        train_bpe(**source, checkpoint_seconds=0, **saving)
        again = train_bpe(**source, resume=True, **saving)
        assert again.to_bytes() == whole.to_bytes()
        with pytest.raises(TrainError, match="differ"):
            train_bpe(texts=lines[1:], resume=True, **saving)
        sentitok.remove_checkpoint(tmp_path / "saved")


def test_what_differs_is_named(text: Path, tmp_path: Path) -> None:
    saving: dict[str, Any] = {"checkpoint": tmp_path / "saved", "resume": True}
    train_bpe(text, vocab_size=300, checkpoint_seconds=0, **saving)
    cases: list[tuple[Callable[..., Tokenizer], dict[str, Any], str]] = [
        (train_bpe, {"vocab_size": 301}, "vocab_size = 300, not 301"),
        (train_bpe, {"vocab_size": 300, "pre_tokenizer": "cl100k"}, "pre_tokenizer = gpt2, not cl100k;"),
        (train_bpe, {"vocab_size": 300, "max_piece_bytes": 10}, "max_piece_bytes"),
        (train_bpe, {"vocab_size": 300, "special_tokens": ["<s>"]}, r'special_tokens = \[\], not \["<s>"\];'),
        (train_bpe, {"vocab_size": 300, "normalizer": "nfc"}, "normalizer = none, not nfc;"),
        (
            train_bpe,
            {"vocab_size": 300, "method": "sentencepiece"},
            "BPE, not of BPE by SentencePiece's rules",
        ),
        (train_bpe, {"vocab_size": 300, "superwords": "auto"}, "BPE, not of BPE with superwords"),
        (train_wordpiece, {"vocab_size": 300}, "BPE, not of WordPiece"),
        (train_bpe, {"vocab_size": 300, "resume": False}, "stopped"),
    ]
    for train, options, words in cases:
        with pytest.raises(TrainError, match=words) as error:
            train(text, **saving | options)
        assert str(tmp_path / "saved") in str(error.value)
    mistakes: list[dict[str, Any]] = [{"resume": True}, {"checkpoint": tmp_path, "checkpoint_seconds": -1}]
    for wrong in mistakes:
        with pytest.raises(ValueError, match=r"resume|checkpoint_seconds"):
            train_bpe(text, vocab_size=300, **wrong)
    with pytest.raises(OSError, match=r"text\.txt"):
        train_bpe(text, vocab_size=300, checkpoint=text)
    copy = tmp_path / "copy.txt"
    copy.write_bytes(text.read_bytes())
    with pytest.raises(TrainError, match=r"copy\.txt"):
        train_bpe(copy, vocab_size=300, **saving)
    os.utime(text, (1, 1))
    with pytest.raises(TrainError, match=r"text\.txt has changed"):
        train_bpe(text, vocab_size=300, **saving)


def test_another_release_is_refused(text: Path, tmp_path: Path) -> None:
    from hashlib import sha256

    train_bpe(text, vocab_size=300, checkpoint=tmp_path, checkpoint_seconds=0)
    path = tmp_path / "training.checkpoint"
    saved = json.loads(path.read_text().splitlines()[1])
    body = json.dumps(saved | {"release": "0.0.1"})
    path.write_text(f"#sentitok-checkpoint 1 {sha256(body.encode()).hexdigest()}\n{body}\n")
    with pytest.raises(sentitok.FormatError, match=r"0\.0\.1"):
        train_bpe(text, vocab_size=300, checkpoint=tmp_path, resume=True)


def test_text_behind_a_url_resumes(tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec", reason="needs the extra remote")
    url = "memory://checkpoints/text.txt"
    fsspec.filesystem("memory").pipe("/checkpoints/text.txt", b"a film of a man\n" * 1_500_000)
    whole = train_bpe(url, vocab_size=270)
    saving: dict[str, Any] = {"checkpoint": tmp_path / "saved", "vocab_size": 270}
    train_bpe(url, checkpoint_seconds=0, **saving)
    # Three parts of 8 MiB were counted.
    assert (tmp_path / "saved" / "counts-2").is_file()
    assert train_bpe(url, resume=True, **saving).to_bytes() == whole.to_bytes()
    fsspec.filesystem("memory").pipe("/checkpoints/text.txt", b"a film of a dog\n" * 1_500_000)
    with pytest.raises(TrainError, match=r"text\.txt has changed"):
        train_bpe(url, resume=True, **saving)
    with pytest.raises(TrainError, match="local"):
        train_bpe(url, checkpoint="s3://name:secret@bucket/folder", vocab_size=270)


def test_parquet_resumes_from_finished_shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sentitok import parquet as parquet_reader

    pa = pytest.importorskip("pyarrow", reason="needs the extra arrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    for number in range(2):
        rows = [f"row {row} of file {number}, {row % 7 * 'word '}" for row in range(3000)]
        parquet.write_table(pa.table({"text": rows}), tmp_path / f"{number}.parquet", row_group_size=500)
    monkeypatch.setattr("sentitok.corpus_shards.CHECKPOINT_BYTES", 9000)
    files = [tmp_path / "0.parquet", tmp_path / "1.parquet"]
    options: dict[str, Any] = {"format": "parquet:text", "vocab_size": 300}
    whole = train_bpe(files, **options)
    saving: dict[str, Any] = {"checkpoint": tmp_path / "saved", "resume": True, "checkpoint_seconds": 0}
    read: list[tuple[int, int]] = []
    chunks = parquet_reader.chunks

    def noted(*args: Any) -> Any:
        read.append(args[4])
        if len(read) == 3:
            raise StoppedError
        return chunks(*args)

    monkeypatch.setattr(parquet_reader, "chunks", noted)
    with pytest.raises(StoppedError):
        train_bpe(files, **saving, **options)
    kept = [*(tmp_path / "saved").glob("counts-*")]
    assert len(kept) == 2
    states = [(path.name, path.stat().st_mtime_ns) for path in kept]
    resumed = train_bpe(files, **saving, **options)
    assert resumed.to_bytes() == whole.to_bytes()
    assert resumed.report is not None
    assert whole.report is not None
    assert resumed.report.totals == whole.report.totals
    assert len(read) > 5
    assert read[2] == read[3]  # the shard that was not finished is read again, those before are not
    assert [(path.name, path.stat().st_mtime_ns) for path in kept] == states
    with pytest.raises(TrainError, match="parquet"):
        train_bpe(files[:1] * 2, **saving, **options)


# Trains with a checkpoint, saves every moment, and writes the tokenizer. Says when it has begun.
KILLED = """
import json, sys
import sentitok
name, out, options = sys.argv[1:]
options = json.loads(options)
train = getattr(sentitok, name)
print("begun", flush=True)
tokenizer = train(options.pop("source"), checkpoint_seconds=0.05, resume=True, **options)
tokenizer.save(out)
"""


def kill_until_done(name: str, options: dict[str, Any], out: Path, moments: Iterator[float]) -> int:
    """Kills a training so many seconds after its begin, then lets it end; returns how often it was killed."""
    kills = 0
    for moment in moments:
        command = [sys.executable, "-c", KILLED, name, str(out), json.dumps(options)]
        process = subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        try:
            _, err = process.communicate(timeout=moment)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            kills += 1
            continue
        assert process.returncode == 0, err.decode()
        break
    return kills


def check_kills(name: str, options: dict[str, Any], big: Path, folder: Path, kills: int, seed: int) -> None:
    getattr(sentitok, name)(big, **options).save(folder / "whole.json")
    moments = random.Random(seed)
    out = folder / "killed.json"
    options = {"source": str(big), "checkpoint": str(folder / "saved"), **options}
    # The first is a moment that no machine is fast enough for.
    times = [0.0, *(moments.random() * 0.7 for _ in range(kills - 1))]
    killed = kill_until_done(name, options, out, iter([*times, PATIENCE]))
    assert killed > 0
    assert out.read_bytes() == (folder / "whole.json").read_bytes()


@pytest.fixture(scope="module")
def big(text: Path) -> Path:
    """A file that is read in several parts."""
    path = text.parent / "big.txt"
    lines = text.read_bytes().splitlines(keepends=True)
    shuffled = random.Random(5)
    with path.open("wb") as file:
        while file.tell() < 16_000_000:
            shuffled.shuffle(lines)
            file.writelines(lines)
    return path


@pytest.mark.parametrize(
    ("name", "options"),
    [
        pytest.param(
            "train_bpe", {"vocab_size": 1000, "max_memory": 1 << 21, "threads": 1}, marks=pytest.mark.slow
        ),
        ("train_bpe", {"vocab_size": 1000, "superwords_from": 600, "max_memory": 1 << 21, "threads": 2}),
        ("train_unigram", {"vocab_size": 500, "max_memory": 1 << 21, "threads": 2}),
    ],
)
def test_killed_training_resumes(name: str, options: dict[str, Any], big: Path, tmp_path: Path) -> None:
    check_kills(name, options, big, tmp_path, kills=2, seed=len(name))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_training_killed_often_resumes(seed: int, big: Path, tmp_path: Path) -> None:
    name = ("train_bpe", "train_unigram", "train_wordpiece")[seed % 3]
    memory = (1 << 21, None)[seed // 3 % 2]
    options = {"vocab_size": 1000, "max_memory": memory, "threads": 1 + seed % 2}
    check_kills(name, options, big, tmp_path, kills=12, seed=seed)


@pytest.mark.parametrize("command", ["train-bpe", "train-wordpiece", "train-unigram"])
def test_commands_resume(command: str, text: Path, tmp_path: Path) -> None:
    line = f"{command} {text} --vocab 800"
    code, _, err = run(f"{line} -o whole.json", cwd=tmp_path)
    assert code == 0, err
    train = getattr(sentitok, command.replace("-", "_"))

    # The library keeps the checkpoint.
    train(text, vocab_size=800, checkpoint=tmp_path / "saved", checkpoint_seconds=0)
    code, _, err = run(f"{line} -o resumed.json --checkpoint saved", cwd=tmp_path)
    assert (code, "stopped" in err) == (2, True)
    code, out, err = run(f"{line} -o resumed.json --checkpoint saved --resume --json", cwd=tmp_path)
    assert code == 0, err
    assert json.loads(out)["resumed"]
    assert (tmp_path / "resumed.json").read_bytes() == (tmp_path / "whole.json").read_bytes()
    assert not (tmp_path / "saved").exists()
    code, _, err = run(f"{line} -o resumed.json --resume", cwd=tmp_path)
    assert (code, "--checkpoint" in err) == (2, True)
    code, _, err = run(f"{line} --checkpoint saved --dry-run", cwd=tmp_path)
    assert (code, "--dry-run" in err) == (2, True)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_progress(number: signal.Signals, big: Path, tmp_path: Path) -> None:
    line = f"train-bpe {big} --vocab 5000 --threads 1 --checkpoint saved"
    # Between counting and merging there are moments without anything to save: stop it at several.
    for pause in range(12):
        process = start(f"{line} -o tokenizer.json", cwd=tmp_path)
        end = time.monotonic() + PATIENCE
        # It has begun to train when it has the folder.
        while not (tmp_path / "saved" / "training.lock").is_file():
            assert time.monotonic() < end
            assert process.poll() is None
            time.sleep(0.002)
        time.sleep(pause / 200)
        process.send_signal(number)
        _, err = process.communicate(timeout=PATIENCE)
        if (tmp_path / "saved" / "training.checkpoint").is_file():
            break
        (tmp_path / "tokenizer.json").unlink(missing_ok=True)
        shutil.rmtree(tmp_path / "saved", ignore_errors=True)
    assert process.returncode == (130 if number == signal.SIGINT else 143)
    assert b"--resume" in err
    assert (tmp_path / "saved" / "training.checkpoint").is_file()
    code, out, message = run(f"{line} --resume -o tokenizer.json --json", cwd=tmp_path)
    assert code == 0, message
    assert json.loads(out)["resumed"]
    train_bpe(big, vocab_size=5000).save(tmp_path / "whole.json")
    assert (tmp_path / "tokenizer.json").read_bytes() == (tmp_path / "whole.json").read_bytes()
