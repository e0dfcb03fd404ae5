"""Causal models that translate: they read the source in a prompt."""

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from parallel_numbers import number_pairs, small_translation, write_pairs, write_parts
from sentimodels.config import ParallelConfig
from sentimodels.errors import ConfigError, DataError
from sentimodels.generation.beam import BeamOptions, beam_search
from sentimodels.generation.pair_formats import CausalWriter
from sentimodels.models.language import CausalModel, build_language_model
from sentimodels.runs.directory import finish_run
from sentimodels.runs.execute import Callbacks, recipe_of, train
from sentimodels.runs.families import LANGUAGE_MODEL, TRANSLATOR
from sentimodels.runs.init_weights import inherit_translator
from sentimodels.runs.language_directory import begin_language_run
from sentimodels.runs.plan import plan
from sentimodels.text.pairs import joint_tokenizer
from sentimodels.translator import Translator


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_parts(tmp_path)


def causal(folder: Path, **sections: dict[str, Any]) -> Any:
    tree = small_translation(folder).tree()
    tree |= {"arch": "gpt", "model": {"d_model": 32, "n_layers": 2, "n_heads": 2}}
    return TRANSLATOR.resolve(tree, {"task": {"prompt": "{source} ="}}, sections)


def test_a_causal_model_goes_on_from_a_prompt(folder: Path) -> None:
    for name, n, seed in (("train", 1500, 0), ("valid", 40, 1)):
        write_pairs(folder, name, n, seed, longest=3)
    settings: dict[str, Any] = {"train": {"epochs": 8, "batch_tokens": 200}, "optim": {"lr": 0.004}}
    train(causal(folder, task={"label_smoothing": 0.0}, **settings), folder / "run")
    translator = Translator.load(folder / "run")
    assert isinstance(translator.module, CausalModel)
    texts = ["one two three", "nine", "four four one"]
    for beam in (1, 3):
        found = translator.translate(texts, beam=beam)
        assert [best[0].text for best in found] == ["eins zwei drei", "neun", "vier vier eins"]
        for text, best in zip(texts, found, strict=True):
            alone = translator.translate([text], beam=beam)[0][0]
            assert alone.text == best[0].text
            assert alone.score == pytest.approx(best[0].score, rel=1e-3)


@pytest.mark.parametrize("arch", ["gpt", "mamba", "lstm"])
def test_prompts_of_unequal_length_are_searched_with_a_cache(arch: str) -> None:
    torch.manual_seed(0)
    small: dict[str, Any] = {"d_model": 16, "n_layers": 2}
    small |= {"gpt": {"n_heads": 2}, "mamba": {"d_head": 8}, "lstm": {"d_hidden": 16}}[arch]
    model = build_language_model(LANGUAGE_MODEL.resolve({"arch": arch, "model": small}), 12).eval()
    assert isinstance(model, CausalModel)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.5 * torch.randn_like(parameter))
    prompts = [torch.randint(2, 12, (n,)) for n in ((5, 2, 7) if model.backbone.pads_left else (5, 5, 5))]
    options = BeamOptions(beam=3, n_best=2, alpha=0.6)
    found = beam_search(CausalWriter(model, prompts), [6, 6, 6], end_id=1, options=options)
    with torch.inference_mode():
        for prompt, best in zip(prompts, found, strict=True):
            for one in best:
                whole = torch.tensor([*prompt.tolist(), *one.tokens, 1])
                log_probs = model.logits(model(whole[None, :-1]))[0].log_softmax(-1)
                told = F.nll_loss(log_probs[len(prompt) - 1 :], whole[len(prompt) :], reduction="sum")
                assert one.log_prob == pytest.approx(-float(told), rel=1e-4)
            alone = beam_search(CausalWriter(model, [prompt]), [6], end_id=1, options=options)[0]
            assert [one.tokens for one in alone] == [one.tokens for one in best]


def test_a_prompt_has_a_token() -> None:
    model = build_language_model(
        LANGUAGE_MODEL.resolve({"model": {"d_model": 16, "n_layers": 1, "n_heads": 2}}), 12
    )
    assert isinstance(model, CausalModel)
    with pytest.raises(ValueError, match="nothing to continue"):
        CausalWriter(model, [torch.tensor([], dtype=torch.long)])


def test_a_causal_base_is_fine_tuned(folder: Path) -> None:
    sources, targets = number_pairs(300)
    tokenizer = joint_tokenizer(ParallelConfig(vocab_size=320), sources, targets)
    language = LANGUAGE_MODEL.resolve({"arch": "gpt", "model": {"d_model": 32, "n_layers": 1, "n_heads": 2}})
    torch.manual_seed(7)
    base = build_language_model(language, tokenizer.vocab_size)
    begin_language_run(folder / "base", language, tokenizer, {"sources": []})
    finish_run(folder / "base", base, tokenizer, {})
    files = small_translation(folder).tree()["data"]
    tree: dict[str, Any] = {
        "data": {"train": files["train"], "valid": files["valid"]},
        "train": {"init_from": str(folder / "base"), "max_steps": 1, "threads": 1, "ema": 0.0},
        "optim": {"lr": 1e-9},
    }
    settings = TRANSLATOR.resolve(inherit_translator(tree), tree)
    assert (settings.arch, settings.model) == ("gpt", language.model)
    train(settings, folder / "run")
    tuned = Translator.load(folder / "run")
    assert tuned.tokenizer == tokenizer
    for name, value in tuned.module.state_dict().items():
        torch.testing.assert_close(value, base.state_dict()[name], atol=1e-6, rtol=0)
    for wrong, said in (
        ({"data": {"tokenizer": "x.json"}}, "has its tokenizer"),
        ({"arch": "seq2seq"}, "arch 'seq2seq': .* is 'gpt'"),
        ({"model": {"d_model": 64}}, "model.d_model 64: .* has 32; leave it out, or train without --init"),
        ({"model": {"n_heads": 4}}, "model.n_heads 4: .* has 2"),  # its weights fit, and would mean another
    ):
        with pytest.raises(ConfigError, match=said):
            inherit_translator({**wrong, "train": tree["train"]})
    assert (
        inherit_translator({"model": {"d_model": 32, "dropout": 0.3}, "train": tree["train"]})["arch"]
        == "gpt"
    )
    # A translation run is a start as well.
    assert inherit_translator({"train": {"init_from": str(folder / "run")}})["arch"] == "gpt"


def test_a_base_with_few_learned_places_is_fine_tuned(folder: Path) -> None:
    # As an imported GPT-2 is; its context is shorter than the one that a language model has by default.
    sources, targets = number_pairs(300)
    tokenizer = joint_tokenizer(ParallelConfig(vocab_size=320), sources, targets)
    small = {"d_model": 32, "n_layers": 1, "n_heads": 2, "positions": "learned", "max_len": 24}
    language = LANGUAGE_MODEL.resolve({"arch": "gpt", "model": small, "data": {"context": 24}})
    base = build_language_model(language, tokenizer.vocab_size)
    begin_language_run(folder / "base", language, tokenizer, {"sources": []})
    finish_run(folder / "base", base, tokenizer, {})
    write_pairs(folder, "valid", 40, 1, longest=2)
    files = small_translation(folder).tree()["data"]
    tree: dict[str, Any] = {
        "data": {"train": files["train"], "valid": files["valid"]},
        "train": {"init_from": str(folder / "base"), "max_steps": 1, "threads": 1},
    }
    said: list[str] = []
    about = train(
        TRANSLATOR.resolve(inherit_translator(tree), tree),
        folder / "run",
        callbacks=Callbacks(on_warning=said.append),
    )
    assert 0 < about["pairs"]["left_out"] < 1500
    assert any("or than the positions of the model reach" in one for one in said)
    assert len(Translator.load(folder / "run").translate(["one two"])[0]) == 1
    # Pairs that validate are not left out without a word, nor found after hours of training.
    write_pairs(folder, "valid", 40, 1, longest=40)
    too_long = TRANSLATOR.resolve(inherit_translator(tree), tree)
    said_of_it = r"pair \d+ of validation has \d+ and \d+ tokens.*Cut them or leave them out"
    with pytest.raises(DataError, match=said_of_it):
        train(too_long, folder / "other")
    with pytest.raises(DataError, match=said_of_it):
        plan(recipe_of(too_long))
    assert not (folder / "other").exists()
    # Of a part that is split off, they are left out.
    tree["data"] = {"train": files["train"], "valid_share": 0.2}
    said.clear()
    parted = TRANSLATOR.resolve(inherit_translator(tree), tree)
    about = train(parted, folder / "parted", callbacks=Callbacks(on_warning=said.append))
    (note,) = [one for one in said if "validation pairs are left out: a side is empty, or longer" in one]
    n_beyond, _, n_all = note.split()[:3]
    assert about["pairs"]["valid"] == int(n_all) - int(n_beyond) > 0
