"""`--init`: what `senti train` and `senti pretrain` take over from a base, and what they refuse.

`test_senti_pretrain.py` tests pre-training itself.
"""

import json
import re
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from pretrained_runs import SMALL, pretrained
from senti_in_process import senti
from sentimodels.runs.directory import load_run
from sentimodels.runs.families import LANGUAGE_MODEL
from sentitok import Tokenizer, train_bpe


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reviews, with labels and without, and runs of language models on them."""
    return pretrained(tmp_path_factory.mktemp("bases"), "few", "more", "bert", "mamba")


TRAIN = ["reviews.csv", "--no-baseline", "--threads", "1", "--epochs", "1", "--batch-size", "32"]


@pytest.mark.parametrize("base", ["few", "more", "bert", "mamba"])
def test_a_classifier_starts_from_a_language_model(base: str, folder: Path) -> None:
    out = f"classifiers/{base}"
    # Nothing moves but the head, so that what it began with can be seen.
    freeze = ["--freeze", "backbone.", "--set", "train.ema=0"]
    done = senti("train", *TRAIN, *freeze, "--init", f"lm/{base}", "-o", out, cwd=folder)
    assert done.code == 0, done.err
    before, after = (load_file(folder / path / "model.safetensors") for path in (f"lm/{base}", out))
    shared = [name for name in before if name.startswith("backbone.")]
    assert len(shared) > 5
    for name in shared:
        assert torch.equal(after[name][: len(before[name])], before[name]), name
        assert not after[name][len(before[name]) :].any()  # the row of padding
    run, there = load_run(folder / out), json.loads((folder / f"lm/{base}/run.json").read_text())
    assert run.encoder.fingerprint == _fingerprint(folder / f"lm/{base}")
    model, of_base = run.config.model.model_dump(), resolve_of(folder / f"lm/{base}")
    for key in ("positions", "max_len", "norm", "norm_order", "activation", "causal", "rope_theta", "biases"):
        assert model.get(key) == of_base.get(key), key
    assert model["embedding_dropout"] == 0.1
    assert run.config.data.max_tokens == there["context"]
    used = len(shared)
    assert re.search(rf"{used} of {len(before)} tensors are where the model starts", done.err)
    if base == "bert":
        assert "not used: head.bias (no such parameter), head.layer.bias" in done.err
    assert "start fresh: head." in done.err


def _fingerprint(run: Path) -> str:
    return Tokenizer.from_file(run / "tokenizer.json").fingerprint


def resolve_of(run: Path) -> dict[str, object]:
    return LANGUAGE_MODEL.load(run).model.model_dump()


def test_a_language_model_goes_on_from_another(folder: Path) -> None:
    """No setting of the base need be repeated; given ones have priority."""
    args = ["books.txt", "--init", "lm/few", "--steps", "1", "--threads", "1"]
    done = senti("pretrain", *args, "-o", "lm-on/same", cwd=folder)
    assert done.code == 0, done.err
    before, after = (resolve_of(folder / run) for run in ("lm/few", "lm-on/same"))
    assert after == before
    n_tensors = len(load_file(folder / "lm/few/model.safetensors"))
    assert f"{n_tensors} of {n_tensors} tensors are where the model starts" in done.err
    assert _fingerprint(folder / "lm-on/same") == _fingerprint(folder / "lm/few")
    shorter = senti("pretrain", *args, "--context", "16", "-o", "lm-on/shorter", cwd=folder)
    assert shorter.code == 0, shorter.err
    assert json.loads((folder / "lm-on/shorter/run.json").read_text())["context"] == 16
    other = senti("pretrain", *args, *SMALL, "--arch", "bert", "-o", "lm-on/other", cwd=folder)
    assert other.code == 2
    assert "that run is a gpt, this one a bert: take --arch gpt, or leave out --init" in other.err
    moved = senti("pretrain", *args, "--positions", "alibi", "-o", "lm-on/moved", cwd=folder)
    assert moved.code == 0, moved.err
    assert "read otherwise here: model.positions alibi (there learned)" in moved.err
    vocab = senti("pretrain", *args, "--vocab", "300", "--dry-run", cwd=folder)
    assert "--vocab is not used: no tokenizer is trained, as --init gives one" in vocab.err
    more = senti("pretrain", *args, "--set", "model.n_layers=3", "-o", "lm-on/more", cwd=folder)
    assert "start fresh: backbone.transformer.blocks.2." in more.err
    assert "otherwise" not in done.err + shorter.err + more.err
    small = senti("train", *TRAIN, "--init", "lm/few", "--preset", "micro", "-o", "lm-on/cls", cwd=folder)
    assert small.code == 2
    assert "has the size 'nano', and its weights fit no other; leave out --preset" in small.err


def test_a_classifier_is_a_base_where_its_sizes_are_given(folder: Path) -> None:
    done = senti("train", *TRAIN, "--init", "lm/few", "-o", "lm-on/reviews", cwd=folder)
    assert done.code == 0, done.err
    args = ["books.txt", "--init", "lm-on/reviews", "--steps", "1", "--threads", "1", "-o", "lm-on/back"]
    done = senti("pretrain", *args, cwd=folder)
    assert done.code == 2
    assert "a classifier's sizes are not taken over; set them with --set, or leave out --init" in done.err
    done = senti("pretrain", *args, *SMALL, cwd=folder)
    assert done.code == 0, done.err
    assert "tensors are where the model starts" in done.err
    words = senti("train", *TRAIN, "--arch", "cnn", "-o", "lm-on/cnn", cwd=folder)
    assert words.code == 0, words.err
    args += ["--init", "lm-on/cnn", "-o", "lm-on/refused"]
    done = senti("pretrain", *args, cwd=folder)
    assert done.code == 2
    assert "that run reads whole words and has no tokenizer; name one with --tokenizer FILE" in done.err
    done = senti("pretrain", *args, "--tokenizer", "lm/few/tokenizer.json", cwd=folder)
    assert done.code == 2
    assert "that run is a classifier, a cnn, this one a gpt: leave out --init" in done.err


def test_rows_of_other_ids_are_not_used(folder: Path) -> None:
    tokenizer = train_bpe(
        folder / "reviews.csv", format="csv:text", vocab_size=300, special_tokens=["<|endoftext|>"]
    )
    tokenizer.save(folder / "other.json")
    args = ["--steps", "1", "--threads", "1", "--set", "task.tied=false"]
    done = senti("pretrain", "books.txt", *SMALL, *args, "-o", "lm-on/untied", cwd=folder)
    assert done.code == 0, done.err
    args += ["--init", "lm-on/untied", "--tokenizer", "other.json", "-o", "lm-on/ids"]
    done = senti("pretrain", "books.txt", *args, cwd=folder)
    assert done.code == 0, done.err
    unused = "backbone.embedding.weight (of another tokenizer), head.weight (of another tokenizer)"
    assert f"not used: {unused}\n" in done.err


def test_a_classifier_reads_what_its_base_read(folder: Path) -> None:
    """No token is put before a text that only a masked model has read there."""
    args = ["--tokenizer-model", "wordpiece", "--steps", "1", "--threads", "1", "-o", "lm-on/words"]
    done = senti("pretrain", "books.txt", *SMALL, *args, cwd=folder)
    assert done.code == 0, done.err
    added = {}
    for run in ("lm-on/words", "lm/bert"):
        tokenizer = Tokenizer.from_file(folder / run / "tokenizer.json")
        whole, plain = (tokenizer.encode("a b", add_special_tokens=on).tokens for on in (True, False))
        added[run] = [token for token in whole if token not in plain]
    assert added == {"lm-on/words": [], "lm/bert": ["[CLS]", "[SEP]"]}


def test_what_is_given_goes_above_the_base(folder: Path) -> None:
    args = ["--init", "lm/more", "--set", "model.causal=false", "--pooling", "mean", "--max-len", "20"]
    done = senti("train", *TRAIN, *args, "-o", "above", cwd=folder)
    assert done.code == 0, done.err
    config = load_run(folder / "above").config
    assert (config.model.model_dump()["causal"], config.model.model_dump()["pooling"]) == (False, "mean")
    assert config.data.max_tokens == 20
    # Only the positions of the base give this model the order of words.
    run = load_run(folder / "above")
    texts = run.encoder.encode(["good not bad film", "bad not good film"])
    with torch.no_grad():
        one, two = (run.module(torch.from_numpy(texts.row(i).astype("int64"))[None]) for i in range(2))
    assert not torch.allclose(one, two, atol=1e-7)
    other = senti("train", *TRAIN, "--arch", "cnn", "--init", "lm/more", "-o", "other", cwd=folder)
    assert other.code == 2
    assert "none of its tensors fits" in other.err
