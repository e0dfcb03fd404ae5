"""`train.init_from`: the parts that a model takes over from a run or a file, and messages on the rest."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from labelled_reviews import tree, write
from sentimodels.config import RunConfig
from sentimodels.errors import CheckpointError, ConfigError
from sentimodels.runs.directory import load_run
from sentimodels.runs.execute import Callbacks, recipe_of, resume, train
from sentimodels.runs.families import resolve
from sentimodels.runs.init_weights import inherit_config
from sentimodels.runs.plan import plan
from sentimodels.runs.pretrained import tensor_names


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of reviews and a run on it; another file of other texts with three labels."""
    path = tmp_path_factory.mktemp("start")
    train(
        resolve(tree("cnn", write(path / "reviews.csv", 120), train={"epochs": 1})),
        path / "base",
        baseline=False,
    )
    lines = (path / "reviews.csv").read_text("utf-8").splitlines()
    more = [line.replace("film", "play").replace(",pos", ",mixed") for line in lines[1:40]]
    (path / "three.csv").write_text("\n".join([*lines, *more]) + "\n", "utf-8")
    return path


def config_of(folder: Path, start: Path, file: str = "reviews.csv", **more: Any) -> RunConfig:
    """One that moves nothing but the head, so that what it began with can be seen."""
    options = {"epochs": 1, "ema": 0.0, "init_from": str(start), **more}
    optim = {"freeze": ["backbone.embedding", "backbone.convolutions"]}
    return resolve(tree("cnn", folder / file, train=options, optim=optim))


def weights(run: Path) -> dict[str, torch.Tensor]:
    return load_file(run / "model.safetensors")


def test_a_run_is_where_another_starts(folder: Path, tmp_path: Path) -> None:
    notes: list[str] = []
    train(
        config_of(folder, folder / "base"),
        tmp_path / "run",
        baseline=False,
        callbacks=Callbacks(on_warning=notes.append),
    )
    base, found = weights(folder / "base"), weights(tmp_path / "run")
    same = {name for name, value in base.items() if torch.equal(found[name], value)}
    assert same == {name for name in base if not name.startswith("head.")}
    assert any(f"{len(base)} of {len(base)} tensors are where the model starts" in note for note in notes)
    assert not any("not used" in note or "start fresh" in note for note in notes)
    assert load_run(tmp_path / "run").config.train.init_from == str((folder / "base").absolute())


def test_the_plan_counts_the_vocabulary_of_the_base(folder: Path, tmp_path: Path) -> None:
    config = config_of(folder, folder / "base", "three.csv", max_steps=1)
    planned = plan(recipe_of(config))
    about = train(config, tmp_path / "run", baseline=False)
    assert planned["parameters"] == about["parameters"]


def test_other_labels_leave_the_head_and_keep_the_vocabulary(folder: Path, tmp_path: Path) -> None:
    notes: list[str] = []
    config = config_of(folder, folder / "base", "three.csv")
    train(config, tmp_path / "run", baseline=False, callbacks=Callbacks(on_warning=notes.append))
    base, found = weights(folder / "base"), weights(tmp_path / "run")
    assert torch.equal(found["backbone.embedding.weight"], base["backbone.embedding.weight"])
    (unused,) = [note for note in notes if "not used" in note]
    assert "[2, " in unused
    assert "expected [3, " in unused
    assert any("start fresh: head." in note for note in notes)


def small(folder: Path, start: Path, file: str = "three.csv", **sections: Any) -> dict[str, Any]:
    """A run that names neither architecture nor size, with hardly any steps."""
    train = {"epochs": 1, "threads": 1, "max_steps": 1, "init_from": str(start)}
    return {"data": {"train": str(folder / file)}, "train": train, **sections}


def test_the_size_of_a_classifier_is_taken_over(folder: Path, tmp_path: Path) -> None:
    notes: list[str] = []
    given = small(folder, folder / "base", optim={"lr": 1e-12})
    train(
        resolve(*inherit_config(given)),
        tmp_path / "run",
        baseline=False,
        callbacks=Callbacks(on_warning=notes.append),
    )
    base, run = load_run(folder / "base"), load_run(tmp_path / "run")
    assert run.config.arch == "cnn"
    assert run.config.model == base.config.model
    assert run.config.data.max_tokens == base.config.data.max_tokens
    before = base.module.state_dict()
    body = {name: value for name, value in run.module.state_dict().items() if name.startswith("backbone.")}
    assert all(torch.allclose(value, before[name], atol=1e-6) for name, value in body.items())
    assert any(f"{len(body)} of {len(before)} tensors are where the model starts" in note for note in notes)
    # Given settings have priority, as far as the weights allow it.
    wider = inherit_config(given, {"model": {"word_dropout": 0.4}, "data": {"max_tokens": 50}})
    assert (resolve(*wider).model.plain()["word_dropout"], resolve(*wider).data.max_tokens) == (0.4, 50)


OTHER_SIZE = [
    (
        "another width",
        {"model": {"d_model": 20}},
        r"convolutions\.0\.weight is \[8, 16, 2\], expected \[8, 20, 2\]",
    ),
    (
        "another width",
        {"model": {"d_model": 20}},
        r"here model\.d_model 20 \(there 16\): leave out what says oth",
    ),
    (
        "a size by name",
        {"preset": "small"},
        r"has a custom size, and its weights fit no other; leave out",
    ),
    (
        "another architecture",
        {"arch": "gru"},
        r"that run is a cnn, this one a gru: take --arch cnn, or leave out --init",
    ),
]


@pytest.mark.parametrize(("_", "given", "message"), OTHER_SIZE)
def test_a_part_of_another_size_is_refused(
    _: str, given: dict[str, Any], message: str, folder: Path, tmp_path: Path
) -> None:
    """A head whose bias fits by chance is not a start, nor is half a backbone."""
    given = small(folder, folder / "base", "reviews.csv", **given)
    with pytest.raises(ConfigError, match=message):
        train(resolve(*inherit_config(given)), tmp_path / "run", baseline=False)
    assert not (tmp_path / "run").exists()


def test_tensors_of_a_file_have_the_shape_that_is_wanted(folder: Path, tmp_path: Path) -> None:
    base = weights(folder / "base")
    name = "backbone.convolutions.0.weight"
    save_file({**base, name: base[name][:-1].contiguous()}, tmp_path / "weights.safetensors")
    with pytest.raises(
        ConfigError, match=rf"{name} is \[7, .*\], expected \[8, .*: give the model that size"
    ):
        train(config_of(folder, tmp_path / "weights.safetensors"), tmp_path / "run", baseline=False)


def test_a_few_names_in_common_are_no_start(folder: Path, tmp_path: Path) -> None:
    base = weights(folder / "base")
    kept = "backbone.convolutions.0.weight"
    other = {f"backbone.mixers.{n}.weight": torch.ones(2, 2) for n in range(30)}
    save_file({**other, kept: base[kept]}, tmp_path / "other.safetensors")
    said = r"only 1 of its 31 tensors fit; one that does not is backbone\.mixers\.0\.weight"
    with pytest.raises(ConfigError, match=said):
        train(config_of(folder, tmp_path / "other.safetensors"), tmp_path / "run", baseline=False)
    assert not (tmp_path / "run").exists()
    # All that a file has may be a part of a model.
    save_file({kept: base[kept]}, tmp_path / "part.safetensors")
    notes: list[str] = []
    train(
        config_of(folder, tmp_path / "part.safetensors"),
        tmp_path / "run",
        baseline=False,
        callbacks=Callbacks(on_warning=notes.append),
    )
    assert any("1 of 1 tensors are where the model starts" in note for note in notes)


def test_a_place_before_the_text_is_named_where_the_base_has_none(folder: Path, tmp_path: Path) -> None:
    model = {"positions": "learned", "pooling": "mean"}
    base = tree("bert", folder / "reviews.csv", model=model, train={"epochs": 1, "max_steps": 1})
    train(resolve(base), tmp_path / "base", baseline=False)
    given = small(folder, tmp_path / "base", "reviews.csv", model={"pooling": "cls"})
    with pytest.raises(ConfigError, match=r'here model\.pooling "cls" only here, an extra position before'):
        train(resolve(*inherit_config(given)), tmp_path / "run", baseline=False)


def test_weights_that_a_model_computes_are_not_taken_over(folder: Path, tmp_path: Path) -> None:
    train(resolve(tree("tfidf", folder / "three.csv")), tmp_path / "base", baseline=False)
    notes: list[str] = []
    given = small(folder, tmp_path / "base", "reviews.csv")
    train(
        resolve(*inherit_config(given)),
        tmp_path / "run",
        baseline=False,
        callbacks=Callbacks(on_warning=notes.append),
    )
    (note,) = (note for note in notes if note.startswith(str(tmp_path / "base")))
    assert note.endswith(": none of its weights are used: tfidf computes its own from the texts")
    base, run = (load_run(tmp_path / name).encoder.fingerprint for name in ("base", "run"))
    assert base == run


def test_all_tensors_are_named() -> None:
    names = [f"blocks.{n}.{part}.weight" for n in (0, 1, 2, 3, 7) for part in ("norm", "attn")]
    assert tensor_names(["head.bias", *names]) == (
        "head.bias, blocks.0-3,7.norm.weight, blocks.0-3,7.attn.weight"
    )
    assert tensor_names(["a.1.b ([2], expected [3])", "a.2.b ([2], expected [3])", "a.3.b (other)"]) == (
        "a.1-2.b ([2], expected [3]), a.3.b (other)"
    )
    many = [f"tensor_{n}" for n in range(40)]
    assert tensor_names(many) == ", ".join(many)


def test_names_are_mapped_and_the_longest_beginning_counts(folder: Path, tmp_path: Path) -> None:
    base = weights(folder / "base")
    renamed = {f"model.{name}".replace("model.head.", "model.lm."): value for name, value in base.items()}
    save_file({**renamed, "extra": torch.ones(1)}, tmp_path / "weights.safetensors")
    notes: list[str] = []
    config = config_of(
        folder, tmp_path / "weights.safetensors", init_map={"model.": "", "model.lm.": "head."}
    )
    train(config, tmp_path / "run", baseline=False, callbacks=Callbacks(on_warning=notes.append))
    found = weights(tmp_path / "run")
    moved = [name for name in base if name.startswith("backbone.convolutions.")]
    assert moved
    assert all(torch.equal(found[name], base[name]) for name in moved)
    (unused,) = [note for note in notes if "not used" in note]
    # A file does not say whose ids its rows are for.
    assert "extra (no such parameter)" in unused
    assert "model.backbone.embedding.weight (of another tokenizer)" in unused
    assert not torch.equal(found["backbone.embedding.weight"], base["backbone.embedding.weight"])


def test_what_cannot_be_started_from(folder: Path, tmp_path: Path) -> None:
    save_file({"a": torch.ones(1)}, tmp_path / "other.safetensors")
    (tmp_path / "broken.safetensors").write_bytes(b"\x10\0\0\0\0\0\0\0{}")
    (tmp_path / "empty").mkdir()
    cases: list[tuple[str, type[Exception], str]] = [
        (
            "other.safetensors",
            ConfigError,
            r"none of its tensors fits; one that does not is a \(no such parameter\)",
        ),
        ("broken.safetensors", CheckpointError, "unreadable"),
        ("empty", CheckpointError, "not a run directory"),
        ("nothing", FileNotFoundError, "No such file"),
    ]
    for name, error, message in cases:
        with pytest.raises(error, match=message):
            train(config_of(folder, tmp_path / name), tmp_path / "run", baseline=False)
        assert not (tmp_path / "run").exists()
    shape = weights(folder / "base")["backbone.convolutions.0.weight"]
    save_file({"one": shape, "two": shape.clone()}, tmp_path / "twice.safetensors")
    twice = {"one": "backbone.convolutions.0.weight", "two": "backbone.convolutions.0.weight"}
    with pytest.raises(ConfigError, match=r"two tensors of .* are renamed to backbone\.convolutions"):
        train(config_of(folder, tmp_path / "twice.safetensors", init_map=twice), tmp_path / "run")


@pytest.mark.parametrize("file", ["config.toml", "open-vocabulary.json", "model.safetensors"])
def test_a_base_is_as_it_was_written(file: str, folder: Path, tmp_path: Path) -> None:
    base = shutil.copytree(folder / "base", tmp_path / "base")
    (base / file).write_bytes((base / file).read_bytes() + b"\n")
    with pytest.raises(CheckpointError, match=rf"{file}: changed since it was written; see senti verify"):
        train(config_of(folder, base), tmp_path / "run", baseline=False)


def test_weights_alone_of_a_run(folder: Path, tmp_path: Path) -> None:
    notes: list[str] = []
    config = config_of(folder, folder / "base" / "model.safetensors")
    train(config, tmp_path / "run", baseline=False, callbacks=Callbacks(on_warning=notes.append))
    assert any("weights alone; name " in note and note.endswith("settings too") for note in notes)


def test_a_stopped_run_goes_on_from_its_own_weights(folder: Path, tmp_path: Path) -> None:
    config = config_of(folder, folder / "base")
    train(config, tmp_path / "whole", baseline=False)
    asked = iter(range(1, 100))
    train(
        config, tmp_path / "parts", baseline=False, callbacks=Callbacks(should_stop=lambda: next(asked) == 3)
    )
    resume(tmp_path / "parts")
    whole, parts = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "parts"))
    assert whole == parts
    about = json.loads((tmp_path / "parts" / "run.json").read_text("utf-8"))
    assert "tfidf" not in about["baselines"]  # as the run was begun
