"""`RunConfig`: priorities, refusals, and that a file has everything."""

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from sentimodels.config import SCHEDULES, TASKS, ClassificationConfig, RunConfig, TrainConfig
from sentimodels.errors import ConfigError
from sentimodels.models import ARCHITECTURES
from sentimodels.runs.families import read_toml, resolve, set_value
from sentimodels.tasks.classification import ordered_weights, read_weights


def test_what_wins() -> None:
    """Defaults < those of the architecture < its preset < the file < the flags."""
    assert resolve({"arch": "gpt"}).model.model_dump()["d_model"] == 128
    assert resolve({"arch": "tfidf"}).train.epochs == 0
    assert resolve({"arch": "gpt", "preset": "nano"}).model.model_dump()["d_model"] == 64
    file = {"arch": "gpt", "preset": "nano", "model": {"d_model": 96}, "optim": {"lr": 0.5}}
    flags = {"optim": {"lr": 0.25}}
    found = resolve(file, flags)
    assert found.model.model_dump()["d_model"] == 96
    assert found.model.model_dump()["n_layers"] == 4
    assert found.optim.lr == 0.25


# (tree, what the message says)
REFUSED = [
    ({"optim": {"lrr": 1}}, r"optim\.lrr: unknown key; did you mean lr\?"),
    ({"optim": {"epochs": 1}}, r"optim\.epochs: unknown key; did you mean train\.epochs\?"),
    (
        {"arch": "gpt", "model": {"d_hidden": 1}},
        r"model\.d_hidden: unknown key; did you mean d_head|ha(s|ve) ",
    ),
    (
        {"arch": "gpt", "model": {"zzz": 1}},
        r"model\.zzz: unknown key; .*gpt.* ha(s|ve) pooling, head, head_dropout, embedding_dropout",
    ),
    ({"nonsense": {}}, r"nonsense: unknown key; there are arch, preset, budget"),
    ({"optim": {"lr": -1}}, r"optim\.lr: .*greater than 0, not -1"),
    ({"optim": {"schedule": "cubic"}}, rf"optim\.schedule: .*{', '.join(SCHEDULES)}"),
    ({"optim": {"betas": [0.9, 1.0]}}, r"optim\.betas \[0\.9, 1\.0\]: expected two numbers"),
    ({"task": {"class_weights": [1.0, 0.0]}}, r"task\.class_weights\b.*one positive number for each"),
    ({"task": {"class_weights": {"a": -1}}}, r"task\.class_weights\b.*one positive number for each"),
    ({"task": {"class_weights": "heavy"}}, r"task\.class_weights: expected none, balanced, or"),
    ({"task": {"class_weights": 3}}, r"task\.class_weights: expected none, balanced, or"),
    ({"task": {"label_smoothing": 1.0}}, r"task\.label_smoothing: .*less than 1"),
    ({"task": {"focal_gamma": -1.0}}, r"task\.focal_gamma: .*greater than or equal to 0"),
    ({"task": {"focal_alpha": 0.0}}, r"task\.focal_alpha: .*greater than 0"),
    ({"task": {"kind": "ranking"}}, r"task\.kind 'ranking': unknown task; expected classification"),
    (
        {"task": {"kind": "next-token"}},
        r"'next-token': a task of a language model; train one with senti pretrain",
    ),
    ({"task": "classification"}, r"task 'classification': expected a section, as in \[task\]"),
    ({"arch": "lsmt"}, r"no architecture 'lsmt'; did you mean lstm\? there are tfidf"),
    ({"arch": "gpt", "preset": "huge"}, r"gpt has no preset 'huge'; there are: nano, micro"),
    ({"arch": "tfidf", "preset": "nano"}, r"tfidf has no preset 'nano'; there are: none"),
    (
        {"arch": "encoder", "data": {"max_tokens": 1024}},
        r"data\.max_tokens 1024: longer than the 512 places .* raise model\.max_len",
    ),
    (
        {
            "arch": "bert",
            "model": {"max_len": 30},
            "data": {"max_tokens": 30},
            "train": {"compile": True},
        },
        r"data\.max_tokens 30 \(32 once train\.compile pads .*\): longer than the 30 places",
    ),
    ({"arch": "gpt", "model": {"d_model": 30}}, r"model\.d_model 30 is not a multiple of n_heads 4"),
]


@pytest.mark.parametrize(("tree", "message"), REFUSED)
def test_refused(tree: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        resolve({"arch": "lstm", **tree})


# Where no position is learned, or all are.
@pytest.mark.parametrize(
    ("arch", "model"),
    [
        ("encoder", {"max_len": 1024}),
        ("encoder", {"positions": "alibi"}),
        ("gpt", {"positions": "rotary"}),
        ("lstm", {}),
    ],
)
def test_long_rows_where_positions_reach(arch: str, model: dict[str, object]) -> None:
    assert resolve({"arch": arch, "model": model, "data": {"max_tokens": 1024}}).data.max_tokens == 1024


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_a_written_config_reads_back_equal(arch: str, tmp_path: Path) -> None:
    config = resolve({"arch": arch, "data": {"train": 'odd "name"\\\n.csv', "limit": 7}})
    path = tmp_path / "config.toml"
    for comments in (False, True):
        path.write_text(config.to_toml(comments=comments), encoding="utf-8")
        assert resolve(read_toml(path)) == config


def test_any_text_can_be_written_and_read_back(tmp_path: Path) -> None:
    """Beyond the basic plane, quotes, controls, and names of classes that are not bare keys."""
    odd = "\U0001f600 \U0002070e \x7f \u2028 \t\n\r\x00 'a' \"b\" \\"
    config = resolve(
        {"arch": "lstm", "data": {"train": odd, "where": odd}, "task": {"class_weights": {odd: 2.0, "": 1.0}}}
    )
    path = tmp_path / "config.toml"
    for comments in (False, True):
        path.write_bytes(config.to_toml(comments=comments).encode())
        assert resolve(read_toml(path)) == config


def test_defaults_belong_to_an_architecture_and_a_task() -> None:
    assert {kind for row in ARCHITECTURES.values() for kind in row.suits} <= set(TASKS)
    asked: list[tuple[dict[str, Any], float]] = [
        ({"arch": "gpt"}, 0.2),
        ({"arch": "gpt", "task": {"mixup": 0.0}}, 0.0),
        ({"arch": "lstm"}, 0.0),
    ]
    for tree, mixup in asked:
        task = resolve(tree).task
        assert isinstance(task, ClassificationConfig)
        assert task.mixup == mixup
    taught = resolve({"arch": "gpt", "task": {"kind": "distillation"}})
    assert taught.optim.lr == resolve({"arch": "gpt"}).optim.lr


def test_every_key_is_explained() -> None:
    for arch, row in ARCHITECTURES.items():
        for section in (
            row.config,
            *(RunConfig.model_fields[n].annotation for n in ("data", "optim", "train")),
            *(row.config for row in TASKS.values()),
        ):
            assert section is not None
            for name, field in section.model_fields.items():
                assert (field.description or "").endswith((".", "]")), (arch, name)


# (assignment, tree)
ASSIGNMENTS = [
    ("optim.lr=3e-4", {"optim": {"lr": 3e-4}}),
    ("train.compile = true", {"train": {"compile": True}}),
    ("model.kernels=[2, 3]", {"model": {"kernels": [2, 3]}}),
    ("model.pooling=mean", {"model": {"pooling": "mean"}}),
    ('data.train="a=b.csv"', {"data": {"train": "a=b.csv"}}),
    ("arch=gpt", {"arch": "gpt"}),
]


@pytest.mark.parametrize(("assignment", "expected"), ASSIGNMENTS)
def test_assignments(assignment: str, expected: dict[str, object]) -> None:
    tree: dict[str, object] = {}
    set_value(tree, assignment)
    assert tree == expected


@pytest.mark.parametrize("assignment", ["lr", "=3", "a..b=1", "optim.=1"])
def test_what_is_no_assignment(assignment: str) -> None:
    with pytest.raises(ConfigError, match=r"expected section\.key=value"):
        set_value({}, assignment)


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text("[optim\nlr=1", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"run\.toml: not valid TOML"):
        read_toml(path)


def test_a_config_is_frozen() -> None:
    config = resolve({"arch": "lstm"})
    with pytest.raises(ValidationError, match="frozen"):
        config.optim.lr = 1.0


def test_toml_has_every_key() -> None:
    config = resolve({"arch": "mamba", "data": {"train": "x.csv"}})
    written = tomllib.loads(config.to_toml())
    assert written["model"].keys() == {k for k, v in config.model.model_dump().items() if v is not None}
    assert written["train"]["seed"] == config.train.seed
    assert "epochs" not in written["train"]  # unset: settled by the number of rows


# (name of a file, its text, what it gives)
WEIGHTS: list[tuple[str, str, object]] = [
    ("w.json", "[1, 2.5]", (1.0, 2.5)),
    ("w.json", '{"pos": 2, "neg": 1}', {"pos": 2.0, "neg": 1.0}),
    ("w.toml", "class_weights = [1, 2]", (1.0, 2.0)),
    ("w.toml", "pos = 2\nneg = 1", {"pos": 2.0, "neg": 1.0}),
    ("w.csv", 'label,weight\npos,2\n"a, b",1\n', {"pos": 2.0, "a, b": 1.0}),
    ("w.csv", "0,1\n1,3\n", {"0": 1.0, "1": 3.0}),
]


@pytest.mark.parametrize(("name", "text", "expected"), WEIGHTS)
def test_files_of_class_weights(name: str, text: str, expected: object, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, "utf-8")
    found = read_weights(str(tmp_path / name))
    assert found == expected
    config = resolve({"arch": "lstm", "task": {"class_weights": found}})
    assert tomllib.loads(config.to_toml())["task"]["class_weights"] == (
        found if isinstance(found, dict) else list(found)
    )


def test_class_weights_as_typed(tmp_path: Path) -> None:
    assert [read_weights(text) for text in ("none", "balanced", "1,2", "[1, 2]")] == [
        "none", "balanced", (1.0, 2.0), (1.0, 2.0),
    ]  # fmt: skip
    task = resolve({"arch": "lstm", "task": {"class_weights": "1,2"}}).task
    assert isinstance(task, ClassificationConfig)
    assert task.class_weights == (1.0, 2.0)
    (tmp_path / "w.json").write_text('"heavy"')
    for text in ("heavy", str(tmp_path / "w.json")):
        with pytest.raises(ConfigError, match="expected none, balanced, numbers as 1,2"):
            read_weights(text)
    with pytest.raises(ConfigError, match="'odd' is not a label; the labels are 'neg', 'pos'"):
        ordered_weights({"odd": 1.0}, ["neg", "pos"])


# (rows, batch, steps): the rows settle unset values
COURSES = [(1, 16, 20), (900, 16, 20 * 57), (8_530, 128, 12 * 67), (125_038, 128, 2 * 977)]


@pytest.mark.parametrize(("n_rows", "batch_size", "steps"), COURSES)
def test_few_texts_are_passed_over_more_often(n_rows: int, batch_size: int, steps: int) -> None:
    plan = TrainConfig().plan(n_rows)
    assert (plan.batch_size, plan.steps) == (batch_size, steps)
    assert TrainConfig(max_steps=7).plan(n_rows).steps == 7
    given = TrainConfig(epochs=2, batch_size=10, accumulate=3).plan(100)
    assert (given.batch_size, given.n_batches, given.steps) == (10, 10, 8)


def test_help_builds_no_schema() -> None:
    """`senti --help` reads fields of all sections; to build what checks values takes longer than all else."""
    code = """
import sys
from sentimodels.cli.app import build
import typer.main
typer.main.get_command(build())
from sentimodels import config
sections = [one for one in vars(config).values() if isinstance(one, type) and issubclass(one, config.Section)]
print(len(sections) > 5, any(one.__pydantic_complete__ for one in sections), "torch" in sys.modules)
print(config.DataConfig().train == "", config.DataConfig.__pydantic_complete__)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[:1] == ["True False False"], done.stderr
    assert done.stdout.splitlines()[1].split() == ["True", "True"], done.stderr
