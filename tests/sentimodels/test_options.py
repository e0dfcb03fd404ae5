"""The options of `senti train` are the flagged fields of the configuration, all of them, and nothing else."""

from typing import Any

import pytest

from sentimodels.cli.options import parameters, tree_of
from sentimodels.config import TASKS, DataConfig, OptimConfig, RunConfig, TrainConfig
from sentimodels.errors import ConfigError
from sentimodels.models import ARCHITECTURES
from sentimodels.runs.config import resolve

SECTIONS: dict[str, type[Any]] = {
    "": RunConfig, "data.": DataConfig, "optim.": OptimConfig, "train.": TrainConfig,
    "task.": TASKS["classification"],
}  # fmt: skip


def test_each_flagged_field_is_an_option_with_its_help() -> None:
    made = {key: parameter.annotation.__metadata__[0] for key, parameter in parameters()}
    for prefix, section in SECTIONS.items():
        for name, extra in section.flags():
            option = made.pop(f"{prefix}{name}")
            assert option.default == extra["flag"]  # where typer keeps the name
            assert option.help.startswith(section.model_fields[name].description)
    assert {key.split(".")[0] for key in made} == {"model"}
    of_models = {name for row in ARCHITECTURES.values() for name in row.config.model_fields}
    assert {key.split(".")[1] for key in made} <= of_models


def test_what_is_given_is_a_tree_that_resolves() -> None:
    given = {
        "arch": "gpt", "data__limit": 3, "data__clean": False, "optim__freeze": ["a"], "optim__lr": None,
        "train__init_from": "runs/x", "model__char_ngrams": "2,4", "task__class_weights": "1,2",
        "train__baseline": False, "data__valid": None, "task__kind": "classification",
    }  # fmt: skip
    tree = tree_of(given)
    assert tree == {
        "arch": "gpt", "data": {"limit": 3, "clean": False}, "model": {"char_ngrams": [2, 4]},
        "optim": {"freeze": ["a"]}, "task": {"class_weights": (1.0, 2.0), "kind": "classification"},
        "train": {"init_from": "runs/x", "baseline": False},
    }  # fmt: skip
    assert resolve(tree).train.baseline is False
    with pytest.raises(ConfigError, match="no architecture"):
        resolve(tree_of({"arch": "x"}))
