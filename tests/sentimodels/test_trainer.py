"""The loop: exact resume, early stop, accumulation, what stops it, and every option once."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from labelled_reviews import rows, tree
from sampled_cases import sample
from sentimodels.config import ClassificationConfig, RunConfig
from sentimodels.data.encoded import Encoded, batches
from sentimodels.errors import CheckpointError, ConfigError, TrainingError
from sentimodels.evaluation.predictions import text_logits
from sentimodels.models import build
from sentimodels.runs.families import resolve
from sentimodels.tasks.classification import Classification
from sentimodels.text.encoder import TextEncoder, encoder_for
from sentimodels.training.device import device_of
from sentimodels.training.history import Fit
from sentimodels.training.optimizer import Optimizers
from sentimodels.training.trainer import Record, Trainer

N_TRAIN = 160
# What differs from run to run in the records.
TIMES = ("seconds", "tokens_per_second")


@pytest.fixture(scope="module")
def encoder() -> TextEncoder:
    return encoder_for(config_of("lstm"), [text for text, _ in rows(N_TRAIN)])


def config_of(arch: str, **more: dict[str, Any]) -> RunConfig:
    return resolve(tree(arch, Path("reviews.csv"), **more))


def parts(encoder: TextEncoder) -> tuple[Encoded, Any, Encoded, Any]:
    train, valid = rows(N_TRAIN), rows(60, seed=2)
    labels = [np.array([label == "pos" for _, label in some], dtype=np.int64) for some in (train, valid)]
    first, second = (encoder.encode([text for text, _ in some]) for some in (train, valid))
    return first, labels[0], second, labels[1]


def run(
    config: RunConfig,
    encoder: TextEncoder,
    *,
    folder: Path | None = None,
    resume: bool = False,
    stop: Callable[[], bool] | None = None,
    records: list[Record] | None = None,
    validate: bool = True,
) -> tuple[nn.Module, Fit]:
    torch.manual_seed(0)
    train, labels, valid, valid_labels = parts(encoder)
    module = build(config.arch, config.model, encoder.inputs(2))
    trainer = Trainer(
        config.optim,
        config.train,
        on_record=None if records is None else records.append,
        should_stop=stop,
    )
    held_out = (valid, valid_labels) if validate else ()
    fit = trainer.fit(module, task_of(config, train, labels, *held_out), folder=folder, resume=resume)
    return module, fit


def task_of(config: RunConfig, *material: Any) -> Classification:
    assert isinstance(config.task, ClassificationConfig)
    return Classification(config.task, config.train, *material, n_classes=2)


def after(n: int) -> Callable[[], bool]:
    """Says stop when it is asked for the n-th time."""
    asked = iter(range(1, 1_000_000))
    return lambda: next(asked) >= n


def assert_equal(first: nn.Module, second: nn.Module) -> None:
    for name, value in first.state_dict().items():
        assert torch.equal(value, second.state_dict()[name]), name


# (architecture, options): every kind of state that a run may have.
RESUMED: list[tuple[str, dict[str, dict[str, Any]]]] = [
    ("lstm", {}),
    ("gpt", {"optim": {"name": "muon", "lr": 0.003}}),
    ("cnn", {"optim": {"sparse_embeddings": False, "lr": 0.01}, "train": {"ema": 0.0}}),
    ("encoder", {"optim": {"name": "sgd", "lr": 0.1}, "train": {"accumulate": 2}}),
    ("mamba", {"train": {"evaluate_every": 3}, "task": {"sampler": "balanced"}}),
    ("lstm", {"task": {"mixup": 0.3, "r_drop": 0.5, "label_smoothing": 0.1}}),
]


# Where it stops: by default at each of the steps once or more, not each run at each of them.
STOPS = [
    pytest.param(*resumed, at, id=f"{resumed[0]}-{number}-{at}", marks=() if here else pytest.mark.slow)
    for number, resumed in enumerate(RESUMED)
    for place, at in enumerate((1, 7, 11))
    for here in (number == 0 or place == number % 3,)
]


@pytest.mark.parametrize(("arch", "options", "at"), STOPS)
def test_a_stopped_run_ends_as_if_it_had_not_been(
    arch: str, options: dict[str, dict[str, Any]], at: int, encoder: TextEncoder, tmp_path: Path
) -> None:
    config = config_of(arch, **options)
    whole_folder, folder = tmp_path / "whole", tmp_path / "parts"
    whole_folder.mkdir()
    folder.mkdir()
    whole, whole_fit = run(config, encoder, folder=whole_folder)
    _, first = run(config, encoder, folder=folder, stop=after(at))
    assert (first.stop, first.steps) == ("stopped", at)
    torch.manual_seed(99)  # what happens between does not matter
    resumed, fit = run(config, encoder, folder=folder, resume=True)
    assert_equal(whole, resumed)
    assert (fit.steps, fit.best_step, fit.best) == (whole_fit.steps, whole_fit.best_step, whole_fit.best)
    assert fit.tokens == whole_fit.tokens
    kept = [
        [{k: v for k, v in json.loads(line).items() if k not in TIMES} for line in f.read_text().splitlines()]
        for f in (whole_folder / "metrics.jsonl", folder / "metrics.jsonl")
    ]
    # A stop evaluates what it leaves; the steps of the loop are the same.
    assert [r for r in kept[1] if r in kept[0]] == kept[0]
    # Work on the final weights may be interrupted: the state at the end has them, with no step left.
    torch.manual_seed(99)
    again, fit = run(config, encoder, folder=folder, resume=True, stop=after(1))
    assert_equal(whole, again)
    assert (fit.stop, fit.steps, fit.best_step) == (whole_fit.stop, whole_fit.steps, whole_fit.best_step)


def test_a_run_can_be_stopped_twice(encoder: TextEncoder, tmp_path: Path) -> None:
    config = config_of("gpt")
    whole, _ = run(config, encoder)
    run(config, encoder, folder=tmp_path, stop=after(3))
    run(config, encoder, folder=tmp_path, stop=after(10), resume=True)
    resumed, _ = run(config, encoder, folder=tmp_path, resume=True)
    assert_equal(whole, resumed)


def test_there_must_be_something_to_resume(encoder: TextEncoder, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no state to resume from"):
        run(config_of("lstm"), encoder, folder=tmp_path, resume=True)
    (tmp_path / "state.safetensors").write_bytes(b"\x10\0\0\0\0\0\0\0{}")
    with pytest.raises(CheckpointError, match="unreadable state"):
        run(config_of("lstm"), encoder, folder=tmp_path, resume=True)


def test_same_seed_same_weights(encoder: TextEncoder) -> None:
    first, _ = run(config_of("gpt"), encoder)
    second, _ = run(config_of("gpt"), encoder)
    assert_equal(first, second)


def test_one_accumulated_step_is_the_step_of_the_big_batch(encoder: TextEncoder) -> None:
    still = {"embedding_dropout": 0.0, "head_dropout": 0.0, "dropout": 0.0}
    train, labels, _, _ = parts(encoder)
    found = []
    for batch_size, accumulate in ((N_TRAIN, 1), (48, 4)):  # the last window has 16 rows
        config = config_of(
            "gpt",
            model=still,
            optim={"name": "sgd", "lr": 0.5, "warmup": 0.0, "clip": 0.0},
            train={"batch_size": batch_size, "accumulate": accumulate, "epochs": 1, "ema": 0.0},
            task={"mixup": 0.0},
        )
        torch.manual_seed(0)
        module = build("gpt", config.model, encoder.inputs(2))
        fit = Trainer(config.optim, config.train).fit(module, task_of(config, train, labels))
        assert fit.steps == 1
        found.append(module)
    for name, value in found[0].state_dict().items():
        torch.testing.assert_close(found[1].state_dict()[name], value, atol=1e-5, rtol=1e-4, msg=name)


def test_the_best_weights_are_kept_and_ties_keep_the_earliest(encoder: TextEncoder) -> None:
    records: list[Record] = []
    config = config_of("lstm", train={"epochs": 6, "patience": 0, "ema": 0.0})
    module, fit = run(config, encoder, records=records)
    scores = [(r["val_macro_f1"], r["step"]) for r in records if "val_macro_f1" in r]
    best = max(score for score, _ in scores)
    assert fit.best == best
    assert fit.best_step == next(step for score, step in scores if score == best)
    assert len([s for s, _ in scores if s == best]) > 1, "no tie came up: make the texts easier"
    _, _, valid, labels = parts(encoder)
    at_best = next(r for r in records if r["step"] == fit.best_step and "val_accuracy" in r)
    assert (text_logits(module, valid).argmax(1) == labels).mean() == at_best["val_accuracy"]


def test_patience(encoder: TextEncoder) -> None:
    records: list[Record] = []
    config = config_of("lstm", train={"epochs": 30, "patience": 2, "evaluate_every": 10})
    _, fit = run(config, encoder, records=records)
    assert fit.stop == "patience"
    assert fit.steps == fit.best_step + 20


def test_without_validation_the_last_weights_are_kept(encoder: TextEncoder) -> None:
    _, fit = run(config_of("lstm", train={"epochs": 2}), encoder, validate=False)
    assert (fit.stop, fit.best, fit.best_step) == ("epochs", None, fit.steps)


def test_max_steps(encoder: TextEncoder) -> None:
    records: list[Record] = []
    _, fit = run(config_of("lstm", train={"max_steps": 4}), encoder, records=records)
    assert (fit.stop, fit.steps) == ("max_steps", 4)
    assert records[0]["total_steps"] == 4
    assert records[0]["lr"] == pytest.approx(0.01 * 0.05)  # the schedule ends where the run ends


def test_a_loss_that_is_not_finite_stops(encoder: TextEncoder) -> None:
    config = config_of("lstm", optim={"name": "sgd", "lr": 1e30, "clip": 0.0, "warmup": 0.0})
    with pytest.raises(
        TrainingError, match=r"the loss is \w+ at step \d+ \(epoch 1, batch \d+\): lower optim\.lr"
    ):
        run(config, encoder)
    with pytest.raises(TrainingError, match="before any evaluation, so no weights are kept") as caught:
        run(config, encoder)
    assert caught.value.fit is None


@pytest.mark.parametrize("evaluate_every", [1, 3])
def test_the_best_weights_outlive_a_loss_that_is_not_finite(
    evaluate_every: int, encoder: TextEncoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor are weights kept whose answers are not finite."""
    records: list[Record] = []
    options = {"ema": 0.0, "evaluate_every": evaluate_every, "log_every": 1, "patience": 0}
    config = config_of("lstm", train=options)
    real = Optimizers.step

    def step(self: Optimizers) -> None:
        real(self)
        if records and records[-1]["step"] == 7:
            for group in (group for one in self.all.values() for group in one.param_groups):
                for parameter in group["params"]:
                    parameter.data.fill_(float("nan"))

    monkeypatch.setattr(Optimizers, "step", step)
    torch.manual_seed(0)
    train, labels, valid, valid_labels = parts(encoder)
    module = build(config.arch, config.model, encoder.inputs(2))
    trainer = Trainer(config.optim, config.train, on_record=records.append)
    with pytest.raises(TrainingError, match=r"the weights of step \d+ \(val_macro_f1 0\.") as caught:
        trainer.fit(module, task_of(config, train, labels, valid, valid_labels), folder=tmp_path)
    fit = caught.value.fit
    assert fit is not None
    assert (fit.stop, fit.best_step <= 7) == ("not finite", True)
    at_best = next(r for r in records if r["step"] == fit.best_step and "val_accuracy" in r)
    assert (text_logits(module, valid).argmax(1) == valid_labels).mean() == at_best["val_accuracy"]


def test_records_have_the_fields_of_metrics(encoder: TextEncoder, tmp_path: Path) -> None:
    run(config_of("lstm", train={"log_every": 5}), encoder, folder=tmp_path)
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    steps = [line for line in lines if "loss" in line]
    evaluations = [line for line in lines if "val_loss" in line]
    assert set(steps[0]) == {
        "step", "epoch", "loss", "lr", "grad_norm", "tokens_per_second", "seconds", "tokens",
    }  # fmt: skip
    assert set(evaluations[0]) == {
        "step", "epoch", "val_loss", "val_accuracy", "val_macro_f1", "monitor", "seconds", "tokens",
    }  # fmt: skip
    assert {line["monitor"] for line in evaluations} == {"val_macro_f1"}
    assert all(line["grad_norm"] > 0 for line in steps)
    assert steps[1]["tokens_per_second"] > 0
    assert [line["step"] for line in steps] == [5, 10, 15, 20, 25, 30]
    assert [line["epoch"] for line in evaluations] == [1.0, 2.0, 3.0]
    assert 0 < steps[0]["loss"] < 5


def test_frozen_parameters_move_from_their_step_on(encoder: TextEncoder) -> None:
    for until, moves in ((None, False), (4, True)):
        config = config_of(
            "lstm",
            optim={"freeze": ["backbone"], "unfreeze_at": until, "lr": 0.01},
            train={"max_steps": 8},
        )
        torch.manual_seed(0)
        start = build("lstm", config.model, encoder.inputs(2)).state_dict()
        module, _ = run(config, encoder)
        for name, value in module.state_dict().items():
            same = torch.equal(value, start[name])
            assert same == (not moves and not name.startswith("head.")), name
    with pytest.raises(ConfigError, match=r"optim\.freeze 'emebdding': no parameter begins so"):
        run(config_of("lstm", optim={"freeze": ["emebdding"]}), encoder)


@pytest.mark.parametrize("until", [None, 4])
def test_something_must_learn(until: int | None, encoder: TextEncoder) -> None:
    for freeze in ([""], ["backbone", "head", ""]):
        with pytest.raises(ConfigError, match=r"optim\.freeze .*covers every parameter"):
            run(config_of("lstm", optim={"freeze": freeze, "unfreeze_at": until}), encoder)


def test_frozen_and_tuned_channels_are_named_right(encoder: TextEncoder) -> None:
    """One moves and one does not."""
    config = config_of("cnn", model={"channels": "both"}, train={"max_steps": 5})
    torch.manual_seed(0)
    inputs = encoder.inputs(2, torch.randn(encoder.vocab_size, 16))
    module = build("cnn", config.model, inputs)
    before = {name: value.clone() for name, value in module.state_dict().items()}
    train, labels, _, _ = parts(encoder)
    Trainer(config.optim, config.train).fit(module, task_of(config, train, labels))
    now = module.state_dict()
    assert torch.equal(now["backbone.static.vectors"], before["backbone.static.vectors"])
    assert not torch.equal(now["backbone.embedding.weight"], before["backbone.embedding.weight"])


@pytest.mark.parametrize(
    "options",
    sample(5, [
        {"label_smoothing": 0.1},
        {"focal_gamma": 2.0, "focal_alpha": 0.25},
        {"class_weights": "balanced"},
        {"class_weights": [1.0, 2.0]},
        {"sampler": "balanced"},
        {"r_drop": 1.0},
        {"mixup": 0.2},
        {"ema": 0.9},
        {"precision": "bfloat16"},
    ]),
    ids=lambda options: next(iter(options)),
)  # fmt: skip
def test_every_option_learns(options: dict[str, Any], encoder: TextEncoder) -> None:
    sections = {"train": {"epochs": 5}, "task": {}}
    for key, value in options.items():
        sections["task" if key in ClassificationConfig.model_fields else "train"][key] = value
    _, fit = run(config_of("gpt", **sections), encoder)
    assert fit.best is not None
    assert fit.best > 0.9


@pytest.mark.slow  # minutes of compiling
@pytest.mark.filterwarnings("default")  # the compiler's own
def test_a_compiled_model_learns(encoder: TextEncoder) -> None:
    _, fit = run(config_of("cnn", train={"epochs": 5, "compile": True}), encoder)
    assert fit.best is not None
    assert fit.best > 0.9


def test_options_that_cannot_be() -> None:
    config = config_of("bow", train={"epochs": 1}, task={"mixup": 0.5})
    bag = encoder_for(config, [text for text, _ in rows(N_TRAIN)])
    with pytest.raises(ConfigError, match=r"task\.mixup mixes token embeddings"):
        run(config, bag)


def test_class_weights_must_fit_the_classes(encoder: TextEncoder) -> None:
    with pytest.raises(ConfigError, match="3 weights for 2 classes"):
        run(config_of("lstm", task={"class_weights": [1.0, 1.0, 1.0]}), encoder)


def test_an_unknown_device_is_named(encoder: TextEncoder) -> None:
    with pytest.raises(ConfigError, match=r"device 'gpux': .*; auto takes a GPU with CUDA, else the CPU"):
        run(config_of("lstm", train={"device": "gpux"}), encoder)


def test_auto_takes_no_device_that_nothing_was_tried_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert device_of("auto") == torch.device("cpu")


def test_logits_do_not_depend_on_the_batches(encoder: TextEncoder) -> None:
    module, _ = run(config_of("lstm", train={"epochs": 1}), encoder)
    _, _, valid, _ = parts(encoder)
    together = text_logits(module, valid)
    np.testing.assert_allclose(text_logits(module, valid, max_tokens=20), together, atol=1e-5)


def test_windows_of_a_text_are_averaged(encoder: TextEncoder) -> None:
    module, _ = run(config_of("lstm", train={"epochs": 1}), encoder)
    cut = replace(encoder, data=config_of("lstm", data={"max_tokens": 6, "long": "windows"}).data)
    texts = [" ".join(["good film"] * 7), "bad"]
    encoded = cut.encode(texts)
    assert len(encoded) > 2
    found = text_logits(module, encoded)
    alone = []
    with torch.inference_mode():
        for batch in batches(encoded, batch_size=1):
            if encoded.text_of_row[batch.index[0]] == 0:
                alone.append(module(**batch.inputs())[0].numpy())
    np.testing.assert_allclose(found[0], np.mean(alone, axis=0), atol=1e-5)


def test_what_is_unfrozen_must_be_frozen() -> None:
    with pytest.raises(ConfigError, match=r"unfreeze_at 3: nothing is frozen; say what, as with --freeze"):
        config_of("lstm", optim={"unfreeze_at": 3})
