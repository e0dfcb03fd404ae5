"""`senti pretrain --parallel fsdp`: parts of a model in two processes are the model in one, saved too."""

import json
import os
import re
import shlex
import shutil
import traceback
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.fsdp import FSDPModule

from senti_in_process import senti
from sentimodels.config import LanguageConfig
from sentimodels.errors import CheckpointError, ConfigError
from sentimodels.runs.execute import Callbacks, resume, train
from sentimodels.runs.families import LANGUAGE_MODEL
from sentimodels.training.distributed import Distributed
from sentimodels.training.fsdp import check_sharded, go_on_drawing, save_sharded, shared_again
from torch_processes import SENTI, run_pair

HERE = Path(__file__).resolve().parent
STEPS, STOP = 8, 4
# How far weights may be apart.
NEAR = 1e-4

# Plain; matrices by Muon, averages, gradients of two batches, recomputed blocks, an untied head; no blocks;
# and blocks of another kind, which no rule of sharding knows: a larger run of the same.
RECIPES: dict[str, dict[str, Any]] = {
    "gpt": {},
    "muon": {
        "optim": {"name": "muon", "muon_lr": 0.005},
        "task": {"tied": False},
        "train": {"accumulate": 2, "ema": 0.5, "recompute": True},
    },
    "lstm": {"arch": "lstm", "model": {"d_hidden": 16}},
    "mamba": {
        "arch": "mamba",
        "model": {"d_head": 8, "d_state": 8},
        "task": {"tied": False},
        "train": {"recompute": True},
    },
}
SLOW = ("mamba",)
CASES = [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in RECIPES]
# With a second loss, and without: of a row of 16 tokens, at this rate, often none is masked.
MASKED: dict[str, dict[str, Any]] = {
    f"masked{halves}": {"arch": "bert", "task": {"rate": 0.03, "next_sentence": bool(halves)}}
    for halves in ("", "-halves")
}


def config(folder: Path, recipe: str, batch_size: int, **train: Any) -> LanguageConfig:
    return LANGUAGE_MODEL.resolve(
        {"preset": "nano", "data": {"corpus": [str(folder / "books.txt")], "vocab_size": 300, "context": 16}},
        {"model": {"d_model": 16, "n_layers": 2}, "optim": {"lr": 0.01}},
        {"data": {"valid_share": 0.2}},
        {**RECIPES, **MASKED}[recipe],
        {"train": {"max_steps": STEPS, "evaluate_every": 4, "log_every": 1, "threads": 1,
                   "batch_size": batch_size, **train}},
    )  # fmt: skip


def trained(folder: Path, recipe: str, name: str, rows: int, *, stop: int = 0, resumed: bool = False) -> None:
    """Trains in this process, alone or as one of two; stops after the step `stop`."""
    torch.set_num_threads(1)
    asked = iter(range(1, 1000))

    def should_stop() -> bool:
        return next(asked) == stop

    if resumed:
        resume(folder / name, callbacks=Callbacks(should_stop=should_stop))
    else:
        parallel = "fsdp" if "WORLD_SIZE" in os.environ else "ddp"
        train(
            config(folder, recipe, rows, parallel=parallel),
            folder / name,
            callbacks=Callbacks(should_stop=should_stop),
        )


def together(folder: Path, code: str) -> None:
    """Runs code of this file in two processes, whose group is there before a run and after it."""
    pair = run_pair(
        f"import sys\nsys.path.append({str(HERE)!r})\n"
        "from pathlib import Path\nfrom torch import distributed\nfrom test_sharded import trained\n"
        f"distributed.init_process_group('gloo')\nfolder = Path({str(folder)!r})\n{code}"
        "distributed.destroy_process_group()\n",
        cwd=folder,
    )
    assert pair.codes == [0, 0], pair.outs


def assert_same(run: Path, other: Path, atol: float = 1e-5) -> None:
    """Weights, scores and the course of training."""
    one, two = (load_file(path / "model.safetensors") for path in (run, other))
    assert one.keys() == two.keys()
    for name, value in one.items():
        torch.testing.assert_close(two[name], value, atol=atol, rtol=1e-3, msg=name)
    expected, found = (
        [json.loads(line) for line in (path / "metrics.jsonl").read_text("utf-8").splitlines()]
        for path in (run, other)
    )
    assert [set(record) for record in found] == [set(record) for record in expected]
    for record, also in zip(expected, found, strict=True):
        for key in record.keys() - {"seconds", "tokens_per_second", "monitor"}:
            assert also[key] == pytest.approx(record[key], rel=2e-3, abs=atol), key
    fits = [json.loads((path / "run.json").read_text("utf-8"))["fit"] for path in (run, other)]
    for key in ("stop", "steps", "best_step", "tokens"):
        assert fits[0][key] == fits[1][key], key


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """Runs of one process with rows of 4, and of two with rows of 2 each; some of these were stopped."""
    made = tmp_path_factory.mktemp("sharded")
    asked = {
        item.callspec.params.get("recipe") for item in request.session.items if hasattr(item, "callspec")
    }
    recipes = [recipe for recipe in RECIPES if recipe == "gpt" or recipe in asked]
    lines = [
        f"the {a} film was {b} and the {b} plot was {a}" for a in "great dull fine" for b in "slow sad fun"
    ]
    (made / "books.txt").write_text("\n".join(lines * 3) + "\n", "utf-8")
    for recipe in recipes:
        trained(made, recipe, f"{recipe}-one", 4)
    together(
        made,
        f"for recipe in {list(MASKED)}:\n"
        "    trained(folder, recipe, recipe + '-two', 1)\n"
        f"for recipe in {recipes}:\n"
        "    trained(folder, recipe, recipe + '-two', 2)\n"
        f"    trained(folder, recipe, recipe + '-stopped', 2, stop={STOP})\n",
    )
    for recipe in recipes:
        shutil.copytree(made / f"{recipe}-stopped", made / f"{recipe}-resumed")
    together(
        made,
        f"for recipe in {recipes}:\n    trained(folder, recipe, recipe + '-resumed', 2, resumed=True)\n",
    )
    return made


@pytest.mark.parametrize("recipe", CASES)
def test_parts_in_two_processes_are_a_model_in_one(recipe: str, folder: Path) -> None:
    assert_same(folder / f"{recipe}-one", folder / f"{recipe}-two", NEAR)


@pytest.mark.parametrize("recipe", CASES)
def test_two_processes_go_on_to_the_same_bytes(recipe: str, folder: Path) -> None:
    whole, resumed = (folder / f"{recipe}-{name}" for name in ("two", "resumed"))
    assert (whole / "model.safetensors").read_bytes() == (resumed / "model.safetensors").read_bytes()
    assert_same(whole, resumed, 0.0)
    assert not list(resumed.glob("state*"))


@pytest.mark.parametrize("recipe", CASES)
def test_one_process_goes_on_with_what_two_have_saved(recipe: str, folder: Path) -> None:
    alone = folder / f"{recipe}-alone"
    shutil.copytree(folder / f"{recipe}-stopped", alone)
    state = alone / f"state-{STOP}"
    assert len(list(state.glob("*.safetensors"))) == 2
    resume(alone)
    assert_same(folder / f"{recipe}-two", alone, NEAR)
    assert not list(alone.glob("state*"))


@pytest.mark.parametrize("masked", MASKED)
def test_processes_with_nothing_to_predict(masked: str, folder: Path) -> None:
    """The other processes do not wait forever for one of which no token is masked."""
    run = json.loads((folder / f"{masked}-two" / "run.json").read_text("utf-8"))
    assert run["fit"]["steps"] == STEPS
    assert run["fit"]["tokens"] <= STEPS * 2 * 19


def test_a_process_alone_saves_what_it_goes_on_from(folder: Path) -> None:
    again = folder / "gpt-again"
    shutil.copytree(folder / "gpt-stopped", again)
    trained(folder, "gpt", "gpt-again", 0, stop=2, resumed=True)
    assert (again / f"state-{STOP + 2}").is_dir()
    assert not (again / f"state-{STOP}").exists()
    trained(folder, "gpt", "gpt-again", 0, resumed=True)
    assert_same(folder / "gpt-two", again, 1e-4)


@pytest.mark.parametrize("damage", ["first gone", "last gone", "cut", "no state"])
def test_damaged_states(damage: str, folder: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(folder / "gpt-stopped", run)
    first, last = sorted((run / f"state-{STOP}").glob("*.safetensors"))
    if damage == "no state":
        (run / "state.safetensors").unlink()
        expected = "has finished; nothing to resume"
    elif damage == "cut":
        last.write_bytes(last.read_bytes()[:100])
        expected = "unreadable state"
    else:
        (first if damage == "first gone" else last).unlink()
        expected = r"of the [\d,]+ numbers of .*the file of a process is missing"
    with pytest.raises(CheckpointError, match=expected):
        resume(run)


def test_a_process_that_comes_later_draws_of_its_own() -> None:
    torch.manual_seed(5)
    saved = {"cpu": torch.get_rng_state()}
    drawn = []
    for rank in (0, 1):
        go_on_drawing(saved, Distributed(torch.device("cpu"), rank, 2), seed=5)
        drawn.append(torch.rand(3))
    torch.manual_seed(5)
    assert torch.equal(drawn[0], torch.rand(3))
    torch.manual_seed(5 + 1)
    assert torch.equal(drawn[1], torch.rand(3))


def test_a_part_that_cannot_be_written_is_an_error_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> None:
        failed = OSError("no space left")
        raise CheckpointException("save", {1: (failed, traceback.extract_stack())})

    monkeypatch.setattr("sentimodels.training.fsdp.save", full)
    with pytest.raises(
        CheckpointError, match=r"state-1: the state cannot be written: process 1: no space left$"
    ):
        save_sharded(tmp_path, Distributed(torch.device("cpu")), {}, {}, {"step": 1}, 4)
    assert list(tmp_path.iterdir()) == []


def test_rows_that_cannot_be_shared(folder: Path) -> None:
    asked = config(folder, "gpt", 2, parallel="fsdp")
    found = shared_again(asked, folder / "gpt-stopped", 4)
    assert found.train.batch_size == 1
    with pytest.raises(
        CheckpointError, match=r"3 processes .* 4 rows evenly; type: torchrun --nproc-per-node 2"
    ):
        shared_again(asked, folder / "gpt-stopped", 3)


def test_the_page(folder: Path) -> None:
    page = (HERE.parent.parent / "docs" / "how-to" / "pretrain.md").read_text("utf-8")
    calls = re.findall(r"^\$ torchrun --nproc-per-node 2 -m sentimodels (.*)$", page, re.M)
    assert len(calls) == 2
    quick = ["--steps", "2", "--batch-size", "2", "--context", "16", "--vocab", "300", "--threads", "1"]
    for call in calls:
        pair = run_pair(SENTI, *shlex.split(call), *quick, cwd=folder)
        assert pair.codes == [0, 0], pair.outs
        run = call.split()[-1]
        assert "".join(pair.outs).count(f"written  {run}") == 1
        assert senti("verify", run, cwd=folder).code == 0
    one, two = (load_file(folder / "runs" / name / "model.safetensors") for name in ("copies", "parts"))
    for name, value in one.items():
        torch.testing.assert_close(two[name], value, atol=1e-4, rtol=1e-3)


def test_what_is_refused(folder: Path) -> None:
    done = senti("pretrain", "books.txt", "--parallel", "fsdp", "-o", "alone", cwd=folder)
    assert done.code == 2
    assert "there is one; type: torchrun --nproc-per-node 2 -m sentimodels pretrain" in done.err
    assert not (folder / "alone").exists()
    sparse = config(folder, "gpt", 2, parallel="fsdp")
    sparse = sparse.model_copy(update={"optim": sparse.optim.model_copy(update={"sparse_embeddings": True})})
    with pytest.raises(ConfigError, match=r"type: --set optim\.sparse_embeddings=false"):
        check_sharded(sparse, 2)


def test_a_torch_that_is_too_old_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(FSDPModule, "set_reduce_scatter_unused_params")
    with pytest.raises(ConfigError, match=r"needs torch 2\.13 or newer, and this is .*pip install -U torch"):
        check_sharded(config(folder, "gpt", 2, parallel="fsdp"), 2)
