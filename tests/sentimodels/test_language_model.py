"""The modules of language models, their configuration and their run directory."""

from pathlib import Path
from typing import Any

import pytest
import torch

from sentimodels.config import LanguageConfig, NextTokenConfig
from sentimodels.errors import CheckpointError, ConfigError
from sentimodels.models import ARCHITECTURES
from sentimodels.models.language import CausalModel, MaskedModel, build_language_model
from sentimodels.runs.directory import finish_run
from sentimodels.runs.families import CLASSIFIER, LANGUAGE_MODEL, PRESETS
from sentimodels.runs.language_directory import begin_language_run, load_language_model
from sentimodels.runs.tables import shared_validation_rows
from sentimodels.runs.verify import verify
from sentitok import Tokenizer, train_bpe


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_bpe(texts=["the cat sat on the mat"] * 3, vocab_size=270)


def config_of(arch: str = "gpt", **sections: Any) -> LanguageConfig:
    small = {"d_model": 16, "n_layers": 2}
    if arch in ("gpt", "bert", "encoder"):
        small |= {"n_heads": 2}
    if arch == "mamba":
        small |= {"d_head": 8}
    if arch == "lstm":
        small |= {"d_hidden": 16}
    return LANGUAGE_MODEL.resolve({"arch": arch}, {"model": small}, sections)


def ids_of(n_rows: int, n_tokens: int) -> torch.Tensor:
    return torch.randint(270, (n_rows, n_tokens), generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("arch", ["gpt", "mamba", "lstm"])
@pytest.mark.parametrize("tied", [True, False])
def test_a_causal_model_sees_nothing_to_come(arch: str, tied: bool) -> None:
    model = build_language_model(config_of(arch, task={"tied": tied}), 270).eval()
    assert isinstance(model, CausalModel)
    assert ("head.weight" in model.state_dict()) is not tied
    ids = ids_of(2, 12)
    other = ids.clone()
    other[:, 7] = (other[:, 7] + 1) % 270
    with torch.no_grad():
        one, two = model.logits(model(ids)), model.logits(model(other))
        assert one.shape == (2, 12, 270)
        assert torch.equal(one[:, :7], two[:, :7])
        assert not torch.allclose(one[:, 7:], two[:, 7:])
        cache = model.new_cache()
        parts = [model.logits(model(part, cache=cache)) for part in ids.split(5, 1)]
    assert torch.allclose(torch.cat(parts, 1), one, atol=1e-5)


def test_a_masked_model_sees_both_sides() -> None:
    model = build_language_model(config_of("bert", task={"next_sentence": True}), 270).eval()
    assert isinstance(model, MaskedModel)
    assert model.next_sentence is not None
    ids = ids_of(2, 12)
    other = ids.clone()
    other[:, 7] = (other[:, 7] + 1) % 270
    with torch.no_grad():
        one, two = model.logits(model(ids)), model.logits(model(other))
    assert one.shape == (2, 12, 270)
    assert not torch.allclose(one[:, 0], two[:, 0])


def test_a_language_model_starts_near_the_uniform_distribution() -> None:
    for arch in ("gpt", "mamba"):
        model = build_language_model(config_of(arch), 270)
        ids = ids_of(4, 32)
        losses = model.head.loss(model(ids[:, :-1]), ids[:, 1:], model.backbone)
        assert losses.mean().item() == pytest.approx(torch.tensor(270.0).log().item(), abs=0.1)


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_is_a_size_of_the_architectures(preset: str) -> None:
    config = LANGUAGE_MODEL.resolve({"preset": preset})
    sizes = ARCHITECTURES["gpt"].presets[preset]
    model = config.model.model_dump()
    assert all(model[key] == value for key, value in sizes.items() if key != "norm_order")
    assert (model["causal"], model["norm_order"], model["positions"]) == (True, "pre", "rotary")
    assert (config.train.batch_size, config.optim.lr, config.train.tokens) == PRESETS[preset]
    assert isinstance(config.task, NextTokenConfig)
    assert config.task.tied == (preset in ("nano", "micro", "tiny"))
    assert LANGUAGE_MODEL.resolve(config.tree()) == config  # what is saved is read as it was


def test_masked_models_have_rotary_positions_but_bert_is_as_published() -> None:
    """With learned positions the loss of a small budget hardly falls; transformers' BERT has only these."""

    def shape(arch: str, **given: object) -> tuple[str, str]:
        model = LANGUAGE_MODEL.resolve({"arch": arch, "task": {"kind": "masked"}, **given}).model.model_dump()
        return model["norm_order"], model["positions"]

    assert shape("encoder") == shape("gpt") == ("pre", "rotary")
    assert shape("bert") == ("post", "learned")
    assert shape("bert", model={"positions": "rotary", "norm_order": "pre"}) == ("pre", "rotary")
    assert shape("encoder", model={"positions": "learned"}) == ("pre", "learned")


def test_a_budget_that_is_given_takes_the_place_of_the_presets_own() -> None:
    assert LANGUAGE_MODEL.resolve({"train": {"max_steps": 5}}).train.tokens is None
    assert LANGUAGE_MODEL.resolve({"train": {"epochs": 5}}).train.tokens is None
    assert LANGUAGE_MODEL.resolve({"train": {"tokens": 5}}).train.tokens == 5


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({"arch": "bow"}, "a bag of features has no states"),
        ({"arch": "gpt", "preset": "huge"}, "no preset 'huge'"),
        ({"task": {"kind": "sorting"}}, "task.kind 'sorting': unknown task; expected next-token, masked"),
        ({"model": {"causal": False}}, "cannot learn to predict it"),
        ({"arch": "bert", "model": {"causal": True}}, "masked tokens are read from both sides"),
        ({"model": {"pooling": "cls", "causal": True}}, "pooling"),
        ({"model": {"char_ngrams": [3, 5]}}, "one vector for each token"),
        (
            {"model": {"positions": "learned", "max_len": 64}},
            "data.context 256: longer than the 64 places",
        ),
        ({"data": {"contxt": 3}}, "data.contxt: unknown key; did you mean context?"),
        ({"train": {"refit": True}}, "train.refit: unknown key"),
        (
            {"task": {"rate": 0.2}},
            "task.rate: only task.kind masked has this key",
        ),
        ({"preset": ["nano"]}, r"gpt has no preset \['nano'\]; did you mean nano\?"),
        ({"preset": 3}, "gpt has no preset 3; there are: nano"),
        (
            {"task": {"kind": ["masked"]}},
            r"task.kind \['masked'\]: unknown task; expected next-token, masked",
        ),
        ({"data": {"context": "x"}, "model": {"positions": "learned"}}, r"data\.context: .*integer"),
        ({"train": {"seed": 1 << 63}}, r"train\.seed: .*less than 9223372036854775808"),
        ({"data": {"split_seed": 1 << 63}}, r"data\.split_seed: .*less than 9223372036854775808"),
    ],
)
def test_settings_that_cannot_be(tree: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        LANGUAGE_MODEL.resolve(tree)


def test_architectures_that_cannot_do_the_task() -> None:
    with pytest.raises(ConfigError, match="reads tokens to come"):
        build_language_model(
            LANGUAGE_MODEL.resolve({"arch": "cnn", "preset": "nano", "task": {"kind": "next-token"}}), 270
        )
    with pytest.raises(ConfigError, match="encoder has no segments; take bert"):
        build_language_model(config_of("encoder", task={"next_sentence": True}), 270)
    small = {"d_model": 16, "d_hidden": 8}
    with pytest.raises(ConfigError, match="tied=False"):
        build_language_model(
            LANGUAGE_MODEL.resolve({"arch": "lstm"}, {"model": small, "task": {"tied": True}}), 270
        )


@pytest.mark.parametrize("arch", ["gpt", "bert"])
def test_a_run_is_loaded_as_it_was_saved(arch: str, tokenizer: Tokenizer, tmp_path: Path) -> None:
    config, folder = config_of(arch), tmp_path / "run"
    module = build_language_model(config, tokenizer.vocab_size)
    begin_language_run(folder, config, tokenizer, {"sources": []})
    with pytest.raises(CheckpointError, match=r"no model\.safetensors; the run has not finished"):
        load_language_model(folder)
    finish_run(folder, module, tokenizer, {"arch": arch})
    loaded = load_language_model(folder)
    assert verify(folder) == []
    assert (loaded.config, loaded.tokenizer, loaded.about["arch"]) == (config, tokenizer, arch)
    assert not loaded.module.training
    for (name, one), (_, two) in zip(
        module.state_dict().items(), loaded.module.state_dict().items(), strict=True
    ):
        assert torch.equal(one, two), name
    with pytest.raises(CheckpointError, match="a language model, not a classifier"):
        CLASSIFIER.load(folder)
    with pytest.raises(CheckpointError, match="a language model, not a classifier"):
        shared_validation_rows([folder, folder])  # as `senti ensemble` does
    with pytest.raises(CheckpointError, match="holds a run already"):
        begin_language_run(folder, config, tokenizer, {})


def test_a_run_that_was_changed_is_refused(tokenizer: Tokenizer, tmp_path: Path) -> None:
    config, folder = config_of(), tmp_path / "run"
    begin_language_run(folder, config, tokenizer, {"sources": []})
    finish_run(folder, build_language_model(config, tokenizer.vocab_size), tokenizer, {})
    with pytest.raises(CheckpointError, match="no such folder"):
        load_language_model(tmp_path / "other")
    train_bpe(texts=["another text"], vocab_size=265).save(folder / "tokenizer.json")
    with pytest.raises(CheckpointError, match=r"tokenizer\.json: changed since it was written"):
        load_language_model(folder)
    assert "the tokenizer is not the one the weights were trained with" in verify(folder)
