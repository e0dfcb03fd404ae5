"""Ray, Dask, MPI and Slurm's submitit as executors, each started once: the bytes of one process."""

import contextlib
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import pytest

import sentitok
from commands import environment
from pages import ROOT, blocks
from sentitok.adapters import open_executor
from sentitok.documents import Documents
from sentitok.evaluate import evaluate

# A cluster that cannot start, or a task that hangs, must not hold up all tests.
LIMIT_S = 240


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    draw = random.Random(0)
    words = ["".join(draw.choices("abcdef", k=draw.randint(1, 5))) for _ in range(500)]
    path = tmp_path_factory.mktemp("engines") / "corpus.txt"
    path.write_text("\n".join(" ".join(draw.choices(words, k=9)) for _ in range(4000)))
    return path


@pytest.fixture(autouse=True, scope="module")
def _limit() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TimeoutError(f"the engines took more than {LIMIT_S} s")

    if not hasattr(signal, "SIGALRM"):
        yield
        return
    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(LIMIT_S)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module", params=["ray", "dask"])
def cluster(request: pytest.FixtureRequest) -> Iterator[Executor]:
    pytest.importorskip({"ray": "ray", "dask": "distributed"}[request.param])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_MODE", "disabled")
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        # Workers import the package that is tested.
        patch.setenv("PYTHONPATH", str(Path(sentitok.__file__).resolve().parent.parent))
        with open_executor(request.param, workers=2) as executor:
            yield executor


# 2026-11-30: the libraries leave sockets and files to the collector, and warn of their own calls.
@pytest.mark.filterwarnings("ignore")
def test_a_cluster_gives_the_bytes_of_one_process(cluster: Executor, corpus: Path, tmp_path: Path) -> None:
    out, tokens = tmp_path / "all.counts", tmp_path / "tokens"
    sentitok.count(corpus, out=out, executor=cluster, shard_bytes=40_000)
    tokenizer = sentitok.train_bpe(corpus, vocab_size=300)
    sentitok.encode_files(corpus, tokens, tokenizer, executor=cluster)
    check(corpus, tmp_path, tokenizer)
    assert evaluate(tokenizer, Documents([corpus]), executor=cluster) == evaluate(
        tokenizer, Documents([corpus])
    )
    damaged = tmp_path / "damaged.gz"
    damaged.write_bytes(b"\x1f\x8b\x08\x00")
    with pytest.raises(sentitok.FormatError, match=r"damaged\.gz"):
        sentitok.count(damaged, executor=cluster)


@pytest.mark.filterwarnings("ignore")
def test_a_worker_of_a_cluster_that_is_killed(cluster: Executor, corpus: Path, tmp_path: Path) -> None:
    single = sentitok.count(corpus)
    assert single is not None
    killed: list[int] = []

    def kill(_: str, done: int, __: int) -> None:
        if done and len(killed) < 2:
            killed.append(pids[len(killed) % len(pids)])
            with contextlib.suppress(ProcessLookupError):
                os.kill(killed[-1], signal.SIGKILL)

    pids = sorted({cluster.submit(os.getpid).result() for _ in range(6)})
    out = tmp_path / "all.counts"
    sentitok.count(corpus, out=out, executor=cluster, shard_bytes=10_000, progress=kill)
    assert out.read_bytes() == single.to_bytes()
    assert killed


def test_the_page_on_mpi_and_slurm(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """MPI counts, jobs of submitit encode."""
    pytest.importorskip("mpi4py")
    pytest.importorskip("submitit")
    mpiexec = shutil.which("mpiexec", path=os.pathsep.join([str(Path(sys.executable).parent), os.defpath]))
    if mpiexec is None:
        pytest.skip("there is no mpiexec")
    monkeypatch.chdir(tmp_path)
    Path("corpus").mkdir()
    text = Path(shutil.copy(corpus, "corpus/a.txt"))
    names = ("count.py", "encode.py")
    for name, block in zip(names, blocks(ROOT / "docs" / "how-to" / "mpi-slurm.md", "python"), strict=True):
        Path(name).write_text(block.replace("32_000", "300"))
    calls = [
        [mpiexec, "-n", "3", sys.executable, "-m", "mpi4py.futures", "count.py"],
        [sys.executable, "encode.py"],
    ]
    for call in calls:
        done = subprocess.run(call, env=environment(), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    check(text, tmp_path, sentitok.train_bpe(corpus, vocab_size=300))


def check(corpus: Path, folder: Path, tokenizer: sentitok.Tokenizer) -> None:
    """Compares `all.counts` and `tokens` of a folder with what one process makes."""
    single = sentitok.count(corpus)
    assert single is not None
    assert (folder / "all.counts").read_bytes() == single.to_bytes()
    sentitok.encode_files(corpus, folder / "single", tokenizer)
    made, expected = (
        {path.name: path.read_bytes() for path in (folder / name).iterdir()} for name in ("tokens", "single")
    )
    assert made == expected


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port on which nothing listens, and nothing else can."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        yield probe.getsockname()[1]


@pytest.mark.parametrize("engine", ["ray", "dask"])
def test_an_address_where_nothing_answers(
    engine: Any, closed_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip({"ray": "ray", "dask": "distributed"}[engine])
    monkeypatch.setattr("sentitok.adapters._CONNECT_S", 2.0)
    address = f"127.0.0.1:{closed_port}" if engine == "ray" else f"tcp://127.0.0.1:{closed_port}"
    started = time.monotonic()
    with pytest.raises(ConnectionError, match=f"no .* answers at {address}"), open_executor(engine, address):
        pass
    assert time.monotonic() - started < 30


@pytest.mark.parametrize("address", ["head", "ray://head", ":6379"])
def test_what_is_no_address(address: str) -> None:
    pytest.importorskip("ray")
    with pytest.raises(ConnectionError, match=f"{address};.*HOST:6379"), open_executor("ray", address):
        pass


@pytest.mark.parametrize("engine", ["ray", "dask"])
def test_an_engine_that_is_not_installed(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ray", "distributed"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "sentitok.adapters.ray", raising=False)
    refused = pytest.raises(ModuleNotFoundError, match=rf'pip install "sentitok\[{engine}\]"')
    with refused, open_executor(engine, workers=1):
        pass


def test_calls_without_meaning() -> None:
    cases: list[tuple[str, Any, dict[str, Any]]] = [
        ("engine='spark'", "spark", {}),
        ("workers=0", "processes", {"workers": 0}),
        ("address=", "processes", {"address": "localhost:1"}),
        ("leave one", "ray", {"address": "localhost:1", "workers": 2}),
        ("leave one", "dask", {"address": "localhost:1", "workers": 2}),
    ]
    for words, engine, options in cases:
        with pytest.raises(ValueError, match=words), open_executor(engine, **options):
            pass


def test_processes_are_those_of_the_machine() -> None:
    with open_executor("processes") as executor:
        n_workers: int = executor.num_workers  # type: ignore[attr-defined]  # 2026-11-30: of ProcessExecutor
        assert n_workers == len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else n_workers
        pids = {executor.submit(os.getpid).result() for _ in range(3)}
    assert os.getpid() not in pids
