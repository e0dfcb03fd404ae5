"""Alignment as runs: resumed ones, what a run leaves, what its report says, and rewards."""

import json
import math
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from alignment_runs import CONTEXT, config_of, make, texts, tokenizer, write_lines
from sampled_cases import chosen
from sentimodels import LanguageModel
from sentimodels.alignment.judge import compare, distinct_n, judge, warnings
from sentimodels.alignment.methods import PreferAnswers, Setup
from sentimodels.alignment.ppo import PPO
from sentimodels.alignment.ppo_loss import kl_divergence
from sentimodels.alignment.rollout import Drawing, Reward
from sentimodels.config import AlignConfig, PPOConfig
from sentimodels.config.align import reward_weights
from sentimodels.data.table import Labels
from sentimodels.errors import CheckpointError, ConfigError, DataError, TrainingError
from sentimodels.generation.generate import Limits
from sentimodels.models.language import CausalModel
from sentimodels.recipes.alignment import AlignmentRecipe
from sentimodels.runs.execute import Callbacks, resume, train
from sentimodels.runs.families import ALIGNMENT, check_command
from sentimodels.runs.language_directory import load_language_model
from sentimodels.runs.leaderboard import leaderboard
from sentimodels.runs.verify import verify
from sentitok import train_bpe


def setup_of(config: AlignConfig, notes: list[str]) -> Setup:
    """Loads what both methods begin with."""
    recipe = AlignmentRecipe(config)
    recipe.callbacks = Callbacks(on_warning=notes.append)
    recipe.build()
    return recipe.setup


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("alignment"))


@pytest.mark.parametrize(("method", "stop"), chosen(product(["ppo", "dpo"], [1, 4]), ("ppo", 4), ("dpo", 1)))
def test_a_stopped_run_goes_on_to_the_same_bytes(method: str, stop: int, made: Path, tmp_path: Path) -> None:
    config = config_of(made, method)
    whole = train(config, tmp_path / "whole")
    asked = iter(range(1, 100))
    about = train(config, tmp_path / "parts", callbacks=Callbacks(should_stop=lambda: next(asked) >= stop))
    assert (about["fit"]["stop"], about["fit"]["steps"]) == ("stopped", stop)
    assert "alignment" not in about
    # The remaining folder can be used, and has the base's tokenizer.
    assert LanguageModel.load(tmp_path / "parts").generate("a film", max_new_tokens=3, seed=1) is not None
    again = resume(tmp_path / "parts")
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "parts")]
    assert weights[0] == weights[1]
    assert (made / "base" / "model.safetensors").read_bytes() != weights[0]
    assert again["alignment"] == whole["alignment"]
    samples = [(tmp_path / name / "samples.jsonl").read_bytes() for name in ("whole", "parts")]
    assert samples[0] == samples[1]
    lines = [(tmp_path / name / "metrics.jsonl").read_text().splitlines() for name in ("whole", "parts")]
    timed = {"seconds", "tokens_per_second"}
    courses = [
        [{k: v for k, v in json.loads(line).items() if k not in timed} for line in some] for some in lines
    ]
    assert courses[0] == courses[1]
    assert [record["step"] for record in courses[0]] == [1, 2, 3, 4, 5, 6]
    with pytest.raises(CheckpointError, match="has finished; nothing to resume"):
        resume(tmp_path / "whole")


@pytest.mark.parametrize("method", ["ppo", "dpo"])
def test_what_is_never_released_is_said(method: str, made: Path, tmp_path: Path) -> None:
    for until, told in ((2, False), (6, True)):
        notes: list[str] = []
        config = config_of(made, method, optim={"freeze": ["backbone.embedding"], "unfreeze_at": until})
        train(config, tmp_path / str(until), callbacks=Callbacks(on_warning=notes.append))
        assert any("training has 6 steps, so frozen weights stay frozen" in note for note in notes) == told


@pytest.mark.parametrize("method", ["ppo", "dpo"])
def test_a_run_that_was_cut_off_goes_on_from_its_last_state(method: str, made: Path, tmp_path: Path) -> None:
    def cut(record: dict[str, Any]) -> None:
        if record["step"] == 5:  # the last state is that of step 4
            raise KeyboardInterrupt

    config = config_of(made, method, train={"save_every": 4})
    train(config, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        train(config, tmp_path / "parts", callbacks=Callbacks(on_record=cut))
    with pytest.raises(CheckpointError, match="senti align --resume"):
        load_language_model(tmp_path / "parts")
    resume(tmp_path / "parts")
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "parts")]
    assert weights[0] == weights[1]
    kept = {"step", "loss", "accuracy", "margin", "reward_mean"}
    courses = [
        [{key: value for key, value in json.loads(line).items() if key in kept} for line in lines]
        for name in ("whole", "parts")
        for lines in [(tmp_path / name / "metrics.jsonl").read_text().splitlines()]
    ]
    assert courses[0] == courses[1]
    assert [record["step"] for record in courses[0]] == [1, 2, 3, 4, 5, 6]
    assert len(courses[0][0]) == {"ppo": 3, "dpo": 4}[method]


@pytest.mark.parametrize("method", ["ppo", "dpo"])
def test_a_run_whose_judging_was_broken_off_goes_on_with_it(
    method: str, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken_off(*_: Any) -> None:
        raise KeyboardInterrupt

    train(config_of(made, method), tmp_path / "whole")
    with monkeypatch.context() as patch:
        patch.setattr("sentimodels.alignment.methods.judge", broken_off)
        with pytest.raises(KeyboardInterrupt):
            train(config_of(made, method), tmp_path / "run")
    resume(
        tmp_path / "run", callbacks=Callbacks(should_stop=lambda: True)
    )  # there is no step left to stop at
    assert verify(tmp_path / "run") == []
    whole, run = (load_language_model(tmp_path / name) for name in ("whole", "run"))
    assert whole.about["alignment"] == run.about["alignment"]
    assert not (tmp_path / "run" / "state.safetensors").exists()
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "run")]
    assert weights[0] == weights[1]


def test_long_prompts_that_judge_keep_their_end_and_their_beginning(made: Path) -> None:
    notes: list[str] = []
    base = load_language_model(made / "base").tokenizer
    # The last token is not read, so an answer of 61 leaves 4 of 64, the first of which begins the text.
    config = config_of(made, "dpo", data={"begin": True}, task={"max_new_tokens": 61})
    judged = PreferAnswers(setup_of(config, notes)).judged
    assert any("held-out prompts are cut to the last 3 tokens: the context has" in note for note in notes)
    prompts = {json.loads(line)["prompt"] for line in (made / "pairs.jsonl").read_text().splitlines()}
    ends = {tuple(base.encode(prompt).ids[-3:]) for prompt in prompts}
    assert {ids[0] for ids in judged} == {base.token_to_id("<|endoftext|>")}
    assert {tuple(ids[1:]) for ids in judged} <= ends
    for n, begin in ((65, False), (64, True)):
        config = config_of(made, "dpo", data={"begin": begin}, task={"max_new_tokens": n})
        with pytest.raises(
            ConfigError, match=f"max_new_tokens {n}: .* leaves none for a prompt; lower --max"
        ):
            PreferAnswers(setup_of(config, notes))


def test_a_run_is_a_language_model_like_any_other(made: Path, tmp_path: Path) -> None:
    records: list[dict[str, Any]] = []
    about = train(config_of(made), tmp_path / "run", callbacks=Callbacks(on_record=records.append))
    assert verify(tmp_path / "run") == []
    loaded = load_language_model(tmp_path / "run")
    assert loaded.config == load_language_model(made / "base").config
    assert loaded.about["alignment"] == json.loads(json.dumps(about["alignment"]))
    assert ALIGNMENT.load(tmp_path / "run").task == config_of(made).task
    _, models, _ = leaderboard(tmp_path)
    assert [(model["state"], model["method"]) for model in models] == [("finished", "ppo")]
    judged = about["alignment"]
    assert models[0]["alignment"]["gain"] == judged["gain"]
    assert models[0]["alignment"]["after"] == {
        key: judged["after"][key] for key in ("reward_mean", "kl", "distinct_2")
    }
    with pytest.raises(CheckpointError, match=r"a run of senti align; senti align --resume"):
        check_command(tmp_path / "run", "pretrain")
    with pytest.raises(CheckpointError, match="holds a run already"):
        train(config_of(made), tmp_path / "run")
    # Every step records the scores that belong to a reward.
    assert len(records) == 6
    for record in records:
        assert {
            "reward_mean", "reward_median", "reward_std", "kl", "kl_coefficient", "entropy", "clip_share",
            "distinct_1", "distinct_2", "length", "loss", "lr", "grad_norm",
        } <= set(record)  # fmt: skip
    assert records[0]["kl"] == pytest.approx(0, abs=1e-6)
    assert records[-1]["kl"] > 0
    sources = json.loads((tmp_path / "run" / "training_data.json").read_text())["sources"]
    assert [source["role"] for source in sources] == ["reward", "train", "judge"]
    # An aligned model can be aligned again, but not judged on its training rows.
    again = {"base": str(tmp_path / "run")}
    with pytest.raises(DataError, match="was trained on all of it"):
        train(ALIGNMENT.resolve(config_of(made).tree(), again), tmp_path / "again")
    write_lines(tmp_path / "new.txt", texts(20, 77))
    held_out = {"data": {"held_out": str(tmp_path / "new.txt")}, "train": {"max_steps": 1}}
    assert train(ALIGNMENT.resolve(config_of(made).tree(), again, held_out), tmp_path / "again")
    # What judged before may judge again.
    again = {"base": str(tmp_path / "again")}
    assert train(ALIGNMENT.resolve(config_of(made).tree(), again, held_out), tmp_path / "thrice")


def test_the_report_is_what_the_samples_say(made: Path, tmp_path: Path) -> None:
    config = config_of(made, train={"max_steps": 12}, data={"n_held_out": 6})
    found = train(config, tmp_path / "run")["alignment"]
    lines = (tmp_path / "run" / "samples.jsonl").read_text("utf-8").splitlines()
    samples = [json.loads(line) for line in lines]
    assert found["openings"] == len(samples) == 6
    for name in ("before", "after"):
        rewards = np.array([sample[f"reward_{name}"] for sample in samples])
        assert found[name]["reward_mean"] == pytest.approx(rewards.mean(), abs=1e-5)
        assert found[name]["reward_median"] == pytest.approx(np.median(rewards), abs=1e-5)
        assert found[name]["reward_std"] == pytest.approx(rewards.std(ddof=1), abs=1e-5)
        answers = [sample[name] for sample in samples]
        assert found[name]["distinct_2"] == pytest.approx(distinct_n(answers, 2))
    gains = np.array([sample["reward_after"] - sample["reward_before"] for sample in samples])
    assert found["gain"] == pytest.approx(gains.mean(), abs=1e-5)
    assert found["gain_in_std"] == pytest.approx(found["gain"] / found["before"]["reward_std"])
    assert found["better"] == (gains > 0).sum()
    assert found["after"]["kl"] == pytest.approx(np.mean([sample["kl"] for sample in samples]), abs=1e-5)
    # The reward of a sample is that of the classifier, of opening and answer.
    from sentimodels import Classifier

    whole = [sample["opening"] + sample["after"] for sample in samples]
    probs = Classifier.load(made / "reward").predict_proba(whole)[:, 1].astype(float)
    probs = probs.clip(1e-6, 1 - 1e-6)  # as near to 0 and 1 as a log-odds goes
    odds = np.log(probs) - np.log1p(-probs)
    assert [sample["reward_after"] for sample in samples] == pytest.approx(odds.tolist(), abs=1e-3)


def test_the_divergence_is_summed_over_the_tokens_of_an_answer(made: Path) -> None:
    base = load_language_model(made / "base").module
    assert isinstance(base, CausalModel)
    other = load_language_model(made / "base").module
    assert isinstance(other, CausalModel)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.mul_(1.05)
    words = tokenizer()
    openings = [
        words.encode(text).ids.tolist()[:n] for text, n in zip(texts(5, 3), (1, 2, 3, 4, 5), strict=True)
    ]
    end = words.token_to_id("<|endoftext|>")
    assert end is not None
    drawing = Drawing(words, Limits(6, (), frozenset({end}), CONTEXT))
    found = judge(other, base, openings, drawing, None, 0)
    answers = found.answers
    for row, opening in enumerate(openings):
        n = int(answers.lengths[row])
        ids = answers.ids[row, : len(opening) + n]
        assert ids[: len(opening)].tolist() == opening
        with torch.no_grad():
            p, q = (model.logits(model(ids[None, :-1]))[0, len(opening) - 1 :] for model in (other, base))
        assert found.kl[row] == pytest.approx(float(kl_divergence(p, q).sum()), rel=1e-4)
        text = words.decode([id for id in ids.tolist() if id != end])
        assert answers.openings[row] + answers.texts[row] == text
    assert compare(found, found, PPOConfig())["warnings"] == []


def test_hacked_rewards_are_told() -> None:
    fine = {"kl": 3.0, "distinct_2": 0.9}
    assert warnings(fine, {"kl": 9.9, "distinct_2": 0.73}, PPOConfig()) == []
    (said,) = warnings(fine, {"kl": 10.1, "distinct_2": 0.9}, PPOConfig())
    assert said.startswith("the divergence is 10.1 nats an answer, above 10")
    (said,) = warnings(fine, {"kl": 1.0, "distinct_2": 0.71}, PPOConfig())
    assert said.startswith("distinct-2 fell from 0.900 to 0.710, below 0.8 of the start")


def test_a_run_that_hacks_its_reward_says_so(made: Path, tmp_path: Path) -> None:
    notes: list[str] = []
    config = config_of(made, task={"max_kl": 0.01, "kl_coefficient": 1e-3}, optim={"lr": 0.02})
    about = train(config, tmp_path / "run", callbacks=Callbacks(on_warning=notes.append))
    assert any("above 0.01" in warning for warning in about["alignment"]["warnings"])
    assert [note for note in notes if note.startswith("warning: ")] == [
        f"warning: {warning}" for warning in about["alignment"]["warnings"]
    ]


def test_preferences_are_learned(made: Path, tmp_path: Path) -> None:
    records: list[dict[str, Any]] = []
    config = config_of(made, "dpo", train={"max_steps": 20}, optim={"lr": 1e-2})
    found = train(config, tmp_path / "run", callbacks=Callbacks(on_record=records.append))["alignment"]
    # Before the first step policy and reference are one.
    assert records[0]["margin"] == pytest.approx(0, abs=1e-5)
    assert records[-1]["accuracy"] == 1.0
    assert records[-1]["margin"] > 1
    assert found["preferences"]["accuracy"] == 1.0
    assert found["preferences"]["margin"] > 1
    assert found["preferences"]["loss"] < 0.5 < math.log(2)
    assert found["after"]["kl"] > 0
    assert "reward_mean" not in found["before"]


def test_dpo_reports_a_reward_if_one_is_named(made: Path, tmp_path: Path) -> None:
    reward = {"reward_run": str(made / "reward"), "reward": "pos", "reward_value": "probability"}
    found = train(config_of(made, "dpo", task=reward, train={"max_steps": 1}), tmp_path / "run")["alignment"]
    assert 0 <= found["before"]["reward_mean"] <= 1


def test_a_loss_that_is_not_finite_ends_the_run(made: Path, tmp_path: Path) -> None:
    config = config_of(made, optim={"lr": 1e30, "clip": 0.0})
    with pytest.raises(TrainingError, match=r"the loss is (nan|inf) at step \d: lower optim.lr"):
        train(config, tmp_path / "run")


def test_logits_that_are_no_numbers_end_the_run(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the weights are lost between two steps, as by the last update of one."""
    plain = PPO._learn

    def spoiled(self: PPO, rollout: Any) -> dict[str, float]:
        losses = plain(self, rollout)
        with torch.no_grad():
            next(iter(self.model.parameters())).fill_(math.nan)
        return losses

    monkeypatch.setattr(PPO, "_learn", spoiled)
    with pytest.raises(TrainingError, match=r"a logit is nan at step 2: lower optim.lr"):
        train(config_of(made), tmp_path / "run")
    assert not (tmp_path / "run" / "state.safetensors").exists()


# Rewards.


class FakeClassifier:
    def __init__(self, names: list[str]) -> None:
        self.labels = Labels(names)

    def predict_proba(self, some: list[str]) -> NDArray[np.float32]:
        shares = np.array([[len(text), *range(2, len(self.labels) + 1)] for text in some], np.float32)
        probs: NDArray[np.float32] = shares / shares.sum(1, keepdims=True)
        return probs


def test_special_tokens_are_no_text() -> None:
    """As in `senti generate`: what would never be written earns no reward."""
    tokenizer = train_bpe(texts=["the cat sat"] * 9, vocab_size=280, special_tokens=["<|end|>", "<|turn|>"])
    end, turn = (tokenizer.token_to_id(name) for name in ("<|end|>", "<|turn|>"))
    assert end is not None
    assert turn is not None
    opening, cat = (tokenizer.encode(text).ids.tolist() for text in ("the", " cat"))
    drawing = Drawing(tokenizer, Limits(6, (), frozenset({end})))
    answers = drawing.of([opening], [[turn, *cat, turn, end]], torch.device("cpu"))
    assert (answers.openings, answers.texts, answers.whole) == (["the"], [" cat"], ["the cat"])
    assert answers.lengths.tolist() == [len(cat) + 3]


def test_rewards_are_weighted_sums() -> None:
    five = FakeClassifier(list("01234"))
    probs = five.predict_proba(["a", "abcd"]).astype(float)
    plain = Reward(five, {"4": 2.0, "0": -1.0}, "probability", "run")
    assert plain(["a", "abcd"]) == pytest.approx(2 * probs[:, 4] - probs[:, 0])
    odds = Reward(five, {"4": 2.0, "0": -1.0}, "log-odds", "run")
    logit = np.log(probs / (1 - probs))
    assert odds(["a", "abcd"]) == pytest.approx(2 * logit[:, 4] - logit[:, 0])
    with pytest.raises(ConfigError, match=r"task.reward 'pos': run has no such label; it has 0, 1, 2, 3, 4"):
        Reward(five, {"pos": 1.0}, "probability", "run")


def test_rewards_are_read() -> None:
    assert reward_weights("pos") == {"pos": 1.0}
    assert reward_weights("3=1, 4=2,0=-2") == {"3": 1.0, "4": 2.0, "0": -2.0}
    assert reward_weights({"a=b": 3.0}) == {"a=b": 3.0}
    for wrong in ("3=x", "3=", "3=nan", {"3": math.inf}, {"3": 0.0}, "3=0"):
        with pytest.raises(ConfigError, match=r"task\.reward"):
            reward_weights(wrong)


def test_diversity() -> None:
    assert distinct_n(["a b a b", "a b"], 1) == 2 / 6
    assert distinct_n(["a b a b", "a b"], 2) == 2 / 4
    assert distinct_n(["a"], 2) == 0
