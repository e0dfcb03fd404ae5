"""`train.track`: the records that TensorBoard and wandb receive, with stand-ins for both; no network."""

import json
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from labelled_reviews import tree, write
from sentimodels.cli.app import build
from sentimodels.config import RunConfig
from sentimodels.errors import ConfigError, TrainingError
from sentimodels.runs.execute import Callbacks, resume, train
from sentimodels.runs.families import resolve
from sentimodels.runs.verify import verify

Told = list[tuple[int, dict[str, float]]]


class FakeWriter:
    """Stands where torch's `SummaryWriter` does."""

    made: list["FakeWriter"]

    def __init__(self, log_dir: str, purge_step: int | None) -> None:
        Path(log_dir).mkdir(parents=True, exist_ok=True)
        self.log_dir, self.purge_step = Path(log_dir), purge_step
        self.texts: dict[str, str] = {}
        self.scalars: dict[int, dict[str, float]] = {}
        self.closed = 0
        self.made.append(self)

    def add_text(self, tag: str, text: str, global_step: int) -> None:
        self.texts[tag] = text

    def add_scalar(self, tag: str, value: float, global_step: int) -> None:
        self.scalars.setdefault(global_step, {})[tag] = value

    def close(self) -> None:
        self.closed += 1


class FakeRun:
    """Stands where wandb's `Run` does."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.given = given
        self.id = given["id"] or "fresh-id"
        self.told: Told = []
        self.ended: list[int] = []

    def log(self, data: Mapping[str, float], step: int) -> None:
        self.told.append((step, dict(data)))

    def finish(self, exit_code: int) -> None:
        self.ended.append(exit_code)


class FakeError(Exception):
    """Stands where `wandb.Error` does."""


@pytest.fixture
def writers(monkeypatch: pytest.MonkeyPatch) -> list[FakeWriter]:
    module: Any = ModuleType("torch.utils.tensorboard")
    module.SummaryWriter = FakeWriter
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", module)
    monkeypatch.setattr(FakeWriter, "made", [], raising=False)
    return FakeWriter.made


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[FakeRun]:
    made: list[FakeRun] = []

    def init(**given: Any) -> FakeRun:
        made.append(FakeRun(given))
        return made[-1]

    module: Any = ModuleType("wandb")
    module.init = init
    module.Error = FakeError
    monkeypatch.setitem(sys.modules, "wandb", module)
    monkeypatch.delenv("WANDB_NAME", raising=False)
    return made


@pytest.fixture(scope="module")
def reviews(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("data") / "reviews.csv", 120)


def config_of(reviews: Path, track: str, arch: str = "cnn", **more: Any) -> RunConfig:
    steps: dict[str, Any] = {} if arch == "tfidf" else {"epochs": 2, "log_every": 3}
    return resolve(tree(arch, reviews, train={"threads": 1, "track": track, **steps}, **more))


def lines_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text("utf-8").splitlines()]


def assert_told(told: Told, lines: list[dict[str, Any]]) -> None:
    """Each line of `metrics.jsonl` under the names that are shown."""
    assert [step for step, _ in told] == [line["step"] for line in lines]
    for (_, values), line in zip(told, lines, strict=True):
        assert values["train/epoch"] == line["epoch"]
        if "loss" in line:
            fields = ("loss", "lr", "grad_norm", "tokens_per_second")
            assert [values[f"train/{field}"] for field in fields] == [line[field] for field in fields]
        else:
            assert {name: values[f"valid/{name}"] for name in ("loss", "accuracy", "macro_f1")} == {
                name: line[f"val_{name}"] for name in ("loss", "accuracy", "macro_f1")
            }
    assert {"loss", "val_loss"} <= {key for line in lines for key in line}


def test_tensorboard_is_told(reviews: Path, writers: list[FakeWriter], tmp_path: Path) -> None:
    config = config_of(reviews, "tensorboard")
    train(config, tmp_path / "run", baseline=False)
    (writer,) = writers
    assert writer.log_dir == tmp_path / "run" / "tensorboard"
    assert (writer.purge_step, writer.closed) == (None, 1)
    for setting in ("    [optim]", "    lr = 0.01", '    track = "tensorboard"', "    lowercase = true"):
        assert f"{setting}\n" in writer.texts["config"], "the resolved one"
    by_step: dict[int, dict[str, float]] = {}
    lines = lines_of(tmp_path / "run")
    for line in lines:
        by_step.setdefault(line["step"], {}).update(line)
    assert writer.scalars.keys() == by_step.keys()
    for step, line in by_step.items():
        shown = writer.scalars[step]
        for tag, field in (("train/loss", "loss"), ("train/lr", "lr"), ("valid/macro_f1", "val_macro_f1")):
            assert shown.get(tag) == line.get(field)
        assert ("train/tokens_per_second" in shown) == ("loss" in line)
    assert verify(tmp_path / "run") == []


def test_wandb_is_told(reviews: Path, runs: list[FakeRun], tmp_path: Path) -> None:
    config = config_of(reviews, "wandb")
    seen: list[dict[str, Any]] = []
    train(config, tmp_path / "run", baseline=False, callbacks=Callbacks(on_record=seen.append))
    (run,) = runs
    # No mode, project, entity or folder: those are the user's own.
    assert run.given.keys() == {"config", "name", "id", "resume"}
    assert (run.given["id"], run.given["resume"]) == (None, None)
    assert run.given["name"] == (tmp_path / "run").as_posix()
    assert run.given["config"]["data"]["lowercase"] is True
    assert run.given["config"]["optim"]["lr"] == 0.01
    assert run.ended == [0]
    assert_told(run.told, lines_of(tmp_path / "run"))
    assert len(seen) == len(run.told), "who else listens still hears"
    assert verify(tmp_path / "run") == []


def test_tracking_changes_no_weight(
    reviews: Path, runs: list[FakeRun], writers: list[FakeWriter], tmp_path: Path
) -> None:
    found = []
    for track in ("none", "tensorboard", "wandb"):
        train(config_of(reviews, track), tmp_path / track, baseline=False)
        found.append((tmp_path / track / "model.safetensors").read_bytes())
    assert found[0] == found[1] == found[2]
    assert (len(writers), len(runs)) == (1, 1)


def test_a_resumed_run_goes_on(
    reviews: Path, runs: list[FakeRun], writers: list[FakeWriter], tmp_path: Path
) -> None:
    for track in ("wandb", "tensorboard"):
        at_the_fourth = partial(lambda asked: next(asked) >= 4, iter(range(1, 100)))
        folder = tmp_path / track
        train(
            config_of(reviews, track), folder, baseline=False, callbacks=Callbacks(should_stop=at_the_fourth)
        )
        resume(folder, baseline=False)
    assert [(run.given["id"], run.given["resume"]) for run in runs] == [
        (None, None),
        ("fresh-id", "allow"),
    ]
    first, second = writers
    assert (first.purge_step, second.purge_step) == (None, min(second.scalars))
    assert min(second.scalars) > 4


def test_what_learns_by_itself_is_told_once(reviews: Path, runs: list[FakeRun], tmp_path: Path) -> None:
    about = train(config_of(reviews, "wandb", "tfidf"), tmp_path / "run", baseline=False)
    ((step, values),) = runs[0].told
    assert step == 0
    assert values["valid/accuracy"] == pytest.approx(about["valid"]["accuracy"])


def test_a_failed_run_is_ended_as_failed(reviews: Path, runs: list[FakeRun], tmp_path: Path) -> None:
    config = config_of(reviews, "wandb", optim={"name": "sgd", "lr": 1e30, "clip": 0.0, "warmup": 0.0})
    with pytest.raises(TrainingError, match="the loss is"):
        train(config, tmp_path / "run")
    assert runs[0].ended == [1]


def test_a_name_of_the_users_own_stays(
    reviews: Path, runs: list[FakeRun], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANDB_NAME", "mine")
    train(config_of(reviews, "wandb", "tfidf"), tmp_path / "run", baseline=False)
    assert runs[0].given["name"] is None


# (tracker, its import, the replacement of the import)
MISSING = [
    ("tensorboard", "tensorboard", None),
    ("wandb", "wandb", None),
    ("wandb", "wandb", ModuleType("wandb")),  # a folder of that name
]


@pytest.mark.parametrize(("track", "module", "instead"), MISSING)
def test_a_missing_tracker_names_the_extra_and_leaves_no_run(
    track: str,
    module: str,
    instead: ModuleType | None,
    reviews: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, module, instead)  # None: cannot be imported
    monkeypatch.delitem(sys.modules, "torch.utils.tensorboard", raising=False)
    message = rf"train\.track '{track}': {module} cannot be imported.*pip install \"sentitok\[track\]\""
    with pytest.raises(ConfigError, match=message):
        train(config_of(reviews, track), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_an_account_that_is_not_set_up_leaves_no_run(
    reviews: Path, runs: list[FakeRun], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def init(**_: Any) -> None:
        raise FakeError("No key.")

    monkeypatch.setattr(sys.modules["wandb"], "init", init)
    with pytest.raises(ConfigError, match=r"'wandb': No key; or set WANDB_MODE=offline"):
        train(config_of(reviews, "wandb"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_an_unknown_tracker_is_named() -> None:
    with pytest.raises(ConfigError, match=r"train\.track: .*'tensorboard' or 'wandb', not 'mlflow'"):
        resolve({"arch": "lstm", "train": {"track": "mlflow"}})


def test_the_option(reviews: Path, runs: list[FakeRun], tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as done:
        build()(
            ["train", str(reviews), "--arch", "tfidf", "--track", "wandb", "-q", "-o", str(tmp_path / "run")]
        )
    assert not done.value.code
    assert runs[0].ended == [0]


def test_tensorboard_reads_what_was_written(reviews: Path, tmp_path: Path) -> None:
    """The real one, where it is installed."""
    name = "tensorboard.backend.event_processing.event_accumulator"
    accumulators: Any = pytest.importorskip(name, reason="tensorboard is not installed")
    train(config_of(reviews, "tensorboard"), tmp_path / "run", baseline=False)
    events = accumulators.EventAccumulator(str(tmp_path / "run" / "tensorboard")).Reload()
    lines: list[Any] = [SimpleNamespace(**line) for line in lines_of(tmp_path / "run")]
    for tag, field in (("train/loss", "loss"), ("valid/accuracy", "val_accuracy")):
        found = [(event.step, event.value) for event in events.Scalars(tag)]
        expected = [(line.step, getattr(line, field)) for line in lines if hasattr(line, field)]
        assert found == [(step, pytest.approx(value, rel=1e-6)) for step, value in expected]
    assert "config/text_summary" in events.Tags()["tensors"]
