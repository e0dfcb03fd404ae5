"""`torchrun -m sentimodels train`: two processes train what one does with the double batch, one writes.

One that is killed costs the steps since the last saved state: torchrun starts both again.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from labelled_reviews import write, write_books
from parallel_numbers import TINY, write_pairs
from senti_in_process import senti
from torch_processes import SENTI, run_pair

# Without dropout, which each process draws for itself.
ARGS = (
    "train reviews.csv --arch encoder --preset nano --epochs 2 --no-baseline --threads 1 "
    "--set task.mixup=0 --set model.dropout=0 --set model.embedding_dropout=0 --set model.head_dropout=0"
)


def torchrun(
    args: str, cwd: Path, packages: Path, kill: tuple[int, int] | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs the command in two processes, started again once if one fails.

    Args:
        args: what follows `senti`; the run directory comes last.
        cwd: where.
        packages: the folder of sentimodels.
        kill: the process that is killed, and after which step.
    """
    call = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    call += ["--max-restarts", "1", "-m", "sentimodels", *args.split()]
    environment = {**os.environ, "PYTHONPATH": str(packages), "OMP_NUM_THREADS": "1"}
    with (cwd / "stdout").open("wb") as out, (cwd / "stderr").open("wb") as err:
        started = subprocess.Popen(call, cwd=cwd, env=environment, stdout=out, stderr=err)
        try:
            if kill is not None:
                kill_at(started, cwd / args.split()[-1], *kill)
            code = started.wait(300)
        finally:
            started.kill()
            started.wait()
    texts = [(cwd / name).read_text("utf-8") for name in ("stdout", "stderr")]
    return subprocess.CompletedProcess(call, code, *texts)


def kill_at(started: subprocess.Popen[bytes], run: Path, rank: int, step: int) -> None:
    """Kills a process of torchrun once a run has taken a step."""
    metrics = run / "metrics.jsonl"
    until = time.monotonic() + 200
    while not (metrics.is_file() and f'"step": {step},' in metrics.read_text("utf-8")):
        assert started.poll() is None, (run.parent / "stderr").read_text("utf-8")
        assert time.monotonic() < until
        time.sleep(0.002)
    for file in Path(f"/proc/{started.pid}/task").glob("*/children"):
        for pid in map(int, file.read_text().split()):
            if f"RANK={rank}".encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                os.kill(pid, signal.SIGKILL)
                return
    raise AssertionError("no such process")


def untimed(run: Path) -> list[dict[str, Any]]:
    """The records of a run without what a clock says."""
    records = [json.loads(line) for line in (run / "metrics.jsonl").read_text("utf-8").splitlines()]
    timed = ("seconds", "tokens_per_second")
    return [{key: value for key, value in one.items() if key not in timed} for one in records]


def assert_restarted_as_whole(whole: Path, restarted: Path) -> None:
    """The run that torchrun has started again is the one that nobody disturbed."""
    for name in ("model.safetensors", "config.toml"):
        assert (restarted / name).read_bytes() == (whole / name).read_bytes(), name
    assert untimed(restarted) == untimed(whole)
    names = [{path.name for path in run.iterdir()} for run in (whole, restarted)]
    assert names[1] - names[0] == {".torchrun"}
    assert names[0] <= names[1]


KILLS = pytest.mark.skipif(sys.platform != "linux", reason="a process is found by /proc")


def test_two_processes_train_as_one_does(tmp_path: Path) -> None:
    import sentimodels

    packages = Path(sentimodels.__file__).resolve().parent.parent
    write(tmp_path / "reviews.csv", 200)
    one = senti(*f"{ARGS} --batch-size 16 -o one".split(), cwd=tmp_path)
    assert one.code == 0, one.err
    two = torchrun(f"{ARGS} --batch-size 8 --set train.log_every=1 -o two", tmp_path, packages)
    assert two.returncode == 0, two.stderr
    assert two.stdout.count("written  two") == 1
    alone, both = (load_file(tmp_path / name / "model.safetensors") for name in ("one", "two"))
    assert set(alone) == set(both)
    for name, value in alone.items():
        torch.testing.assert_close(both[name], value, atol=2e-4, rtol=1e-3, msg=name)
    abouts = [json.loads((tmp_path / name / "run.json").read_text("utf-8")) for name in ("one", "two")]
    assert abouts[0]["fit"]["steps"] == abouts[1]["fit"]["steps"]
    assert abouts[1]["valid"]["log_loss"] == pytest.approx(abouts[0]["valid"]["log_loss"], abs=1e-3)
    done = senti("verify", "two", cwd=tmp_path)
    assert done.code == 0, done.out


GPT = (
    "pretrain books.txt --preset nano --vocab 300 --context 16 --steps 30 --evaluate-every 10 --threads 1 "
    "--batch-size 2 --set model.d_model=16 --set model.n_layers=1 --set train.log_every=1 --valid-share 0.2 "
    "--set train.save_every=4"
)
CASES = {
    "classifier": f"{ARGS} --batch-size 8 --set train.log_every=1 --set train.save_every=5",
    "classifier with dropout": (
        "train reviews.csv --arch cnn --epochs 2 --no-baseline --threads 1 --batch-size 8 "
        "--set train.log_every=1 --set train.save_every=5"
    ),
    "gpt": GPT,
    "gpt in parts": f"{GPT} --parallel fsdp",
}


@KILLS
@pytest.mark.slow
@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("case", CASES)
def test_a_process_that_is_killed_costs_no_more_than_time(case: str, rank: int, tmp_path: Path) -> None:
    import sentimodels

    packages = Path(sentimodels.__file__).resolve().parent.parent
    write_books(tmp_path)
    at = random.SystemRandom().randint(1, 16)
    two = torchrun(f"{CASES[case]} -o two", tmp_path, packages, (rank, at))
    assert two.returncode == 0, (at, two.stderr)
    assert "exitcode: -9" in two.stderr, at
    pair = run_pair(SENTI, *f"{CASES[case]} -o pair".split(), cwd=tmp_path)
    assert pair.codes == [0, 0], pair.outs
    assert_restarted_as_whole(tmp_path / "pair", tmp_path / "two")


def test_a_restart_knows_its_run_from_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process may fail when another has finished; and `--force` replaces a run once."""
    write(tmp_path / "reviews.csv", 60)
    args = ["train", "reviews.csv", "--arch", "nb", "--no-baseline", "-o", "run", "--force", "--json"]

    def started(name: str, times: int) -> Any:
        monkeypatch.setenv("TORCHELASTIC_RUN_ID", name)
        monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", str(times))
        return senti(*args, cwd=tmp_path)

    first = started("a", 0)
    assert first.code == 0, first.err
    again = started("a", 1)
    assert again.code == 0, again.err
    assert json.loads(first.out).items() <= json.loads(again.out).items()
    assert not (tmp_path / "run.1").exists()
    assert started("b", 1).code == 0  # a run of another call, which is replaced
    assert (tmp_path / "run.1").exists()
    args.remove("--force")
    for name, times in (("b", 0), ("c", 1)):
        done = started(name, times)
        assert done.code == 2
        assert "holds a run already" in done.err
    assert started("b", 2).code == 0


# (arguments, message)
REFUSED = [
    ("--arch bow", "WORLD_SIZE=2: bow, which is not trained by steps, needs one process"),
    ("", "WORLD_SIZE=2: arch auto needs one process; name an architecture: --arch"),
    ("--arch cnn --folds 3", "WORLD_SIZE=2: a group of runs needs one process"),
    ("--arch cnn --seeds 2", "WORLD_SIZE=2: a group of runs needs one process"),
    ("--arch cnn --refit", "WORLD_SIZE=2: --refit needs one process"),
]


@pytest.mark.parametrize(("args", "said"), REFUSED)
def test_what_needs_one_process(
    args: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "reviews.csv", 60)
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "1")
    done = senti("train", "reviews.csv", *args.split(), "-o", "run", cwd=tmp_path)
    assert done.code == 2
    assert said in done.err
    assert not (tmp_path / "run").exists()


def test_two_processes_pre_train_as_one_does(tmp_path: Path) -> None:
    lines = [
        f"the {a} film was {b} and the {b} plot was {a}" for a in "great dull fine" for b in "slow sad fun"
    ]
    (tmp_path / "books.txt").write_text("\n".join(lines * 3) + "\n")
    args = (
        "pretrain books.txt --preset nano --vocab 300 --context 16 --steps 6 --evaluate-every 3 --threads 1 "
        "--set model.d_model=16 --set model.n_layers=1 --set train.log_every=2 --valid-share 0.2"
    )
    one = senti(*f"{args} --batch-size 4 -o one".split(), cwd=tmp_path)
    assert one.code == 0, one.err
    two = run_pair(SENTI, *f"{args} --batch-size 2 -o two".split(), cwd=tmp_path)
    assert two.codes == [0, 0], two.outs
    assert "".join(two.outs).count("written  two") == 1
    alone, both = (load_file(tmp_path / name / "model.safetensors") for name in ("one", "two"))
    assert set(alone) == set(both)
    for name, value in alone.items():
        torch.testing.assert_close(both[name], value, atol=1e-4, rtol=1e-3, msg=name)
    abouts = [json.loads((tmp_path / name / "run.json").read_text("utf-8")) for name in ("one", "two")]
    assert abouts[0]["fit"]["tokens"] == abouts[1]["fit"]["tokens"] == 6 * 4 * 16


@pytest.mark.slow
def test_two_processes_translate_as_one_does(tmp_path: Path) -> None:
    """A batch has so many tokens of each process. `--set` is for names that torchrun takes for its own."""
    import sentimodels

    packages = Path(sentimodels.__file__).resolve().parent.parent
    for seed, (name, n) in enumerate({"train": 200, "valid": 20}.items()):
        write_pairs(tmp_path, name, n, seed)
    files = "train.en train.de --valid valid.en --valid valid.de"
    args = f"translate train {files} {' '.join(TINY)} --set train.max_steps=6"
    one = senti(*f"{args} --set train.batch_tokens=400 -o one".split(), cwd=tmp_path)
    assert one.code == 0, one.err
    two = torchrun(f"{args} --set train.batch_tokens=200 -o two", tmp_path, packages)
    assert two.returncode == 0, two.stderr
    assert two.stdout.count("written  two") == 1
    abouts = [json.loads((tmp_path / name / "run.json").read_text("utf-8")) for name in ("one", "two")]
    assert abouts[0]["fit"]["tokens"] == abouts[1]["fit"]["tokens"]
    assert abouts[1]["valid"]["loss"] == pytest.approx(abouts[0]["valid"]["loss"], abs=1e-3)


@pytest.mark.slow
def test_a_corpus_that_is_not_there_ends_both(tmp_path: Path) -> None:
    import sentimodels

    packages = Path(sentimodels.__file__).resolve().parent.parent
    failed = torchrun("pretrain gone.txt -o run", tmp_path, packages)
    assert failed.returncode != 0
    assert "gone.txt" in failed.stderr
