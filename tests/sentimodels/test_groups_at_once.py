"""Runs of a group several at once: what they write is that of one after the other, whatever fails."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

import torch_processes
from labelled_reviews import write
from senti_in_process import senti
from sentimodels.errors import CheckpointError, ConfigError, TrainingError
from sentimodels.runs import group
from sentimodels.runs.directory import finished
from sentimodels.runs.execute import Callbacks
from sentimodels.runs.families import resolve
from sentimodels.runs.run_task import Driver, Outcome, RunSpec, run_task
from sentimodels.runs.sweep import sweep
from sentimodels.runs.tables import read_tables

# What a clock says.
TIMES = {"seconds", "tokens_per_second", "rows_per_second", "encode", "fit_seconds"}


def settings(**more: dict[str, Any]) -> dict[str, Any]:
    """A small network's, as `resolve` takes them; data relative, as it is typed."""
    tree: dict[str, Any] = {
        "arch": "cnn",
        "data": {"train": "reviews.csv", "vocab_size": 300},
        "model": {"d_model": 8, "filters": 4},
        "train": {"epochs": 2, "threads": 1, "baseline": False},
    }
    for section, values in more.items():
        tree[section] = {**tree.get(section, {}), **values}
    return tree


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "reviews.csv", 120)
    return tmp_path


@pytest.fixture
def two() -> Iterator[Executor]:
    with ThreadPoolExecutor(2) as executor:
        yield executor


class Wrapped(ThreadPoolExecutor):
    """Calls the wrapper of a task with the task, its directory and its spec."""

    def __init__(self, around: Callable[[Callable[[], Any], Path, RunSpec], Any], workers: int = 2) -> None:
        super().__init__(workers)
        self.around = around

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return super().submit(self.around, lambda: fn(*args, **kwargs), Path(args[0]), args[1])


def untimed(value: Any) -> Any:
    """What JSON holds, without times."""
    if isinstance(value, dict):
        return {key: untimed(one) for key, one in value.items() if key not in TIMES}
    return [untimed(one) for one in value] if isinstance(value, list) else value


def content(file: Path) -> Any:
    if file.suffix == ".json":
        value = untimed(json.loads(file.read_text("utf-8")))
        if file.name == "manifest.json":
            value["files"] = {
                name: about
                for name, about in value["files"].items()
                if name not in ("run.json", "metrics.jsonl")
            }
        return value
    if file.suffix == ".jsonl":
        return [untimed(json.loads(line)) for line in file.read_text("utf-8").splitlines()]
    return file.read_bytes()


def assert_same(expected: Path, found: Path) -> None:
    """Both groups have the same files, equal except for times."""
    names = [sorted(p.relative_to(of).as_posix() for p in of.rglob("*")) for of in (expected, found)]
    assert names[0] == names[1]
    for name in names[0]:
        if (expected / name).is_file() and name != group.FILE:
            assert content(expected / name) == content(found / name), name


def test_seeds_at_once_are_those_one_after_the_other(two: Executor) -> None:
    config = resolve(settings(train={"baseline": True}))
    said: dict[str, list[str]] = {"one": [], "two": []}
    one = group.train_seeds(config, 3, Path("one"), Callbacks(on_warning=said["one"].append))
    records: list[dict[str, Any]] = []
    callbacks = Callbacks(on_record=records.append, on_warning=said["two"].append)
    both = group.train_seeds(config, 3, Path("two"), callbacks, executor=two, workers=2)
    assert_same(Path("one"), Path("two"))
    assert list(both.runs) == list(one.runs)
    assert group.about_seeds(both)["spread"] == group.about_seeds(one)["spread"]
    assert [record["runs"] for record in records] == [1, 2, 3]
    assert {record["run"] for record in records} == {"seed-0", "seed-1", "seed-2"}
    assert {line.replace(str(Path.cwd()) + "/", "") for line in said["two"]} == set(said["one"])
    assert len(both.group.spent) == 3


def test_folds_at_once_in_processes() -> None:
    config = resolve(settings(data={"folds": 2}))
    one = group.train_folds(config, Path("one"))
    with ProcessPoolExecutor(2, mp_context=torch_processes._context()) as pool:
        both = group.train_folds(config, Path("two"), executor=pool)
    assert_same(Path("one"), Path("two"))
    assert group.about_folds(both)["spread"] == group.about_folds(one)["spread"]


def test_a_sweep_at_once_finishes_what_does_not_fail(two: Executor) -> None:
    """A rate that diverges is a result; a worker that is lost twice is a failure."""
    swept = ["optim.lr=1e30,1e-3,1e-2", "optim.clip=0"]
    tables = read_tables(resolve(settings()))
    one = sweep([settings()], swept, Path("one"), tables=tables)
    both = sweep([settings()], swept, Path("two"), tables=tables, executor=two, workers=2)
    assert_same(Path("one"), Path("two"))
    assert (list(both.failed), both.error) == (["1"], None)
    assert both.failed == one.failed

    def lose_third(task: Callable[[], Any], run: Path, _: RunSpec) -> Any:
        if run.name == "3":
            raise BrokenExecutor("killed")
        return task()

    warned: list[str] = []
    with Wrapped(lose_third) as executor:
        callbacks = Callbacks(on_warning=warned.append)
        done = sweep(
            [settings()], swept, Path("three"), callbacks, tables=tables, executor=executor, workers=2
        )
    assert list(done.runs) == ["2"]
    assert done.failed["3"] == "killed"
    assert isinstance(done.error, BrokenExecutor)
    assert any(str(Path("three") / "3") in line for line in warned)
    # Finished runs stay; lost ones are run.
    before = (Path("three") / "2" / "run.json").read_bytes()
    again = group.run_all(group.load(Path("three")), Path("three"), executor=two, workers=2)
    assert (Path("three") / "2" / "run.json").read_bytes() == before
    assert list(again.runs) == ["2", "3"]
    assert again.error is None


def test_a_worker_that_is_lost_once_changes_nothing(two: Executor) -> None:
    """It is lost in the middle of a run: the next one continues from the state."""
    config = resolve(settings(train={"save_every": 1, "evaluate_every": 1}))
    group.train_seeds(config, 2, Path("one"))
    lost: list[str] = []

    def lose_once(task: Callable[[], Any], run: Path, spec: RunSpec) -> Any:
        if run.name == "seed-1" and not lost:
            lost.append(run.name)
            asked = iter(range(100))
            with (
                patch("sentimodels.runs.run_task.Driver.waits", lambda _: next(asked) < 2),
                patch("sentimodels.runs.run_task._LOOK", 0.0),
            ):
                stopped = task()
            assert stopped.about["fit"]["stop"] == "stopped"
            assert 0 < stopped.about["fit"]["steps"] < 12
            (run / "manifest.json").unlink()  # what a killed worker had not come to
            raise BrokenExecutor("killed")
        return task()

    with Wrapped(lose_once, 1) as executor:
        done = group.train_seeds(config, 2, Path("two"), executor=executor, workers=1)
    assert lost
    assert done.error is None
    assert_same(Path("one"), Path("two"))


@pytest.mark.parametrize("at_once", [False, True])
def test_stopping_at_the_first_failure(at_once: bool, two: Executor) -> None:
    config = resolve(settings(optim={"lr": 1e30, "clip": 0}))
    who: Any = {"executor": two, "workers": 1} if at_once else {}
    with pytest.raises(TrainingError, match=r"stops.seed-0: .*optim.lr"):
        group.train_seeds(config, 3, Path("stops"), on_error="stop", **who)
    assert not (Path("stops") / "seed-1").exists()


def test_a_budget_at_once(two: Executor) -> None:
    """Each run is said to take 4 seconds: of a budget of 10, two fit; a third would be one too many."""
    tables = read_tables(resolve(settings()))

    def timed(task: Callable[[], Outcome], run: Path, spec: RunSpec) -> Outcome:
        return replace(task(), seconds=4.0)

    values = ["train.seed=1,2,3,4"]
    with Wrapped(timed) as executor:
        done = sweep(
            [settings()], values, Path("sweep"), tables=tables, budget=10.0, executor=executor, workers=2
        )
    assert len(done.runs) == 2
    assert sum(done.group.spent.values()) == 8.0
    with pytest.raises(ConfigError, match=r"budget .* workers"):
        sweep([settings()], values, Path("other"), tables=tables, budget=10.0, executor=two)


def test_stopped_runs_at_once_go_on(folder: Path, two: Executor) -> None:
    data = {"train": str(folder / "reviews.csv")}  # as a group that is resumed names it
    config = resolve(settings(train={"save_every": 1, "evaluate_every": 1}, data=data))
    group.train_seeds(config, 3, Path("one"))
    records: list[dict[str, Any]] = []
    callbacks = Callbacks(on_record=records.append, should_stop=lambda: bool(records))
    with patch("sentimodels.runs.run_task._LOOK", 0.0):
        done = group.train_seeds(config, 3, Path("two"), callbacks, executor=two, workers=2)
    assert done.stopped
    assert finished(Path("two") / records[0]["run"])
    assert not (Path("two") / "seed-2").exists()
    done = group.run_all(group.load(Path("two")), Path("two"), executor=two, workers=2)
    assert not done.stopped
    assert_same(Path("one"), Path("two"))


class Job:
    """What submitit gives: no `concurrent.futures.Future`."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self.call, self.polls = call, 0

    def done(self) -> bool:
        self.polls += 1
        return self.polls > 1

    def result(self) -> Any:
        return self.call()


class Jobs:
    def submit(self, fn: Callable[..., Any], /, *args: Any) -> Job:
        return Job(lambda: fn(*args))


def test_runs_as_jobs_of_a_batch_system() -> None:
    jobs: Any = Jobs()
    done = group.train_seeds(
        resolve(settings(train={"epochs": 1})), 2, Path("runs"), executor=jobs, workers=2
    )
    assert [*done.runs] == ["seed-0", "seed-1"]
    assert all(finished(Path("runs") / name) for name in done.runs)


def test_a_worker_that_writes_elsewhere(folder: Path) -> None:
    """As on a machine that does not share the folder."""

    def elsewhere(_: Callable[[], Any], run: Path, spec: RunSpec) -> Outcome:
        return run_task(str(folder / "elsewhere" / run.name), spec)

    config = resolve(settings(train={"epochs": 1}))
    with (
        Wrapped(elsewhere, 1) as executor,
        patch("sentitok.adapters._VISIBLE_S", 0.0),
        pytest.raises(CheckpointError, match=r"runs.seed-0: .* a folder that all machines share"),
    ):
        group.train_seeds(config, 1, Path("runs"), executor=executor)


def test_another_driver_takes_over(folder: Path) -> None:
    first = Driver.of(folder)
    second = Driver.of(folder)
    assert (first.waits(), second.waits()) == (False, True)
    first.end()
    assert second.waits()
    spec = RunSpec(settings(), {}, driver=first)
    assert run_task(str(folder / "run"), spec) == Outcome(None, 0.0)
    assert not (folder / "run").exists()
    second.end()
    assert not second.waits()


def test_two_workers_never_train_one_run(folder: Path) -> None:
    """As when a driver was killed, another began, and a worker of the first has not noticed yet."""
    spec = RunSpec(settings(), {})
    at_once, most = [0], []

    def counted(run: Path, spec: RunSpec, *_: Any) -> Outcome:
        at_once[0] += 1
        most.append(at_once[0])
        time.sleep(0.1)
        at_once[0] -= 1
        return Outcome({"fit": {"stop": "epochs"}}, 0.0)

    with (
        patch("sentimodels.runs.run_task._run", counted),
        patch("sentimodels.runs.run_task._ONE_RUN", threading.Semaphore(9)),
        ThreadPoolExecutor(3) as executor,
    ):
        assert len(list(executor.map(run_task, [str(folder / "run")] * 3, [spec] * 3))) == 3
    assert most == [1, 1, 1]
    assert [path.name for path in folder.iterdir()] == ["reviews.csv"]


def test_a_worker_with_another_version(folder: Path) -> None:
    with pytest.raises(ConfigError, match=r"0\.0\.1 .*install one version"):
        run_task(str(folder / "run"), RunSpec(settings(), {}, version="0.0.1"))


def test_threads_are_those_of_the_order_unless_configured(folder: Path) -> None:
    tree = settings()
    del tree["train"]["threads"]
    run_task(str(folder / "three"), RunSpec(tree, {}, threads=3))
    run_task(str(folder / "one"), RunSpec(settings(), {}, threads=3))
    threads = [json.loads((folder / name / "run.json").read_text())["threads"] for name in ("three", "one")]
    assert threads == [3, 1]
    configs = [(folder / name / "config.toml").read_text() for name in ("three", "one")]
    assert [config.count("\nthreads = ") for config in configs] == [0, 1]


# Of the command: the same settings.
SWEPT = ["reviews.csv", "--arch", "cnn", "--epochs", "2", "--threads", "1", "--set", "model.d_model=8",
         "--set", "model.filters=4", "--set", "data.vocab_size=300"]  # fmt: skip
COMMAND = [*SWEPT, "--no-baseline"]


@pytest.mark.usefixtures("engine_of_threads")
def test_the_command_trains_several_at_once(folder: Path) -> None:
    engine = ["--engine", "processes", "--workers", "2"]
    one = senti("train", *COMMAND, "--seeds", "3", "-o", "one", "--json", cwd=folder)
    assert one.code == 0, one.err
    two = senti("train", *COMMAND, "--seeds", "3", "-o", "two", *engine, cwd=folder)
    assert two.code == 0, two.err
    assert_same(folder / "one", folder / "two")
    assert "3 runs, 2 at once, 1 thread each" in two.err
    assert re.search(r"^3/3: seed-\d has finished$", two.err, re.M)
    spread = json.loads(one.out)["spread"]["accuracy"]
    assert f"accuracy  {spread['mean']:.4f}" in two.out
    rates = ["--set", "optim.lr=1e-3,1e-2", "-o"]
    one = senti("sweep", *SWEPT, *rates, "swept", "--json", cwd=folder)
    two = senti("sweep", *SWEPT, *rates, "swept-2", "--json", *engine, cwd=folder)
    assert two.code == one.code == 0, two.err
    timed = ("run", "spent", "runs")
    values = [{k: v for k, v in json.loads(done.out).items() if k not in timed} for done in (one, two)]
    assert values[0] == values[1]


@pytest.mark.usefixtures("engine_of_threads")
def test_the_command_reports_a_run_that_fails_and_runs_it_again(folder: Path) -> None:
    engine = ["--engine", "processes", "--workers", "2"]

    def fail(run: str, spec: RunSpec) -> Outcome:
        if run.endswith("seed-1"):
            raise OSError(28, "No space left on device", f"{run}/model.safetensors")
        return run_task(run, spec)

    with patch("sentimodels.runs.group.run_task", fail):
        done = senti("train", *COMMAND, "--seeds", "3", "-o", "runs", *engine, cwd=folder)
    assert done.code == 1
    assert "seed-1 failed and is tried once more" in done.err
    assert re.search(r"^\d/3: seed-1 failed: ", done.err, re.M)
    assert re.search(r"^runs.seed-1 failed: .*No space left", done.out, re.M)
    assert "2 seeds" in done.out
    done = senti("train", "--resume", "runs", *engine, cwd=folder)
    assert done.code == 0, done.err
    assert "1 run, 1 at once" in done.err
    assert "3 seeds" in done.out


# (arguments, message)
WRONG = [
    (["train", "--engine", "processes"], "--engine is for several runs: give --seeds N or --folds N"),
    (["train", "--workers", "2"], "--workers is for several runs"),
    (["train", "--seeds", "2", "--workers", "2"], "--workers needs --engine"),
    (["train", "--folds", "2", "--address", "tcp://127.0.0.1:1"], "--address needs --engine"),
    (["train", "--seeds", "2", "--engine", "spark"], "--engine spark"),
    (["train", "--seeds", "2", "--on-error", "go"], "--on-error go"),
    (["train", "--seeds", "2", "--engine", "processes", "--address", "x:1"], "--engine ray or dask"),
    (["sweep", "--set", "optim.lr=1,2", "--workers", "3"], "--workers needs --engine"),
]


@pytest.mark.parametrize(("args", "said"), WRONG, ids=[" ".join(args) for args, _ in WRONG])
def test_wrong_calls(args: list[str], said: str, folder: Path) -> None:
    done = senti(args[0], *COMMAND[:3], *args[1:], "-o", "run", cwd=folder)
    assert done.code == 2
    assert said in done.err
    assert not (folder / "run").exists()


@pytest.mark.parametrize("engine", ["ray", "dask"])
def test_a_cluster_that_does_not_answer(engine: str, folder: Path) -> None:
    pytest.importorskip({"ray": "ray", "dask": "distributed"}[engine], reason="the engine is not installed")
    address = {"ray": "127.0.0.1:1", "dask": "tcp://127.0.0.1:1"}[engine]
    with patch("sentitok.adapters._CONNECT_S", 0.5):
        args = [*COMMAND, "--seeds", "2", "-o", "run", "--engine", engine, "--address", address]
        done = senti("train", *args, cwd=folder)
    assert done.code in (1, 2)
    assert address in done.err
    assert "Traceback" not in done.err
    assert not (folder / "run").exists()


@pytest.mark.parametrize(("engine", "library"), [("ray", "ray"), ("dask", "distributed")])
def test_an_engine_that_is_not_installed(
    engine: str, library: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.delitem(sys.modules, "sentitok.adapters.ray", raising=False)
    done = senti("train", *COMMAND, "--seeds", "2", "-o", "run", "--engine", engine, cwd=folder)
    assert done.code == 1
    assert f'pip install "sentitok[{engine}]"' in done.err
    assert not (folder / "run").exists()


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["processes", "ray", "dask"])
def test_engines(engine: str, folder: Path) -> None:
    name = {"ray": "ray", "dask": "distributed"}.get(engine, "sentitok")
    pytest.importorskip(name, reason="the engine is not installed")
    one = senti("train", *COMMAND, "--seeds", "3", "-o", "one", cwd=folder)
    assert one.code == 0, one.err
    args = [*COMMAND, "--seeds", "3", "-o", "two", "--engine", engine, "--workers", "2"]
    two = senti("train", *args, cwd=folder)
    assert two.code == 0, two.err
    assert_same(folder / "one", folder / "two")


LONG = [
    *COMMAND,
    "--epochs",
    "60",
    "--seeds",
    "3",
    "--set",
    "train.save_every=5",
    "--set",
    "train.log_every=1",
]


def processes_of(pid: int) -> dict[int, str]:
    """The processes that another has started, with their command lines."""
    found = {}
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, file.read_text().split()):
            found[child] = Path(f"/proc/{child}/cmdline").read_text()
    return found


def wait_for_step(started: "subprocess.Popen[bytes]", folder: Path, step: int) -> None:
    """Waits until a run has taken a step."""
    until = time.monotonic() + 200
    while not any(f'"step": {step},' in path.read_text() for path in folder.glob("*/metrics.jsonl")):
        assert started.poll() is None
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="processes are found by /proc")
@pytest.mark.parametrize("what", ["worker", "driver", "Ctrl-C"])
def test_processes_that_are_killed(what: str, folder: Path) -> None:
    """A process killed in the middle of a run: the end is that of undisturbed runs."""
    one = senti("train", *LONG, "-o", str(folder / "one"), cwd=folder)
    assert one.code == 0, one.err
    args = [sys.executable, "-m", "sentimodels", "train", *LONG, "-o", str(folder / "two")]
    args += ["--engine", "processes", "--workers", "2"]
    environment = {**os.environ, "PYTHONPATH": str(Path(group.__file__).parents[2])}
    with subprocess.Popen(
        [*args, "--engine", "processes", "--workers", "2"],
        cwd=folder,
        env=environment,
        start_new_session=True,
    ) as started:
        wait_for_step(started, folder / "two", 30)
        workers = [pid for pid, line in processes_of(started.pid).items() if "spawn_main" in line]
        assert len(workers) == 2
        if what == "worker":
            os.kill(random.choice(workers), signal.SIGKILL)
        elif what == "driver":
            started.kill()
        else:
            os.killpg(started.pid, signal.SIGINT)
        code = started.wait(300)
    assert code == {"worker": 0, "driver": -signal.SIGKILL, "Ctrl-C": 130}[what]
    if what != "worker":
        again = senti("train", "--resume", folder / "two", cwd=folder)
        assert again.code == 0, again.err
    for seed in range(3):
        names = [folder / of / f"seed-{seed}" / "model.safetensors" for of in ("one", "two")]
        assert names[0].read_bytes() == names[1].read_bytes(), seed
    assert not list((folder / "two").glob(".*"))


def test_processes_see_a_gpu_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Imitated: the messages to each process. One that dies is replaced by one with the same GPU."""
    from sentitok.adapters import open_executor, workers_of

    for visible, expected in ((None, ["0", "1"]), ("5,GPU-7", ["5", "GPU-7"])):
        if visible is None:
            monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        else:
            monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
        with open_executor("processes", workers=2, gpus=2) as executor:
            assert workers_of(executor) == 2
            if visible is None:
                with pytest.raises(BrokenExecutor):
                    executor.submit(os._exit, 1).result()
            seen: list[str] = []
            until = time.monotonic() + 60
            while len(set(seen)) < 2 and time.monotonic() < until:
                both = [executor.submit(os.getenv, "CUDA_VISIBLE_DEVICES") for _ in range(8)]
                seen += [str(one.result()) for one in both]
            assert sorted(set(seen)) == expected
