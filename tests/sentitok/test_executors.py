"""Counting, encoding and measuring by executors: the bytes of one process, whatever the workers do."""

import contextlib
import csv
import errno
import gzip
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sentitok
from cli_runs import run as cli_run
from commands import environment
from sentitok import FormatError, SentitokError, Tokenizer, WordCounts, adapters, distributed
from sentitok.adapters import open_executor
from sentitok.adapters.processes import ProcessExecutor
from sentitok.corpus_shards import CorpusShard, plan_shards
from sentitok.datasets import TokenDataset
from sentitok.distributed import ShardError
from sentitok.documents import Documents
from sentitok.evaluate import evaluate, evaluate_all

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals and limits")

SMALL = 6_000  # bytes of a part


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Lines, JSON Lines, an empty and a compressed file, small ones, and one file twice; as one corpus."""
    folder = tmp_path_factory.mktemp("corpus")
    draw = random.Random(58)
    words = ["".join(draw.choices("abcdefgh é世", k=draw.randint(1, 6))) for _ in range(400)]

    def lines(n: int) -> list[str]:
        return [" ".join(draw.choices(words, k=draw.randint(0, 12))) for _ in range(n)]

    texts = {
        "a.txt": "\n".join(lines(900)),
        "b.jsonl": "\n".join(json.dumps({"text": line}) for line in lines(500)) + "\n",
        "empty.txt": "",
        "small-1.txt": "\r\n".join(lines(5)),
        "small-2.txt": "\n".join(lines(3)) + "\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8", newline="")
    (folder / "c.txt.gz").write_bytes(gzip.compress("\n".join(lines(300)).encode()))
    names = ["a.txt", "b.jsonl", "empty.txt", "small-1.txt", "small-2.txt", "c.txt.gz", "small-2.txt"]
    return [str(folder / name) for name in names]


@pytest.fixture(scope="module")
def counts(files: list[str]) -> bytes:
    return counted(files).to_bytes()


@pytest.fixture(scope="module")
def tokenizer(files: list[str]) -> Tokenizer:
    return sentitok.train_bpe(files, vocab_size=400, special_tokens=["<eos>"])


@pytest.fixture(scope="module")
def threads() -> Iterator[Executor]:
    with ThreadPoolExecutor(2) as executor:
        yield executor


@pytest.fixture
def processes() -> Iterator[ProcessExecutor]:
    with open_executor("processes", workers=2) as executor:
        assert isinstance(executor, ProcessExecutor)
        yield executor


def counted(*args: Any, **options: Any) -> WordCounts:
    counts = sentitok.count(*args, **options)
    assert counts is not None
    return counts


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def same_documents(left: Path, right: Path) -> bool:
    one, other = TokenDataset(left), TokenDataset(right)
    one.verify()
    ids = np.array_equal(one.stream(0, one.tokens), other.stream(0, other.tokens))
    return ids and np.array_equal(one.ends(0, len(one)), other.ends(0, len(other)))


class Watched(Executor):
    """Runs calls here and now, after something else."""

    num_workers = 1

    def __init__(self, before: Callable[[int, Path], None]) -> None:
        self.before = before
        self.n_calls = 0
        self.names: list[str] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.n_calls += 1
        self.names.append(fn.__name__)
        future: Future[Any] = Future()
        try:
            self.before(self.n_calls, args[1])
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


def is_second_of_a(part: object) -> bool:
    """Whether a task reads the part of a.txt in which its second half begins."""
    if not isinstance(part, CorpusShard) or "a.txt" not in part.paths[0]:
        return False
    size = Path(part.paths[0]).stat().st_size
    return part.start < size // 2 <= part.stop < size


def nothing(*_: object) -> None:
    pass


@pytest.mark.parametrize("shard_bytes", [None, 25_000, SMALL, 500])
def test_counts_are_those_of_one_process(
    files: list[str], counts: bytes, threads: Executor, tmp_path: Path, shard_bytes: int | None
) -> None:
    out = tmp_path / "all.counts"
    assert sentitok.count(files, out=out, executor=threads, shard_bytes=shard_bytes) is None
    assert out.read_bytes() == counts
    assert [*tmp_path.iterdir()] == [out]
    assert counted(files, executor=threads, shard_bytes=shard_bytes).to_bytes() == counts


def test_options_of_counting_reach_the_workers(files: list[str], threads: Executor) -> None:
    options: dict[str, Any] = {
        "normalizer": sentitok.Normalizer("lowercase"),
        "pre_tokenizer": sentitok.PreTokenizer(pattern=r"\w+|\S"),
        "line_ends": True,
        "max_piece_bytes": 5,
        "max_memory": 1 << 20,
        "invalid_utf8": "replace",
        "max_line_bytes": 1 << 16,
    }
    made = counted(files, executor=threads, shard_bytes=SMALL, **options)
    assert made.to_bytes() == counted(files, **options).to_bytes()


@pytest.mark.parametrize("shard_bytes", [25_000, 2_000])
@pytest.mark.parametrize("layout", ["sentitok", "megatron", "text"])
def test_documents_are_those_of_one_process(
    files: list[str], tokenizer: Tokenizer, threads: Executor, tmp_path: Path, shard_bytes: int, layout: Any
) -> None:
    options: dict[str, Any] = {"layout": layout, "separator": "<eos>", "shard_tokens": 900}
    single, parallel, again = (tmp_path / name for name in ("single", "parallel", "again"))
    sentitok.encode_files(files, single, tokenizer, **options)
    options |= {"shard_bytes": shard_bytes}
    manifest = sentitok.encode_files(files, parallel, tokenizer, executor=threads, **options)
    with ThreadPoolExecutor(5) as five:
        sentitok.encode_files(files, again, tokenizer, executor=five, **options)
    assert contents(parallel) == contents(again)
    assert manifest == json.loads((parallel / "manifest.json").read_bytes())
    assert [source["name"] for source in manifest["sources"]] == files
    if layout == "sentitok":
        assert same_documents(parallel, single)
    else:
        suffix = {"megatron": "*.bin", "text": "*.txt"}[layout]
        joined = [
            b"".join(path.read_bytes() for path in sorted(at.glob(suffix))) for at in (single, parallel)
        ]
        assert joined[0] == joined[1]


def test_one_part_gives_the_files_of_one_process(
    files: list[str], tokenizer: Tokenizer, threads: Executor, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"format": "lines", "invalid_utf8": "replace"}
    sentitok.encode_files(files, tmp_path / "single", tokenizer, **options)
    sentitok.encode_files(files, tmp_path / "one", tokenizer, executor=threads, **options)
    assert contents(tmp_path / "one") == contents(tmp_path / "single")


@pytest.mark.parametrize("names", [[], ["empty.txt"], ["empty.txt", "empty.txt"]])
def test_no_text(
    files: list[str], tokenizer: Tokenizer, threads: Executor, tmp_path: Path, names: list[str]
) -> None:
    sources = [str(Path(files[0]).with_name(name)) for name in names]
    assert counted(sources, executor=threads).to_bytes() == counted(sources).to_bytes()
    made = sentitok.encode_files(sources, tmp_path / "one", tokenizer, executor=threads)
    assert made == sentitok.encode_files(sources, tmp_path / "single", tokenizer)
    measured = evaluate(tokenizer, Documents(sources), executor=threads)
    assert repr(measured) == repr(evaluate(tokenizer, Documents(sources)))


def test_measures_are_those_of_one_process(
    files: list[str], tokenizer: Tokenizer, threads: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distributed, "_SHARD_BYTES", SMALL)
    broken = tmp_path / "broken.txt"
    broken.write_bytes(b"a\xffb word\n" * 1000)
    paths = [*files, str(broken)]
    both = [tokenizer, sentitok.train_unigram(files, vocab_size=200)]
    documents, single = Documents(paths), Documents(paths)
    seen: list[tuple[str, int, int]] = []
    measured = evaluate_all(both, documents, executor=threads, progress=lambda *call: seen.append(call))
    assert measured == evaluate_all(both, single)
    assert documents.replaced == single.replaced == 1000
    assert seen[-1][1] == seen[-1][2] == 2 * sum(Path(path).stat().st_size for path in paths)


@pytest.mark.parametrize("place", ["shared", "memory://shared"])
def test_measuring_continues_in_a_named_folder(
    files: list[str], tokenizer: Tokenizer, tmp_path: Path, place: str
) -> None:
    fsspec = pytest.importorskip("fsspec")
    store = fsspec.filesystem("memory" if "://" in place else "file")
    parts = place if "://" in place else str(tmp_path / place)
    folder = "/shared" if "://" in place else parts
    half = sum(Path(path).stat().st_size for path in files) // 2
    both = [tokenizer, sentitok.train_unigram(files, vocab_size=200)]
    run = partial(evaluate_all, both, shard_bytes=SMALL, parts=parts)
    first, second, everything = Watched(nothing), Watched(nothing), Watched(nothing)
    with pytest.raises(StopError):
        run(Documents(files), executor=first, progress=stop_after(2 * half))
    assert [path for path in store.find(folder) if path.endswith(".npy")]
    documents, single = Documents(files), Documents(files)
    assert run(documents, executor=second) == evaluate_all(both, single)
    assert documents.replaced == single.replaced
    assert not store.find(folder)
    run(Documents(files), executor=everything)
    assert 0 < second.names.count("measure_part") < everything.names.count("measure_part")


def test_calls_that_cannot_be_shared_out(
    files: list[str], tokenizer: Tokenizer, threads: Executor, tmp_path: Path
) -> None:
    cases: list[tuple[type[Exception], str, Callable[[], object]]] = [
        (TypeError, "paths", partial(sentitok.count, texts=["a"], executor=threads)),
        (TypeError, "paths", partial(sentitok.count, iter(["a"]), executor=threads)),
        (ValueError, "-: an executor", partial(sentitok.count, "-", executor=threads)),
        (ValueError, "shard=", partial(sentitok.count, files, shard=(0, 2), executor=threads)),
        (ValueError, "shard_bytes=0", partial(sentitok.count, files, executor=threads, shard_bytes=0)),
        (ValueError, "on_error='no'", partial(counted, files, executor=threads, on_error="no")),
        (TypeError, "executor is 3", partial(counted, files, executor=3)),
        (FileNotFoundError, "none.txt", partial(sentitok.count, "none.txt", executor=threads)),
        (ValueError, "no-name", partial(sentitok.count, files, pre_tokenizer="no-name", executor=threads)),
        (
            ValueError,
            "nanogpt",
            partial(
                sentitok.encode_files, files, tmp_path / "x", tokenizer, layout="nanogpt", executor=threads
            ),
        ),
        (
            ValueError,
            "dropout",
            partial(
                sentitok.encode_files, files, tmp_path / "x", tokenizer.with_dropout(0.1), executor=threads
            ),
        ),
        (
            ValueError,
            "separator",
            partial(
                sentitok.encode_files, files, tmp_path / "x", tokenizer, separator="no", executor=threads
            ),
        ),
        (TypeError, "Documents", partial(evaluate, tokenizer, ["a"], executor=threads)),
        (TypeError, "seen", partial(evaluate, tokenizer, Documents(files), seen=nothing, executor=threads)),
    ]
    for kind, words, call in cases:
        with pytest.raises(kind, match=words):
            call()


class StopError(Exception):
    pass


def stop_after(n_bytes: int) -> Callable[[str, int, int], None]:
    def progress(stage: str, done: int, total: int) -> None:
        if stage != "plan" and done >= n_bytes:
            raise StopError

    return progress


def test_counting_continues_from_finished_parts(files: list[str], counts: bytes, tmp_path: Path) -> None:
    out = tmp_path / "all.counts"
    half = sum(Path(path).stat().st_size for path in files) // 2
    first, second = Watched(nothing), Watched(nothing)
    with pytest.raises(StopError):
        sentitok.count(files, out=out, executor=first, shard_bytes=SMALL, progress=stop_after(half))
    assert not out.exists()
    sentitok.count(files, out=out, executor=second, shard_bytes=SMALL)
    assert out.read_bytes() == counts
    everything = Watched(nothing)
    sentitok.count(files, out=tmp_path / "other.counts", executor=everything, shard_bytes=SMALL)
    assert 0 < second.names.count("count_part") < everything.names.count("count_part")


def test_encoding_continues_from_finished_parts(
    files: list[str], tokenizer: Tokenizer, threads: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, whole = tmp_path / "tokens", tmp_path / "whole"
    half = sum(Path(path).stat().st_size for path in files) // 2
    run = partial(sentitok.encode_files, files, out, tokenizer, shard_bytes=SMALL)
    with pytest.raises(StopError):
        run(executor=Watched(nothing), progress=stop_after(half))
    with pytest.raises(FormatError, match="not all is written"):
        TokenDataset(out)
    # Stopped again, while the shards are moved to their places.
    moves = 0
    replace = Path.replace

    def move(self: Path, target: Path) -> Path:
        nonlocal moves
        moves += self.name.startswith("shard-")
        if moves == 5:
            raise StopError
        return replace(self, target)

    second = Watched(nothing)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", move)
        with pytest.raises(StopError):
            run(executor=second)
    third = Watched(nothing)
    run(executor=third)
    assert third.n_calls == 0 < second.n_calls
    sentitok.encode_files(files, whole, tokenizer, executor=threads, shard_bytes=SMALL)
    assert contents(out) == contents(whole)
    # Complete: nothing is done again, until it is asked for.
    assert run(executor=third) == json.loads((whole / "manifest.json").read_bytes())
    assert third.n_calls == 0
    run(executor=third, resume=False)
    assert third.n_calls > 0
    assert contents(out) == contents(whole)


def test_a_task_that_fails_is_tried_again(files: list[str], counts: bytes, tmp_path: Path) -> None:
    def fail(number: int, _: Path) -> None:
        if number % 3 == 1:
            raise OSError(errno.EIO, "a cable is loose", "disk")

    executor = Watched(fail)
    assert counted(files, executor=executor, shard_bytes=SMALL).to_bytes() == counts


def test_a_part_that_always_fails(
    files: list[str], tokenizer: Tokenizer, threads: Executor, tmp_path: Path
) -> None:
    """The error names path and byte; with `skip` all else is finished."""

    def fail(_: int, part: object) -> None:
        if is_second_of_a(part):
            raise OSError(errno.ENOSPC, "a sector is gone", "disk")

    a = files[0]
    shard_bytes = -(-Path(a).stat().st_size // 4)
    parts = plan_shards(files, shard_bytes)
    start = parts[1].start
    out = tmp_path / "all.counts"
    executor = Watched(fail)
    with pytest.raises(
        ShardError, match=rf"a\.txt, from byte {start}: .*a sector is gone.*make room.*all\.counts\.parts"
    ):
        sentitok.count(files, out=out, executor=executor, shard_bytes=shard_bytes)
    with pytest.warns(UserWarning, match=rf"a\.txt, from byte {start}: left out"):
        sentitok.count(files, out=out, executor=executor, shard_bytes=shard_bytes, on_error="skip")
    rest = sum((counted(part) for part in parts[2:]), counted(parts[0]))
    assert out.read_bytes() == rest.to_bytes()
    tokens = tmp_path / "tokens"
    with pytest.warns(UserWarning, match="left out"):
        manifest = sentitok.encode_files(
            files, tokens, tokenizer, executor=executor, shard_bytes=shard_bytes, on_error="skip"
        )
    assert f"left out: {a}, from byte {start}" in [source["name"] for source in manifest["sources"]]
    assert len(TokenDataset(tokens)) == rest.totals["documents"]


@pytest.mark.parametrize("place", ["new/folder", "memory://nothing"])
def test_a_run_that_finishes_no_part_leaves_nothing(
    files: list[str], tokenizer: Tokenizer, tmp_path: Path, place: str
) -> None:
    fsspec = pytest.importorskip("fsspec")
    store = fsspec.filesystem("memory" if "://" in place else "file")
    out, folder = (place, "/nothing") if "://" in place else (str(tmp_path / place), str(tmp_path))

    def fail(*_: object) -> None:
        raise OSError(errno.EIO, "a cable is loose", "disk")

    calls: list[Callable[..., object]] = [
        partial(sentitok.count, files, out=f"{out}/all.counts"),
        partial(sentitok.encode_files, files, f"{out}/tokens", tokenizer),
        partial(evaluate, tokenizer, Documents(files), parts=out),
    ]
    for call in calls:
        with pytest.raises(ShardError, match="a cable is loose") as caught:
            call(executor=Watched(fail))
        assert "are kept" not in str(caught.value)
        with pytest.raises(StopError):
            call(executor=Watched(nothing), progress=stop_after(0))
        assert not store.find(folder)
        assert not [*tmp_path.iterdir()]


def test_a_failure_is_reported_though_the_store_fails_too(
    files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(_: object) -> set[str]:
        raise OSError(errno.EHOSTUNREACH, "the server cannot be reached")

    def lose(*_: object) -> None:
        monkeypatch.setattr(distributed, "_files", unreachable)
        raise OSError(errno.EIO, "a cable is loose", "disk")

    with pytest.raises(ShardError, match="a cable is loose"):
        sentitok.count(files, out=tmp_path / "all.counts", executor=Watched(lose))


@pytest.mark.parametrize("on_error", ["stop", "skip"])
def test_damaged_text_is_not_tried_again(
    files: list[str], threads: Executor, tmp_path: Path, on_error: Any
) -> None:
    damaged = tmp_path / "damaged.txt.gz"
    damaged.write_bytes(Path(files[5]).read_bytes()[:-20])
    paths = [files[0], str(damaged), files[1]]
    executor = Watched(nothing)
    if on_error == "stop":
        with pytest.raises(FormatError, match=r"damaged\.txt\.gz"):
            sentitok.count(paths, executor=executor, shard_bytes=500, on_error=on_error)
        return
    with pytest.warns(UserWarning, match=r"damaged\.txt\.gz"):
        made = counted(paths, executor=executor, shard_bytes=500, on_error=on_error)
    assert made.to_bytes() == counted([files[0], files[1]]).to_bytes()


def test_a_file_that_changes_is_an_error(files: list[str], tmp_path: Path) -> None:
    path = tmp_path / "grows.txt"
    path.write_text("a b c\n" * 100)

    def grow(*_: object) -> None:
        with path.open("a") as file:
            file.write("d\n")

    with pytest.raises(FormatError, match=r"grows\.txt: the file has changed"):
        sentitok.count(path, executor=Watched(grow))


def test_another_version_is_refused(
    files: list[str], threads: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distributed, "__version__", "0.0.1")
    with pytest.raises(SentitokError, match=rf"has sentitok {sentitok.__version__}, and the driver 0\.0\.1"):
        sentitok.count(files, executor=threads)


def test_a_worker_without_the_tasks_is_named(files: list[str]) -> None:
    def fail(*_: object) -> None:
        raise ModuleNotFoundError("No module named 'sentitok'", name="sentitok")

    executor = Watched(fail)
    with pytest.raises(ShardError, match=f"install sentitok {sentitok.__version__}"):
        sentitok.count(files, executor=executor)
    assert executor.n_calls == 1


def test_a_result_that_the_driver_cannot_see_is_an_error(
    files: list[str], tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Elsewhere(Executor):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            future: Future[Any] = Future()
            future.set_result(None)
            return future

    monkeypatch.setattr(adapters, "_VISIBLE_S", 0.01)
    with pytest.raises(ShardError, match=r"all machines must see.*URL as output"):
        sentitok.count(files, out=tmp_path / "all.counts", executor=Elsewhere())
    with pytest.raises(ShardError, match=r"all machines must see.*URL as output"):
        sentitok.count(files, executor=Elsewhere())
    with pytest.raises(ShardError, match=r"all machines must see.*URL with parts="):
        evaluate(tokenizer, Documents(files), executor=Elsewhere())


def test_two_runs_in_one_folder(
    files: list[str], tokenizer: Tokenizer, threads: Executor, tmp_path: Path
) -> None:
    out, tokens = tmp_path / "all.counts", tmp_path / "tokens"
    with pytest.raises(StopError):
        sentitok.count(files, out=out, executor=threads, shard_bytes=SMALL, progress=stop_after(SMALL))
    for options in ({"pre_tokenizer": "bert"}, {"normalizer": "nfkc"}):
        with pytest.raises(FormatError, match=r"all\.counts\.parts.*pipeline"):
            sentitok.count(files, out=out, executor=threads, **options)  # type: ignore[arg-type]  # 2026-11-30: mypy joins the two
    with pytest.raises(StopError):
        sentitok.encode_files(
            files, tokens, tokenizer, executor=threads, shard_bytes=SMALL, progress=stop_after(SMALL)
        )
    other = sentitok.train_bpe(files, vocab_size=300)
    with pytest.raises(FormatError, match=r"tokens holds another data set: vocab_size"):
        sentitok.encode_files(files, tokens, other, executor=threads)
    sentitok.encode_files(files, tokens, tokenizer, executor=threads)
    with pytest.raises(ValueError, match="another data"):
        sentitok.encode_files(files, tokens, other, executor=threads)


def test_a_truncated_part_is_named(files: list[str], counts: bytes, tmp_path: Path) -> None:
    out = tmp_path / "all.counts"
    was_cut: list[Path] = []

    def cut(_: int, first: object) -> None:
        if isinstance(first, list) and not was_cut:  # counts files to merge
            was_cut.append(Path(first[0]))
            was_cut[0].write_bytes(was_cut[0].read_bytes()[:-7])

    with pytest.raises(FormatError, match=r"\.counts: .*; remove it") as caught:
        sentitok.count(files, out=out, executor=Watched(cut), shard_bytes=SMALL)
    Path(str(caught.value).split(".counts:")[0] + ".counts").unlink()
    sentitok.count(files, out=out, executor=Watched(nothing), shard_bytes=SMALL)
    assert out.read_bytes() == counts


def limit_files() -> None:
    import resource

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))


def test_a_full_disk_of_a_worker(files: list[str], counts: bytes, tmp_path: Path) -> None:
    out = tmp_path / "all.counts"
    refused = pytest.raises(ShardError, match=r"from byte 0: .*File too large.*\(on .*all\.counts\.parts")
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=limit_files) as pool, refused:
        sentitok.count(files, out=out, executor=pool, shard_bytes=25_000)
    assert not [*tmp_path.rglob(".sentitok-*")]
    sentitok.count(files, out=out, executor=Watched(nothing), shard_bytes=25_000)
    assert out.read_bytes() == counts


class Job:
    """What `submitit` gives: no `concurrent.futures.Future`."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self.call = call
        self.polls = 0

    def done(self) -> bool:
        self.polls += 1
        return self.polls > 1

    def result(self) -> Any:
        return self.call()

    def cancel(self) -> None:
        pass


class Jobs:
    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Job:
        return Job(partial(fn, *args, **kwargs))


def test_jobs_of_a_batch_system(files: list[str], counts: bytes) -> None:
    assert counted(files, executor=Jobs(), shard_bytes=25_000).to_bytes() == counts


def children(executor: ProcessExecutor) -> list[int]:
    return [pid for pool in [*executor._all] for pid in [*(pool._processes or {})]]


def kill_some(executor: ProcessExecutor, n_kills: int, stopped: threading.Event, seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(n_kills):
        if stopped.wait(draw.uniform(0.05, 0.6)):
            return
        if pids := children(executor):
            with contextlib.suppress(ProcessLookupError):
                os.kill(draw.choice(pids), signal.SIGKILL)


def with_kills(executor: ProcessExecutor, n_kills: int, seed: int, run: Callable[[], object]) -> None:
    stopped = threading.Event()
    killer = threading.Thread(target=kill_some, args=(executor, n_kills, stopped, seed))
    killer.start()
    try:
        run()
    finally:
        stopped.set()
        killer.join()


def test_workers_that_are_killed_change_nothing(
    files: list[str], counts: bytes, tokenizer: Tokenizer, processes: ProcessExecutor, tmp_path: Path
) -> None:
    out, tokens, whole = tmp_path / "all.counts", tmp_path / "tokens", tmp_path / "whole"
    with_kills(processes, 3, 1, lambda: sentitok.count(files, out=out, executor=processes, shard_bytes=2000))
    assert out.read_bytes() == counts
    encode = partial(sentitok.encode_files, files, tokenizer=tokenizer, shard_bytes=500)
    with_kills(processes, 3, 2, lambda: encode(out_dir=tokens, executor=processes))
    encode(out_dir=whole, executor=Watched(nothing))
    assert contents(tokens) == contents(whole)


def die(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_task_whose_worker_always_dies(
    files: list[str], processes: ProcessExecutor, tmp_path: Path
) -> None:
    """Only that task fails: the processes are replaced."""

    class Deadly(Executor):
        num_workers = 2

        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            return processes.submit(die if is_second_of_a(args[1]) else fn, *args, **kwargs)

    shard_bytes = -(-Path(files[0]).stat().st_size // 4)
    with pytest.raises(ShardError, match=r"a\.txt, from byte \d+: failed 4 times.*BrokenProcessPool"):
        sentitok.count(files, out=tmp_path / "a.counts", executor=Deadly(), shard_bytes=shard_bytes)
    assert processes.submit(os.getpid).result() > 0


def test_a_script_without_a_guard_is_named(files: list[str], tmp_path: Path) -> None:
    """Each process imports the script, which has nothing to do twice."""
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, os, sentitok\nfrom sentitok.adapters import open_executor\nos.mkdir('made')\n"
        "with open_executor('processes', workers=1) as executor:\n"
        "    sentitok.count(sys.argv[1], executor=executor)\n"
    )
    done = subprocess.run(
        [sys.executable, str(script), files[0]],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert 'no `if __name__ == "__main__":`' in done.stderr.splitlines()[-1]


def test_a_broken_pool_is_named(files: list[str], counts: bytes, tmp_path: Path) -> None:
    out = tmp_path / "all.counts"
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        with pytest.raises(Exception, match="terminated abruptly"):
            pool.submit(die).result()
        with pytest.raises(ShardError, match="takes no more tasks"):
            sentitok.count(files, out=out, executor=pool)
    sentitok.count(files, out=out, executor=Watched(nothing))
    assert out.read_bytes() == counts


DRIVER = """
import sys
import sentitok
from sentitok.adapters import open_executor
if __name__ == "__main__":
    kind, out, tokenizer, *files = sys.argv[1:]
    with open_executor("processes", workers=2) as executor:
        print("begun", flush=True)
        if kind == "count":
            sentitok.count(files, out=out, executor=executor, shard_bytes=500)
        else:
            tokenizer = sentitok.Tokenizer.from_file(tokenizer)
            sentitok.encode_files(files, out, tokenizer, executor=executor, shard_bytes=500)
"""


def driver(tmp_path: Path, kind: str, out: Path | str, files: list[str]) -> subprocess.Popen[bytes]:
    script = tmp_path / "driver.py"
    script.write_text(DRIVER)
    command = [sys.executable, str(script), kind, str(out), str(tmp_path / "tokenizer.json"), *files]
    return subprocess.Popen(command, stdout=subprocess.PIPE, env=environment())


def run_with_kills(
    tmp_path: Path,
    kind: str,
    out: Path | str,
    files: list[str],
    number: signal.Signals,
    n_kills: int,
    seed: int,
) -> None:
    """Runs the driver to its end, after it was killed some times; processes it started end too."""
    draw = random.Random(seed)
    for kill in range(n_kills + 1):
        with driver(tmp_path, kind, out, files) as process:
            assert process.stdout is not None
            process.stdout.readline()
            if kill == n_kills:
                assert process.wait(300) == 0
                return
            pids = set()
            until = time.monotonic() + draw.uniform(0.5, 3)
            while time.monotonic() < until and process.poll() is None:
                path = Path(f"/proc/{process.pid}/task/{process.pid}/children")
                pids |= {int(pid) for pid in path.read_text().split()} if path.exists() else set()
                time.sleep(0.05)
            process.send_signal(number)
            process.wait(30)
        end = time.monotonic() + 20
        while any(is_alive(pid) for pid in pids):
            assert time.monotonic() < end, "workers outlive their driver"
            time.sleep(0.05)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_driver_that_is_killed_continues(
    files: list[str],
    counts: bytes,
    tokenizer: Tokenizer,
    threads: Executor,
    tmp_path: Path,
    number: signal.Signals,
) -> None:
    tokenizer.save(tmp_path / "tokenizer.json")
    if number == signal.SIGKILL:
        out = tmp_path / "all.counts"
        run_with_kills(tmp_path, "count", out, files, number, 1, 3)
        assert out.read_bytes() == counts
    else:
        out, whole = tmp_path / "tokens", tmp_path / "whole"
        run_with_kills(tmp_path, "encode", out, files, number, 1, 4)
        sentitok.encode_files(files, whole, tokenizer, executor=threads, shard_bytes=500)
        assert contents(out) == contents(whole)


SPREAD = ["--engine", "processes", "--workers", "2"]


def test_commands_with_an_engine(
    files: list[str], counts: bytes, tokenizer: Tokenizer, threads: Executor, tmp_path: Path
) -> None:
    tokenizer.save(tmp_path / "tokenizer.json")
    small = ["--shard-bytes", "25k"]
    done = cli_run("count", *files, "-o", "all.counts", *SPREAD, *small, cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert (tmp_path / "all.counts").read_bytes() == counts
    done = cli_run("encode", *files, "-o", "tokens", *SPREAD, *small, "--on-error", "skip", cwd=tmp_path)
    assert done.code == 0, done.err
    sentitok.encode_files(
        files, tmp_path / "same", tokenizer, executor=threads, shard_bytes=25 << 10, specials="none"
    )
    assert contents(tmp_path / "tokens") == contents(tmp_path / "same")
    answers = [
        json.loads(cli_run("eval", "tokenizer.json", *files, "--json", *more, cwd=tmp_path).out)
        for more in ([], [*SPREAD, *small, "--parts", "shared"])
    ]
    assert answers[0] == answers[1]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--engine", "spark"], "--engine spark: it is processes, ray or dask"),
        (["--workers", "2"], "--workers: it goes with --engine"),
        (["--engine", "processes", "--address", "auto"], "--address: processes run on this machine"),
        (
            ["--engine", "dask", "--address", "tcp://x:1", "--workers", "2"],
            "--workers: the cluster at tcp://x:1",
        ),
        (["--engine", "ray", "--on-error", "retry"], "--on-error retry: it is stop or skip"),
        (["--engine", "ray", "--shard-bytes", "many"], "--shard-bytes many"),
        (["--engine", "processes", "--shard", "0/2"], "--shard: the workers of --engine take all"),
    ],
)
def test_options_of_engines_that_are_refused(
    args: list[str], words: str, files: list[str], tmp_path: Path
) -> None:
    done = cli_run("count", files[0], "-o", "all.counts", *args, cwd=tmp_path)
    assert (done.code, words in done.err) == (2, True), done.err
    assert not [*tmp_path.iterdir()]


def test_a_command_that_is_told_to_end_keeps_finished_parts(
    files: list[str], counts: bytes, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "sentitok.cli", "count", *files, "-o", "all.counts", *SPREAD]
    command += ["--shard-bytes", "500"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, env=environment()) as process:
        end = time.monotonic() + 60
        while not [*tmp_path.glob("all.counts.parts/*.counts")]:
            assert process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        code = process.wait(30)
        assert process.stderr is not None
        words = process.stderr.read().decode()
    assert (code, "finished parts" in words, "Traceback" in words) == (143, True, False), words
    assert [*tmp_path.glob("all.counts.parts/*.counts")]
    done = cli_run("count", *files, "-o", "all.counts", *SPREAD, "--shard-bytes", "500", cwd=tmp_path)
    assert done.code == 0, done.err
    assert (tmp_path / "all.counts").read_bytes() == counts


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_twenty_random_kills_of_workers(
    files: list[str],
    counts: bytes,
    tokenizer: Tokenizer,
    processes: ProcessExecutor,
    tmp_path: Path,
    seed: int,
) -> None:
    out, tokens, whole = tmp_path / "all.counts", tmp_path / "tokens", tmp_path / "whole"
    with_kills(
        processes, 6, seed, lambda: sentitok.count(files, out=out, executor=processes, shard_bytes=500)
    )
    assert out.read_bytes() == counts
    encode = partial(sentitok.encode_files, files, tokenizer=tokenizer, shard_bytes=500)
    with_kills(processes, 6, seed + 100, lambda: encode(out_dir=tokens, executor=processes))
    encode(out_dir=whole, executor=Watched(nothing))
    assert contents(tokens) == contents(whole)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_five_random_kills_of_the_driver(
    files: list[str], counts: bytes, tokenizer: Tokenizer, threads: Executor, tmp_path: Path, seed: int
) -> None:
    tokenizer.save(tmp_path / "tokenizer.json")
    run_with_kills(tmp_path, "count", tmp_path / "all.counts", files, signal.SIGKILL, 3, seed)
    assert (tmp_path / "all.counts").read_bytes() == counts
    run_with_kills(tmp_path, "encode", tmp_path / "tokens", files, signal.SIGKILL, 3, seed + 100)
    sentitok.encode_files(files, tmp_path / "whole", tokenizer, executor=threads, shard_bytes=500)
    assert contents(tmp_path / "tokens") == contents(tmp_path / "whole")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_kills_while_a_store_is_written(
    store: tuple[str, Any],
    files: list[str],
    counts: bytes,
    tokenizer: Tokenizer,
    processes: ProcessExecutor,
    tmp_path: Path,
    seed: int,
) -> None:
    """Workers are killed first, then drivers."""
    bucket, fs = store
    tokenizer.save(tmp_path / "tokenizer.json")
    encode = partial(sentitok.encode_files, files, tokenizer=tokenizer, shard_bytes=500)
    if seed < 10:
        out = f"{bucket}/all.counts"
        with_kills(
            processes, 6, seed, lambda: sentitok.count(files, out=out, executor=processes, shard_bytes=500)
        )
        with_kills(processes, 6, seed + 100, lambda: encode(out_dir=f"{bucket}/tokens", executor=processes))
    else:
        for kind, name in (("count", "all.counts"), ("encode", "tokens")):
            run_with_kills(tmp_path, kind, f"{bucket}/{name}", files, signal.SIGKILL, 2, seed)
    encode(out_dir=tmp_path / "whole", executor=Watched(nothing))
    made = {path.rpartition("/")[2]: fs.cat_file(path) for path in fs.find("corpora/tokens")}
    assert made == contents(tmp_path / "whole")
    assert fs.cat_file("corpora/all.counts") == counts
    assert len(fs.find("corpora")) == len(made) + 1


def test_quoted_rows(tokenizer: Tokenizer, threads: Executor, tmp_path: Path) -> None:
    path = tmp_path / "quoted.csv"
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "text"])
        rows.writerows([number, f'the "{number}"\nsecond, line'] for number in range(600))
    options: dict[str, Any] = {"format": "csv:text"}
    executor = Watched(nothing)
    made = counted(path, executor=executor, shard_bytes=2_000, **options)
    assert made.to_bytes() == counted(path, **options).to_bytes()
    assert executor.names.count("count_part") > 5
    sentitok.encode_files(path, tmp_path / "one", tokenizer, **options)
    sentitok.encode_files(path, tmp_path / "parts", tokenizer, executor=threads, shard_bytes=2_000, **options)
    assert same_documents(tmp_path / "one", tmp_path / "parts")
    documents = [Documents([path], "csv:text") for _ in range(2)]
    measured = evaluate(tokenizer, documents[0], executor=threads, shard_bytes=2_000)
    assert measured == evaluate(tokenizer, documents[1])


def test_results_go_to_a_store_and_continue_there(
    files: list[str], counts: bytes, tokenizer: Tokenizer, threads: Executor, tmp_path: Path
) -> None:
    fsspec = pytest.importorskip("fsspec")
    store = fsspec.filesystem("memory")
    half = sum(Path(path).stat().st_size for path in files) // 2
    runs: list[Callable[..., object]] = [
        partial(sentitok.count, files, out="memory://results/all.counts"),
        partial(sentitok.encode_files, files, "memory://results/tokens", tokenizer, separator="<eos>"),
    ]
    for run in runs:
        first, second = Watched(nothing), Watched(nothing)
        with pytest.raises(StopError):
            run(executor=first, shard_bytes=SMALL, progress=stop_after(half))
        kept = sum("parts/" in path for path in store.find("/results"))
        run(executor=second, shard_bytes=SMALL)
        assert kept > 0 < second.n_calls
        assert not [path for path in store.find("/results") if "parts" in path]
    assert store.cat_file("/results/all.counts") == counts
    sentitok.encode_files(
        files, tmp_path / "here", tokenizer, executor=threads, shard_bytes=SMALL, separator="<eos>"
    )
    there = {path.rpartition("/")[2]: store.cat_file(path) for path in store.find("/results/tokens")}
    assert there == contents(tmp_path / "here")
    third = Watched(nothing)
    runs[1](executor=third, shard_bytes=SMALL)
    assert third.n_calls == 0
    with pytest.raises(SentitokError, match=r"memory://results/tokens.*separator"):
        sentitok.encode_files(files, "memory://results/tokens", tokenizer, executor=third)
    store.pipe_file("/results/tokens/notes.txt", b"kept")
    sentitok.encode_files(files, "memory://results/tokens", tokenizer, executor=third, resume=False)
    assert third.n_calls > 0
    assert store.cat_file("/results/tokens/notes.txt") == b"kept"
    assert not store.exists("/results/tokens/shard-00001.bin")  # one part now


def test_urls_folders_and_globs(
    files: list[str], counts: bytes, tokenizer: Tokenizer, threads: Executor, tmp_path: Path
) -> None:
    fsspec = pytest.importorskip("fsspec")
    store = fsspec.filesystem("memory")
    store.pipe_file("/executors/a.txt", Path(files[0]).read_bytes())
    url = "memory://executors/a.txt"
    made = counted([url], executor=threads, shard_bytes=SMALL)
    assert made.to_bytes() == counted(files[0]).to_bytes()
    sentitok.encode_files([url], tmp_path / "url", tokenizer, executor=threads, shard_bytes=SMALL)
    sentitok.encode_files(files[0], tmp_path / "file", tokenizer, executor=threads, shard_bytes=SMALL)
    assert same_documents(tmp_path / "url", tmp_path / "file")
    with pytest.raises(OSError, match=r"web server.*http://127.0.0.1:9/x"):
        sentitok.count(files, out="http://127.0.0.1:9/x", executor=threads)
    folder = Path(files[0]).parent
    assert counted(folder, executor=threads).to_bytes() == counted(folder).to_bytes()
    glob = str(folder / "*.txt")
    assert counted(glob, executor=threads, shard_bytes=500).to_bytes() == counted(glob).to_bytes()


def test_engines_are_not_imported(files: list[str]) -> None:
    code = (
        "import sys, sentitok\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "sentitok.count(sys.argv[1:], executor=ThreadPoolExecutor(1))\n"
        "import sentitok.adapters, sentitok.evaluate\n"
        "print(*sorted(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *files], capture_output=True, text=True, check=True, env=environment()
    )
    loaded = {name.split(".")[0] for name in done.stdout.split()}
    assert "concurrent" in loaded
    assert not loaded & {"ray", "dask", "distributed", "fsspec"}
