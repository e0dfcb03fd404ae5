"""A run of a classifier that was stopped, interrupted or broken off ends with the bytes of a whole one.

`test_training.py` tests how the state is written, `test_pretrain.py` language models.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from labelled_reviews import tree, write
from sentimodels import Classifier
from sentimodels.errors import CheckpointError
from sentimodels.runs.directory import load_run
from sentimodels.runs.execute import Callbacks, resume, train
from sentimodels.runs.families import resolve
from sentimodels.runs.verify import verify


@pytest.mark.parametrize("at", [3, 20])
def test_a_stopped_run_is_usable_and_resumes_to_the_same_weights(
    at: int, reviews: Path, trained: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    asked = iter(range(1, 10_000))
    about = train(
        resolve(tree("lstm", reviews)), folder, callbacks=Callbacks(should_stop=lambda: next(asked) >= at)
    )
    assert about["fit"]["stop"] == "stopped"
    assert verify(folder) == []
    assert len(Classifier.load(folder).predict(["good film", "bad film"])) == 2
    about = resume(folder)
    assert about["fit"]["stop"] == "epochs"
    assert (folder / "model.safetensors").read_bytes() == (trained / "model.safetensors").read_bytes()
    with pytest.raises(CheckpointError, match="has finished"):
        resume(folder)


@pytest.mark.parametrize("arch", ["tfidf", "nb", "bow"])
def test_what_was_interrupted_while_it_learned_by_itself_starts_again(
    arch: str, reviews: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, whole, folder = resolve(tree(arch, reviews)), tmp_path / "whole", tmp_path / "run"
    train(config, whole, baseline=False)
    kind = type(load_run(whole).module)
    with monkeypatch.context() as patched:
        patched.setattr(kind, "fit", interrupted)
        with pytest.raises(KeyboardInterrupt):
            train(config, folder, baseline=False)
    assert not (folder / "model.safetensors").exists()
    # Once more, while the weights are there and the manifest is not.
    with monkeypatch.context() as patched:
        patched.setattr("sentimodels.runs.directory.git_state", interrupted)
        with pytest.raises(KeyboardInterrupt):
            resume(folder, baseline=False)
    notes: list[str] = []
    resume(folder, baseline=False, callbacks=Callbacks(on_warning=notes.append))
    assert any("it begins again" in note for note in notes)
    assert (folder / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()
    assert verify(folder) == []


def interrupted(*_: Any) -> None:
    raise KeyboardInterrupt


def test_a_run_that_died_before_its_first_state_has_each_step_once(reviews: Path, tmp_path: Path) -> None:
    config = resolve(
        tree("cnn", reviews, train={"epochs": 1, "log_every": 5, "evaluate_every": 1000, "patience": 0})
    )

    def die(record: dict[str, Any]) -> None:
        if record["step"] == 10:
            raise MemoryError

    with pytest.raises(MemoryError):
        train(config, tmp_path / "run", baseline=False, callbacks=Callbacks(on_record=die))
    resume(tmp_path / "run", baseline=False)
    lines = (tmp_path / "run" / "metrics.jsonl").read_text("utf-8").splitlines()
    steps = [record["step"] for record in map(json.loads, lines) if "loss" in record]
    assert steps == sorted(set(steps))
    assert steps[:2] == [5, 10]


def test_a_run_whose_scoring_was_broken_off_goes_on_with_it(
    reviews: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken_off(*_: Any) -> None:
        raise KeyboardInterrupt

    # Out of patience: a resumed run must not take one more epoch either.
    config = resolve(tree("cnn", reviews, train={"epochs": 30, "evaluate_every": 5, "patience": 1}))
    whole = train(config, tmp_path / "whole")
    assert whole["fit"]["stop"] == "patience"
    with monkeypatch.context() as patch:
        patch.setattr("sentimodels.evaluation.one_label.OneLabel.fit_temperature", broken_off)
        with pytest.raises(KeyboardInterrupt):
            train(config, tmp_path / "run")
    about = resume(tmp_path / "run")
    assert [about[key] for key in ("valid", "temperature", "crossed")] == [
        whole[key] for key in ("valid", "temperature", "crossed")
    ]
    assert verify(tmp_path / "run") == []
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "run")]
    assert weights[0] == weights[1]
    with pytest.raises(CheckpointError, match="has finished; nothing to resume"):
        resume(tmp_path / "run")


def test_a_run_resumes_from_any_folder(
    reviews: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though its files were named relative to where it began."""
    monkeypatch.chdir(reviews.parent)
    train(
        resolve(tree("cnn", Path(reviews.name))),
        tmp_path / "run",
        callbacks=Callbacks(should_stop=lambda: True),
        baseline=False,
    )
    monkeypatch.chdir(tmp_path)
    assert resume(Path("run"), baseline=False)["fit"]["stop"] == "epochs"


def test_resuming_on_other_data_is_refused(reviews: Path, tmp_path: Path) -> None:
    data = Path(shutil.copy(reviews, tmp_path / "reviews.csv"))
    train(resolve(tree("lstm", data)), tmp_path / "run", callbacks=Callbacks(should_stop=lambda: True))
    write(data, 280, seed=9)
    with pytest.raises(CheckpointError, match="has changed since the run began"):
        resume(tmp_path / "run")
