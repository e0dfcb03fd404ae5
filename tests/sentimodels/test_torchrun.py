"""`torchrun -m sentimodels train`: two processes train what one does with the double batch, one writes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from labelled_reviews import write
from parallel_numbers import TINY, write_pairs
from senti_in_process import senti
from torch_processes import SENTI, run_pair

# Without dropout, which each process draws for itself.
ARGS = (
    "train reviews.csv --arch encoder --preset nano --epochs 2 --no-baseline --threads 1 "
    "--set task.mixup=0 --set model.dropout=0 --set model.embedding_dropout=0 --set model.head_dropout=0"
)


def torchrun(args: str, cwd: Path, packages: Path) -> subprocess.CompletedProcess[str]:
    """Runs the command in two processes."""
    call = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    environment = {**os.environ, "PYTHONPATH": str(packages), "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [*call, "-m", "sentimodels", *args.split()],
        cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


def test_two_processes_train_as_one_does(tmp_path: Path) -> None:
    import sentimodels

    packages = Path(sentimodels.__file__).resolve().parent.parent
    write(tmp_path / "reviews.csv", 200)
    one = senti(*f"{ARGS} --batch-size 16 -o one".split(), cwd=tmp_path)
    assert one.code == 0, one.err
    two = torchrun(f"{ARGS} --batch-size 8 -o two", tmp_path, packages)
    assert two.returncode == 0, two.stderr
    assert two.stdout.count("written  two") == 1
    assert two.stderr.count("validation loss") == 2
    alone, both = (load_file(tmp_path / name / "model.safetensors") for name in ("one", "two"))
    assert set(alone) == set(both)
    for name, value in alone.items():
        torch.testing.assert_close(both[name], value, atol=2e-4, rtol=1e-3, msg=name)
    abouts = [json.loads((tmp_path / name / "run.json").read_text("utf-8")) for name in ("one", "two")]
    assert abouts[0]["fit"]["steps"] == abouts[1]["fit"]["steps"]
    assert abouts[1]["valid"]["log_loss"] == pytest.approx(abouts[0]["valid"]["log_loss"], abs=1e-3)
    done = senti("verify", "two", cwd=tmp_path)
    assert done.code == 0, done.out


# (arguments, what is said)
REFUSED = [
    ("--arch bow", "WORLD_SIZE=2: bow, which is not trained by steps, needs one process"),
    ("", "WORLD_SIZE=2: arch auto needs one process; name an architecture: --arch"),
    ("--arch cnn --folds 3", "WORLD_SIZE=2: a group of runs needs one process"),
    ("--arch cnn --seeds 2", "WORLD_SIZE=2: a group of runs needs one process"),
    ("--arch cnn --refit", "WORLD_SIZE=2: train.refit needs one process"),
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
