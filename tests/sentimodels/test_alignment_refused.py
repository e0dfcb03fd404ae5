"""Refusals of an alignment: settings, rewards, bases, openings, pairs, and changed files."""

import json
from pathlib import Path
from typing import Any

import pytest

from alignment_runs import CONTEXT, config_of, make, texts, write_lines, write_pairs
from language_runs import language_run, tokenizer_of
from sentimodels.alignment.rollout import Drawing
from sentimodels.errors import CheckpointError, ConfigError, DataError, SentiError
from sentimodels.generation.generate import Limits
from sentimodels.models.language import CausalModel
from sentimodels.runs.execute import Callbacks, resume, train
from sentimodels.runs.families import ALIGNMENT, check_command
from sentimodels.runs.language_directory import load_language_model


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("alignment"))


@pytest.mark.parametrize(
    ("method", "sections", "said"),
    [
        ("ppo", {"task": {"reward": "happy"}}, r"task\.reward 'happy': .* no such label; it has neg, pos"),
        ("ppo", {"task": {"reward": "pos=1,4=2"}}, r"task\.reward '4': .*no such label; it has neg, pos"),
        ("ppo", {"task": {"max_new_tokens": 63}}, r"row \d+ has 3 tokens, but .* context leaves 2 "),
        ("ppo", {"task": {"max_new_tokens": 80}}, r"max_new_tokens 80: the model's context is 64 tokens"),
        ("ppo", {"train": {"patience": 2}}, r"train\.patience: an alignment keeps its last weights"),
        ("ppo", {"train": {"ema": 0.9}}, r"train\.ema: only valid for dpo"),
        ("ppo", {"train": {"seed": 1 << 32}}, r"train\.seed: .*less than 4294967296"),
        ("ppo", {"task": {"kl_gain": 5}}, r"task\..*kl_gain: .*less than 5"),
        ("dpo", {"data": {"opening_tokens": 4}}, r"data\.opening_tokens: only valid for ppo"),
        ("dpo", {"task": {"clip": 0.1}}, r"task\.clip: only task\.kind ppo has"),
        ("dpo", {"task": {"reward": "pos"}}, r"task\.reward: .*--reward-run"),
        ("ppo", {"task": {"kind": ["ppo"]}}, r"task\.kind \['ppo'\]: unknown task; expected ppo, dpo"),
        ("ppo", {"task": {"kind": "grpo"}}, r"task\.kind 'grpo': unknown task; expected ppo, dpo"),
    ],
)  # fmt: skip
def test_settings_that_cannot_be(
    method: str, sections: dict[str, Any], said: str, made: Path, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError if "row" not in said else DataError, match=said):
        train(config_of(made, method, **sections), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_reward_needs_a_run_and_a_label(made: Path, tmp_path: Path) -> None:
    tree = config_of(made).tree()
    tree["task"] = {"kind": "ppo"}
    with pytest.raises(ConfigError, match=r"name a classifier whose answers are the reward: --reward-run"):
        ALIGNMENT.resolve(tree)
    tree["task"] = {"kind": "ppo", "reward_run": str(made / "reward")}
    with pytest.raises(ConfigError, match=r"task\.reward: .*--reward pos; it has neg, pos"):
        train(ALIGNMENT.resolve(tree), tmp_path / "run")
    tree["task"] = {"kind": "ppo", "reward_run": str(made / "base"), "reward": "pos"}
    with pytest.raises(SentiError, match="a language model, not a classifier"):
        train(ALIGNMENT.resolve(tree), tmp_path / "run")


def test_a_base_must_write(made: Path, tmp_path: Path) -> None:
    language_run(tmp_path / "bert", "bert", CONTEXT)
    tree = config_of(made).tree()
    with pytest.raises(ConfigError, match=r"bert reads both ways, so it draws no answers; take a gpt"):
        train(ALIGNMENT.resolve(tree, {"base": str(tmp_path / "bert")}), tmp_path / "run")
    with pytest.raises(CheckpointError, match="a classifier, not a language model"):
        train(ALIGNMENT.resolve(tree, {"base": str(made / "reward")}), tmp_path / "run")
    with pytest.raises(CheckpointError, match="no such folder"):
        train(ALIGNMENT.resolve(tree, {"base": str(tmp_path / "none")}), tmp_path / "run")
    with pytest.raises(ConfigError, match="senti align RUN FILE"):
        train(ALIGNMENT.resolve({**tree, "data": {}}), tmp_path / "run")


def test_openings_that_are_empty_or_unknown(made: Path, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "openings.txt", [*texts(9, 8), ""])
    with pytest.raises(DataError, match=r"row 10 is empty: there is nothing to continue; take it out"):
        train(config_of(made, data={"train": str(path)}), tmp_path / "run")
    base = load_language_model(made / "base")
    assert isinstance(base.module, CausalModel)
    drawing = Drawing(base.tokenizer, Limits(3))
    with pytest.raises(DataError, match=r"token id 9999 is unknown to the model"):
        drawing.draw(base.module, [[1, 2], [9999]], 0)
    with pytest.raises(DataError, match="prompt 1 is empty"):
        drawing.draw(base.module, [[]], 0)
    none = write_lines(tmp_path / "none.txt", [])
    with pytest.raises(DataError, match=r"none\.txt: the file is empty"):
        train(config_of(made, data={"train": str(none)}), tmp_path / "run")
    one = write_lines(tmp_path / "one.txt", ["a good beginning"])
    with pytest.raises(DataError, match=r"one\.txt: 1 row, too few to hold some out; give --held-out FILE"):
        train(config_of(made, data={"train": str(one)}), tmp_path / "run")
    with pytest.raises(ConfigError, match=r"openings\.txt: a file of lines has no columns"):
        train(config_of(made, data={"where": "a=b"}), tmp_path / "run")


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"prompt": "a", "chosen": "b", "rejected": "b"}, "line 1: chosen and rejected are equal"),
        ({"prompt": "", "chosen": "b", "rejected": "c"}, "line 1: prompt is empty"),
        ({"prompt": "a", "chosen": "b"}, "no 'rejected'; it has 'prompt', 'chosen'"),
        ({"prompt": "a", "chosen": None, "rejected": "c"}, "line 1: chosen is empty"),
        ({"prompt": "a", "chosen": ["b"], "rejected": "c"}, "line 1, column 'chosen': a list"),
        (["a"], "a JSON array; expected one object a line"),
        ({"prompt": "a film " * 40, "chosen": "b", "rejected": "c"}, r"\d+ tokens, but the model reads 64"),
    ],
)  # fmt: skip
def test_pairs_that_are_none(row: Any, said: str, made: Path, tmp_path: Path) -> None:
    path = write_pairs(tmp_path / "pairs.jsonl", 9, 3)
    path.write_text(json.dumps(row) + "\n" + path.read_text())
    with pytest.raises(DataError, match=said):
        train(config_of(made, "dpo", data={"train": str(path), "n_held_out": 3}), tmp_path / "run")
    path.write_text("not json\n")
    with pytest.raises(DataError, match="line 1: not valid JSON"):
        train(config_of(made, "dpo", data={"train": str(path)}), tmp_path / "run")
    path.write_text("\n")
    with pytest.raises(DataError, match="no rows"):
        train(config_of(made, "dpo", data={"train": str(path)}), tmp_path / "run")


def test_a_prompt_without_tokens_is_refused_before_training(tmp_path: Path) -> None:
    # As of a tokenizer that drops spaces.
    language_run(tmp_path / "base", "gpt", 64, tokenizer_of("bert"))
    pairs = [
        {"prompt": f"the cat {n} " if n else "   ", "chosen": "sat", "rejected": "saw"} for n in range(9)
    ]
    path = write_lines(tmp_path / "pairs.jsonl", [json.dumps(pair) for pair in pairs])
    config = ALIGNMENT.resolve(
        {
            "base": str(tmp_path / "base"),
            "data": {"train": str(path), "n_held_out": 2},
            "task": {"kind": "dpo"},
        }
    )
    with pytest.raises(
        DataError, match=r"line 1: the prompt '   ' has no tokens, .*take the pair out, or add --begin"
    ):
        train(config, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_run_resumes_with_what_it_began_with(made: Path, tmp_path: Path) -> None:
    inside = make(tmp_path / "made")
    asked = iter(range(100))
    train(config_of(inside), tmp_path / "run", callbacks=Callbacks(should_stop=lambda: next(asked) > 0))
    kept = (inside / "openings.txt").read_text()
    (inside / "openings.txt").write_text(kept + "one more\n")
    with pytest.raises(CheckpointError, match=r"openings\.txt: has changed since the alignment began"):
        resume(tmp_path / "run")
    (inside / "openings.txt").write_text(kept)
    manifest = inside / "reward" / "manifest.json"
    manifest.write_text(manifest.read_text() + "\n")
    with pytest.raises(CheckpointError, match=r"reward: has changed since the alignment began"):
        resume(tmp_path / "run")
    with pytest.raises(CheckpointError, match=r"base: a run of senti pretrain; senti pretrain --resume"):
        check_command(made / "base", "align")
