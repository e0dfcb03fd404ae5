"""GPT-2 and BERT of transformers, read and written: equal logits, equal weights."""

import contextlib
import json
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from typer.main import get_group

from language_runs import GPT_2, language_run, moved, tokenizer_of
from senti_in_process import senti
from sentimodels import LanguageModel
from sentimodels.cli.app import build
from sentimodels.errors import CheckpointError, ConfigError
from sentimodels.export.transformers.folder import export_model, import_model
from sentimodels.models.language import CausalModel, MaskedModel
from sentimodels.runs.language_directory import load_language_model
from sentimodels.runs.verify import verify
from sentitok import train_bpe

transformers = pytest.importorskip("transformers", reason="transformers is not installed")

COMMANDS = get_group(build()).commands
GPT_SIZE = {"n_embd": 24, "n_layer": 2, "n_head": 2, "n_positions": 40}
BERT_SIZE = {
    "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 50,
    "max_position_embeddings": 40,
}  # fmt: skip


def close(found: torch.Tensor, expected: torch.Tensor) -> None:
    """Compares logits, which are of the order of 1."""
    torch.testing.assert_close(found, expected, atol=2e-5, rtol=0)


@pytest.fixture(autouse=True)
def _seeded_torch() -> None:
    torch.manual_seed(0)


def ids_of(n_words: int) -> torch.Tensor:
    return torch.randint(0, n_words, (3, 17))


def saved(folder: Path, kind: str, **settings: Any) -> Any:
    """A model of theirs with its tokenizer in a folder."""
    arch = "gpt" if kind.startswith("GPT2") else "bert"
    tokenizer = tokenizer_of(arch)
    size = {"vocab_size": tokenizer.vocab_size, **(GPT_SIZE if arch == "gpt" else BERT_SIZE), **settings}
    config = transformers.GPT2Config(**size) if arch == "gpt" else transformers.BertConfig(**size)
    theirs: Any = moved(getattr(transformers, kind)(config))
    theirs.save_pretrained(folder)
    tokenizer.save(folder / "tokenizer.json")
    return theirs


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"tie_word_embeddings": False},
        {"n_inner": 37, "activation_function": "gelu", "layer_norm_epsilon": 1e-3},
        {"activation_function": "relu"},
    ],
    ids=str,
)
def test_gpt_2_is_read(settings: dict[str, Any], tmp_path: Path) -> None:
    theirs = saved(tmp_path / "theirs", "GPT2LMHeadModel", **settings)
    loaded, notes = import_model(tmp_path / "theirs", tmp_path / "run")
    assert notes == []
    assert verify(tmp_path / "run") == []
    ours = load_language_model(tmp_path / "run")
    assert (ours.config, ours.config.data.context) == (loaded.config, 40)
    assert isinstance(ours.module, CausalModel)
    assert (ours.module.head.weight is None) == theirs.config.tie_word_embeddings
    ids = ids_of(theirs.config.vocab_size)
    with torch.no_grad():
        found, expected = ours.module.logits(ours.module(ids)), theirs(ids).logits
    close(found, expected)


@pytest.mark.parametrize("kind", ["BertForMaskedLM", "BertForPreTraining"])
def test_bert_is_read(kind: str, tmp_path: Path) -> None:
    theirs = saved(tmp_path / "theirs", kind, type_vocab_size=3)
    _, notes = import_model(tmp_path / "theirs", tmp_path / "run")
    assert notes == []
    ours = load_language_model(tmp_path / "run").module
    assert isinstance(ours, MaskedModel)
    ids, segments = ids_of(theirs.config.vocab_size), torch.randint(0, 3, (3, 17))
    mask = torch.arange(17) < torch.tensor([17, 9, 3])[:, None]
    with torch.no_grad():
        expected = theirs(ids, attention_mask=mask.long(), token_type_ids=segments)
        states = ours(ids, mask, segments)
        logits = expected.logits if kind == "BertForMaskedLM" else expected.prediction_logits
        close(ours.logits(states)[mask], logits[mask])
        assert (ours.next_sentence is None) == (kind == "BertForMaskedLM")
        if ours.next_sentence is not None:
            follows = ours.next_sentence(states)
            close(follows, expected.seq_relationship_logits)


@pytest.mark.parametrize("tied", [True, False])
def test_gpt_is_written(tied: bool, tmp_path: Path) -> None:
    ours = language_run(tmp_path / "run", "gpt", 40, model={**GPT_2, "d_ff": 37}, task={"tied": tied})
    assert isinstance(ours, CausalModel)
    export_model(load_language_model(tmp_path / "run"), tmp_path / "theirs")
    theirs, info = transformers.AutoModelForCausalLM.from_pretrained(
        tmp_path / "theirs", output_loading_info=True
    )
    assert not any(info.values())
    tokenizer = tokenizer_of("gpt")
    ids = ids_of(tokenizer.vocab_size)
    with torch.no_grad():
        close(ours.logits(ours(ids)), theirs.eval()(ids).logits)
    made = transformers.AutoTokenizer.from_pretrained(tmp_path / "theirs")
    text = "the cat sat 日本!"
    assert made(text)["input_ids"] == tokenizer.encode(text).ids.tolist()
    assert (made.eos_token, theirs.config.eos_token_id) == ("<|endoftext|>", made.eos_token_id)


@pytest.mark.parametrize("next_sentence", [True, False])
def test_bert_is_written(next_sentence: bool, tmp_path: Path) -> None:
    ours = language_run(tmp_path / "run", "bert", 40, task={"next_sentence": next_sentence})
    assert isinstance(ours, MaskedModel)
    export_model(load_language_model(tmp_path / "run"), tmp_path / "theirs")
    kind = transformers.BertForPreTraining if next_sentence else transformers.BertForMaskedLM
    theirs, info = kind.from_pretrained(tmp_path / "theirs", output_loading_info=True)
    assert not any(info.values())
    ids = ids_of(tokenizer_of("bert").vocab_size)
    with torch.no_grad():
        states, answer = ours(ids), theirs.eval()(ids)
        expected = answer.prediction_logits if next_sentence else answer.logits
        close(ours.logits(states), expected)
        if ours.next_sentence is not None:
            close(ours.next_sentence(states), answer.seq_relationship_logits)
    made = transformers.AutoTokenizer.from_pretrained(tmp_path / "theirs")
    assert (made.mask_token, made.pad_token, made.cls_token) == ("[MASK]", "[PAD]", "[CLS]")


@pytest.mark.parametrize(("arch", "model"), [("gpt", GPT_2), ("bert", {})])
def test_there_and_back_is_the_same_run(arch: str, model: dict[str, Any], tmp_path: Path) -> None:
    """Bit by bit, settings of training aside."""
    language_run(tmp_path / "run", arch, 40, model={**model, "max_len": 40})
    first = load_language_model(tmp_path / "run")
    export_model(first, tmp_path / "theirs")
    second, _ = import_model(tmp_path / "theirs", tmp_path / "again")
    assert second.tokenizer == first.tokenizer
    for name, value in first.module.state_dict().items():
        assert torch.equal(value, second.module.state_dict()[name]), name
    model_of = [one.config.model.model_dump() for one in (first, second)]
    for one in model_of:
        one.pop("d_ff")  # said or left to the default
    assert model_of[0] == model_of[1]


def test_names_of_older_files(tmp_path: Path) -> None:
    """Without the prefix, with masks, in parts; norms with gamma and beta."""
    theirs = saved(tmp_path / "theirs", "GPT2Model")
    path = tmp_path / "theirs" / "model.safetensors"
    tensors = load_file(path) | {"h.0.attn.bias": torch.ones(1, 1, 4, 4)}
    names = sorted(tensors)
    parts = {"one.safetensors": names[::2], "two.safetensors": names[1::2]}
    for file, some in parts.items():
        save_file({name: tensors[name] for name in some}, tmp_path / "theirs" / file)
    index = {"weight_map": {name: file for file, some in parts.items() for name in some}}
    (tmp_path / "theirs" / "model.safetensors.index.json").write_text(json.dumps(index))
    path.unlink()
    loaded, notes = import_model(tmp_path / "theirs", tmp_path / "run")
    ids = ids_of(theirs.config.vocab_size)
    with torch.no_grad():
        close(loaded.module(ids), theirs(ids).last_hidden_state)
    assert notes == []
    bert = saved(tmp_path / "bert", "BertForMaskedLM")
    path = tmp_path / "bert" / "model.safetensors"
    renamed = {
        name.replace("Norm.weight", "Norm.gamma").replace("Norm.bias", "Norm.beta"): value
        for name, value in load_file(path).items()
    }
    extra = {"bert.pooler.dense.weight": torch.ones(24, 24), "bert.embeddings.position_ids": torch.arange(40)}
    save_file(renamed | extra, path)
    loaded, notes = import_model(tmp_path / "bert", tmp_path / "other")
    assert notes == ["1 tensors of other heads are left out: bert.pooler.dense.weight"]
    assert isinstance(loaded.module, MaskedModel)
    ids = ids_of(bert.config.vocab_size)
    with torch.no_grad():
        found = loaded.module.logits(loaded.module(ids))
        close(found, bert(ids).logits)


def test_rows_of_ids_that_no_text_has(tmp_path: Path) -> None:
    n_words = tokenizer_of("gpt").vocab_size
    theirs = saved(tmp_path / "theirs", "GPT2LMHeadModel", vocab_size=n_words + 7)
    loaded, notes = import_model(tmp_path / "theirs", tmp_path / "run")
    assert len(notes) == 1
    assert "7 rows of backbone.embedding.weight" in notes[0]
    ids = ids_of(n_words)
    assert isinstance(loaded.module, CausalModel)
    with torch.no_grad():
        found = loaded.module.logits(loaded.module(ids))
        close(found, theirs(ids).logits[..., :n_words])


def _as_vocab_txt(folder: Path) -> None:
    """Has a folder hold BERT's own file instead of tokenizer.json."""
    (folder / "tokenizer.json").unlink()
    vocab = sorted(tokenizer_of("bert").vocab().items(), key=lambda item: item[1])
    (folder / "vocab.txt").write_text("".join(f"{token}\n" for token, _ in vocab), "utf-8")


def _as_vocab_json(folder: Path) -> None:
    """Has a folder hold GPT-2's own files instead of tokenizer.json."""
    model = json.loads((folder / "tokenizer.json").read_text("utf-8"))["model"]
    (folder / "tokenizer.json").unlink()
    (folder / "vocab.json").write_text(json.dumps(model["vocab"]), "utf-8")
    merges = [pair if isinstance(pair, str) else " ".join(pair) for pair in model["merges"]]
    (folder / "merges.txt").write_text("\n".join(["#version: 0.2", *merges, ""]), "utf-8")


@pytest.mark.parametrize(
    ("arch", "kind", "written", "text", "end"),
    [
        ("bert", "BertForMaskedLM", _as_vocab_txt, "The cat", "[SEP]"),
        ("gpt", "GPT2LMHeadModel", _as_vocab_json, "the cat sat 日本!", "<|endoftext|>"),
    ],
)
def test_files_of_tokenizers(
    arch: str, kind: str, written: Callable[[Path], None], text: str, end: str, tmp_path: Path
) -> None:
    """Of BERT's and GPT-2's own kinds; the run is loaded with the ids it was written with."""
    saved(tmp_path / "theirs", kind)
    written(tmp_path / "theirs")
    loaded, _ = import_model(tmp_path / "theirs", tmp_path / "run")
    assert verify(tmp_path / "run") == []
    again = load_language_model(tmp_path / "run")
    assert (again.tokenizer, again.config.data.end) == (loaded.tokenizer, end)
    expected = tokenizer_of(arch).encode(text.lower()).ids.tolist()
    assert loaded.tokenizer.encode(text).ids.tolist() == expected
    for name in ("vocab.txt", "vocab.json"):
        (tmp_path / "theirs" / name).unlink(missing_ok=True)
    with pytest.raises(CheckpointError, match=r"no tokenizer; expected tokenizer\.json, vocab\.json"):
        import_model(tmp_path / "theirs", tmp_path / "other")


def test_pickles_are_not_read(tmp_path: Path) -> None:
    saved(tmp_path / "theirs", "GPT2LMHeadModel")
    path = tmp_path / "theirs" / "model.safetensors"
    path.rename(tmp_path / "theirs" / "pytorch_model.bin")
    with pytest.raises(CheckpointError, match=r"pytorch_model\.bin: a pickle.*save_pretrained writes safe"):
        import_model(tmp_path / "theirs", tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model_type": "llama"}, "model_type 'llama'; known are gpt2, bert"),
        ({"activation_function": "tanh"}, "activation 'tanh' is not known here"),
        ({"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx True of GPT-2"),
        ({"n_layer": 3}, r"no tensor transformer\.h\.2\."),
        ({"n_layer": 1}, r"config\.json: 1 layers, but the weights have 2; is it of the same model"),
        ({"resid_pdrop": None}, "resid_pdrop None: expected a number from 0 to less than 1"),
        ({"layer_norm_epsilon": "x"}, "layer_norm_epsilon 'x': expected a number from 0 to less than 1"),
        ({"n_inner": 9}, "expected"),
        ({"n_inner": 2_000_000_000}, "expected"),  # refused before memory is taken
        ({"n_layer": 10_000_000}, r"config\.json: 10,000,000 layers, but the weights have \d+ tensors"),
        ({"n_positions": 10**11}, "n_positions 100000000000: expected a whole number from 1 to"),
        ({"n_embd": None}, "n_embd None: expected a whole number from 1 to"),
        ({"n_head": "two"}, "n_head 'two': expected a whole number from 1 to"),
    ],
)
def test_models_that_are_not_ours(change: dict[str, Any], said: str, tmp_path: Path) -> None:
    saved(tmp_path / "theirs", "GPT2LMHeadModel")
    path = tmp_path / "theirs" / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises((CheckpointError, ConfigError), match=said):
        import_model(tmp_path / "theirs", tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_head_of_its_own_is_no_bert_of_ours(tmp_path: Path) -> None:
    """Our head of masked tokens reads the table of the embedding; another one would be lost in silence."""
    saved(tmp_path / "theirs", "BertForMaskedLM", tie_word_embeddings=False)
    with pytest.raises(
        ConfigError, match=r"cls\.predictions\.decoder\.weight differs from bert\.embeddings\.word"
    ):
        import_model(tmp_path / "theirs", tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("kind", ["BertModel", "BertForSequenceClassification"])
def test_a_bert_without_a_head_for_masked_tokens_is_called_that(kind: str, tmp_path: Path) -> None:
    saved(tmp_path / "theirs", kind)
    with pytest.raises(ConfigError, match=r"no head for masked tokens \(cls\.predictions\).* --arch hf:PATH"):
        import_model(tmp_path / "theirs", tmp_path / "run")


def test_special_tokens_of_any_name_keep_their_roles(tmp_path: Path) -> None:
    names = ["<s>", "<pad>", "</s>", "<|mask|>"]
    named = train_bpe(texts=["the cat sat"] * 9, vocab_size=270, special_tokens=names)
    language_run(tmp_path / "run", "bert", 40, named)
    export_model(load_language_model(tmp_path / "run"), tmp_path / "theirs")
    about = json.loads((tmp_path / "theirs" / "tokenizer_config.json").read_text())
    roles = {"cls": "<s>", "sep": "</s>", "mask": "<|mask|>", "pad": "<pad>"}
    assert {name[:-6]: token for name, token in about.items() if name.endswith("_token")} == roles
    theirs = transformers.BertForMaskedLM.from_pretrained(tmp_path / "theirs")
    assert theirs.config.pad_token_id == named.token_to_id("<pad>")


@pytest.mark.parametrize(
    ("name", "content"),
    [("config.json", "[" * 200_000), ("model.safetensors.index.json", '{"weight_map": {"a": 1}}')],
    ids=["nested", "no name"],
)
def test_json_that_is_no_description_of_a_model(name: str, content: str, tmp_path: Path) -> None:
    saved(tmp_path / "theirs", "GPT2LMHeadModel")
    (tmp_path / "theirs" / name).write_text(content)
    if name.endswith("index.json"):  # which is read only where there is no whole file
        import_model(tmp_path / "theirs", tmp_path / "whole")
        (tmp_path / "theirs" / "model.safetensors").unlink()
    with pytest.raises(CheckpointError, match=rf"{re.escape(name)}: unreadable"):
        import_model(tmp_path / "theirs", tmp_path / "run")


@pytest.mark.parametrize(
    ("arch", "model", "said"),
    [
        (
            "gpt",
            {},
            "model.positions rotary, model.norm rms, model.biases false, model.activation swiglu have no "
            "place in GPT-2's layout; train a new run with --set model.positions=learned "
            "--set model.norm=layer --set model.biases=true --set model.activation=gelu-tanh$",
        ),
        ("gpt", {**GPT_2, "norm_order": "post"}, "model.norm_order post has no place"),
        ("gpt", {**GPT_2, "n_kv_heads": 1}, "model.n_kv_heads 1"),
        ("gpt", {**GPT_2, "activation": "swiglu"}, "model.activation swiglu has"),
        ("bert", {"norm": "rms"}, "model.norm rms has no place in BERT's layout"),
        ("bert", {"activation": "relu"}, "model.activation relu has"),
        ("mamba", {}, "arch mamba: transformers has no layout for it; there is one for gpt"),
    ],
)
def test_models_that_are_not_theirs(arch: str, model: dict[str, Any], said: str, tmp_path: Path) -> None:
    language_run(tmp_path / "run", arch, model=model)
    with pytest.raises(ConfigError, match=said):
        export_model(load_language_model(tmp_path / "run"), tmp_path / "theirs")
    assert not (tmp_path / "theirs").exists()


def test_the_commands(tmp_path: Path) -> None:
    language_run(tmp_path / "runs" / "base", "gpt", 40, model=GPT_2)
    shown = []
    for name in ("export", "import"):
        epilog = str(COMMANDS[name].epilog)
        found = [line.removeprefix("$ ") for line in epilog.splitlines() if line.startswith("$ ")]
        assert len(found) >= 2
        for line in (line for line in found if not re.search("--onnx|--numpy", line)):  # their own tests do
            done = senti(*shlex.split(line)[1:], cwd=tmp_path)
            assert done.code == 0, done.err
            shown += re.findall(r"^next +in Python: (.+)$", done.out, re.M)
    with contextlib.chdir(tmp_path):
        assert [eval(one, {"transformers": transformers}).lm_head.in_features for one in shown] == [24]
    assert done.out == "runs/again\n"
    first, again = (LanguageModel.load(tmp_path / "runs" / name) for name in ("base", "gpt2"))
    assert first.generate("the cat", seed=1) == again.generate("the cat", seed=1)
    assert first.end == again.end == "<|endoftext|>"
    (tmp_path / "gpt2" / "config.json").write_text("{}")
    done = senti("export", "runs/base", "-o", "gpt2", cwd=tmp_path)
    assert (done.code, "gpt2/config.json" in done.err, "--force" in done.err) == (2, True, True)
    assert senti("export", "runs/base", "-o", "gpt2", "--force", cwd=tmp_path).code == 0
    assert (tmp_path / "gpt2" / "config.json").read_text() != "{}"
    done = senti("import", "gpt2", "-o", "runs/base", cwd=tmp_path)
    assert (done.code, "holds a run already" in done.err) == (2, True)
    done = senti("export", "runs/base", "--to", "gguf", "-o", "x", cwd=tmp_path)
    assert (done.code, "--to gguf: expected transformers" in done.err) == (2, True)
    shutil.rmtree(tmp_path / "gpt2")
    done = senti("import", "gpt2", "-o", "runs/x", cwd=tmp_path)
    assert (done.code, "gpt2: no such folder" in done.err) == (2, True)
    (tmp_path / "gpt2").mkdir()
    done = senti("import", "gpt2", "-o", "runs/x", cwd=tmp_path)
    assert (done.code, "gpt2: no config.json" in done.err) == (2, True)
