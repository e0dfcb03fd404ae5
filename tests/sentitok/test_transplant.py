"""`sentitok.transplant`: a model under another tokenizer, compared with a slow computation of each row."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import sentitok
from cli_runs import run_inside as run
from commands import environment
from sentitok import AddedToken, FormatError, Tokenizer
from sentitok.cli import transplant as command
from sentitok.embeddings import METHODS, transplanting
from sentitok.embeddings.matching import Meanings
from sentitok.embeddings.tensor_files import FLOATS, TensorFile, decoded, encoded, write_tensors

CORPUS = Path(__file__).resolve().parent.parent / "data" / "corpus"
SHERLOCK = CORPUS / "sherlock-holmes.txt"
PRIDE = CORPUS / "pride-and-prejudice.txt"
WIDTH = 6

# What a format has no place for is said by the formats' own tests.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def trained(kind: str, corpus: Path = SHERLOCK) -> Tokenizer:
    texts = corpus.read_text("utf-8").splitlines()[:1500]
    makers: dict[str, Callable[[], Tokenizer]] = {
        "bytes": lambda: sentitok.train_bpe(
            texts=texts, vocab_size=700, special_tokens=["<|endoftext|>", "<|pad|>"]
        ),
        "unigram": lambda: sentitok.train_unigram(texts=texts, vocab_size=900, byte_fallback=True),
        "chars": lambda: sentitok.train_bpe(
            texts=texts, vocab_size=600, method="sentencepiece", byte_fallback=True
        ),
        "wordpiece": lambda: sentitok.train_wordpiece(texts=texts, vocab_size=800),
        "suffix": lambda: sentitok.train_bpe(
            texts=texts, vocab_size=600, unit="chars", end_of_word_suffix="</w>", unk_token="<unk>"
        ),
    }
    return makers[kind]()


@pytest.fixture(scope="module")
def tokenizers() -> dict[str, Tokenizer]:
    made = {kind: trained(kind) for kind in ("bytes", "unigram", "chars", "wordpiece", "suffix")}
    made["other"] = trained("bytes", PRIDE).with_specials(
        [AddedToken("</s>"), AddedToken("Holmes", special=False)]
    )
    return made


def write_model(
    path: Path,
    n_rows: int,
    dtype: str = "F32",
    names: tuple[str, ...] = ("model.embed_tokens.weight", "lm_head.weight"),
    **more: tuple[int, ...],
) -> dict[str, NDArray[Any]]:
    """Writes a file of random tensors; returns their bits by name."""
    rng = np.random.default_rng(1)
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(names, (n_rows, WIDTH))
    shapes |= {name.replace("__", "."): shape for name, shape in more.items()}
    shapes |= {"model.layers.0.mlp.up.weight": (n_rows, 4), "model.norm.weight": (WIDTH,)}
    tensors = {name: encoded(rng.standard_normal(shape), dtype) for name, shape in shapes.items()}
    entries = [
        (name, dtype, bits.shape, lambda bits=bits: [bits.tobytes()]) for name, bits in tensors.items()
    ]  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    write_tensors(path, entries, {"format": "pt"}, lambda _: None)
    return tensors


def read_model(path: Path) -> dict[str, NDArray[Any]]:
    file = TensorFile(path)
    return {name: np.array(file.bits(tensor)) for name, tensor in file.tensors.items()}


def meaning(tokenizer: Tokenizer, id: int) -> tuple[bool, bytes]:
    """What a token means: whether it is special, and its text. Written apart from the library's."""
    special = {token.id: token for token in tokenizer.added_tokens}
    token = tokenizer.id_to_token(id)
    assert token is not None
    if id in special:
        return special[id].special, token.encode()
    model = tokenizer.info()["model"]
    if tokenizer.info()["unit"] == "bytes":
        return False, tokenizer.id_to_bytes(id) or b""
    if byte := re.fullmatch("<0x(..)>", token):
        return False, bytes.fromhex(byte[1])
    if model == "WordPiece":
        first = token.removeprefix("##")
        return False, first.encode() if first != token or not token[0].isalnum() else b" " + token.encode()
    if token.endswith("</w>"):
        token = token.removesuffix("</w>") + " "
    return False, token.replace("▁", " ").encode()


def slow_rows(old: Tokenizer, new: Tokenizer, table: NDArray[np.float64], ids: list[int]) -> dict[int, Any]:
    """Rows of new tokens that have an old token of equal meaning, by definition."""
    there: dict[tuple[bool, bytes], list[int]] = {}
    for id in sorted(old.vocab().values()):
        there.setdefault(meaning(old, id), []).append(id)
    rows = {}
    for id in ids:
        known = there.get(meaning(new, id), [])
        spelled = [one for one in known if old.id_to_token(one) == new.id_to_token(id)]
        bytes_last = sorted(known, key=lambda one: bool(re.fullmatch("<0x..>", old.id_to_token(one) or "")))
        if known:
            rows[id] = table[(spelled or bytes_last)[0]]
    return rows


KINDS = ["bytes", "unigram", "chars", "wordpiece", "suffix", "other"]


@pytest.mark.parametrize("before", KINDS)
@pytest.mark.parametrize("after", KINDS)
def test_tokens_of_equal_meaning_keep_their_rows(
    before: str, after: str, tokenizers: dict[str, Tokenizer], tmp_path: Path
) -> None:
    old, new = tokenizers[before], tokenizers[after]
    tables = write_model(tmp_path / "model.safetensors", old.vocab_size)
    done = sentitok.transplant(old, new, tmp_path / "model.safetensors", tmp_path / "out")
    now = read_model(tmp_path / "out" / "model.safetensors")
    assert Tokenizer.from_file(tmp_path / "out" / "tokenizer.json").vocab() == new.vocab()
    n_copied = 0
    for name in ("model.embed_tokens.weight", "lm_head.weight"):
        expected = slow_rows(old, new, tables[name], sorted(new.vocab().values()))
        n_copied = len(expected)
        for id, row in expected.items():
            assert np.array_equal(now[name][id], row), new.id_to_token(id)
    assert done.copied == n_copied + len(done.renamed)
    assert done.copied + done.composed + done.filled == new.n_tokens
    assert n_copied >= (new.n_tokens if before == after else new.n_tokens // 5)
    for name in ("model.layers.0.mlp.up.weight", "model.norm.weight"):
        assert np.array_equal(now[name], tables[name])


def test_meanings_of_families(tokenizers: dict[str, Tokenizer]) -> None:
    """One text, whatever spells it."""
    for kind in ("bytes", "unigram", "chars", "wordpiece"):
        meanings = Meanings(tokenizers[kind])
        (id,) = meanings.by_text[b" the"][:1]
        token = tokenizers[kind].id_to_token(id)
        assert token == {"bytes": "Ġthe", "wordpiece": "the"}.get(kind, "▁the")
        (id,) = meanings.by_text[b"ing"][:1]
        assert tokenizers[kind].id_to_token(id) == ("##ing" if kind == "wordpiece" else "ing")
    for kind in ("bytes", "unigram", "chars"):
        assert Meanings(tokenizers[kind]).by_text[b"\n"]
    assert Meanings(tokenizers["suffix"]).by_text[b"the "]


@pytest.mark.parametrize("kind", ["bytes", "unigram", "chars", "wordpiece"])
@pytest.mark.parametrize("text", [b" Sherlock", b"ing", b"Watson", b"\xe2\x80", b" \xf0\x9f", b"in the"])
def test_pieces_spell_the_token(kind: str, text: bytes, tokenizers: dict[str, Tokenizer]) -> None:
    meanings = Meanings(tokenizers[kind])
    (ids,) = meanings.pieces([text])
    spelled = b"".join(meanings.texts[id] for id in ids)
    if kind == "wordpiece":
        assert spelled.lower().strip() == text.lower().strip() or b"\x80" in text or b"\xf0" in text
    else:
        assert spelled == text


def test_unknown_characters_have_no_pieces() -> None:
    """A space that the tokenizer puts before a text says nothing of it."""
    plain = sentitok.train_unigram(texts=["the cat sat on the mat"] * 9, vocab_size=40)
    meanings = Meanings(plain)
    assert meanings.pieces(["م".encode(), "ğ".encode(), b""]) == [[], [], []]
    (ids,) = meanings.pieces(["catğ".encode()])
    assert b"".join(meanings.texts[id] for id in ids).strip() == b"cat"
    assert meanings.texts[ids[0]] != b" "


@pytest.mark.parametrize("dtype", ["F32", "F16", "BF16", "F64"])
def test_composed_rows_are_means_of_pieces(
    dtype: str, tokenizers: dict[str, Tokenizer], tmp_path: Path
) -> None:
    torch = pytest.importorskip("torch")
    old = tokenizers["bytes"]
    new = sentitok.train_bpe(
        texts=["zzzzqqqq zzzzqqqq xkxkxk " * 9], vocab_size=290, special_tokens=["<new>"]
    )
    tables = write_model(tmp_path / "m.safetensors", old.vocab_size, dtype)
    done = sentitok.transplant(old, new, tmp_path / "m.safetensors", tmp_path / "out")
    now = read_model(tmp_path / "out" / "m.safetensors")["lm_head.weight"]
    numbers = decoded(tables["lm_head.weight"], dtype)
    types = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "F64": torch.float64}
    n_composed = 0
    for token, id in new.vocab().items():
        text = new.id_to_bytes(id)
        if token == "<new>":
            row = numbers.mean(axis=0)
        else:
            assert text is not None
            pieces = old.encode(text.decode("latin-1") if len(text) > 1 else "", specials="none").ids
            known = [at for at in range(old.vocab_size) if old.id_to_bytes(at) == text]
            row = numbers[known[0]] if known else numbers[pieces].mean(axis=0)
            n_composed += not known
        expected = torch.tensor(row).to(types[dtype]).to(torch.float64).numpy()
        assert np.allclose(decoded(now[id], dtype), expected, rtol=1e-12, atol=0), token
    assert done.composed == n_composed > 5
    assert (done.filled, done.filled_tokens) == (1, ["<new>"])


def test_bfloat16_rounds_as_torch_does() -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    values = np.concatenate(
        [rng.standard_normal(5000) * 10.0 ** rng.integers(-38, 38, 5000), [0, -0.0, np.inf]]
    )
    values = np.concatenate(
        [values.astype(np.float32), np.array([1.00390625, 1.01171875, 3.4e38], np.float32)]
    )
    theirs = torch.tensor(values).to(torch.bfloat16).view(torch.int16).numpy().view(np.uint16)
    assert np.array_equal(encoded(values.astype(np.float64), "BF16"), theirs)
    assert np.isnan(decoded(encoded(np.array([np.nan]), "BF16"), "BF16")).all()


def test_methods_differ_and_repeat(tokenizers: dict[str, Tokenizer], tmp_path: Path) -> None:
    old, new = tokenizers["bytes"], tokenizers["other"]
    tables = write_model(tmp_path / "m.safetensors", old.vocab_size)
    numbers = tables["lm_head.weight"].astype(np.float64)
    found = {}
    for method in METHODS:
        for again in ("", "again"):
            done = sentitok.transplant(
                old, new, tmp_path / "m.safetensors", tmp_path / f"{method}{again}", method=method, seed=5
            )
        files = [(tmp_path / name / "m.safetensors").read_bytes() for name in (method, f"{method}again")]
        assert files[0] == files[1]
        found[method] = read_model(tmp_path / method / "m.safetensors")["lm_head.weight"], done
    assert len({rows.tobytes() for rows, _ in found.values()}) == len(METHODS)
    words = [token for token in new.vocab() if token not in old.vocab() and token[0] == "Ġ"]
    id = new.token_to_id(words[-1])
    assert id is not None
    pieces = old.encode(new.decode([id])).ids
    assert len(pieces) > 1
    assert np.allclose(found["pieces"][0][id], numbers[pieces].mean(axis=0))
    assert np.array_equal(found["first"][0][id], tables["lm_head.weight"][pieces[0]])
    assert np.allclose(found["average"][0][id], numbers.mean(axis=0))
    assert found["average"][1].composed == found["random"][1].composed == 0
    assert ["drawn at random" in command._text(found[way][1], Path()) for way in ("random", "average")] == [
        True,
        False,
    ]
    vocab = new.vocab()
    drawn = found["random"][0][[vocab[token] for token in found["random"][1].filled_tokens]]
    assert abs(drawn.std() / numbers.std() - 1) < 0.1


def test_nearest_takes_tokens_that_share_characters(tmp_path: Path) -> None:
    old = sentitok.train_bpe(texts=["walking talking walked"] * 9, vocab_size=290)
    new = sentitok.train_bpe(texts=["walkings"] * 9, vocab_size=270)
    write_model(tmp_path / "m.safetensors", old.vocab_size, names=("wte.weight",))
    table = np.zeros((old.vocab_size, WIDTH))
    at = old.token_to_id("walking")
    assert at is not None
    table[at] = 1
    entries = [("wte.weight", "F64", table.shape, lambda: [table.tobytes()])]
    write_tensors(tmp_path / "m.safetensors", entries, {}, lambda _: None)
    sentitok.transplant(old, new, tmp_path / "m.safetensors", tmp_path / "out", method="nearest")
    row = read_model(tmp_path / "out" / "m.safetensors")["wte.weight"][new.token_to_id("walkings")]
    assert row[0] > 1 / 8, "the most alike weighs more than one of eight"


def test_an_extended_and_a_pruned_vocabulary(tokenizers: dict[str, Tokenizer], tmp_path: Path) -> None:
    old = tokenizers["bytes"]
    tables = write_model(tmp_path / "m.safetensors", old.vocab_size)
    extended = sentitok.train_bpe(PRIDE, vocab_size=900, extend=old)
    done = sentitok.transplant(old, extended, tmp_path / "m.safetensors", tmp_path / "extended")
    now = read_model(tmp_path / "extended" / "m.safetensors")["lm_head.weight"]
    assert np.array_equal(now[: old.vocab_size], tables["lm_head.weight"])
    assert (done.copied, done.composed, done.filled) == (old.vocab_size, 900 - old.vocab_size, 0)
    pruned, ids = old.prune(range(0, old.vocab_size, 3))
    done = sentitok.transplant(old, pruned, tmp_path / "m.safetensors", tmp_path / "pruned")
    now = read_model(tmp_path / "pruned" / "m.safetensors")["lm_head.weight"]
    assert np.array_equal(now, tables["lm_head.weight"][np.flatnonzero(ids >= 0)])
    assert (done.copied, done.composed, done.filled) == (pruned.n_tokens, 0, 0)


@pytest.mark.parametrize("odd", ["half \ud800 of a pair", [700], {"a": [700]}, None, 10**30, float("nan")])
def test_odd_settings_stay(odd: Any, tokenizers: dict[str, Tokenizer], tmp_path: Path) -> None:
    old = tokenizers["bytes"]
    model_folder(tmp_path / "model", old, vocab_size=odd, name=odd)
    sentitok.transplant(old, tokenizers["other"], tmp_path / "model", tmp_path / "out")
    now = json.loads((tmp_path / "out" / "config.json").read_text())
    assert str(now["vocab_size"]) == str(now["name"]) == str(odd)


def test_special_tokens_go_by_content_use_and_option(
    tokenizers: dict[str, Tokenizer], tmp_path: Path
) -> None:
    old, new = tokenizers["bytes"], trained("unigram")
    tables = write_model(tmp_path / "m.safetensors", old.vocab_size)
    end = old.token_to_id("<|endoftext|>")
    done = sentitok.transplant(old, new, tmp_path / "m.safetensors", tmp_path / "use")
    assert done.renamed == {"</s>": "<|endoftext|>"}
    assert set(done.filled_tokens) == {"<unk>", "<s>"}
    done = sentitok.transplant(
        old,
        new,
        tmp_path / "m.safetensors",
        tmp_path / "map",
        token_map={"<s>": "<|endoftext|>", "▁a": "Ġthe"},
    )
    now = read_model(tmp_path / "map" / "m.safetensors")["lm_head.weight"]
    assert done.renamed == {"<s>": "<|endoftext|>", "</s>": "<|endoftext|>"}
    assert np.array_equal(now[new.token_to_id("<s>")], tables["lm_head.weight"][end])
    assert np.array_equal(now[new.token_to_id("▁a")], tables["lm_head.weight"][old.token_to_id("Ġthe")])
    with pytest.raises(FormatError, match="nothing-such"):
        sentitok.transplant(
            old, new, tmp_path / "m.safetensors", tmp_path / "no", token_map={"<s>": "nothing-such"}
        )


def model_folder(
    path: Path, old: Tokenizer, n_rows: int | None = None, **config: Any
) -> dict[str, NDArray[Any]]:
    """Writes the folder of a model in two parts, as transformers does."""
    n_rows = n_rows or old.vocab_size
    old.save_pretrained(path)
    embedding = write_model(
        path / "model-00001-of-00002.safetensors", n_rows, "BF16", ("model.embed_tokens.weight",)
    )
    head = write_model(path / "model-00002-of-00002.safetensors", n_rows, "BF16", ("lm_head.weight",))
    for name in ("model.layers.0.mlp.up.weight", "model.norm.weight"):
        head[f"second.{name}"] = head.pop(name)
    entries = [(name, "BF16", bits.shape, lambda bits=bits: [bits.tobytes()]) for name, bits in head.items()]
    write_tensors(path / "model-00002-of-00002.safetensors", entries, {"format": "pt"}, lambda _: None)
    parts = dict.fromkeys(embedding, "model-00001-of-00002.safetensors")
    parts |= dict.fromkeys(head, "model-00002-of-00002.safetensors")
    size = sum(bits.nbytes for bits in (*embedding.values(), *head.values()))
    index = {"metadata": {"total_size": size}, "weight_map": parts}
    (path / "model.safetensors.index.json").write_text(json.dumps(index))
    about = {"model_type": "llama", "vocab_size": n_rows, "hidden_size": WIDTH, **config}
    (path / "config.json").write_text(json.dumps(about))
    return embedding | head


def test_a_folder_in_parts(tokenizers: dict[str, Tokenizer], tmp_path: Path) -> None:
    old, new = tokenizers["bytes"], tokenizers["other"]
    end, pad = old.token_to_id("<|endoftext|>"), old.token_to_id("<|pad|>")
    model_folder(
        tmp_path / "model", old, 704, eos_token_id=[end, pad], bos_token_id=end, image_token_id=300,
        text_config={"vocab_size": 704, "pad_token_id": pad}, audio_config={"vocab_size": 12},
    )  # fmt: skip
    (tmp_path / "model" / "generation_config.json").write_text(
        json.dumps({"eos_token_id": end, "suppress_tokens": [pad, 5], "temperature": 0.7})
    )
    (tmp_path / "model" / "LICENSE").write_text("mine")
    (tmp_path / "model" / "pytorch_model.bin").write_bytes(b"no")
    (tmp_path / "model" / "onnx").mkdir()
    done = sentitok.transplant(
        tmp_path / "model", new, tmp_path / "model", tmp_path / "out", pad_to_multiple=64
    )
    n_rows = -(-new.vocab_size // 64) * 64
    assert (done.rows, done.unused) == (n_rows, n_rows - new.n_tokens)
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    new_end, new_pad = new.token_to_id("<|endoftext|>"), new.token_to_id("<|pad|>")
    assert config["vocab_size"] == config["text_config"]["vocab_size"] == n_rows
    assert config["audio_config"] == {"vocab_size": 12}
    assert (config["eos_token_id"], config["bos_token_id"]) == ([new_end, new_pad], new_end)
    assert config["text_config"]["pad_token_id"] == new_pad
    generation = json.loads((tmp_path / "out" / "generation_config.json").read_text())
    assert generation["eos_token_id"] == new_end
    assert generation["temperature"] == 0.7
    assert generation["suppress_tokens"][0] == new_pad
    assert (tmp_path / "out" / "LICENSE").read_text() == "mine"
    assert not (tmp_path / "out" / "pytorch_model.bin").exists()
    assert any("pytorch_model.bin" in note and "onnx/" in note for note in done.notes)
    index = json.loads((tmp_path / "out" / "model.safetensors.index.json").read_text())
    files = {part: read_model(tmp_path / "out" / part) for part in set(index["weight_map"].values())}
    assert {name: part for part, tensors in files.items() for name in tensors} == index["weight_map"]
    total = sum(bits.nbytes for tensors in files.values() for bits in tensors.values())
    assert index["metadata"]["total_size"] == total
    assert Tokenizer.from_pretrained(tmp_path / "out").vocab() == new.vocab()
    assert sorted(map(Path, done.files)) == sorted(path for path in (tmp_path / "out").iterdir())


def test_rows_without_a_token_are_the_mean_of_such_rows(
    tokenizers: dict[str, Tokenizer], tmp_path: Path
) -> None:
    old, new = tokenizers["bytes"], tokenizers["other"]
    tables = write_model(tmp_path / "m.safetensors", old.vocab_size + 5)
    done = sentitok.transplant(old, new, tmp_path / "m.safetensors", tmp_path / "out", pad_to_multiple=128)
    now = read_model(tmp_path / "out" / "m.safetensors")["lm_head.weight"]
    mean = tables["lm_head.weight"][old.vocab_size :].astype(np.float64).mean(axis=0)
    assert len(now) % 128 == 0
    assert np.allclose(now[new.vocab_size :], mean)
    assert done.unused == len(now) - new.n_tokens
    unpadded = sentitok.transplant(old, new, tmp_path / "m.safetensors", tmp_path / "bare")
    assert any("5 rows more" in note and "pad_to_multiple" in note for note in unpadded.notes)


def test_an_id_without_a_counterpart_is_left_empty_and_said(
    tokenizers: dict[str, Tokenizer], tmp_path: Path
) -> None:
    old, new = tokenizers["bytes"], tokenizers["wordpiece"]
    model_folder(tmp_path / "model", old, eos_token_id=old.token_to_id("<|endoftext|>"))
    done = sentitok.transplant(old, new, tmp_path / "model", tmp_path / "out")
    assert json.loads((tmp_path / "out" / "config.json").read_text())["eos_token_id"] is None
    assert any("eos_token_id" in note and "<|endoftext|>" in note for note in done.notes)


def test_heads_with_biases_and_columns(tokenizers: dict[str, Tokenizer], tmp_path: Path) -> None:
    old, new = tokenizers["bytes"], tokenizers["other"]
    tables = write_model(
        tmp_path / "m.safetensors", old.vocab_size, names=("shared.weight",),
        lm_head__bias=(old.vocab_size,), final_logits_bias=(1, old.vocab_size),
    )  # fmt: skip
    done = sentitok.transplant(old, new, tmp_path / "m.safetensors", tmp_path / "out")
    now = read_model(tmp_path / "out" / "m.safetensors")
    assert [tensor.name for tensor in done.tensors] == ["shared.weight", "lm_head.bias", "final_logits_bias"]
    assert now["lm_head.bias"].shape == (new.vocab_size,)
    assert now["final_logits_bias"].shape == (1, new.vocab_size)
    at, there = new.token_to_id("Ġthe"), old.token_to_id("Ġthe")
    assert now["lm_head.bias"][at] == tables["lm_head.bias"][there]
    assert now["final_logits_bias"][0, at] == tables["final_logits_bias"][0, there]


def test_tensors_of_unknown_names(tokenizers: dict[str, Tokenizer], tmp_path: Path) -> None:
    old, new = tokenizers["bytes"], tokenizers["other"]
    path = tmp_path / "m.safetensors"
    write_model(path, old.vocab_size, names=("mystery",))
    done = sentitok.transplant(old, new, path, tmp_path / "one")
    assert [tensor.name for tensor in done.tensors] == ["mystery"], "the only one of that size"
    write_model(path, old.vocab_size, names=("mystery", "riddle"))
    with pytest.raises(FormatError, match=r"(?s)mystery.*riddle|riddle.*mystery"):
        sentitok.transplant(old, new, path, tmp_path / "two")
    write_model(path, old.vocab_size, names=("model.embed_tokens.weight", "riddle"))
    with pytest.raises(FormatError, match="riddle"):
        sentitok.transplant(old, new, path, tmp_path / "two")
    done = sentitok.transplant(
        old, new, path, tmp_path / "named", tensors=["model.embed_tokens.weight", "riddle"]
    )
    assert {tensor.new_shape for tensor in done.tensors} == {(new.vocab_size, WIDTH)}
    with pytest.raises(FormatError, match="nowhere"):
        sentitok.transplant(old, new, path, tmp_path / "two", tensors=["nowhere"])
    assert not (tmp_path / "two").exists()


def test_a_table_with_tokens_in_columns(tokenizers: dict[str, Tokenizer], tmp_path: Path) -> None:
    old, new = tokenizers["bytes"], tokenizers["other"]
    write_model(tmp_path / "m.safetensors", old.vocab_size, names=("a",), b=(WIDTH, old.vocab_size))
    sentitok.transplant(old, new, tmp_path / "m.safetensors", tmp_path / "out", tensors=["b"])
    before = read_model(tmp_path / "m.safetensors")["b"]
    now = read_model(tmp_path / "out" / "m.safetensors")["b"]
    assert now.shape == (WIDTH, new.vocab_size)
    assert np.array_equal(now[:, new.token_to_id("Ġthe")], before[:, old.token_to_id("Ġthe")])


def _pickle(path: Path) -> None:
    path.write_bytes(b"\x80\x04\x95")


def _zip(path: Path) -> None:
    path.write_bytes(b"PK\x03\x04" + b"0" * 60)


def _short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-5])


def _long_header(path: Path) -> None:
    path.write_bytes((1 << 60).to_bytes(8, "little") + b"{}")


@pytest.mark.parametrize(
    ("damage", "says"), [(_pickle, "pickle"), (_zip, "pickle"), (_short, "whole"), (_long_header, "header")]
)
def test_damaged_weights_are_refused(
    damage: Callable[[Path], None], says: str, tokenizers: dict[str, Tokenizer], tmp_path: Path
) -> None:
    old = tokenizers["bytes"]
    write_model(tmp_path / "m.safetensors", old.vocab_size)
    damage(tmp_path / "m.safetensors")
    with pytest.raises(FormatError, match=says) as error:
        sentitok.transplant(old, old, tmp_path / "m.safetensors", tmp_path / "out")
    assert "m.safetensors" in str(error.value)
    assert not (tmp_path / "out").exists()


def test_a_wrong_tokenizer_is_refused(tokenizers: dict[str, Tokenizer], tmp_path: Path) -> None:
    old, new = tokenizers["bytes"], tokenizers["other"]
    write_model(tmp_path / "m.safetensors", old.vocab_size - 9)
    with pytest.raises(FormatError, match=f"{old.vocab_size}"):
        sentitok.transplant(old, new, tmp_path / "m.safetensors", tmp_path / "out")
    write_model(tmp_path / "m.safetensors", old.vocab_size + 5000)
    with pytest.raises(FormatError, match="tensors="):
        sentitok.transplant(old, new, tmp_path / "m.safetensors", tmp_path / "out")
    model_folder(tmp_path / "model", old)
    with pytest.raises(FormatError, match="tokenizer"):
        sentitok.transplant(trained("bytes", PRIDE), new, tmp_path / "model", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_folders_without_weights_or_with_pickles(tokenizers: dict[str, Tokenizer], tmp_path: Path) -> None:
    old = tokenizers["bytes"]
    (tmp_path / "model").mkdir()
    with pytest.raises(FormatError, match=r"model\.safetensors"):
        sentitok.transplant(old, old, tmp_path / "model", tmp_path / "out")
    (tmp_path / "model" / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(FormatError, match=r"pytorch_model\.bin is a pickle"):
        sentitok.transplant(old, old, tmp_path / "model", tmp_path / "out")
    wrong: list[Any] = [{"a": "../../etc/passwd"}, {"a": 3}, [], {}]
    for weights in wrong:
        index = json.dumps({"weight_map": weights})
        (tmp_path / "model" / "model.safetensors.index.json").write_text(index)
        with pytest.raises(FormatError, match=r"index\.json"):
            sentitok.transplant(old, old, tmp_path / "model", tmp_path / "out")


def test_eight_bit_tables_are_refused(tokenizers: dict[str, Tokenizer], tmp_path: Path) -> None:
    old = tokenizers["bytes"]
    shape = (old.vocab_size, 4)
    entries = [("wte.weight", "F8_E4M3", shape, lambda: [bytes(old.vocab_size * 4)])]
    write_tensors(tmp_path / "m.safetensors", entries, {}, lambda _: None)
    with pytest.raises(FormatError, match="F8_E4M3"):
        sentitok.transplant(old, old, tmp_path / "m.safetensors", tmp_path / "out")


def test_nothing_is_left_after_a_failure(
    tokenizers: dict[str, Tokenizer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tokenizers["bytes"]
    model_folder(tmp_path / "model", old)
    whole = write_tensors

    def fails(path: Path, *rest: Any) -> None:
        whole(path, *rest)
        if "00002" in path.name:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(transplanting, "write_tensors", fails)
    with pytest.raises(OSError, match="out"):
        sentitok.transplant(old, old, tmp_path / "model", tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


@pytest.mark.skipif(os.name == "nt", reason="nothing is locked there, so nothing is removed")
def test_what_a_killed_call_left_is_removed(tokenizers: dict[str, Tokenizer], tmp_path: Path) -> None:
    write_model(tmp_path / "in" / "m.safetensors", tokenizers["bytes"].vocab_size)
    code = (
        "import os, sys; from pathlib import Path; from sentitok.atomic import writing_folder\n"
        "with writing_folder(sys.argv[1]) as folder:\n"
        "    (folder / 'half').write_text('x'); os._exit(1)"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path / "out"], env=environment(), check=False)
    assert len([path for path in tmp_path.iterdir() if path.name.startswith(".sentitok-out-")]) == 2
    old = tokenizers["bytes"]
    sentitok.transplant(old, old, tmp_path / "in" / "m.safetensors", tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out"]


def test_a_folder_that_exists(tokenizers: dict[str, Tokenizer], tmp_path: Path) -> None:
    old, new = tokenizers["bytes"], tokenizers["other"]
    model_folder(tmp_path / "model", old)
    with pytest.raises(ValueError, match="itself"):
        sentitok.transplant(old, new, tmp_path / "model", tmp_path / "model", replace=True)
    out = tmp_path / "out"
    out.mkdir()
    sentitok.transplant(old, new, tmp_path / "model", out)
    (out / "mine").write_text("mine")
    with pytest.raises(FileExistsError, match="replace"):
        sentitok.transplant(old, new, tmp_path / "model", out)
    sentitok.transplant(old, old, tmp_path / "model", out, replace=True)
    assert (out / "mine").read_text() == "mine"
    assert Tokenizer.from_pretrained(out).vocab() == old.vocab()
    (out / "model.safetensors").write_bytes(b"would be read instead of the parts")
    with pytest.raises(FileExistsError, match=r"model\.safetensors"):
        sentitok.transplant(old, old, tmp_path / "model", out, replace=True)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not tell the peak")
def test_memory_does_not_grow_with_other_tensors(tokenizers: dict[str, Tokenizer], tmp_path: Path) -> None:
    old = tokenizers["bytes"]
    write_model(tmp_path / "small.safetensors", old.vocab_size)
    big = 1 << 27
    entries = [
        ("wte.weight", "F32", (old.vocab_size, 4), lambda: [bytes(16 * old.vocab_size)]),
        ("h.0.weight", "F32", (big // 4,), lambda: (bytes(1 << 22) for _ in range(big >> 22))),
    ]
    write_tensors(tmp_path / "big.safetensors", entries, {}, lambda _: None)
    old.save(tmp_path / "old.json")
    code = (
        "import sys, sentitok\n"
        "from sentitok.cli.output import peak_memory\n"
        "sentitok.transplant('old.json', 'old.json', sys.argv[1], sys.argv[2])\n"
        "print(peak_memory())"
    )
    peaks = []
    for name in ("small", "big"):
        call = [sys.executable, "-c", code, f"{name}.safetensors", name]
        done = subprocess.run(
            call, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=True
        )
        peaks.append(int(done.stdout))
    assert peaks[1] - peaks[0] < big // 8


# --- the library safetensors as oracle


def library() -> Any:
    return pytest.importorskip("safetensors")


def test_files_are_those_of_the_library(tmp_path: Path) -> None:
    library()
    torch = pytest.importorskip("torch")
    from safetensors.torch import load_file, save_file

    types = [
        torch.float64,
        torch.float32,
        torch.float16,
        torch.bfloat16,
        torch.int64,
        torch.uint8,
        torch.bool,
    ]
    torch.manual_seed(0)
    tensors = {str(kind): (torch.randn(3, 5) * 9).to(kind) for kind in types} | {"scalar": torch.tensor(2.5)}
    tensors["empty"] = torch.empty(0, 4)
    save_file(tensors, tmp_path / "theirs", metadata={"format": "pt"})
    file = TensorFile(tmp_path / "theirs")
    assert file.metadata == {"format": "pt"}
    entries = [
        (one.name, one.dtype, one.shape, lambda one=one: file.blocks(one)) for one in file.tensors.values()
    ]  # fmt: skip
    write_tensors(tmp_path / "ours", entries, file.metadata, lambda _: None)
    back = load_file(tmp_path / "ours")
    assert back.keys() == tensors.keys()
    assert all(torch.equal(back[name], tensors[name]) for name in tensors)
    for name, tensor in file.tensors.items():
        if tensor.dtype in FLOATS:
            numbers = decoded(np.array(file.bits(tensor)), tensor.dtype)
            assert np.array_equal(numbers, tensors[name].to(torch.float64).numpy())


GOOD = {"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}
HEADERS = {
    "good": GOOD,
    "none": {},
    "metadata": {"__metadata__": {"x": "y"}, **GOOD},
    "metadata of numbers": {"__metadata__": {"x": 1}, **GOOD},
    "hole": {"a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}},
    "overlap": {**GOOD, "b": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}},
    "beyond": {"a": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}},
    "before": {"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}},
    "type": {"a": {"dtype": "F31", "shape": [2], "data_offsets": [0, 8]}},
    "shape": {"a": {"dtype": "F32", "shape": [3], "data_offsets": [0, 8]}},
    "negative": {"a": {"dtype": "F32", "shape": [-2], "data_offsets": [0, 8]}},
    "overflow": {"a": {"dtype": "F32", "shape": [1 << 62, 1 << 62], "data_offsets": [0, 8]}},
    "turned": {"a": {"dtype": "F32", "shape": [2], "data_offsets": [8, 0]}},
    "fields": {"a": {"dtype": "F32", "shape": [2]}},
    "list": [],
    "halves": {"a": {"dtype": "F16", "shape": [2, 2], "data_offsets": [0, 8]}},
    "empty tensor": {**GOOD, "b": {"dtype": "F32", "shape": [0], "data_offsets": [8, 8]}},
}


@pytest.mark.parametrize("name", HEADERS)
def test_headers_are_read_or_refused_as_by_the_library(name: str, tmp_path: Path) -> None:
    theirs = library()
    text = json.dumps(HEADERS[name]).encode()
    (tmp_path / "m").write_bytes(len(text).to_bytes(8, "little") + text + bytes(8 if name != "none" else 0))
    try:
        with theirs.safe_open(tmp_path / "m", "np") as file:
            expected = sorted(file.keys())
    except theirs.SafetensorError:
        with pytest.raises(FormatError):
            TensorFile(tmp_path / "m")
    else:
        assert sorted(TensorFile(tmp_path / "m").tensors) == expected


# --- models of transformers


@pytest.mark.parametrize("tied", [True, False])
def test_transformers_reads_the_result(tied: bool, tokenizers: dict[str, Tokenizer], tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    old = tokenizers["bytes"]
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=old.vocab_size, hidden_size=16, intermediate_size=24, num_hidden_layers=2,
        num_attention_heads=2, tie_word_embeddings=tied, eos_token_id=0, bos_token_id=0,
    )  # fmt: skip
    model = transformers.LlamaForCausalLM(config).eval()
    model.save_pretrained(tmp_path / "model")
    old.save_pretrained(tmp_path / "model")
    keep = sorted(set(old.encode("It was a cold morning of the early spring").tolist()))
    pruned, ids = old.prune(keep)
    done = sentitok.transplant(tmp_path / "model", pruned, tmp_path / "model", tmp_path / "out")
    assert len(done.tensors) == (1 if tied else 2)
    moved = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "out").eval()
    text = "It was a cold morning"
    with torch.no_grad():
        before = model(torch.tensor([old.encode(text).tolist()])).logits
        after = moved(torch.tensor([pruned.encode(text).tolist()])).logits
    assert torch.allclose(before[..., np.flatnonzero(ids >= 0)], after, atol=1e-6)
    assert moved.config.vocab_size == pruned.vocab_size
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    assert theirs(text).input_ids == pruned.encode(text).tolist()


# --- the command


def test_the_command_knows_the_methods() -> None:
    assert tuple(METHODS) == command._METHODS


def test_the_command_says_what_it_did(prepared: Path) -> None:
    done = run("transplant", "base", "merged.json", "base", "-o", "moved", "--json", cwd=prepared)
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert found["schema"] == "sentitok.transplant/1"
    assert found["copied"] + found["composed"] + found["filled"] == 600
    assert found["tensors"][0]["new_shape"][0] == 600
    assert Path(found["folder"], "model.safetensors").name in [Path(name).name for name in found["files"]]
    done = run("transplant", "base", "merged.json", "base", "-o", "moved2", cwd=prepared)
    assert re.search(r"^copied +\d+ rows$", done.out, re.M)
    assert "model.embed_tokens.weight, F32: 1000 x 8 -> 600 x 8" in done.out
    done = run("transplant", "base", "merged.json", "base", "-o", "moved3", "--quiet", cwd=prepared)
    assert done.out == "moved3\n"


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--method", "magic"], "magic"),
        (["--token", "<s>"], "NEW=OLD"),
        (["--token", "a=nothing-such"], "--token: the old tokenizer has no token 'nothing-such'"),
        (["--tensor", "nowhere"], "nowhere"),
        (["--seed", "3"], "--method random"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_calls(args: list[str], says: str, prepared: Path) -> None:
    done = run("transplant", "base", "merged.json", "base", "-o", "moved", *args, cwd=prepared)
    assert done.code == 2
    assert says in done.err
    assert len(done.err.splitlines()) == 1
    assert not (prepared / "moved").exists()
