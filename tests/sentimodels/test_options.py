"""The options of the commands that train are the flagged fields of their configurations, and little else."""

import re
from typing import Any

import pytest

from sentimodels.cli import align, pretrain, train, translate
from sentimodels.cli.options import of_field, tree_of
from sentimodels.config import (
    TASKS,
    AlignDataConfig,
    AlignTrainConfig,
    CorpusConfig,
    DataConfig,
    LanguageConfig,
    OptimConfig,
    ParallelConfig,
    PretrainConfig,
    RunConfig,
    Section,
    Seq2SeqConfig,
    TrainConfig,
    TranslationConfig,
    TranslationTrainConfig,
    Written,
    sections_of,
    trained_by,
)
from sentimodels.errors import ConfigError
from sentimodels.models import ARCHITECTURES
from sentimodels.runs.families import ALIGNMENT, LANGUAGE_MODEL, TRANSLATOR, resolve

Sections = list[tuple[str, type[Section]]]
OF_TRAIN: Sections = [
    ("", RunConfig), ("data.", DataConfig), ("optim.", OptimConfig), ("train.", TrainConfig),
    ("task.", TASKS["classification"].config),
]  # fmt: skip
OF_PRETRAIN: Sections = [
    ("", LanguageConfig), ("data.", CorpusConfig), ("optim.", OptimConfig), ("train.", PretrainConfig),
    *(("task.", one) for one in sections_of("language-model").values()),
]  # fmt: skip
OF_TRANSLATE: Sections = [
    ("", TranslationConfig), ("data.", ParallelConfig), ("optim.", OptimConfig), ("task.", Seq2SeqConfig),
    ("train.", TranslationTrainConfig),
]  # fmt: skip
OF_ALIGN: Sections = [
    ("data.", AlignDataConfig), ("optim.", OptimConfig), ("train.", AlignTrainConfig),
    *(("task.", one) for one in sections_of("aligned-model").values()),
]  # fmt: skip
IN_PRETRAIN = {
    "model.attention", "model.positions", "optim.name", "optim.muon_lr", "optim.schedule", "optim.warmup",
    "optim.weight_decay", "optim.clip",
}  # fmt: skip
# The command, the sections of its configuration, and the options that no flag of theirs makes.
COMMANDS = [
    (train, OF_TRAIN, {f"model.{name}" for name in ("pooling", "attention", "positions", "char_ngrams")}),
    (pretrain, OF_PRETRAIN, IN_PRETRAIN),
    (translate, OF_TRANSLATE, set()),
    (align, OF_ALIGN, set()),
]
# Defaults that are not values.
WORDS = ("depends on --arch", "that of the preset", "masked of bert and encoder, else next-token")
IDS = ["train", "pretrain", "translate train", "align"]


@pytest.mark.parametrize(("command", "sections", "others"), COMMANDS, ids=IDS)
def test_each_flagged_field_is_an_option_with_its_help(
    command: Any, sections: Sections, others: set[str]
) -> None:
    made = {key: parameter.annotation.__metadata__[0] for key, parameter in command.options()}
    flagged = set()
    for prefix, section in sections:
        for name, extra in section.flags():
            option = made[f"{prefix}{name}"]
            assert option.default == extra["flag"]  # where typer keeps the name
            assert option.help.startswith(extra["text"] or section.model_fields[name].description)
            flagged.add(f"{prefix}{name}")
    assert set(made) - flagged == others
    names = [made[key].default for key in made]
    assert len(set(names)) == len(names)
    of_models = {name for row in ARCHITECTURES.values() for name in row.config.model_fields}
    assert {key.split(".")[1] for key in made if key.startswith("model.")} <= of_models


@pytest.mark.parametrize(
    ("command", "settled"),
    [
        (train, resolve({"arch": "lstm"})), (pretrain, LANGUAGE_MODEL.resolve({})),
        (translate, TRANSLATOR.resolve({})),
        (align, ALIGNMENT.resolve({"task": {"reward_run": "runs/reviews"}})),
    ],
    ids=IDS,
)  # fmt: skip
def test_the_default_in_the_help_is_the_one_of_a_run(command: Any, settled: Written) -> None:
    """Where the help computes it, instead of the description naming it."""
    checked = 0
    for key, parameter in command.options():
        section, _, name = key.rpartition(".")
        of = getattr(settled, section) if section else settled
        field = type(of).model_fields.get(name) if section else None
        told = re.search(r"\[default: ([^\]]*)\]$", parameter.annotation.__metadata__[0].help)
        if field is None or told is None or "[default:" in str(field.description) or key == "data.long":
            continue
        if told[1] not in WORDS:
            assert str(getattr(of, name)) == told[1], key
            checked += 1
    assert checked > 5


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


@pytest.mark.parametrize("command", ["train", "pretrain", "align"])
def test_shells_complete_every_task_of_a_command(command: str) -> None:
    first, *others = trained_by(command)
    complete = of_field("task.kind", TASKS[first].config.model_fields["kind"])
    assert complete is not None
    assert complete("") == [first, *others]
    assert complete(others[-1][:2]) == [others[-1]]
