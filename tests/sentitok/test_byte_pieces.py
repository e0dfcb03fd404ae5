"""A model that spells unknown characters as bytes, with pieces of all bytes or of some."""

import functools
import io
import json
import warnings
from pathlib import Path

import pytest
import sentencepiece
import tokenizers

from conftest import CORPUS
from sentitok import FormatError, Tokenizer, train_unigram


@functools.cache
def trained(kind: str) -> bytes:
    """A `.model` of sentencepiece with pieces of all bytes."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        input=str(CORPUS / "sherlock-holmes.txt"),
        model_writer=model,
        model_type=kind,
        vocab_size=600,
        byte_fallback=True,
        minloglevel=2,
    )
    return model.getvalue()


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
@pytest.mark.parametrize("byte", [0x00, 0x41, 0xE4, 0xFF])
def test_an_own_file_without_a_byte_piece_is_refused(kind: str, byte: int) -> None:
    own = Tokenizer.from_bytes(trained(kind)).to_bytes()
    name = f"<0x{byte:02X}>".encode()
    assert own.count(name) == 1
    with pytest.raises(FormatError, match=f"no piece <0x{byte:02X}>; it takes all 256"):
        Tokenizer.from_bytes(own.replace(name, b"<0xxx>"))


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_a_model_file_without_a_byte_piece_is_refused_as_there(kind: str) -> None:
    data = trained(kind).replace(b"<0xE4>", b"<0xxx>")
    with pytest.raises(RuntimeError):
        sentencepiece.SentencePieceProcessor(model_proto=data)
    with pytest.raises(FormatError):
        Tokenizer.from_bytes(data)


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_a_tokenizer_json_without_a_byte_piece_falls_back_to_unknown(kind: str) -> None:
    names = ["<unk>", "a", *(f"<0x{byte:02X}>" for byte in range(256) if byte != 0xE4)]
    model: dict[str, object] = {"type": "Unigram", "unk_id": 0, "vocab": [[name, -1.0] for name in names]}
    if kind == "bpe":
        vocab = {name: id for id, name in enumerate(names)}
        model = {"type": "BPE", "unk_token": "<unk>", "fuse_unk": True, "vocab": vocab, "merges": []}
    file = json.dumps({"version": "1.0", "added_tokens": [], "model": model | {"byte_fallback": True}})
    theirs, ours = tokenizers.Tokenizer.from_str(file), Tokenizer.from_bytes(file.encode())
    for text in ("中", "aé中b", "中中", "文a"):
        expected = theirs.encode(text).ids
        for each in (ours, Tokenizer.from_bytes(ours.to_bytes()), Tokenizer.from_hf(theirs)):
            assert each.encode(text).ids.tolist() == expected


#: Texts that spell bytes, alone, adjacent and within words.
SPELLED = ["<0x41>", "see <0x41> here", "<0x41><0xE4>x", "low <0x6C>", "a<0x41", "<0x6c> <0x6C>"]


def saved(tokenizer: Tokenizer, path: Path) -> list[str]:
    """What `save` warns of."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        tokenizer.save(path)
    return [str(warning.message) for warning in found]


def ids(tokenizer: Tokenizer) -> list[list[int]]:
    return [tokenizer.encode(text).ids.tolist() for text in SPELLED]


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_a_text_that_spells_a_byte_is_text(kind: str, tmp_path: Path) -> None:
    """So it is to sentencepiece; a Unigram list of tokenizers, without kinds, takes it for the byte."""
    reference = sentencepiece.SentencePieceProcessor(model_proto=trained(kind))
    tokenizer = Tokenizer.from_bytes(trained(kind))
    assert ids(tokenizer) == reference.encode(SPELLED)
    assert [tokenizer.decode(row) for row in ids(tokenizer)] == reference.decode(reference.encode(SPELLED))
    warned = any("spells a byte" in warning for warning in saved(tokenizer, tmp_path / "a.json"))
    assert warned == (kind == "unigram")
    ours = Tokenizer.from_file(tmp_path / "a.json")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "a.json"))
    assert ids(ours) == [theirs.encode(text).ids for text in SPELLED]
    assert (ids(ours) != ids(tokenizer)) == warned


def test_it_is_text_to_what_is_trained_here(tmp_path: Path) -> None:
    tokenizer = train_unigram(texts=["low lower lowest newer"] * 50, vocab_size=290, byte_fallback=True)
    for text, row in zip(SPELLED, ids(tokenizer), strict=True):
        assert tokenizer.decode(row) == text
    assert not any("spells a byte" in warning for warning in saved(tokenizer, tmp_path / "a.model"))
    reference = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "a.model"))
    assert ids(tokenizer) == ids(Tokenizer.from_file(tmp_path / "a.model")) == reference.encode(SPELLED)
    assert any("spells a byte" in warning for warning in saved(tokenizer, tmp_path / "a.json"))
    ours = Tokenizer.from_file(tmp_path / "a.json")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "a.json"))
    assert ids(ours) == [theirs.encode(text).ids for text in SPELLED]
    # And back: there the text is none of the bytes any more.
    assert any("spells a byte" in warning for warning in saved(ours, tmp_path / "b.model"))
    assert ids(Tokenizer.from_file(tmp_path / "b.model")) == ids(tokenizer) != ids(ours)


def test_a_piece_that_looks_like_a_byte_is_decoded_as_text(tmp_path: Path) -> None:
    """Where no bytes are tokens, `<0x41>` is an ordinary piece."""
    tokenizer = train_unigram(texts=["low <0x41> lowest <0x41>"] * 50, vocab_size=40)
    row = tokenizer.encode("low <0x41>").ids.tolist()
    assert tokenizer.decode(row) == "low <0x41>"
    for name in ("a.json", "a.model"):
        saved(tokenizer, tmp_path / name)
        read = Tokenizer.from_file(tmp_path / name)
        assert read.decode(row) == "low <0x41>"
    assert tokenizers.Tokenizer.from_file(str(tmp_path / "a.json")).decode(row) == "low <0x41>"
    saved(Tokenizer.from_file(tmp_path / "a.model"), tmp_path / "b.json")
    assert Tokenizer.from_file(tmp_path / "b.json").decode(row) == "low <0x41>"
