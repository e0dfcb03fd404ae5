"""`--arch hf:PATH`: models of transformers that are built here, trained and run as any other."""

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from labelled_reviews import rows, write
from sampled_cases import chosen, sample
from senti_in_process import senti
from sentimodels import Classifier
from sentimodels.config import OptimConfig
from sentimodels.data.table import Labels
from sentimodels.errors import CheckpointError, ConfigError
from sentimodels.explain import MOST_GRADIENTS, attribute
from sentimodels.models import build
from sentimodels.models.hf import Hf, HfConfig
from sentimodels.nn.class_head import SequenceClassifier
from sentimodels.runs.card import card
from sentimodels.runs.execute import Callbacks, resume, train
from sentimodels.runs.families import resolve
from sentimodels.runs.init_weights import inherit_config
from sentimodels.runs.pretrained import check_pooling, load_pretrained
from sentimodels.runs.verify import verify
from sentimodels.text.vocabulary import Inputs
from sentimodels.training.optimizer import Optimizers
from sentitok import Tokenizer, train_bpe, train_wordpiece

transformers = pytest.importorskip("transformers", reason="transformers is not installed")

TEXTS = [text for text, _ in rows(300)]
# Model type: the class of its configuration, sizes, whether its tokenizer is WordPiece.
KINDS: dict[str, tuple[str, dict[str, Any], bool]] = {
    "bert": ("BertConfig", {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2,
                            "intermediate_size": 64}, True),
    "distilbert": ("DistilBertConfig", {"dim": 32, "n_layers": 1, "n_heads": 2, "hidden_dim": 64}, True),
    "roberta": ("RobertaConfig", {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2,
                                  "intermediate_size": 64, "pad_token_id": 1}, False),
    "modernbert": ("ModernBertConfig", {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
                                        "intermediate_size": 64, "local_attention": 8}, False),
    "gpt2": ("GPT2Config", {"n_embd": 32, "n_layer": 1, "n_head": 2}, False),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _seeded_torch() -> None:
    torch.manual_seed(0)


def tokenizer_of(kind: str) -> Tokenizer:
    if KINDS[kind][2]:
        return train_wordpiece(texts=TEXTS, vocab_size=200)
    special = ["<|endoftext|>"] if kind == "gpt2" else ["<s>", "<pad>", "</s>", "<mask>"]
    return train_bpe(texts=TEXTS, vocab_size=330, special_tokens=special)


def saved(folder: Path, kind: str) -> Any:
    """A model of theirs in a folder, with its tokenizer."""
    tokenizer = tokenizer_of(kind)
    made, size, _ = KINDS[kind]
    config: dict[str, Any] = {**size, "vocab_size": tokenizer.vocab_size}
    if kind == "modernbert":
        ids = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "cls_token_id": 0, "sep_token_id": 2}
        config |= ids
    theirs = transformers.AutoModel.from_config(getattr(transformers, made)(**config)).eval()
    theirs.save_pretrained(folder)
    tokenizer.save(folder / "tokenizer.json")
    return theirs


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("hf")
    # Made before the seed of each test is set: else the weights are those of the tests that ran before.
    torch.manual_seed(0)
    for kind in KINDS:
        saved(made / kind, kind)
    write(made / "reviews.csv", 240)
    return made


@pytest.mark.parametrize("kind", KINDS)
def test_states_are_theirs(kind: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the weights of the folder; padding changes nothing."""
    arch = f"hf:{folder / kind}"
    config = resolve({"arch": arch})
    n_ids = tokenizer_of(kind).vocab_size
    pad = 0 if KINDS[kind][2] else 1
    module = build(arch, config.model, Inputs(n_ids + (kind == "gpt2"), 3, n_ids if kind == "gpt2" else pad))
    assert isinstance(module, SequenceClassifier)
    assert isinstance(module.backbone, Hf)
    said, *rest = load_pretrained(module, arch)
    assert said.endswith("tensors are where the model starts; the head starts fresh")
    pooled = any("pooler." in name for name in load_file(folder / kind / "model.safetensors"))
    assert [" not used: pooler." in one for one in rest] == [True] * pooled
    shown = capsys.readouterr()
    assert not shown.out + shown.err  # transformers' own report and bar
    theirs = transformers.AutoModel.from_pretrained(folder / kind).eval()
    ids = torch.randint(5, n_ids, (2, 12))
    mask = torch.arange(12) < torch.tensor([12, 7])[:, None]
    padded = ids.masked_fill(~mask, n_ids if kind == "gpt2" else pad)
    with torch.no_grad():
        found = module.backbone.eval()(padded, mask)
        for row, length in enumerate((12, 7)):
            alone = theirs(ids[row : row + 1, :length]).last_hidden_state[0]
            torch.testing.assert_close(found[row, :length], alone, atol=1e-5, rtol=0)
    assert module.eval()(padded, mask).shape == (2, 3)


SIZES = {"hidden_size": 8, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 8}
# Model type: settings of three layers.
LAYERED: dict[str, dict[str, Any]] = {
    "distilbert": {"dim": 8, "n_layers": 3, "n_heads": 2, "hidden_dim": 8},
    "gpt2": {"n_embd": 8, "n_layer": 3, "n_head": 2},
    **dict.fromkeys(("bert", "roberta", "modernbert", "electra", "deberta-v2", "llama", "gpt_neox"), SIZES),
}


@pytest.mark.parametrize("kind", LAYERED)
def test_lower_layers_move_slower(kind: str) -> None:
    settings = {"model_type": kind, "vocab_size": 30, "pad_token_id": 1, **LAYERED[kind]}
    module = build("hf:x", HfConfig(settings=json.dumps(settings)), Inputs(30, 3, 1))
    optimizers = Optimizers(module, OptimConfig(layer_decay=0.5), sparse=())
    factors: dict[str, set[float]] = {}
    for group in (group for optimizer in optimizers.all.values() for group in optimizer.param_groups):
        for name in (optimizers.names[id(parameter)] for parameter in group["params"]):
            layer = re.search(r"(?:layers?|h)\.(\d)\.", name)
            place = layer[1] if layer else "below" if re.search("embed|wte|wpe", name) else "above"
            factors.setdefault(place, set()).add(group["factor"])
    assert factors == {"below": {0.5**4}, "0": {0.5**3}, "1": {0.5**2}, "2": {0.5}, "above": {1.0}}


@pytest.mark.parametrize("kind", chosen(KINDS, "bert", "gpt2"))
def test_training_as_any_other(kind: str, folder: Path, tmp_path: Path) -> None:
    """A run that its folder is not needed for any more."""
    there = shutil.copytree(folder / kind, tmp_path / kind)
    config = resolve({
        "arch": f"hf:{there}",
        "data": {"train": str(folder / "reviews.csv"), "max_tokens": 24},
        "optim": {"lr": 3e-3},
        "train": {"threads": 1, "epochs": 5, "batch_size": 16, "baseline": False},
    })  # fmt: skip
    about = train(config, tmp_path / "run")
    shutil.rmtree(there)
    assert about["fit"]["best"] > 0.8
    assert verify(tmp_path / "run") == []
    facts = card(tmp_path / "run")
    assert facts["arch"] == f"hf:{kind}"
    assert str(tmp_path) not in json.dumps(facts)
    assert "optim.lr" in facts["settings"]
    assert "model.settings" not in facts["settings"]
    model = Classifier.load(tmp_path / "run")
    assert model.labels == Labels(["neg", "pos"])
    texts = ["a great lovely film", "a dull boring film and the plot is bad", ""]
    probs = model.predict_proba(texts)
    assert model.predict(texts[:2]) == ["pos", "neg"]
    for row, text in enumerate(texts):
        np.testing.assert_allclose(model.predict_proba([text])[0], probs[row], atol=1e-5)
    parts = attribute(model, texts[0])
    if kind == "modernbert":
        # It norms each vector, so its score may jump at the start, where no number of gradients adds up.
        assert parts.gap <= 1e-3 or parts.n_gradients > MOST_GRADIENTS - 8
    else:
        assert parts.gap <= 1e-3
    missed = parts.effects.sum(0) - (parts.scores - parts.baseline)
    assert parts.gap == pytest.approx(np.abs(missed).max(), abs=1e-5)
    assert np.abs(parts.effects).max() > 1e-3


def test_a_run_is_where_another_starts_without_the_folder(folder: Path, tmp_path: Path) -> None:
    there = shutil.copytree(folder / "bert", tmp_path / "bert")
    tree: dict[str, Any] = {
        "data": {"train": str(folder / "reviews.csv"), "max_tokens": 24},
        "train": {"threads": 1, "max_steps": 3, "batch_size": 16, "baseline": False},
    }
    train(resolve({"arch": f"hf:{there}", **tree}), tmp_path / "base")
    shutil.rmtree(there)
    again = {"arch": f"hf:{os.path.relpath(there)}"}  # as it was typed, or may be
    tree |= {"train": {**tree["train"], "init_from": str(tmp_path / "base")}, "optim": {"lr": 1e-12}}
    said: list[str] = []
    train(
        resolve(*inherit_config(tree)),
        tmp_path / "run",
        callbacks=Callbacks(on_warning=said.append),
    )
    train(
        resolve(*inherit_config(tree, again)),
        tmp_path / "named",
        callbacks=Callbacks(on_warning=said.append),
    )
    base, run = (load_file(tmp_path / name / "model.safetensors") for name in ("base", "run"))
    assert [note for note in said if f"{len(base)} of {len(base)} tensors are where" in note]
    for name, value in base.items():
        torch.testing.assert_close(run[name], value, atol=1e-6, rtol=0)


def test_weights_of_another_shape_are_named(folder: Path, tmp_path: Path) -> None:
    there = shutil.copytree(folder / "gpt2", tmp_path / "gpt2")
    settings = json.loads((there / "config.json").read_text("utf-8"))
    (there / "config.json").write_text(json.dumps({**settings, "n_embd": 64}), "utf-8")
    config = resolve({"arch": f"hf:{there}"})
    module = build(config.arch, config.model, Inputs(50, 2, 0))
    with pytest.raises(
        CheckpointError, match=r"h\.0\.attn\.c_attn\.bias is \[96\], config\.json asks for \[192\]"
    ):
        load_pretrained(module, config.arch)


# Damages of a config.json, and the messages.
DAMAGED: list[tuple[dict[str, Any], str]] = [
    ({"hidden_size": "x"}, "hidden_size"),
    ({"num_attention_heads": 3}, "hidden size .* multiple of the number of"),
    ({"hidden_act": "foo"}, "foo"),
    ({"vocab_size": None}, "vocab_size"),
    ({"num_attention_heads": 0}, "zero"),
    ({"intermediate_size": -1}, "negative dimension"),
    ({"model_type": "trocr"}, r"Unrecognized configuration class .{0,200}$"),
]


@pytest.mark.parametrize(("changes", "said"), sample(3, DAMAGED), ids=lambda value: str(value)[:30])
def test_settings_that_transformers_refuses_are_named(changes: dict[str, Any], said: str) -> None:
    settings = {"model_type": "bert", **KINDS["bert"][1], "vocab_size": 30, **changes}
    with pytest.raises(ConfigError, match=rf"model\.settings: no config\.json of transformers: .*{said}"):
        build("hf:x", HfConfig(settings=json.dumps(settings)), Inputs(30, 3, 1))


def test_only_padding_may_have_no_vector() -> None:
    settings = json.dumps({"model_type": "bert", **KINDS["bert"][1], "vocab_size": 30})
    build("hf:x", HfConfig(settings=settings), Inputs(31, 3, pad_id=30))
    with pytest.raises(ConfigError, match=r"has 31 ids, the model 30: .* \(resize_token_embeddings\)"):
        build("hf:x", HfConfig(settings=settings), Inputs(31, 3, pad_id=0))


def test_the_first_state_of_a_causal_model_is_no_summary(folder: Path) -> None:
    for kind in KINDS:
        config = resolve({"arch": f"hf:{folder / kind}", "model": {"pooling": "first"}})
        module = build(config.arch, config.model, Inputs(tokenizer_of(kind).vocab_size, 2, 0))
        if kind == "gpt2":
            with pytest.raises(ConfigError, match="reads from left to right sees one token: use last or"):
                check_pooling(module)
        else:
            check_pooling(module)


def test_places_that_begin_after_padding(tmp_path: Path) -> None:
    theirs = transformers.MPNetModel(transformers.MPNetConfig(
        vocab_size=30, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8,
        max_position_embeddings=40,
    ))  # fmt: skip
    theirs.save_pretrained(tmp_path)
    tokenizer_of("bert").save(tmp_path / "tokenizer.json")
    config = resolve({"arch": f"hf:{tmp_path}"})
    assert config.data.max_tokens == 38
    module = build(config.arch, config.model, Inputs(30, 2, 1)).eval()
    with torch.no_grad():
        assert module(torch.full((1, 38), 5)).shape == (1, 2)
    with pytest.raises(ConfigError, match="longer than the 38 places of the model"):
        resolve({"arch": f"hf:{tmp_path}", "data": {"max_tokens": 39}})


def test_texts_are_cut_to_the_places_that_there_are(folder: Path, tmp_path: Path) -> None:
    there = shutil.copytree(folder / "roberta", tmp_path / "roberta")
    settings = json.loads((there / "config.json").read_text("utf-8"))
    assert resolve({"arch": f"hf:{there}"}).data.max_tokens == 256
    (there / "config.json").write_text(json.dumps({**settings, "max_position_embeddings": 66}), "utf-8")
    assert resolve({"arch": f"hf:{there}"}).data.max_tokens == 64
    assert resolve({"arch": f"hf:{there}", "data": {"max_tokens": 20}}).data.max_tokens == 20
    odd = {**settings, "max_position_embeddings": 66, "pad_token_id": None}
    (there / "config.json").write_text(json.dumps(odd), "utf-8")
    assert resolve({"arch": f"hf:{there}"}).data.max_tokens == 64
    (there / "config.json").write_text(json.dumps({**settings, "max_position_embeddings": -1}), "utf-8")
    assert resolve({"arch": f"hf:{there}"}).data.max_tokens == 256
    (there / "config.json").write_text("[1]", "utf-8")
    with pytest.raises(ConfigError, match=r"no config\.json of transformers"):
        build(f"hf:{there}", resolve({"arch": f"hf:{there}"}).model, Inputs(50, 2, 0))


def test_a_stopped_run_goes_on_to_the_same_weights(folder: Path, tmp_path: Path) -> None:
    config = resolve({
        "arch": f"hf:{folder / 'bert'}",
        "data": {"train": str(folder / "reviews.csv"), "max_tokens": 24},
        "train": {"threads": 1, "epochs": 1, "batch_size": 16, "baseline": False, "save_every": 1},
    })  # fmt: skip
    train(config, tmp_path / "whole")
    asked = iter([False] * 5 + [True] * 9)
    train(config, tmp_path / "stopped", callbacks=Callbacks(should_stop=lambda: next(asked)))
    resume(tmp_path / "stopped")
    whole, stopped = (Classifier.load(tmp_path / name)._module.state_dict() for name in ("whole", "stopped"))
    for name, value in whole.items():
        assert torch.equal(value, stopped[name]), name


def test_the_command(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "distilbert", tmp_path / "models" / "distilbert")
    options = ("--epochs", "1", "--threads", "1", "--no-baseline", "--set", "data.max_tokens=24")
    done = senti("train", folder / "reviews.csv", "--arch", "hf:models/distilbert", *options, cwd=tmp_path)
    assert done.code == 0, done.err
    assert "tensors are where the model starts" in done.err
    run = tmp_path / "runs" / "distilbert"
    assert f'arch = "hf:{tmp_path}/models/distilbert"' in (run / "config.toml").read_text("utf-8")
    done = senti("predict", run, "-q", cwd=tmp_path, stdin="a great lovely film\n")
    assert done.out in ("pos\n", "neg\n")


def test_what_cannot_be(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"no config\.json; --arch hf:PATH takes a folder"):
        resolve({"arch": f"hf:{tmp_path}"})
    for name in ("bert", "roberta"):
        with pytest.raises(ConfigError, match=r"data\.max_tokens 600: longer than the 51[02] places"):
            resolve({"arch": f"hf:{folder / name}", "data": {"max_tokens": 600}})
    there = shutil.copytree(folder / "bert", tmp_path / "bert")
    (there / "tokenizer.json").unlink()
    with pytest.raises(CheckpointError, match=r"no tokenizer\.json; save the model's fast tokenizer"):
        resolve({"arch": f"hf:{there}"})
    tokens = {"data": {"tokenizer": str(folder / "bert" / "tokenizer.json")}}
    config = resolve({"arch": f"hf:{there}", **tokens})
    module = build(config.arch, config.model, Inputs(50, 2, 0))
    whole = (there / "model.safetensors").read_bytes()
    (there / "model.safetensors").write_bytes(whole[:-100])
    with pytest.raises(CheckpointError, match="bert: unreadable: "):
        load_pretrained(module, config.arch)
    (there / "model.safetensors").rename(there / "pytorch_model.bin")
    with pytest.raises(CheckpointError, match=r"no safetensors; pickles \(\.bin\) can run code"):
        load_pretrained(module, config.arch)
    with pytest.raises(ConfigError, match="the tokenizer has 9999 ids, the model"):
        build(config.arch, config.model, Inputs(9999, 2, 0))
    (there / "config.json").write_text(json.dumps({"model_type": "t5"}))
    with pytest.raises(ConfigError, match="model_type 't5': it has no states of one text"):
        build(f"hf:{there}", resolve({"arch": f"hf:{there}", **tokens}).model, Inputs(50, 2, 0))
    (there / "config.json").write_text(json.dumps({"model_type": "no such"}))
    with pytest.raises(ConfigError, match=r"no config\.json of transformers"):
        build(f"hf:{there}", resolve({"arch": f"hf:{there}", **tokens}).model, Inputs(50, 2, 0))
