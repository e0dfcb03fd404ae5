"""Two processes are one with the double batch: weights, losses, scores and files."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from plain_model import N_CLASSES, PlainModel, encoded
from sentimodels.config import ClassificationConfig, OptimConfig, TrainConfig
from sentimodels.errors import CheckpointError
from sentimodels.tasks.classification import Classification
from sentimodels.training.distributed import Distributed
from sentimodels.training.state import random_state, restore_random
from sentimodels.training.trainer import Trainer
from torch_processes import run_pair

HERE = Path(__file__).resolve().parent
PATHS = [str(HERE.parent), str(HERE)]
# Rows of 75 in batches of 16 end in one of 11, which two processes cannot share evenly.
N_ROWS = 75
HEAD = """
from pathlib import Path
from sentimodels.training.distributed import Distributed
from test_distributed import threads, train
folder = Path({folder!r})
processes = Distributed.start("cpu")
"""
TAIL = """
of_group = {name for name in threads() if "gloo" in name}
assert of_group or not threads()
processes.end()
assert not of_group & threads()  # one that is left may abort the process as Python exits
"""


def train(
    processes: Distributed, folder: Path, batch_size: int, sparse: bool, stop: int = 0, resume: bool = False
) -> None:
    """Trains in this process, alone or one of several; each leaves its weights in `folder`."""
    torch.set_num_threads(1)
    torch.manual_seed(5)
    model = PlainModel(dropout=0.0)
    config = TrainConfig(epochs=2, batch_size=batch_size, log_every=1, ema=0.9, seed=4)
    weighted = ClassificationConfig(class_weights="balanced")
    material = (*encoded(N_ROWS, 1), *encoded(30, 2))
    task = Classification(weighted, config, *material, n_classes=N_CLASSES)
    optim = OptimConfig(lr=0.02, clip=0.05, sparse_embeddings=sparse)
    folder.mkdir(exist_ok=True)
    asked = iter(range(1, 1000))
    trainer = Trainer(optim, config, distributed=processes, should_stop=lambda: next(asked) == stop)
    fit = trainer.fit(model, task, folder=folder, resume=resume)
    weights = {name: value.tolist() for name, value in model.state_dict().items()}
    told = {"weights": weights, "tokens": fit.tokens, "steps": fit.steps, "best": fit.best}
    (folder / f"rank{processes.rank}-{fit.stop}.json").write_text(json.dumps(told), "utf-8")


def threads() -> set[str]:
    """Returns the names of the threads of this process, where the system says them."""
    return {task.read_text().strip() for task in Path("/proc/self/task").glob("*/comm")}


def together(folder: Path, code: str) -> None:
    """Runs code in two processes of one group."""
    pair = run_pair(f"import sys\nsys.path += {PATHS}\n{code}", cwd=folder)
    assert pair.codes == [0, 0], pair.outs


def records(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "metrics.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def assert_same(alone: Path, both: Path) -> None:
    one = json.loads((alone / "rank0-epochs.json").read_text("utf-8"))
    for rank in range(2):
        two = json.loads((both / f"rank{rank}-epochs.json").read_text("utf-8"))
        for name, value in one["weights"].items():
            torch.testing.assert_close(
                torch.tensor(two["weights"][name]), torch.tensor(value), atol=1e-5, rtol=1e-4
            )
        assert {key: two[key] for key in ("tokens", "steps")} == {
            key: one[key] for key in ("tokens", "steps")
        }
        assert two["best"] == pytest.approx(one["best"])
    expected, found = records(alone), records(both)
    assert [set(record) for record in found] == [set(record) for record in expected]
    for record, other in zip(expected, found, strict=True):
        for key in set(record) - {"seconds", "tokens_per_second", "monitor"}:
            assert other[key] == pytest.approx(record[key], abs=1e-5), key


def test_two_processes_are_one_with_the_double_batch(tmp_path: Path) -> None:
    """With dense and with sparse tables; stopped and resumed too."""
    for sparse in (True, False):
        train(Distributed(torch.device("cpu")), tmp_path / f"alone-{sparse}", 16, sparse)
    head = HEAD.format(folder=str(tmp_path))
    both = (
        "for sparse in (True, False):\n"
        "    train(processes, folder / f'both-{sparse}', 8, sparse)\n"
        "train(processes, folder / 'resumed', 8, True, stop=7)\n"
    )
    together(tmp_path, head + both + TAIL)
    with pytest.raises(CheckpointError, match=r"was 2 and is 1, .* resume with torchrun --nproc-per-node 2"):
        train(Distributed(torch.device("cpu")), tmp_path / "resumed", 16, True, resume=True)
    resumed = "train(processes, folder / 'resumed', 8, True, resume=True)\n"
    together(tmp_path, head + resumed + TAIL)
    for sparse in (True, False):
        assert_same(tmp_path / f"alone-{sparse}", tmp_path / f"both-{sparse}")
    whole, resumed = (
        json.loads((tmp_path / name / "rank0-epochs.json").read_text("utf-8"))
        for name in ("both-True", "resumed")
    )
    assert resumed == whole


def test_a_process_alone_gets_back_what_it_gave() -> None:
    alone = Distributed(torch.device("cpu"))
    assert alone.main
    assert alone.sum_of(3, 0.5) == [3, 0.5]
    assert alone.share(2.0) == [2.0]
    assert not alone.any(False)
    tensors = {"cpu": torch.ones(2)}
    assert alone.own(alone.gather(tensors)) == tensors


@pytest.mark.parametrize("device", ["cuda", "auto", "cuda:1"])
def test_a_process_takes_its_own_gpu_alone(monkeypatch: pytest.MonkeyPatch, device: str) -> None:
    tried: list[str] = []

    def device_of(name: str) -> torch.device:
        tried.append(name)
        return torch.device(name)

    for name, value in (("WORLD_SIZE", "2"), ("LOCAL_RANK", "1")):
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sentimodels.training.distributed.device_of", device_of)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "set_device", lambda device: tried.append(str(device)))
    monkeypatch.setattr(
        torch.distributed, "init_process_group", lambda backend, timeout: tried.append(backend)
    )
    monkeypatch.setattr(torch.distributed, "get_rank", lambda: 1)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 2)
    assert Distributed.start(device) == Distributed(torch.device("cuda:1"), 1, 2)
    assert tried == ["cuda:1", "cuda:1", "nccl"]


def test_random_numbers_go_on_with_another_number_of_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """GPUs are imitated: each has a state, which is a number."""
    states = {i: torch.tensor([i]) for i in range(12)}
    monkeypatch.setattr(torch.cuda, "device_count", lambda: len(states))
    monkeypatch.setattr(torch.cuda, "get_rng_state", lambda i: states[i])
    monkeypatch.setattr(torch.cuda, "set_rng_state", lambda state, i: states.update({i: state}))
    saved = random_state()
    for n in (12, 2, 14):
        states.clear()
        states.update({i: torch.tensor([-1]) for i in range(n)})
        restore_random(saved)
        assert [int(states[i]) for i in range(n)] == [i if i < 12 else -1 for i in range(n)]


# Runs of a file that is empty.
EARLY = {
    "classification": "train(resolve({'arch': 'cnn', 'data': {'train': bad}}), run)",
    "pretraining": "train(LANGUAGE_MODEL.resolve({'data': {'corpus': [bad]}}), run)",
}


@pytest.mark.parametrize("kind", EARLY)
def test_an_early_error_leaves_the_processes(kind: str, tmp_path: Path) -> None:
    """Whatever is wrong, every process leaves the group that the run has joined."""
    (tmp_path / "bad.csv").write_text("")
    code = f"""
from pathlib import Path
import torch.distributed as dist
from sentimodels.errors import SentiError
from sentimodels.runs.families import LANGUAGE_MODEL, resolve
from sentimodels.runs.execute import train
from test_distributed import threads
bad, run = {str(tmp_path / "bad.csv")!r}, Path({str(tmp_path / "run")!r})
try:
    {EARLY[kind]}
except SentiError:
    assert not dist.is_initialized()
    assert not any("gloo" in name for name in threads())
else:
    raise AssertionError("an empty file trains nothing")
assert not (run / "config.toml").exists()
"""
    together(tmp_path, code)
